/* The engine of machines with a real host, real keepers, agents and tasks: a launch from its start
 * to the end of its run, what stops do, what becomes of a run when its machine is silent, comes
 * back, is fenced or removed, and what the server has of its logs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/machines/machines.h"

#include "base/file.h"
#include "base/mem.h"
#include "link/test/door.h"
#include "wire/log_reader.h"

#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <uv.h>

struct fix {
    uv_loop_t loop;
    char dir[64], *host_dir, *socket, *copies, hex[65];
    unsigned char hash[32];
    struct link_hub *hub;
    struct engine *engine;
    struct door door;
    pid_t host;
    unsigned facts[FACT_N];
    uint64_t last_seq, log_end; /* of facts that end a task */
    struct ending ending;
    char reason[256];
};

static const struct generation first = { .job = 7, .number = 1 };

static void on_fact(void *arg, const struct engine_fact *fact)
{
    struct fix *f = arg;
    f->facts[fact->kind]++;
    if (fact->seq)
        f->last_seq = fact->seq;
    if (fact->kind == FACT_ENDED) {
        f->ending = (struct ending){ .exited = fact->ending.exited, .code = fact->ending.code };
        f->log_end = fact->log_end;
    }
    if (fact->kind == FACT_AGENT_GONE)
        snprintf(f->reason, sizeof f->reason, "%s", fact->reason);
}

static void open_server(struct fix *f)
{
    const struct engine_sink sink = { .fact = on_fact, .arg = f };
    f->door.hub = f->hub = link_create(&f->loop, sink);
    f->engine = machines_create(&(struct machines_config){ .loop = &f->loop, .link = f->hub });
    f->engine->sink = sink;
    machines_add(f->engine, "n1", f->hash);
    door_open(&f->door, &f->loop, f->socket);
}

static void close_server(struct fix *f)
{
    door_close(&f->door);
    f->engine->ops->destroy(f->engine);
    link_destroy(f->hub);
    while (uv_run(&f->loop, UV_RUN_NOWAIT))
        continue;
}

#define UNTIL(f, condition)                                                                        \
    do {                                                                                           \
        while (!(condition))                                                                       \
            uv_run(&(f)->loop, UV_RUN_ONCE);                                                       \
    } while (0)

static void start_host(struct fix *f)
{
    char *argv[] = { (char[]){ MUSTER_NODE }, (char[]){ "host" }, f->host_dir, NULL };
    unsigned up = f->facts[FACT_NODE_UP];
    assert_int_equal(posix_spawn(&f->host, MUSTER_NODE, NULL, NULL, argv, environ), 0);
    UNTIL(f, f->facts[FACT_NODE_UP] > up);
}

static void end_host(struct fix *f, int number)
{
    int status;
    if (f->host == 0)
        return;
    kill(f->host, number);
    assert_int_equal(waitpid(f->host, &status, 0), f->host);
    f->host = 0;
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    unsigned char token[32];
    struct err err;
    assert_true(sodium_init() >= 0);
    (void)signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&f->loop);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-machines-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->host_dir = file_join(f->dir, "host");
    f->socket = file_join(f->dir, "sock");
    f->copies = file_join(f->dir, "copies");
    assert_int_equal(file_mkdirs(f->host_dir, 0700, &err), 0);
    randombytes_buf(token, sizeof token);
    sodium_bin2hex(f->hex, sizeof f->hex, token, sizeof token);
    crypto_hash_sha256(f->hash, token, sizeof token);
    AUTO_FREE char *path = file_join(f->host_dir, "host.conf");
    AUTO_FREE char *text = mem_printf("socket=%s\ntoken=%s\nnode=n1\n", f->socket, f->hex);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
    open_server(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    end_host(f, SIGTERM);
    close_server(f);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    file_remove_tree(f->dir, NULL);
    free(f->host_dir);
    free(f->socket);
    free(f->copies);
    free(f);
    return 0;
}

static int start(struct fix *f, const char *run, struct err *err)
{
    struct launch_task task = { .role = "w", .attempt = 1, .run = run };
    const struct launch launch = { .generation = first,
                                   .seq = 1,
                                   .node = "n1",
                                   .token = { 1, 2, 3 },
                                   .job_name = "j",
                                   .dir = f->copies, /* of logs; an agent has its own */
                                   .grace_ms = 60000,
                                   .log_head = 1u << 16,
                                   .log_tail = 1u << 16,
                                   .tasks = &task,
                                   .n_tasks = 1 };
    return f->engine->ops->start(f->engine, &launch, err);
}

