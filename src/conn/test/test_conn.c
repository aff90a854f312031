/* Connections over socket pairs and over TCP: frames whole and in pieces, bytes before frames,
 * back-pressure both ways, ends from either side, deadlines at times that the test gives, and a
 * transport that agrees first and changes every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "conn/conn.h"
#include "conn/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define PATIENCE_MS 120000u

struct end {
    struct conn *conn;
    int ups, frames, rooms, closes, asked;
    size_t bytes;       /* of bodies */
    int holds_after;    /* frames; then it reads no more */
    bool closes_itself; /* in the next frame */
    char line[16], why[80];
};
struct scene {
    uv_loop_t loop;
    uv_timer_t alarm;
    struct end near, far;
    int fd; /* the other end of near, where the test plays it */
};

static int on_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct end *end = arg;
    if (frame->kind == WIRE_EXIT)
        return -1;
    if (frame->kind == WIRE_PING) {
        size_t mark = wire_begin(conn_out(conn), WIRE_PONG, 0);
        end->asked++;
        wire_end(conn_out(conn), mark);
        conn_flush(conn);
    }
    end->frames++;
    end->bytes += frame->len;
    if (end->holds_after == end->frames)
        conn_read(conn, CONN_HOLDS);
    if (end->closes_itself)
        conn_close(TAKE(end->conn));
    return 0;
}

static void on_up(void *arg, struct conn *conn)
{
    (void)conn;
    ((struct end *)arg)->ups++;
}

static void on_room(void *arg, struct conn *conn)
{
    assert_true(conn_has_room(conn));
    ((struct end *)arg)->rooms++;
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    struct end *end = arg;
    assert_ptr_equal(conn, end->conn);
    end->conn = NULL;
    end->closes++;
    snprintf(end->why, sizeof end->why, "%s", why);
}

static struct conn_events events_of(struct end *end)
{
    return (struct conn_events){
        .frame = on_frame, .up = on_up, .room = on_room, .closed = on_closed, .arg = end
    };
}

/* A line, then frames. */
static ssize_t on_line(void *arg, struct conn *conn, char *at, size_t len)
{
    struct end *end = arg;
    const char *newline = memchr(at, '\n', len);
    if (!newline)
        return len < sizeof end->line ? 0 : -1;
    memcpy(end->line, at, (size_t)(newline - at));
    conn_set_events(conn, events_of(end));
    return newline + 1 - at;
}

static struct conn_terms terms(void)
{
    return (struct conn_terms){ .kinds = CONN_AGENT_KINDS, .out_max = 8u << 20, .room = 64u << 10 };
}

static void on_alarm(uv_timer_t *timer)
{
    (void)timer; /* wakes the loop so that the patience is looked at */
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    uv_timer_init(&scene->loop, &scene->alarm);
    uv_timer_start(&scene->alarm, on_alarm, 100, 100);
    scene->fd = -1;
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    conn_close(scene->near.conn);
    conn_close(scene->far.conn);
    if (scene->fd >= 0)
        close(scene->fd);
    uv_close((uv_handle_t *)&scene->alarm, NULL);
    (void)uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
    free(scene);
    return 0;
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

/* Everything that can happen without waiting has happened. */
static void settle(struct scene *scene)
{
    for (int i = 0; i < 50; i++)
        (void)uv_run(&scene->loop, UV_RUN_NOWAIT);
}

static void make_pair(struct scene *scene, const struct conn_terms *how, bool both)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    scene->near.conn = conn_create(&scene->loop, pair[0], how, events_of(&scene->near));
    if (both)
        scene->far.conn = conn_create(&scene->loop, pair[1], how, events_of(&scene->far));
    else
        scene->fd = pair[1];
}

static void put(struct buf *out, enum wire_kind kind, size_t len)
{
    AUTO_FREE char *body = mem_new(len + 1);
    size_t mark = wire_begin(out, kind, 7);
    buf_add(out, body, len);
    wire_end(out, mark);
}

