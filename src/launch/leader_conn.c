/* Finding the leader. Before the first round there is one place to look: the endpoint, where
 * whoever can listen leads. Afterwards the members of the last round are asked in the order of
 * their group ranks; reaching itself, this launcher leads, so that all who are left end up with the
 * same one without a vote. Looking never ends by itself before join_ms, and the ranks run on
 * meanwhile. */
#include "launch/leader_conn.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "conn/conn.h"
#include "conn/listener.h"
#include "launch/leader.h"
#include "launch/rdzv_listener.h"
#include "launch/resolve.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RETRY_FIRST_MS   10u
#define RETRY_SLOWEST_MS 500u
#define ENDPOINT_MS      2000u /* a connection attempt to the endpoint */
#define MEMBER_MS        500u  /* ... to a member that may lead */
#define PATIENCE_MS      1000u /* then it is said what is waited for */
#define SAY_EVERY_MS     10000u
#define MOVES_MAX        4u

struct target {
    char addr[256]; /* numeric or a name */
    uint16_t port;
    uint64_t member; /* 0: not known */
};

struct leader_conn {
    uv_loop_t *loop;
    const struct settings *settings;
    uint64_t member;
    struct leader_conn_sink sink;
    char preface[RDZV_PREFACE_MAX + 1];
    struct leader *leader;
    struct conn *conn;
    struct target at;     /* whom conn is connected to, or was last */
    struct target former; /* who led until now; port 0: nobody */
    bool up, welcomed, at_endpoint, failed;
    bool stranger; /* what answered last was no launcher */
    bool taken;    /* the endpoint is on this machine, and another program has its port */
    VEC(struct target) known; /* the first of the round, by group rank */
    uv_timer_t retry, beat;
    int handles;
    bool ask_former; /* it was not silent: perhaps only the connection broke */
    size_t next;     /* step of a search: 0 the former leader or the endpoint, then the known */
    unsigned moves;  /* from one to the next, without a welcome */
    uint64_t since_ms, said_ms, wait_ms, heard_ms, beat_ms, beaten_ms;
    char trouble[320];
    char local[ADDRESS_MAX], endpoint[RESOLVE_MAX], host[256];
};

static void search(struct leader_conn *seat);
static void try_later(struct leader_conn *seat);
static void go_to(struct leader_conn *seat, const struct target *to, uint64_t timeout_ms);

/* ---- who this node is ---- */

static bool is_loopback(const char *addr)
{
    return strncmp(addr, "127.", 4) == 0 || strcmp(addr, "::1") == 0;
}

static bool is_numeric(const char *addr)
{
    struct in6_addr any;
    return inet_pton(AF_INET, addr, &any) == 1 || inet_pton(AF_INET6, addr, &any) == 1;
}

/* A name that means this machine to itself (127.0.1.1 in its hosts file) and the right thing to
 * the others. */
static bool name_says_more(const struct leader_conn *seat)
{
    const char *host = seat->settings->host;
    return is_loopback(seat->endpoint) && !is_numeric(host) && strcmp(host, "localhost") != 0;
}

const char *leader_conn_addr(const struct leader_conn *seat)
{
    const struct settings *settings = seat->settings;
    if (settings->local_addr)
        return settings->local_addr;
    if (settings->meeting == MEET_ALONE)
        return settings->name == LAUNCH_DLROVER_RUN ? "127.0.0.1" : "localhost";
    if (seat->at_endpoint && settings->meeting == MEET_STATIC)
        return settings->host;
    if (seat->at_endpoint)
        return name_says_more(seat) ? settings->host : seat->endpoint;
    return seat->local[0] ? seat->local : seat->host;
}

const char *leader_conn_listen_addr(const struct leader_conn *seat)
{
    const char *addr = leader_conn_addr(seat);
    if (strcmp(addr, "localhost") == 0 || is_numeric(addr))
        return addr;
    return "*";
}

uint16_t leader_conn_lead_port(const struct leader_conn *seat)
{
    return leader_port(seat->leader);
}

bool leader_conn_leads(const struct leader_conn *seat)
{
    return leader_leads(seat->leader);
}

size_t leader_conn_others(const struct leader_conn *seat)
{
    return leader_callers(seat->leader);
}

bool leader_conn_shares_port(const struct leader_conn *seat)
{
    return seat->settings->meeting == MEET_STATIC && seat->at_endpoint && leader_conn_leads(seat);
}

void leader_conn_serve_store(struct leader_conn *seat, struct store_server *store)
{
    leader_serve_store(seat->leader, store);
}

/* ---- talking ---- */

