/* What becomes of nodes by what the engine says of them. What is known of a machine is a row of
 * its own, so that a server that starts anew knows it before it has come back. */
#include "inventory/nodes.h"

#include "engine/engine.h"
#include "inventory/closed_devices.h"
#include "inventory/node_price.h"
#include "job/gpu.h"
#include "live/row_json.h"
#include "sched/cluster.h"
#include "store/store.h"
#include "text/json.h"

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define KIND    "machine"
#define DRAINED "{\"drained\":true}"
#define OFFERED "{\"drained\":false}"

struct nodes {
    struct nodes_config config;
    struct string_map *away; /* name -> struct node_outage */
    bool touched;            /* rows were written since the last commit */
};

struct nodes *nodes_create(const struct nodes_config *config)
{
    struct nodes *nodes = mem_new(sizeof *nodes);
    *nodes = (struct nodes){ .config = *config, .away = string_map_create() };
    return nodes;
}

void nodes_destroy(struct nodes *nodes)
{
    if (!nodes)
        return;
    string_map_destroy_with(nodes->away, free);
    free(nodes);
}

static void come_back(struct nodes *nodes, const char *node)
{
    free(string_map_remove(nodes->away, node));
}

/* In one block, so that the map frees it like any. */
static void put_away(struct nodes *nodes, const char *node, const struct node_outage *from)
{
    const size_t size = strlen(from->why) + 1, more = strlen(from->note) + 1;
    struct node_outage *away = mem_new(sizeof *away + size + more);
    char *text = (char *)(away + 1);
    memcpy(text, from->why, size);
    memcpy(text + size, from->note, more);
    *away = (struct node_outage){ .since_ms = from->since_ms, .why = text, .note = text + size };
    come_back(nodes, node);
    string_map_set(nodes->away, node, away);
}

static void go_away(struct nodes *nodes, const char *node, uint64_t since_ms, const char *why)
{
    put_away(nodes, node,
             &(struct node_outage){ .since_ms = since_ms, .why = why ? why : "", .note = "" });
}

void nodes_note(struct nodes *nodes, const char *node, const char *note)
{
    const struct node_outage *away = nodes_away(nodes, node);
    if (away)
        put_away(
            nodes, node,
            &(struct node_outage){ .since_ms = away->since_ms, .why = away->why, .note = note });
}

const char *nodes_why(struct arena *arena, const struct node_outage *away)
{
    return arena_printf(arena, "%s%s%s", away->why, *away->note ? "; " : "", away->note);
}

const struct node_outage *nodes_away(const struct nodes *nodes, const char *node)
{
    return string_map_get(nodes->away, node);
}

bool nodes_any_away(const struct nodes *nodes)
{
    return string_map_count(nodes->away) > 0;
}

/* They come after those of the configuration. */
bool nodes_have_machines(const struct nodes *nodes)
{
    for (uint32_t i = (uint32_t)nodes->config.n_declared; i < cluster_count(nodes->config.cluster);
         i++)
        if (!cluster_node(nodes->config.cluster, i).spec->gone)
            return true;
    return false;
}

uint64_t nodes_dated(const struct nodes *nodes, uint64_t at_ms)
{
    const struct nodes_config *c = &nodes->config;
    return c->date(c->arg) - (c->now(c->arg) - at_ms);
}

const struct node_spec *nodes_copy(struct arena *arena, const struct node_spec *from)
{
    if (!from)
        return NULL;
    struct node_spec *copy = ARENA_NEW(arena, struct node_spec);
    *copy = *from;
    copy->name = arena_strdup(arena, from->name);
    copy->address = arena_strdup(arena, from->address);
    copy->host = arena_strdup(arena, from->host);
    copy->gpu_type = arena_strdup(arena, from->gpu_type);
    copy->engine = from->engine ? arena_strdup(arena, from->engine) : NULL;
    copy->labels = (struct pairs){ .n = 0 };
    for (size_t i = 0; i < from->labels.n; i++)
        pairs_set(&copy->labels, arena, from->labels.at[i].name, from->labels.at[i].value);
    copy->custom = (struct amounts){ .at = ARENA_ARRAY(arena, from->custom.n, struct amount),
                                     .n = from->custom.n };
    for (size_t i = 0; i < from->custom.n; i++)
        copy->custom.at[i] = (struct amount){ arena_strdup(arena, from->custom.at[i].name),
                                              from->custom.at[i].milli };
    return copy;
}

