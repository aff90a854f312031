/* The host of a machine against a played server: what it says of the machine, agents started,
 * ended, found again by the next host, and cleaned up after. Keepers and agents are real: they are
 * this program under the verb that the host calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/host.h"

#include "base/file.h"
#include "base/mem.h"
#include "conn/listener.h"
#include "node/keeper.h"
#include "run/run.h"
#include "wire/message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define PATIENCE_MS 120000
#define HOST_SECRET "00ff"

struct caller { /* an agent or a host that connected */
    int fd;
    struct buf in;
    size_t used;
};
struct fix {
    struct arena *arena;
    char dir[64], *host_dir, *run_dir;
    int listener;
    pid_t host;
    struct caller of_host, of_agent;
};

static const struct generation one = { .job = 1234567890123456789u, .number = 2 };
static const char token[HOST_TOKEN] = { 1, 2, 3 };

/* ---- the server ---- */

static void hang_up(struct caller *caller)
{
    if (caller->fd >= 0)
        close(caller->fd);
    caller->fd = -1;
    buf_clear(&caller->in);
    caller->used = 0;
}

static void wait_readable(int fd)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    int n;
    do
        n = poll(&ready, 1, PATIENCE_MS);
    while (n < 0 && errno == EINTR);
    assert_int_equal(n, 1);
}

/* The next caller; which of the two it is, its token says. */
static struct caller *accept_next(struct fix *f)
{
    static const char answer[] =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: muster/1\r\n\r\n";
    char text[1000];
    size_t len = 0;
    wait_readable(f->listener);
    int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    do {
        wait_readable(fd);
        ssize_t n = read(fd, text + len, sizeof text - 1 - len);
        assert_true(n > 0);
        len += (size_t)n;
        text[len] = '\0';
    } while (!strstr(text, "\r\n\r\n"));
    assert_int_equal(file_write_all(fd, answer, sizeof answer - 1), 0);
    bool host = strstr(text, "Authorization: Bearer " HOST_SECRET "\r\n");
    assert_true(host || strstr(text, "Authorization: Bearer 010203000"));
    struct caller *caller = host ? &f->of_host : &f->of_agent;
    hang_up(caller);
    caller->fd = fd;
    return caller;
}

static void accept_one(struct fix *f, const struct caller *which)
{
    while (accept_next(f) != which)
        continue;
}

static struct wire_frame next_frame(struct caller *caller, enum wire_kind kind)
{
    struct wire_frame frame;
    for (;;) {
        char piece[4096];
        size_t used;
        buf_drop(&caller->in, caller->used);
        caller->used = 0;
        int rc = wire_next(caller->in.data, caller->in.len, &frame, &used);
        assert_true(rc >= 0);
        if (rc == 1) {
            caller->used = used;
            if (frame.kind == kind)
                return frame;
            continue;
        }
        wait_readable(caller->fd);
        ssize_t n = read(caller->fd, piece, sizeof piece);
        assert_true(n > 0);
        buf_add(&caller->in, piece, (size_t)n);
    }
}

static void say(const struct caller *caller, const struct buf *out)
{
    assert_int_equal(file_write_all(caller->fd, out->data, out->len), 0);
}

#define SAY(caller, ...)                                                                           \
    do {                                                                                           \
        AUTO_BUF struct buf out_ = BUF_INIT(4096);                                                 \
        wire_put(&out_, 0, __VA_ARGS__);                                                           \
        say(caller, &out_);                                                                        \
    } while (0)

static void say_plain(const struct caller *caller, enum wire_kind kind)
{
    AUTO_BUF struct buf out = BUF_INIT(64);
    wire_put_plain(&out, kind, 0);
    say(caller, &out);
}

static struct wire_host_hello next_hello(struct fix *f)
{
    struct wire_host_hello hello;
    struct wire_frame frame = next_frame(&f->of_host, WIRE_HOST_HELLO);
    assert_int_equal(wire_get(&frame, f->arena, &hello), 0);
    return hello;
}

static struct wire_host_runs next_runs(struct fix *f)
{
    struct wire_host_runs runs;
    struct wire_frame frame = next_frame(&f->of_host, WIRE_HOST_RUNS);
    assert_int_equal(wire_get(&frame, f->arena, &runs), 0);
    return runs;
}

static void next_ended(struct fix *f)
{
    struct wire_host_ended_report ended;
    struct wire_frame frame = next_frame(&f->of_host, WIRE_HOST_ENDED);
    assert_int_equal(wire_get(&frame, f->arena, &ended), 0);
    assert_true(ended.generation.job == one.job);
    assert_int_equal(ended.generation.number, one.number);
}

static void start_run(struct fix *f)
{
    SAY(&f->of_host,
        &(struct wire_host_start){ .generation = one, .token = token, .token_len = HOST_TOKEN });
}