static void be_welcome(struct leader_conn *seat)
{
    seat->welcomed = true;
    seat->since_ms = seat->said_ms = seat->wait_ms = 0;
    seat->next = 0;
    seat->moves = 0;
}

void leader_conn_send(struct leader_conn *seat, const struct buf *frames)
{
    size_t done = 0, used;
    struct rdzv_frame_data frame;
    if (!leader_leads(seat->leader)) {
        if (!seat->conn || !seat->up)
            return;
        buf_add(conn_out(seat->conn), frames->data, frames->len);
        conn_flush(seat->conn);
        return;
    }
    while (done < frames->len &&
           rdzv_next(frames->data + done, frames->len - done, &frame, &used) == 1) {
        if (frame.kind != RDZV_FRAME_EVENT) /* events are of jobs, and there is none */
            leader_hear(seat->leader, &frame);
        done += used;
    }
}

void leader_conn_know(struct leader_conn *seat, const struct rdzv_round *round)
{
    if (seat->settings->meeting == MEET_ALONE || seat->settings->meeting == MEET_AGENT)
        return;
    vec_clear(&seat->known);
    for (size_t i = 0; i < round->n_places; i++) {
        const struct rdzv_place *place = &round->places[i];
        struct target *target = vec_add(&seat->known);
        snprintf(target->addr, sizeof target->addr, "%s", place->addr);
        target->port = place->lead_port;
        target->member = place->member;
        if (seat->at.member == 0 && place->lead_port == seat->at.port &&
            place->member != seat->member)
            seat->at.member = place->member;
    }
}

static void lose_seat(struct leader_conn *seat, bool ask_again)
{
    if (seat->welcomed) {
        seat->former = seat->at;
        seat->ask_former = ask_again;
    }
    conn_close(TAKE(seat->conn));
    seat->up = seat->welcomed = false;
    uv_timer_stop(&seat->beat);
    if (!leader_leads(seat->leader))
        leader_sleep(seat->leader, NULL);
}

/* What answers there does not talk like a launcher. */
static void say_stranger(struct leader_conn *seat)
{
    seat->stranger = true;
    snprintf(seat->trouble, sizeof seat->trouble,
             "%.100s port %u is in use by another program, or by a launcher of another version",
             seat->at.addr, seat->at.port);
}

static void on_beat(uv_timer_t *timer)
{
    struct leader_conn *seat = timer->data;
    uint64_t now = clock_mono_ms(), silence = seat->settings->silence_ms;
    if (now - seat->beaten_ms > silence)
        seat->heard_ms = now; /* it was this process that slept */
    seat->beaten_ms = now;
    if (silence > 0 && seat->settings->meeting != MEET_AGENT && now - seat->heard_ms >= silence) {
        snprintf(seat->trouble, sizeof seat->trouble, "%.100s port %u fell silent", seat->at.addr,
                 seat->at.port);
        if (!seat->welcomed)
            say_stranger(seat);
        lose_seat(seat, false);
        search(seat);
        return;
    }
    rdzv_put_as(conn_out(seat->conn), RDZV_FRAME_BEAT, NULL);
    conn_flush(seat->conn);
}

static void start_beats(struct leader_conn *seat, uint32_t beat_ms)
{
    if (beat_ms == 0 || beat_ms == seat->beat_ms)
        return;
    seat->beat_ms = beat_ms;
    seat->beaten_ms = clock_mono_ms();
    uv_timer_start(&seat->beat, on_beat, beat_ms, beat_ms);
}

/* Launchers that ask here are sent to where this one sits. */
static int hear_welcome(struct leader_conn *seat, const struct rdzv_frame_data *frame)
{
    struct arena *arena = arena_create();
    struct rdzv_welcome welcome;
    char addr[ADDRESS_MAX];
    conn_address(seat->conn, true, addr);
    int rc = rdzv_get(frame, arena, &welcome);
    if (rc == 0)
        start_beats(seat, welcome.beat_ms);
    if (rc == 0 && !seat->welcomed && seat->settings->meeting != MEET_AGENT) {
        struct rdzv_moved here = { .term = welcome.term, .addr = addr, .port = seat->at.port };
        leader_sleep(seat->leader, &here);
    }
    if (rc == 0)
        be_welcome(seat);
    arena_destroy(arena);
    return rc;
}

static int hear_moved(struct leader_conn *seat, const struct rdzv_frame_data *frame)
{
    struct arena *arena = arena_create();
    struct rdzv_moved moved;
    int rc = rdzv_get(frame, arena, &moved);
    if (rc == 0) {
        struct target to = { .port = moved.port };
        snprintf(to.addr, sizeof to.addr, "%s", moved.addr);
        lose_seat(seat, true);
        if (++seat->moves <= MOVES_MAX)
            go_to(seat, &to, ENDPOINT_MS);
        else
            try_later(seat); /* they send each other's callers round and round */
    }
    arena_destroy(arena);
    return rc;
}

