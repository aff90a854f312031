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

static void search(struct leader_conn *link);
static void try_later(struct leader_conn *link);
static void go_to(struct leader_conn *link, const struct target *to, uint64_t timeout_ms);

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
static bool name_says_more(const struct leader_conn *link)
{
    const char *host = link->settings->host;
    return is_loopback(link->endpoint) && !is_numeric(host) && strcmp(host, "localhost") != 0;
}

const char *leader_conn_addr(const struct leader_conn *link)
{
    const struct settings *settings = link->settings;
    if (settings->local_addr)
        return settings->local_addr;
    if (settings->backend == RDZV_BACKEND_ALONE)
        return settings->name == LAUNCH_DLROVER_RUN ? "127.0.0.1" : "localhost";
    if (link->at_endpoint && settings->backend == RDZV_BACKEND_STATIC)
        return settings->host;
    if (link->at_endpoint)
        return name_says_more(link) ? settings->host : link->endpoint;
    return link->local[0] ? link->local : link->host;
}

const char *leader_conn_listen_addr(const struct leader_conn *link)
{
    const char *addr = leader_conn_addr(link);
    if (strcmp(addr, "localhost") == 0 || is_numeric(addr))
        return addr;
    return "*";
}

uint16_t leader_conn_lead_port(const struct leader_conn *link)
{
    return leader_port(link->leader);
}

bool leader_conn_leads(const struct leader_conn *link)
{
    return leader_leads(link->leader);
}

size_t leader_conn_others(const struct leader_conn *link)
{
    return leader_callers(link->leader);
}

bool leader_conn_shares_port(const struct leader_conn *link)
{
    return link->settings->backend == RDZV_BACKEND_STATIC && link->at_endpoint &&
           leader_conn_leads(link);
}

void leader_conn_serve_store(struct leader_conn *link, struct store_server *store)
{
    leader_serve_store(link->leader, store);
}

/* ---- talking ---- */

static void be_welcome(struct leader_conn *link)
{
    link->welcomed = true;
    link->since_ms = link->said_ms = link->wait_ms = 0;
    link->next = 0;
    link->moves = 0;
}

void leader_conn_send(struct leader_conn *link, const struct buf *frames)
{
    size_t done = 0, used;
    struct rdzv_frame_data frame;
    if (!leader_leads(link->leader)) {
        if (!link->conn || !link->up)
            return;
        buf_add(conn_out(link->conn), frames->data, frames->len);
        conn_flush(link->conn);
        return;
    }
    while (done < frames->len &&
           rdzv_next(frames->data + done, frames->len - done, &frame, &used) == 1) {
        if (frame.kind != RDZV_FRAME_EVENT) /* events are of jobs, and there is none */
            leader_hear(link->leader, &frame);
        done += used;
    }
}

void leader_conn_know(struct leader_conn *link, const struct rdzv_round *round)
{
    if (link->settings->backend == RDZV_BACKEND_ALONE ||
        link->settings->backend == RDZV_BACKEND_AGENT)
        return;
    vec_clear(&link->known);
    for (size_t i = 0; i < round->n_places; i++) {
        const struct rdzv_place *place = &round->places[i];
        struct target *target = vec_add(&link->known);
        snprintf(target->addr, sizeof target->addr, "%s", place->addr);
        target->port = place->lead_port;
        target->member = place->member;
        if (link->at.member == 0 && place->lead_port == link->at.port &&
            place->member != link->member)
            link->at.member = place->member;
    }
}

static void lose_seat(struct leader_conn *link, bool ask_again)
{
    if (link->welcomed) {
        link->former = link->at;
        link->ask_former = ask_again;
    }
    conn_close(TAKE(link->conn));
    link->up = link->welcomed = false;
    uv_timer_stop(&link->beat);
    if (!leader_leads(link->leader))
        leader_sleep(link->leader, NULL);
}

