/* Declarations and settings to what the core of a simulation is configured with, queues and prices
 * among it. Problems are reported at their place in the text. */
#include "sim/world.h"

#include "base/mem.h"
#include "base/scan.h"
#include "text/yaml.h"

#include <string.h>

#define DEFAULT_QUEUE "default"

static void wrong(struct report *report, const struct text_node *n, const char *expected)
{
    struct problem *p = report_error(report, n->place, n->key, "%s is %s%.60s%s", n->key,
                                     n->str ? "\"" : text_kind_word(n->kind), n->str ? n->str : "",
                                     n->str ? "\"" : "");
    report_hint(report, p, "%s", expected);
}

/* ---- what is declared ---- */

/* "a,b" or a list of them. */
static bool read_words(struct arena *arena, const struct text_node *node, struct words *words)
{
    size_t most = node->count + 1;
    for (const char *at = node->str; at && *at; at++)
        most += *at == ',';
    words->at = ARENA_ARRAY(arena, most, const char *);
    if (node->kind == TEXT_LIST) {
        for (const struct text_node *n = node->first; n; n = n->next) {
            if (n->kind != TEXT_STR)
                return false;
            words->at[words->n++] = arena_strdup(arena, n->str);
        }
        return true;
    }
    for (const char *at = node->str; node->kind == TEXT_STR && at && *at;) {
        size_t n = strcspn(at, ",");
        if (n)
            words->at[words->n++] = arena_strndup(arena, at, n);
        at += n + (at[n] == ',');
    }
    return node->kind == TEXT_STR;
}

static void read_queues(struct declarations *d, const struct text_node *node, struct report *report)
{
    struct words names = { 0 };
    struct entry *entries;
    size_t n = 0;
    if (node->kind == TEXT_LIST) {
        d->queues = text_copy(report->arena, NULL, NULL, node);
        entries_decode_queues(report->arena, d->queues, &entries, &n, report);
    } else if (read_words(report->arena, node, &names)) {
        struct text_node *list = text_list(report->arena, NULL, NULL);
        for (size_t i = 0; i < names.n; i++)
            text_str(report->arena, list, NULL, names.at[i]);
        d->queues = list;
    } else {
        wrong(report, node, "a list: [{name: research, guaranteed: 50%}, {name: other}]");
    }
}

static void read_prices(struct declarations *d, const struct text_node *node, struct report *report)
{
    d->prices.at = ARENA_ARRAY(report->arena, node->count, struct amount);
    for (const struct text_node *n = node->first; node->kind == TEXT_MAP && n; n = n->next) {
        struct amount *price = &d->prices.at[d->prices.n++];
        price->name = arena_strdup(report->arena, n->key);
        if (!n->str || !scan_milli(n->str, &price->milli))
            wrong(report, n, "a price with at most three decimals: 2.5");
    }
    if (node->kind != TEXT_MAP)
        wrong(report, node, "a map of models: {A100: 2.5, \"*\": 1}");
}

static void read_time(const struct text_node *node, uint64_t *ms, struct report *report)
{
    const char *text = node->str ? node->str : "";
    if (strcmp(text, "never") == 0)
        *ms = UINT64_MAX;
    else if (!scan_duration(text, ms) || *ms == 0)
        wrong(report, node, "a time above 0: 90s, 15m, 2h, 7d or never");
}

static void read_topology(struct declarations *d, const struct text_node *node,
                          struct report *report)
{
    if (!read_words(report->arena, node, &d->topology))
        wrong(report, node, "labels of nodes, outermost first: [zone, rack]");
}