static void meet_agent(struct fix *f)
{
    struct wire_hello hello;
    accept_one(f, &f->of_agent);
    struct wire_frame frame = next_frame(&f->of_agent, WIRE_HELLO);
    assert_int_equal(wire_get(&frame, f->arena, &hello), 0);
    assert_true(hello.generation.job == one.job);
    assert_string_equal(hello.node, "n1");
    say_plain(&f->of_agent, WIRE_WELCOME);
}

/* ---- the host ---- */

static void write_conf_at(const struct fix *f, const char *socket, const char *zone)
{
    AUTO_FREE char *text = mem_printf(
        "socket=%s/%s\ntoken=" HOST_SECRET "\nnode=n1\nlabel=zone=%s\n", f->dir, socket, zone);
    AUTO_FREE char *path = file_join(f->host_dir, "host.conf");
    struct err err;
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
}

static void write_conf(const struct fix *f, const char *zone)
{
    write_conf_at(f, "sock", zone);
}

static pid_t start_host(const struct fix *f)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(f->listener);
    exit(host_run(f->host_dir));
}

static int status_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    struct err err;
    f->arena = arena_create();
    f->of_host.fd = f->of_agent.fd = -1;
    buf_init(&f->of_host.in, 1u << 20);
    buf_init(&f->of_agent.in, 1u << 20);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-host-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->host_dir = file_join(f->dir, "host");
    f->run_dir =
        mem_printf("%s/runs/%llu.%u.n1", f->host_dir, (unsigned long long)one.job, one.number);
    AUTO_FREE char *path = file_join(f->dir, "sock");
    assert_int_equal(file_mkdirs(f->host_dir, 0700, &err), 0);
    f->listener = listener_open_unix(path, &err);
    assert_true(f->listener >= 0);
    write_conf(f, "a");
    AUTO_FREE char *search = mem_printf("%s:%s", f->dir, getenv("PATH"));
    assert_int_equal(setenv("PATH", search, 1), 0); /* for a driver of the test's own */
    f->host = start_host(f);
    accept_one(f, &f->of_host);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    kill(f->host, SIGTERM);
    assert_int_equal(status_of(f->host), 0);
    hang_up(&f->of_host);
    hang_up(&f->of_agent);
    close(f->listener);
    buf_fini(&f->of_host.in);
    buf_fini(&f->of_agent.in);
    file_remove_tree(f->dir, NULL);
    free(f->host_dir);
    free(f->run_dir);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

/* ---- what holds ---- */

static void the_machine_is_described_and_changes_are_told(void **state)
{
    struct fix *f = *state;
    struct wire_host_hello hello = next_hello(f);
    assert_int_equal(hello.version, WIRE_VERSION);
    assert_string_equal(hello.node, "n1");
    assert_int_equal(hello.pid, f->host);
    assert_true(hello.cpu_milli >= 1000 && hello.memory > 0 && hello.disk > 0);
    assert_true(*hello.machine && *hello.boot);
    assert_string_equal(pairs_get(&hello.labels, "zone"), "a");
    assert_int_equal(next_runs(f).n_runs, 0);
    write_conf(f, "b");
    kill(f->host, SIGHUP);
    hello = next_hello(f);
    assert_string_equal(pairs_get(&hello.labels, "zone"), "b");
    say_plain(&f->of_host, WIRE_PING);
    next_frame(&f->of_host, WIRE_PONG);
}

static void write_driver(const struct fix *f, const char *script)
{
    AUTO_FREE char *path = file_join(f->dir, "nvidia-smi");
    struct err err;
    assert_int_equal(file_replace(path, script, strlen(script), 0755, &err), 0);
    kill(f->host, SIGHUP);
}

static void devices_are_asked_of_the_drivers_program(void **state)
{
    struct fix *f = *state;
    next_hello(f);
    write_driver(f, "#!/bin/sh\n[ \"$1\" = --query-gpu=index,pci.bus_id,uuid,memory.total,"
                    "mig.mode.current,name ] && echo '0, 0, GPU-a, 1024, Disabled, H100'\n");
    struct wire_host_hello hello = next_hello(f);
    assert_int_equal(hello.n_devices, 1);
    assert_string_equal(hello.devices[0].uuid, "GPU-a");
    assert_string_equal(hello.devices[0].model, "H100");
    assert_true(hello.devices[0].memory == 1u << 30);
    assert_string_equal(hello.device_error, "");
    write_driver(f, "#!/bin/sh\necho 'Failed to initialize NVML'\nexit 255\n");
    hello = next_hello(f);
    assert_int_equal(hello.n_devices, 0);
    assert_non_null(strstr(hello.device_error, "Failed to initialize NVML"));
}

