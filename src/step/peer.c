/* After the handshake the first frame says what the connection is for: CLAIM, which is granted when
 * it is its turn and given back when the connection ends, or START. A step whose srun is gone has
 * nobody to write to: its tasks get SIGTERM, and SIGKILL KILL_WAIT_MS later. */
#include "step/peer.h"
#include "conn/conn.h"

#include "base/mem.h"
#include "step/handshake.h"
#include "step/input_window.h"
#include "step/tasks.h"

#include <signal.h>
#include <stdlib.h>

enum { KILL_WAIT_MS = 10000, ASK_MS = 20000, SILENCE_MS = 90000 };

const struct conn_keep_alive_terms step_keep_alive = { .kind = STEP_FRAME_BEAT,
                                                       .ask_ms = ASK_MS,
                                                       .silence_ms = SILENCE_MS };

const struct conn_terms step_terms = {
    .kinds = STEP_KINDS,
    .out_max = 64u << 20,
    .room = 1u << 20,
    .handshake_ms = 20000,
    .tcp_silence_ms = SILENCE_MS,
    .strange = "it says what no srun of this job says",
};

struct peer {
    struct peers *of;
    struct peer *next, *before;
    struct conn *conn; /* NULL: srun is gone */
    struct arena *arena;
    struct handshake handshake;
    struct step_claim claim;
    struct step_grant grant;
    bool claimed, granted;
    struct step_start start;
    struct tasks *tasks;
    struct input_account account;
    uv_timer_t kill_timer;
};

/* ---- coming and going ---- */

static void free_peer(uv_handle_t *handle)
{
    struct peer *peer = handle->data;
    arena_destroy(peer->arena);
    free(peer);
}

static void grant_waiting(struct peers *all);

static void remove_peer(struct peer *peer)
{
    struct peers *all = peer->of;
    *(peer->before ? &peer->before->next : &all->first) = peer->next;
    *(peer->next ? &peer->next->before : &all->last) = peer->before;
    conn_close(peer->conn);
    tasks_destroy(peer->tasks);
    bool freed = peer->granted;
    if (freed)
        claims_free(all->claims, &peer->claim, &peer->grant);
    uv_close((uv_handle_t *)&peer->kill_timer, free_peer);
    if (freed)
        grant_waiting(all);
}

static void on_kill(uv_timer_t *timer)
{
    struct peer *peer = timer->data;
    tasks_signal(peer->tasks, SIGKILL);
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    struct peer *peer = arg;
    (void)conn;
    (void)why;
    peer->conn = NULL;
    if (!peer->tasks || tasks_done(peer->tasks)) {
        remove_peer(peer);
        return;
    }
    tasks_hold(peer->tasks, false);
    tasks_signal(peer->tasks, SIGCONT);
    tasks_signal(peer->tasks, SIGTERM);
    (void)uv_timer_start(&peer->kill_timer, on_kill, KILL_WAIT_MS, 0);
}

/* ---- claims ---- */

static void grant(struct peer *peer)
{
    peer->granted = true;
    peer->grant.step = peer->of->next_step++;
    step_put(conn_out(peer->conn), &peer->grant);
    conn_flush(peer->conn);
}

/* Who came first is looked at first; one that does not fit holds up no other. */
static void grant_waiting(struct peers *all)
{
    for (struct peer *peer = all->first; peer; peer = peer->next)
        if (peer->claimed && !peer->granted && peer->conn &&
            claims_take(all->claims, peer->arena, &peer->claim, &peer->grant))
            grant(peer);
}

/* ---- tasks ---- */

static void on_output(void *arg, const struct step_data *data)
{
    struct peer *peer = arg;
    if (!peer->conn)
        return;
    size_t mark = wire_begin(conn_out(peer->conn), (enum wire_kind)STEP_FRAME_OUTPUT, 0);
    codec_put(conn_out(peer->conn), step_messages[STEP_FRAME_OUTPUT - STEP_FRAME_CLAIM].rows, data);
    wire_end(conn_out(peer->conn), mark);
    conn_flush(peer->conn);
    if (peer->tasks && !conn_has_room(peer->conn))
        tasks_hold(peer->tasks, true);
}

static void on_ended(void *arg, const struct step_ended_task *ended)
{
    struct peer *peer = arg;
    if (!peer->conn)
        return;
    step_put(conn_out(peer->conn), ended);
    conn_flush(peer->conn);
}

static void put_beat(struct peer *peer)
{
    struct step_beat beat = { .input_end = 0 };
    if (peer->tasks)
        beat.input_end = input_account_end(&peer->account, tasks_input_waits(peer->tasks));
    peer->account.told = beat.input_end;
    step_put(conn_out(peer->conn), &beat);
    conn_flush(peer->conn);
}