/* ---- rows ---- */

static void keep(struct nodes *nodes, uint32_t at)
{
    struct arena *arena = arena_create();
    const struct node_view node = cluster_node(nodes->config.cluster, at);
    const struct node_spec *spec = node.spec;
    const struct node_outage *away = nodes_away(nodes, spec->name);
    struct text_node *map = text_map(arena, NULL, NULL);
    text_int(arena, map, "position", at);
    text_bool(arena, map, "gone", spec->gone);
    text_bool(arena, map, "up", node.up);
    text_str(arena, map, "address", spec->address);
    text_int(arena, map, "cpu_milli", (int64_t)spec->cpu_milli);
    text_int(arena, map, "memory", (int64_t)spec->memory);
    text_int(arena, map, "disk", (int64_t)spec->disk);
    text_int(arena, map, "gpus", spec->gpus);
    text_str(arena, map, "gpu_type", spec->gpu_type);
    if (spec->engine)
        text_str(arena, map, "engine", spec->engine);
    if (spec->lasts_ms)
        text_int(arena, map, "lasts", (int64_t)spec->lasts_ms);
    if (spec->for_job)
        text_int(arena, map, "for_job", (int64_t)spec->for_job);
    if (spec->of_nodes)
        text_int(arena, map, "of_nodes", spec->of_nodes);
    text_pairs(arena, text_map(arena, map, "labels"), &spec->labels);
    if (away) {
        text_int(arena, map, "since", (int64_t)away->since_ms);
        text_str(arena, map, "why", away->why);
    }
    const struct object_row row = {
        .kind = KIND, .project = "", .name = spec->name, .spec = row_json_print(arena, map)
    };
    store_put_object(nodes->config.store, &row, NULL);
    nodes->touched = true;
    arena_destroy(arena);
}

struct kept_node {
    const struct text_node *map;
    const char *name;
    int64_t position;
};

static int by_position(const void *a, const void *b)
{
    int64_t x = ((const struct kept_node *)a)->position,
            y = ((const struct kept_node *)b)->position;
    return x < y ? -1 : x > y;
}

/* What its driver said last is not in the row: it says it again when it comes. */
static struct gpu_report *report_of(const struct nodes *nodes, const char *name, uint32_t gpus)
{
    uint32_t at = cluster_find(nodes->config.cluster, name);
    struct gpu_report *report =
        at == UINT32_MAX ? NULL : cluster_node(nodes->config.cluster, at).spec->report;
    return report && report->n_slots == gpus ? report : NULL;
}

static void put_again(struct nodes *nodes, struct arena *arena, const struct kept_node *kept)
{
    const struct text_node *map = kept->map, *labels = text_get(map, "labels");
    struct node_spec spec = { .name = kept->name,
                              .host = kept->name,
                              .address = text_word(map, "address"),
                              .cpu_milli = text_number(map, "cpu_milli"),
                              .memory = text_number(map, "memory"),
                              .disk = text_number(map, "disk"),
                              .gpus = (uint32_t)text_number(map, "gpus"),
                              .gpu_type = text_word(map, "gpu_type"),
                              .engine = *text_word(map, "engine") ? text_word(map, "engine") : NULL,
                              .lasts_ms = text_number(map, "lasts"),
                              .for_job = text_number(map, "for_job"),
                              .of_nodes = (uint32_t)text_number(map, "of_nodes"),
                              .machine = true,
                              .gone = text_flag(map, "gone") };
    for (const struct text_node *n = labels ? labels->first : NULL; n; n = n->next)
        pairs_set(&spec.labels, arena, n->key, n->str ? n->str : "");
    spec.report = report_of(nodes, spec.name, spec.gpus);
    spec.price_milli = node_price(nodes->config.prices, spec.gpu_type);
    uint32_t at = cluster_put(nodes->config.cluster, &spec);
    bool up = text_flag(map, "up") && !spec.gone;
    cluster_set_up(nodes->config.cluster, at, up);
    if (up || spec.gone)
        come_back(nodes, spec.name);
    else
        go_away(nodes, spec.name, text_number(map, "since"), text_word(map, "why"));
}