static int hear(struct leader_conn *seat, const struct rdzv_frame_data *frame)
{
    seat->heard_ms = clock_mono_ms();
    switch (frame->kind) {
    case RDZV_FRAME_BEAT: return 0;
    case RDZV_FRAME_MOVED: return hear_moved(seat, frame);
    case RDZV_FRAME_WELCOME:
        if (hear_welcome(seat, frame) != 0)
            return -1;
        break;
    case RDZV_FRAME_ROUND:
    case RDZV_FRAME_CHECK:
    case RDZV_FRAME_STOP:
    case RDZV_FRAME_END:
    case RDZV_FRAME_NOTE:
    case RDZV_FRAME_REFUSED: be_welcome(seat); break;
    default: return -1;
    }
    seat->sink.order(seat->sink.arg, frame);
    return 0;
}

static int on_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct rdzv_frame_data said = rdzv_frame_of(frame);
    (void)conn;
    return hear(arg, &said);
}

/* ---- connecting ---- */

/* Every launcher that sits elsewhere can lead: it listens where the others would find it. */
static void open_own_door(struct leader_conn *seat)
{
    struct err err;
    struct listen_place place = { .addr = leader_conn_listen_addr(seat) };
    if (seat->settings->meeting == MEET_AGENT || leader_port(seat->leader) != 0)
        return;
    if (strcmp(place.addr, "localhost") == 0)
        place.addr = "127.0.0.1";
    if (leader_listen(seat->leader, &place, &err) == 0)
        return;
    place = (struct listen_place){ .addr = "*" }; /* the address others use is not this machine's */
    if (leader_listen(seat->leader, &place, &err) != 0)
        seat->sink.say(seat->sink.arg, err.what);
}

static void on_up(void *arg, struct conn *conn)
{
    struct leader_conn *seat = arg;
    seat->up = true;
    seat->welcomed = false;
    seat->heard_ms = clock_mono_ms();
    seat->beat_ms = 0;
    conn_admit(conn);
    conn_address(conn, false, seat->local);
    open_own_door(seat);
    if (seat->settings->meeting != MEET_AGENT)
        start_beats(seat, seat->settings->beat_ms);
    seat->sink.taken(seat->sink.arg);
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    struct leader_conn *seat = arg;
    bool mute = seat->up && !seat->welcomed && seat->settings->meeting != MEET_AGENT;
    (void)conn;
    seat->conn = NULL;
    if (mute)
        say_stranger(seat);
    else
        snprintf(seat->trouble, sizeof seat->trouble, "%.100s port %u: %s", seat->at.addr,
                 seat->at.port, why);
    lose_seat(seat, true);
    search(seat);
}

static struct conn_events own_events(struct leader_conn *seat)
{
    return (struct conn_events){ .frame = on_frame, .up = on_up, .closed = on_closed, .arg = seat };
}

static void go_to(struct leader_conn *seat, const struct target *to, uint64_t timeout_ms)
{
    struct err err;
    char numeric[RESOLVE_MAX];
    struct target target = *to;
    seat->stranger = false;
    if (resolve_host(target.addr, numeric, &err) != 0) {
        snprintf(seat->trouble, sizeof seat->trouble, "%.199s", err.what);
        search(seat);
        return;
    }
    seat->at = target;
    uv_timer_stop(&seat->retry);
    struct conn_terms terms = launcher_terms;
    terms.handshake_ms = timeout_ms;
    seat->conn =
        conn_connect(seat->loop, &(struct conn_target){ .addr = numeric, .port = target.port },
                     &terms, own_events(seat));
    buf_puts(conn_out(seat->conn), seat->preface);
}

/* ---- leading ---- */

/* Nobody waits for the former leader: it was looked for, or was silent for long enough. Should it
 * live all the same, it finds this one and joins anew. */
static void lead_without_former(struct leader_conn *seat, uint64_t member)
{
    for (size_t i = 0; i < seat->known.n; i++)
        if (member != 0 && member != seat->member && seat->known.at[i].member == member)
            leader_without(seat->leader, (uint32_t)i, seat->trouble);
}

