/* Machines that were added: kept as rows, refused where the name is a node's or tasks are there. No
 * core; nothing is audited, as in a replay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "account/accounts.h"
#include "account/test/still_server.h"
#include "inventory/known_machines.h"
#include "live/live.h"
#include "sched/cluster.h"
#include "store/store.h"

#include "base/mem.h"

#include <string.h>

struct fix {
    struct arena *arena;
    struct store *store;
    struct live *live;
    struct cluster *cluster;
    struct accounts *accounts;
    struct known_machines *machines;
    struct err err;
};

static void put_node(struct fix *f, const char *name, bool machine)
{
    const struct node_spec node = { .name = name,
                                    .address = "127.0.0.2",
                                    .host = name,
                                    .cpu_milli = 4000,
                                    .gpu_type = "",
                                    .machine = machine };
    cluster_set_up(f->cluster, cluster_put(f->cluster, &node), true);
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    f->arena = arena_create();
    f->store = store_open_memory((struct store_tap){ .event = NULL }, &f->err);
    assert_non_null(f->store);
    f->live = live_create();
    f->cluster = cluster_create(20000, 20999, 20000);
    put_node(f, "own", false);
    f->accounts = accounts_create(
        &(struct accounts_config){ .store = f->store, .admin = "boss", .server = still_server() });
    f->machines = known_machines_create(&(struct known_machines_config){
        .store = f->store, .cluster = f->cluster, .live = f->live, .accounts = f->accounts });
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    known_machines_destroy(f->machines);
    accounts_destroy(f->accounts);
    cluster_destroy(f->cluster);
    live_destroy(f->live);
    store_close(f->store);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static enum err_code add(struct fix *f, const char *name, const char *address)
{
    struct machine one = { .name = name, .address = address, .by = "boss", .at_ms = 12 };
    f->err = (struct err){ 0 };
    pairs_set(&one.labels, f->arena, "zone", "a");
    memset(one.token_hash, 7, sizeof one.token_hash);
    return known_machine_add(f->machines, &one, &f->err) ? f->err.code : ERR_NONE;
}

static enum err_code removes(struct fix *f, const char *name, bool force)
{
    f->err = (struct err){ 0 };
    return known_machine_remove(f->machines, name, force, &f->err) ? f->err.code : ERR_NONE;
}

static void one_is_kept_and_found(void **state)
{
    struct fix *f = *state;
    struct machine_list all;
    struct machine one;
    assert_int_equal(add(f, "m2", "10.0.0.2"), ERR_NONE);
    assert_int_equal(add(f, "m1", ""), ERR_NONE);
    assert_int_equal(add(f, "m1", "10.0.0.1"), ERR_NONE); /* again, as it is now */
    assert_int_equal(known_machines_list(f->machines, f->arena, &all, &f->err), 0);
    assert_int_equal(all.n, 2);
    assert_string_equal(all.at[0].name, "m1");
    assert_int_equal(known_machine_find(f->machines, f->arena, "m1", &one, &f->err), 1);
    assert_string_equal(one.address, "10.0.0.1");
    assert_string_equal(one.by, "boss");
    assert_string_equal(pairs_get(&one.labels, "zone"), "a");
    assert_int_equal(one.at_ms, 12);
    assert_int_equal(one.token_hash[31], 7);
    assert_int_equal(known_machine_find(f->machines, f->arena, "m3", &one, &f->err), 0);
}

static void what_cannot_be_one_is_refused(void **state)
{
    struct fix *f = *state;
    char address[300];
    memset(address, 'a', sizeof address - 1);
    address[sizeof address - 1] = '\0';
    assert_int_equal(add(f, "-m", ""), ERR_INPUT);
    assert_int_equal(add(f, "m/1", ""), ERR_INPUT);
    assert_int_equal(add(f, "m1", address), ERR_INPUT);
    assert_int_equal(add(f, "own", ""), ERR_CONFLICT);
    put_node(f, "m1", true);
    assert_int_equal(add(f, "m1", ""), ERR_NONE);
}

static void it_goes_when_nothing_is_there(void **state)
{
    struct fix *f = *state;
    struct job_spec spec = { .n_roles = 1 };
    struct role role = { .name = "w", .replicas = 1, .resources = { .cpu_milli = 1000 } };
    spec.roles = &role;
    put_node(f, "m1", true);
    assert_int_equal(removes(f, "m1", false), ERR_NOT_FOUND);
    assert_int_equal(known_machine_fence(f->machines, "m1", "dead", &f->err), -1);
    add(f, "m1", "");
    assert_int_equal(known_machine_fence(f->machines, "m1", "dead", &f->err), 0);
    const struct job_row row = {
        .id = 7, .number = 3, .tasks = 1, .state = JOB_RUNNING, .name = "ddp", .owner = "me"
    };
    struct live_job *job = live_add(f->live, &row);
    job->spec = &spec;
    live_make_tasks(job);
    live_set_active(f->live, job, true);
    live_add_agent(job, "m1");
    const struct task_place place = { .node = "m1" };
    assert_true(cluster_take(f->cluster, &spec, &place));
    assert_int_equal(removes(f, "m1", false), ERR_CONFLICT);
    assert_string_equal(f->err.what, "1 task is on m1 (3 ddp)");
    assert_int_equal(removes(f, "m1", true), ERR_NONE);
    assert_int_equal(removes(f, "m1", true), ERR_NOT_FOUND);
    cluster_give(f->cluster, &spec, &place);
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(one_is_kept_and_found),
        T(what_cannot_be_one_is_refused),
        T(it_goes_when_nothing_is_there),
    };
    return cmocka_run_group_tests_name("inventory/known_machines", tests, NULL, NULL);
}
