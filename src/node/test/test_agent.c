/* A real keeper and agent with real processes; the test plays the server. Whatever dies, nothing of
 * a job is left running; refusals say why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "node/test/player.h"
#include "wire/record.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#define OUT    (1u << RECORD_STDOUT)
#define ERR    (1u << RECORD_STDERR)
#define MUSTER (1u << RECORD_MUSTER)

static void release(struct player *player)
{
    player_plain(player, WIRE_RELEASE, 0);
    assert_int_equal(player_keeper_status(player), 0);
    player_finish(player);
}

static void facts_and_output(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    assert_int_equal(player->hello.launch_seq, 0);
    assert_true(player->hello.first_seq == 1);
    struct launch_task *task =
        player_task(player, "worker", 0, "echo to out; echo to err >&2; echo $GREETING; exit 3");
    pairs_set(&task->env, player->arena, "GREETING", "hello");
    player_launch(player);
    uint64_t seq;
    struct wire_fact fact = player_fact(player, WIRE_FACT_STARTED, &seq);
    assert_true(seq == 1 && fact.pid > 0 && fact.attempt == 1);
    fact = player_fact(player, WIRE_FACT_ENDED, &seq);
    assert_true(seq == 2);
    assert_true(fact.ending.exited && fact.ending.code == 3 && !fact.ending.oom);
    assert_int_equal(fact.ending.by, BY_ITSELF);
    assert_string_equal(fact.remark, "");
    assert_non_null(strstr(fact.ending.tail, "to err\n"));
    assert_true(fact.ending.memory_peak > 0);
    assert_true(fact.log_end > 0);
    assert_string_equal(player_log(player, "worker", 0, 1, OUT), "to out\nhello\n");
    assert_string_equal(player_log(player, "worker", 0, 1, ERR), "to err\n");
    player_plain(player, WIRE_ACK, 2);
    release(player);
}

static void stop_reaches_what_escaped(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    player_task(player, "worker", 0,
                arena_printf(player->arena,
                             "setsid sh -c 'trap \"\" TERM; echo $$ > %s/escaped; "
                             "while :; do sleep 1; done' & "
                             "sleep 1000",
                             player->dir));
    player_task(player, "worker", 1, "sleep 1000");
    player->launch.grace_ms = 300;
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    pid_t escaped = player_read_pid(player, "escaped");
    player_stop(player, &(struct wire_stop){ .task = { .index = 0 }, .why = BY_USER });
    struct wire_fact fact = player_fact(player, WIRE_FACT_ENDED, NULL);
    assert_int_equal(fact.task.index, 0);
    assert_int_equal(fact.ending.by, BY_USER);
    assert_true(!fact.ending.exited && fact.ending.signal == SIGTERM);
    assert_true(kill(escaped, 0) != 0 || player_gone(escaped));
    player_stop(player, &(struct wire_stop){ .all = true, .now = true, .why = BY_POLICY });
    fact = player_fact(player, WIRE_FACT_ENDED, NULL);
    assert_int_equal(fact.task.index, 1);
    assert_int_equal(fact.ending.signal, SIGKILL);
    assert_int_equal(fact.ending.by, BY_POLICY);
    release(player);
}

static void grace_then_kill(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    player_task(player, "worker", 0,
                arena_printf(player->arena,
                             "trap '' TERM; echo $$ > %s/ready; "
                             "while :; do sleep 0.05; done",
                             player->dir));
    player->launch.grace_ms = 200;
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    (void)player_read_pid(player, "ready");
    uint64_t before = clock_mono_ms();
    player_stop(player, &(struct wire_stop){ .all = true, .why = BY_USER });
    struct wire_fact fact = player_fact(player, WIRE_FACT_ENDED, NULL);
    assert_int_equal(fact.ending.signal, SIGKILL);
    assert_int_equal(fact.ending.by, BY_USER);
    assert_true(clock_mono_ms() - before >= 190);
    release(player);
}

/* In an allocation of Slurm: should all of the step be killed, nobody is left to say that the task
 * was. Who died first is told at once. */
