/* The engine of machines with a real host, real keepers, agents and tasks: a launch from its start
 * to the end of its run, what stops do, what becomes of a run when its machine is silent, comes
 * back, is fenced or removed, and what the server has of its logs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/machines/test/fixture.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/machines/images.h"
#include "wire/message.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int set_up(void **state)
{
    *state = fix_create();
    return 0;
}

static int tear_down(void **state)
{
    fix_destroy(*state);
    return 0;
}

/* ---- what holds ---- */

static void a_job_runs_and_its_run_ends(void **state)
{
    struct fix *f = *state;
    fix_start_host(f);
    fix_start_well(f, "exit 3");
    UNTIL(f, f->facts[FACT_ENDED] == 1);
    assert_int_equal(f->facts[FACT_STARTED], 1);
    assert_true(f->ending.exited);
    assert_int_equal(f->ending.code, 3);
    fix_stop(f, STOP_GRACE);
    UNTIL(f, f->facts[FACT_RELEASED] == 1);
    assert_int_equal(f->facts[FACT_AGENT_GONE], 0);
    fix_ack(f);
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
    fix_start_well(f, "exit 0"); /* of the same generation, anew */
    UNTIL(f, f->facts[FACT_ENDED] == 2);
    assert_int_equal(f->ending.code, 0);
}

static void a_run_waits_for_its_machine(void **state)
{
    struct fix *f = *state;
    fix_start_well(f, "true");
    fix_start_host(f);
    UNTIL(f, f->facts[FACT_ENDED] == 1);
}

/* Another account's code and secrets, and the server's own, do not come there; what its host says
 * that it has counts up to what was asked for. */
static void a_host_of_an_account_has_its_job_alone(void **state)
{
    struct fix *f = *state;
    static const struct account ann = { .name = "ann", .home = "/", .shell = "" };
    static const struct account ben = { .name = "ben", .home = "/", .shell = "" };
    const struct {
        const struct account *account;
        uint64_t for_job;
        int started;
    } rows[] = { { &ann, 7, 0 }, { &ben, 7, -1 }, { NULL, 7, -1 }, { &ann, 8, -1 } };
    struct launch_task task;
    struct launch launch = fix_launch(f, &task, "true");
    struct err err;
    launch.account = &ann;
    assert_int_equal(fix_start(f, &launch, &err), -1);
    for (size_t i = ARRAY_LEN(rows); i-- > 0;) {
        struct machine_entry one = { .node = "n1",
                                     .address = "",
                                     .for_job = rows[i].for_job,
                                     .account = "ann",
                                     .bounds = { .cpu_milli = 500, .memory = 1000 } };
        memcpy(one.token_hash, f->hash, sizeof one.token_hash);
        machines_add(f->engine, &one);
        launch.account = rows[i].account;
        assert_int_equal(fix_start(f, &launch, &err), rows[i].started);
    }
    fix_start_host(f);
    UNTIL(f, f->facts[FACT_ENDED] == 1);
    assert_int_equal(f->cpu_milli, 500);
    assert_int_equal(f->memory, 1000);
}

static void what_never_began_can_be_stopped(void **state)
{
    struct fix *f = *state;
    fix_start_well(f, "true");
    fix_stop(f, STOP_GRACE);
    assert_int_equal(f->facts[FACT_AGENT_GONE], 0); /* from the loop */
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
    assert_non_null(strstr(f->reason, "not started"));
}

/* The host is killed, the server too: the task goes on and nobody gives it up. */
static void a_silent_machine_is_not_gone(void **state)
{
    struct fix *f = *state;
    fix_start_host(f);
    fix_start_well(f, "sleep 300");
    UNTIL(f, f->facts[FACT_STARTED] == 1);
    fix_end_host(f, SIGKILL);
    UNTIL(f, f->facts[FACT_NODE_DOWN] == 1);
    assert_int_equal(f->facts[FACT_AGENT_GONE], 0);
    fix_close_server(f);
    fix_open_server(f);
    fix_recover(f);
    unsigned joined = f->facts[FACT_AGENT_JOINED];
    UNTIL(f, f->facts[FACT_AGENT_JOINED] > joined);
    fix_start_host(f);
    assert_int_equal(f->facts[FACT_AGENT_GONE], 0);
    fix_stop(f, STOP_NOW);
    UNTIL(f, f->facts[FACT_RELEASED] == 1);
    fix_ack(f);
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
}