static void tell_taken(struct peer *peer)
{
    if (peer->start.input && input_account_is_news(&peer->account, tasks_input_waits(peer->tasks)))
        put_beat(peer);
}

static void on_taken(void *arg)
{
    struct peer *peer = arg;
    if (!peer->conn || !peer->tasks)
        return;
    tell_taken(peer);
    if (tasks_take_input(peer->tasks))
        conn_read(peer->conn, CONN_READS);
}

static void on_room(void *arg, struct conn *conn)
{
    struct peer *peer = arg;
    (void)conn;
    if (peer->tasks)
        tasks_hold(peer->tasks, false);
}

static int start_tasks(struct peer *peer, const struct wire_frame *frame)
{
    if (peer->tasks || peer->claimed || step_get(frame, peer->arena, &peer->start) != 0)
        return -1;
    const struct tasks_sink sink = {
        .output = on_output, .ended = on_ended, .taken = on_taken, .arg = peer
    };
    peer->tasks = tasks_start(peer->of->loop, &peer->start, peer->of->env, sink);
    return 0;
}

static int take_claim(struct peer *peer, const struct wire_frame *frame)
{
    if (peer->tasks || peer->claimed || !peer->of->claims ||
        step_get(frame, peer->arena, &peer->claim) != 0)
        return -1;
    peer->claimed = true;
    grant_waiting(peer->of);
    return 0;
}

static int take_signal(struct peer *peer, const struct wire_frame *frame)
{
    struct step_signal signal;
    if (!peer->tasks || step_get(frame, peer->arena, &signal) != 0)
        return -1;
    tasks_signal(peer->tasks, (int)signal.signal);
    return 0;
}

static int take_input(struct peer *peer, const struct wire_frame *frame)
{
    struct step_data data;
    if (!peer->tasks || step_get_as(frame, peer->arena, STEP_FRAME_INPUT, &data) != 0)
        return -1;
    tasks_input(peer->tasks, &data);
    peer->account.came += data.len;
    tell_taken(peer);
    /* A srun of before knows no end of it. */
    if (!tasks_take_input(peer->tasks))
        conn_read(peer->conn, CONN_WATCHES);
    return 0;
}

static int on_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct peer *peer = arg;
    (void)conn;
    switch ((enum step_frame)frame->kind) {
    case STEP_FRAME_CLAIM: return take_claim(peer, frame);
    case STEP_FRAME_START: return start_tasks(peer, frame);
    case STEP_FRAME_INPUT: return take_input(peer, frame);
    case STEP_FRAME_SIGNAL: return take_signal(peer, frame);
    case STEP_FRAME_BEAT: put_beat(peer); return 0;
    default: return -1;
    }
}

static ssize_t on_bytes(void *arg, struct conn *conn, char *at, size_t len)
{
    struct peer *peer = arg;
    size_t used;
    int rc = handshake_take(&peer->handshake, at, len, &used, conn_out(conn));
    if (rc < 0)
        return -1;
    conn_flush(conn);
    if (rc == 1) {
        conn_admit(conn);
        conn_set_events(conn,
                        (struct conn_events){
                            .frame = on_frame, .room = on_room, .closed = on_closed, .arg = peer });
    }
    return (ssize_t)used;
}

void peers_add(struct peers *all, int fd)
{
    struct peer *peer = mem_new(sizeof *peer);
    *peer = (struct peer){ .of = all, .before = all->last, .arena = arena_create() };
    *(all->last ? &all->last->next : &all->first) = peer;
    all->last = peer;
    (void)uv_timer_init(all->loop, &peer->kill_timer);
    peer->kill_timer.data = peer;
    peer->conn =
        conn_create(all->loop, fd, &step_terms,
                    (struct conn_events){ .bytes = on_bytes, .closed = on_closed, .arg = peer });
    handshake_init(&peer->handshake, all->secret, true, conn_out(peer->conn));
    conn_flush(peer->conn);
}

/* ---- all of them ---- */

void peers_signal(struct peers *all, int number)
{
    for (struct peer *peer = all->first; peer; peer = peer->next)
        if (peer->tasks)
            tasks_signal(peer->tasks, number);
}

bool peers_reap(struct peers *all, pid_t pid, int status)
{
    for (struct peer *peer = all->first; peer; peer = peer->next) {
        if (!peer->tasks || !tasks_reap(peer->tasks, pid, status))
            continue;
        if (!peer->conn && tasks_done(peer->tasks))
            remove_peer(peer);
        return true;
    }
    return false;
}

void peers_end(struct peers *all)
{
    while (all->first)
        remove_peer(all->first);
}
