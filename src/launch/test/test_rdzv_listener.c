/* The port of a launcher that may lead, over real sockets: launchers of the job, wrong tokens,
 * strangers, nonsense, clients of the c10d store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launch/rdzv_listener.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define PATIENCE_MS 120000u

struct end {
    struct conn *conn;
    int beats, losses;
    char why[160];
    bool close_on_frame;
};
struct scene {
    uv_loop_t loop;
    uv_timer_t alarm;
    struct rdzv_listener *listener;
    struct end near, far;
    int callers, strangers_of_c10d;
    bool good;
    size_t c10d_bytes;
};

static int on_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct end *end = arg;
    if (rdzv_frame_of(frame).kind != RDZV_FRAME_BEAT)
        return -1;
    end->beats++;
    if (end->close_on_frame) {
        conn_close(conn);
        end->conn = NULL;
    }
    return 0;
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    struct end *end = arg;
    assert_ptr_equal(conn, end->conn);
    end->losses++;
    end->conn = NULL;
    snprintf(end->why, sizeof end->why, "%s", why);
}

static struct conn_events events_of(struct end *end)
{
    return (struct conn_events){ .frame = on_frame, .closed = on_closed, .arg = end };
}

static void on_caller(void *arg, struct conn *conn, bool token_is_good)
{
    struct scene *scene = arg;
    scene->callers++;
    scene->good = token_is_good;
    scene->far.conn = conn;
    conn_set_events(conn, events_of(&scene->far));
}

static void on_c10d(void *arg, int fd, const void *bytes, size_t len)
{
    struct scene *scene = arg;
    assert_int_equal(*(const char *)bytes, 0);
    scene->strangers_of_c10d++;
    scene->c10d_bytes = len;
    close(fd);
}

static void on_alarm(uv_timer_t *timer)
{
    (void)timer; /* wakes the loop so that the deadline is looked at */
}

/* Turns the loop until *value reaches want. */
static void wait_for(struct scene *scene, const int *value, int want)
{
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (*value < want) {
        if (clock_mono_ms() > until)
            fail_msg("waited in vain for %d, have %d", want, *value);
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    }
}

static struct rdzv_listener *open_listener(struct scene *scene, const char *token,
                                           struct listen_place *place)
{
    char preface[RDZV_PREFACE_MAX + 1];
    struct err err;
    struct rdzv_listener_sink sink = { .caller = on_caller, .c10d = on_c10d, .arg = scene };
    assert_int_equal(rdzv_listener_preface(preface, token, &err), 0);
    return rdzv_listener_open(&scene->loop, place, preface, sink, &err);
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    struct listen_place place = { .addr = "127.0.0.1" };
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    uv_timer_init(&scene->loop, &scene->alarm);
    uv_timer_start(&scene->alarm, on_alarm, 100, 100);
    scene->listener = open_listener(scene, "secret", &place);
    assert_non_null(scene->listener);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    conn_close(scene->near.conn);
    conn_close(scene->far.conn);
    rdzv_listener_close(scene->listener);
    uv_close((uv_handle_t *)&scene->alarm, NULL);
    (void)uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
    free(scene);
    return 0;
}

static void call(struct scene *scene, const char *token)
{
    char preface[RDZV_PREFACE_MAX + 1];
    struct err err;
    assert_int_equal(rdzv_listener_preface(preface, token, &err), 0);
    struct conn_target to = { .addr = "127.0.0.1", .port = rdzv_listener_port(scene->listener) };
    scene->near.conn = conn_connect(&scene->loop, &to, &launcher_terms, events_of(&scene->near));
    buf_puts(conn_out(scene->near.conn), preface);
}

static void frames_go_both_ways(void **state)
{
    struct scene *scene = *state;
    call(scene, "secret");
    rdzv_put_as(conn_out(scene->near.conn), RDZV_FRAME_BEAT, NULL); /* before it is connected */
    wait_for(scene, &scene->far.beats, 1);
    assert_true(scene->good);
    for (int i = 0; i < 1000; i++)
        rdzv_put_as(conn_out(scene->far.conn), RDZV_FRAME_BEAT, NULL);
    conn_flush(scene->far.conn);
    wait_for(scene, &scene->near.beats, 1000);
    conn_close(TAKE(scene->near.conn));
    wait_for(scene, &scene->far.losses, 1);
    assert_int_equal(scene->near.losses, 0);
}

static void closing_inside_a_frame_is_fine(void **state)
{
    struct scene *scene = *state;
    call(scene, "secret");
    scene->far.close_on_frame = true;
    for (int i = 0; i < 3; i++)
        rdzv_put_as(conn_out(scene->near.conn), RDZV_FRAME_BEAT, NULL);
    wait_for(scene, &scene->near.losses, 1);
    assert_int_equal(scene->far.beats, 1);
    assert_int_equal(scene->far.losses, 0);
}

