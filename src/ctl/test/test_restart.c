/* Starting anew by command and as a whole role, within budgets and over restarts of the server;
 * nodes that are left; and the board that tasks leave notes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ctl/test/world.h"

#include "documents/board.h"

#include <stdio.h>
#include <string.h>

#define ROLE_RETRY                                                                                 \
    "{\"name\":\"r\",\"retry\":{\"scope\":\"role\",\"unknown\":2},\"roles\":{"                     \
    "\"w\":{\"replicas\":3,\"run\":\"b\",\"resources\":{\"cpu\":1}},"                              \
    "\"s\":{\"replicas\":1,\"run\":\"b\",\"resources\":{\"cpu\":1}}}}"
#define JOB_RETRY                                                                                  \
    "{\"name\":\"r\",\"retry\":{\"scope\":\"job\",\"unknown\":1},"                                 \
    "\"roles\":{\"w\":{\"replicas\":2,\"run\":\"b\",\"resources\":{\"cpu\":1}}}}"

static int setup(void **state)
{
    static struct world w;
    world_init(&w);
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    assert_int_equal(w->fake.doubled, 0);
    world_fini(w);
    return 0;
}

static void done(void *arg, const struct ctl_answer *answer)
{
    struct world *w = arg;
    w->code = answer->err ? answer->err->code : ERR_NONE;
    snprintf(w->what, sizeof w->what, "%s", answer->err ? answer->err->what : "");
}

static void restart(struct world *w, const struct ctl_restart *ask)
{
    ctl_restart(w->ctl, ask, done, w);
    ctl_turn(w->ctl);
    world_run(w);
}

/* ---- roles ---- */

static int one_is_bad_at_first(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    return strcmp(role, "w") == 0 && index == 1 && attempt == 1 ? 1 : FAKE_RUNS;
}

static void role_comes_back_as_a_whole(void **state)
{
    struct world *w = *state;
    w->by_attempt = one_is_bad_at_first;
    uint64_t job = world_submit(w, ROLE_RETRY);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_attempts(w, job), 4 + 3); /* the other role goes on */
    assert_int_equal(world_count(w, job, "task.retry"), 3);
    assert_int_equal(world_count(w, job, "restart"), 0);
}

static int one_well_one_badly(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    return index == 1 ? 0 : attempt == 1 ? 1 : FAKE_RUNS;
}

/* Both end in the same moment, on two nodes. */
static void what_has_finished_does_not_run_again(void **state)
{
    struct world *w = *state;
    w->by_attempt = one_well_one_badly;
    uint64_t job = world_submit(
        w, "{\"name\":\"r\",\"retry\":{\"scope\":\"role\",\"unknown\":2},\"place\":{\"apart\":"
           "[\"w\"]},\"roles\":{\"w\":{\"replicas\":2,\"run\":\"b\",\"resources\":{\"cpu\":1}}}}");
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_attempts(w, job), 2 + 1);
}

static int each_is_bad_once(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    return strcmp(role, "w") == 0 && attempt == index + 1 ? 1 : FAKE_RUNS;
}

/* Its tasks share one budget: three failures of three tasks are more than two. */
static void role_has_one_budget(void **state)
{
    struct world *w = *state;
    w->by_attempt = each_is_bad_once;
    uint64_t job = world_submit(w, ROLE_RETRY);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_FAILED);
    assert_int_equal(fake_alive(&w->fake), 0);
    assert_non_null(strstr(world_reason(w, job), "w/2"));
}

static void role_restart_survives_the_server(void **state)
{
    struct world *w = *state;
    w->by_attempt = one_is_bad_at_first;
    uint64_t job = world_submit(w, ROLE_RETRY);
    for (int i = 0; i < 200 && world_step(w); i++)
        world_crash(w);
    world_pass(w, 1000); /* launches wait for those that the last crash put off */
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_attempts(w, job), 4 + 3);
}

/* ---- nodes ---- */

static int zero_is_bad(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    return index == 0 && attempt <= 6 ? 1 : FAKE_RUNS;
}

#define LEAVES                                                                                     \
    "{\"name\":\"r\",\"retry\":{\"unknown\":9,\"per_node\":3,\"platform\":%d%s},"                  \
    "\"roles\":{\"w\":{\"replicas\":2,\"run\":\"b\",\"resources\":{\"cpu\":1}}}}"