static void lead(struct leader_conn *seat, bool at_endpoint)
{
    uint64_t former = seat->former.port != 0 ? seat->former.member : 0;
    seat->at_endpoint = at_endpoint;
    seat->at = (struct target){ .port = leader_port(seat->leader), .member = seat->member };
    leader_wake(seat->leader);
    be_welcome(seat);
    seat->former = (struct target){ .port = 0 };
    seat->sink.taken(seat->sink.arg);
    lead_without_former(seat, former);
    if (!at_endpoint && seat->endpoint[0])
        leader_probe(seat->leader, seat->endpoint, seat->settings->port);
}

static bool may_lead_first(const struct leader_conn *seat)
{
    const struct settings *settings = seat->settings;
    return seat->known.n == 0 && (settings->meeting == MEET_ENDPOINT || settings->node_rank == 0);
}

/* Whoever can listen at the endpoint leads. */
static bool lead_at_endpoint(struct leader_conn *seat)
{
    struct err err;
    struct listen_place place = { .addr = seat->endpoint, .port = seat->settings->port };
    if (!may_lead_first(seat))
        return false;
    int rc = leader_listen(seat->leader, &place, &err);
    seat->taken = rc != 0 && place.taken;
    if (rc != 0)
        return false;
    if (!is_loopback(seat->endpoint) || name_says_more(seat)) {
        /* The address is ours. Others may reach this machine by another one of the same name. */
        struct listen_place all = { .addr = "*", .port = seat->settings->port };
        leader_close_door(seat->leader);
        if (leader_listen(seat->leader, &all, &err) != 0 &&
            leader_listen(seat->leader, &place, &err) != 0)
            return false;
    }
    lead(seat, true);
    return true;
}

static void try_endpoint(struct leader_conn *seat)
{
    struct err err;
    struct target to = { .port = seat->settings->port };
    if (resolve_host(seat->settings->host, seat->endpoint, &err) != 0) {
        seat->endpoint[0] = '\0';
        snprintf(seat->trouble, sizeof seat->trouble, "%.199s", err.what);
        search(seat);
        return;
    }
    if (lead_at_endpoint(seat))
        return;
    snprintf(to.addr, sizeof to.addr, "%s", seat->endpoint);
    go_to(seat, &to, ENDPOINT_MS);
}

/* ---- searching ---- */

static void on_retry(uv_timer_t *timer)
{
    struct leader_conn *seat = timer->data;
    search(seat);
}

static void fail(struct leader_conn *seat, uint64_t waited_ms)
{
    const struct settings *settings = seat->settings;
    char text[512];
    seat->failed = true;
    if (waited_ms < settings->terms.join_ms)
        snprintf(text, sizeof text, "%s: give %s another port", seat->trouble,
                 settings->meeting == MEET_STATIC ? "--master-port" : "--rdzv-endpoint");
    else
        snprintf(text, sizeof text, "no leader of the rendezvous at %s port %u within %.1f s: %s",
                 settings->host ? settings->host : "the agent", settings->port,
                 (double)waited_ms / 1000, seat->trouble);
    seat->sink.failed(seat->sink.arg, text);
}

static void say_trouble(struct leader_conn *seat, uint64_t now)
{
    char text[512];
    uint64_t waited = now - seat->since_ms;
    if (waited < PATIENCE_MS || now - seat->said_ms < SAY_EVERY_MS)
        return;
    seat->said_ms = now;
    snprintf(text, sizeof text, "waiting for the leader of the rendezvous, %.0f s of %.0f s: %s",
             (double)waited / 1000, (double)seat->settings->terms.join_ms / 1000, seat->trouble);
    seat->sink.say(seat->sink.arg, text);
}

/* A pass is over; another one soon. */
static void try_later(struct leader_conn *seat)
{
    uint64_t now = clock_mono_ms(), waited = now - seat->since_ms;
    bool for_ever = seat->settings->meeting == MEET_AGENT;
    /* Where this node would lead, a stranger's port does not become free by waiting. */
    bool hopeless = seat->taken && seat->stranger && waited >= PATIENCE_MS;
    if (!for_ever && (hopeless || waited >= seat->settings->terms.join_ms)) {
        fail(seat, waited);
        return;
    }
    say_trouble(seat, now);
    seat->next = 0;
    seat->ask_former = true;
    seat->wait_ms = seat->wait_ms == 0 ? RETRY_FIRST_MS : seat->wait_ms * 2;
    if (seat->wait_ms > RETRY_SLOWEST_MS)
        seat->wait_ms = RETRY_SLOWEST_MS;
    uv_timer_start(&seat->retry, on_retry, seat->wait_ms, 0);
}

static bool same_target(const struct target *a, const struct target *b)
{
    if (a->member != 0 && b->member != 0)
        return a->member == b->member;
    return a->port == b->port && strcmp(a->addr, b->addr) == 0;
}

