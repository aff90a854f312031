/* From the tree of a file to edits. The fields are those of the CDI specification
 * (cncf-tags/container-device-interface, SPEC.md); hooks are those that nvidia-ctk 1.12 and newer
 * write, as "nvidia-ctk hook NAME ..." and "nvidia-cdi-hook NAME ...". */
#include "cdi/spec.h"

#include "base/mem.h"
#include "text/json.h"
#include "text/yaml.h"

#include <string.h>

struct reading {
    struct arena *arena;
    struct err *err;
};

/* ---- members ---- */

/* A text, also one that was written without quotes and looks like a number; NULL: none. */
static const char *text_of(const struct text_node *node)
{
    bool is = node && (node->kind == TEXT_STR || node->kind == TEXT_INT || node->kind == TEXT_REAL);
    return is ? node->str : NULL;
}

static const char *member(const struct text_node *map, const char *key)
{
    const char *text = text_of(text_get(map, key));
    return text ? text : "";
}

/* *list: NULL where there is none. */
static int list_of(const struct reading *r, const struct text_node *map, const char *key,
                   const struct text_node **list)
{
    const struct text_node *node = text_get(map, key);
    *list = node && node->kind != TEXT_NULL ? node : NULL;
    if (*list && node->kind != TEXT_LIST)
        return err_set(r->err, ERR_INPUT, "line %u: %s is no list", node->place.line, key);
    if (*list && node->count > CDI_LIST_MAX)
        return err_set(r->err, ERR_INPUT, "line %u: %s has %zu entries, the most are %u",
                       node->place.line, key, node->count, CDI_LIST_MAX);
    return 0;
}

static int refuse(const struct reading *r, const struct text_node *node, const char *what,
                  const char *value)
{
    return err_set(r->err, ERR_INPUT, "line %u: %s: %.100s", node->place.line, what, value);
}

/* Absolute, and without a part that leads up. */
static bool is_path(const char *path)
{
    size_t n = strlen(path);
    return *path == '/' && !strstr(path, "/../") && (n < 3 || strcmp(path + n - 3, "/..") != 0) &&
           n < 4000;
}

/* ---- lists of edits ---- */

static int read_nodes(const struct reading *r, const struct text_node *map, struct words *out)
{
    static const char dev[] = "/dev/";
    const struct text_node *list;
    if (list_of(r, map, "deviceNodes", &list) != 0)
        return -1;
    out->at = ARENA_ARRAY(r->arena, list ? list->count : 0, const char *);
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        const char *path = member(one, "path"), *type = member(one, "type");
        if (!is_path(path) || strncmp(path, dev, sizeof dev - 1) != 0 || !path[sizeof dev - 1])
            return refuse(r, one, "a device node that does not lie in /dev", path);
        if (*type && strcmp(type, "c") != 0 && strcmp(type, "u") != 0 && strcmp(type, "b") != 0)
            return refuse(r, one, "no type of a device", type);
        out->at[out->n++] = path + sizeof dev - 1;
    }
    return 0;
}

static bool has_option(const struct text_node *list, const char *word)
{
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        const char *text = text_of(one);
        if (text && strcmp(text, word) == 0)
            return true;
    }
    return false;
}

static int read_mounts(const struct reading *r, const struct text_node *map, struct cdi_edits *out)
{
    const struct text_node *list, *options;
    if (list_of(r, map, "mounts", &list) != 0)
        return -1;
    out->mounts = ARENA_ARRAY(r->arena, list ? list->count : 0, struct cdi_mount);
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        const char *from = member(one, "hostPath"), *at = member(one, "containerPath");
        const char *type = member(one, "type");
        if (list_of(r, one, "options", &options) != 0)
            return -1;
        if (*type && strcmp(type, "bind") != 0 && strcmp(type, "none") != 0)
            return refuse(r, one, "no mount of files of this machine", type);
        if (!is_path(from))
            return refuse(r, one, "hostPath is no absolute path", from);
        if (!is_path(at) || !at[1])
            return refuse(r, one, "containerPath is no absolute path", at);
        out->mounts[out->n_mounts++] =
            (struct cdi_mount){ .from = from, .at = at, .read_only = has_option(options, "ro") };
    }
    return 0;
}

static int read_env(const struct reading *r, const struct text_node *map, struct words *out)
{
    const struct text_node *list;
    if (list_of(r, map, "env", &list) != 0)
        return -1;
    out->at = ARENA_ARRAY(r->arena, list ? list->count : 0, const char *);
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        const char *entry = text_of(one);
        if (!entry || !strchr(entry, '=') || *entry == '=')
            return refuse(r, one, "no NAME=value", entry ? entry : "");
        out->at[out->n++] = entry;
    }
    return 0;
}

static int read_groups(const struct reading *r, const struct text_node *map, struct cdi_edits *out)
{
    const struct text_node *list;
    if (list_of(r, map, "additionalGids", &list) != 0)
        return -1;
    out->groups = ARENA_ARRAY(r->arena, list ? list->count : 0, uint32_t);
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        if (one->kind != TEXT_INT || one->integer < 0 || one->integer >= UINT32_MAX)
            return refuse(r, one, "no number of a group", one->str ? one->str : "");
        if (one->integer > 0) /* 0 is ignored, says the specification */
            out->groups[out->n_groups++] = (uint32_t)one->integer;
    }
    return 0;
}

/* ---- hooks ---- */

static bool is_of_nvidia(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strcmp(name, "nvidia-ctk") == 0 || strcmp(name, "nvidia-cdi-hook") == 0;
}