static void send_frame(struct conn *conn, enum wire_kind kind, size_t len)
{
    put(conn_out(conn), kind, len);
    conn_flush(conn);
}

static void frames_go_both_ways(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    make_pair(scene, &how, true);
    for (int i = 0; i < 1000; i++)
        put(conn_out(scene->near.conn), WIRE_PONG, 3);
    conn_flush(scene->near.conn);
    send_frame(scene->far.conn, WIRE_LOG, 3u << 20); /* more than a socket holds */
    wait_for(scene, &scene->far.frames, 1000);
    wait_for(scene, &scene->near.frames, 1);
    assert_int_equal(scene->far.bytes, 3000);
    assert_int_equal(scene->near.bytes, 3u << 20);
    conn_close(TAKE(scene->near.conn));
    wait_for(scene, &scene->far.closes, 1);
    assert_int_equal(scene->near.closes, 0); /* who closes is not told */
    assert_string_equal(scene->far.why, "the connection was closed");
}

static void a_frame_comes_in_pieces(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    AUTO_BUF struct buf said = BUF_INIT(1024);
    make_pair(scene, &how, false);
    put(&said, WIRE_PONG, 5);
    put(&said, WIRE_PONG, 6);
    for (size_t i = 0; i < said.len; i++) {
        assert_int_equal(write(scene->fd, said.data + i, 1), 1);
        settle(scene);
    }
    assert_int_equal(scene->near.frames, 2);
    assert_int_equal(scene->near.bytes, 11);
}

static void what_is_not_understood_ends_it(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    static const char *const strange[] = { NULL, "no agent says this" };
    for (int i = 0; i < 2; i++) {
        how.strange = strange[i];
        make_pair(scene, &how, true);
        if (i == 0)
            buf_puts(conn_out(scene->far.conn), "\xff\xff\xff\xff\xff\xff");
        else
            put(conn_out(scene->far.conn), WIRE_EXIT, 0);
        conn_flush(scene->far.conn);
        wait_for(scene, &scene->near.closes, i + 1);
        assert_string_equal(scene->near.why, i ? strange[1] : "it is not understood");
        wait_for(scene, &scene->far.closes, i + 1);
    }
}

static void it_may_close_inside_a_frame(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    make_pair(scene, &how, true);
    scene->near.closes_itself = true;
    for (int i = 0; i < 3; i++)
        put(conn_out(scene->far.conn), WIRE_PONG, 1);
    conn_flush(scene->far.conn);
    wait_for(scene, &scene->far.closes, 1);
    assert_int_equal(scene->near.frames, 1);
}

static void bytes_come_before_frames(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    AUTO_BUF struct buf said = BUF_INIT(1024);
    make_pair(scene, &how, false);
    struct conn_events events = events_of(&scene->near);
    events.bytes = on_line;
    conn_set_events(scene->near.conn, events);
    conn_unread(scene->near.conn, "co", 2); /* was read by somebody before */
    buf_puts(&said, "okie\n");
    put(&said, WIRE_PONG, 5);
    assert_int_equal(scene->near.frames, 0);
    assert_int_equal(write(scene->fd, said.data, 3), 3);
    settle(scene);
    assert_string_equal(scene->near.line, "");
    assert_int_equal(write(scene->fd, said.data + 3, said.len - 3), said.len - 3);
    wait_for(scene, &scene->near.frames, 1);
    assert_string_equal(scene->near.line, "cookie");
    conn_set_events(scene->near.conn, events);
    assert_int_equal(write(scene->fd, "a line that is too long", 23), 23);
    wait_for(scene, &scene->near.closes, 1);
}