static void a_wrong_token_is_seen(void **state)
{
    struct scene *scene = *state;
    call(scene, "guess");
    wait_for(scene, &scene->callers, 1);
    assert_false(scene->good);
    conn_close(TAKE(scene->near.conn));
    wait_for(scene, &scene->far.losses, 1);
    call(scene, NULL);
    wait_for(scene, &scene->callers, 2);
    assert_false(scene->good);
}

/* A blocking client's socket, connected to the listener. */
static int stranger(struct scene *scene)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons(rdzv_listener_port(scene->listener)) };
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void a_preface_comes_in_pieces(void **state)
{
    struct scene *scene = *state;
    static const char said[] = RDZV_PREFACE "secret\n";
    int fd = stranger(scene);
    for (size_t i = 0; i < sizeof said - 1; i++) {
        assert_int_equal(write(fd, said + i, 1), 1);
        (void)uv_run(&scene->loop, UV_RUN_NOWAIT);
    }
    wait_for(scene, &scene->callers, 1);
    assert_true(scene->good);
    close(fd);
    wait_for(scene, &scene->far.losses, 1);
}

static void strangers_are_sent_away(void **state)
{
    struct scene *scene = *state;
    char answer;
    int fd = stranger(scene);
    assert_int_equal(write(fd, "GET / HTTP/1.1\r\n", 16), 16);
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (recv(fd, &answer, 1, MSG_DONTWAIT) != 0) { /* -1: nothing yet, or a reset */
        assert_true(clock_mono_ms() < until);
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    }
    close(fd);
    assert_int_equal(scene->callers, 0);
}

static void store_clients_are_told_apart(void **state)
{
    struct scene *scene = *state;
    int fd = stranger(scene);
    assert_int_equal(write(fd, "\0\xce\xf7\x85\x3c", 5), 5);
    wait_for(scene, &scene->strangers_of_c10d, 1);
    assert_int_equal(scene->c10d_bytes, 5);
    assert_int_equal(scene->callers, 0);
    close(fd);
}

static void nonsense_ends_a_connection(void **state)
{
    struct scene *scene = *state;
    static const char said[] = RDZV_PREFACE "secret\n\xff\xff\xff\xff\xff\xff\xff\xff";
    int fd = stranger(scene);
    assert_int_equal(write(fd, said, sizeof said - 1), sizeof said - 1);
    wait_for(scene, &scene->far.losses, 1);
    assert_non_null(strstr(scene->far.why, "no launcher"));
    close(fd);
}

/* Who has said the preface and then nothing has to go, too; who is admitted may be silent. */
static void a_caller_has_its_time(void **state)
{
    struct scene *scene = *state;
    uint64_t late = uv_now(&scene->loop) + 3600000;
    int said_nothing = stranger(scene);
    call(scene, "secret");
    wait_for(scene, &scene->callers, 1);
    conn_pass_time(scene->far.conn, late);
    assert_int_equal(scene->far.losses, 1);
    wait_for(scene, &scene->near.losses, 1);
    call(scene, "secret");
    wait_for(scene, &scene->callers, 2);
    conn_admit(scene->far.conn);
    conn_pass_time(scene->far.conn, late);
    assert_int_equal(scene->far.losses, 1);
    close(said_nothing);
}

static void doors_say_why_they_do_not_open(void **state)
{
    struct scene *scene = *state;
    struct listen_place taken = { .addr = "127.0.0.1",
                                  .port = rdzv_listener_port(scene->listener) };
    struct listen_place foreign = { .addr = "192.0.2.1" };
    struct listen_place named = { .addr = "n1.cluster" };
    char preface[RDZV_PREFACE_MAX + 1];
    struct err err;
    assert_null(open_listener(scene, NULL, &taken));
    assert_true(taken.taken && !taken.foreign);
    assert_null(open_listener(scene, NULL, &foreign));
    assert_true(foreign.foreign && !foreign.taken);
    assert_null(open_listener(scene, NULL, &named));
    assert_int_equal(rdzv_listener_preface(preface, "two words", &err), -1);
    assert_int_equal(rdzv_listener_preface(preface, "", &err), -1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(frames_go_both_ways),
        TEST(closing_inside_a_frame_is_fine),
        TEST(a_wrong_token_is_seen),
        TEST(a_preface_comes_in_pieces),
        TEST(strangers_are_sent_away),
        TEST(store_clients_are_told_apart),
        TEST(nonsense_ends_a_connection),
        TEST(a_caller_has_its_time),
        TEST(doors_say_why_they_do_not_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
