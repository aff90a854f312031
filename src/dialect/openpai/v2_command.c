/* The command of a role: what plugins, prerequisites and the chosen deployment put around its own
 * commands, as one text for bash.
 *
 * Inputs: the decoded document. Effects: problems in the report, variables for secrets in the role.
 *
 * Caveats: there, commands of plugins were scripts of their own before and after the user's; here
 * everything is one script, so what they export stays, and a failure in front ends the task. */
#include "dialect/openpai/v2.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"

#define PLUGIN_PREFIX V2_PLUGINS "."
enum { COMMAND_BYTES = 131071, WITH_REQUIRED = 64 };

struct command {
    struct v2_reader *r;
    struct v2_scope scope;
    struct v2_shell shell;
    struct buf out;
    size_t pieces;
    bool not_strict;
    const char *asked[WITH_REQUIRED]; /* prerequisites, in the order in which they start */
    size_t n_asked;
};

static struct document_place at(const struct v2_reader *r, struct document_place from,
                                const char *key)
{
    return document_place_in(r->arena, from, key);
}

static const char *trimmed(struct arena *arena, const char *text)
{
    size_t n = strlen(text);
    size_t first = strspn(text, " \t\r\n");
    while (n > first && strchr(" \t\r\n", text[n - 1]))
        n--;
    return arena_strndup(arena, text + first, n - first);
}

static void add_piece(struct command *c, struct document_place spot)
{
    const struct text_node *node = spot.node;
    if (!node || node->kind == TEXT_LIST || node->kind == TEXT_MAP || !node->str)
        return;
    const char *text = trimmed(c->r->arena, node->str);
    if (!*text)
        return;
    if (c->pieces++ == 0 && strcmp(text, V2_NOT_STRICT) == 0) {
        c->not_strict = true;
        return;
    }
    v2_render(&c->scope, spot, text, &c->shell, &c->out);
    buf_putc(&c->out, '\n');
    v2_shell_feed(&c->shell, "\n");
}

static void add_list(struct command *c, struct document_place list)
{
    size_t n = list.node && list.node->kind == TEXT_LIST ? list.node->count : 0;
    for (size_t i = 0; i < n; i++)
        add_piece(c, document_place_item(c->r->arena, list, i));
}

static void add_callbacks(struct command *c, struct document_place list, const char *event)
{
    size_t n = list.node && list.node->kind == TEXT_LIST ? list.node->count : 0;
    for (size_t i = 0; i < n; i++) {
        struct document_place item = document_place_item(c->r->arena, list, i);
        const struct text_node *name = text_get(item.node, "event");
        if (name && name->kind == TEXT_STR && strcmp(name->str, event) == 0)
            add_list(c, at(c->r, item, "commands"));
    }
}

/* ---- prerequisites ---- */

static bool asked_already(const struct command *c, const char *name)
{
    for (size_t i = 0; i < c->n_asked; i++)
        if (strcmp(c->asked[i], name) == 0)
            return true;
    return c->n_asked == WITH_REQUIRED;
}

/* What it requires goes first; a name that is there once does not come again, so circles end. */
static void ask(struct command *c, const char *name, unsigned depth)
{
    struct document_place found;
    if (depth > WITH_REQUIRED || asked_already(c, name) ||
        !v2_prerequisite(c->r, NULL, name, &found))
        return;
    const struct text_node *required = text_get(found.node, "require");
    const struct text_node *item = required && required->kind == TEXT_LIST ? required->first : NULL;
    for (; item; item = item->next)
        if (item->kind == TEXT_STR && strcmp(item->str, name) != 0)
            ask(c, item->str, depth + 1);
    if (!asked_already(c, name))
        c->asked[c->n_asked++] = name;
}

static void add_prerequisite(struct command *c, const char *name, const char *event)
{
    struct document_place found;
    if (v2_prerequisite(c->r, NULL, name, &found))
        add_callbacks(c, at(c->r, found, "callbacks"), event);
}

/* ---- plugins ---- */

static struct document_place plugin_spot(const struct v2_reader *r, size_t i)
{
    struct document_place list = at(r, at(r, r->root, "extras"), V2_PLUGINS);
    return document_place_item(r->arena, list, i);
}

const char *v2_plugin_name(const char *name)
{
    size_t n = strlen(PLUGIN_PREFIX);
    return strncmp(name, PLUGIN_PREFIX, n) == 0 ? name + n : name;
}

static void add_plugins(struct command *c, const char *key, const char *event)
{
    const struct v2_extras *extras = &c->r->doc->extras;
    for (size_t i = 0; i < extras->n_plugins; i++) {
        const struct v2_plugin *plugin = &extras->plugins[i];
        if (!plugin->plugin || strcmp(v2_plugin_name(plugin->plugin), "cmd") != 0 ||
            (plugin->roles.n > 0 && !words_have(&plugin->roles, c->scope.role->name)))
            continue;
        struct document_place parameters = at(c->r, plugin_spot(c->r, i), "parameters");
        add_list(c, at(c->r, parameters, key));
        add_callbacks(c, at(c->r, parameters, "callbacks"), event);
    }
}

/* Those that are not here. warn: the job runs no different for it. */
static const struct {
    const char *name, *hint;
    bool warn;
} known[] = {
    { .name = "cmd" },
    { .name = "ssh",
      .warn = true,
      .hint =
          "no ssh server is started; peers have names (worker-0), `muster exec` goes into a task" },
    { .name = "tensorboard",
      .warn = true,
      .hint = "none is started; run it as a role, or look at the directory from outside" },
    { .name = "git", .hint = "git clone in the commands" },
    { .name = "teamwise_storage" },
};