/* Held input stays in the socket, so the sender has no room; it goes on where it stopped. */
static void who_does_not_read_holds_up_the_sender(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    make_pair(scene, &how, true);
    scene->far.holds_after = 3;
    int sent = 0;
    while (conn_has_room(scene->near.conn)) {
        send_frame(scene->near.conn, WIRE_STDIN, 1000);
        sent++;
        settle(scene);
    }
    assert_int_equal(scene->far.frames, 3);
    assert_int_equal(scene->near.rooms, 0);
    conn_read(scene->far.conn, CONN_READS);
    assert_int_equal(scene->far.frames, 3); /* from the loop, not from inside */
    wait_for(scene, &scene->far.frames, sent);
    wait_for(scene, &scene->near.rooms, 1);
    assert_int_equal(scene->near.rooms, 1);
}

/* Room that its own flush makes is told as well: nothing else would wake the owner. */
static void room_is_told_after_a_flush(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    static char piece[1 << 20];
    make_pair(scene, &how, false);
    while (conn_has_room(scene->near.conn))
        send_frame(scene->near.conn, WIRE_STDIN, 1000);
    while (recv(scene->fd, piece, sizeof piece, MSG_DONTWAIT) > 0)
        conn_flush(scene->near.conn);
    wait_for(scene, &scene->near.rooms, 1);
}

static void who_never_reads_is_closed_at_the_bound(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    how.out_max = 1u << 20;
    make_pair(scene, &how, false);
    for (int i = 0; i < 3; i++)
        send_frame(scene->near.conn, WIRE_LOG, 900u << 10);
    assert_int_equal(scene->near.closes, 0); /* from the loop, not from inside */
    wait_for(scene, &scene->near.closes, 1);
    assert_string_equal(scene->near.why, "it does not take what is sent");
}

static void the_end_is_noticed_while_it_watches(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    make_pair(scene, &how, false);
    conn_read(scene->near.conn, CONN_WATCHES);
    assert_int_equal(write(scene->fd, "unread", 6), 6);
    settle(scene);
    assert_int_equal(scene->near.closes, 0);
    close(scene->fd);
    scene->fd = -1;
    wait_for(scene, &scene->near.closes, 1);
    assert_string_equal(scene->near.why, "the connection was closed");
}

static size_t read_rest(struct scene *scene, ssize_t *last)
{
    static char piece[1 << 16];
    size_t all = 0;
    while ((*last = recv(scene->fd, piece, sizeof piece, MSG_DONTWAIT)) > 0) {
        all += (size_t)*last;
        settle(scene);
    }
    return all;
}

/* The rest is sent, input that nobody reads any more does not reset the connection, and the end
 * comes after both. */
static void it_finishes_with_everything_sent(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    ssize_t last;
    make_pair(scene, &how, false);
    assert_int_equal(write(scene->fd, "not looked at", 13), 13);
    put(conn_out(scene->near.conn), WIRE_STDOUT, 4u << 20);
    conn_finish(scene->near.conn);
    assert_false(conn_has_room(scene->near.conn));
    assert_int_equal(read_rest(scene, &last), (4u << 20) + WIRE_HEAD);
    assert_int_equal(last, 0);
    assert_int_equal(scene->near.closes, 0);
    assert_int_equal(scene->near.frames, 0);
    close(scene->fd);
    scene->fd = -1;
    wait_for(scene, &scene->near.closes, 1);
}

/* Held input is work for later no more: the loop went round its timer for ever. */
static void it_finishes_with_input_held(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    make_pair(scene, &how, true);
    scene->near.holds_after = 1;
    for (int i = 0; i < 3; i++)
        put(conn_out(scene->far.conn), WIRE_PONG, 1);
    conn_flush(scene->far.conn);
    wait_for(scene, &scene->near.frames, 1);
    conn_read(scene->near.conn, CONN_READS);
    conn_finish(scene->near.conn);
    wait_for(scene, &scene->far.closes, 1);
    wait_for(scene, &scene->near.closes, 1);
    assert_int_equal(scene->near.frames, 1);
}

