/* A host of rdzv/ with sockets around it. Orders for the member in this process wait until the loop
 * turns: it answers from inside them, and the machine must not be entered twice. Deadlines are
 * asked for once per turn of the loop, however many events it had. */
#include "launch/leader.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "conn/conn.h"
#include "launch/rdzv_listener.h"
#include "rdzv/host.h"

#include <stdio.h>

#define PROBE_MS        1000u
#define PROBE_ANSWER_MS 500u
#define HELD_MAX        (4u << 20)
#define ORDERS_MAX      (64u << 20)
#define REFUSED_MAX     64u /* connections with a wrong token that were told so */
/* Launchers look for silence once per beat, so they notice a silent leader one beat apart. */
#define RESUME_SLACK_MS 500u
#define STOP_SLACK_MS   15000u /* after the grace of a stop, before a member counts as stuck */

#define OWN_CONN UINT64_MAX /* of the member in this process, which has none */

struct caller {
    struct leader *leader;
    struct conn *conn;
    uint64_t id; /* for the host */
    bool refused, spoke;
    struct buf held; /* frames for whoever leads */
};

struct leader {
    uv_loop_t *loop;
    const struct settings *settings;
    uint64_t own;
    struct leader_sink sink;
    char preface[RDZV_PREFACE_MAX + 1];
    struct rdzv_listener *listener;
    struct store_server *store;
    struct rdzv_host *host; /* NULL: asleep */
    VEC(struct caller *) callers;
    struct map *by_id; /* the same */
    uint64_t last_caller;
    struct arena *arena; /* of one frame */
    struct buf own_orders;
    uv_prepare_t turn;
    uv_timer_t tick, probe_timer;
    int handles;
    bool dirty; /* events came since the machine was asked for its deadline */
    bool moved; /* asleep, and the leader is there: */
    uint64_t moved_term;
    char moved_addr[256];
    uint16_t moved_port;
    struct conn *probe;
    char probe_addr[64];
    uint16_t probe_port;
};

/* ---- orders out ---- */

static void on_order(void *arg, const struct rdzv_participant *to, const struct rdzv_order *order)
{
    struct leader *leader = arg;
    struct caller *caller = map_get(leader->by_id, to->conn);
    if (to->conn == OWN_CONN)
        rdzv_put_order(&leader->own_orders, order);
    if (!caller)
        return;
    rdzv_put_order(conn_out(caller->conn), order);
    conn_flush(caller->conn);
}

static void on_news(void *arg, const struct rdzv_participant *about, const struct rdzv_notice *news)
{
    struct leader *leader = arg;
    (void)about;
    if (leader->sink.news)
        leader->sink.news(leader->sink.arg, news->text);
}

/* ---- the turn of the loop ---- */

static void on_tick(uv_timer_t *timer)
{
    struct leader *leader = timer->data;
    leader->dirty = true;
}

static void ask_deadline(struct leader *leader)
{
    leader->dirty = false;
    if (!leader->host)
        return;
    uint64_t due_us = rdzv_host_tick(leader->host, clock_mono_us());
    if (due_us == UINT64_MAX) {
        uv_timer_stop(&leader->tick);
        return;
    }
    uint64_t now = clock_mono_us();
    uint64_t wait = due_us > now ? (due_us - now + 999u) / 1000u : 0;
    uv_update_time(leader->loop);
    uv_timer_start(&leader->tick, on_tick, wait, 0);
}

static void deliver_own(struct leader *leader)
{
    AUTO_BUF struct buf orders = leader->own_orders;
    size_t done = 0, used;
    struct rdzv_frame_data frame;
    buf_init(&leader->own_orders, ORDERS_MAX);
    while (done < orders.len &&
           rdzv_next(orders.data + done, orders.len - done, &frame, &used) == 1) {
        leader->sink.order(leader->sink.arg, &frame);
        done += used;
    }
}

/* The beats of the member in this process: it is alive as long as this runs. */
static void beat_own(struct leader *leader)
{
    if (leader->host)
        rdzv_host_beat(leader->host, leader->own, clock_mono_us());
}

static void on_turn(uv_prepare_t *turn)
{
    struct leader *leader = turn->data;
    while (leader->dirty || leader->own_orders.len > 0) {
        if (leader->dirty) {
            beat_own(leader);
            ask_deadline(leader);
        }
        if (leader->own_orders.len > 0)
            deliver_own(leader);
    }
}

/* ---- frames in ---- */

static void forget(struct leader *leader, struct caller *caller)
{
    for (size_t i = 0; i < leader->callers.n; i++)
        if (leader->callers.at[i] == caller) {
            vec_remove(&leader->callers, i);
            break;
        }
    (void)map_remove(leader->by_id, caller->id);
    buf_fini(&caller->held);
    free(caller);
    if (leader->callers.n == 0 && leader->sink.alone)
        leader->sink.alone(leader->sink.arg);
}

