/* Templates of protocol version 2: `<% $parameters.lr %>` in commands.
 *
 * Inputs: a command's text, the document, the role. Effects: the text with references replaced,
 * variables for secrets; problems in the report.
 *
 * Source: the servers took the tokens of mustache with <% %> and kept plain names only; a[n] is
 * a.n; a replacement is not read again. There, an unknown name was left in place or became empty.
 *
 * Caveats: the value of a secret never becomes part of a command, which listings, logs and the
 * process table show: the shell reads it from a variable that it does not hand on. */
#include "dialect/openpai/v2.h"

#include "base/buf.h"
#include "base/scan.h"

enum { NAME_BYTES = 256, LIST_BYTES = 1 << 20 };

/* ---- values ---- */

static const struct text_node *child(const struct text_node *node, const char *step, size_t len)
{
    char key[NAME_BYTES];
    uint64_t index;
    if (len == 0 || len >= sizeof key)
        return NULL;
    memcpy(key, step, len);
    key[len] = '\0';
    if (node->kind == TEXT_MAP)
        return text_get(node, key);
    if (node->kind != TEXT_LIST || !scan_u64(key, 0, TEXT_MAX_NODES, &index))
        return NULL;
    const struct text_node *item = node->first;
    while (item && index-- > 0)
        item = item->next;
    return item;
}

/* The value that a name of a reference means ("$parameters.a[0]" from parameters: "a[0]"), NULL
 * when there is none. */
static const struct text_node *v2_value(const struct text_node *node, const char *path)
{
    while (node && *path) {
        path += *path == '.' || *path == '[';
        size_t len = strcspn(path, ".[]");
        node = child(node, path, len);
        path += len;
        path += *path == ']';
    }
    return node;
}

static bool single(const struct text_node *node)
{
    return node->kind != TEXT_LIST && node->kind != TEXT_MAP;
}

static const char *scalar(const struct text_node *node)
{
    if (node->kind == TEXT_BOOL)
        return node->boolean ? "true" : "false";
    return node->str && node->kind != TEXT_NULL ? node->str : "";
}

/* A list is its members with commas, as JavaScript prints it; NULL: a map, or one in a list. */
static const char *value_text(struct arena *arena, const struct text_node *node)
{
    if (single(node))
        return scalar(node);
    if (node->kind == TEXT_MAP)
        return NULL;
    AUTO_BUF struct buf out = BUF_INIT(LIST_BYTES);
    for (const struct text_node *item = node->first; item; item = item->next) {
        if (!single(item))
            return NULL;
        buf_addf(&out, "%s%s", item == node->first ? "" : ",", scalar(item));
    }
    return arena_strdup(arena, buf_str(&out));
}

/* ---- what a name begins with ---- */

struct origin {
    const char *word;                             /* "$data" */
    const char *(*named)(const struct v2_role *); /* the role's prerequisite of that type */
};

static const char *named_data(const struct v2_role *role)
{
    return role->data;
}
static const char *named_output(const struct v2_role *role)
{
    return role->output;
}
static const char *named_script(const struct v2_role *role)
{
    return role->script;
}

static const struct origin origins[] = {
    { .word = "$parameters" },
    { .word = "$secrets" },
    { .word = "$data", .named = named_data },
    { .word = "$output", .named = named_output },
    { .word = "$script", .named = named_script },
};
enum { ORIGINS_N = sizeof origins / sizeof origins[0], ORIGIN_SECRETS = 1 };

static const struct origin *origin_of(const char *name, size_t *len)
{
    *len = strcspn(name, ".[");
    for (size_t i = 0; i < ORIGINS_N; i++)
        if (strlen(origins[i].word) == *len && strncmp(name, origins[i].word, *len) == 0)
            return &origins[i];
    return NULL;
}

static bool is_secret(const struct origin *origin)
{
    return origin == &origins[ORIGIN_SECRETS];
}

static void unknown(const struct v2_scope *s, struct document_place at, const char *name,
                    const char *hint)
{
    struct problem *p = document_place_fail(s->r->report, at,
                                            "has <%% %.80s %%>, and there is no such value", name);
    report_hint(s->r->report, p, "%s", hint);
}

