/* What each host is to have, against what it shows. HOST_RUNS, once after each connection, is the
 * whole truth of that moment: from it follows what to send again, and what has ended meanwhile. It
 * is the first place where a run is looked at; before it nothing goes down.
 *
 * A run that was started for the first time by this process and yet is shown as ended is an earlier
 * one of the same generation, whose HOST_CLEAN was lost: it is sent again. One that was given up
 * while its host had not said that it has ended is ended first: until then the next of the
 * generation is not started, and its agent is not let in. So is one that the host shows under
 * another mark, which comes of the token: it was given up under an earlier server. A host may say
 * twice that a run has ended, by itself and when it is told to end it; what it says before it has
 * answered a PING that follows is all of the earlier one. */
#include "link/hosts.h"

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "conn/conn.h"
#include "wire/message.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define ASK_MS     1000u
#define SILENCE_MS 3000u /* a machine that was frozen or switched off is noticed after so long */
#define KEY_SIZE   40

/* WANTED: HOST_START goes down until the host shows it. RECOVERED: of an earlier server, its host
 * has not been heard. ABSENT: recovered, and its host has none. LEAVING: nobody wants what its host
 * has of it, and the host has not said that it has ended. */
enum run_stage { RUN_WANTED, RUN_RECOVERED, RUN_ABSENT, RUN_LIVES, RUN_OVER, RUN_LEAVING };

struct host_run {
    char key[KEY_SIZE]; /* "job.generation" */
    struct generation generation;
    enum run_stage stage;
    unsigned char token[HOST_TOKEN];
    bool sandbox;
    uint64_t leave_ms;
    char code[HOST_CODE + 1], marker[HOST_MARKER + 1]; /* "": none */
    bool began;                                        /* not there means that it has ended */
    bool fresh;                                        /* HOST_START was never sent */
    bool end;                                          /* HOST_END goes down */
    bool shown;                                        /* in the HOST_RUNS that is looked at */
    bool again;    /* LEAVING: another of the generation is wanted, as the other members say */
    bool owed;     /* LEAVING: another is recovered or wanted, of which `ended` was not told */
    bool unwanted; /* recovered, and not started: nothing there means that it has ended */
    uint32_t mark; /* in HOST_START; 0: its token is not known */
    uint64_t ping; /* LEAVING: it has ended, and this is to be answered; 0: it has not */
};

struct host {
    struct hosts *hosts;
    char *node;
    char hash_hex[65];
    struct string_map *runs; /* of struct host_run, by key */
    struct conn *conn;       /* NULL: not connected */
    bool hello, synced;      /* HOST_HELLO, HOST_RUNS came on this connection */
    char machine[80], boot[80];
    uint32_t does; /* as its last HOST_HELLO said */
};

struct hosts {
    struct link_hub *hub;
    struct hosts_sink sink;
    struct arena *scratch;
    struct string_map *by_node, *by_hash;
    uint64_t pings; /* those of the keep-alive have no number */
};

static void free_host(void *value)
{
    struct host *host = value;
    conn_close(host->conn);
    string_map_destroy_with(host->runs, free);
    free(host->node);
    free(host);
}

void hosts_destroy(struct hosts *hosts)
{
    if (!hosts)
        return;
    link_set_peers(hosts->hub, LINK_HOSTS, (struct link_peers){ .knows = NULL });
    arena_destroy(hosts->scratch);
    string_map_destroy(hosts->by_hash);
    string_map_destroy_with(hosts->by_node, free_host);
    free(hosts);
}

void hosts_expect(struct hosts *hosts, const char *node, const unsigned char token_hash[32])
{
    struct host *host = string_map_get(hosts->by_node, node);
    char hex[65];
    sodium_bin2hex(hex, sizeof hex, token_hash, 32);
    if (host && strcmp(host->hash_hex, hex) == 0)
        return;
    if (host) {
        string_map_remove(hosts->by_hash, host->hash_hex);
        host->synced = false;
        if (host->conn)
            conn_finish(host->conn);
    } else {
        host = mem_new(sizeof *host);
        host->hosts = hosts;
        host->node = mem_strdup(node);
        host->runs = string_map_create();
        string_map_set(hosts->by_node, node, host);
    }
    memcpy(host->hash_hex, hex, sizeof hex);
    string_map_set(hosts->by_hash, host->hash_hex, host);
}

void hosts_forget(struct hosts *hosts, const char *node)
{
    struct host *host = string_map_get(hosts->by_node, node);
    if (!host)
        return;
    string_map_remove(hosts->by_hash, host->hash_hex);
    string_map_remove(hosts->by_node, node);
    free_host(host);
}