static void start_well(struct fix *f, const char *run)
{
    struct err err;
    assert_int_equal(start(f, run, &err), 0);
}

static void stop(struct fix *f, enum stop_how how)
{
    struct err err;
    assert_int_equal(f->engine->ops->stop(f->engine, first, NULL, how, BY_USER, &err), 0);
}

static void ack(struct fix *f)
{
    f->engine->ops->ack(f->engine, first, "n1", f->last_seq);
}

static void recover(struct fix *f)
{
    struct err err;
    unsigned char hash[32], token[32] = { 1, 2, 3 };
    crypto_hash_sha256(hash, token, sizeof token);
    struct engine_known known = {
        .dir = f->copies, .generation = first, .node = "n1", .last_seq = f->last_seq
    };
    memcpy(known.token_hash, hash, sizeof hash);
    assert_int_equal(f->engine->ops->recover(f->engine, &known, 1, &err), 0);
}

/* ---- what holds ---- */

static void a_job_runs_and_its_run_ends(void **state)
{
    struct fix *f = *state;
    start_host(f);
    start_well(f, "exit 3");
    UNTIL(f, f->facts[FACT_ENDED] == 1);
    assert_int_equal(f->facts[FACT_STARTED], 1);
    assert_true(f->ending.exited);
    assert_int_equal(f->ending.code, 3);
    stop(f, STOP_GRACE);
    UNTIL(f, f->facts[FACT_RELEASED] == 1);
    assert_int_equal(f->facts[FACT_AGENT_GONE], 0);
    ack(f);
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
    start_well(f, "exit 0"); /* of the same generation, anew */
    UNTIL(f, f->facts[FACT_ENDED] == 2);
    assert_int_equal(f->ending.code, 0);
}

static void a_run_waits_for_its_machine(void **state)
{
    struct fix *f = *state;
    start_well(f, "true");
    start_host(f);
    UNTIL(f, f->facts[FACT_ENDED] == 1);
}

static void what_never_began_can_be_stopped(void **state)
{
    struct fix *f = *state;
    start_well(f, "true");
    stop(f, STOP_GRACE);
    assert_int_equal(f->facts[FACT_AGENT_GONE], 0); /* from the loop */
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
    assert_non_null(strstr(f->reason, "not started"));
}

/* The host is killed, the server too: the task goes on and nobody gives it up. */
static void a_silent_machine_is_not_gone(void **state)
{
    struct fix *f = *state;
    start_host(f);
    start_well(f, "sleep 300");
    UNTIL(f, f->facts[FACT_STARTED] == 1);
    end_host(f, SIGKILL);
    UNTIL(f, f->facts[FACT_NODE_DOWN] == 1);
    assert_int_equal(f->facts[FACT_AGENT_GONE], 0);
    close_server(f);
    open_server(f);
    recover(f);
    unsigned joined = f->facts[FACT_AGENT_JOINED];
    UNTIL(f, f->facts[FACT_AGENT_JOINED] > joined);
    start_host(f);
    assert_int_equal(f->facts[FACT_AGENT_GONE], 0);
    stop(f, STOP_NOW);
    UNTIL(f, f->facts[FACT_RELEASED] == 1);
    ack(f);
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
}

/* As by a power failure: all of it dies at once, and the machine comes back. */
static void a_machine_that_comes_back_empty_says_so(void **state)
{
    struct fix *f = *state;
    start_host(f);
    start_well(f, "sleep 300");
    UNTIL(f, f->facts[FACT_STARTED] == 1);
    end_host(f, SIGKILL);
    AUTO_FREE char *path = file_join(f->host_dir, "runs/7.1.n1/keeper.pid");
    AUTO_FREE char *text = NULL;
    size_t len;
    assert_int_equal(file_read(path, 100, &text, &len, NULL), 0);
    kill((pid_t)strtol(text, NULL, 10), SIGKILL);
    UNTIL(f, f->facts[FACT_NODE_DOWN] == 1);
    assert_int_equal(f->facts[FACT_AGENT_GONE], 0);
    start_host(f);
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
}

