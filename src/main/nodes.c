/* Declared nodes. Each form is read into one group (a node and how often), groups are laid out as
 * nodes with names and loopback addresses. Nothing here looks at the machine. */
#include "main/nodes.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

struct group {
    struct node_spec node;
    uint64_t count;
};

const char *nodes_address(struct arena *a, size_t i)
{
    /* 127.0.0.10 first; 240 in each third byte, so that .0, .1 and .255 stay free. */
    return arena_printf(a, "127.0.%zu.%zu", i / 240, 10 + i % 240);
}

static int add_group(struct arena *a, const struct group *group, struct node_list *list,
                     struct err *err)
{
    if (list->n + group->count > NODES_MAX)
        return err_set(err, ERR_TOO_LARGE, "more than %u nodes", NODES_MAX);
    if (list->n + group->count > list->cap) {
        list->cap = 2 * list->cap + group->count;
        struct node_spec *wider = ARENA_ARRAY(a, list->cap, struct node_spec);
        if (list->n)
            memcpy(wider, list->at, list->n * sizeof *wider);
        list->at = wider;
    }
    for (uint64_t i = 0; i < group->count; i++) {
        struct node_spec *node = &list->at[list->n];
        *node = group->node;
        if (!node->name)
            node->name = arena_printf(a, "n%zu", list->n + 1);
        else if (group->count > 1)
            node->name = arena_printf(a, "%s%llu", node->name, (unsigned long long)i + 1);
        node->address = nodes_address(a, list->n++);
    }
    return 0;
}

static int check_names(const struct node_list *list, struct err *err)
{
    struct string_map *names = string_map_create();
    const struct node_spec *twice = NULL;
    for (size_t i = 0; i < list->n && !twice; i++) {
        if (string_map_get(names, list->at[i].name))
            twice = &list->at[i];
        string_map_set(names, list->at[i].name, &list->at[i]);
    }
    string_map_destroy(names);
    return twice ? err_set(err, ERR_INPUT, "two nodes have the name %s", twice->name) : 0;
}

static int finish(const struct node_list *list, struct err *err)
{
    if (list->n == 0) {
        err_set(err, ERR_INPUT, "nodes names no node");
        return err_hint(err, "for example 4x16cpu,64Gi,4gpu");
    }
    return check_names(list, err);
}

static struct group new_group(const char *host)
{
    return (struct group){
        .count = 1, .node = { .host = host, .gpu_type = "", .declared = true, .memory = 0 }
    };
}

static void add_custom(struct arena *a, struct amounts *list, const char *name, uint64_t milli)
{
    struct amount *wider = ARENA_ARRAY(a, list->n + 1, struct amount);
    if (list->n)
        memcpy(wider, list->at, list->n * sizeof *wider);
    wider[list->n++] = (struct amount){ .name = name, .milli = milli };
    list->at = wider;
}

/* ---- the short form ---- */

/* "16cpu": the text before the unit, or NULL. */
static char *before(struct arena *a, const char *item, const char *unit)
{
    size_t n = strlen(item), u = strlen(unit);
    return n > u && strcmp(item + n - u, unit) == 0 ? arena_strndup(a, item, n - u) : NULL;
}

static bool read_gpus(struct arena *a, const char *item, struct node_spec *node)
{
    char *text = arena_strdup(a, item), *colon = strchr(text, ':');
    uint64_t n;
    if (colon)
        *colon = '\0';
    char *number = before(a, text, "gpu");
    if (!number || !scan_u64(number, 0, 1024, &n))
        return false;
    node->gpus = (uint32_t)n;
    if (colon)
        node->gpu_type = colon + 1;
    return true;
}

static bool read_named(struct arena *a, const char *item, struct node_spec *node)
{
    const char *eq = strchr(item, '=');
    char *name = arena_strndup(a, item, (size_t)(eq - item));
    if (!*name)
        return false;
    if (strcmp(name, "name") == 0)
        node->name = eq + 1;
    else if (strcmp(name, "disk") == 0)
        return scan_size(eq + 1, &node->disk);
    else if (strcmp(name, "memory") == 0)
        return scan_size(eq + 1, &node->memory);
    else
        pairs_set(&node->labels, a, name, eq + 1);
    return eq[1] != '\0';
}

static bool read_item(struct arena *a, const char *item, struct group *group)
{
    struct node_spec *node = &group->node;
    const char *colon = strchr(item, ':');
    char *cpu = before(a, item, "cpu");
    uint64_t milli;
    if (strchr(item, '='))
        return read_named(a, item, node);
    if (cpu)
        return scan_milli(cpu, &node->cpu_milli);
    if (read_gpus(a, item, node))
        return true;
    if (colon && colon > item && scan_milli(colon + 1, &milli)) {
        add_custom(a, &node->custom, arena_strndup(a, item, (size_t)(colon - item)), milli);
        return true;
    }
    return scan_size(item, &node->memory);
}

/* "4x16cpu": takes the count off the front. */
static const char *read_count(struct arena *a, const char *item, uint64_t *count)
{
    size_t digits = strspn(item, "0123456789");
    if (digits == 0 || item[digits] != 'x')
        return item;
    return scan_u64(arena_strndup(a, item, digits), 1, NODES_MAX, count) ? item + digits + 1 : NULL;
}