static void a_run_is_started_once_until_it_is_cleaned(void **state)
{
    struct fix *f = *state;
    next_runs(f);
    start_run(f);
    start_run(f);
    meet_agent(f);
    say_plain(&f->of_agent, WIRE_RELEASE);
    next_ended(f);
    start_run(f); /* it was and is over */
    next_ended(f);
    assert_true(file_is_dir(f->run_dir));
    SAY(&f->of_host, &(struct wire_host_clean){ .generation = one });
    start_run(f);
    meet_agent(f);
    SAY(&f->of_host, &(struct wire_host_clean){ .generation = one }); /* once it is over */
    SAY(&f->of_host, &(struct wire_host_end){ .generation = one });
    next_ended(f);
    struct run_conf conf;
    assert_false(run_look(f->run_dir, &conf));
    SAY(&f->of_host, &(struct wire_host_end){ .generation = one });
    next_ended(f); /* there is none */
    assert_false(file_is_dir(f->run_dir));
}

static void runs_outlive_their_host(void **state)
{
    struct fix *f = *state;
    next_runs(f);
    start_run(f);
    meet_agent(f);
    kill(f->host, SIGKILL);
    assert_true(WIFSIGNALED(status_of(f->host)));
    f->host = start_host(f);
    accept_one(f, &f->of_host);
    struct wire_host_runs runs = next_runs(f);
    assert_int_equal(runs.n_runs, 1);
    assert_true(runs.runs[0].generation.job == one.job);
    assert_int_equal(runs.runs[0].state, HOST_RUN_LIVES);
    start_run(f); /* nothing: it lives */
    say_plain(&f->of_agent, WIRE_PING);
    next_frame(&f->of_agent, WIRE_PONG);
    SAY(&f->of_host, &(struct wire_host_end){ .generation = one });
    next_ended(f);
    hang_up(&f->of_host); /* all is said again */
    accept_one(f, &f->of_host);
    runs = next_runs(f);
    assert_int_equal(runs.n_runs, 1);
    assert_int_equal(runs.runs[0].state, HOST_RUN_ENDED);
}

/* Nobody but the next host can tell agents of the one before. */
static void agents_of_an_earlier_host_follow_the_server(void **state)
{
    struct fix *f = *state;
    next_runs(f);
    start_run(f);
    meet_agent(f);
    kill(f->host, SIGKILL);
    assert_true(WIFSIGNALED(status_of(f->host)));
    AUTO_FREE char *from = file_join(f->dir, "sock"), *to = file_join(f->dir, "other");
    assert_int_equal(rename(from, to), 0);
    write_conf_at(f, "other", "a");
    f->host = start_host(f);
    accept_one(f, &f->of_host);
    assert_int_equal(next_runs(f).n_runs, 1);
    assert_int_equal(shutdown(f->of_agent.fd, SHUT_RDWR), 0); /* the host has it open too */
    meet_agent(f);
    SAY(&f->of_host, &(struct wire_host_end){ .generation = one });
    next_ended(f);
}

/* As after a boot: what the directories name lives no more. */
static void what_died_with_the_host_is_told_as_ended(void **state)
{
    struct fix *f = *state;
    struct run_conf conf;
    next_runs(f);
    start_run(f);
    meet_agent(f);
    assert_true(run_look(f->run_dir, &conf));
    kill(f->host, SIGKILL);
    kill((pid_t)conf.pid, SIGKILL);
    assert_true(WIFSIGNALED(status_of(f->host)));
    f->host = start_host(f);
    accept_one(f, &f->of_host);
    struct wire_host_runs runs = next_runs(f);
    assert_int_equal(runs.n_runs, 1);
    if (runs.runs[0].state == HOST_RUN_LIVES) /* until what the keeper left is swept */
        next_ended(f);
    assert_false(run_look(f->run_dir, &conf));
}

static void a_second_host_leaves(void **state)
{
    struct fix *f = *state;
    next_runs(f);
    assert_int_equal(status_of(start_host(f)), 0);
}

static void a_run_that_cannot_start_has_ended(void **state)
{
    struct fix *f = *state;
    struct err err;
    next_runs(f);
    assert_int_equal(file_replace(f->run_dir, "", 0, 0600, &err), 0); /* a file in its place */
    start_run(f);
    next_ended(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "keeper") == 0)
        return keeper_run(argv[2]);
    if (argc == 3 && strcmp(argv[1], "clean") == 0)
        return keeper_clean(argv[2]);
    const struct CMUnitTest tests[] = {
        TEST(the_machine_is_described_and_changes_are_told),
        TEST(devices_are_asked_of_the_drivers_program),
        TEST(a_run_is_started_once_until_it_is_cleaned),
        TEST(runs_outlive_their_host),
        TEST(agents_of_an_earlier_host_follow_the_server),
        TEST(what_died_with_the_host_is_told_as_ended),
        TEST(a_second_host_leaves),
        TEST(a_run_that_cannot_start_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