static void load_machines(struct nodes *nodes, struct arena *arena)
{
    struct object_row *rows;
    size_t n = 0, n_kept = 0;
    if (store_objects(nodes->config.store, arena, &(struct object_row){ .kind = KIND }, &rows, &n,
                      NULL))
        return;
    struct kept_node *kept = ARENA_ARRAY(arena, n, struct kept_node);
    for (size_t i = 0; i < n; i++) {
        struct report report;
        report_init(&report, arena);
        const struct text_node *map =
            json_parse(arena, rows[i].spec, strlen(rows[i].spec), 0, &report);
        if (map && map->kind == TEXT_MAP)
            kept[n_kept++] =
                (struct kept_node){ map, rows[i].name, (int64_t)text_number(map, "position") };
        else
            log_error("machine.row", "node=%s note=\"it cannot be read\"", rows[i].name);
    }
    if (n_kept)
        qsort(kept, n_kept, sizeof *kept, by_position);
    for (size_t i = 0; i < n_kept; i++)
        put_again(nodes, arena, &kept[i]);
    if (n_kept)
        nodes->config.read(nodes->config.arg); /* shares of what there is now */
}

static bool is_drained(const struct object_row *row)
{
    return strcmp(row->spec, DRAINED) == 0;
}

static void load_drained(struct nodes *nodes, struct arena *arena)
{
    struct object_row *rows;
    size_t n = 0;
    for (uint32_t i = 0; i < cluster_count(nodes->config.cluster); i++)
        cluster_set_drained(nodes->config.cluster, i, false);
    if (store_objects(nodes->config.store, arena, &(struct object_row){ .kind = "node" }, &rows, &n,
                      NULL))
        return;
    for (size_t i = 0; i < n; i++) {
        uint32_t node = cluster_find(nodes->config.cluster, rows[i].name);
        if (node != UINT32_MAX)
            cluster_set_drained(nodes->config.cluster, node, is_drained(&rows[i]));
    }
}

void nodes_load(struct nodes *nodes)
{
    struct arena *arena = arena_create();
    load_machines(nodes, arena);
    load_drained(nodes, arena);
    arena_destroy(arena);
    nodes->touched = false;
}

void nodes_committed(struct nodes *nodes)
{
    nodes->touched = false;
}

void nodes_undone(struct nodes *nodes)
{
    if (nodes->touched)
        nodes_load(nodes);
}

/* ---- facts ---- */

/* A node of its name was drained when it was not known here: its row was lost with the power, or
 * another node had the name. */
static void take_drained(struct nodes *nodes, uint32_t at)
{
    struct arena *arena = arena_create();
    struct object_row row = { .kind = "node",
                              .project = "",
                              .name = cluster_node(nodes->config.cluster, at).spec->name };
    if (store_get_object(nodes->config.store, arena, &row, NULL) == 1)
        cluster_set_drained(nodes->config.cluster, at, is_drained(&row));
    arena_destroy(arena);
}

