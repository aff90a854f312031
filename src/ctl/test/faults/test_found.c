/* Faults that the simulation (trial.h) found, each as short as it can be made. Each test failed
 * when it was written, on the code before its mend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ctl/test/faults/disk.h"
#include "ctl/test/world.h"

#include "base/mem.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int setup(void **state)
{
    struct world *w = mem_new(sizeof *w);
    world_init(w);
    w->code_all = FAKE_RUNS;
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world_fini(*state);
    free(*state);
    return 0;
}

/* ---- what happens to a world ---- */

/* No file grows any more; before: as it was. */
static void fill_disk(bool full)
{
    static struct rlimit before;
    if (!full) {
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        return;
    }
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit none = { .rlim_cur = 0, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
}

static void node_turns(struct world *w, const char *node, bool up)
{
    const struct engine_fact fact = { .kind = up ? FACT_NODE_UP : FACT_NODE_DOWN, .node = node };
    w->fake.base.sink.fact(w->fake.base.sink.arg, &fact);
    for (size_t i = 0; !up && i < w->fake.agents.n; i++)
        if (strcmp(w->fake.agents.at[i]->node, node) == 0)
            fake_kill_agent(&w->fake, i);
    world_run(w);
}

static int (*start_of)(struct engine *, const struct launch *, struct err *);

static int never_called(struct engine *e, const struct launch *launch, struct err *err)
{
    (void)e;
    (void)launch;
    (void)err;
    return 0;
}

#define JOB(name, cpu)                                                                             \
    "{\"name\":\"" name "\",\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"cpu\":" cpu "}}}}"

/* ---- a job that comes back from its rows ---- */

/* It wants a place, and a commit that fails brings it back from its rows: it is given one place. */
static void gets_its_place_once(void **state)
{
    struct world *w = *state;
    uint64_t full = world_submit(w, JOB("a", "4")), half = world_submit(w, JOB("b", "2"));
    world_run(w);
    assert_int_equal(world_state(w, half), JOB_RUNNING);
    node_turns(w, "n2", false);
    world_pass(w, 1000);
    assert_int_equal(world_state(w, half), JOB_RESTARTING);
    fill_disk(true);
    world_command(w, half, CTL_SUSPEND);
    fill_disk(false);
    assert_int_not_equal(w->code, ERR_NONE);
    world_command(w, full, CTL_STOP);
    world_pass(w, 5000);
    assert_int_equal(world_state(w, half), JOB_RUNNING);
    assert_int_equal(world_count(w, half, "refused"), 0);
    assert_int_equal(world_used(w), 2000);
}

/* ---- a full disk ---- */

/* A fact that changes no row comes while the disk is full: when there is room again, submissions
 * are taken. */
static void full_disk_is_over(void **state)
{
    struct world *w = *state;
    fill_disk(true);
    assert_true(world_submit(w, JOB("a", "4")) == 0);
    assert_int_not_equal(w->code, ERR_NONE);
    node_turns(w, "n2", false);
    fill_disk(false);
    world_pass(w, 5000);
    assert_true(world_submit(w, JOB("a", "4")) != 0);
}

/* ---- launches ---- */

#define TWO_ON_A_NODE                                                                              \
    "{\"name\":\"j\",\"retry\":{\"unknown\":2},\"roles\":{\"w\":{\"run\":\"x\",\"replicas\":2,"    \
    "\"resources\":{\"cpu\":1}}}}"

static int fails_first(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    (void)index;
    return attempt == 1 ? 1 : FAKE_RUNS;
}

static uint32_t failing; /* tasks whose first attempt fails now */
static int fails_when_told(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    return attempt == 1 && index < failing ? 1 : FAKE_RUNS;
}

/* The server dies before the engine hears of a second attempt. Another one that is launched after
 * the restart does not pass it by. */
static void launches_keep_their_order(void **state)
{
    struct world *w = *state;
    w->by_attempt = fails_when_told;
    uint64_t job = world_submit(w, TWO_ON_A_NODE);
    failing = 0;
    world_run(w);
    start_of = w->fake.ops.start;
    w->fake.ops.start = never_called;
    failing = 1;
    world_run(w);
    assert_int_equal(world_count(w, job, "task.retry"), 1);
    w->fake.ops.start = start_of;
    world_crash(w);
    failing = 2;
    world_pass(w, 5000);
    assert_int_equal(world_count(w, job, "task.retry"), 2);
    assert_int_equal(fake_running(&w->fake), 2);
    assert_int_equal(w->fake.doubled, 0);
}

/* What runs already is launched again after a restart, and the engine has no room for that: it runs
 * on. */
static void failed_relaunch_ends_nothing(void **state)
{
    struct world *w = *state;
    uint64_t job = world_submit(w, TWO_ON_A_NODE);
    world_crash(w);
    w->fake.refuse = 2;
    w->now += 300;
    ctl_tick(w->ctl);
    assert_int_equal(w->fake.refuse, 1);
    world_pass(w, 5000);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_attempts(w, job), 2);
    assert_int_equal(w->fake.doubled, 0);
}