static const char *unknown_hint(struct arena *arena, const char *name)
{
    const char *names[ARRAY_LEN(known)];
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        names[i] = known[i].name;
    const char *near = scan_nearest(name, names, ARRAY_LEN(names));
    return near ? arena_printf(arena, "\"%s\"?", near) : "failurePolicy: ignore goes on without it";
}

static void check_plugin(struct v2_reader *r, struct document_place spot, const char *full,
                         bool ignore)
{
    const char *name = v2_plugin_name(full), *hint = NULL;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (strcmp(known[i].name, name) != 0)
            continue;
        if (!known[i].hint)
            return;
        hint = known[i].hint;
        ignore |= known[i].warn;
    }
    hint = hint ? hint : unknown_hint(r->arena, name);
    const char *what = arena_printf(r->arena, "is \"%.60s\", which is not here", full);
    report_hint(r->report,
                ignore ? document_place_warn(r->report, spot, "%s", what)
                       : document_place_fail(r->report, spot, "%s", what),
                "%s", hint);
}

static void check_callbacks(struct v2_reader *r, struct document_place list)
{
    size_t n = list.node && list.node->kind == TEXT_LIST ? list.node->count : 0;
    for (size_t i = 0; i < n; i++) {
        struct document_place event = at(r, document_place_item(r->arena, list, i), "event");
        const char *word = event.node && event.node->kind == TEXT_STR ? event.node->str : "";
        if (strcmp(word, "taskStarts") == 0 || strcmp(word, "taskSucceeds") == 0)
            continue;
        report_hint(r->report,
                    document_place_fail(r->report, event,
                                        "is \"%.40s\", and nothing happens here then", word),
                    "taskStarts, or taskSucceeds");
    }
}

static void check_asked(struct v2_reader *r, const struct v2_role *role)
{
    for (size_t i = 0; i < role->prerequisites.n; i++) {
        struct document_place found;
        if (!v2_prerequisite(r, NULL, role->prerequisites.at[i], &found))
            continue;
        struct document_place plugin = at(r, found, "plugin");
        if (plugin.node && plugin.node->kind == TEXT_STR)
            check_plugin(r, plugin, plugin.node->str, false);
        check_callbacks(r, at(r, found, "callbacks"));
    }
}

void v2_plugins(struct v2_reader *r)
{
    const struct v2_extras *extras = &r->doc->extras;
    for (size_t i = 0; i < extras->n_plugins; i++) {
        const struct v2_plugin *plugin = &extras->plugins[i];
        struct document_place spot = plugin_spot(r, i);
        bool ignore = plugin->on_failure && strcmp(plugin->on_failure, "ignore") == 0;
        if (plugin->plugin)
            check_plugin(r, at(r, spot, "plugin"), plugin->plugin, ignore);
        check_callbacks(r, at(r, at(r, spot, "parameters"), "callbacks"));
    }
    for (size_t i = 0; i < r->doc->n_roles; i++)
        check_asked(r, &r->doc->roles[i]);
}

/* ---- the whole ---- */

static struct document_place steps_spot(const struct v2_reader *r, const struct v2_role *role,
                                        const char *key)
{
    size_t i = (size_t)(r->deployment - r->doc->deployments);
    struct document_place item = document_place_item(r->arena, at(r, r->root, "deployments"), i);
    return at(r, at(r, at(r, item, "taskRoles"), role->name), key);
}

static void add_all(struct command *c, const struct v2_role *role)
{
    struct v2_reader *r = c->r;
    struct document_place own = at(r, at(r, at(r, r->root, "taskRoles"), role->name), "commands");
    for (size_t i = 0; i < role->prerequisites.n; i++)
        ask(c, role->prerequisites.at[i], 0);
    add_plugins(c, "preCommands", "taskStarts");
    for (size_t i = 0; i < c->n_asked; i++)
        add_prerequisite(c, c->asked[i], "taskStarts");
    if (r->deployment)
        add_list(c, steps_spot(r, role, "preCommands"));
    size_t before = c->pieces;
    add_list(c, own);
    if (c->pieces == before)
        report_hint(r->report, document_place_fail(r->report, own, "says nothing to run"),
                    "- python train.py");
    if (r->deployment)
        add_list(c, steps_spot(r, role, "postCommands"));
    for (size_t i = c->n_asked; i-- > 0;)
        add_prerequisite(c, c->asked[i], "taskSucceeds");
    add_plugins(c, "postCommands", "taskSucceeds");
    if (c->out.overflow || c->out.len > COMMAND_BYTES - sizeof V2_STRICT)
        report_hint(r->report,
                    document_place_fail(r->report, own, "has more than the %d bytes of one command",
                                        COMMAND_BYTES),
                    "put it into a script");
}

const char *v2_command(struct v2_reader *r, const struct v2_role *role, struct role *into,
                       struct text_node *secret_names)
{
    struct command c = {
        .r = r,
        .scope = { .r = r, .role = role, .env = &into->env, .names = secret_names },
        .out = BUF_INIT(COMMAND_BYTES * 2),
    };
    add_all(&c, role);
    AUTO_BUF struct buf all = BUF_INIT(COMMAND_BYTES * 4);
    if (!c.not_strict)
        buf_puts(&all, V2_STRICT);
    for (size_t i = 0; i < c.scope.used.n; i++)
        buf_addf(&all, "%s%s", i ? " " : "export -n ", c.scope.used.at[i]);
    if (c.scope.used.n)
        buf_putc(&all, '\n');
    buf_puts(&all, buf_str(&c.out));
    buf_fini(&c.out);
    size_t n = strlen(buf_str(&all));
    return arena_strndup(r->arena, buf_str(&all), n - (n > 0)); /* without the last line's end */
}
