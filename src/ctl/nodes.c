/* What becomes of nodes by what the engine says of them. What is known of a machine is a row of
 * its own, so that a server that starts anew knows it before it has come back. */
#include "ctl/nodes.h"

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "ctl/core.h"
#include "ctl/devices.h"
#include "engine/engine.h"
#include "job/gpu.h"
#include "live/row_json.h"
#include "sched/cluster.h"
#include "store/store.h"
#include "text/json.h"

#include <stdlib.h>
#include <string.h>

#define KIND "machine"

static void come_back(struct ctl *ctl, const char *node)
{
    free(string_map_remove(ctl->away, node));
}

/* In one block, so that whoever ends the core frees it like any. */
static void put_away(struct ctl *ctl, const char *node, const struct node_outage *from)
{
    const size_t size = strlen(from->why) + 1, more = strlen(from->note) + 1;
    struct node_outage *away = mem_new(sizeof *away + size + more);
    char *text = (char *)(away + 1);
    memcpy(text, from->why, size);
    memcpy(text + size, from->note, more);
    *away = (struct node_outage){ .since_ms = from->since_ms, .why = text, .note = text + size };
    come_back(ctl, node);
    string_map_set(ctl->away, node, away);
}

static void go_away(struct ctl *ctl, const char *node, uint64_t since_ms, const char *why)
{
    put_away(ctl, node,
             &(struct node_outage){ .since_ms = since_ms, .why = why ? why : "", .note = "" });
}

void nodes_note(struct ctl *ctl, const char *node, const char *note)
{
    const struct node_outage *away = nodes_away(ctl, node);
    if (away)
        put_away(
            ctl, node,
            &(struct node_outage){ .since_ms = away->since_ms, .why = away->why, .note = note });
}

const char *nodes_why(struct arena *arena, const struct node_outage *away)
{
    return arena_printf(arena, "%s%s%s", away->why, *away->note ? "; " : "", away->note);
}

const struct node_outage *nodes_away(const struct ctl *ctl, const char *node)
{
    return string_map_get(ctl->away, node);
}

bool nodes_any_away(const struct ctl *ctl)
{
    return string_map_count(ctl->away) > 0;
}

/* They come after those of the configuration. */
bool nodes_have_machines(const struct ctl *ctl)
{
    for (uint32_t i = (uint32_t)ctl->config.n_nodes; i < cluster_count(ctl->cluster); i++)
        if (!cluster_node(ctl->cluster, i).spec->gone)
            return true;
    return false;
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

static void count_tasks(const struct live_job *job, struct away_view *view)
{
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        if (!live_attempt(task) || strcmp(task->place.node, view->node) != 0)
            continue;
        view->tasks++;
        view->left |= task->left;
    }
}

struct away_list nodes_away_of(const struct ctl *ctl, struct arena *arena,
                               const struct live_job *job)
{
    struct away_list list = { .n = 0 };
    for (size_t i = 0; job->tasks && i < job->agents.n; i++) {
        const struct live_agent *agent = &job->agents.at[i];
        const struct node_outage *away = nodes_away(ctl, agent->node);
        bool heard = agent->state == AGENT_JOINED; /* also where its machine's host is not */
        if (!agent->launched || (!agent->silent_ms && (!away || heard)))
            continue;
        if (!list.at)
            list.at = ARENA_ARRAY(arena, job->agents.n, struct away_view);
        struct away_view *view = &list.at[list.n++];
        *view = (struct away_view){
            .node = arena_strdup(arena, agent->node),
            .why = away ? nodes_why(arena, away) : NULL,
            .tried = away && *away->note ? arena_strdup(arena, away->note) : NULL,
            .since_ms = away ? away->since_ms : core_date(ctl) - (core_now(ctl) - agent->silent_ms)
        };
        count_tasks(job, view);
    }
    return list;
}

/* ---- rows ---- */

static void keep(struct ctl *ctl, uint32_t at)
{
    struct arena *arena = arena_create();
    const struct node_view node = cluster_node(ctl->cluster, at);
    const struct node_spec *spec = node.spec;
    const struct node_outage *away = nodes_away(ctl, spec->name);
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
    text_pairs(arena, text_map(arena, map, "labels"), &spec->labels);
    if (away) {
        text_int(arena, map, "since", (int64_t)away->since_ms);
        text_str(arena, map, "why", away->why);
    }
    const struct object_row row = {
        .kind = KIND, .project = "", .name = spec->name, .spec = row_json_print(arena, map)
    };
    store_put_object(ctl->config.store, &row, NULL);
    ctl->nodes_touched = true;
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
static struct gpu_report *report_of(const struct ctl *ctl, const char *name, uint32_t gpus)
{
    uint32_t at = cluster_find(ctl->cluster, name);
    struct gpu_report *report =
        at == UINT32_MAX ? NULL : cluster_node(ctl->cluster, at).spec->report;
    return report && report->n_slots == gpus ? report : NULL;
}

static void put_again(struct ctl *ctl, struct arena *arena, const struct kept_node *kept)
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
                              .machine = true,
                              .gone = text_flag(map, "gone") };
    for (const struct text_node *n = labels ? labels->first : NULL; n; n = n->next)
        pairs_set(&spec.labels, arena, n->key, n->str ? n->str : "");
    spec.report = report_of(ctl, spec.name, spec.gpus);
    spec.price_milli = core_price(ctl, spec.gpu_type);
    uint32_t at = cluster_put(ctl->cluster, &spec);
    bool up = text_flag(map, "up") && !spec.gone;
    cluster_set_up(ctl->cluster, at, up);
    if (up || spec.gone)
        come_back(ctl, spec.name);
    else
        go_away(ctl, spec.name, text_number(map, "since"), text_word(map, "why"));
}