bool hosts_has(const struct hosts *hosts, const char *node)
{
    return string_map_get(hosts->by_node, node);
}

bool hosts_connected(const struct hosts *hosts, const char *node)
{
    const struct host *host = string_map_get(hosts->by_node, node);
    return host && host->synced;
}

void hosts_ids(const struct hosts *hosts, const char *node, const char **machine, const char **boot)
{
    const struct host *host = string_map_get(hosts->by_node, node);
    *machine = host ? host->machine : "";
    *boot = host ? host->boot : "";
}

/* ---- images ---- */

bool hosts_fetch_image(struct hosts *hosts, const char *node, const struct wire_host_image *wanted)
{
    const struct host *host = string_map_get(hosts->by_node, node);
    if (!host || !host->synced || !(host->does & HOST_IMAGES))
        return false;
    wire_put(conn_out(host->conn), 0, wanted);
    conn_flush(host->conn);
    return true;
}

void hosts_drop_image(struct hosts *hosts, const char *node, uint32_t number)
{
    const struct host *host = string_map_get(hosts->by_node, node);
    if (!host || !host->synced || !(host->does & HOST_IMAGES))
        return;
    wire_put(conn_out(host->conn), 0, &(struct wire_host_image_drop){ .number = number });
    conn_flush(host->conn);
}

/* ---- runs ---- */

static const char *key_of(char out[KEY_SIZE], struct generation g)
{
    snprintf(out, KEY_SIZE, "%llu.%u", (unsigned long long)g.job, g.number);
    return out;
}

static struct host_run *find_run(const struct host *host, struct generation g)
{
    char key[KEY_SIZE];
    return host ? string_map_get(host->runs, key_of(key, g)) : NULL;
}

static struct host_run *add_run(struct host *host, struct generation g)
{
    struct host_run *run = mem_new(sizeof *run);
    run->generation = g;
    key_of(run->key, g);
    string_map_set(host->runs, run->key, run);
    return run;
}

static uint32_t mark_of(const unsigned char token_hash[32])
{
    return (uint32_t)token_hash[0] << 24 | (uint32_t)token_hash[1] << 16 |
           (uint32_t)token_hash[2] << 8 | token_hash[3];
}

static void send_start(struct host *host, struct host_run *run)
{
    const struct wire_host_start start = { .generation = run->generation,
                                           .token = run->token,
                                           .token_len = sizeof run->token,
                                           .sandbox = run->sandbox,
                                           .leave_ms = run->leave_ms,
                                           .code = *run->code ? run->code : NULL,
                                           .marker = *run->marker ? run->marker : NULL,
                                           .mark = run->mark };
    run->fresh = false;
    wire_put(conn_out(host->conn), 0, &start);
}

static void send_end(struct host *host, struct generation g)
{
    wire_put(conn_out(host->conn), 0, &(struct wire_host_end){ .generation = g });
}

static void send_clean(struct host *host, struct generation g)
{
    wire_put(conn_out(host->conn), 0, &(struct wire_host_clean){ .generation = g });
}

static void note_start(struct host_run *run, const struct hosts_start *start)
{
    run->sandbox = start->sandbox;
    run->leave_ms = start->leave_ms;
    snprintf(run->code, sizeof run->code, "%s", start->code ? start->code : "");
    snprintf(run->marker, sizeof run->marker, "%s", start->marker ? start->marker : "");
    memcpy(run->token, start->token, sizeof run->token);
    unsigned char hash[32];
    crypto_hash_sha256(hash, run->token, sizeof run->token);
    run->mark = mark_of(hash);
}

bool hosts_start(struct hosts *hosts, const struct hosts_start *start)
{
    struct host *host = string_map_get(hosts->by_node, start->node);
    struct host_run *run = find_run(host, start->generation);
    if (!host)
        return false;
    if (run && run->stage == RUN_LEAVING) {
        run->again = run->owed = true;
        note_start(run, start);
        return true;
    }
    if (run && run->stage != RUN_RECOVERED && run->stage != RUN_ABSENT)
        return true;
    bool now = host->synced;
    if (!run) {
        run = add_run(host, start->generation);
        run->fresh = true;
    }
    if (run->began) /* it is not started anew before its host has said what became of it */
        return true;
    run->stage = RUN_WANTED;
    note_start(run, start);
    if (now) {
        send_start(host, run);
        conn_flush(host->conn);
    }
    return true;
}