static void in_slices_of_two(struct world *w, struct ctl_config *config)
{
    (void)w;
    config->slice = 2;
}

static int refuse_the_first(struct engine *e, const struct launch *launch, struct err *err)
{
    struct fake *fake = (struct fake *)(void *)e;
    fake->ops.start = start_of;
    fill_disk(true);
    return err_set(err, ERR_UNAVAILABLE, "no room on %s", launch->node);
}

/* The engine refuses an agent's first launch, and the server dies before that is recorded: its
 * second launch was not made yet, because the agent would pass over the first one then. */
static void launch_after_a_refused_one_waits(void **state)
{
    struct world *w = *state;
    world_fini(w);
    world_init_with(w, (struct world_hooks){ .before = in_slices_of_two }, NULL);
    w->code_all = FAKE_RUNS;
    start_of = w->fake.ops.start;
    w->fake.ops.start = refuse_the_first;
    uint64_t job = world_submit(
        w,
        "{\"name\":\"j\",\"roles\":{\"a\":{\"run\":\"x\",\"replicas\":2,\"resources\":{\"cpu\":3}},"
        "\"b\":{\"run\":\"x\",\"resources\":{\"cpu\":1}}}}");
    while (w->fake.ops.start != start_of)
        assert_true(world_step(w));
    world_crash(w);
    fill_disk(false);
    world_pass(w, 60000);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(fake_running(&w->fake), 3);
}

#define ANEW(name)                                                                                 \
    "{\"name\":\"" name "\",\"retry\":{\"scope\":\"task\",\"platform\":\"always\"},"               \
    "\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"cpu\":4}}}}"

static int refuse_and_fill(struct engine *e, const struct launch *launch, struct err *err)
{
    (void)e;
    if (start_of)
        fill_disk(true);
    start_of = NULL;
    return err_set(err, ERR_UNAVAILABLE, "no room on %s", launch->node);
}

/* A job loses its agents and gets its places anew. The engine refuses the first, for which the job
 * ends; the commit that says so fails, and it had forgotten the other agent, which was never
 * launched and whose directory is still there: nobody waits for that one. */
static void what_was_forgotten_has_nothing_to_release(void **state)
{
    struct world *w = *state;
    uint64_t job = world_submit(
        w, "{\"name\":\"j\",\"retry\":{\"scope\":\"task\",\"platform\":1},"
           "\"roles\":{\"w\":{\"run\":\"x\",\"replicas\":2,\"resources\":{\"cpu\":4}}}}");
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    fake_kill_agent(&w->fake, 0);
    fake_kill_agent(&w->fake, 1);
    start_of = w->fake.ops.start;
    int (*starts)(struct engine *, const struct launch *, struct err *) = start_of;
    w->fake.ops.start = refuse_and_fill;
    for (int seconds = 0; start_of && seconds < 600; seconds++)
        world_pass(w, 1000);
    assert_null(start_of);
    fill_disk(false);
    w->fake.ops.start = starts;
    world_pass(w, 600000);
    assert_int_equal(world_state(w, job), JOB_FAILED);
    assert_int_equal(world_used(w), 0);
}

