/* The agent's connection over TLS to a server on the same loop: it says its token to nobody but the
 * server of its pin, resumes its session, goes to the next address, and reads agent.conf again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "conn/conn.h"
#include "conn/listener.h"
#include "node/uplink.h"
#include "tls/server.h"
#include "tls/test/made.h"

#include <stdio.h>
#include <string.h>

#define PATIENCE_MS 120000u
#define AGREE       "HTTP/1.1 101 Switching Protocols\r\nUpgrade: muster/1\r\n\r\n"
#define REFUSE      "HTTP/1.1 401 Unauthorized\r\n\r\n"

struct scene {
    uv_loop_t loop;
    uv_timer_t alarm; /* wakes the loop so that the patience is looked at */
    char dir[32];
    struct made made, other;
    struct tls_server *server;
    struct listener *listener;
    uint16_t port;
    struct conn *far; /* the server's end of the last connection */
    struct transport *over;
    const char *answer;
    int calls, requests, resumed, far_frames, far_closes;
    struct uplink *link;
    int connected, frames, lost, refused;
};

/* ---- the server ---- */

static int far_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct scene *scene = arg;
    (void)conn;
    (void)frame;
    scene->far_frames++;
    return 0;
}

static void far_closed(void *arg, struct conn *conn, const char *why)
{
    struct scene *scene = arg;
    (void)why;
    scene->far_closes++;
    if (scene->far == conn)
        scene->far = NULL;
}

static ssize_t far_bytes(void *arg, struct conn *conn, char *at, size_t len)
{
    struct scene *scene = arg;
    const char *end = memmem(at, len, "\r\n\r\n", 4);
    if (!end)
        return 0;
    assert_non_null(memmem(at, len, "\r\nAuthorization: Bearer 00ff\r\n", 29));
    scene->requests++;
    scene->resumed += tls_server_resumed(scene->over);
    conn_set_events(conn,
                    (struct conn_events){ .frame = far_frame, .closed = far_closed, .arg = scene });
    buf_puts(conn_out(conn), scene->answer);
    conn_flush(conn);
    return end + 4 - at;
}

static struct transport *over_tls(void *arg, int fd)
{
    struct scene *scene = arg;
    return scene->over = tls_server_transport(scene->server, fd);
}

static void on_caller(void *arg, int fd)
{
    struct scene *scene = arg;
    const struct conn_terms terms = { .kinds = CONN_AGENT_KINDS,
                                      .out_max = 1u << 20,
                                      .room = 1u << 16,
                                      .over = over_tls,
                                      .over_arg = scene };
    scene->calls++;
    conn_close(scene->far);
    scene->far =
        conn_create(&scene->loop, fd, &terms,
                    (struct conn_events){ .bytes = far_bytes, .closed = far_closed, .arg = scene });
}

static void serve(struct scene *scene, const struct made *made)
{
    struct tls_server_config config = { .chain = made->chain, .key = made->key };
    scene->server = tls_server_create(&config, NULL);
    assert_non_null(scene->server);
}

/* ---- the agent ---- */

static void on_connected(void *arg, struct buf *out)
{
    struct scene *scene = arg;
    scene->connected++;
    wire_end(out, wire_begin(out, WIRE_PING, 0));
}

static int on_frame(void *arg, const struct wire_frame *frame)
{
    struct scene *scene = arg;
    (void)frame;
    scene->frames++;
    return 0;
}

static void on_lost(void *arg)
{
    ((struct scene *)arg)->lost++;
}

static void on_refused(void *arg, int status)
{
    ((struct scene *)arg)->refused = status;
}

static void write_conf(struct scene *scene, const char *places, const struct made *made)
{
    AUTO_BUF struct buf text = BUF_INIT(4096);
    AUTO_FREE char *path = mem_printf("%s/agent.conf", scene->dir);
    buf_addf(&text, "token=00ff\njob=7\ngeneration=1\nnode=n1\ncookie=c\ntcp=%s\npin=", places);
    for (size_t i = 0; i < sizeof made->pin; i++)
        buf_addf(&text, "%02x", made->pin[i]);
    buf_putc(&text, '\n');
    assert_int_equal(file_replace(path, text.data, text.len, 0600, NULL), 0);
}

static const char *here(struct scene *scene, char out[32])
{
    snprintf(out, 32, "127.0.0.1:%u", scene->port);
    return out;
}

static void start(struct scene *scene)
{
    scene->link = uplink_create(&scene->loop, scene->dir,
                                (struct uplink_sink){ .connected = on_connected,
                                                      .frame = on_frame,
                                                      .lost = on_lost,
                                                      .refused = on_refused,
                                                      .arg = scene });
    uplink_start(scene->link);
}

/* ---- the scene ---- */

static void on_alarm(uv_timer_t *timer)
{
    (void)timer;
}

