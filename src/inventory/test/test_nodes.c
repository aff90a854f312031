/* Nodes over a store, without a core: what facts make of them, what a server that starts
 * anew knows by the rows, what a failed commit leaves, and who is told what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/engine.h"
#include "inventory/closed_devices.h"
#include "inventory/nodes.h"
#include "job/gpu.h"
#include "live/live.h"
#include "sched/cluster.h"
#include "store/store.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define DATE 1700000000000ull
#define NOW  5000ull

struct fix {
    struct arena *arena;
    char dir[40];
    struct store *store;
    struct live *live;
    struct cluster *cluster;
    struct closed_devices *closed;
    struct nodes *nodes;
    unsigned read, changed; /* how often it was said */
};

static uint64_t now(const void *arg)
{
    (void)arg;
    return NOW;
}

static uint64_t date(const void *arg)
{
    (void)arg;
    return DATE;
}

static void on_read(void *arg)
{
    ((struct fix *)arg)->read++;
}

static void on_changed(void *arg)
{
    ((struct fix *)arg)->changed++;
}

static void open_all(struct fix *f)
{
    const struct node_spec own = {
        .name = "own", .address = "127.0.0.1", .host = "own", .cpu_milli = 4000, .gpu_type = ""
    };
    f->cluster = cluster_create(20000, 20999, 20000);
    cluster_set_up(f->cluster, cluster_put(f->cluster, &own), true);
    f->closed = closed_devices_create(
        &(struct closed_devices_config){ .cluster = f->cluster, .live = f->live });
    f->nodes = nodes_create(&(struct nodes_config){ .store = f->store,
                                                    .cluster = f->cluster,
                                                    .devices = f->closed,
                                                    .n_declared = 1,
                                                    .arg = f,
                                                    .now = now,
                                                    .date = date,
                                                    .read = on_read,
                                                    .changed = on_changed });
    f->read = f->changed = 0;
}

static void close_all(struct fix *f)
{
    nodes_destroy(f->nodes);
    closed_devices_destroy(f->closed);
    cluster_destroy(f->cluster);
}