/* Two jobs lose their agents and get their places anew. The engine refuses the one, and the commit
 * that says so fails before it has heard of the other, whose directory is still there: no agent of
 * either is waited for when they are stopped. */
static void what_was_never_launched_has_nothing_to_release(void **state)
{
    struct world *w = *state;
    uint64_t a = world_submit(w, ANEW("a")), b = world_submit(w, ANEW("b"));
    world_run(w);
    fake_kill_agent(&w->fake, 0);
    fake_kill_agent(&w->fake, 1);
    start_of = w->fake.ops.start;
    int (*starts)(struct engine *, const struct launch *, struct err *) = start_of;
    w->fake.ops.start = refuse_and_fill;
    world_step(w);
    assert_null(start_of);
    world_command(w, b, (enum ctl_verb)(CTL_PRIORITY + 5));
    assert_int_not_equal(w->code, ERR_NONE);
    fill_disk(false);
    world_pass(w, 2000);
    world_command(w, a, CTL_STOP);
    world_command(w, b, CTL_STOP);
    world_pass(w, 60000);
    w->fake.ops.start = starts;
    assert_int_equal(world_state(w, a), JOB_STOPPED);
    assert_int_equal(world_state(w, b), JOB_STOPPED);
    assert_int_equal(world_used(w), 0);
}

/* ---- places ---- */

/* All of a job that may grow lose their places, and there is room for its least alone. */
static void least_of_a_job_comes_back(void **state)
{
    struct world *w = *state;
    uint64_t job = world_submit(
        w, "{\"name\":\"j\",\"retry\":{\"platform\":\"always\"},\"roles\":{"
           "\"a\":{\"run\":\"x\",\"replicas\":{\"min\":1,\"max\":3},\"resources\":{\"gpu\":2}},"
           "\"b\":{\"run\":\"x\",\"resources\":{\"cpu\":0.5}}}}");
    world_run(w);
    assert_int_equal(fake_running(&w->fake), 3);
    node_turns(w, "n1", false);
    node_turns(w, "n2", false);
    world_pass(w, 5000);
    assert_int_equal(fake_running(&w->fake), 0);
    node_turns(w, "n1", true);
    world_pass(w, 120000);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(fake_running(&w->fake), 2);
}

/* A node is avoided when all of a job fit elsewhere: its least would, and the rest would wait for
 * ever. */
static void node_that_is_needed_is_not_avoided(void **state)
{
    struct world *w = *state;
    w->by_attempt = fails_first;
    uint64_t job = world_submit(
        w, "{\"name\":\"j\",\"retry\":{\"unknown\":2,\"per_node\":1},\"roles\":{\"w\":{\"run\":"
           "\"x\",\"replicas\":{\"min\":1,\"max\":4},\"resources\":{\"cpu\":2}}}}");
    world_run(w);
    world_pass(w, 5000);
    assert_int_equal(world_count(w, job, "task.avoid"), 0);
    assert_int_equal(fake_running(&w->fake), 4);
}

static int ends_well(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    (void)index;
    (void)attempt;
    return 0;
}

/* A job keeps what its ended tasks had for a look around, and another task of it waits for just
 * that room: it gets it, also when the server restarts meanwhile. What nobody of the job waits for
 * is kept. */