/* As by a power failure: all of it dies at once, and the machine comes back. */
static void a_machine_that_comes_back_empty_says_so(void **state)
{
    struct fix *f = *state;
    fix_start_host(f);
    fix_start_well(f, "sleep 300");
    UNTIL(f, f->facts[FACT_STARTED] == 1);
    fix_end_host(f, SIGKILL);
    AUTO_FREE char *path = file_join(f->host_dir, "runs/7.1.n1/keeper.pid");
    AUTO_FREE char *text = NULL;
    size_t len;
    assert_int_equal(file_read(path, 100, &text, &len, NULL), 0);
    kill((pid_t)strtol(text, NULL, 10), SIGKILL);
    UNTIL(f, f->facts[FACT_NODE_DOWN] == 1);
    assert_int_equal(f->facts[FACT_AGENT_GONE], 0);
    fix_start_host(f);
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
}

static void a_fenced_machine_keeps_nothing(void **state)
{
    struct fix *f = *state;
    fix_start_host(f);
    fix_start_well(f, "sleep 300");
    UNTIL(f, f->facts[FACT_STARTED] == 1);
    fix_end_host(f, SIGKILL);
    UNTIL(f, f->facts[FACT_NODE_DOWN] == 1);
    machines_fence(f->engine, "n1");
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
    assert_non_null(strstr(f->reason, "fenced"));
    fix_start_host(f); /* it lived all the same */
    AUTO_FREE char *dir = file_join(f->host_dir, "runs/7.1.n1");
    UNTIL(f, !file_is_dir(dir));
    assert_int_equal(f->facts[FACT_AGENT_GONE], 1);
}