static uint32_t put(struct nodes *nodes, const struct node_spec *said)
{
    struct node_spec spec = *said;
    spec.machine = true;
    spec.price_milli = node_price(nodes->config.prices, spec.gpu_type);
    bool is_new = cluster_find(nodes->config.cluster, spec.name) == UINT32_MAX;
    uint32_t at = cluster_put(nodes->config.cluster, &spec);
    if (is_new)
        take_drained(nodes, at);
    for (uint32_t slot = 0; slot < spec.gpus && spec.report; slot++) {
        const struct gpu_device *device = gpu_in_slot(spec.report, slot);
        const struct device_trouble trouble = { .why = device ? device->error : NULL };
        device_close(nodes->config.devices, spec.name, slot,
                     trouble.why && *trouble.why ? &trouble : NULL);
    }
    nodes->config.changed(nodes->config.arg);
    return at;
}

static void leave(struct nodes *nodes, uint32_t at)
{
    AUTO_FREE char *name = mem_strdup(cluster_node(nodes->config.cluster, at).spec->name);
    const struct node_spec nothing = {
        .name = name, .address = "", .host = name, .gpu_type = "", .machine = true, .gone = true
    };
    come_back(nodes, name);
    cluster_put(nodes->config.cluster, &nothing);
    cluster_set_up(nodes->config.cluster, at, false);
    nodes->config.changed(nodes->config.arg);
}

static uint64_t date_of(const struct nodes *nodes, const struct engine_fact *fact)
{
    return fact->at_ms ? fact->at_ms : nodes->config.date(nodes->config.arg);
}

bool nodes_hear(struct nodes *nodes, const struct engine_fact *fact)
{
    static const char *const events[FACT_N] = {
        [FACT_NODE_UP] = "node.up", [FACT_NODE_DOWN] = "node.down", [FACT_NODE_GONE] = "node.gone"
    };
    uint32_t at = cluster_find(nodes->config.cluster, fact->node);
    if (fact->kind == FACT_NODE_UP && fact->spec)
        at = put(nodes, fact->spec);
    if (at == UINT32_MAX)
        return false;
    if (fact->kind == FACT_NODE_GONE) {
        leave(nodes, at);
    } else if (fact->kind == FACT_NODE_DOWN) {
        if (cluster_node(nodes->config.cluster, at).up)
            go_away(nodes, fact->node, date_of(nodes, fact), fact->reason);
        cluster_set_up(nodes->config.cluster, at, false);
    } else {
        come_back(nodes, fact->node);
        cluster_set_up(nodes->config.cluster, at, true);
    }
    if (cluster_node(nodes->config.cluster, at).spec->machine)
        keep(nodes, at);
    log_info(events[fact->kind], "node=%s reason=\"%s\"", fact->node,
             fact->reason ? fact->reason : "");
    return true;
}

/* ---- commands, and what a driver says ---- */

bool nodes_drain(struct nodes *nodes, const char *node, bool drain)
{
    uint32_t at = cluster_find(nodes->config.cluster, node);
    if (at == UINT32_MAX)
        return false;
    const struct object_row row = {
        .kind = "node", .project = "", .name = node, .spec = drain ? DRAINED : OFFERED
    };
    store_put_object(nodes->config.store, &row, NULL);
    nodes->touched = true;
    cluster_set_drained(nodes->config.cluster, at, drain);
    return true;
}

bool nodes_report(struct nodes *nodes, const char *node, struct gpu_report *report)
{
    uint32_t at = cluster_find(nodes->config.cluster, node);
    if (at == UINT32_MAX)
        return false;
    struct arena *arena = arena_create();
    struct node_spec spec = *cluster_node(nodes->config.cluster, at).spec;
    spec.report = report;
    spec.gpus = report->n_slots;
    spec.gpu_type = gpu_models(report, arena);
    spec.price_milli = node_price(nodes->config.prices, spec.gpu_type);
    cluster_put(nodes->config.cluster, &spec);
    arena_destroy(arena);
    return true;
}