static void finishing_has_its_time(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    make_pair(scene, &how, false);
    put(conn_out(scene->near.conn), WIRE_STDOUT, 4u << 20);
    conn_finish(scene->near.conn);
    settle(scene);
    assert_int_equal(scene->near.closes, 0);
    conn_pass_time(scene->near.conn, uv_now(&scene->loop) + 3600000u);
    assert_int_equal(scene->near.closes, 1);
    assert_string_equal(scene->near.why, "it did not close");
}

static void a_silent_caller_has_to_go(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    how.handshake_ms = 3600000u;
    make_pair(scene, &how, true);
    conn_admit(scene->far.conn);
    uint64_t late = uv_now(&scene->loop) + 3600000u;
    conn_pass_time(scene->near.conn, late - 60000u);
    assert_int_equal(scene->near.closes, 0);
    conn_pass_time(scene->near.conn, late);
    assert_int_equal(scene->near.closes, 1);
    assert_string_equal(scene->near.why, "it has not said who it is");
    conn_pass_time(scene->far.conn, late);
    assert_int_equal(scene->far.closes, 0);
}

static void over_tcp(struct scene *scene, const struct conn_terms *how);

static void keeps_alive(struct scene *scene)
{
    const struct conn_keep_alive_terms keep = { .kind = WIRE_PING,
                                                .ask_ms = 600000,
                                                .silence_ms = 1500000 };
    conn_keep_alive(scene->near.conn, &keep);
    uint64_t now = uv_now(&scene->loop);
    conn_pass_time(scene->near.conn, now + 590000);
    settle(scene);
    assert_int_equal(scene->far.asked, 0);
    conn_pass_time(scene->near.conn, now + 600000);
    wait_for(scene, &scene->near.frames, 1); /* the answer */
    assert_int_equal(scene->far.asked, 1);
    conn_read(scene->far.conn, CONN_HOLDS); /* it hangs */
    now = uv_now(&scene->loop);
    conn_pass_time(scene->near.conn, now + 1200000);
    assert_int_equal(scene->near.closes, 0);
    conn_pass_time(scene->near.conn, now + 1500000);
    assert_int_equal(scene->near.closes, 1);
    assert_string_equal(scene->near.why, "it fell silent");
}

static void silence_ends_what_keeps_alive(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    make_pair(scene, &how, true);
    keeps_alive(scene);
}

static void silence_ends_it_over_tcp(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    over_tcp(scene, &how);
    keeps_alive(scene);
}

static struct transport *remember_socket(void *arg, int fd)
{
    *(int *)arg = fd;
    return transport_plain(fd);
}

static int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof value;
    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

/* What the kernel was told is all that can be seen without pulling a cable. */
static void the_kernel_watches_tcp(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    int fd = -1;
    how.tcp_silence_ms = 9000;
    how.over = remember_socket;
    how.over_arg = &fd;
    over_tcp(scene, &how);
    wait_for(scene, &scene->near.ups, 1);
    assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 9000);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 3);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
}

static void a_socket_can_be_given_away(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    char said[6];
    make_pair(scene, &how, false);
    int fd = conn_release(TAKE(scene->near.conn));
    settle(scene);
    assert_int_equal(write(fd, "still", 5), 5);
    assert_int_equal(recv(scene->fd, said, sizeof said, MSG_DONTWAIT), 5);
    assert_int_equal(scene->near.closes, 0);
    close(fd);
}

/* ---- connecting ---- */

static void on_caller(void *arg, int fd)
{
    struct scene *scene = arg;
    struct conn_terms how = terms();
    scene->far.conn = conn_create(&scene->loop, fd, &how, events_of(&scene->far));
    scene->far.ups++;
}

static void over_tcp(struct scene *scene, const struct conn_terms *how)
{
    struct listen_place place = { .addr = "127.0.0.1" };
    struct err err;
    int fd = listener_open_tcp(&place, &err);
    assert_true(fd >= 0);
    struct listener *listener = listener_create(
        &scene->loop, fd, (struct listener_sink){ .caller = on_caller, .arg = scene });
    struct conn_target to = { .addr = "127.0.0.1", .port = listener_port(listener) };
    scene->near.conn = conn_connect(&scene->loop, &to, how, events_of(&scene->near));
    assert_int_equal(scene->near.ups, 0);
    wait_for(scene, &scene->near.ups, 1);
    wait_for(scene, &scene->far.ups, 1);
    listener_destroy(listener);
}

