/* Listening sockets of both kinds: who calls is handed out, and a place that cannot be had is told
 * apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "conn/address.h"
#include "conn/listener.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct scene {
    uv_loop_t loop;
    struct listener *listener;
    int calls;
    bool leaves; /* destroys the listener inside the call */
    bool holds;  /* puts it on hold there */
    char remote[ADDRESS_MAX];
};

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    listener_destroy(scene->listener);
    (void)uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
    free(scene);
    return 0;
}

static void on_caller(void *arg, int fd)
{
    struct scene *scene = arg;
    scene->calls++;
    address_of_end(fd, true, scene->remote);
    close(fd);
    if (scene->holds)
        listener_hold(scene->listener, true);
    if (scene->leaves)
        listener_destroy(TAKE(scene->listener));
}

static void listen_tcp(struct scene *scene, const char *addr)
{
    struct listen_place place = { .addr = addr };
    struct err err;
    int fd = listener_open_tcp(&place, &err);
    assert_true(fd >= 0);
    scene->listener = listener_create(&scene->loop, fd,
                                      (struct listener_sink){ .caller = on_caller, .arg = scene });
}

static int call(const char *addr, uint16_t port)
{
    struct address to;
    assert_true(address_numeric(&to, addr, port));
    int fd = socket(to.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to.at, to.len), 0);
    return fd;
}

static void callers_are_handed_out(void **state)
{
    struct scene *scene = *state;
    int fds[3];
    listen_tcp(scene, "*");
    for (int i = 0; i < 3; i++)
        fds[i] = call("127.0.0.1", listener_port(scene->listener));
    while (scene->calls < 3)
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    assert_string_equal(scene->remote, "127.0.0.1"); /* although the socket is of both families */
    for (int i = 0; i < 3; i++)
        close(fds[i]);
}

static void it_may_go_inside_a_call(void **state)
{
    struct scene *scene = *state;
    listen_tcp(scene, "localhost");
    uint16_t port = listener_port(scene->listener);
    int first = call("127.0.0.1", port), second = call("127.0.0.1", port);
    scene->leaves = true;
    while (scene->calls < 1)
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    (void)uv_run(&scene->loop, UV_RUN_NOWAIT);
    assert_int_equal(scene->calls, 1);
    close(first);
    close(second);
}

static void who_calls_while_it_holds_waits(void **state)
{
    struct scene *scene = *state;
    int fds[2];
    scene->holds = true;
    listen_tcp(scene, "localhost");
    for (int i = 0; i < 2; i++)
        fds[i] = call("127.0.0.1", listener_port(scene->listener));
    for (int i = 1; i <= 2; i++) {
        while (scene->calls < i)
            (void)uv_run(&scene->loop, UV_RUN_ONCE);
        for (int turns = 0; turns < 3; turns++)
            (void)uv_run(&scene->loop, UV_RUN_NOWAIT);
        assert_int_equal(scene->calls, i);
        listener_hold(scene->listener, false);
    }
    for (int i = 0; i < 2; i++)
        close(fds[i]);
}

static void places_that_cannot_be_had(void **state)
{
    struct scene *scene = *state;
    struct err err;
    listen_tcp(scene, "127.0.0.1");
    struct listen_place taken = { .addr = "127.0.0.1", .port = listener_port(scene->listener) };
    struct listen_place foreign = { .addr = "192.0.2.1" };
    struct listen_place named = { .addr = "n1.cluster" };
    assert_int_equal(listener_open_tcp(&taken, &err), -1);
    assert_true(taken.taken && !taken.foreign);
    assert_int_equal(listener_open_tcp(&foreign, &err), -1);
    assert_true(foreign.foreign && !foreign.taken);
    assert_int_equal(listener_open_tcp(&named, &err), -1);
    assert_true(!named.foreign && !named.taken);
}

/* The name of a Unix socket holds 107 bytes. */
static void paths_may_be_long(void **state)
{
    struct scene *scene = *state;
    char dir[] = "/tmp/muster-listener-XXXXXX";
    struct err err;
    struct stat st;
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *below = mem_printf("%s/%0150d", dir, 0);
    AUTO_FREE char *path = mem_printf("%s/s", below);
    assert_int_equal(mkdir(below, 0700), 0);
    int fd = listener_open_unix(path, &err);
    assert_true(fd >= 0);
    close(fd);
    fd = listener_open_unix(path, &err); /* what a former one left is removed */
    assert_true(fd >= 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    scene->listener = listener_create(&scene->loop, fd,
                                      (struct listener_sink){ .caller = on_caller, .arg = scene });
    int caller = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(address_connect_path(caller, path), 0);
    while (scene->calls < 1)
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    assert_string_equal(scene->remote, "");
    close(caller);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(below), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(callers_are_handed_out),
        TEST(it_may_go_inside_a_call),
        TEST(who_calls_while_it_holds_waits),
        TEST(places_that_cannot_be_had),
        TEST(paths_may_be_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