/* What answers there does not talk like a launcher. */
static void say_stranger(struct leader_conn *link)
{
    link->stranger = true;
    snprintf(link->trouble, sizeof link->trouble,
             "%.100s port %u is in use by another program, or by a launcher of another version",
             link->at.addr, link->at.port);
}

static void on_beat(uv_timer_t *timer)
{
    struct leader_conn *link = timer->data;
    uint64_t now = clock_mono_ms(), silence = link->settings->silence_ms;
    if (now - link->beaten_ms > silence)
        link->heard_ms = now; /* it was this process that slept */
    link->beaten_ms = now;
    if (silence > 0 && link->settings->backend != RDZV_BACKEND_AGENT &&
        now - link->heard_ms >= silence) {
        snprintf(link->trouble, sizeof link->trouble, "%.100s port %u fell silent", link->at.addr,
                 link->at.port);
        if (!link->welcomed)
            say_stranger(link);
        lose_seat(link, false);
        search(link);
        return;
    }
    rdzv_put_as(conn_out(link->conn), RDZV_FRAME_BEAT, NULL);
    conn_flush(link->conn);
}

static void start_beats(struct leader_conn *link, uint32_t beat_ms)
{
    if (beat_ms == 0 || beat_ms == link->beat_ms)
        return;
    link->beat_ms = beat_ms;
    link->beaten_ms = clock_mono_ms();
    uv_timer_start(&link->beat, on_beat, beat_ms, beat_ms);
}

/* Launchers that ask here are sent to where this one sits. */
static int hear_welcome(struct leader_conn *link, const struct rdzv_frame_data *frame)
{
    struct arena *arena = arena_create();
    struct rdzv_welcome welcome;
    char addr[ADDRESS_MAX];
    conn_address(link->conn, true, addr);
    int rc = rdzv_get(frame, arena, &welcome);
    if (rc == 0)
        start_beats(link, welcome.beat_ms);
    if (rc == 0 && !link->welcomed && link->settings->backend != RDZV_BACKEND_AGENT) {
        struct rdzv_leader_address here = { .term = welcome.term,
                                            .addr = addr,
                                            .port = link->at.port };
        leader_sleep(link->leader, &here);
    }
    if (rc == 0)
        be_welcome(link);
    arena_destroy(arena);
    return rc;
}

static int hear_moved(struct leader_conn *link, const struct rdzv_frame_data *frame)
{
    struct arena *arena = arena_create();
    struct rdzv_leader_address moved;
    int rc = rdzv_get(frame, arena, &moved);
    if (rc == 0) {
        struct target to = { .port = moved.port };
        snprintf(to.addr, sizeof to.addr, "%s", moved.addr);
        lose_seat(link, true);
        if (++link->moves <= MOVES_MAX)
            go_to(link, &to, ENDPOINT_MS);
        else
            try_later(link); /* they send each other's callers round and round */
    }
    arena_destroy(arena);
    return rc;
}