static uint64_t leaving(struct world *w, int platform, const char *more)
{
    char text[400];
    snprintf(text, sizeof text, LEAVES, platform, more);
    w->by_attempt = zero_is_bad;
    uint64_t job = world_submit(w, text);
    world_run(w);
    return job;
}

static void bad_nodes_are_left(void **state)
{
    struct world *w = *state;
    uint64_t job = leaving(w, 5, "");
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_count(w, job, "task.avoid"), 1);
    assert_int_equal(world_attempts(w, job), 7 + 1);
    world_crash(w);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
}

static void bad_nodes_are_left_by_the_whole_job(void **state)
{
    struct world *w = *state;
    uint64_t job = leaving(w, 5, ",\"scope\":\"job\"");
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_count(w, job, "task.avoid"), 1);
}

static void not_more_nodes_than_it_may(void **state)
{
    struct world *w = *state;
    uint64_t job = leaving(w, 0, "");
    assert_int_equal(world_state(w, job), JOB_FAILED);
    assert_int_equal(world_count(w, job, "task.avoid"), 0);
    assert_non_null(strstr(world_reason(w, job), "after 0 nodes were left"));
    assert_int_equal(fake_alive(&w->fake), 0);
}

/* A role's own scope decides what its failure starts anew, whatever the job's is. */
static void a_role_may_restart_its_job(void **state)
{
    struct world *w = *state;
    w->by_attempt = one_is_bad_at_first;
    uint64_t job = world_submit(
        w, "{\"name\":\"r\",\"retry\":{\"unknown\":2},\"roles\":{\"w\":{\"replicas\":2,"
           "\"run\":\"b\",\"restart\":\"job\",\"resources\":{\"cpu\":1}}}}");
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_count(w, job, "restart"), 1);
}

static int zero_is_always_bad(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    (void)attempt;
    return index == 0 ? 1 : FAKE_RUNS;
}

static void a_task_s_budget_is_not_the_job_s(void **state)
{
    struct world *w = *state;
    w->by_attempt = zero_is_always_bad;
    uint64_t job = world_submit(
        w, "{\"name\":\"r\",\"retry\":{\"scope\":\"job\",\"unknown\":2},\"roles\":{\"w\":"
           "{\"replicas\":2,\"run\":\"b\",\"restart\":\"task\",\"resources\":{\"cpu\":1}}}}");
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_FAILED);
    assert_int_equal(world_attempts(w, job), 3 + 1);
}

/* ---- commands ---- */

static void job_restarts_by_command(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t job = world_submit(w, JOB_RETRY);
    const struct ctl_restart plain = { .owner = "ada", .job = job };
    const struct ctl_restart counted = {
        .owner = "ada", .job = job, .reason = "w: lost its mind", .how = RESTART_COUNTED
    };
    world_run(w);
    for (int i = 0; i < 3; i++) { /* a user's wish costs nothing */
        restart(w, &plain);
        assert_int_equal(w->code, ERR_NONE);
    }
    assert_int_equal(world_attempts(w, job), 8);
    restart(w, &counted);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    restart(w, &counted);
    assert_int_equal(world_state(w, job), JOB_FAILED);
    assert_string_equal(world_reason(w, job),
                        "w: lost its mind; the job has exceeded its 1 restarts");
    restart(w, &plain);
    assert_int_equal(w->code, ERR_CONFLICT);
}

static void program_says_that_it_cannot(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t job = world_submit(w, JOB_RETRY);
    world_run(w);
    restart(w, &(struct ctl_restart){
                   .owner = "ada", .job = job, .reason = "no module a.b", .how = RESTART_NEVER });
    assert_int_equal(world_state(w, job), JOB_FAILED);
    assert_string_equal(world_reason(w, job), "no module a.b");
    assert_int_equal(fake_alive(&w->fake), 0);
}

static void tasks_restart_by_command(void **state)
{
    struct world *w = *state;
    const char *names[] = { "w/1", "s" }, *wrong[] = { "w/0", "w/9" };
    w->code_all = FAKE_RUNS;
    uint64_t job = world_submit(w, ROLE_RETRY);
    world_run(w);
    restart(w, &(struct ctl_restart){ .owner = "ada", .job = job, .tasks = { wrong, 2 } });
    assert_int_equal(w->code, ERR_NOT_FOUND);
    restart(w, &(struct ctl_restart){ .owner = "eve", .job = job, .tasks = { names, 2 } });
    assert_int_equal(w->code, ERR_NOT_FOUND);
    assert_int_equal(world_attempts(w, job), 4);
    restart(w, &(struct ctl_restart){ .owner = "ada", .job = job, .tasks = { names, 2 } });
    assert_int_equal(w->code, ERR_NONE);
    assert_int_equal(world_attempts(w, job), 6); /* those two, and not their role */
    assert_int_equal(world_state(w, job), JOB_RUNNING);
}