static void held_places_go_to_its_own(void **state)
{
    struct world *w = *state;
    w->by_attempt = ends_well;
    uint64_t job = world_submit(
        w, "{\"name\":\"j\",\"limits\":{\"hold\":\"10m\"},\"roles\":{\"w\":{\"run\":\"x\","
           "\"replicas\":{\"min\":1,\"max\":3},\"resources\":{\"cpu\":4}}}}");
    world_run(w);
    assert_int_equal(world_count(w, job, "task.succeeded"), 3);
    assert_int_equal(world_state(w, job), JOB_STOPPING);
    uint64_t used = world_used(w);
    assert_int_equal(used, 4000);
    world_crash(w);
    assert_int_equal(world_used(w), used);
    world_pass(w, 600000);
    assert_int_equal(world_state(w, job), JOB_SUCCEEDED);
    assert_int_equal(world_used(w), 0);
}

static void in_slices_of_one(struct world *w, struct ctl_config *config)
{
    (void)w;
    config->slice = 1;
}

static int node_is_lost(struct engine *e, const struct launch *launch, struct err *err)
{
    const struct engine_fact down = { .kind = FACT_NODE_DOWN, .node = launch->node };
    e->sink.fact(e->sink.arg, &down);
    return err_set(err, ERR_UNAVAILABLE, "%s is lost", launch->node);
}

#define TWO_NODES(name, more)                                                                      \
    "{\"name\":\"" name "\"," more ",\"retry\":{\"scope\":\"task\",\"platform\":\"always\"},"      \
    "\"roles\":{\"w\":{\"run\":\"x\",\"replicas\":2,\"resources\":{\"cpu\":4}}}}"

static unsigned stopped_tasks(struct world *w, uint64_t job)
{
    struct arena *arena = arena_create();
    struct task_row *rows;
    size_t n = 0;
    unsigned stopped = 0;
    struct err err;
    assert_int_equal(store_tasks(w->store, arena, job, &rows, &n, &err), 0);
    for (size_t i = 0; i < n; i++)
        stopped += rows[i].state == TASK_STOPPED;
    arena_destroy(arena);
    return stopped;
}

/* A job that keeps what its ended tasks had is stopped while its tasks wait for places, and the
 * server dies when some of them have ended: they hold nothing, and who has the nodes is counted. */
static void what_waited_for_a_place_holds_none(void **state)
{
    struct world *w = *state;
    world_fini(w);
    world_init_with(w, (struct world_hooks){ .before = in_slices_of_one }, NULL);
    w->code_all = FAKE_RUNS;
    start_of = w->fake.ops.start;
    w->fake.ops.start = node_is_lost;
    uint64_t a = world_submit(w, TWO_NODES("a", "\"limits\":{\"hold\":\"10m\"}"));
    world_run(w);
    w->fake.ops.start = start_of;
    node_turns(w, "n1", true); /* before the time to try again has come */
    node_turns(w, "n2", true);
    uint64_t b = world_submit(w, TWO_NODES("b", "\"priority\":9"));
    world_run(w);
    assert_int_equal(world_state(w, b), JOB_RUNNING);
    assert_int_equal(world_state(w, a), JOB_RESTARTING);
    world_command(w, a, CTL_STOP);
    while (stopped_tasks(w, a) == 0)
        assert_true(world_step(w));
    assert_int_equal(world_state(w, a), JOB_STOPPING);
    world_crash(w);
    world_run(w);
    assert_int_equal(world_state(w, a), JOB_STOPPED);
    assert_int_equal(world_used(w), 8000);
}

/* The engine has not heard of a job yet when it is suspended, and that commit fails: nothing has
 * happened, and its first attempt starts. */
static void suspension_that_failed_costs_nothing(void **state)
{
    struct world *w = *state;
    world_fini(w);
    world_init_with(w, (struct world_hooks){ .before = in_slices_of_one }, NULL);
    w->code_all = FAKE_RUNS;
    world_submit(w, JOB("a", "1"));
    uint64_t job = world_submit(w, JOB("b", "1"));
    while (world_state(w, job) == JOB_QUEUED)
        assert_true(world_step(w));
    assert_int_equal(fake_running(&w->fake), 0);
    fill_disk(true);
    world_command(w, job, CTL_SUSPEND);
    fill_disk(false);
    assert_int_not_equal(w->code, ERR_NONE);
    world_pass(w, 5000);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_attempts(w, job), 1);
}

