/* Keepers of runs: a stand-in keeper (a shell script) shows that its end is seen, that
 * what carries its cookie is swept, and that an earlier server's keeper is found again by pid and
 * start time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/run.h"

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct fix {
    uv_loop_t loop;
    char dir[64], *program, *run_dir;
    struct run *run;
    unsigned ended;
    const char *session; /* NULL: none */
};

static void on_ended(struct run *run)
{
    struct fix *f = run->owner;
    f->ended++;
    uv_stop(&f->loop);
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-run-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->program = file_join(f->dir, "keeper");
    f->run_dir = file_join(f->dir, "run");
    uv_loop_init(&f->loop);
    f->run = run_create(&f->loop, (struct generation){ .job = (uint64_t)getpid(), .number = 1 },
                        "n1", f->run_dir);
    f->run->owner = f;
    f->run->ended = on_ended;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    run_destroy(f->run);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    file_remove_tree(f->dir, NULL);
    free(f->program);
    free(f->run_dir);
    free(f);
    return 0;
}

/* The program is called once more at the end, with "clean": what it does then is no keeper's. */
static void keeper(struct fix *f, const char *script)
{
    AUTO_FREE char *text = mem_printf("#!/bin/sh\n[ \"$1\" = keeper ] || exit 0\n%s\n", script);
    struct err err;
    unsigned char token[32] = { 1 };
    const struct launch own = { .sandbox = true };
    assert_int_equal(file_replace(f->program, text, strlen(text), 0755, &err), 0);
    assert_int_equal(
        run_spawn(f->run,
                  &(struct run_place){ .program = f->program,
                                       .server = "socket=/sock\n",
                                       .session = f->session,
                                       .session_len = f->session ? strlen(f->session) : 0,
                                       .token = token },
                  &own, &err),
        0);
}

/* What it is given beside its lock is in no file, and nobody changes it. */
static void a_session_is_handed_over(void **state)
{
    struct fix *f = *state;
    f->session = "secret";
    keeper(f, "cd /proc/self/fd && [ \"$(cat 4)\" = secret ] && ! echo >>4 && ! [ -e 5 ] &&\n"
              "! grep -rq secret \"$2\" && echo >\"$2/seen\"");
    uv_run(&f->loop, UV_RUN_DEFAULT);
    AUTO_FREE char *path = file_join(f->run_dir, "seen");
    assert_int_equal(access(path, F_OK), 0);
}

static void clean_end_is_seen(void **state)
{
    struct fix *f = *state;
    keeper(f, "test \"$1\" = keeper && grep -q token=01 \"$2/agent.conf\"");
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(f->ended, 1);
    assert_true(f->run->gone);
}

/* The keeper leaves a child with the cookie behind (which does not exec: for that moment a process
 * shows no cookie) and dies; its end is told. */
static void leaves_and_ends(struct fix *f, const char *cookie)
{
    AUTO_FREE char *script = mem_printf(
        "MUSTER_COOKIE=%s setsid sh -c 'echo >\"$0/child\"; kill -STOP $$' \"$2\" 3>&- &\n"
        "until [ -e \"$2/child\" ]; do :; done; kill -9 $$",
        cookie);
    keeper(f, script);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(f->ended, 1);
    AUTO_FREE char *path = file_join(f->run_dir, "child");
    assert_int_equal(access(path, F_OK), 0);
}

static void survivors_are_swept(void **state)
{
    struct fix *f = *state;
    leaves_and_ends(f, f->run->cookie);
    assert_int_equal(sweep_cookie(f->run->cookie), SWEEP_NONE);
}

/* A server of another directory may have a job of the same id. */
static void what_another_servers_job_left_stays(void **state)
{
    struct fix *f = *state;
    AUTO_FREE char *dir = file_join(f->dir, "other");
    struct run *other = run_create(&f->loop, f->run->generation, f->run->node, dir);
    leaves_and_ends(f, other->cookie);
    enum sweep_result left = sweep_cookie(other->cookie);
    run_destroy(other);
    assert_int_equal(left, SWEEP_SOME);
}

