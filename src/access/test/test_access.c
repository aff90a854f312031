/* Ways into the tasks of one job without a core: who is let in where, what is said where nobody can
 * be, and which programs are of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "access/job_identity.h"
#include "access/task_entry.h"
#include "access/task_stdin.h"
#include "account/accounts.h"
#include "account/test/still_server.h"
#include "depend/array.h"
#include "live/live.h"
#include "secret/token.h"
#include "store/store.h"
#include "text/json.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define JOB "{\"name\":\"j\",\"roles\":{\"w\":{\"replicas\":2,\"run\":\"x\",\"stdin\":true}}}"

struct fix {
    struct engine engine; /* first */
    struct arena *arena;
    struct store *store;
    struct accounts *accounts;
    struct arrays *arrays;
    struct live *live;
    struct live_job *job;
    struct job_access access;
    unsigned char key[TOKEN_LEN];
    struct err err;
    char node[16]; /* where somebody was let in */
};

static const struct job_spec *spec(void *arg, struct live_job *job)
{
    (void)arg;
    return job->spec;
}

static unsigned caps(const struct engine *engine)
{
    (void)engine;
    return ENGINE_EXEC;
}

static int exec(struct engine *engine, const struct engine_exec *to, struct err *err)
{
    (void)err;
    snprintf(((struct fix *)(void *)engine)->node, 16, "%s", to->node);
    return 0;
}

static int attach(struct engine *engine, const struct engine_attach *to, struct err *err)
{
    (void)err;
    snprintf(((struct fix *)(void *)engine)->node, 16, "%s", to->node);
    return 0;
}

static int find_process(struct engine *engine, uint32_t pid, struct generation *of)
{
    (void)engine;
    *of = (struct generation){ .job = 7, .number = 2 };
    return pid == 99;
}