bool hosts_recover(struct hosts *hosts, const struct engine_agent *known, bool began)
{
    struct host *host = string_map_get(hosts->by_node, known->node);
    if (!host)
        return false;
    if (find_run(host, known->generation))
        return true;
    struct host_run *run = add_run(host, known->generation);
    run->stage = RUN_RECOVERED;
    run->began = began;
    run->mark = mark_of(known->token_hash);
    return true;
}

bool hosts_cancel(struct hosts *hosts, struct generation g, const char *node)
{
    struct host *host = string_map_get(hosts->by_node, node);
    struct host_run *run = find_run(host, g);
    if (run && run->stage == RUN_LEAVING && run->again) {
        run->again = run->owed = false;
        return true;
    }
    if (run && (run->stage == RUN_RECOVERED || run->stage == RUN_LEAVING))
        run->unwanted = true;
    if (!run || !(run->fresh || run->stage == RUN_ABSENT))
        return false;
    string_map_remove(host->runs, run->key);
    free(run);
    return true;
}

bool hosts_end(struct hosts *hosts, struct generation g, const char *node)
{
    struct host *host = string_map_get(hosts->by_node, node);
    struct host_run *run = find_run(host, g);
    if (!host)
        return false;
    if (!run || run->stage == RUN_OVER || (run->stage == RUN_LEAVING && !run->owed))
        return true;
    run->end = true; /* LEAVING: told when what leaves has ended */
    if (host->synced && run->stage != RUN_LEAVING) {
        send_end(host, g);
        conn_flush(host->conn);
    }
    return true;
}

bool hosts_clean(struct hosts *hosts, struct generation g, const char *node)
{
    struct host *host = string_map_get(hosts->by_node, node);
    struct host_run *run = find_run(host, g);
    if (!host)
        return false;
    if (run && run->stage == RUN_LEAVING) {
        run->again = run->owed = false;
        return true;
    }
    if (run && !run->fresh && run->stage != RUN_OVER && run->stage != RUN_ABSENT) {
        run->stage = RUN_LEAVING;
        if (host->synced) {
            send_end(host, g);
            conn_flush(host->conn);
        }
        return true;
    }
    if (host->synced) {
        send_clean(host, g);
        conn_flush(host->conn);
    }
    if (run) {
        string_map_remove(host->runs, run->key);
        free(run);
    }
    return true;
}

bool hosts_runs(const struct hosts *hosts, struct generation g, const char *node)
{
    const struct host_run *run = find_run(string_map_get(hosts->by_node, node), g);
    return run && run->stage != RUN_OVER && (run->stage != RUN_LEAVING || run->owed);
}

bool hosts_leaves(const struct hosts *hosts, struct generation g, const char *node)
{
    const struct host_run *run = find_run(string_map_get(hosts->by_node, node), g);
    return run && run->stage == RUN_LEAVING;
}

/* ---- what a host says ---- */

/* Nothing lives of one that was given up: its directory goes. */
static void clean_left(struct host *host, struct host_run *run)
{
    if (run->ping)
        return;
    run->ping = ++host->hosts->pings;
    send_clean(host, run->generation);
    wire_put_plain(conn_out(host->conn), WIRE_PING, run->ping);
}

/* The owner may clean the run meanwhile. */
static void end_run(struct host *host, struct host_run *run, const char *reason)
{
    const struct hosts_sink *sink = &host->hosts->sink;
    if (run->stage == RUN_OVER)
        return;
    run->stage = RUN_OVER;
    sink->ended(sink->arg, run->generation, host->node, reason);
}

/* And nothing more is said of it: the next may come. */
static void let_next(struct host *host, struct host_run *run)
{
    link_bar(host->hosts->hub, run->generation, host->node, false);
    if (!run->owed) {
        string_map_remove(host->runs, run->key);
        free(run);
        return;
    }
    bool again = run->again, end = run->end || (run->unwanted && !again);
    run->began = run->end = run->again = run->owed = false;
    run->ping = 0;
    run->stage = again ? RUN_WANTED : RUN_ABSENT;
    if (end)
        end_run(host, run, "it was not started: an earlier run had to end first");
    else if (again)
        send_start(host, run);
}

/* The host has an earlier run of that generation, which was given up: it goes. false: what is known
 * here has gone from there. */
static bool leave_earlier(struct host *host, struct host_run *run,
                          const struct wire_host_run *shown)
{
    log_warn("host.earlier", "node=%s job=%llu generation=%u note=\"it was given up: it goes\"",
             host->node, (unsigned long long)shown->generation.job, shown->generation.number);
    if (run->began || run->end || run->stage == RUN_OVER) {
        send_end(host, shown->generation);
        send_clean(host, shown->generation);
        return false;
    }
    run->again = run->stage == RUN_WANTED;
    run->owed = true;
    run->stage = RUN_LEAVING;
    run->fresh = false;
    link_bar(host->hosts->hub, run->generation, host->node, true);
    return true;
}