static void on_replaced(void *arg, uint64_t conn)
{
    struct leader *leader = arg;
    struct caller *former = map_get(leader->by_id, conn);
    conn_close(former->conn);
    forget(leader, former);
}

static int hear_join(struct leader *leader, uint64_t conn, const struct rdzv_frame_data *frame)
{
    struct rdzv_join join;
    if (rdzv_get(frame, leader->arena, &join) != 0 || join.member == 0)
        return -1;
    if (conn != OWN_CONN && join.member == leader->own)
        return -1;
    return rdzv_host_join(leader->host, conn, 0, &join, clock_mono_us());
}

/* While it leads. */
static int hear(struct leader *leader, uint64_t conn, const struct rdzv_frame_data *frame)
{
    leader->dirty = true;
    if (frame->kind == RDZV_FRAME_JOIN)
        return hear_join(leader, conn, frame);
    return rdzv_host_hear(leader->host, conn, frame, leader->arena, clock_mono_us());
}

static void hold(struct caller *caller, const struct rdzv_frame_data *frame)
{
    size_t mark = wire_begin(&caller->held, (enum wire_kind)frame->kind, 0);
    buf_add(&caller->held, frame->body, frame->len);
    wire_end(&caller->held, mark);
}

static uint64_t own_term(const struct leader *leader)
{
    return rdzv_term(rdzv_host_rendezvous(leader->host));
}

static void put_moved(struct leader *leader, struct conn *conn)
{
    struct rdzv_leader_address to = { .term = leader->moved_term,
                                      .addr = leader->moved_addr,
                                      .port = leader->moved_port };
    rdzv_put(conn_out(conn), &to);
    conn_flush(conn);
}

/* Another leader of this run. The higher term is right; with equal ones the launcher at the
 * original endpoint, since that is where latecomers look. */
static int hear_lead(struct leader *leader, struct caller *caller,
                     const struct rdzv_frame_data *frame)
{
    struct rdzv_leader_address to;
    if (rdzv_get(frame, leader->arena, &to) != 0)
        return -1;
    if (!leader->host) {
        if (!leader->moved || to.term > leader->moved_term) {
            leader_sleep(leader, &to);
            leader->sink.moved(leader->sink.arg, &to);
        } else if (to.term < leader->moved_term) {
            put_moved(leader, caller->conn); /* it slept while another took over */
        }
        return 0;
    }
    if (to.term > own_term(leader)) {
        leader_sleep(leader, &to);
        leader->sink.moved(leader->sink.arg, &to);
        return 0;
    }
    char addr[ADDRESS_MAX];
    conn_address(caller->conn, false, addr);
    struct rdzv_leader_address here = { .term = own_term(leader),
                                        .addr = addr,
                                        .port = leader_port(leader) };
    rdzv_put(conn_out(caller->conn), &here);
    conn_flush(caller->conn);
    return 0;
}

static int hear_caller(struct caller *caller, const struct rdzv_frame_data *frame)
{
    struct leader *leader = caller->leader;
    arena_reset(leader->arena);
    if (frame->kind == RDZV_FRAME_LEAD)
        return hear_lead(leader, caller, frame);
    if (frame->kind == RDZV_FRAME_BEAT) {
        if (leader->host && rdzv_host_at(leader->host, caller->id))
            (void)rdzv_host_hear(leader->host, caller->id, frame, leader->arena, clock_mono_us());
        rdzv_put_as(conn_out(caller->conn), RDZV_FRAME_BEAT, NULL);
        conn_flush(caller->conn);
        return 0;
    }
    if (!leader->host) {
        if (leader->moved)
            put_moved(leader, caller->conn);
        else
            hold(caller, frame);
        return 0;
    }
    if (frame->kind != RDZV_FRAME_JOIN && !rdzv_host_at(leader->host, caller->id))
        return 0; /* of somebody whose JOIN was for a former leader */
    return hear(leader, caller->id, frame);
}

static int on_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct caller *caller = arg;
    struct rdzv_frame_data said = rdzv_frame_of(frame);
    if (caller->refused)
        return 0;
    if (!caller->spoke)
        conn_admit(conn);
    caller->spoke = true;
    return hear_caller(caller, &said);
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    (void)conn;
    struct caller *caller = arg;
    struct leader *leader = caller->leader;
    uint64_t id = caller->id;
    forget(leader, caller);
    if (!leader->host)
        return;
    rdzv_host_closed(leader->host, id, why, clock_mono_us());
    leader->dirty = true;
}

/* ---- the listener ---- */