static void what_is_said_before_it_is_up_waits(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    char addr[ADDRESS_MAX];
    over_tcp(scene, &how);
    conn_address(scene->near.conn, false, addr);
    assert_string_equal(addr, "127.0.0.1");
    conn_address(scene->far.conn, true, addr);
    assert_string_equal(addr, "127.0.0.1");
    send_frame(scene->near.conn, WIRE_PONG, 1);
    wait_for(scene, &scene->far.frames, 1);
}

static void failures_to_connect_come_from_the_loop(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    struct listen_place place = { .addr = "127.0.0.1" };
    struct err err;
    int fd = listener_open_tcp(&place, &err);
    const struct conn_target targets[] = {
        { .addr = "127.0.0.1", .port = address_port(fd) },
        { .addr = "not-an-address", .port = 1 },
        { .path = "/nowhere/socket" },
    };
    static const char *const whys[] = { "Connection refused", "not a numeric address",
                                        "No such file or directory" };
    close(fd);
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        scene->near.conn = conn_connect(&scene->loop, &targets[i], &how, events_of(&scene->near));
        put(conn_out(scene->near.conn), WIRE_PONG, 1);
        conn_flush(scene->near.conn);
        assert_int_equal(scene->near.closes, i);
        wait_for(scene, &scene->near.closes, (int)i + 1);
        assert_string_equal(scene->near.why, whys[i]);
    }
    assert_int_equal(scene->near.ups, 0);
}

static void nobody_waits_for_ever_for_an_answer(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    how.handshake_ms = 3600000u;
    /* 192.0.2.1 is of nobody; where there is no way to it, connecting fails at once. */
    struct conn_target to = { .addr = "192.0.2.1", .port = 9 };
    scene->near.conn = conn_connect(&scene->loop, &to, &how, events_of(&scene->near));
    conn_pass_time(scene->near.conn, uv_now(&scene->loop) + 3600000u);
    wait_for(scene, &scene->near.closes, 1);
    assert_true(strlen(scene->near.why) > 0);
}

/* ---- another transport ---- */

/* Each says a byte first and waits for the other's; then every byte is changed. It reads ahead as
 * one that decrypts records does: what it holds is in no socket. */
struct changed {
    struct transport base;
    struct transport *plain;
    bool said;
    unsigned char ahead[700];
    size_t n_ahead;
};

static enum transport_state changed_start(struct transport *t)
{
    struct changed *c = (struct changed *)t;
    char hello = '!';
    size_t n = 0;
    enum transport_state state = TRANSPORT_READY;
    if (!c->said)
        state = c->plain->calls->write(c->plain, &hello, 1, &n);
    c->said = c->said || n == 1;
    if (!c->said)
        return state;
    state = c->plain->calls->read(c->plain, &hello, 1, &n);
    if (n == 1)
        return hello == '!' ? TRANSPORT_READY : TRANSPORT_BROKEN;
    return state;
}

static enum transport_state changed_read(struct transport *t, void *at, size_t size, size_t *n)
{
    struct changed *c = (struct changed *)t;
    enum transport_state state = TRANSPORT_READY;
    *n = 0;
    if (c->n_ahead == 0)
        state = c->plain->calls->read(c->plain, c->ahead, sizeof c->ahead, &c->n_ahead);
    if (c->n_ahead == 0)
        return state;
    *n = c->n_ahead < 100 ? c->n_ahead : 100;
    *n = *n < size ? *n : size;
    for (size_t i = 0; i < *n; i++)
        ((unsigned char *)at)[i] = c->ahead[i] ^ 0x55;
    c->n_ahead -= *n;
    memmove(c->ahead, c->ahead + *n, c->n_ahead);
    return TRANSPORT_READY;
}