/* The nearest key beside the one that is missing, else all that are there. */
static const char *keys_hint(struct arena *arena, const struct text_node *map, const char *path)
{
    enum { KEYS_MAX = 16 };
    const char *keys[KEYS_MAX];
    size_t n = 0;
    AUTO_BUF struct buf out = BUF_INIT(LIST_BYTES);
    for (const struct text_node *c = map && map->kind == TEXT_MAP ? map->first : NULL;
         c && n < KEYS_MAX; c = c->next) {
        keys[n++] = c->key;
        buf_addf(&out, "%s%.60s", n > 1 ? ", " : "", c->key);
    }
    const char *key =
        arena_strndup(arena, path + (*path != '\0'), strcspn(path + (*path != '\0'), ".["));
    const char *near = n ? scan_nearest(key, keys, n) : NULL;
    if (near && strcmp(near, key) == 0)
        return arena_printf(arena, "%.60s is there, what stands behind it is not", key);
    if (near)
        return arena_printf(arena, "\"%s\"?", near);
    return n ? arena_printf(arena, "there are: %.200s", buf_str(&out)) : "there are none";
}

/* The map or prerequisite that a name speaks of; reported when there is none. */
static const struct text_node *base_of(const struct v2_scope *s, struct document_place at,
                                       const struct origin *origin, const char *name)
{
    struct arena *arena = s->r->arena;
    struct document_place found;
    if (!origin->named) {
        const struct text_node *map = text_get(s->r->root.node, origin->word + 1);
        if (!map)
            unknown(s, at, name, arena_printf(arena, "%s: {name: value}", origin->word + 1));
        return map;
    }
    const char *chosen = origin->named(s->role);
    if (!chosen)
        unknown(s, at, name,
                arena_printf(arena, "%s: NAME in the role, of a prerequisite", origin->word + 1));
    else if (v2_prerequisite(s->r, origin->word + 1, chosen, &found))
        return found.node;
    return NULL; /* a name that no prerequisite has is reported with the role */
}

/* ---- secrets ---- */