static void bound_refused(struct leader *leader)
{
    struct caller *oldest = NULL;
    size_t n = 0;
    for (size_t i = 0; i < leader->callers.n; i++) {
        struct caller *caller = leader->callers.at[i];
        n += caller->refused ? 1 : 0;
        if (caller->refused && !oldest)
            oldest = caller;
    }
    if (n <= REFUSED_MAX)
        return;
    conn_close(oldest->conn);
    forget(leader, oldest);
}

static void on_caller(void *arg, struct conn *conn, bool token_is_good)
{
    struct leader *leader = arg;
    struct caller *caller = mem_new(sizeof *caller);
    caller->leader = leader;
    caller->refused = !token_is_good;
    caller->id = ++leader->last_caller;
    buf_init(&caller->held, HELD_MAX);
    caller->conn = conn;
    conn_set_events(conn,
                    (struct conn_events){ .frame = on_frame, .closed = on_closed, .arg = caller });
    vec_push(&leader->callers, caller);
    map_set(leader->by_id, caller->id, caller);
    if (token_is_good)
        return;
    struct rdzv_refused refused = {
        .why = RDZV_REFUSED_TOKEN,
        .text = "the rendezvous token is not the one of the launcher that leads; start all "
                "launchers of a job with the same MUSTER_RDZV_TOKEN",
    };
    rdzv_put(conn_out(caller->conn), &refused);
    conn_flush(caller->conn);
    bound_refused(leader);
}

static void on_c10d(void *arg, int fd, const void *bytes, size_t len)
{
    struct leader *leader = arg;
    if (leader->store)
        store_adopt(leader->store, fd, bytes, len);
    else
        close(fd);
}

int leader_listen(struct leader *leader, struct listen_place *place, struct err *err)
{
    struct rdzv_listener_sink sink = { .caller = on_caller, .c10d = on_c10d, .arg = leader };
    struct rdzv_listener *listener =
        rdzv_listener_open(leader->loop, place, leader->preface, sink, err);
    if (!listener)
        return -1;
    rdzv_listener_close(leader->listener);
    leader->listener = listener;
    return 0;
}

void leader_stop_listening(struct leader *leader)
{
    rdzv_listener_close(TAKE(leader->listener));
}

uint16_t leader_port(const struct leader *leader)
{
    return leader->listener ? rdzv_listener_port(leader->listener) : 0;
}

size_t leader_callers(const struct leader *leader)
{
    return leader->callers.n;
}

void leader_serve_store(struct leader *leader, struct store_server *store)
{
    leader->store = store;
}

/* ---- waking and sleeping ---- */

static void replay(struct leader *leader, struct caller *caller)
{
    AUTO_BUF struct buf held = caller->held;
    size_t done = 0, used;
    struct rdzv_frame_data frame;
    buf_init(&caller->held, HELD_MAX);
    while (done < held.len && rdzv_next(held.data + done, held.len - done, &frame, &used) == 1) {
        arena_reset(leader->arena);
        if (frame.kind == RDZV_FRAME_JOIN || rdzv_host_at(leader->host, caller->id))
            (void)hear(leader, caller->id, &frame);
        done += used;
    }
}

void leader_wake(struct leader *leader)
{
    const struct settings *settings = leader->settings;
    if (leader->host)
        return;
    struct rdzv_limits limits = {
        .beat_ms = settings->beat_ms,
        .silence_ms = settings->silence_ms,
        .resume_ms = settings->beat_ms + RESUME_SLACK_MS,
        .stop_ms = (uint32_t)(settings->shutdown_ms < 3600000u ? settings->shutdown_ms : 3600000u) +
                   STOP_SLACK_MS,
    };
    struct rdzv_host_sink sink = {
        .order = on_order, .news = on_news, .replaced = on_replaced, .arg = leader
    };
    leader->host = rdzv_host_create(&limits, sink);
    leader->moved = false;
    leader->dirty = true;
    size_t n = leader->callers.n;
    for (size_t i = 0; i < leader->callers.n && leader->callers.n == n; i++)
        replay(leader, leader->callers.at[i]);
}

void leader_sleep(struct leader *leader, const struct rdzv_leader_address *to)
{
    rdzv_host_destroy(TAKE(leader->host));
    uv_timer_stop(&leader->tick);
    uv_timer_stop(&leader->probe_timer);
    conn_close(TAKE(leader->probe));
    buf_clear(&leader->own_orders);
    leader->moved = to != NULL;
    if (!to)
        return;
    leader->moved_term = to->term;
    leader->moved_port = to->port;
    snprintf(leader->moved_addr, sizeof leader->moved_addr, "%s", to->addr);
    for (size_t i = 0; i < leader->callers.n; i++) {
        struct caller *caller = leader->callers.at[i];
        buf_clear(&caller->held);
        if (!caller->refused)
            put_moved(leader, caller->conn);
    }
}

bool leader_leads(const struct leader *leader)
{
    return leader->host != NULL;
}