/* One step: the former leader, then the members by group rank. -1: nobody left to ask. */
static int ask_next(struct leader_conn *seat)
{
    const struct target *former = &seat->former;
    size_t step = seat->next++;
    if (step == 0 && seat->ask_former && former->port != 0) {
        go_to(seat, former, MEMBER_MS);
        return 0;
    }
    for (step = step ? step : seat->next++; step <= seat->known.n; step = seat->next++) {
        const struct target *target = &seat->known.at[step - 1];
        if (target->member == seat->member && leader_port(seat->leader) != 0) {
            lead(seat, false);
            return 0;
        }
        if (target->port == 0 || target->member == seat->member || same_target(target, former))
            continue;
        go_to(seat, target, MEMBER_MS);
        return 0;
    }
    return -1;
}

static void connect_agent(struct leader_conn *seat)
{
    struct conn_terms terms = launcher_terms;
    terms.handshake_ms = 0;
    seat->conn =
        conn_connect(seat->loop, &(struct conn_target){ .path = seat->settings->agent_socket },
                     &terms, own_events(seat));
    buf_addf(conn_out(seat->conn), "%s\n", seat->settings->agent_cookie);
}

static void search(struct leader_conn *seat)
{
    if (seat->failed || seat->conn || leader_leads(seat->leader))
        return;
    bool first = seat->since_ms == 0;
    if (first)
        seat->since_ms = clock_mono_ms();
    bool agent = seat->settings->meeting == MEET_AGENT;
    if (agent || seat->known.n == 0) {
        bool fresh = seat->next++ == 0;
        if (!fresh)
            try_later(seat);
        else if (agent)
            connect_agent(seat);
        else
            try_endpoint(seat);
        return;
    }
    if (ask_next(seat) != 0)
        try_later(seat);
}

/* ---- the leader in this process ---- */

static void on_own_order(void *arg, const struct rdzv_frame_data *frame)
{
    struct leader_conn *seat = arg;
    seat->sink.order(seat->sink.arg, frame);
}

static void on_own_moved(void *arg, const struct rdzv_moved *moved)
{
    struct leader_conn *seat = arg;
    struct target to = { .port = moved->port };
    snprintf(to.addr, sizeof to.addr, "%s", moved->addr);
    conn_close(TAKE(seat->conn));
    seat->up = seat->welcomed = false;
    seat->former = (struct target){ .port = 0 };
    uv_timer_stop(&seat->beat);
    seat->at_endpoint = false;
    seat->sink.say(seat->sink.arg,
                   "another launcher leads this run with a later term: going there");
    go_to(seat, &to, ENDPOINT_MS);
}

static void on_own_alone(void *arg)
{
    struct leader_conn *seat = arg;
    seat->sink.alone(seat->sink.arg);
}

/* ---- making ---- */

struct leader_conn *leader_conn_create(uv_loop_t *loop, const struct settings *settings,
                                       uint64_t member, struct leader_conn_sink sink)
{
    struct leader_conn *seat = mem_new(sizeof *seat);
    struct err err;
    struct leader_sink own = {
        .order = on_own_order, .moved = on_own_moved, .alone = on_own_alone, .arg = seat
    };
    seat->loop = loop;
    seat->settings = settings;
    seat->member = member;
    seat->sink = sink;
    if (rdzv_listener_preface(seat->preface, settings->token, &err) != 0)
        BUG("%s", err.what); /* launch_main has looked at it */
    if (gethostname(seat->host, sizeof seat->host) != 0 || seat->host[sizeof seat->host - 1])
        snprintf(seat->host, sizeof seat->host, "localhost");
    seat->leader = leader_create(loop, settings, member, own);
    uv_timer_init(loop, &seat->retry);
    uv_timer_init(loop, &seat->beat);
    seat->retry.data = seat->beat.data = seat;
    seat->handles = 2;
    return seat;
}

void leader_conn_start(struct leader_conn *seat)
{
    if (seat->settings->meeting == MEET_ALONE)
        lead(seat, false);
    else
        search(seat);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct leader_conn *seat = handle->data;
    if (--seat->handles > 0)
        return;
    vec_fini(&seat->known);
    free(seat);
}

void leader_conn_destroy(struct leader_conn *seat)
{
    if (!seat)
        return;
    conn_close(TAKE(seat->conn));
    leader_destroy(TAKE(seat->leader));
    uv_close((uv_handle_t *)&seat->retry, on_handle_closed);
    uv_close((uv_handle_t *)&seat->beat, on_handle_closed);
}