static void a_fenced_machine_keeps_nothing(void **state)
{
    struct fix *f = *state;
    start_host(f);
    start_well(f, "sleep 300");
    UNTIL(f, f->facts[FACT_STARTED] == 1);
    end_host(f, SIGKILL);
    UNTIL(f, f->facts[FACT_NODE_DOWN] == 1);
    machines_fence(f->engine, "n1");
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
    assert_non_null(strstr(f->reason, "fenced"));
    start_host(f); /* it lived all the same */
    AUTO_FREE char *dir = file_join(f->host_dir, "runs/7.1.n1");
    UNTIL(f, !file_is_dir(dir));
    assert_int_equal(f->facts[FACT_AGENT_GONE], 1);
}

static void a_removed_machine_has_no_runs(void **state)
{
    struct fix *f = *state;
    struct err err;
    start_host(f);
    start_well(f, "sleep 300");
    UNTIL(f, f->facts[FACT_STARTED] == 1);
    machines_remove(f->engine, "n1");
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
    assert_int_equal(start(f, "true", &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    machines_add(f->engine, "n1", f->hash);
    AUTO_FREE char *dir = file_join(f->host_dir, "runs/7.1.n1");
    end_host(f, SIGTERM);
    start_host(f); /* what it still has goes */
    UNTIL(f, !file_is_dir(dir));
}

/* ---- logs ---- */

/* What readers at the server see; a number in brackets for a hole. */
static char *copied(const struct fix *f)
{
    char name[LOG_DIR_MAX];
    AUTO_FREE char *dir = file_join(f->copies, log_dir_name(name, "w", 0, 1));
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    struct log_reader *reader = log_reader_create(dir, 0);
    struct log_item item;
    while (log_reader_next(reader, &item) == 1)
        if (item.gap)
            buf_addf(&out, "[%llu]", (unsigned long long)item.gap);
        else
            buf_add(&out, item.data, item.record.len);
    log_reader_destroy(reader);
    return mem_strdup(buf_str(&out));
}

static bool has_copied(const struct fix *f, const char *what)
{
    AUTO_FREE char *text = copied(f);
    return strstr(text, what);
}

static void end_well(struct fix *f)
{
    stop(f, STOP_GRACE);
    UNTIL(f, f->facts[FACT_RELEASED] == 1);
    ack(f);
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
}

static void logs_come_to_the_server(void **state)
{
    struct fix *f = *state;
    start_host(f);
    start_well(f, "echo first; echo second >&2; echo third");
    UNTIL(f, f->facts[FACT_ENDED] == 1);
    end_well(f);
    AUTO_FREE char *text = copied(f);
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
    start_host(f);
    start_well(f, run);
    UNTIL(f, has_copied(f, "\n2000\n"));
    close_server(f);
    assert_int_equal(file_replace(away, "", 0, 0600, &err), 0);
    while (access(there, F_OK) != 0) /* it does not wait for the server */
        uv_sleep(1);
    open_server(f);
    recover(f);
    UNTIL(f, has_copied(f, "\n4000\n"));
    assert_int_equal(file_replace(go, "", 0, 0600, &err), 0);
    UNTIL(f, f->facts[FACT_ENDED] == 1);
    end_well(f);
    AUTO_FREE char *text = copied(f);
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
    start_host(f);
    start_well(f, "seq 1000");
    UNTIL(f, f->facts[FACT_ENDED] == 1);
    assert_true(f->log_end > 1000);
    hole = mem_printf("[%llu]", (unsigned long long)f->log_end);
    assert_int_equal(unlink(f->copies), 0);
    machines_fence(f->engine, "n1");
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
    AUTO_FREE char *text = copied(f);
    assert_string_equal(text, hole);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_runs_and_its_run_ends),
        TEST(a_run_waits_for_its_machine),
        TEST(what_never_began_can_be_stopped),
        TEST(a_silent_machine_is_not_gone),
        TEST(a_machine_that_comes_back_empty_says_so),
        TEST(a_fenced_machine_keeps_nothing),
        TEST(a_removed_machine_has_no_runs),
        TEST(logs_come_to_the_server),
        TEST(copies_go_on_after_a_restart),
        TEST(what_did_not_come_is_a_hole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