/* mark: 0: not known. */
static void look_at_shown(struct host *host, const struct wire_host_run *shown, uint32_t mark)
{
    struct host_run *run = find_run(host, shown->generation);
    bool lives = shown->state == HOST_RUN_LIVES;
    bool earlier = run && mark && run->mark && mark != run->mark && run->stage != RUN_LEAVING;
    if (earlier && !leave_earlier(host, run, shown))
        return;
    if (!run) { /* the next of the generation may be wanted before this one has ended */
        if (lives)
            log_warn("host.stranger",
                     "node=%s job=%llu generation=%u note=\"nobody knows it: it goes\"", host->node,
                     (unsigned long long)shown->generation.job, shown->generation.number);
        run = add_run(host, shown->generation);
        run->stage = RUN_LEAVING;
    }
    run->shown = true;
    if (run->stage == RUN_LEAVING) {
        if (lives)
            send_end(host, run->generation);
        else
            clean_left(host, run);
    } else if (lives) {
        run->stage = RUN_LIVES;
        run->began = true;
        if (run->end)
            send_end(host, run->generation);
    } else if (run->stage == RUN_WANTED && run->fresh) {
        send_clean(host, run->generation);
        run->shown = false; /* that was an earlier one */
    } else {
        end_run(host, run, "its machine says that it has ended");
    }
}

static void look_at_missing(struct host *host, struct host_run *run)
{
    if (run->stage == RUN_OVER)
        return;
    if (run->stage == RUN_LEAVING)
        clean_left(host, run);
    else if (run->began || run->end || (run->unwanted && run->stage == RUN_RECOVERED))
        end_run(host, run, "its machine has nothing of it any more");
    else if (run->stage == RUN_WANTED)
        send_start(host, run);
    else
        run->stage = RUN_ABSENT;
}

/* Keys first: whoever is told of an end may change the table. */
static void look_at_all(struct host *host, const struct wire_host_runs *all)
{
    size_t cursor = 0, n = 0;
    const char *key;
    void *value;
    for (uint32_t i = 0; i < all->n_runs; i++)
        look_at_shown(host, &all->runs[i], all->n_marks ? all->marks[i] : 0);
    struct generation *missing =
        ARENA_ARRAY(host->hosts->scratch, string_map_count(host->runs) + 1, struct generation);
    while (string_map_next(host->runs, &cursor, &key, &value)) {
        struct host_run *run = value;
        if (run->stage == RUN_WANTED && link_came(host->hosts->hub, run->generation, host->node))
            run->began = true; /* on a disk that was lost, too, it is not started again */
        if (!run->shown)
            missing[n++] = run->generation;
        run->shown = false;
    }
    for (size_t i = 0; i < n; i++) {
        struct host_run *run = find_run(host, missing[i]);
        if (run)
            look_at_missing(host, run);
    }
    conn_flush(host->conn);
}

static int on_hello(struct host *host, const struct wire_frame *frame)
{
    const struct hosts_sink *sink = &host->hosts->sink;
    struct wire_host_hello hello;
    char from[ADDRESS_MAX];
    if (wire_get(frame, host->hosts->scratch, &hello) < 0 || hello.version != WIRE_VERSION)
        return -1;
    if (strcmp(hello.node, host->node) != 0) {
        log_warn("host.other", "node=%s name=%s note=\"its token is another machine's\"",
                 host->node, hello.node);
        return -1;
    }
    if (!host->hello) {
        host->hello = true;
        conn_admit(host->conn);
        conn_keep_alive(host->conn, &(struct conn_keep_alive_terms){ .kind = WIRE_PING,
                                                                     .ask_ms = ASK_MS,
                                                                     .silence_ms = SILENCE_MS });
    }
    snprintf(host->machine, sizeof host->machine, "%s", hello.machine);
    snprintf(host->boot, sizeof host->boot, "%s", hello.boot);
    host->does = hello.does;
    conn_address(host->conn, true, from);
    sink->up(sink->arg, host->node, from, &hello);
    return 0;
}

/* Of an earlier connection: what HOST_RUNS shows is newer. */
static void forget_pings(struct host *host)
{
    size_t cursor = 0;
    const char *key;
    void *value;
    while (string_map_next(host->runs, &cursor, &key, &value))
        ((struct host_run *)value)->ping = 0;
}