/* ---- the board ---- */

static void put(struct world *w, uint64_t job, const char *key, const char *value)
{
    const struct board_request ask = {
        .owner = "ada", .job = job, .key = key, .value = value, .len = strlen(value)
    };
    ctl_board_put(w->ctl, &ask, done, w);
    ctl_turn(w->ctl);
}

static void assert_on_board(struct world *w, uint64_t job, const char *key, const char *value)
{
    struct arena *arena = arena_create();
    struct err err;
    struct board_entry entry;
    const struct board_request ask = { .owner = "ada", .job = job, .key = key };
    assert_int_equal(ctl_board_get(w->ctl, arena, &ask, &entry, &err), 0);
    if (value)
        assert_string_equal(entry.value, value);
    else
        assert_int_equal(entry.version, 0);
    arena_destroy(arena);
}

static void a_board_is_listed_by_key(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t job = world_submit(w, JOB_RETRY);
    world_run(w);
    put(w, job, "b", "1");
    put(w, job, "a", "2");
    put(w, job, "b", "3");
    struct arena *arena = arena_create();
    struct err err;
    struct board_list list;
    const struct board_request ask = { .owner = "ada", .job = job };
    assert_int_equal(ctl_board_view(w->ctl, arena, &ask, &list, &err), 0);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.at[0].key, "a");
    assert_int_equal(list.at[0].version, 1);
    assert_string_equal(list.at[1].value, "3");
    assert_int_equal(list.at[1].version, 2);
    const struct board_request other = { .owner = "bob", .job = job };
    assert_int_equal(ctl_board_view(w->ctl, arena, &other, &list, &err), -1);
    arena_destroy(arena);
}

static void board_lasts_a_generation(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t job = world_submit(w, JOB_RETRY);
    put(w, job, "rpc/w/0", "here");
    world_run(w);
    put(w, job, "rpc/w/0", "127.0.0.1:1");
    put(w, job, "rpc/w/0", "127.0.0.1:2");
    put(w, job, "rpc/w/1", "127.0.0.1:3");
    world_crash(w);
    assert_on_board(w, job, "rpc/w/0", "127.0.0.1:2");
    assert_on_board(w, job, "rpc/w/2", NULL);
    restart(w, &(struct ctl_restart){ .owner = "ada", .job = job });
    assert_on_board(w, job, "rpc/w/0", NULL);
    world_command(w, job, CTL_STOP);
    world_run(w);
    put(w, job, "rpc/w/0", "late");
    assert_int_equal(w->code, ERR_NOT_FOUND);
}

static void board_has_limits(void **state)
{
    struct world *w = *state;
    static char large[(64 << 10) + 2];
    w->code_all = FAKE_RUNS;
    memset(large, 'x', sizeof large - 1);
    uint64_t job = world_submit(w, JOB_RETRY);
    world_run(w);
    put(w, job, "k", large);
    assert_int_equal(w->code, ERR_INPUT);
    large[64 << 10] = '\0';
    put(w, job, "k", large);
    assert_int_equal(w->code, ERR_NONE);
    large[257] = '\0';
    put(w, job, large, "v");
    assert_int_equal(w->code, ERR_INPUT);
    put(w, job, "", "v");
    assert_int_equal(w->code, ERR_INPUT);
    const struct board_request of_another = {
        .owner = "eve", .job = job, .key = "k", .value = "v", .len = 1
    };
    ctl_board_put(w->ctl, &of_another, done, w);
    ctl_turn(w->ctl);
    assert_int_equal(w->code, ERR_NOT_FOUND);
    assert_on_board(w, job, "v", NULL);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(role_comes_back_as_a_whole),
        T(role_has_one_budget),
        T(what_has_finished_does_not_run_again),
        T(role_restart_survives_the_server),
        T(bad_nodes_are_left),
        T(bad_nodes_are_left_by_the_whole_job),
        T(not_more_nodes_than_it_may),
        T(a_role_may_restart_its_job),
        T(a_task_s_budget_is_not_the_job_s),
        T(job_restarts_by_command),
        T(program_says_that_it_cannot),
        T(tasks_restart_by_command),
        T(a_board_is_listed_by_key),
        T(board_lasts_a_generation),
        T(board_has_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