static int set_up(void **state)
{
    static const struct engine_ops ops = {
        .name = "test", .caps = caps, .exec = exec, .attach = attach, .find_process = find_process
    };
    const struct job_row row = { .id = 7,
                                 .number = 12,
                                 .generation = 2,
                                 .tasks = 2,
                                 .state = JOB_RUNNING,
                                 .owner = "ada",
                                 .project = "",
                                 .name = "j" };
    struct fix *f = mem_new(sizeof *f);
    struct report report;
    f->engine.ops = &ops;
    f->arena = arena_create();
    f->store = store_open_memory((struct store_tap){ .event = NULL }, &f->err);
    assert_non_null(f->store);
    f->accounts = accounts_create(
        &(struct accounts_config){ .store = f->store, .admin = "boss", .server = still_server() });
    f->arrays = arrays_create(&(struct arrays_config){ .store = f->store });
    f->live = live_create();
    f->job = live_add(f->live, &row);
    report_init(&report, f->arena);
    f->job->spec =
        job_decode(f->arena, json_parse(f->arena, JOB, strlen(JOB), 0, &report), &report);
    assert_non_null(f->job->spec);
    live_make_tasks(f->job);
    for (uint32_t i = 0; i < 2; i++) {
        f->job->tasks[i].place.node = i ? "n2" : "n1";
        f->job->tasks[i].place.index = i;
        f->job->tasks[i].attempt = 1;
        f->job->tasks[i].state = TASK_RUNNING;
        f->job->tasks[i].attempt_state = ATTEMPT_RUNNING;
    }
    f->access = (struct job_access){ .engine = &f->engine,
                                     .live = f->live,
                                     .arrays = f->arrays,
                                     .accounts = f->accounts,
                                     .key = f->key,
                                     .spec = spec };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    live_destroy(f->live);
    arrays_destroy(f->arrays);
    accounts_destroy(f->accounts);
    store_close(f->store);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static enum err_code enters(struct fix *f, const char *owner, const char *task)
{
    const struct task_target to = { owner, 7, task };
    struct engine_exec exec_to = { .fd = -1 };
    f->err = (struct err){ 0 };
    return task_exec(&f->access, &to, &exec_to, &f->err) ? f->err.code : ERR_NONE;
}

static void the_task_that_is_named_is_entered(void **state)
{
    struct fix *f = *state;
    assert_int_equal(enters(f, "ada", "w/1"), ERR_NONE);
    assert_string_equal(f->node, "n2");
    assert_int_equal(enters(f, "ada", NULL), ERR_INPUT); /* which of the two? */
    assert_int_equal(enters(f, "ada", "w/2"), ERR_NOT_FOUND);
    assert_int_not_equal(enters(f, "bob", "w/1"), ERR_NONE);
    f->job->tasks[1].attempt_state = ATTEMPT_SUCCEEDED;
    f->job->tasks[1].state = TASK_SUCCEEDED;
    assert_int_equal(enters(f, "ada", "w/1"), ERR_CONFLICT);
    assert_int_equal(enters(f, "ada", NULL), ERR_NONE); /* the only one */
    f->job->row.state = JOB_SUCCEEDED;
    assert_int_equal(enters(f, "ada", NULL), ERR_CONFLICT);
}

static void a_signal_needs_an_engine_that_sends_it(void **state)
{
    struct fix *f = *state;
    const struct task_signal ask = { .to = { "ada", 7, "w/0" }, .signal = 10 };
    assert_int_equal(task_signal(&f->access, &ask, &f->err), -1);
    assert_int_equal(f->err.code, ERR_CANNOT);
}

static void a_client_comes_to_the_first_stdin(void **state)
{
    struct fix *f = *state;
    struct stdin_request ask = { .owner = "ada", .job = 7 };
    struct engine_attach to = { .fd = -1 };
    assert_int_equal(task_attach(&f->access, &ask, &to, &f->err), 0);
    assert_string_equal(f->node, "n1");
    assert_string_equal(ask.role, "w");
    ask.attempt = 3; /* it is at another one */
    assert_int_equal(task_attach(&f->access, &ask, &to, &f->err), -1);
    f->job->spec->roles[0].open_stdin = false;
    ask.attempt = 0;
    assert_int_equal(task_attach(&f->access, &ask, &to, &f->err), -1);
    assert_int_equal(f->err.code, ERR_CONFLICT);
}

static void tasks_are_found_by_their_names(void **state)
{
    struct fix *f = *state;
    struct task_ref ref;
    assert_int_equal(task_find(f->job, "w"), 0);
    assert_int_equal(task_find(f->job, "w/1"), 1);
    assert_int_equal(task_find(f->job, "x"), UINT32_MAX);
    assert_true(task_read_ref(f->job->spec, "w/1", &ref) && ref.index == 1);
    assert_false(task_read_ref(f->job->spec, "w/1x", &ref));
}

static void programs_are_known_by_their_token_and_process(void **state)
{
    struct fix *f = *state;
    char token[TOKEN_TEXT];
    struct identity who;
    struct generation of;
    token_of_job(f->key, f->job, token);
    assert_int_equal(identify_by_job_token(&f->access, f->arena, token, &who, &f->err), 0);
    assert_int_equal(who.of.job, 7);
    assert_int_equal(who.of_number, 12);
    assert_false(who.submits); /* unless the job says so */
    assert_int_equal(identify_by_job_token(&f->access, f->arena, "mj.x", &who, &f->err), -1);
    assert_int_equal(find_job_of_process(&f->access, 99, &of), 1);
    assert_int_equal(identify_by_job(&f->access, f->arena, of, &who, &f->err), 0);
    f->job->row.generation = 3;
    assert_null(find_generation(&f->access, of));
    token_of_job(f->key, f->job, token);
    f->job->row.generation = 4;
    assert_int_equal(identify_by_job_token(&f->access, f->arena, token, &who, &f->err), -1);
    assert_int_equal(f->err.code, ERR_UNAUTHENTICATED);
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_task_that_is_named_is_entered),
        T(a_signal_needs_an_engine_that_sends_it),
        T(a_client_comes_to_the_first_stdin),
        T(tasks_are_found_by_their_names),
        T(programs_are_known_by_their_token_and_process),
    };
    return cmocka_run_group_tests_name("access/access", tests, NULL, NULL);
}