static int on_runs(struct host *host, const struct wire_frame *frame)
{
    struct wire_host_runs runs;
    if (!host->hello || host->synced || wire_get(frame, host->hosts->scratch, &runs) < 0)
        return -1;
    host->synced = true;
    forget_pings(host);
    look_at_all(host, &runs);
    return 0;
}

static int on_ended(struct host *host, const struct wire_frame *frame)
{
    struct wire_host_ended_report ended;
    if (!host->synced || wire_get(frame, host->hosts->scratch, &ended) < 0)
        return -1;
    struct host_run *run = find_run(host, ended.generation);
    if (run && run->stage == RUN_LEAVING) {
        clean_left(host, run);
        conn_flush(host->conn);
    } else if (run) {
        end_run(host, run, ended.reason);
    }
    return 0;
}

static int on_image(struct host *host, const struct wire_frame *frame)
{
    const struct hosts_sink *sink = &host->hosts->sink;
    struct wire_host_image_report news;
    if (!host->synced || wire_get(frame, host->hosts->scratch, &news) < 0)
        return -1;
    if (sink->image)
        sink->image(sink->arg, host->node, &news);
    return 0;
}

static int on_store(struct host *host, const struct wire_frame *frame)
{
    const struct hosts_sink *sink = &host->hosts->sink;
    struct wire_host_store_report said;
    if (!host->synced || wire_get(frame, host->hosts->scratch, &said) < 0)
        return -1;
    if (sink->store)
        sink->store(sink->arg, host->node, &said);
    return 0;
}

static int on_pong(struct host *host, uint64_t ping)
{
    size_t cursor = 0;
    const char *key;
    void *value;
    while (ping && string_map_next(host->runs, &cursor, &key, &value)) {
        struct host_run *run = value;
        if (run->ping != ping)
            continue;
        let_next(host, run);
        conn_flush(host->conn);
        break;
    }
    return 0;
}

static int on_frame(struct host *host, const struct wire_frame *frame)
{
    switch (frame->kind) {
    case WIRE_HOST_HELLO: return on_hello(host, frame);
    case WIRE_HOST_RUNS: return on_runs(host, frame);
    case WIRE_HOST_ENDED: return on_ended(host, frame);
    case WIRE_HOST_IMAGE_NEWS: return on_image(host, frame);
    case WIRE_HOST_STORE: return on_store(host, frame);
    case WIRE_PONG: return on_pong(host, frame->seq);
    case WIRE_PING:
        wire_put_plain(conn_out(host->conn), WIRE_PONG, frame->seq);
        conn_flush(host->conn);
        return 0;
    default: return -1;
    }
}

static int host_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct host *host = arg;
    (void)conn;
    int bad = on_frame(host, frame);
    arena_reset(host->hosts->scratch);
    if (bad < 0)
        log_warn("host.frame", "node=%s kind=%d broken, connection closed", host->node,
                 (int)frame->kind);
    return bad;
}

static void host_room(void *arg, struct conn *conn)
{
    (void)arg;
    (void)conn;
}

static void lose(struct host *host, const char *why)
{
    const struct hosts_sink *sink = &host->hosts->sink;
    bool was = host->hello;
    host->hello = host->synced = false;
    if (was)
        sink->down(sink->arg, host->node, why);
}

static void host_closed(void *arg, struct conn *conn, const char *why)
{
    struct host *host = arg;
    (void)conn;
    host->conn = NULL;
    lose(host, why);
}

/* ---- joining ---- */

static bool knows(void *arg, const char *hash_hex)
{
    const struct hosts *hosts = arg;
    return string_map_get(hosts->by_hash, hash_hex);
}

static void adopt(void *arg, const char *hash_hex, struct conn *conn)
{
    const struct hosts *hosts = arg;
    struct host *host = string_map_get(hosts->by_hash, hash_hex);
    conn_close(TAKE(host->conn));
    host->hello = host->synced = false; /* the next HOST_HELLO is told as any */
    host->conn = conn;
    conn_set_events(
        conn, (struct conn_events){
                  .frame = host_frame, .room = host_room, .closed = host_closed, .arg = host });
}

struct hosts *hosts_create(struct link_hub *hub, struct hosts_sink sink)
{
    struct hosts *hosts = mem_new(sizeof *hosts);
    hosts->hub = hub;
    hosts->sink = sink;
    hosts->by_node = string_map_create();
    hosts->by_hash = string_map_create();
    hosts->scratch = arena_create();
    link_set_peers(hub, LINK_HOSTS,
                   (struct link_peers){ .knows = knows, .adopt = adopt, .arg = hosts });
    return hosts;
}
