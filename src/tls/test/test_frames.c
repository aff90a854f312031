/* Connections of conn/ over TLS, on one loop: frames both ways, more than the sockets hold, a
 * question that keep-alive asks, ends, and a server that is not the one expected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "conn/conn.h"
#include "conn/listener.h"
#include "tls/server.h"
#include "tls/test/made.h"

#include <stdio.h>
#include <string.h>

#define PATIENCE_MS 120000u
#define FRAMES      400
#define BODY        5000u

struct end {
    struct conn *conn;
    int ups, frames, pings, closes;
    size_t bytes;
    char why[80];
};
struct scene {
    uv_loop_t loop;
    uv_timer_t alarm; /* wakes the loop so that the patience is looked at */
    struct made made, other;
    struct tls_server *server;
    struct tls_client *client;
    struct listener *listener;
    struct end near, far; /* who called, who was called */
};

static int on_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct end *end = arg;
    end->frames++;
    end->bytes += frame->len;
    if (frame->kind == WIRE_PING) {
        end->pings++;
        wire_end(conn_out(conn), wire_begin(conn_out(conn), WIRE_PONG, 0));
        conn_flush(conn);
    }
    return 0;
}

static void on_up(void *arg, struct conn *conn)
{
    (void)conn;
    ((struct end *)arg)->ups++;
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    struct end *end = arg;
    (void)conn;
    end->conn = NULL;
    end->closes++;
    snprintf(end->why, sizeof end->why, "%s", why);
}

static struct conn_events events_of(struct end *end)
{
    return (struct conn_events){ .frame = on_frame, .up = on_up, .closed = on_closed, .arg = end };
}

static struct conn_terms terms(struct transport *(*over)(void *, int), void *arg)
{
    return (struct conn_terms){ .kinds = CONN_AGENT_KINDS,
                                .out_max = 8u << 20,
                                .room = 64u << 10,
                                .over = over,
                                .over_arg = arg };
}

static void on_caller(void *arg, int fd)
{
    struct scene *scene = arg;
    const struct conn_terms how = terms(tls_server_transport, scene->server);
    scene->far.conn = conn_create(&scene->loop, fd, &how, events_of(&scene->far));
}

static void on_alarm(uv_timer_t *timer)
{
    (void)timer;
}

static void serve(struct scene *scene, const struct made *made)
{
    struct tls_server_config config = { .chain = made->chain, .key = made->key };
    scene->server = tls_server_create(&config, NULL);
    assert_non_null(scene->server);
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    struct listen_place place = { .addr = "127.0.0.1" };
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    uv_timer_init(&scene->loop, &scene->alarm);
    uv_timer_start(&scene->alarm, on_alarm, 100, 100);
    make_certificate(&scene->made);
    make_certificate(&scene->other);
    scene->client = tls_client_create(scene->made.pin);
    int fd = listener_open_tcp(&place, NULL);
    assert_true(fd >= 0);
    scene->listener = listener_create(&scene->loop, fd,
                                      (struct listener_sink){ .caller = on_caller, .arg = scene });
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    conn_close(scene->near.conn);
    conn_close(scene->far.conn);
    listener_destroy(scene->listener);
    uv_close((uv_handle_t *)&scene->alarm, NULL);
    (void)uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
    tls_client_destroy(scene->client);
    tls_server_destroy(scene->server);
    free(scene);
    return 0;
}

static void call(struct scene *scene)
{
    const struct conn_terms how = terms(tls_client_transport, scene->client);
    const struct conn_target there = { .addr = "127.0.0.1",
                                       .port = listener_port(scene->listener) };
    scene->near.conn = conn_connect(&scene->loop, &there, &how, events_of(&scene->near));
}

static void wait_for(struct scene *scene, const int *value, int want)
{
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (*value < want) {
        if (clock_mono_ms() > until)
            fail_msg("waited in vain for %d, have %d", want, *value);
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    }
}

static void put_frames(struct conn *conn)
{
    static const char body[BODY];
    for (int i = 0; i < FRAMES; i++) {
        size_t mark = wire_begin(conn_out(conn), WIRE_PONG, 0);
        buf_add(conn_out(conn), body, sizeof body);
        wire_end(conn_out(conn), mark);
    }
    conn_flush(conn);
}

static void frames_arrive_and_an_end_after_them(void **state)
{
    struct scene *scene = *state;
    serve(scene, &scene->made);
    call(scene);
    put_frames(scene->near.conn); /* wait until both agree */
    wait_for(scene, &scene->far.frames, FRAMES);
    assert_int_equal(scene->near.ups, 1);
    assert_int_equal(scene->far.ups, 1);
    put_frames(scene->far.conn);
    conn_finish(scene->far.conn);
    wait_for(scene, &scene->near.closes, 1);
    wait_for(scene, &scene->far.closes, 1);
    assert_int_equal(scene->near.frames, FRAMES);
    assert_int_equal(scene->near.bytes, FRAMES * BODY);
    assert_int_equal(scene->far.bytes, FRAMES * BODY);
    assert_string_equal(scene->near.why, "the connection was closed");
}

static void a_question_is_answered(void **state)
{
    struct scene *scene = *state;
    serve(scene, &scene->made);
    call(scene);
    wait_for(scene, &scene->far.ups, 1);
    const struct conn_keep_alive_terms how = { .kind = WIRE_PING,
                                               .ask_ms = 1000,
                                               .silence_ms = 5000 };
    conn_keep_alive(scene->far.conn, &how);
    conn_pass_time(scene->far.conn, uv_now(&scene->loop) + 1000);
    wait_for(scene, &scene->near.pings, 1);
    wait_for(scene, &scene->far.frames, 1);
    assert_int_equal(scene->far.closes, 0);
}

static void nothing_is_sent_to_a_stranger(void **state)
{
    struct scene *scene = *state;
    serve(scene, &scene->other);
    call(scene);
    put_frames(scene->near.conn);
    wait_for(scene, &scene->near.closes, 1);
    wait_for(scene, &scene->far.closes, 1);
    assert_int_equal(scene->near.ups, 0);
    assert_int_equal(scene->far.frames, 0);
    assert_non_null(strstr(scene->near.why, "another certificate"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(frames_arrive_and_an_end_after_them),
        T(a_question_is_answered),
        T(nothing_is_sent_to_a_stranger),
    };
    return cmocka_run_group_tests_name("tls frames", tests, NULL, NULL);
}