/* ---- the clock ---- */

#define WALL_IS_BEHIND_MS 500u

static uint64_t wall(void *arg)
{
    return ((const struct world *)arg)->now - WALL_IS_BEHIND_MS;
}

static uint64_t mono(void *arg)
{
    return ((const struct world *)arg)->now * 1000;
}

static void set_wall_behind(struct world *w, struct ctl_config *config)
{
    (void)w;
    config->now = wall;
    config->mono = mono;
    config->has_base = true;
}

/* The wall clock is less than a second off, and the server dies while a job runs: its limit is
 * where it was. */
static void limit_outlives_the_server(void **state)
{
    struct world *w = *state;
    world_fini(w);
    memset(w, 0, sizeof *w);
    world_init_with(w, (struct world_hooks){ .before = set_wall_behind }, NULL);
    w->code_all = FAKE_RUNS;
    uint64_t job = world_submit(w, "{\"name\":\"j\",\"limits\":{\"run_time\":\"2s\"},\"roles\":{"
                                   "\"w\":{\"run\":\"x\",\"resources\":{\"cpu\":1}}}}");
    world_run(w);
    world_crash(w);
    world_pass(w, 1900);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    world_pass(w, 100);
    assert_string_equal(world_reason(w, job), "ran longer than its limit of 2s");
}

/* ---- the disk ---- */

static void put_object(struct store *store, const char *name)
{
    assert_int_equal(
        store_put_object(
            store, &(struct object_row){ .kind = "k", .project = "", .name = name, .spec = "x" },
            NULL),
        0);
    struct err err;
    assert_int_equal(store_commit(store, &err), 0);
}

/* Its end mark lies on a real disk, where there is no database. */
static struct store *reopen(const char *path)
{
    struct err err;
    AUTO_FREE char *mark = mem_printf("%s.mark", path);
    (void)unlink(mark);
    struct store *store = store_open_backup(path, &err);
    assert_non_null(store);
    return store;
}

/* A commit that was written and not synced when the server died is read again by the next one, and
 * outlives a loss of power from then on. */
static void what_was_read_lasts(void **state)
{
    struct world *w = *state;
    struct crash crash = { .dead = false };
    struct dice dice = { .state = 1 };
    struct disk disk = { .crash = &crash, .dice = &dice };
    struct object_row row = { .kind = "k", .project = "", .name = "a" };
    struct arena *arena = arena_create();
    struct err err;
    char path[200];
    snprintf(path, sizeof path, "%s/other", w->dir);
    disk_register(&disk);
    struct store *store = reopen(path);
    disk.skips_syncs = true; /* it died in the middle of the sync */
    put_object(store, "a");
    disk.skips_syncs = false;
    crash.dead = true;
    store_close(store);
    crash.dead = false;
    store = reopen(path);
    assert_int_equal(store_get_object(store, arena, &row, &err), 1);
    crash.dead = true;
    store_close(store);
    disk_lose_power(&disk);
    crash.dead = false;
    store = reopen(path);
    assert_int_equal(store_get_object(store, arena, &row, &err), 1);
    store_close(store);
    arena_destroy(arena);
    disk_fini(&disk);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gets_its_place_once),
        TEST(full_disk_is_over),
        TEST(launches_keep_their_order),
        TEST(launch_after_a_refused_one_waits),
        TEST(failed_relaunch_ends_nothing),
        TEST(what_was_never_launched_has_nothing_to_release),
        TEST(what_was_forgotten_has_nothing_to_release),
        TEST(least_of_a_job_comes_back),
        TEST(node_that_is_needed_is_not_avoided),
        TEST(held_places_go_to_its_own),
        TEST(what_waited_for_a_place_holds_none),
        TEST(suspension_that_failed_costs_nothing),
        TEST(limit_outlives_the_server),
        TEST(what_was_read_lasts), /* the last: it registers a disk */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