/* What is below a keeper is its run's; nobody else is, and who is gone is not known. */
static void processes_are_found_below_their_keeper(void **state)
{
    struct fix *f = *state;
    keeper(f, "sh -c 'sleep 300 & echo $! >\"$0/new\"; mv \"$0/new\" \"$0/child\"; wait' \"$2\"");
    AUTO_FREE char *path = file_join(f->run_dir, "child");
    AUTO_FREE char *text = NULL;
    size_t len;
    while (access(path, F_OK) < 0)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(file_read(path, 64, &text, &len, NULL), 0);
    pid_t child = (pid_t)strtol(text, NULL, 10);
    struct string_map *runs = string_map_create();
    string_map_set(runs, "one", f->run);
    const struct run *run = NULL;
    assert_int_equal(process_run(runs, child, &run), 1);
    assert_ptr_equal(run, f->run);
    assert_int_equal(process_run(runs, f->run->pid, &run), 1);
    assert_int_equal(process_run(runs, getpid(), &run), 0);
    assert_null(run);
    assert_int_equal(process_run(runs, INT32_MAX, &run), -1);
    f->run->ending = true; /* its keeper's number may be another's by now */
    assert_int_equal(process_run(runs, child, &run), 0);
    f->run->ending = false;
    string_map_destroy(runs);
    kill(child, SIGKILL);
    kill(f->run->pid, SIGKILL);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(f->ended, 1);
}

#define SAYS_ITS_PID                                                                               \
    "echo \"$$ $(cut -d' ' -f22 /proc/$$/stat)\" > \"$2/new\"; mv \"$2/new\" \"$2/keeper.pid\"; "

static void earlier_keeper_is_adopted(void **state)
{
    struct fix *f = *state;
    keeper(f, SAYS_ITS_PID "exec sleep 300");
    AUTO_FREE char *path = file_join(f->run_dir, "keeper.pid");
    while (access(path, F_OK) < 0)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    /* By another path: what it started carries the mark of the first one. */
    AUTO_FREE char *link = file_join(f->dir, "link");
    assert_int_equal(symlink(f->run_dir, link), 0);
    struct run *again = run_create(&f->loop, f->run->generation, "n1", link);
    again->owner = f;
    again->ended = on_ended;
    assert_string_not_equal(again->cookie, f->run->cookie);
    assert_int_equal(run_adopt(again), 1);
    assert_string_equal(again->cookie, f->run->cookie);
    assert_int_equal(again->pid, f->run->pid);
    kill(again->pid, SIGKILL);
    while (f->ended < 2)
        uv_run(&f->loop, UV_RUN_DEFAULT);
    run_destroy(again);
    again = run_create(&f->loop, f->run->generation, "n1", f->run_dir);
    again->owner = f;
    again->ended = on_ended;
    assert_int_equal(run_adopt(again), -1); /* its pid is nobody now */
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(f->ended, 3);
    run_destroy(again);
}

/* A keeper that no record knows lives in the directory of a start: the start is refused, nothing of
 * the directory is changed, and what comes to its end there is that keeper. */
static void keeper_in_the_way_is_ended(void **state)
{
    struct fix *f = *state;
    struct err err;
    unsigned char token[32] = { 2 };
    const struct launch own = { .sandbox = true };
    keeper(f, SAYS_ITS_PID "exec sleep 300");
    struct run *again = run_create(&f->loop, f->run->generation, "n1", f->run_dir);
    again->owner = f;
    again->ended = on_ended;
    assert_int_equal(run_spawn(again,
                               &(struct run_place){ .program = f->program,
                                                    .server = "socket=/sock\n",
                                                    .token = token },
                               &own, &err),
                     -1);
    AUTO_FREE char *path = file_join(f->run_dir, "agent.conf");
    AUTO_FREE char *text = NULL;
    size_t len;
    assert_int_equal(file_read(path, 1 << 20, &text, &len, &err), 0);
    assert_non_null(strstr(text, "\ntoken=01"));
    run_settle(again);
    while (f->ended < 2) /* of the one that is watched, too */
        uv_run(&f->loop, UV_RUN_ONCE);
    struct process now;
    assert_true(again->gone);
    assert_false(process_look(f->run->pid, &now));
    run_destroy(again);
}

/* It has ended when the call returns, although it hears nothing of being told to. */
static void keeper_of_no_record_is_ended(void **state)
{
    struct fix *f = *state;
    struct err err;
    struct run_conf conf;
    assert_int_equal(run_end(f->run_dir, f->program, &err), 0); /* there is none */
    keeper(f, SAYS_ITS_PID "exec sleep 300");
    AUTO_FREE char *path = file_join(f->run_dir, "keeper.pid");
    while (access(path, F_OK) < 0)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    kill(f->run->pid, SIGSTOP);
    assert_true(run_look(f->run_dir, &conf));
    assert_int_equal(conf.pid, f->run->pid);
    assert_int_equal(run_end(f->run_dir, f->program, &err), 0);
    assert_false(run_look(f->run_dir, &conf));
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(f->ended, 1);
}