static int hear(struct leader_conn *link, const struct rdzv_frame_data *frame)
{
    link->heard_ms = clock_mono_ms();
    switch (frame->kind) {
    case RDZV_FRAME_BEAT: return 0;
    case RDZV_FRAME_MOVED: return hear_moved(link, frame);
    case RDZV_FRAME_WELCOME:
        if (hear_welcome(link, frame) != 0)
            return -1;
        break;
    case RDZV_FRAME_ROUND:
    case RDZV_FRAME_CHECK:
    case RDZV_FRAME_STOP:
    case RDZV_FRAME_END:
    case RDZV_FRAME_NOTE:
    case RDZV_FRAME_REFUSED: be_welcome(link); break;
    default: return -1;
    }
    link->sink.order(link->sink.arg, frame);
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
static void open_own_door(struct leader_conn *link)
{
    struct err err;
    struct listen_place place = { .addr = leader_conn_listen_addr(link) };
    if (link->settings->backend == RDZV_BACKEND_AGENT || leader_port(link->leader) != 0)
        return;
    if (strcmp(place.addr, "localhost") == 0)
        place.addr = "127.0.0.1";
    if (leader_listen(link->leader, &place, &err) == 0)
        return;
    place = (struct listen_place){ .addr = "*" }; /* the address others use is not this machine's */
    if (leader_listen(link->leader, &place, &err) != 0)
        link->sink.say(link->sink.arg, err.what);
}

static void on_up(void *arg, struct conn *conn)
{
    struct leader_conn *link = arg;
    link->up = true;
    link->welcomed = false;
    link->heard_ms = clock_mono_ms();
    link->beat_ms = 0;
    conn_admit(conn);
    conn_address(conn, false, link->local);
    open_own_door(link);
    if (link->settings->backend != RDZV_BACKEND_AGENT)
        start_beats(link, link->settings->beat_ms);
    link->sink.taken(link->sink.arg);
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    struct leader_conn *link = arg;
    bool mute = link->up && !link->welcomed && link->settings->backend != RDZV_BACKEND_AGENT;
    (void)conn;
    link->conn = NULL;
    if (mute)
        say_stranger(link);
    else
        snprintf(link->trouble, sizeof link->trouble, "%.100s port %u: %s", link->at.addr,
                 link->at.port, why);
    lose_seat(link, true);
    search(link);
}

static struct conn_events own_events(struct leader_conn *link)
{
    return (struct conn_events){ .frame = on_frame, .up = on_up, .closed = on_closed, .arg = link };
}

static void go_to(struct leader_conn *link, const struct target *to, uint64_t timeout_ms)
{
    struct err err;
    char numeric[RESOLVE_MAX];
    struct target target = *to;
    link->stranger = false;
    if (resolve_host(target.addr, numeric, &err) != 0) {
        snprintf(link->trouble, sizeof link->trouble, "%.199s", err.what);
        search(link);
        return;
    }
    link->at = target;
    uv_timer_stop(&link->retry);
    struct conn_terms terms = launcher_terms;
    terms.handshake_ms = timeout_ms;
    link->conn =
        conn_connect(link->loop, &(struct conn_target){ .addr = numeric, .port = target.port },
                     &terms, own_events(link));
    buf_puts(conn_out(link->conn), link->preface);
}

/* ---- leading ---- */

/* Nobody waits for the former leader: it was looked for, or was silent for long enough. Should it
 * live all the same, it finds this one and joins anew. */
static void lead_without_former(struct leader_conn *link, uint64_t member)
{
    for (size_t i = 0; i < link->known.n; i++)
        if (member != 0 && member != link->member && link->known.at[i].member == member)
            leader_without(link->leader, (uint32_t)i, link->trouble);
}

static void lead(struct leader_conn *link, bool at_endpoint)
{
    uint64_t former = link->former.port != 0 ? link->former.member : 0;
    link->at_endpoint = at_endpoint;
    link->at = (struct target){ .port = leader_port(link->leader), .member = link->member };
    leader_wake(link->leader);
    be_welcome(link);
    link->former = (struct target){ .port = 0 };
    link->sink.taken(link->sink.arg);
    lead_without_former(link, former);
    if (!at_endpoint && link->endpoint[0])
        leader_probe(link->leader, link->endpoint, link->settings->port);
}

static bool may_lead_first(const struct leader_conn *link)
{
    const struct settings *settings = link->settings;
    return link->known.n == 0 &&
           (settings->backend == RDZV_BACKEND_ENDPOINT || settings->node_rank == 0);
}

/* Whoever can listen at the endpoint leads. */
static bool lead_at_endpoint(struct leader_conn *link)
{
    struct err err;
    struct listen_place place = { .addr = link->endpoint, .port = link->settings->port };
    if (!may_lead_first(link))
        return false;
    int rc = leader_listen(link->leader, &place, &err);
    link->taken = rc != 0 && place.taken;
    if (rc != 0)
        return false;
    if (!is_loopback(link->endpoint) || name_says_more(link)) {
        /* The address is ours. Others may reach this machine by another one of the same name. */
        struct listen_place all = { .addr = "*", .port = link->settings->port };
        leader_stop_listening(link->leader);
        if (leader_listen(link->leader, &all, &err) != 0 &&
            leader_listen(link->leader, &place, &err) != 0)
            return false;
    }
    lead(link, true);
    return true;
}

static void try_endpoint(struct leader_conn *link)
{
    struct err err;
    struct target to = { .port = link->settings->port };
    if (resolve_host(link->settings->host, link->endpoint, &err) != 0) {
        link->endpoint[0] = '\0';
        snprintf(link->trouble, sizeof link->trouble, "%.199s", err.what);
        search(link);
        return;
    }
    if (lead_at_endpoint(link))
        return;
    snprintf(to.addr, sizeof to.addr, "%s", link->endpoint);
    go_to(link, &to, ENDPOINT_MS);
}

/* ---- searching ---- */

static void on_retry(uv_timer_t *timer)
{
    struct leader_conn *link = timer->data;
    search(link);
}

static void fail(struct leader_conn *link, uint64_t waited_ms)
{
    const struct settings *settings = link->settings;
    char text[512];
    link->failed = true;
    if (waited_ms < settings->rdzv.join_ms)
        snprintf(text, sizeof text, "%s: give %s another port", link->trouble,
                 settings->backend == RDZV_BACKEND_STATIC ? "--master-port" : "--rdzv-endpoint");
    else
        snprintf(text, sizeof text, "no leader of the rendezvous at %s port %u within %.1f s: %s",
                 settings->host ? settings->host : "the agent", settings->port,
                 (double)waited_ms / 1000, link->trouble);
    link->sink.failed(link->sink.arg, text);
}

static void say_trouble(struct leader_conn *link, uint64_t now)
{
    char text[512];
    uint64_t waited = now - link->since_ms;
    if (waited < PATIENCE_MS || now - link->said_ms < SAY_EVERY_MS)
        return;
    link->said_ms = now;
    snprintf(text, sizeof text, "waiting for the leader of the rendezvous, %.0f s of %.0f s: %s",
             (double)waited / 1000, (double)link->settings->rdzv.join_ms / 1000, link->trouble);
    link->sink.say(link->sink.arg, text);
}

/* A pass is over; another one soon. */
static void try_later(struct leader_conn *link)
{
    uint64_t now = clock_mono_ms(), waited = now - link->since_ms;
    bool for_ever = link->settings->backend == RDZV_BACKEND_AGENT;
    /* Where this node would lead, a stranger's port does not become free by waiting. */
    bool hopeless = link->taken && link->stranger && waited >= PATIENCE_MS;
    if (!for_ever && (hopeless || waited >= link->settings->rdzv.join_ms)) {
        fail(link, waited);
        return;
    }
    say_trouble(link, now);
    link->next = 0;
    link->ask_former = true;
    link->wait_ms = link->wait_ms == 0 ? RETRY_FIRST_MS : link->wait_ms * 2;
    if (link->wait_ms > RETRY_SLOWEST_MS)
        link->wait_ms = RETRY_SLOWEST_MS;
    uv_timer_start(&link->retry, on_retry, link->wait_ms, 0);
}

static bool same_target(const struct target *a, const struct target *b)
{
    if (a->member != 0 && b->member != 0)
        return a->member == b->member;
    return a->port == b->port && strcmp(a->addr, b->addr) == 0;
}

/* One step: the former leader, then the members by group rank. -1: nobody left to ask. */
static int ask_next(struct leader_conn *link)
{
    const struct target *former = &link->former;
    size_t step = link->next++;
    if (step == 0 && link->ask_former && former->port != 0) {
        go_to(link, former, MEMBER_MS);
        return 0;
    }
    for (step = step ? step : link->next++; step <= link->known.n; step = link->next++) {
        const struct target *target = &link->known.at[step - 1];
        if (target->member == link->member && leader_port(link->leader) != 0) {
            lead(link, false);
            return 0;
        }
        if (target->port == 0 || target->member == link->member || same_target(target, former))
            continue;
        go_to(link, target, MEMBER_MS);
        return 0;
    }
    return -1;
}

static void connect_agent(struct leader_conn *link)
{
    struct conn_terms terms = launcher_terms;
    terms.handshake_ms = 0;
    link->conn =
        conn_connect(link->loop, &(struct conn_target){ .path = link->settings->agent_socket },
                     &terms, own_events(link));
    buf_addf(conn_out(link->conn), "%s\n", link->settings->agent_cookie);
}

static void search(struct leader_conn *link)
{
    if (link->failed || link->conn || leader_leads(link->leader))
        return;
    bool first = link->since_ms == 0;
    if (first)
        link->since_ms = clock_mono_ms();
    bool agent = link->settings->backend == RDZV_BACKEND_AGENT;
    if (agent || link->known.n == 0) {
        bool fresh = link->next++ == 0;
        if (!fresh)
            try_later(link);
        else if (agent)
            connect_agent(link);
        else
            try_endpoint(link);
        return;
    }
    if (ask_next(link) != 0)
        try_later(link);
}

/* ---- the leader in this process ---- */

static void on_own_order(void *arg, const struct rdzv_frame_data *frame)
{
    struct leader_conn *link = arg;
    link->sink.order(link->sink.arg, frame);
}

static void on_own_moved(void *arg, const struct rdzv_leader_address *moved)
{
    struct leader_conn *link = arg;
    struct target to = { .port = moved->port };
    snprintf(to.addr, sizeof to.addr, "%s", moved->addr);
    conn_close(TAKE(link->conn));
    link->up = link->welcomed = false;
    link->former = (struct target){ .port = 0 };
    uv_timer_stop(&link->beat);
    link->at_endpoint = false;
    link->sink.say(link->sink.arg,
                   "another launcher leads this run with a later term: going there");
    go_to(link, &to, ENDPOINT_MS);
}

static void on_own_alone(void *arg)
{
    struct leader_conn *link = arg;
    link->sink.alone(link->sink.arg);
}

/* ---- making ---- */

struct leader_conn *leader_conn_create(uv_loop_t *loop, const struct settings *settings,
                                       uint64_t member, struct leader_conn_sink sink)
{
    struct leader_conn *link = mem_new(sizeof *link);
    struct err err;
    struct leader_sink own = {
        .order = on_own_order, .moved = on_own_moved, .alone = on_own_alone, .arg = link
    };
    link->loop = loop;
    link->settings = settings;
    link->member = member;
    link->sink = sink;
    if (rdzv_listener_preface(link->preface, settings->token, &err) != 0)
        BUG("%s", err.what); /* launch_main has looked at it */
    if (gethostname(link->host, sizeof link->host) != 0 || link->host[sizeof link->host - 1])
        snprintf(link->host, sizeof link->host, "localhost");
    link->leader = leader_create(loop, settings, member, own);
    uv_timer_init(loop, &link->retry);
    uv_timer_init(loop, &link->beat);
    link->retry.data = link->beat.data = link;
    link->handles = 2;
    return link;
}

void leader_conn_start(struct leader_conn *link)
{
    if (link->settings->backend == RDZV_BACKEND_ALONE)
        lead(link, false);
    else
        search(link);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct leader_conn *link = handle->data;
    if (--link->handles > 0)
        return;
    vec_fini(&link->known);
    free(link);
}

void leader_conn_destroy(struct leader_conn *link)
{
    if (!link)
        return;
    conn_close(TAKE(link->conn));
    leader_destroy(TAKE(link->leader));
    uv_close((uv_handle_t *)&link->retry, on_handle_closed);
    uv_close((uv_handle_t *)&link->beat, on_handle_closed);
}