static int read_group(struct arena *a, const char *text, const char *host, struct node_list *list,
                      struct err *err)
{
    struct group group = new_group(host);
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ",");
        char *item = arena_strndup(a, at + strspn(at, " "), n - strspn(at, " "));
        const char *rest = at == text ? read_count(a, item, &group.count) : item;
        if (!rest || !read_item(a, rest, &group)) {
            err_set(err, ERR_INPUT, "nodes: \"%.60s\" in \"%.80s\" is not understood", item, text);
            return err_hint(
                err, "write 4x16cpu,64Gi,4gpu:A100,disk=1Ti,zone=a,licence:2; groups apart by ;");
        }
        at += n + (at[n] == ',');
    }
    if (group.node.cpu_milli == 0) {
        err_set(err, ERR_INPUT, "nodes: \"%.80s\" has no cpu", text);
        return err_hint(err, "begin with how many and their cpus: 4x16cpu");
    }
    if (group.node.memory == 0) {
        err_set(err, ERR_INPUT, "nodes: \"%.80s\" has no memory", text);
        return err_hint(err, "add a size: %.80s,64Gi", text);
    }
    return add_group(a, &group, list, err);
}

int nodes_parse(struct arena *a, const char *text, const char *host, struct node_list *list,
                struct err *err)
{
    *list = (struct node_list){ .at = NULL };
    while (*text) {
        size_t n = strcspn(text, ";");
        char *group = arena_strndup(a, text, n);
        if (group[strspn(group, " \n\t")] && read_group(a, group, host, list, err) < 0)
            return -1;
        text += n + (text[n] == ';');
    }
    return finish(list, err);
}

/* ---- the file's list ---- */

static int bad(const struct text_node *node, const char *wanted, struct err *err)
{
    err_set(err, ERR_INPUT, "%u:%u: %s is %s%s%.60s", node->place.line, node->place.col,
            node->key ? node->key : "node", node->str ? "" : text_kind_word(node->kind),
            node->str ? "" : " ", node->str ? node->str : "");
    return err_hint(err, "write %s", wanted);
}

static bool scalar(const struct text_node *node)
{
    return node->str && node->kind != TEXT_NULL;
}

static int read_gpu_field(const struct text_node *node, struct node_spec *spec, struct err *err)
{
    const struct text_node *count = node->kind == TEXT_MAP ? text_get(node, "count") : node;
    const struct text_node *type = text_get(node, "type");
    uint64_t n;
    if (!count || !scalar(count) || !scan_u64(count->str, 0, 1024, &n))
        return bad(node, "a number, or {count: 4, type: A100}", err);
    spec->gpus = (uint32_t)n;
    if (type && scalar(type))
        spec->gpu_type = type->str;
    return 0;
}

static int read_maps(struct arena *a, const struct text_node *node, struct node_spec *spec,
                     struct err *err)
{
    bool labels = strcmp(node->key, "labels") == 0;
    uint64_t milli;
    if (node->kind != TEXT_MAP)
        return bad(node, "a map", err);
    for (const struct text_node *n = node->first; n; n = n->next) {
        if (!scalar(n) || (!labels && !scan_milli(n->str, &milli)))
            return bad(n, labels ? "text" : "a number", err);
        if (labels)
            pairs_set(&spec->labels, a, n->key, n->str);
        else
            add_custom(a, &spec->custom, n->key, milli);
    }
    return 0;
}

static int read_field(struct arena *a, const struct text_node *n, struct group *group,
                      struct err *err)
{
    static const char *const names[] = { "name", "count", "cpus",   "memory",
                                         "disk", "gpus",  "labels", "custom" };
    struct node_spec *node = &group->node;
    const char *near = scan_nearest(n->key, names, ARRAY_LEN(names));
    const char *text = scalar(n) ? n->str : "";
    if (strcmp(n->key, "gpus") == 0)
        return read_gpu_field(n, node, err);
    if (strcmp(n->key, "labels") == 0 || strcmp(n->key, "custom") == 0)
        return read_maps(a, n, node, err);
    if (strcmp(n->key, "name") == 0)
        return *(node->name = text) ? 0 : bad(n, "a name", err);
    if (strcmp(n->key, "count") == 0)
        return scan_u64(text, 1, NODES_MAX, &group->count) ? 0 : bad(n, "a number", err);
    if (strcmp(n->key, "cpus") == 0)
        return scan_milli(text, &node->cpu_milli) ? 0 : bad(n, "a number of cores", err);
    if (strcmp(n->key, "memory") == 0)
        return scan_size(text, &node->memory) ? 0 : bad(n, "a size: 64Gi", err);
    if (strcmp(n->key, "disk") == 0)
        return scan_size(text, &node->disk) ? 0 : bad(n, "a size: 1Ti", err);
    err_set(err, ERR_INPUT, "%u:%u: unknown field \"%.60s\" of a node", n->key_place.line,
            n->key_place.col, n->key);
    return near ? err_hint(err, "\"%s\"?", near)
                : err_hint(err, "name count cpus memory disk gpus labels custom");
}

int nodes_read(struct arena *a, const struct text_node *tree, const char *host,
               struct node_list *list, struct err *err)
{
    *list = (struct node_list){ .at = NULL };
    for (const struct text_node *item = tree->first; item; item = item->next) {
        struct group group = new_group(host);
        if (item->kind != TEXT_MAP)
            return bad(item, "a map: {name: n1, cpus: 16, memory: 64Gi}", err);
        for (const struct text_node *n = item->first; n; n = n->next)
            if (read_field(a, n, &group, err) < 0)
                return -1;
        if (group.node.cpu_milli == 0 || group.node.memory == 0) {
            err_set(err, ERR_INPUT, "%u:%u: a node needs cpus and memory", item->place.line,
                    item->place.col);
            return err_hint(err, "{name: n1, cpus: 16, memory: 64Gi}");
        }
        if (add_group(a, &group, list, err) < 0)
            return -1;
    }
    return finish(list, err);
}