static void a_kill_in_an_allocation_is_told_when_the_agent_outlives_it(void **state)
{
    (void)state;
    struct player *player = player_start_with("outlive_term=on\n");
    player_accept(player, 0);
    player_task(player, "worker", 0, "exec sleep 1000");
    player_launch(player);
    struct wire_fact fact = player_fact(player, WIRE_FACT_STARTED, NULL);
    uint64_t before = clock_mono_ms();
    assert_int_equal(kill((pid_t)fact.pid, SIGKILL), 0);
    fact = player_fact(player, WIRE_FACT_DIED, NULL);
    assert_int_equal(fact.ending.signal, SIGKILL);
    fact = player_fact(player, WIRE_FACT_ENDED, NULL);
    assert_true(clock_mono_ms() - before >= 900);
    assert_int_equal(fact.ending.signal, SIGKILL);
    assert_int_equal(fact.ending.by, BY_STRANGER);
    release(player);
}

static void a_dead_agent_takes_its_tasks_along(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    player_task(player, "worker", 0,
                arena_printf(player->arena,
                             "echo before; (setsid env -i sh -c 'echo $$ > %s/daemon; "
                             "exec sleep 1000' &) ; exec sleep 1000",
                             player->dir));
    player_launch(player);
    struct wire_fact fact = player_fact(player, WIRE_FACT_STARTED, NULL);
    pid_t daemon = player_read_pid(player, "daemon");
    assert_int_equal(kill((pid_t)player->hello.agent_pid, SIGKILL), 0);
    assert_int_equal(player_keeper_status(player), 1);
    assert_true(player_gone((pid_t)fact.pid));
    assert_true(player_gone(daemon));
    assert_string_equal(player_log(player, "worker", 0, 1, OUT), "before\n");
    player_finish(player);
}

static void a_dead_keeper_takes_everything_along(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    player_task(player, "worker", 0, "exec sleep 1000");
    player_launch(player);
    struct wire_fact fact = player_fact(player, WIRE_FACT_STARTED, NULL);
    assert_int_equal(kill(player->keeper, SIGKILL), 0);
    assert_int_equal(player_keeper_status(player), -SIGKILL);
    assert_true(player_gone((pid_t)player->hello.agent_pid));
    assert_true(player_gone((pid_t)fact.pid));
    player_finish(player);
}

static void facts_come_again_until_acknowledged(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    player_task(player, "worker", 0, "exit 1");
    player_task(player, "worker", 1, "sleep 0.2; exit 2");
    player_launch(player);
    (void)player_fact_of(player, WIRE_FACT_ENDED, 0);
    player_hang_up(player);
    player_accept(player, 1); /* of at least three facts one was committed */
    assert_true(player->hello.first_seq == 1);
    assert_int_equal(player->hello.launch_seq, 1);
    struct wire_frame frame = player_frame(player, WIRE_FACT);
    assert_true(frame.seq == 2);
    player->launch.seq = 0; /* the same launch again: ignored */
    player_task(player, "worker", 0, "exit 9");
    player_launch(player);
    struct wire_fact fact = player_fact_of(player, WIRE_FACT_ENDED, 1);
    assert_int_equal(fact.ending.code, 2);
    player_hang_up(player);
    player_accept(player, 4);
    assert_true(player->hello.first_seq == 2);
    player_hang_up(player);
    player_accept(player, 4);
    assert_true(player->hello.first_seq == 5);
    release(player);
}

static void tasks_outlive_the_connection(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    player_task(player, "worker", 0,
                arena_printf(player->arena, "until [ -e %s/go ]; do sleep 0.01; done; echo went",
                             player->dir));
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    player_hang_up(player);
    AUTO_FREE char *go = mem_printf("%s/go", player->dir);
    close(open(go, O_CREAT | O_WRONLY, 0600));
    player_accept(player, 1);
    struct wire_fact fact = player_fact(player, WIRE_FACT_ENDED, NULL);
    assert_true(fact.ending.exited && fact.ending.code == 0);
    assert_string_equal(player_log(player, "worker", 0, 1, OUT), "went\n");
    release(player);
}