/* Somebody removed its files while it lived: it is found among the processes, never doubled. */
static void keeper_without_its_lock_is_found(void **state)
{
    struct fix *f = *state;
    struct run_conf conf;
    struct err err;
    unsigned char token[32] = { 1 };
    const struct launch own = { .sandbox = true };
    keeper(f, SAYS_ITS_PID "exec sleep 300");
    AUTO_FREE char *lock = file_join(f->run_dir, "keeper.lock");
    AUTO_FREE char *pid = file_join(f->run_dir, "keeper.pid");
    while (access(pid, F_OK) < 0)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(unlink(lock), 0);
    assert_true(run_look(f->run_dir, &conf));
    struct run *again = run_create(&f->loop, f->run->generation, "n1", f->run_dir);
    again->owner = f;
    again->ended = on_ended;
    assert_int_equal(run_adopt(again), 1);
    assert_int_equal(again->pid, f->run->pid);
    assert_int_equal(unlink(pid), 0);
    struct run *more = run_create(&f->loop, f->run->generation, "n1", f->run_dir);
    assert_int_equal(
        run_spawn(more,
                  &(struct run_place){ .program = f->program, .server = "/sock", .token = token },
                  &own, &err),
        -1);
    run_destroy(more);
    assert_int_equal(run_end(f->run_dir, f->program, &err), 0);
    assert_false(run_look(f->run_dir, &conf));
    while (f->ended < 2)
        uv_run(&f->loop, UV_RUN_ONCE);
    run_destroy(again);
}

/* Of a copy: its keeper is the original's, which goes on. */
static void keeper_of_the_original_is_left_alone(void **state)
{
    struct fix *f = *state;
    const char *const files[] = { "keeper.lock", "keeper.pid", "agent.conf" };
    keeper(f, SAYS_ITS_PID "exec sleep 300");
    AUTO_FREE char *path = file_join(f->run_dir, "keeper.pid");
    while (access(path, F_OK) < 0)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    AUTO_FREE char *copy = file_join(f->dir, "copy");
    assert_int_equal(mkdir(copy, 0700), 0);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_FREE char *from = file_join(f->run_dir, files[i]), *to = file_join(copy, files[i]);
        AUTO_FREE char *text = NULL;
        size_t len;
        struct err err;
        assert_int_equal(file_read(from, 1 << 20, &text, &len, &err), 0);
        assert_int_equal(file_replace(to, text, len, 0600, &err), 0);
    }
    struct run *of_copy = run_create(&f->loop, f->run->generation, "n1", copy);
    of_copy->owner = f;
    of_copy->program = f->program;
    of_copy->ended = on_ended;
    assert_int_equal(run_adopt(of_copy), -1);
    while (!of_copy->gone)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(f->ended, 1);
    assert_string_not_equal(of_copy->cookie, f->run->cookie);
    struct process now;
    assert_true(process_look(f->run->pid, &now));
    run_destroy(of_copy);
    kill(f->run->pid, SIGKILL);
    while (f->ended < 2)
        uv_run(&f->loop, UV_RUN_NOWAIT);
}

/* Its file names somebody else after damage: nobody is told to end that process. */
static void keeper_is_named_by_its_own_pid_alone(void **state)
{
    struct fix *f = *state;
    keeper(f, SAYS_ITS_PID "exec sleep 300");
    AUTO_FREE char *path = file_join(f->run_dir, "keeper.pid");
    AUTO_FREE char *text = NULL;
    struct run_conf conf;
    struct err err;
    size_t len;
    while (access(path, F_OK) < 0)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(file_read(path, 64, &text, &len, NULL), 0);
    assert_true(run_look(f->run_dir, &conf));
    assert_int_equal(conf.pid, f->run->pid);
    AUTO_FREE char *other = mem_printf("%d%s", (int)getpid(), strchr(text, ' '));
    assert_int_equal(file_replace(path, other, strlen(other), 0600, &err), 0);
    assert_true(run_look(f->run_dir, &conf));
    assert_int_equal(conf.pid, 0);
    kill(f->run->pid, SIGKILL);
    while (f->ended < 1)
        uv_run(&f->loop, UV_RUN_DEFAULT);
}