static void wait_for(struct scene *scene, const int *count, int least)
{
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (*count < least && clock_mono_ms() < until)
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    assert_true(*count >= least);
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    struct listen_place place = { .addr = "127.0.0.1" };
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    uv_timer_init(&scene->loop, &scene->alarm);
    uv_timer_start(&scene->alarm, on_alarm, 100, 100);
    snprintf(scene->dir, sizeof scene->dir, "/tmp/muster-uplink-XXXXXX");
    assert_non_null(mkdtemp(scene->dir));
    make_certificate(&scene->made);
    make_certificate(&scene->other);
    scene->answer = AGREE;
    int fd = listener_open_tcp(&place, NULL);
    assert_true(fd >= 0);
    scene->listener = listener_create(&scene->loop, fd,
                                      (struct listener_sink){ .caller = on_caller, .arg = scene });
    scene->port = listener_port(scene->listener);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    uplink_destroy(scene->link);
    conn_close(scene->far);
    listener_destroy(scene->listener);
    uv_close((uv_handle_t *)&scene->alarm, NULL);
    (void)uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
    tls_server_destroy(scene->server);
    assert_int_equal(file_remove_tree(scene->dir, NULL), 0);
    free(scene);
    return 0;
}

static void frames_pass_and_a_session_is_resumed(void **state)
{
    struct scene *scene = *state;
    char place[32];
    serve(scene, &scene->made);
    write_conf(scene, here(scene, place), &scene->made);
    start(scene);
    wait_for(scene, &scene->far_frames, 1);
    assert_true(uplink_is_up(scene->link));
    wire_end(conn_out(scene->far), wire_begin(conn_out(scene->far), WIRE_PONG, 0));
    conn_flush(scene->far);
    wait_for(scene, &scene->frames, 1);
    for (int round = 1; round <= 3; round++) {
        conn_close(TAKE(scene->far));
        wait_for(scene, &scene->lost, round);
        wait_for(scene, &scene->far_frames, round + 1);
        assert_int_equal(scene->connected, round + 1);
        assert_int_equal(scene->resumed, round);
    }
}

static void the_token_is_said_to_no_other_server(void **state)
{
    struct scene *scene = *state;
    char place[32];
    serve(scene, &scene->other);
    write_conf(scene, here(scene, place), &scene->made);
    start(scene);
    wait_for(scene, &scene->far_closes, 3); /* it tries again, and learns nothing */
    assert_int_equal(scene->requests, 0);
    assert_int_equal(scene->connected, 0);
    assert_int_equal(scene->refused, 0);
    write_conf(scene, here(scene, place), &scene->other); /* the engine knows better */
    wait_for(scene, &scene->connected, 1);
}

static void the_next_address_is_tried(void **state)
{
    struct scene *scene = *state;
    struct listen_place nobody = { .addr = "127.0.0.1" };
    int fd = listener_open_tcp(&nobody, NULL); /* a port that is ours */
    char place[32];
    struct listener *listener = listener_create(&scene->loop, fd, (struct listener_sink){ 0 });
    AUTO_FREE char *places =
        mem_printf("127.0.0.1:%u,%s", listener_port(listener), here(scene, place));
    listener_destroy(listener);
    serve(scene, &scene->made);
    write_conf(scene, places, &scene->made);
    start(scene);
    wait_for(scene, &scene->connected, 1);
    assert_int_equal(scene->lost, 0);
}

static void a_server_that_moved_is_found(void **state)
{
    struct scene *scene = *state;
    struct listen_place there = { .addr = "127.0.0.1" };
    char place[32];
    serve(scene, &scene->made);
    write_conf(scene, here(scene, place), &scene->made);
    start(scene);
    wait_for(scene, &scene->connected, 1);
    listener_destroy(scene->listener);
    scene->listener = listener_create(&scene->loop, listener_open_tcp(&there, NULL),
                                      (struct listener_sink){ .caller = on_caller, .arg = scene });
    scene->port = listener_port(scene->listener);
    conn_close(TAKE(scene->far));
    wait_for(scene, &scene->lost, 1);
    write_conf(scene, here(scene, place), &scene->made);
    wait_for(scene, &scene->connected, 2);
    assert_int_equal(scene->resumed, 1);
}

static void a_token_that_is_no_more_ends_it(void **state)
{
    struct scene *scene = *state;
    char place[32];
    scene->answer = REFUSE;
    serve(scene, &scene->made);
    write_conf(scene, here(scene, place), &scene->made);
    start(scene);
    wait_for(scene, &scene->refused, 401);
    assert_int_equal(scene->connected, 0);
    assert_int_equal(scene->calls, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(frames_pass_and_a_session_is_resumed),
        T(the_token_is_said_to_no_other_server),
        T(the_next_address_is_tried),
        T(a_server_that_moved_is_found),
        T(a_token_that_is_no_more_ends_it),
    };
    return cmocka_run_group_tests_name("uplink", tests, NULL, NULL);
}
