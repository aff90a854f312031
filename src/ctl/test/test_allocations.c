/* Jobs with an allocation of their own: when one is asked for, whose its nodes are, what is known
 * of it after a crash, and when it is given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "answer/allocations.h"
#include "answer/job_rights.h"
#include "ctl/allocations.h"
#include "ctl/core.h"
#include "ctl/test/world.h"
#include "job/node_spec.h"
#include "queue/test/quota.h"

#include <string.h>
#include <unistd.h>

#define JOB(name)                                                                                  \
    "{\"name\":\"" name "\",\"queue\":\"q\",\"place\":{\"engine\":\"slurm\"},\"roles\":{\"w\":"    \
    "{\"run\":\"x\",\"replicas\":2,\"resources\":{\"cpu\":4}}}}"

static unsigned looks;

static void on_allocate(void *arg)
{
    (void)arg;
    looks++;
}

static void before(struct world *w, struct ctl_config *config)
{
    w->fake.more_caps = ENGINE_ALLOCATES;
    config->allocate = on_allocate;
}

static void on_declared(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    assert_null(answer->err);
}

static int setup(void **state)
{
    static const char queue[] = Q "q\nmaximum: {cpu: 8}\n";
    static struct world w;
    world_init_with(&w, (struct world_hooks){ .before = before }, NULL);
    w.code_all = FAKE_RUNS;
    const struct declaration ask = { .owner = "root", .text = queue, .len = sizeof queue - 1 };
    ctl_declare(w.ctl, &ask, on_declared, NULL);
    ctl_turn(w.ctl);
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    world_fini(*state);
    return 0;
}

/* A turn may leave agents something to do. */
static void settles(struct world *w)
{
    world_run(w);
    world_run(w);
}

static struct allocation_requests wanted(struct world *w, struct arena *arena)
{
    return answer_allocations(w->ctl, arena);
}

static size_t count(struct world *w)
{
    struct arena *arena = arena_create();
    size_t n = wanted(w, arena).n;
    arena_destroy(arena);
    return n;
}

static void says(struct world *w, const struct engine_fact *fact)
{
    w->fake.base.sink.fact(w->fake.base.sink.arg, fact);
    settles(w);
}

static void comes_of(struct world *w, const char *name, uint64_t for_job, uint32_t of_nodes)
{
    struct node_spec spec = { .name = name,
                              .address = "10.0.0.9",
                              .host = name,
                              .cpu_milli = 4000,
                              .memory = 4ull << 30,
                              .disk = 1ull << 40,
                              .gpu_type = "",
                              .engine = "slurm",
                              .for_job = for_job,
                              .of_nodes = of_nodes };
    says(w, &(struct engine_fact){ .kind = FACT_NODE_UP, .node = name, .spec = &spec });
}

static void comes(struct world *w, const char *name, uint64_t for_job)
{
    comes_of(w, name, for_job, 0);
}

/* Its nodes are its own, also for jobs that ask for exactly the same; it is given back at its end.
 */
static void one_is_asked_for_and_given_back(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    looks = 0;
    uint64_t job = world_submit(w, JOB("a"));
    settles(w);
    struct allocation_requests list = wanted(w, arena);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.at[0].job, job);
    assert_false(list.at[0].begun || list.at[0].lacks);
    assert_int_equal(looks, 1);
    assert_int_equal(world_state(w, job), JOB_QUEUED);
    says(w, &(struct engine_fact){ .kind = FACT_ALLOCATION,
                                   .generation.job = job,
                                   .reason = "Slurm lets it wait (Priority)" });
    assert_string_equal(world_reason(w, job), "Slurm lets it wait (Priority)");
    world_crash(w);
    settles(w);
    assert_int_equal(count(w), 1);
    comes(w, "s1", job);
    assert_int_equal(world_state(w, job), JOB_QUEUED); /* a gang: not with half of its nodes */
    list = wanted(w, arena);
    assert_true(list.at[0].lacks && !list.at[0].ran);
    assert_non_null(strstr(list.at[0].reason, "cpu"));
    comes(w, "s2", job);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    list = wanted(w, arena);
    assert_true(list.at[0].begun && list.at[0].ran && !list.at[0].lacks);
    world_crash(w);
    settles(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(count(w), 1);
    looks = 0;
    world_command(w, job, CTL_STOP);
    settles(w);
    assert_int_equal(world_state(w, job), JOB_STOPPED);
    assert_int_equal(count(w), 0);
    assert_int_not_equal(looks, 0);
    uint64_t other = world_submit(w, JOB("b"));
    settles(w);
    assert_int_equal(world_state(w, other), JOB_QUEUED); /* those nodes are not for it */
    assert_int_equal(count(w), 1);
    arena_destroy(arena);
}

