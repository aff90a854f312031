/* Submission: answers, idempotency keys, admission, dry runs, a full disk. What is refused leaves
 * no trace; secrets are shown to their owner only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ctl/test/world.h"

#include "answer/jobs.h"
#include "answer/tasks.h"
#include "base/file.h"
#include "base/mem.h"
#include "ctl/node_work.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define ONE "{\"name\":\"one\",\"roles\":{\"w\":{\"run\":\"true\",\"resources\":{\"cpu\":1}}}}"

static int setup(void **state)
{
    static struct world w;
    world_init(&w);
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    world_fini(*state);
    return 0;
}

static struct submission ask(const char *text)
{
    return (
        struct submission){ .owner = "ada", .text = text, .len = strlen(text), .work_dir = "/tmp" };
}

static void same_key_same_job(void **state)
{
    struct world *w = *state;
    struct submission s = ask(ONE);
    s.key = "k1";
    uint64_t first = world_submit_as(w, &s);
    assert_true(first != 0);
    assert_true(world_submit_as(w, &s) == first);
    world_run(w);
    world_crash(w);
    assert_true(world_submit_as(w, &s) == first);
    struct submission other = ask("{\"name\":\"two\",\"roles\":{\"w\":{\"run\":\"true\"}}}");
    other.key = "k1";
    assert_true(world_submit_as(w, &other) == 0);
    assert_int_equal(w->code, ERR_CONFLICT);
    other.owner = "bob";
    assert_true(world_submit_as(w, &other) != 0);
}

struct answers {
    unsigned n;
    uint64_t jobs[8];
};
static void collect(void *arg, const struct ctl_answer *answer)
{
    struct answers *all = arg;
    all->jobs[all->n++ % 8] = answer->err ? 0 : answer->job;
}

static void one_turn_one_commit(void **state)
{
    struct world *w = *state;
    struct answers all = { 0 };
    struct submission s = ask(ONE), keyed = ask(ONE);
    keyed.key = "same";
    ctl_submit(w->ctl, &s, collect, &all);
    ctl_submit(w->ctl, &keyed, collect, &all);
    ctl_submit(w->ctl, &keyed, collect, &all);
    assert_int_equal(all.n, 0); /* nothing is said before the commit */
    ctl_turn(w->ctl);
    assert_int_equal(all.n, 3);
    assert_true(all.jobs[0] && all.jobs[1] && all.jobs[0] != all.jobs[1]);
    assert_true(all.jobs[1] == all.jobs[2]);
}

static void bad_texts_are_reported(void **state)
{
    struct world *w = *state;
    assert_true(
        world_submit(
            w,
            "{\"name\":\"x\",\"roles\":{\"w\":{\"run\":\"true\",\"replicas\":0,\"comand\":1}}}") ==
        0);
    assert_int_equal(w->code, ERR_INPUT);
    assert_true(w->errors >= 2);
    assert_true(world_submit(w, "") == 0);
    assert_int_equal(w->code, ERR_INPUT);
    assert_true(world_submit(w, "{\"a\":1}") == 0);
}

static void machine_comes(struct world *w)
{
    const struct node_spec spec = { .name = "gpu2",
                                    .address = "10.0.0.2",
                                    .host = "gpu2",
                                    .gpu_type = "",
                                    .cpu_milli = 1000,
                                    .memory = 1 << 30,
                                    .machine = true };
    const struct engine_fact up = { .kind = FACT_NODE_UP, .node = "gpu2", .spec = &spec };
    w->fake.base.sink.fact(w->fake.base.sink.arg, &up);
    world_run(w);
}