void leader_without(struct leader *leader, uint32_t group_rank, const char *why)
{
    if (!leader->host)
        return;
    rdzv_without(rdzv_host_rendezvous(leader->host), group_rank, why, clock_mono_us());
    leader->dirty = true;
}

void leader_hear(struct leader *leader, const struct rdzv_frame_data *frame)
{
    arena_reset(leader->arena);
    if (leader->host && hear(leader, OWN_CONN, frame) != 0)
        BUG("the member in this process said a frame of kind %d", (int)frame->kind);
}

/* ---- looking at the original endpoint ---- */

static void on_probe_up(void *arg, struct conn *conn)
{
    struct leader *leader = arg;
    char addr[ADDRESS_MAX];
    conn_address(conn, false, addr);
    conn_admit(conn);
    struct rdzv_leader_address here = { .term = own_term(leader),
                                        .addr = addr,
                                        .port = leader_port(leader) };
    rdzv_put_as(conn_out(conn), RDZV_FRAME_LEAD, &here);
}

static int on_probe_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct leader *leader = arg;
    struct rdzv_frame_data said = rdzv_frame_of(frame);
    struct rdzv_leader_address to;
    (void)conn;
    if (said.kind != RDZV_FRAME_MOVED)
        return 0;
    arena_reset(leader->arena);
    if (rdzv_get(&said, leader->arena, &to) != 0)
        return -1;
    if (to.term < own_term(leader) || to.port == leader_port(leader))
        return 0;
    leader_sleep(leader, &to);
    leader->sink.moved(leader->sink.arg, &to);
    return 0;
}

static void on_probe_closed(void *arg, struct conn *conn, const char *why)
{
    (void)conn;
    (void)why;
    ((struct leader *)arg)->probe = NULL;
}

static void on_probe_time(uv_timer_t *timer)
{
    struct leader *leader = timer->data;
    struct conn_events events = {
        .up = on_probe_up, .frame = on_probe_frame, .closed = on_probe_closed, .arg = leader
    };
    struct conn_target to = { .addr = leader->probe_addr, .port = leader->probe_port };
    struct conn_terms terms = launcher_terms;
    terms.handshake_ms = PROBE_ANSWER_MS;
    conn_close(leader->probe);
    leader->probe = conn_connect(leader->loop, &to, &terms, events);
    buf_puts(conn_out(leader->probe), leader->preface);
}

void leader_probe(struct leader *leader, const char *addr, uint16_t port)
{
    snprintf(leader->probe_addr, sizeof leader->probe_addr, "%s", addr);
    leader->probe_port = port;
    uv_timer_start(&leader->probe_timer, on_probe_time, PROBE_MS, PROBE_MS);
}

/* ---- making ---- */

static void own_handle(struct leader *leader, uv_handle_t *handle)
{
    handle->data = leader;
    leader->handles++;
}

struct leader *leader_create(uv_loop_t *loop, const struct settings *settings, uint64_t own_member,
                             struct leader_sink sink)
{
    struct leader *leader = mem_new(sizeof *leader);
    struct err err;
    leader->loop = loop;
    leader->settings = settings;
    leader->own = own_member;
    leader->sink = sink;
    if (rdzv_listener_preface(leader->preface, settings->token, &err) != 0)
        BUG("%s", err.what); /* launch_main has looked at it */
    leader->by_id = map_create();
    leader->arena = arena_create();
    buf_init(&leader->own_orders, ORDERS_MAX);
    uv_prepare_init(loop, &leader->turn);
    uv_timer_init(loop, &leader->tick);
    uv_timer_init(loop, &leader->probe_timer);
    own_handle(leader, (uv_handle_t *)&leader->turn);
    own_handle(leader, (uv_handle_t *)&leader->tick);
    own_handle(leader, (uv_handle_t *)&leader->probe_timer);
    uv_prepare_start(&leader->turn, on_turn);
    uv_unref((uv_handle_t *)&leader->turn);
    return leader;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct leader *leader = handle->data;
    if (--leader->handles == 0)
        free(leader);
}

void leader_destroy(struct leader *leader)
{
    if (!leader)
        return;
    leader->sink.alone = NULL;
    rdzv_host_destroy(TAKE(leader->host));
    conn_close(TAKE(leader->probe));
    rdzv_listener_close(TAKE(leader->listener));
    while (leader->callers.n > 0) {
        struct caller *caller = leader->callers.at[leader->callers.n - 1];
        conn_close(caller->conn);
        forget(leader, caller);
    }
    vec_fini(&leader->callers);
    map_destroy(leader->by_id);
    arena_destroy(leader->arena);
    buf_fini(&leader->own_orders);
    uv_close((uv_handle_t *)&leader->turn, on_handle_closed);
    uv_close((uv_handle_t *)&leader->tick, on_handle_closed);
    uv_close((uv_handle_t *)&leader->probe_timer, on_handle_closed);
}