/* The rows outlive a server. */
static void restart(struct fix *f)
{
    close_all(f);
    open_all(f);
    nodes_load(f->nodes);
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    struct err err;
    f->arena = arena_create();
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-nodes-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    AUTO_FREE char *db = file_join(f->dir, "db");
    f->store = store_open(db, &err);
    assert_non_null(f->store);
    f->live = live_create();
    open_all(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    close_all(f);
    live_destroy(f->live);
    store_close(f->store);
    file_remove_tree(f->dir, NULL);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static void commit(struct fix *f)
{
    struct err err = { 0 };
    assert_int_equal(store_commit(f->store, &err), 0);
    nodes_committed(f->nodes);
}

static bool say(struct fix *f, enum engine_fact_kind kind, const char *node, const char *why)
{
    return nodes_hear(f->nodes, &(struct engine_fact){ .kind = kind, .node = node, .reason = why });
}

static void comes(struct fix *f, struct gpu_report *report)
{
    struct node_spec spec = { .name = "m",
                              .address = "10.0.0.2",
                              .host = "m",
                              .cpu_milli = 8000,
                              .gpus = report ? report->n_slots : 0,
                              .gpu_type = "",
                              .report = report };
    pairs_set(&spec.labels, f->arena, "zone", "a");
    assert_true(nodes_hear(
        f->nodes, &(struct engine_fact){ .kind = FACT_NODE_UP, .node = "m", .spec = &spec }));
}

static struct node_view seen(const struct fix *f, const char *name)
{
    uint32_t at = cluster_find(f->cluster, name);
    assert_int_not_equal(at, UINT32_MAX);
    return cluster_node(f->cluster, at);
}

static void a_machine_comes_falls_silent_and_leaves(void **state)
{
    struct fix *f = *state;
    assert_false(say(f, FACT_NODE_DOWN, "m", "who?"));
    assert_false(nodes_have_machines(f->nodes));
    comes(f, NULL);
    assert_true(nodes_have_machines(f->nodes));
    assert_int_equal(f->changed, 1);
    assert_true(seen(f, "m").up && seen(f, "m").spec->machine);
    assert_null(nodes_away(f->nodes, "m"));
    assert_true(say(f, FACT_NODE_DOWN, "m", "silent"));
    assert_true(say(f, FACT_NODE_DOWN, "m", "again"));
    assert_true(nodes_any_away(f->nodes) && !seen(f, "m").up);
    assert_string_equal(nodes_away(f->nodes, "m")->why, "silent");
    assert_int_equal(nodes_away(f->nodes, "m")->since_ms, DATE);
    assert_true(say(f, FACT_NODE_UP, "m", NULL));
    assert_false(nodes_any_away(f->nodes));
    assert_int_equal(f->changed, 1); /* the same node */
    assert_true(say(f, FACT_NODE_GONE, "m", "removed"));
    assert_true(seen(f, "m").spec->gone);
    assert_int_equal(f->changed, 2);
    assert_false(nodes_have_machines(f->nodes));
}

static void what_was_tried_is_said_with_why(void **state)
{
    struct fix *f = *state;
    nodes_note(f->nodes, "m", "nobody is away");
    comes(f, NULL);
    say(f, FACT_NODE_DOWN, "m", "silent");
    assert_string_equal(nodes_why(f->arena, nodes_away(f->nodes, "m")), "silent");
    nodes_note(f->nodes, "m", "its fence failed");
    assert_string_equal(nodes_why(f->arena, nodes_away(f->nodes, "m")), "silent; its fence failed");
    assert_int_equal(nodes_dated(f->nodes, NOW - 100), DATE - 100);
}

static void the_next_server_knows_it(void **state)
{
    struct fix *f = *state;
    comes(f, NULL);
    say(f, FACT_NODE_DOWN, "m", "silent");
    assert_true(nodes_drain(f->nodes, "m", true));
    assert_false(nodes_drain(f->nodes, "nobody", true));
    commit(f);
    uint32_t position = cluster_find(f->cluster, "m");
    restart(f);
    assert_int_equal(f->read, 1);
    assert_int_equal(cluster_find(f->cluster, "m"), position);
    assert_true(!seen(f, "m").up && seen(f, "m").drained && seen(f, "m").spec->machine);
    assert_int_equal(seen(f, "m").spec->cpu_milli, 8000);
    assert_string_equal(pairs_get(&seen(f, "m").spec->labels, "zone"), "a");
    assert_string_equal(nodes_away(f->nodes, "m")->why, "silent");
    assert_int_equal(nodes_away(f->nodes, "m")->since_ms, DATE);
}

static void a_failed_commit_leaves_what_the_rows_say(void **state)
{
    struct fix *f = *state;
    comes(f, NULL);
    commit(f);
    say(f, FACT_NODE_DOWN, "m", "silent");
    nodes_drain(f->nodes, "own", true);
    store_rollback(f->store);
    nodes_undone(f->nodes);
    assert_true(seen(f, "m").up && !seen(f, "own").drained);
    assert_false(nodes_any_away(f->nodes));
    f->read = 0;
    nodes_undone(f->nodes); /* nothing was written since */
    assert_int_equal(f->read, 0);
}

static void devices_that_fail_are_closed(void **state)
{
    struct fix *f = *state;
    struct gpu_device devices[2] = {
        { .model = "A100", .error = "", .offered = true, .slot = 0 },
        { .model = "A100", .error = "it fell off the bus", .offered = true, .slot = 1 }
    };
    struct gpu_report report = { .at = devices, .n = 2, .n_slots = 2, .driver = "", .error = "" };
    struct device_trouble trouble;
    comes(f, &report);
    assert_false(device_trouble(f->closed, "m", 0, &trouble));
    assert_true(device_trouble(f->closed, "m", 1, &trouble));
    assert_string_equal(trouble.why, "it fell off the bus");
    assert_true(nodes_report(f->nodes, "own", &report));
    assert_int_equal(seen(f, "own").spec->gpus, 2);
    assert_string_equal(seen(f, "own").spec->gpu_type, "A100");
    assert_false(nodes_report(f->nodes, "nobody", &report));
}

static void a_copy_is_its_own(void **state)
{
    struct fix *f = *state;
    struct amount licence = { "licence", 2000 };
    struct node_spec spec = { .name = "m",
                              .address = "10.0.0.2",
                              .host = "m",
                              .gpu_type = "",
                              .engine = "slurm",
                              .custom = { .at = &licence, .n = 1 } };
    const struct node_spec *copy = nodes_copy(f->arena, &spec);
    licence.name = "none";
    assert_string_equal(copy->custom.at[0].name, "licence");
    assert_string_equal(copy->engine, "slurm");
    assert_null(nodes_copy(f->arena, NULL));
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_machine_comes_falls_silent_and_leaves),
        T(what_was_tried_is_said_with_why),
        T(the_next_server_knows_it),
        T(a_failed_commit_leaves_what_the_rows_say),
        T(devices_that_fail_are_closed),
        T(a_copy_is_its_own),
    };
    return cmocka_run_group_tests_name("inventory/nodes", tests, NULL, NULL);
}