static const char *variable_name(const struct v2_scope *s, const char *path)
{
    char *name = arena_printf(s->r->arena, V2_SECRET "%s", path);
    for (char *c = name + strlen(V2_SECRET); *c; c++)
        if (!((*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z')))
            *c = '_';
    for (;;) { /* two secrets whose names differ in other characters only */
        const struct text_node *taken = text_get(s->names, name);
        if (!taken || strcmp(taken->str, path) == 0)
            return name;
        name = arena_printf(s->r->arena, "%s_", name);
    }
}

static const char *secret_variable(struct v2_scope *s, const char *path, const char *value)
{
    struct arena *arena = s->r->arena;
    const char *name = variable_name(s, path);
    if (!text_get(s->names, name))
        text_str(arena, s->names, name, path);
    pairs_set(s->env, arena, name, value);
    if (!words_have(&s->used, name)) {
        const char **all = ARENA_ARRAY(arena, s->used.n + 1, const char *);
        if (s->used.n)
            memcpy(all, s->used.at, s->used.n * sizeof *all);
        all[s->used.n++] = name;
        s->used.at = all;
    }
    return name;
}

/* As the quotes around it want it; in single quotes: out of them and in again. */
static void put_secret(struct v2_scope *s, struct document_place at, const char *name,
                       const struct v2_shell *shell, struct buf *out)
{
    switch (shell->in) {
    case V2_BARE: buf_addf(out, "\"${%s}\"", name); return;
    case V2_SINGLE: buf_addf(out, "'\"${%s}\"'", name); return;
    case V2_HERE_QUOTED: {
        struct problem *p = document_place_fail(
            s->r->report, at, "has a secret in a here-document with a quoted end");
        report_hint(s->r->report, p, "<<END in place of <<'END'");
        return;
    }
    default: buf_addf(out, "${%s}", name);
    }
}

/* ---- one reference ---- */

static void put_value(struct v2_scope *s, struct document_place at, const char *name,
                      struct v2_shell *shell, struct buf *out)
{
    struct arena *arena = s->r->arena;
    size_t len;
    const struct origin *origin = origin_of(name, &len);
    if (!origin) {
        unknown(s, at, name, "$parameters.x, $secrets.x, $data.x, $output.x or $script.x");
        return;
    }
    const struct text_node *base = base_of(s, at, origin, name);
    const struct text_node *node = base ? v2_value(base, name + len) : NULL;
    const char *text = node ? value_text(arena, node) : NULL;
    if (base && !node) {
        unknown(s, at, name, keys_hint(arena, base, name + len));
    } else if (node && (!text || !name[len])) {
        struct problem *p = document_place_fail(s->r->report, at, "has <%% %.80s %%>, which is %s",
                                                name, text_kind_word(node->kind));
        report_hint(s->r->report, p, "the name of one value in it: %.60s.x", name);
    } else if (text && is_secret(origin)) {
        const char *variable = secret_variable(s, name + len + 1, text);
        put_secret(s, at, variable, shell, out);
    } else if (text) {
        buf_puts(out, text);
        v2_shell_feed(shell, text);
    }
}

/* What mustache has beside names did nothing there either. */
static bool no_name(struct report *r, struct document_place at, const char *name)
{
    if (*name && !strchr("#^/!&>{=", *name))
        return false;
    struct problem *p =
        document_place_warn(r, at, "has <%% %.60s %%>, which is left out, as there", name);
    report_hint(r, p, "only names are replaced: <%% $parameters.x %%>");
    return true;
}

static const char *trimmed(struct arena *arena, const char *from, const char *to)
{
    while (from < to && strchr(" \t\r\n", *from))
        from++;
    while (to > from && strchr(" \t\r\n", to[-1]))
        to--;
    return arena_strndup(arena, from, (size_t)(to - from));
}

/* The next reference in text: *begin at its "<%"; the name, NULL when there is none, "" with
 * *end NULL when it has no "%>". */
static const char *next_name(struct arena *arena, const char *text, const char **begin,
                             const char **end)
{
    *begin = strstr(text, "<%");
    if (!*begin)
        return NULL;
    const char *close = strstr(*begin + 2, "%>");
    *end = close ? close + 2 : NULL;
    return close ? trimmed(arena, *begin + 2, close) : "";
}

static void open_end(struct report *r, struct document_place at)
{
    report_hint(r, document_place_fail(r, at, "has <%% without %%>"), "<%% $parameters.x %%>");
}

static void put_plain(struct arena *arena, const char *from, const char *to, struct v2_shell *shell,
                      struct buf *out)
{
    const char *piece = arena_strndup(arena, from, (size_t)(to - from));
    buf_puts(out, piece);
    v2_shell_feed(shell, piece);
}

void v2_render(struct v2_scope *s, struct document_place at, const char *text,
               struct v2_shell *shell, struct buf *out)
{
    struct arena *arena = s->r->arena;
    const char *begin, *end, *name;
    while ((name = next_name(arena, text, &begin, &end))) {
        if (!end) {
            open_end(s->r->report, at);
            return;
        }
        put_plain(arena, text, begin, shell, out);
        if (!no_name(s->r->report, at, name))
            put_value(s, at, name, shell, out);
        text = end;
    }
    put_plain(arena, text, text + strlen(text), shell, out);
}

void v2_check_auth(const struct v2_reader *r, struct document_place at)
{
    const char *text = at.node && at.node->kind == TEXT_STR ? at.node->str : "";
    const char *begin, *end, *name;
    size_t len;
    while ((name = next_name(r->arena, text, &begin, &end))) {
        if (!end) {
            open_end(r->report, at);
            return;
        }
        const struct text_node *secrets = text_get(r->root.node, "secrets");
        const struct origin *origin = origin_of(name, &len);
        const struct text_node *node =
            origin && is_secret(origin) && secrets ? v2_value(secrets, name + len) : NULL;
        if (!node || !single(node)) {
            struct problem *p = document_place_fail(
                r->report, at, "has <%% %.80s %%>, and there is no such secret", name);
            report_hint(r->report, p, "%s", keys_hint(r->arena, secrets, ""));
        }
        text = end;
    }
}