/* The server was killed before the keeper had written its pid: it is waited for, never doubled. */
static void keeper_without_pid_is_waited_for(void **state)
{
    struct fix *f = *state;
    keeper(f, "while ! test -e \"$2/go\"; do sleep 0.01; done\n" SAYS_ITS_PID "exec sleep 300");
    struct run *again = run_create(&f->loop, f->run->generation, "n1", f->run_dir);
    struct err err;
    unsigned char token[32] = { 1 };
    const struct launch own = { .sandbox = true };
    again->owner = f;
    again->ended = on_ended;
    assert_int_equal(run_adopt(again), 1);
    assert_true(run_lives(again));
    assert_int_equal(again->pid, 0);
    assert_int_equal(run_spawn(again,
                               &(struct run_place){ .program = f->program,
                                                    .server = "socket=/sock\n",
                                                    .token = token },
                               &own, &err),
                     -1);
    AUTO_FREE char *go = file_join(f->run_dir, "go");
    assert_int_equal(file_replace(go, "", 0, 0600, &err), 0);
    /* Not ONCE, which goes on to wait for an event when its timer was due already. */
    while (again->pid == 0)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(again->pid, f->run->pid);
    kill(again->pid, SIGKILL);
    while (f->ended < 2)
        uv_run(&f->loop, UV_RUN_DEFAULT);
    run_destroy(again);
}

/* It died before it wrote anything: that is an end like any other. */
static void keeper_without_pid_may_die(void **state)
{
    struct fix *f = *state;
    keeper(f, "while ! test -e \"$2/go\"; do sleep 0.01; done; kill -9 $$");
    struct run *again = run_create(&f->loop, f->run->generation, "n1", f->run_dir);
    struct err err;
    again->owner = f;
    again->ended = on_ended;
    assert_int_equal(run_adopt(again), 1);
    AUTO_FREE char *go = file_join(f->run_dir, "go");
    assert_int_equal(file_replace(go, "", 0, 0600, &err), 0);
    while (f->ended < 2)
        uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_true(again->gone);
    run_destroy(again);
}

/* Its server is elsewhere now; all else stays as it was. */
static void an_agent_is_told_another_server(void **state)
{
    struct fix *f = *state;
    AUTO_FREE char *path = file_join(f->run_dir, "agent.conf");
    AUTO_FREE char *before = NULL, *after = NULL, *again = NULL;
    struct err err;
    size_t len;
    assert_int_equal(run_set_server(f->run_dir, "socket=/none\n", &err), 0);
    assert_int_equal(access(path, F_OK), -1);
    keeper(f, "exit 0");
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(file_read(path, 1 << 20, &before, &len, &err), 0);
    assert_int_equal(run_set_server(f->run_dir, "tcp=10.0.0.1:9\npin=ab\n", &err), 0);
    assert_int_equal(file_read(path, 1 << 20, &after, &len, &err), 0);
    assert_int_equal(strncmp(after, "tcp=10.0.0.1:9\npin=ab\ntoken=01", 30), 0);
    assert_null(strstr(after, "socket="));
    assert_int_equal(run_set_server(f->run_dir, "socket=/sock\n", &err), 0);
    assert_int_equal(file_read(path, 1 << 20, &again, &len, &err), 0);
    assert_string_equal(again, before);
}

static void nothing_to_adopt(void **state)
{
    struct fix *f = *state;
    assert_int_equal(run_adopt(f->run), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(clean_end_is_seen),
        TEST(a_session_is_handed_over),
        TEST(survivors_are_swept),
        TEST(what_another_servers_job_left_stays),
        TEST(processes_are_found_below_their_keeper),
        TEST(earlier_keeper_is_adopted),
        TEST(keeper_of_the_original_is_left_alone),
        TEST(keeper_without_its_lock_is_found),
        TEST(keeper_in_the_way_is_ended),
        TEST(keeper_of_no_record_is_ended),
        TEST(nothing_to_adopt),
        TEST(an_agent_is_told_another_server),
        TEST(keeper_without_pid_is_waited_for),
        TEST(keeper_is_named_by_its_own_pid_alone),
        TEST(keeper_without_pid_may_die),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