/* Who waits in Slurm has its share already: the next one is not sent there to hold nodes idle. */
static void a_share_is_asked_for_once(void **state)
{
    struct world *w = *state;
    uint64_t first = world_submit(w, JOB("a")), second = world_submit(w, JOB("a"));
    settles(w);
    assert_int_equal(count(w), 1);
    assert_non_null(strstr(world_reason(w, second), "8 are in use and it asks for 8"));
    world_crash(w);
    settles(w);
    assert_int_equal(count(w), 1);
    world_command(w, first, CTL_SUSPEND);
    settles(w);
    struct arena *arena = arena_create();
    struct allocation_requests list = wanted(w, arena);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.at[0].job, second);
    arena_destroy(arena);
    world_command(w, first, CTL_RESUME);
    settles(w);
    assert_int_equal(count(w), 1);
    world_command(w, second, CTL_STOP);
    settles(w);
    assert_int_equal(world_state(w, first), JOB_QUEUED);
    assert_int_equal(count(w), 1);
}

/* What Slurm refuses, and what somebody cancels there, ends the job. */
static void what_is_refused_ends_the_job(void **state)
{
    struct world *w = *state;
    uint64_t refused = world_submit(w, JOB("a"));
    settles(w);
    says(w, &(struct engine_fact){ .kind = FACT_ALLOCATION,
                                   .generation.job = refused,
                                   .ending.by = BY_PLATFORM,
                                   .reason =
                                       "it gets no allocation: Invalid partition name specified" });
    assert_int_equal(world_state(w, refused), JOB_FAILED);
    assert_non_null(strstr(world_reason(w, refused), "Invalid partition name"));
    uint64_t job = world_submit(w, JOB("b"));
    settles(w);
    comes(w, "s1", job);
    comes(w, "s2", job);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    says(w, &(struct engine_fact){ .kind = FACT_ALLOCATION,
                                   .generation.job = job,
                                   .ending.by = BY_USER,
                                   .reason = "its allocation 7 was cancelled in Slurm" });
    assert_int_equal(world_state(w, job), JOB_STOPPED);
    assert_string_equal(world_reason(w, job), "its allocation 7 was cancelled in Slurm");
    assert_int_equal(count(w), 0);
}

/* The queue of a batch script is a partition of Slurm's. */
static void a_queue_that_is_not_here_is_a_partition(void **state)
{
    struct world *w = *state;
    static const char text[] =
        "{\"name\":\"a\",\"queue\":\"gpu\",\"place\":{\"engine\":\"slurm\"},\"roles\":{\"w\":"
        "{\"run\":\"x\"}}}";
    assert_int_not_equal(world_submit(w, text), 0);
    settles(w);
    struct arena *arena = arena_create();
    struct allocation_requests list = wanted(w, arena);
    assert_int_equal(list.n, 1);
    assert_string_equal(list.at[0].queue, "default");
    assert_string_equal(pairs_get(&list.at[0].spec->placing.labels, "slurm/partition"), "gpu");
    arena_destroy(arena);
}