static enum transport_state changed_write(struct transport *t, const void *at, size_t len,
                                          size_t *n)
{
    struct changed *c = (struct changed *)t;
    unsigned char piece[64];
    size_t room = len < sizeof piece ? len : sizeof piece;
    for (size_t i = 0; i < room; i++)
        piece[i] = ((const unsigned char *)at)[i] ^ 0x55;
    return c->plain->calls->write(c->plain, piece, room, n);
}

static enum transport_state changed_finish(struct transport *t)
{
    struct changed *c = (struct changed *)t;
    return c->plain->calls->finish(c->plain);
}

static void changed_close(struct transport *t)
{
    struct changed *c = (struct changed *)t;
    c->plain->calls->close(c->plain);
    free(c);
}

static struct transport *changed_over(void *arg, int fd)
{
    static const struct transport_calls calls = { .start = changed_start,
                                                  .read = changed_read,
                                                  .write = changed_write,
                                                  .finish = changed_finish,
                                                  .close = changed_close };
    struct changed *c = mem_new(sizeof *c);
    (void)arg;
    c->base = (struct transport){ .calls = &calls, .fd = fd };
    c->plain = transport_plain(fd);
    return &c->base;
}

static void another_transport_carries_the_same_frames(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    how.over = changed_over;
    make_pair(scene, &how, true);
    send_frame(scene->near.conn, WIRE_PONG, 10); /* waits until they agree */
    wait_for(scene, &scene->far.frames, 1);
    assert_int_equal(scene->near.ups, 1); /* the other one could agree at once */
    assert_int_equal(scene->far.ups, 0);
    for (int i = 0; i < 300; i++)
        put(conn_out(scene->far.conn), WIRE_PONG, 1000);
    conn_finish(scene->far.conn);
    wait_for(scene, &scene->near.frames, 300);
    wait_for(scene, &scene->near.closes, 1);
    wait_for(scene, &scene->far.closes, 1);
    assert_int_equal(scene->near.bytes, 300000);
}

static void a_transport_that_does_not_agree_ends_it(void **state)
{
    struct scene *scene = *state;
    struct conn_terms how = terms();
    how.over = changed_over;
    how.handshake_ms = 3600000u;
    make_pair(scene, &how, false);
    settle(scene);
    assert_int_equal(scene->near.ups, 0);
    assert_int_equal(write(scene->fd, "?", 1), 1);
    wait_for(scene, &scene->near.closes, 1);
    close(scene->fd);
    make_pair(scene, &how, false);
    conn_pass_time(scene->near.conn, uv_now(&scene->loop) + 3600000u);
    assert_int_equal(scene->near.closes, 2);
    assert_string_equal(scene->near.why, "no answer");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(frames_go_both_ways),
        TEST(a_frame_comes_in_pieces),
        TEST(what_is_not_understood_ends_it),
        TEST(it_may_close_inside_a_frame),
        TEST(bytes_come_before_frames),
        TEST(who_does_not_read_holds_up_the_sender),
        TEST(room_is_told_after_a_flush),
        TEST(who_never_reads_is_closed_at_the_bound),
        TEST(the_end_is_noticed_while_it_watches),
        TEST(it_finishes_with_everything_sent),
        TEST(it_finishes_with_input_held),
        TEST(finishing_has_its_time),
        TEST(a_silent_caller_has_to_go),
        TEST(silence_ends_what_keeps_alive),
        TEST(silence_ends_it_over_tcp),
        TEST(the_kernel_watches_tcp),
        TEST(a_socket_can_be_given_away),
        TEST(what_is_said_before_it_is_up_waits),
        TEST(failures_to_connect_come_from_the_loop),
        TEST(nobody_waits_for_ever_for_an_answer),
        TEST(another_transport_carries_the_same_frames),
        TEST(a_transport_that_does_not_agree_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
