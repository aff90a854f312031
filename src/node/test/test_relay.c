/* The agent's socket for launchers, over a real one, with an uplink that never comes up: who may
 * stay, and for how long without a word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "conn/address.h"
#include "node/relay.h"
#include "wire/rendezvous.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_MS 120000u
#define FOR_EVER_MS 3600000u

struct scene {
    uv_loop_t loop;
    uv_timer_t alarm;
    struct uplink *link;
    struct relay *relay;
    char dir[40];
};

static bool whose(void *arg, const char *cookie, size_t len, struct task_ref *task,
                  uint32_t *attempt)
{
    (void)arg;
    *task = (struct task_ref){ .index = 3 };
    *attempt = 1;
    return len == 4 && memcmp(cookie, "good", 4) == 0;
}

static void on_alarm(uv_timer_t *timer)
{
    (void)timer; /* wakes the loop so that the patience is looked at */
}

static void open_relay(struct scene *scene, uint32_t cookie_ms)
{
    struct err err;
    scene->relay =
        relay_create(scene->dir, scene->link,
                     (struct relay_config){ .cookie_ms = cookie_ms, .whose = whose }, &err);
    assert_non_null(scene->relay);
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    uv_timer_init(&scene->loop, &scene->alarm);
    uv_timer_start(&scene->alarm, on_alarm, 100, 100);
    snprintf(scene->dir, sizeof scene->dir, "/tmp/muster-relay-XXXXXX");
    assert_non_null(mkdtemp(scene->dir));
    scene->link = uplink_create(&scene->loop, scene->dir, (struct uplink_sink){ 0 });
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    relay_destroy(scene->relay);
    uplink_destroy(scene->link);
    uv_close((uv_handle_t *)&scene->alarm, NULL);
    (void)uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
    assert_int_equal(rmdir(scene->dir), 0); /* the socket is gone, too */
    free(scene);
    return 0;
}

static int call(const struct scene *scene, const char *says)
{
    AUTO_FREE char *path = mem_printf("%s/%s", scene->dir, RELAY_SOCKET);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(address_connect_path(fd, path), 0);
    assert_int_equal(write(fd, says, strlen(says)), strlen(says));
    return fd;
}

static bool is_open(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void wait_for_end(struct scene *scene, int fd)
{
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (is_open(fd)) {
        if (clock_mono_ms() > until)
            fail_msg("waited in vain for the end of a connection");
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    }
    close(fd);
}

/* It stayed for as long as the agent, and 2,048 of them kept launchers out. */
static void who_says_no_cookie_has_to_go(void **state)
{
    struct scene *scene = *state;
    open_relay(scene, 1);
    wait_for_end(scene, call(scene, ""));
    wait_for_end(scene, call(scene, "goo"));
}

static void who_has_said_it_may_be_silent(void **state)
{
    struct scene *scene = *state;
    open_relay(scene, FOR_EVER_MS);
    int launcher = call(scene, "good\nthe rest waits for the server");
    wait_for_end(scene, call(scene, "bad\n"));
    assert_true(is_open(launcher));
    close(launcher);
}

/* Beyond so many, the one that called first goes. */
static void strangers_do_not_lock_others_out(void **state)
{
    struct scene *scene = *state;
    int fds[33];
    open_relay(scene, FOR_EVER_MS);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = call(scene, "");
    wait_for_end(scene, fds[0]);
    for (size_t i = 1; i < ARRAY_LEN(fds); i++) {
        assert_true(is_open(fds[i]));
        close(fds[i]);
    }
}

static void one_attempt_has_eight_launchers(void **state)
{
    struct scene *scene = *state;
    int fds[8];
    open_relay(scene, FOR_EVER_MS);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = call(scene, "good\n");
    wait_for_end(scene, call(scene, "good\n"));
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        assert_true(is_open(fds[i]));
        close(fds[i]);
    }
}

/* The server hands what is said of a rank's end on to other tasks, and records it. */
static void texts_for_people_show_no_secret(void **state)
{
    struct masks masks = { .list = { .n = 0 } };
    struct relay_stream stream = { .left = 0 };
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    (void)state;
    masks_add(&masks, "password", 8);
    rdzv_put(&out, &(struct rdzv_leave){ .why = RDZV_LEAVES_FAILED, .text = "a password" });
    size_t first = out.len;
    rdzv_put(&out, &(struct rdzv_refused){ .text = "role password" });
    assert_int_equal(relay_cover(&stream, &masks, out.data, first - 3), 0); /* it comes again */
    assert_int_equal(relay_cover(&stream, &masks, out.data, first + 3), first);
    assert_non_null(memmem(out.data, first, "a ********", 10));
    assert_int_equal(relay_cover(&stream, &masks, out.data + first, out.len - first - 2),
                     out.len - first - 2);
    assert_int_equal(relay_cover(&stream, &masks, out.data + out.len - 2, 2), 2);
    assert_non_null(memmem(out.data, out.len, "role password", 13)); /* that kind passes as it is */
    masks_fini(&masks);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_for_people_show_no_secret),
        TEST(who_says_no_cookie_has_to_go),
        TEST(who_has_said_it_may_be_silent),
        TEST(strangers_do_not_lock_others_out),
        TEST(one_attempt_has_eight_launchers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
