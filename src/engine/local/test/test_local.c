/* The local engine with a stand-in keeper (a shell script): a start makes a run, whose end comes up
 * as one fact; runs of an earlier server are found again; what no record knows is named or ended.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/local/local.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

struct fix {
    uv_loop_t loop;
    char dir[64], *program, *run_dir;
    struct link_hub *link;
    struct engine *engine;
    unsigned gone;
};

static const struct generation first = { .job = 7, .number = 1 };

static void on_fact(void *arg, const struct engine_fact *fact)
{
    struct fix *f = arg;
    assert_int_equal(fact->kind, FACT_AGENT_GONE);
    assert_int_equal(fact->generation.job, first.job);
    assert_string_equal(fact->node, "n1");
    f->gone++;
}

static void open_engine(struct fix *f)
{
    struct err err;
    const struct engine_sink sink = { .fact = on_fact, .arg = f };
    f->link = link_create(&f->loop, sink);
    f->engine = local_create(&(struct local_config){ .loop = &f->loop,
                                                     .link = f->link,
                                                     .node_program = f->program,
                                                     .socket_path = "/sock",
                                                     .agents = 1 },
                             &err);
    assert_non_null(f->engine);
    f->engine->sink = sink;
}

static void close_engine(struct fix *f)
{
    f->engine->ops->destroy(f->engine);
    link_destroy(f->link);
    uv_run(&f->loop, UV_RUN_DEFAULT);
}

static int set_up(void **state)
{
    static const char keeper[] =
        "#!/bin/sh\n[ \"$1\" = keeper ] || exit 0\n"
        "echo \"$$ $(cut -d' ' -f22 /proc/$$/stat)\" >\"$2/new\"; mv \"$2/new\" \"$2/keeper.pid\"\n"
        "exec sleep 300\n";
    struct fix *f = mem_new(sizeof *f);
    struct err err;
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-local-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->program = file_join(f->dir, "keeper");
    f->run_dir = file_join(f->dir, "run");
    assert_int_equal(file_replace(f->program, keeper, sizeof keeper - 1, 0755, &err), 0);
    uv_loop_init(&f->loop);
    open_engine(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    close_engine(f);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    file_remove_tree(f->dir, NULL);
    free(f->program);
    free(f->run_dir);
    free(f);
    return 0;
}

static int start(struct fix *f, const char *node, struct err *err)
{
    const struct launch launch = { .generation = first,
                                   .seq = 1,
                                   .node = node,
                                   .token = { 1 },
                                   .job_name = "j",
                                   .dir = f->run_dir };
    return f->engine->ops->start(f->engine, &launch, err);
}

/* Its pid, as soon as it has said it. */
static pid_t keeper_of(struct fix *f)
{
    uint32_t pid = 0;
    while (pid == 0)
        assert_true(local_lives(f->run_dir, &pid));
    return (pid_t)pid;
}

static void end_of_a_keeper_comes_up_once(void **state)
{
    struct fix *f = *state;
    struct err err;
    size_t all = 0;
    assert_int_equal(start(f, "n1", &err), 0);
    assert_int_equal(f->engine->ops->room(f->engine, &all), 0);
    assert_int_equal(start(f, "n2", &err), -1); /* one agent at most */
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    kill(keeper_of(f), SIGKILL);
    while (f->gone == 0)
        uv_run(&f->loop, UV_RUN_ONCE);
    assert_int_equal(f->engine->ops->room(f->engine, &all), 1);
    assert_int_equal(f->gone, 1);
}

static void runs_of_an_earlier_server_are_found(void **state)
{
    struct fix *f = *state;
    struct err err;
    assert_int_equal(start(f, "n1", &err), 0);
    pid_t pid = keeper_of(f);
    close_engine(f);
    open_engine(f);
    const struct engine_agent known = {
        .dir = f->run_dir, .generation = first, .node = "n1", .last_seq = 3
    };
    assert_int_equal(f->engine->ops->recover(f->engine, &known, 1, &err), 0);
    struct generation of = { 0 };
    assert_int_equal(f->engine->ops->find_process(f->engine, (uint32_t)pid, &of), 1);
    assert_int_equal(of.job, first.job);
    kill(pid, SIGKILL);
    while (f->gone == 0)
        uv_run(&f->loop, UV_RUN_ONCE);
}

static void what_no_record_knows_is_named_and_ended(void **state)
{
    struct fix *f = *state;
    struct engine_stranger one = { 0 };
    struct err err;
    assert_int_equal(f->engine->ops->leave(f->engine, f->run_dir, &one), 0);
    assert_int_equal(start(f, "n1", &err), 0);
    pid_t pid = keeper_of(f);
    close_engine(f);
    open_engine(f);
    assert_int_equal(f->engine->ops->leave(f->engine, f->run_dir, &one), 1);
    assert_int_equal(one.job, first.job);
    assert_int_equal(one.pid, pid);
    assert_string_equal(one.node, "n1");
    assert_int_equal(f->engine->ops->end(f->engine, f->run_dir, &one, &err), 1);
    assert_int_equal(f->engine->ops->end(f->engine, f->run_dir, &one, &err), 0);
}

static void machine_is_described(void **state)
{
    (void)state;
    struct node_facts facts;
    struct arena *a = arena_create();
    local_detect(a, "/tmp", &facts);
    assert_true(facts.cpu_milli >= 1000);
    assert_true(facts.memory > (64u << 20));
    assert_true(facts.name[0]);
    arena_destroy(a);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(end_of_a_keeper_comes_up_once),
        TEST(runs_of_an_earlier_server_are_found),
        TEST(what_no_record_knows_is_named_and_ended),
        cmocka_unit_test(machine_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