/* Code has to be sent there; data is theirs. */
static void machines_do_not_see_this_disk(void **state)
{
    struct world *w = *state;
    char dir[] = "/tmp/muster-travel-XXXXXX";
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *big = file_join(dir, "data.bin");
    AUTO_FREE char *tools = file_join(dir, ".git");
    AUTO_FREE char *kept = file_join(tools, "pack");
    struct submission s = ask(ONE);
    s.work_dir = dir;
    assert_int_equal(mkdir(tools, 0700), 0);
    assert_int_equal(close(open(kept, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
    assert_int_equal(truncate(kept, 600 << 20), 0); /* is no code */
    machine_comes(w);
    assert_true(world_submit_as(w, &s) != 0);
    assert_int_equal(close(open(big, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
    assert_int_equal(truncate(big, 600 << 20), 0);
    assert_true(world_submit_as(w, &s) == 0);
    assert_int_equal(w->code, ERR_CANNOT);
    assert_non_null(strstr(w->what, "too much to send"));
    s.work_dir = NULL;
    AUTO_FREE char *own = file_join(dir, "code");
    assert_int_equal(mkdir(own, 0700), 0);
    s.code_dir = own;
    assert_true(world_submit_as(w, &s) != 0);
    static const char data[] = "{\"name\":\"d\",\"inputs\":{\"data\":[{\"from\":\"/no/such/data\","
                               "\"at\":\"/data\"}]},\"roles\":{\"w\":{\"run\":\"true\"}}}";
    assert_true(world_submit(w, data) != 0);
    file_remove_tree(dir, NULL);
}

static void what_cannot_run_is_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "{\"name\":\"x\",\"inputs\":{\"code\":{\"git\":\"https://x/y\"}},\"roles\":{\"w\":{\"run\":\"x\"}}}",
          "git" },
        { "{\"name\":\"x\",\"health\":{\"check\":\"before_start\"},\"roles\":{\"w\":{\"run\":\"x\"}}}",
          "health" },
        { "{\"name\":\"x\",\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"gpu\":4}}}}",
          "cannot run here" },
        { "{\"name\":\"x\",\"inputs\":{\"code\":{\"dir\":\"/no/such/dir\"}},\"roles\":{\"w\":{\"run\":\"x\"}}}",
          "/no/such/dir" },
        { "{\"name\":\"x\",\"inputs\":{\"code\":{\"dir\":\"hdfs://h:9/x\"}},\"roles\":{\"w\":{\"run\":\"x\"}}}",
          "no storage root" },
        { "{\"name\":\"x\",\"place\":{\"engine\":\"slrum\"},\"roles\":{\"w\":{\"run\":\"x\"}}}",
          "no engine has this name" },
        { "{\"name\":\"x\",\"output\":\"s3://h/x\",\"roles\":{\"w\":{\"run\":\"x\"}}}",
          "no storage root" },
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_true(world_submit(w, cases[i].text) == 0);
        if (w->code != ERR_CANNOT || !strstr(w->what, cases[i].says))
            fail_msg("%s: %s: %s", cases[i].text, err_word(w->code), w->what);
    }
    assert_true(world_submit(
                    w, "{\"name\":\"x\",\"queue\":\"nosuch\",\"roles\":{\"w\":{\"run\":\"x\"}}}") ==
                0);
    assert_int_equal(w->code, ERR_INPUT);
}

static void too_large_can_wait(void **state)
{
    struct world *w = *state;
    struct submission s =
        ask("{\"name\":\"x\",\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"gpu\":4}}}}");
    s.wait_for_nodes = true;
    uint64_t job = world_submit_as(w, &s);
    assert_true(job != 0);
    assert_int_equal(world_state(w, job), JOB_QUEUED);
    assert_non_null(strstr(world_reason(w, job), "gpu"));
}

static void images_are_warned_about(void **state)
{
    struct world *w = *state;
    assert_true(
        world_submit(w, "{\"name\":\"x\",\"roles\":{\"w\":{\"run\":\"x\",\"image\":\"a/b\"}}}") !=
        0);
    assert_int_equal(w->warnings, 1);
}

static void who_reaches_no_server_is_warned(void **state)
{
    struct world *w = *state;
    const struct account other = {
        .name = "ada", .home = "/", .shell = "/bin/sh", .ids = { .uid = geteuid() + 1, .gid = 1 }
    };
    struct submission s = ask(ONE);
    s.account = &other;
    s.work_dir = NULL;
    s.dry_run = true;
    (void)world_submit_as(w, &s);
    assert_int_equal(w->warnings, 1);
    ctl_set_address(w->ctl, "");
    (void)world_submit_as(w, &s);
    assert_int_equal(w->warnings, 1);
    ctl_set_address(w->ctl, "http://127.0.0.1:6878");
    (void)world_submit_as(w, &s);
    assert_int_equal(w->warnings, 0);
}

static void dry_runs_store_nothing(void **state)
{
    struct world *w = *state;
    struct submission s = ask(ONE);
    s.dry_run = true;
    assert_true(world_submit_as(w, &s) == 0);
    assert_int_equal(w->code, ERR_NONE);
    assert_true(store_last_event(w->store) == 0);
}

static void like_another(void **state)
{
    struct world *w = *state;
    uint64_t first = world_submit(w, ONE);
    struct submission s = { .owner = "ada", .like = first, .name = "again" };
    uint64_t second = world_submit_as(w, &s);
    assert_true(second != 0 && second != first);
    s.owner = "bob";
    assert_true(world_submit_as(w, &s) == 0);
    assert_int_equal(w->code, ERR_NOT_FOUND);
    uint64_t found;
    struct err err;
    assert_int_equal(ctl_find(w->ctl, "again", &found, &err), 0);
    assert_true(found == second);
    assert_int_equal(ctl_find(w->ctl, "1", &found, &err), 0);
    assert_true(found == first);
    assert_int_equal(ctl_find(w->ctl, "nothing", &found, &err), -1);
}

static void code_is_looked_at(void **state)
{
    struct world *w = *state;
    char code[160], file[200];
    struct err err;
    snprintf(code, sizeof code, "%s/code", w->dir);
    assert_int_equal(file_mkdirs(code, 0700, &err), 0);
    snprintf(file, sizeof file, "%s/big", code);
    assert_int_equal(file_replace(file, "0123456789", 10, 0600, &err), 0);
    struct submission s = ask(ONE);
    s.code_dir = code;
    assert_true(world_submit_as(w, &s) != 0);
}

static void others_see_no_secrets(void **state)
{
    struct world *w = *state;
    uint64_t job = world_submit(
        w, "{\"name\":\"x\",\"roles\":{\"w\":{\"run\":\"x\",\"env\":{\"K\":\"hunter2\"}}}}");
    struct arena *arena = arena_create();
    struct err err;
    struct job_ask ask = { .job = job, .owner = "ada", .parts = JOB_SPEC | JOB_ORIGIN };
    struct job_view mine, theirs;
    assert_int_equal(answer_job_view(w->ctl, arena, &ask, &mine, &err), 0);
    ask.owner = NULL;
    assert_int_equal(answer_job_view(w->ctl, arena, &ask, &theirs, &err), 0);
    ask.owner = "bob";
    assert_int_equal(answer_job_view(w->ctl, arena, &ask, &theirs, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(mine.origin, "hunter2"));
    assert_null(strstr(theirs.origin, "hunter2"));
    const struct text_node *role = text_get(theirs.spec, "roles")->first;
    assert_string_equal(text_get(text_get(role, "env"), "K")->str, "***");
    arena_destroy(arena);
}

static void lists(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    struct err err;
    w->code_all = FAKE_RUNS;
    for (int i = 0; i < 5; i++)
        world_submit(w, ONE);
    struct job_filter filter = { .limit = 3 };
    struct job_list list;
    assert_int_equal(answer_list_view(w->ctl, arena, &filter, &list, &err), 0);
    assert_int_equal(list.n, 3);
    assert_int_equal(list.at[0].number, 5);
    assert_true(list.next == list.at[2].id);
    world_run(w);
    struct attempt_log *logs;
    size_t n = 0;
    assert_int_equal(answer_logs(w->ctl, arena, w->job, &logs, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_non_null(strstr(logs[0].dir, "/5/g1/n"));
    arena_destroy(arena);
}

static void drained_nodes_get_nothing(void **state)
{
    struct world *w = *state;
    struct answers all = { 0 };
    w->code_all = FAKE_RUNS;
    ctl_node_command(w->ctl, "n1", true, collect, &all);
    ctl_node_command(w->ctl, "nope", true, collect, &all);
    ctl_node_command(w->ctl, "n2", true, collect, &all);
    ctl_turn(w->ctl);
    assert_int_equal(all.n, 3);
    world_crash(w);
    uint64_t job = world_submit(w, ONE);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_QUEUED);
    ctl_node_command(w->ctl, "n2", false, collect, &all);
    ctl_turn(w->ctl);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
}

/* The disk fills while jobs run: submissions get 507 and leave nothing behind, ends are recorded,
 * later all is well again. */
static void full_disk(void **state)
{
    struct world *w = *state;
    struct rlimit was, none;
    w->code_all = FAKE_RUNS;
    uint64_t runs = world_submit(w, ONE);
    world_run(w);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    none = was;
    none.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    unsigned before = w->answers;
    assert_true(world_submit(w, ONE) == 0);
    assert_int_equal(w->answers, before + 1);
    assert_int_not_equal(w->code, ERR_NONE);
    w->code_all = 0;
    for (int i = 0; i < 20; i++)
        world_step(w); /* the end is heard; it cannot be written yet */
    assert_int_equal(world_state(w, runs), JOB_RUNNING);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_true(world_submit(w, ONE) == 0);
    assert_int_equal(w->code, ERR_UNAVAILABLE); /* a limit, not a disk without room */
    world_pass(w, 5000);
    assert_int_equal(world_state(w, runs), JOB_SUCCEEDED);
    assert_true(world_submit(w, ONE) != 0);
    world_run(w);
    assert_true(world_used(w) == 0);
    struct job_filter filter = { .limit = 10 };
    struct arena *arena = arena_create();
    struct err err;
    struct job_list list;
    assert_int_equal(answer_list_view(w->ctl, arena, &filter, &list, &err), 0);
    assert_int_equal(list.n, 2);
    arena_destroy(arena);
}

static void names_may_have_to_be_new(void **state)
{
    struct world *w = *state;
    struct submission ask = { .owner = "ada", .text = ONE, .len = strlen(ONE), .unique = true };
    struct err err;
    uint64_t first = world_submit_as(w, &ask), found = 0;
    assert_true(first != 0);
    assert_true(world_submit_as(w, &ask) == 0);
    assert_int_equal(w->code, ERR_CONFLICT);
    world_run(w);
    assert_true(world_submit_as(w, &ask) == 0); /* also when it has ended */
    ask.owner = "bob";
    uint64_t others = world_submit_as(w, &ask);
    assert_true(others != 0);
    ask.owner = "ada";
    ask.unique = false;
    uint64_t second = world_submit_as(w, &ask);
    assert_true(second != 0);
    struct arena *arena = arena_create();
    struct job_view view;
    assert_int_equal(answer_job_view(w->ctl, arena, &(struct job_ask){ .job = first }, &view, &err),
                     0);
    const char *name = view.name;
    assert_int_equal(ctl_find_owned(w->ctl, "ada", name, &found, &err), 0);
    assert_true(found == second);
    assert_int_equal(ctl_find_owned(w->ctl, "bob", name, &found, &err), 0);
    assert_true(found == others);
    assert_int_equal(ctl_find_owned(w->ctl, "eve", name, &found, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(ctl_find_owned(w->ctl, "ada", "no", &found, &err), -1);
    arena_destroy(arena);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(same_key_same_job),
        T(one_turn_one_commit),
        T(bad_texts_are_reported),
        T(machines_do_not_see_this_disk),
        T(what_cannot_run_is_refused),
        T(too_large_can_wait),
        T(images_are_warned_about),
        T(who_reaches_no_server_is_warned),
        T(dry_runs_store_nothing),
        T(like_another),
        T(code_is_looked_at),
        T(others_see_no_secrets),
        T(lists),
        T(drained_nodes_get_nothing),
        T(full_disk),
        T(names_may_have_to_be_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