static void load_machines(struct ctl *ctl, struct arena *arena)
{
    struct object_row *rows;
    size_t n = 0, n_kept = 0;
    if (store_objects(ctl->config.store, arena, &(struct object_row){ .kind = KIND }, &rows, &n,
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
        put_again(ctl, arena, &kept[i]);
    if (n_kept)
        queues_declare(ctl->queues, ctl->catalogue); /* shares of what there is now */
}

static bool is_drained(const struct object_row *row)
{
    return strcmp(row->spec, "{\"drained\":true}") == 0;
}

static void load_drained(struct ctl *ctl, struct arena *arena)
{
    struct object_row *rows;
    size_t n = 0;
    for (uint32_t i = 0; i < cluster_count(ctl->cluster); i++)
        cluster_set_drained(ctl->cluster, i, false);
    if (store_objects(ctl->config.store, arena, &(struct object_row){ .kind = "node" }, &rows, &n,
                      NULL))
        return;
    for (size_t i = 0; i < n; i++) {
        uint32_t node = cluster_find(ctl->cluster, rows[i].name);
        if (node != UINT32_MAX)
            cluster_set_drained(ctl->cluster, node, is_drained(&rows[i]));
    }
}

void nodes_load(struct ctl *ctl)
{
    struct arena *arena = arena_create();
    load_machines(ctl, arena);
    load_drained(ctl, arena);
    arena_destroy(arena);
}

/* ---- facts ---- */

static void changed(struct ctl *ctl)
{
    map_destroy(ctl->possible); /* answers for the nodes of before */
    ctl->possible = map_create();
    queues_declare(ctl->queues, ctl->catalogue);
    ctl->plan_due = true;
}

/* A node of its name was drained when it was not known here: its row was lost with the power, or
 * another node had the name. */
static void take_drained(struct ctl *ctl, uint32_t at)
{
    struct arena *arena = arena_create();
    struct object_row row = { .kind = "node",
                              .project = "",
                              .name = cluster_node(ctl->cluster, at).spec->name };
    if (store_get_object(ctl->config.store, arena, &row, NULL) == 1)
        cluster_set_drained(ctl->cluster, at, is_drained(&row));
    arena_destroy(arena);
}

static uint32_t put(struct ctl *ctl, const struct node_spec *said)
{
    struct node_spec spec = *said;
    spec.machine = true;
    spec.price_milli = core_price(ctl, spec.gpu_type ? spec.gpu_type : "");
    bool is_new = cluster_find(ctl->cluster, spec.name) == UINT32_MAX;
    uint32_t at = cluster_put(ctl->cluster, &spec);
    if (is_new)
        take_drained(ctl, at);
    for (uint32_t slot = 0; slot < spec.gpus && spec.report; slot++) {
        const struct gpu_device *device = gpu_in_slot(spec.report, slot);
        const struct device_trouble trouble = { .why = device ? device->error : NULL };
        devices_close(ctl, spec.name, slot, trouble.why && *trouble.why ? &trouble : NULL);
    }
    changed(ctl);
    return at;
}

static void leave(struct ctl *ctl, uint32_t at)
{
    AUTO_FREE char *name = mem_strdup(cluster_node(ctl->cluster, at).spec->name);
    const struct node_spec nothing = {
        .name = name, .address = "", .host = name, .gpu_type = "", .machine = true, .gone = true
    };
    come_back(ctl, name);
    cluster_put(ctl->cluster, &nothing);
    cluster_set_up(ctl->cluster, at, false);
    changed(ctl);
}

static uint64_t date_of(const struct ctl *ctl, const struct engine_fact *fact)
{
    return fact->at_ms ? fact->at_ms : core_date(ctl);
}

void nodes_hear(struct ctl *ctl, const struct engine_fact *fact)
{
    static const char *const events[FACT_N] = {
        [FACT_NODE_UP] = "node.up", [FACT_NODE_DOWN] = "node.down", [FACT_NODE_GONE] = "node.gone"
    };
    uint32_t at = cluster_find(ctl->cluster, fact->node);
    if (fact->kind == FACT_NODE_UP && fact->spec)
        at = put(ctl, fact->spec);
    if (at == UINT32_MAX)
        return;
    if (fact->kind == FACT_NODE_GONE) {
        leave(ctl, at);
    } else if (fact->kind == FACT_NODE_DOWN) {
        if (cluster_node(ctl->cluster, at).up)
            go_away(ctl, fact->node, date_of(ctl, fact), fact->reason);
        cluster_set_up(ctl->cluster, at, false);
    } else {
        come_back(ctl, fact->node);
        cluster_set_up(ctl->cluster, at, true);
    }
    if (cluster_node(ctl->cluster, at).spec->machine)
        keep(ctl, at);
    ctl->plan_due = true;
    log_info(events[fact->kind], "node=%s reason=\"%s\"", fact->node,
             fact->reason ? fact->reason : "");
}