/* The value of an option, as "--NAME VALUE" or "--NAME=VALUE"; *at goes on to it. */
static const char *option_value(const struct text_node **at, const char *name)
{
    const char *text = text_of(*at);
    size_t n = strlen(name);
    if (!text || strncmp(text, "--", 2) != 0 || strncmp(text + 2, name, n) != 0)
        return NULL;
    if (text[2 + n] == '=')
        return text + 3 + n;
    if (text[2 + n] || !(*at)->next)
        return NULL;
    *at = (*at)->next;
    return text_of(*at);
}

/* "TARGET::LINK" */
static void add_link(const struct reading *r, const char *value, struct cdi_edits *out)
{
    const char *apart = strstr(value, "::");
    const char *at = apart ? apart + 2 : "";
    if (apart && apart > value && is_path(at) && at[1] && out->n_links < CDI_LIST_MAX)
        out->links[out->n_links++] =
            (struct cdi_link){ .at = at,
                               .to = arena_strndup(r->arena, value, (size_t)(apart - value)) };
}

static void read_hook(const struct reading *r, const struct text_node *args, struct cdi_edits *out)
{
    const struct text_node *at = args->first ? args->first->next : NULL;
    const char *name = text_of(at);
    if (at && name && strcmp(name, "hook") == 0) {
        at = at->next;
        name = text_of(at);
    }
    bool links = name && strcmp(name, "create-symlinks") == 0;
    bool cache = name && strcmp(name, "update-ldcache") == 0;
    for (at = at && (links || cache) ? at->next : NULL; at; at = at->next) {
        const char *value = option_value(&at, links ? "link" : "folder");
        if (value && links)
            add_link(r, value, out);
        else if (value && is_path(value) && out->folders.n < CDI_LIST_MAX)
            out->folders.at[out->folders.n++] = value;
    }
}

static int read_hooks(const struct reading *r, const struct text_node *map, struct cdi_edits *out)
{
    const struct text_node *list, *args;
    size_t most = 0;
    if (list_of(r, map, "hooks", &list) != 0)
        return -1;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        if (list_of(r, one, "args", &args) != 0)
            return -1;
        most += args ? args->count : 0;
    }
    most = most < CDI_LIST_MAX ? most : CDI_LIST_MAX;
    out->links = ARENA_ARRAY(r->arena, most, struct cdi_link);
    out->folders.at = ARENA_ARRAY(r->arena, most, const char *);
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        args = text_get(one, "args");
        if (args && args->kind == TEXT_LIST && is_of_nvidia(member(one, "path")))
            read_hook(r, args, out);
    }
    return 0;
}

static int read_edits(const struct reading *r, const struct text_node *parent,
                      struct cdi_edits *out)
{
    const struct text_node *map = text_get(parent, "containerEdits");
    if (!map || map->kind == TEXT_NULL)
        return 0;
    if (map->kind != TEXT_MAP)
        return refuse(r, map, "containerEdits", "no map");
    if (read_nodes(r, map, &out->nodes) != 0 || read_mounts(r, map, out) != 0 ||
        read_env(r, map, &out->env) != 0 || read_groups(r, map, out) != 0)
        return -1;
    return read_hooks(r, map, out);
}

/* ---- the file ---- */

static int read_devices(const struct reading *r, const struct text_node *root, struct cdi_spec *out)
{
    const struct text_node *list;
    if (list_of(r, root, "devices", &list) != 0)
        return -1;
    if (!list || !list->first)
        return err_set(r->err, ERR_INPUT, "it has no devices");
    out->devices = ARENA_ARRAY(r->arena, list->count, struct cdi_device);
    for (const struct text_node *one = list->first; one; one = one->next) {
        const char *name = member(one, "name");
        if (!*name)
            return refuse(r, one, "a device without a name", name);
        for (size_t i = 0; i < out->n_devices; i++)
            if (strcmp(out->devices[i].name, name) == 0)
                return refuse(r, one, "it has this device twice", name);
        struct cdi_device *device = &out->devices[out->n_devices++];
        *device = (struct cdi_device){ .name = name };
        if (read_edits(r, one, &device->edits) != 0)
            return -1;
    }
    return 0;
}

/* "0.3.0" to "0.8.9": what 0.9 or 1.0 would add is not known here. */
static bool is_known_version(const char *text)
{
    return strncmp(text, "0.", 2) == 0 && text[2] >= '3' && text[2] <= '8' &&
           (!text[3] || text[3] == '.');
}

static bool is_json(const char *text, size_t len)
{
    size_t i = 0;
    while (i < len && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n'))
        i++;
    return i < len && text[i] == '{';
}

static const struct text_node *parse(const struct reading *r, const char *text, size_t len)
{
    struct report report;
    report_init(&report, r->arena);
    const struct text_node *root = is_json(text, len) ? json_parse(r->arena, text, len, 0, &report)
                                                      : yaml_parse(r->arena, text, len, &report);
    if (root && report_ok(&report))
        return root;
    report_err(&report, r->err);
    return NULL;
}

int cdi_spec_read(struct arena *arena, const char *text, size_t len, struct cdi_spec *out,
                  struct err *err)
{
    const struct reading r = { arena, err };
    struct cdi_spec spec = { .file = out->file };
    const struct text_node *root = parse(&r, text, len);
    if (!root)
        return -1;
    if (root->kind != TEXT_MAP || !*member(root, "kind"))
        return err_set(err, ERR_INPUT, "it is no specification of CDI: it has no kind");
    if (strcmp(member(root, "kind"), CDI_KIND) != 0)
        return 1;
    if (!is_known_version(member(root, "cdiVersion")))
        return err_set(err, ERR_INPUT, "cdiVersion \"%.20s\" is not one of 0.3 to 0.8",
                       member(root, "cdiVersion"));
    if (read_edits(&r, root, &spec.edits) != 0 || read_devices(&r, root, &spec) != 0)
        return -1;
    *out = spec;
    return 0;
}