static void a_removed_machine_has_no_runs(void **state)
{
    struct fix *f = *state;
    struct err err;
    struct launch_task task;
    const struct launch launch = fix_launch(f, &task, "true");
    fix_start_host(f);
    fix_start_well(f, "sleep 300");
    UNTIL(f, f->facts[FACT_STARTED] == 1);
    assert_true(f->fits && machines_reach(f->engine, "n1"));
    machines_remove(f->engine, "n1");
    assert_int_equal(f->facts[FACT_NODE_GONE], 1);
    assert_false(machines_have(f->engine, "n1"));
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
    assert_int_equal(fix_start(f, &launch, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    fix_add_machine(f);
    AUTO_FREE char *dir = file_join(f->host_dir, "runs/7.1.n1");
    fix_end_host(f, SIGTERM);
    fix_start_host(f); /* what it still has goes */
    UNTIL(f, !file_is_dir(dir));
}

/* Only muster-node is copied to a machine; its host makes the names it is called by. */
static void launchers_are_the_hosts_own(void **state)
{
    struct fix *f = *state;
    struct err err;
    struct arena *arena = arena_create();
    struct launch_task task;
    struct launch launch = fix_launch(f, &task, "readlink -f $(command -v torchrun dlrover-run)");
    pairs_set(&task.env, arena, "MUSTER_LAUNCHERS", "torchrun dlrover");
    fix_start_host(f);
    assert_int_equal(fix_start(f, &launch, &err), 0);
    UNTIL(f, f->facts[FACT_ENDED] == 1);
    fix_end_well(f);
    AUTO_FREE char *text = fix_log(f);
    assert_string_equal(text, MUSTER_NODE "\n" MUSTER_NODE "\n");
    arena_destroy(arena);
}

/* Data is the machine's, and so is what is wrong with it. */
static void a_mount_that_is_not_there_is_named(void **state)
{
    struct fix *f = *state;
    struct err err;
    struct launch_task task;
    struct launch launch = fix_launch(f, &task, "true");
    struct bind_mount mount = { .from = "/no/such/data", .at = "/mnt/x" };
    launch.mounts = &mount;
    launch.n_mounts = 1;
    fix_start_host(f);
    assert_int_equal(fix_start(f, &launch, &err), 0);
    UNTIL(f, f->facts[FACT_REFUSED] == 1);
    assert_non_null(strstr(f->refused, "/no/such/data of n1"));
}

/* ---- through the machine's connection ---- */

static void take_heard(void *arg, int heard)
{
    int *to = arg;
    *to = heard;
}

static void a_signal_reaches_a_task(void **state)
{
    struct fix *f = *state;
    struct err err;
    int heard = INT32_MAX;
    fix_start_host(f);
    fix_start_well(f, "trap 'exit 9' USR1; echo ready; while :; do sleep 0.02; done");
    UNTIL(f, fix_log_has(f, "ready"));
    const struct engine_signal ask = { .generation = FIX_GENERATION,
                                       .node = "n1",
                                       .attempt = 1,
                                       .signal = SIGUSR1,
                                       .done = take_heard,
                                       .arg = &heard };
    assert_int_equal(f->engine->ops->signal(f->engine, &ask, &err), 0);
    UNTIL(f, f->facts[FACT_ENDED] == 1);
    UNTIL(f, heard != INT32_MAX);
    assert_true(heard >= 1);
    assert_int_equal(f->ending.code, 9);
}

/* All that came as output until the end of the command; its code in *code. */
static char *read_channel(struct fix *f, int fd, int *code)
{
    AUTO_BUF struct buf in = BUF_INIT(1u << 20), out = BUF_INIT(1u << 20);
    for (*code = -1; *code < 0;) {
        char piece[4096];
        struct wire_frame frame;
        struct wire_data data;
        struct wire_exit over;
        size_t used;
        uv_run(&f->loop, UV_RUN_NOWAIT);
        ssize_t n = recv(fd, piece, sizeof piece, MSG_DONTWAIT);
        buf_add(&in, piece, n > 0 ? (size_t)n : 0);
        while (in.len > 0 && wire_next(in.data, in.len, &frame, &used) == 1) {
            if (frame.kind == WIRE_EXIT && wire_get(&frame, NULL, &over) == 0)
                *code = (int)over.code;
            else if (frame.kind == WIRE_STDOUT && wire_get_as(&frame, NULL, WIRE_STDIN, &data) == 0)
                buf_add(&out, data.at, data.len);
            buf_drop(&in, used);
        }
    }
    return mem_strdup(buf_str(&out));
}

static void a_command_runs_beside_a_task(void **state)
{
    struct fix *f = *state;
    struct err err = { .what = "" };
    int pair[2], code;
    const char *words[] = { "sh", "-c", "pwd; exit 5" };
    fix_start_host(f);
    fix_start_well(f, "echo ready; sleep 300");
    UNTIL(f, fix_log_has(f, "ready"));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const struct engine_exec exec = { .generation = FIX_GENERATION,
                                      .node = "n1",
                                      .attempt = 1,
                                      .argv = { .at = words, .n = 3 },
                                      .fd = pair[1] };
    int rc = f->engine->ops->exec(f->engine, &exec, &err);
    assert_string_equal(err.what, "");
    assert_int_equal(rc, 0);
    AUTO_FREE char *text = read_channel(f, pair[0], &code);
    assert_int_equal(code, 5);
    assert_non_null(strstr(text, f->host_dir));
    close(pair[0]);
    fix_stop(f, STOP_NOW);
    UNTIL(f, f->facts[FACT_RELEASED] == 1);
}

/* ---- logs ---- */

static void logs_come_to_the_server(void **state)
{
    struct fix *f = *state;
    fix_start_host(f);
    fix_start_well(f, "echo first; echo second >&2; echo third");
    UNTIL(f, f->facts[FACT_ENDED] == 1);
    fix_end_well(f);
    AUTO_FREE char *text = fix_log(f);
    assert_non_null(strstr(text, "first\n"));
    assert_non_null(strstr(text, "second\n"));
    assert_non_null(strstr(text, "third\n"));
    assert_true(f->facts[FACT_LOG] > 0);
}

/* The task writes on while there is no server; the next one has all of it. */
static void copies_go_on_after_a_restart(void **state)
{
    struct fix *f = *state;
    AUTO_FREE char *go = file_join(f->dir, "go"), *away = file_join(f->dir, "away");
    AUTO_FREE char *run = mem_printf("seq 2000; touch %s.there; until [ -e %s ]; do sleep 0.02; "
                                     "done; seq 2001 4000; touch %s.there; "
                                     "until [ -e %s ]; do sleep 0.02; done; seq 4001 6000",
                                     away, away, go, go);
    AUTO_FREE char *there = mem_printf("%s.there", go);
    struct err err;
    fix_start_host(f);
    fix_start_well(f, run);
    UNTIL(f, fix_log_has(f, "\n2000\n"));
    fix_close_server(f);
    assert_int_equal(file_replace(away, "", 0, 0600, &err), 0);
    while (access(there, F_OK) != 0) /* it does not wait for the server */
        uv_sleep(1);
    fix_open_server(f);
    fix_recover(f);
    UNTIL(f, fix_log_has(f, "\n4000\n"));
    assert_int_equal(file_replace(go, "", 0, 0600, &err), 0);
    UNTIL(f, f->facts[FACT_ENDED] == 1);
    fix_end_well(f);
    AUTO_FREE char *text = fix_log(f);
    char *at = text;
    for (int i = 1; i <= 6000; i++) {
        assert_int_equal(strtol(at, &at, 10), i);
        assert_int_equal(*at++, '\n');
    }
    assert_string_equal(at, "");
}

/* The server could not write them, and then the machine was switched off. */
static void what_did_not_come_is_a_hole(void **state)
{
    struct fix *f = *state;
    struct err err;
    AUTO_FREE char *hole = NULL;
    assert_int_equal(file_replace(f->copies, "", 0, 0600, &err), 0);
    fix_start_host(f);
    fix_start_well(f, "seq 1000");
    UNTIL(f, f->facts[FACT_ENDED] == 1);
    assert_true(f->log_end > 1000);
    hole = mem_printf("[%llu]", (unsigned long long)f->log_end);
    assert_int_equal(unlink(f->copies), 0);
    machines_fence(f->engine, "n1");
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
    AUTO_FREE char *text = fix_log(f);
    assert_string_equal(text, hole);
}

/* No registry answers here; what comes is tried in tests/test_images_machines.py. */
static void ask_for_image(const struct fix *f, const char *node, uint64_t job)
{
    machines_fetch_image(f->engine,
                         &(struct machines_image){ .job = job,
                                                   .node = node,
                                                   .name = "127.0.0.1:1/team/tool:1@sha256:" DIGEST,
                                                   .limit = 1u << 30,
                                                   .auth = "{}" });
}

/* What the loop does by itself, and nothing after it, has no event to wait for. */
static void turn_until_images(struct fix *f, unsigned n)
{
    while (f->facts[FACT_IMAGE] < n)
        uv_run(&f->loop, UV_RUN_NOWAIT);
}

static void images_for_jobs_that_wait(void **state)
{
    struct fix *f = *state;
    ask_for_image(f, "n1", 5); /* it has not come */
    assert_int_equal(f->facts[FACT_IMAGE], 0);
    turn_until_images(f, 1);
    assert_string_equal(f->image, "n1 5: its machine cannot be reached");
    fix_start_host(f);
    UNTIL(f, machines_reach(f->engine, "n1"));
    ask_for_image(f, "n1", 6);
    ask_for_image(f, "n1", 7);
    machines_drop_images(f->engine, 6);
    UNTIL(f, f->facts[FACT_IMAGE] == 2);
    assert_int_equal(strncmp(f->image, "n1 7: ", 6), 0);
    assert_null(strstr(f->image, "cannot be reached"));
    ask_for_image(f, "n1", 8);
    machines_remove(f->engine, "n1");
    turn_until_images(f, 3);
    assert_string_equal(f->image, "n1 8: its machine cannot be reached");
    machines_drop_images(f->engine, 8);
}

/* As an agent leaves it. */
static void put_image(const struct fix *f)
{
    struct err err;
    AUTO_FREE char *tree = mem_printf("%s/images/trees/" DIGEST, f->host_dir);
    AUTO_FREE char *bytes = file_join(tree, "bytes");
    assert_int_equal(file_mkdirs(tree, 0700, &err), 0);
    assert_int_equal(file_replace(bytes, "4711", 4, 0600, &err), 0);
}

static void hosts_say_what_images_take(void **state)
{
    struct fix *f = *state;
    struct machine_store store;
    fix_start_host(f);
    fix_start_well(f, "true");
    UNTIL(f, f->facts[FACT_ENDED] == 1);
    assert_false(machines_store(f->engine, "n1", &store)); /* there are none, or it does not say */
    put_image(f);
    fix_end_well(f);
    UNTIL(f, machines_store(f->engine, "n1", &store));
    assert_true(store.images == 1 && store.bytes == 4711 && store.free > 0);
    assert_string_equal(store.dir + strlen(f->host_dir), "/images");
    fix_end_host(f, SIGKILL);
    UNTIL(f, f->facts[FACT_NODE_DOWN] == 1);
    assert_false(machines_store(f->engine, "n1", &store));
    fix_start_host(f);
    UNTIL(f, machines_store(f->engine, "n1", &store)); /* it is said anew */
    assert_true(store.images == 1 && store.bytes == 4711);
    assert_false(machines_store(f->engine, "n2", &store));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_runs_and_its_run_ends),
        TEST(a_run_waits_for_its_machine),
        TEST(a_host_of_an_account_has_its_job_alone),
        TEST(what_never_began_can_be_stopped),
        TEST(a_silent_machine_is_not_gone),
        TEST(a_machine_that_comes_back_empty_says_so),
        TEST(a_fenced_machine_keeps_nothing),
        TEST(a_removed_machine_has_no_runs),
        TEST(launchers_are_the_hosts_own),
        TEST(a_mount_that_is_not_there_is_named),
        TEST(a_signal_reaches_a_task),
        TEST(a_command_runs_beside_a_task),
        TEST(logs_come_to_the_server),
        TEST(copies_go_on_after_a_restart),
        TEST(what_did_not_come_is_a_hole),
        TEST(images_for_jobs_that_wait),
        TEST(hosts_say_what_images_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