/* Nodes that any job may use come first. */
static void none_is_asked_for_where_there_is_room(void **state)
{
    struct world *w = *state;
    comes(w, "p1", 0);
    comes(w, "p2", 0);
    uint64_t job = world_submit(w, JOB("a"));
    settles(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(count(w), 0);
}

static const struct account ann = {
    .name = "ann", .home = "/nonexistent", .shell = "/bin/sh", .ids = { .uid = 61234, .gid = 61234 }
};

static uint64_t submit_as_ann(struct world *w, const char *text)
{
    return world_submit_as(
        w,
        &(struct submission){ .owner = "ada", .account = &ann, .text = text, .len = strlen(text) });
}

/* Nodes of any job run them as the server: it is as if there was none. */
static void one_of_another_account_has_its_own(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    if (geteuid() != 0)
        skip();
    comes(w, "p1", 0);
    comes(w, "p2", 0);
    uint64_t job = submit_as_ann(w, JOB("a"));
    settles(w);
    assert_int_equal(world_state(w, job), JOB_QUEUED);
    struct allocation_requests list = wanted(w, arena);
    assert_int_equal(list.n, 1);
    assert_true(list.at[0].alone);
    assert_string_equal(answer_account_of_job(w->ctl, arena, job)->name, "ann");
    comes(w, "s1", job);
    comes(w, "s2", job);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    world_crash(w);
    settles(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_true(wanted(w, arena).at[0].alone);
    world_command(w, job, CTL_STOP);
    settles(w);
    uint64_t again = submit_as_ann(w, JOB("a"));
    world_crash(w); /* before or after it was asked for: never on nodes of any job */
    settles(w);
    assert_int_equal(world_state(w, again), JOB_QUEUED);
    assert_int_equal(count(w), 1);
    arena_destroy(arena);
}

static void what_cannot_run_as_its_account_is_refused(void **state)
{
    struct world *w = *state;
    static const char peers[] =
        "{\"name\":\"a\",\"place\":{\"engine\":\"slurm\"},\"gang\":[{\"name\":\"g\",\"roles\":[\"w\"],\"with\":"
        "[\"p/h\"]}],\"roles\":{\"w\":{\"run\":\"x\"}}}";
    if (geteuid() != 0)
        skip();
    assert_int_equal(submit_as_ann(w, peers), 0);
    w->ctl->config.place_engine = "slurm";
    assert_int_not_equal(submit_as_ann(w, "{\"name\":\"b\",\"roles\":{\"w\":{\"run\":\"x\"}}}"), 0);
    settles(w);
    assert_int_equal(count(w), 1);
    w->ctl->config.no_users_allocations = "the prefix does not say as whom";
    assert_int_equal(submit_as_ann(w, JOB("a")), 0);
    /* here, then */
    assert_int_not_equal(
        submit_as_ann(w, "{\"name\":\"c\",\"suspend\":true,\"roles\":{\"w\":{\"run\":\"x\"}}}"), 0);
    settles(w);
    assert_int_equal(count(w), 1);
}

#define ELASTIC                                                                                         \
    "{\"name\":\"a\",\"queue\":\"q\",\"place\":{\"engine\":\"slurm\"},\"roles\":{\"w\":{\"run\":\"x\"," \
    "\"replicas\":{\"min\":1,\"max\":2},\"resources\":{\"cpu\":4}}}}"

/* A job that could do with fewer starts on all nodes of its allocation, whichever comes first. */
static void it_starts_when_all_are_there(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t job = world_submit(w, ELASTIC);
    settles(w);
    comes_of(w, "s1", job, 2);
    world_pass(w, 4000);
    settles(w);
    assert_int_equal(world_state(w, job), JOB_QUEUED);
    comes_of(w, "s2", job, 2);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_attempts(w, job), 2);
}

/* Some seconds, also of a server that starts anew meanwhile; then it does with those that came. */
static void one_that_does_not_come_is_not_waited_for(void **state)
{
    struct world *w = *state;
    uint64_t job = world_submit(w, ELASTIC);
    settles(w);
    comes_of(w, "s1", job, 2);
    assert_int_equal(world_state(w, job), JOB_QUEUED);
    world_crash(w);
    settles(w);
    world_pass(w, 10000);
    settles(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_attempts(w, job), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_is_asked_for_and_given_back, setup, teardown),
        cmocka_unit_test_setup_teardown(a_share_is_asked_for_once, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_refused_ends_the_job, setup, teardown),
        cmocka_unit_test_setup_teardown(a_queue_that_is_not_here_is_a_partition, setup, teardown),
        cmocka_unit_test_setup_teardown(none_is_asked_for_where_there_is_room, setup, teardown),
        cmocka_unit_test_setup_teardown(one_of_another_account_has_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_run_as_its_account_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(it_starts_when_all_are_there, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_does_not_come_is_not_waited_for, setup, teardown),
    };
    return cmocka_run_group_tests_name("ctl/allocations", tests, NULL, NULL);
}