bool declarations_key(const char *key)
{
    static const char *const keys[] = { "queues", "topology", "prices", "default_run",
                                        "half_life" };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static bool is_said(const struct declarations *d, const char *key)
{
    switch (*key) {
    case 'q': return d->queues;
    case 't': return d->topology.at;
    case 'p': return d->prices.at;
    case 'd': return d->run_ms;
    default: return d->half_life_ms;
    }
}

void declarations_read(struct declarations *d, const struct text_node *root, struct report *report)
{
    for (const struct text_node *n = root->first; n; n = n->next) {
        if (!n->key || !declarations_key(n->key))
            continue;
        if (is_said(d, n->key))
            report_error(report, n->key_place, n->key, "%s is said before, with the cluster",
                         n->key);
        else if (*n->key == 'q')
            read_queues(d, n, report);
        else if (*n->key == 't')
            read_topology(d, n, report);
        else if (*n->key == 'p')
            read_prices(d, n, report);
        else
            read_time(n, *n->key == 'd' ? &d->run_ms : &d->half_life_ms, report);
    }
}

/* ---- what is made of it ---- */

static const char *name_of(const struct text_node *queue)
{
    const struct text_node *name = queue->kind == TEXT_MAP ? text_get(queue, "name") : queue;
    return name && name->str ? name->str : "";
}

static bool has(const struct text_node *list, const char *name)
{
    for (const struct text_node *n = list->first; n; n = n->next)
        if (strcmp(name_of(n), name) == 0)
            return true;
    return false;
}

static bool is_for(const struct queue_change *change, const char *queue)
{
    return !change->queue || strcmp(change->queue, queue) == 0;
}

static bool changed(const struct sim_settings *s, const char *queue, const char *field)
{
    for (size_t i = 0; i < s->n_changes; i++)
        if (is_for(&s->changes[i], queue) && strcmp(s->changes[i].field, field) == 0)
            return true;
    return false;
}

/* The queue as it is declared, with what settings say instead; of several that say the same the
 * last. */
static void add_queue(struct arena *arena, struct text_node *list, const struct text_node *queue,
                      const struct sim_settings *s)
{
    const char *name = name_of(queue);
    struct text_node *map = text_map(arena, list, NULL);
    if (queue->kind != TEXT_MAP)
        text_str(arena, map, "name", name);
    for (const struct text_node *n = queue->first; n; n = n->next)
        if (!changed(s, name, n->key))
            text_copy(arena, map, n->key, n);
    for (size_t i = s->n_changes; i-- > 0;) {
        const struct queue_change *change = &s->changes[i];
        struct report report;
        if (!is_for(change, name) || text_get(map, change->field))
            continue;
        report_init(&report, arena);
        const struct text_node *value =
            yaml_parse(arena, change->value, strlen(change->value), &report);
        if (value && report_ok(&report))
            text_copy(arena, map, change->field, value);
        else
            text_str(arena, map, change->field, change->value);
    }
}

/* All queues as a list of maps: those declared, else those that jobs name; always the default. */
static struct text_node *all_queues(struct arena *arena, const struct declarations *d,
                                    const struct words *named, const struct sim_settings *s)
{
    struct text_node *plain = text_list(arena, NULL, NULL), *list = text_list(arena, NULL, NULL);
    for (const struct text_node *n = d->queues ? d->queues->first : NULL; n; n = n->next)
        text_copy(arena, plain, NULL, n);
    for (size_t i = 0; !d->queues && i < named->n; i++)
        text_str(arena, plain, NULL, named->at[i]);
    if (!has(plain, DEFAULT_QUEUE))
        text_str(arena, plain, NULL, DEFAULT_QUEUE);
    for (const struct text_node *n = plain->first; n; n = n->next)
        add_queue(arena, list, n, s);
    return list;
}

static int no_queue(const struct text_node *queues, const struct queue_change *change,
                    struct arena *arena, struct err *err)
{
    const char **names = ARENA_ARRAY(arena, queues->count, const char *);
    size_t n = 0;
    for (const struct text_node *q = queues->first; q; q = q->next)
        names[n++] = name_of(q);
    const char *near = scan_nearest(change->queue, names, n);
    err_set(err, ERR_INPUT, "--policy %.60s.%s: there is no queue \"%.60s\"", change->queue,
            change->field, change->queue);
    return near ? err_hint(err, "\"%.60s.%s\"?", near, change->field)
                : err_hint(err, "%.60s.%s, for one", names[0], change->field);
}

int world_make(struct arena *arena, const struct declarations *d, const struct words *named,
               const struct sim_settings *s, struct world *world, struct err *err)
{
    struct report report;
    const struct text_node *queues = all_queues(arena, d, named, s);
    *world = (struct world){
        .topology = d->topology,
        .prices = d->prices,
        .run_ms = s->policy[POLICY_DEFAULT_RUN] ? s->policy[POLICY_DEFAULT_RUN] : d->run_ms,
        .half_life_ms = s->policy[POLICY_HALF_LIFE] ? s->policy[POLICY_HALF_LIFE] : d->half_life_ms
    };
    for (size_t i = 0; i < s->n_changes; i++)
        if (s->changes[i].queue && !has(queues, s->changes[i].queue))
            return no_queue(queues, &s->changes[i], arena, err);
    report_init(&report, arena);
    if (entries_decode_queues(arena, queues, &world->declared, &world->n_declared, &report)) {
        err_set(err, ERR_INPUT, "--policy: %.300s", report.at[0].what);
        return *report.at[0].hint ? err_hint(err, "%s", report.at[0].hint) : -1;
    }
    world->queues.at = ARENA_ARRAY(arena, queues->count, const char *);
    for (const struct text_node *n = queues->first; n; n = n->next)
        world->queues.at[world->queues.n++] = name_of(n);
    return 0;
}

bool world_has_queue(const struct world *world, const char *name)
{
    for (size_t i = 0; i < world->queues.n; i++)
        if (strcmp(world->queues.at[i], name) == 0)
            return true;
    return !*name;
}