static void a_refused_token_ends_it_all(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    player_task(player, "worker", 0, "exec sleep 1000");
    player_launch(player);
    struct wire_fact fact = player_fact(player, WIRE_FACT_STARTED, NULL);
    player_answer(player, "HTTP/1.1 503 Service Unavailable\r\n\r\n"); /* not yet: goes on */
    player_answer(player, "HTTP/1.1 401 Unauthorized\r\n\r\n");
    assert_int_equal(player_keeper_status(player), 0);
    assert_true(player_gone((pid_t)fact.pid));
    player_finish(player);
}

static void a_removed_directory_ends_it_all(void **state)
{
    (void)state;
    struct player *player = player_start();
    struct err err;
    player_accept(player, 0);
    player_task(player, "worker", 0, "exec sleep 1000");
    player_launch(player);
    struct wire_fact fact = player_fact(player, WIRE_FACT_STARTED, NULL);
    assert_int_equal(file_remove_tree(player->agent, &err), 0);
    player_hang_up(player);
    assert_int_equal(player_keeper_status(player), 0);
    assert_true(player_gone((pid_t)fact.pid));
    player_finish(player);
}

static uint32_t take_a_port(int *fd)
{
    struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t len = sizeof any;
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(*fd, (struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(listen(*fd, 1), 0);
    assert_int_equal(getsockname(*fd, (struct sockaddr *)&any, &len), 0);
    return ntohs(any.sin_port);
}

static void refusals_say_why(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    int fd;
    uint32_t port = take_a_port(&fd);
    struct launch_task *task = player_task(player, "worker", 0, "true");
    task->ports = &port;
    task->n_ports = 1;
    const char *argv[] = { "no-such-program", "x" };
    task = player_task(player, "worker", 1, NULL);
    task->argv = (struct words){ .at = argv, .n = 2 };
    player_task(player, "worker", 2, NULL);
    player_task(player, "worker", 3, "no-such-command");
    player_launch(player);
    struct wire_fact fact = player_fact_of(player, WIRE_FACT_ENDED, 3);
    assert_int_equal(fact.ending.code, 127);
    assert_non_null(strstr(fact.ending.tail, "no-such-command: command not found"));
    player_hang_up(player);
    player_accept(player, 0);
    for (int seen = 0; seen < 3;) {
        struct wire_frame frame = player_frame(player, WIRE_FACT);
        assert_int_equal(wire_get(&frame, player->arena, &fact), 0);
        if (fact.kind != WIRE_FACT_REFUSED)
            continue;
        seen++;
        const char *want[] = { "is taken by another program", "cannot start \"no-such-program\"",
                               "there is no command" };
        const enum end_origin by[] = { BY_CONFLICT, BY_ITSELF, BY_ITSELF };
        assert_non_null(strstr(fact.remark, want[fact.task.index]));
        assert_int_equal(fact.ending.by, by[fact.task.index]);
    }
    close(fd);
    player->launch.work_dir = "/no/such/directory";
    player_task(player, "worker", 0, "true");
    player_launch(player);
    fact = player_fact_of(player, WIRE_FACT_REFUSED, 0);
    assert_non_null(strstr(fact.remark, "/no/such/directory: No such file"));
    release(player);
}

static void a_missing_mount_refuses(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    struct bind_mount mount = { .from = "/no/such/source", .at = "/data" };
    player->launch.mounts = &mount;
    player->launch.n_mounts = 1;
    player_task(player, "worker", 0, "true");
    player_launch(player);
    struct wire_fact fact = player_fact(player, WIRE_FACT_REFUSED, NULL);
    assert_int_equal(fact.ending.by, BY_ITSELF);
    assert_non_null(strstr(fact.remark, "/no/such/source"));
    release(player);
}

/* Names, mounts and code, where this machine allows namespaces; where it does not, that is what
 * must be said. */
static void the_view(void **state)
{
    (void)state;
    struct player *player = player_start();
    struct err err;
    AUTO_FREE char *data = mem_printf("%s/data", player->dir);
    AUTO_FREE char *code = mem_printf("%s/code", player->dir);
    AUTO_FREE char *at = mem_printf("%s/at/deep", player->dir);
    AUTO_FREE char *file = mem_printf("%s/main.txt", code);
    assert_int_equal(file_mkdirs(data, 0755, &err), 0);
    assert_int_equal(file_mkdirs(code, 0755, &err), 0);
    assert_int_equal(file_replace(file, "the code\n", 9, 0644, &err), 0);
    player_accept(player, 0);
    struct host_name hosts[] = { { .address = "127.0.0.7", .name = "worker-7.test" } };
    struct bind_mount mount = { .from = data, .at = at, .read_only = true };
    player->launch.hosts = hosts;
    player->launch.n_hosts = 1;
    player->launch.mounts = &mount;
    player->launch.n_mounts = 1;
    player->launch.code_dir = code;
    player_task(player, "worker", 0,
                arena_printf(player->arena,
                             "grep ^127.0.0.7 /etc/hosts; cat code/main.txt; "
                             "getent hosts ::ffff:127.0.0.7 | tr -s ' '; "
                             "(: > code/new) 2>/dev/null || echo code kept; "
                             "(: > %s/new) 2>/dev/null || echo mount kept",
                             at));
    player_launch(player);
    struct wire_frame frame = player_frame(player, WIRE_FACT);
    struct wire_fact fact;
    assert_int_equal(wire_get(&frame, player->arena, &fact), 0);
    if (fact.kind == WIRE_FACT_REFUSED) {
        assert_non_null(strstr(fact.remark, "namespace"));
    } else {
        fact = player_fact(player, WIRE_FACT_ENDED, NULL);
        assert_string_equal(player_log(player, "worker", 0, 1, OUT),
                            "127.0.0.7 worker-7.test\nthe code\n"
                            "::ffff:127.0.0.7 worker-7.test.mapped\ncode kept\nmount kept\n");
    }
    player_plain(player, WIRE_RELEASE, 0);
    assert_int_equal(player_keeper_status(player), 0);
    assert_false(file_is_dir(at)); /* the mount point is gone again */
    player_finish(player);
}

static void too_much_code_refuses(void **state)
{
    (void)state;
    struct player *player = player_start();
    struct err err;
    AUTO_FREE char *code = mem_printf("%s/code", player->dir);
    AUTO_FREE char *file = mem_printf("%s/big", code);
    assert_int_equal(file_mkdirs(code, 0755, &err), 0);
    char bytes[2000] = { 0 };
    assert_int_equal(file_replace(file, bytes, sizeof bytes, 0644, &err), 0);
    player_accept(player, 0);
    player->launch.code_dir = code;
    player->launch.code_limit = 1000;
    player_task(player, "worker", 0, "true");
    player_launch(player);
    struct wire_fact fact = player_fact(player, WIRE_FACT_REFUSED, NULL);
    assert_int_equal(fact.ending.by, BY_ITSELF);
    assert_non_null(strstr(fact.remark, "1000"));
    release(player);
}

static void packages_that_cannot_be_installed_refuse(void **state)
{
    (void)state;
    if (access("/usr/bin/python3", X_OK) != 0) {
        print_message("no /usr/bin/python3\n");
        skip();
    }
    struct player *player = player_start();
    player_accept(player, 0);
    const char *packages[] = { "/no/such/package.whl" };
    player->launch.python = "/usr/bin/python3";
    player->launch.pip = (struct words){ .at = packages, .n = 1 };
    player_task(player, "worker", 0, "true");
    player_task(player, "worker", 1, "true");
    player_launch(player);
    for (int i = 0; i < 2; i++) {
        struct wire_fact fact = player_fact(player, WIRE_FACT_REFUSED, NULL);
        assert_int_equal(fact.ending.by, BY_ITSELF);
        assert_non_null(strstr(fact.remark, "pip"));
    }
    assert_non_null(strstr(player_log(player, "worker", 0, 1, MUSTER), "/no/such/package.whl"));
    release(player);
}

static void code_shows_in_the_working_directory(void **state)
{
    (void)state;
    struct player *player = player_start();
    struct err err;
    AUTO_FREE char *code = mem_printf("%s/code", player->dir);
    AUTO_FREE char *file = mem_printf("%s/main.txt", code);
    assert_int_equal(file_mkdirs(code, 0755, &err), 0);
    assert_int_equal(file_replace(file, "the code\n", 9, 0644, &err), 0);
    player_accept(player, 0);
    player->launch.code_dir = code;
    player_task(player, "worker", 0, "cat code/main.txt; pwd");
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    player_fact(player, WIRE_FACT_ENDED, NULL);
    assert_string_equal(player_log(player, "worker", 0, 1, OUT),
                        arena_printf(player->arena, "the code\n%s/work/worker.0\n", player->agent));
    release(player);
}

static void memory_has_a_limit(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    struct launch_task *task =
        player_task(player, "worker", 0, "a=$(head -c 400000000 /dev/zero | tr '\\0' x); sleep 9");
    task->memory = 64u << 20;
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    struct wire_fact fact = player_fact(player, WIRE_FACT_ENDED, NULL);
    /* By the kernel in a cgroup, else by muster's watch. */
    assert_true((fact.ending.oom && fact.ending.by == BY_KERNEL) || fact.ending.by == BY_LIMIT);
    assert_true(fact.ending.memory_peak > 32u << 20);
    release(player);
}

static void time_has_a_limit(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    struct launch_task *task = player_task(player, "worker", 0, "sleep 1000");
    task->run_time_ms = 100;
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    struct wire_fact fact = player_fact(player, WIRE_FACT_ENDED, NULL);
    assert_int_equal(fact.ending.by, BY_LIMIT);
    assert_non_null(strstr(fact.remark, "limit of 100ms"));
    release(player);
}

static void strangers_and_own_signals(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    player_task(player, "worker", 0, "exec sleep 1000");
    player_task(player, "worker", 1, "kill -SEGV $$");
    player_launch(player);
    struct wire_fact fact = player_fact_of(player, WIRE_FACT_ENDED, 1);
    assert_true(fact.ending.signal == SIGSEGV && fact.ending.by == BY_ITSELF);
    player_hang_up(player);
    player_accept(player, 0);
    fact = player_fact_of(player, WIRE_FACT_STARTED, 0);
    assert_int_equal(kill((pid_t)fact.pid, SIGTERM), 0);
    fact = player_fact_of(player, WIRE_FACT_ENDED, 0);
    assert_true(fact.ending.signal == SIGTERM && fact.ending.by == BY_STRANGER);
    release(player);
}

static void another_attempt_of_the_same_task(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    for (uint32_t attempt = 1; attempt <= 3; attempt++) {
        struct launch_task *task = player_task(player, "worker", 0, "echo $MUSTER_ATTEMPT_COOKIE");
        task->attempt = attempt;
        player_launch(player);
        struct wire_fact fact = player_fact(player, WIRE_FACT_STARTED, NULL);
        assert_int_equal(fact.attempt, attempt);
        fact = player_fact(player, WIRE_FACT_ENDED, NULL);
        assert_int_equal(fact.attempt, attempt);
        assert_string_equal(
            player_log(player, "worker", 0, attempt, OUT),
            arena_printf(player->arena, "%s.worker.0.%u\n", player->cookie, attempt));
    }
    release(player);
}

/* ---- launchers ---- */

static int knock(const struct player *player, const char *says)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval patience = { .tv_sec = 10 };
    snprintf(address.sun_path, sizeof address.sun_path, "%s/launch.sock", player->agent);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(send(fd, says, strlen(says), MSG_NOSIGNAL), strlen(says));
    return fd;
}

static bool hung_up(int fd)
{
    char byte;
    bool over = recv(fd, &byte, 1, 0) == 0;
    close(fd);
    return over;
}

static uint32_t introduced(struct player *player, uint32_t attempt)
{
    struct wire_frame frame = player_frame(player, WIRE_LAUNCHER_OPEN);
    struct wire_launcher open;
    assert_int_equal(wire_get(&frame, NULL, &open), 0);
    assert_int_equal(open.task.index, 0);
    assert_int_equal(open.attempt, attempt);
    return open.channel;
}

static void say_to(struct player *player, enum wire_kind kind, uint32_t channel, const char *text)
{
    AUTO_BUF struct buf frame = BUF_INIT(1000);
    wire_put_data(&frame, kind, channel, text, strlen(text));
    player_send(player, &frame);
}

static void launchers_reach_the_server(void **state)
{
    (void)state;
    struct player *player = player_start();
    struct host_name hosts[] = { { .address = "127.0.0.7", .name = "worker-7.test" } };
    struct stat st;
    char got[16] = "";
    char *own = arena_printf(player->arena, "%s.worker.0.1\nframes", player->cookie);
    player_accept(player, 0);
    player->launch.hosts = hosts;
    player->launch.n_hosts = 1;
    player_task(player, "worker", 0,
                arena_printf(player->arena,
                             "test -S \"$MUSTER_LAUNCH_SOCKET\" && echo $$ > %s/ready; sleep 1000",
                             player->dir));
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    (void)player_read_pid(player, "ready"); /* the task sees the socket in its view */
    AUTO_FREE char *path = mem_printf("%s/launch.sock", player->agent);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(hung_up(knock(player, "1234.1.n1.worker.0.1\n")));
    int fd = knock(player, own);
    uint32_t channel = introduced(player, 1);
    struct wire_frame frame = player_frame(player, WIRE_LAUNCHER_DATA);
    struct wire_data data;
    assert_int_equal(wire_get(&frame, NULL, &data), 0);
    assert_int_equal(data.channel, channel);
    assert_true(data.len == 6 && memcmp(data.at, "frames", 6) == 0);
    say_to(player, WIRE_LAUNCHER_DATA, channel, "orders");
    say_to(player, WIRE_LAUNCHER_CLOSE, channel, "");
    assert_int_equal(recv(fd, got, 6, MSG_WAITALL), 6);
    assert_string_equal(got, "orders");
    assert_true(hung_up(fd));
    fd = knock(player, own);
    channel = introduced(player, 1);
    close(fd);
    frame = player_frame(player, WIRE_LAUNCHER_CLOSE);
    assert_int_equal(wire_get(&frame, NULL, &data), 0);
    assert_int_equal(data.channel, channel);
    player_stop(player, &(struct wire_stop){ .all = true, .now = true, .why = BY_USER });
    player_fact(player, WIRE_FACT_ENDED, NULL);
    assert_true(hung_up(knock(player, own))); /* of an attempt that is over */
    release(player);
}

static void launchers_wait_for_the_server(void **state)
{
    (void)state;
    struct player *player = player_start();
    char *own = arena_printf(player->arena, "%s.worker.0.1\n", player->cookie);
    player_accept(player, 0);
    player_task(player, "worker", 0, "sleep 1000");
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    int before = knock(player, own);
    uint32_t channel = introduced(player, 1);
    player_hang_up(player);
    int meanwhile = knock(player, own);
    player_accept(player, 1);
    assert_true(hung_up(before)); /* it comes again and says what it holds */
    assert_true(introduced(player, 1) != channel);
    close(meanwhile);
    player_frame(player, WIRE_LAUNCHER_CLOSE);
    player_stop(player, &(struct wire_stop){ .all = true, .now = true, .why = BY_USER });
    player_fact(player, WIRE_FACT_ENDED, NULL);
    release(player);
}

static void a_flood_is_cut_off(void **state)
{
    (void)state;
    struct player *player = player_start();
    char *own = arena_printf(player->arena, "%s.worker.0.1\n", player->cookie);
    player_accept(player, 0);
    player_task(player, "worker", 0, "sleep 1000");
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    int fd = knock(player, own);
    introduced(player, 1);
    AUTO_FREE char *piece = mem_new(65536);
    pid_t flooder = fork();
    if (flooder == 0) {
        while (send(fd, piece, 65536, MSG_NOSIGNAL) > 0)
            continue;
        _exit(0);
    }
    close(fd);
    player_frame(player, WIRE_LAUNCHER_CLOSE);
    assert_int_equal(waitpid(flooder, NULL, 0), flooder);
    player_stop(player, &(struct wire_stop){ .all = true, .now = true, .why = BY_USER });
    player_fact(player, WIRE_FACT_ENDED, NULL);
    release(player);
}

static uint32_t send_signal(struct player *player, int number, uint32_t attempt)
{
    AUTO_BUF struct buf frames = BUF_INIT(4096);
    struct wire_signalled_report said;
    wire_put(&frames, 0,
             &(struct wire_signal){ .number = 1000 + (uint32_t)number,
                                    .attempt = attempt,
                                    .signal = (uint32_t)number });
    player_send(player, &frames);
    struct wire_frame frame = player_frame(player, WIRE_SIGNALLED);
    assert_int_equal(wire_get(&frame, NULL, &said), 0);
    assert_int_equal(said.number, 1000 + number);
    return said.heard;
}

/* Its death is told before what it left is gone, and the wake-up that saw it is the same in both.
 */
static void a_death_is_told_before_the_end(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    player_task(player, "worker", 0,
                "setsid sh -c 'mkfifo gone; exec 3<>gone; : >left; read line <&3' & "
                "until test -e left; do :; done; kill -SEGV $$");
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    struct wire_fact died = player_fact(player, WIRE_FACT_DIED, NULL);
    assert_int_equal(died.ending.signal, SIGSEGV);
    assert_int_equal(died.ending.by, BY_ITSELF);
    assert_true(died.wakeup > 0);
    struct wire_fact ended = player_fact(player, WIRE_FACT_ENDED, NULL);
    assert_int_equal(ended.ending.signal, SIGSEGV);
    assert_true(ended.wakeup == died.wakeup);
    release(player);
}

/* What asks for something reaches those that catch it, each once: the shell around lives. */
static void signals_reach_who_catches_them(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    player_task(player, "worker", 0,
                arena_printf(player->arena, /* without a child, which would be born catching it */
                             "cd %s && sh -c 'mkfifo none; exec 3<>none; "
                             "trap \"echo heard >>heard\" USR1; echo $$ >shell; "
                             "while :; do read line <&3; done'; true",
                             player->dir));
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    pid_t shell = player_read_pid(player, "shell");
    assert_true(shell > 0);
    assert_int_equal(send_signal(player, SIGUSR1, 1), 1);
    assert_int_equal(send_signal(player, SIGUSR2, 1), 0);
    assert_int_equal(send_signal(player, SIGUSR1, 2), 0); /* another attempt */
    assert_int_equal(send_signal(player, SIGKILL, 1), 0); /* not for people */
    assert_int_equal(kill(shell, 0), 0);
    assert_true(send_signal(player, SIGTERM, 1) >= 2);
    player_fact(player, WIRE_FACT_ENDED, NULL);
    release(player);
}

static void closing_says_when_nothing_is_left(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    player_task(player, "worker", 0,
                arena_printf(player->arena,
                             "(env -i setsid sh -c 'echo $$ > %s/stray; exec sleep 1000' &); "
                             "exec sleep 1000",
                             player->dir));
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    pid_t stray = player_read_pid(player, "stray");
    player_stop(player, &(struct wire_stop){ .all = true, .why = BY_USER });
    player_fact(player, WIRE_FACT_ENDED, NULL);
    uint64_t seq;
    player_fact(player, WIRE_FACT_RELEASED, &seq);
    assert_true(player_gone(stray));
    player_task(player, "worker", 1, "true"); /* too late */
    player_launch(player);
    struct wire_fact fact = player_fact(player, WIRE_FACT_REFUSED, NULL);
    assert_int_equal(fact.ending.by, BY_USER);
    player_plain(player, WIRE_ACK, seq);
    release(player);
}

static void nothing_to_close(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    player_stop(player, &(struct wire_stop){ .all = true, .why = BY_USER });
    uint64_t seq;
    player_fact(player, WIRE_FACT_RELEASED, &seq);
    assert_true(seq == 1);
    release(player);
}

static void a_lot_of_output(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    player_task(player, "worker", 0, "yes 0123456789012345678901234567890123456789 | head -c 40m");
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    struct wire_fact fact = player_fact(player, WIRE_FACT_ENDED, NULL);
    assert_int_equal(fact.ending.code, 0);
    assert_true(fact.log_end > 40u << 20);
    AUTO_FREE char *dir = mem_printf("%s/log/worker.0.1", player->agent);
    unsigned long long kept;
    struct err err;
    assert_int_equal(file_tree_size(dir, 1u << 30, &kept, &err), 0);
    assert_true(kept <=
                4ull * SEGMENT_MAX); /* head, tail, and what is not cut off inside segments */
    assert_true(strlen(fact.ending.tail) <= ENDING_TAIL_MAX);
    release(player);
}

static void many_at_once(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    for (uint32_t i = 0; i < 16; i++)
        player_task(player, "worker", i, "true");
    player_launch(player);
    for (int ended = 0; ended < 16;) {
        struct wire_frame frame = player_frame(player, WIRE_FACT);
        struct wire_fact fact;
        assert_int_equal(wire_get(&frame, player->arena, &fact), 0);
        ended += fact.kind == WIRE_FACT_ENDED;
    }
    release(player);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_and_output),
        cmocka_unit_test(stop_reaches_what_escaped),
        cmocka_unit_test(grace_then_kill),
        cmocka_unit_test(a_kill_in_an_allocation_is_told_when_the_agent_outlives_it),
        cmocka_unit_test(a_dead_agent_takes_its_tasks_along),
        cmocka_unit_test(a_dead_keeper_takes_everything_along),
        cmocka_unit_test(facts_come_again_until_acknowledged),
        cmocka_unit_test(tasks_outlive_the_connection),
        cmocka_unit_test(a_refused_token_ends_it_all),
        cmocka_unit_test(a_removed_directory_ends_it_all),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(a_missing_mount_refuses),
        cmocka_unit_test(the_view),
        cmocka_unit_test(too_much_code_refuses),
        cmocka_unit_test(packages_that_cannot_be_installed_refuse),
        cmocka_unit_test(code_shows_in_the_working_directory),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(time_has_a_limit),
        cmocka_unit_test(strangers_and_own_signals),
        cmocka_unit_test(another_attempt_of_the_same_task),
        cmocka_unit_test(launchers_reach_the_server),
        cmocka_unit_test(launchers_wait_for_the_server),
        cmocka_unit_test(a_flood_is_cut_off),
        cmocka_unit_test(a_death_is_told_before_the_end),
        cmocka_unit_test(signals_reach_who_catches_them),
        cmocka_unit_test(closing_says_when_nothing_is_left),
        cmocka_unit_test(nothing_to_close),
        cmocka_unit_test(a_lot_of_output),
        cmocka_unit_test(many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
