/* Who may connect, what they still have to be told, and what they report. Everything sent down is
 * kept until the agent has it, so a lost connection or a restarted server loses nothing; facts are
 * passed up once each, in order, and acknowledged only when the core has committed them. */
#include "link/hub.h"

#include "base/log.h"
#include "base/mem.h"
#include "link/log_receiver.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define HELLO_MS 30000u

struct link_hub *link_create(struct uv_loop_s *loop, struct engine_sink sink)
{
    struct link_hub *hub = mem_new(sizeof *hub);
    hub->loop = loop;
    hub->sink = sink;
    hub->by_key = string_map_create();
    hub->by_hash = string_map_create();
    hub->held = string_map_create();
    hub->channels = map_create();
    hub->signals = map_create();
    hub->scratch = arena_create();
    hub->logs = log_receiver_create(loop, sink);
    return hub;
}

static void key_of(char out[320], struct generation g, const char *node)
{
    snprintf(out, 320, "%llu.%u.%s", (unsigned long long)g.job, g.number, node);
}

struct agent *hub_find(const struct link_hub *hub, struct generation g, const char *node)
{
    char key[320];
    key_of(key, g, node);
    return string_map_get(hub->by_key, key);
}

/* ---- bytes of many launches: the hosts of a large job are most of each ---- */

#define SHARED_LEAST 4096u
#define SHARED_FRONT 64u /* enough to look for */

static void let_go(struct shared_bytes *shared)
{
    if (shared && --shared->users == 0)
        free(shared);
}

/* Those of the launch, once for all launches with the same; NULL: it has none, or few. */
static struct shared_bytes *shared_hosts(struct link_hub *hub, const struct launch *launch)
{
    AUTO_BUF struct buf text = BUF_INIT(WIRE_MAX_FRAME);
    for (const struct hosts_text *part = launch->hosts_text; part; part = part->next)
        buf_add(&text, part->at, part->len);
    if (text.overflow || text.len < SHARED_LEAST)
        return NULL;
    struct shared_bytes *last = hub->hosts;
    if (last && last->len == text.len && memcmp(last->at, text.data, text.len) == 0)
        return last;
    let_go(last);
    hub->hosts = mem_new(sizeof *hub->hosts + text.len);
    hub->hosts->users = 1;
    hub->hosts->len = text.len;
    memcpy(hub->hosts->at, text.data, text.len);
    return hub->hosts;
}

/* Wherever they are in it: what is sent is the same bytes. */
static void cut_out(struct kept_launch *kept, struct shared_bytes *shared, struct buf *frame)
{
    const char *at = memmem(frame->data, frame->len, shared->at, SHARED_FRONT);
    if (!at || frame->len - (size_t)(at - frame->data) < shared->len ||
        memcmp(at, shared->at, shared->len) != 0)
        return;
    kept->cut = (size_t)(at - frame->data);
    kept->shared = shared;
    shared->users++;
    memmove(frame->data + kept->cut, at + shared->len, frame->len - kept->cut - shared->len);
    frame->len -= shared->len;
}

static void put_kept(struct buf *out, const struct kept_launch *kept)
{
    size_t cut = kept->shared ? kept->cut : 0;
    buf_add(out, kept->frame, cut);
    if (kept->shared)
        buf_add(out, kept->shared->at, kept->shared->len);
    buf_add(out, kept->frame + cut, kept->len - cut);
}

static void keep_frame(struct kept_launch *kept, struct shared_bytes *shared, struct buf *frame)
{
    if (shared)
        cut_out(kept, shared, frame);
    kept->len = frame->len;
    kept->frame = mem_new(frame->len);
    memcpy(kept->frame, frame->data, frame->len);
}

static void free_kept(struct kept_launch *kept)
{
    if (kept->frame)
        sodium_memzero(kept->frame, kept->len); /* it may have values of secrets */
    free(kept->frame);
    let_go(kept->shared);
    *kept = (struct kept_launch){ .seq = kept->seq };
}

/* ---- agents ---- */

static void drop_launches(struct agent *a, uint32_t up_to)
{
    while (a->launches.n && a->launches.at[0].seq <= up_to) {
        free_kept(&a->launches.at[0]);
        vec_remove(&a->launches, 0);
    }
}

static void agent_free(struct agent *a)
{
    agent_logs_destroy(a->logs);
    drop_launches(a, UINT32_MAX);
    vec_fini(&a->launches);
    vec_fini(&a->stops);
    vec_fini(&a->wants.kept);
    free(a->code);
    free(a->node);
    free(a->key);
    free(a);
}

/* Whatever was open over the connection ends with it. */
static void disconnect(struct agent *a)
{
    conn_close(TAKE(a->conn));
    a->hello = false;
    agent_logs_lost(a->logs);
    vec_clear(&a->wants.kept);
    channels_drop(a->hub, a);
    signals_drop(a->hub, a);
}

static void forget(struct link_hub *hub, struct agent *a)
{
    string_map_remove(hub->by_key, a->key);
    if (string_map_get(hub->by_hash, a->hash_hex) == a)
        string_map_remove(hub->by_hash, a->hash_hex);
    disconnect(a);
    agent_logs_close(a->logs);
    agent_free(a);
}

void link_destroy(struct link_hub *hub)
{
    if (!hub)
        return;
    size_t cursor = 0;
    const char *key;
    void *value;
    while (string_map_next(hub->by_key, &cursor, &key, &value)) {
        struct agent *a = value;
        conn_close(a->conn);
        agent_free(a);
    }
    let_go(hub->hosts);
    log_receiver_destroy(hub->logs);
    channels_destroy(hub);
    signals_destroy(hub);
    string_map_destroy(hub->by_key);
    string_map_destroy(hub->by_hash);
    string_map_destroy(hub->held);
    arena_destroy(hub->scratch);
    free(hub);
}

void link_expect(struct link_hub *hub, struct generation g, const char *node,
                 const unsigned char token_hash[32], uint64_t last_seq)
{
    if (hub_find(hub, g, node))
        return;
    char key[320];
    key_of(key, g, node);
    struct agent *a = mem_new(sizeof *a);
    a->hub = hub;
    a->key = mem_strdup(key);
    a->generation = g;
    a->node = mem_strdup(node);
    a->acked = a->seen = last_seq;
    sodium_bin2hex(a->hash_hex, sizeof a->hash_hex, token_hash, 32);
    string_map_set(hub->by_key, key, a);
    string_map_set(hub->by_hash, a->hash_hex, a);
}

void link_keep_logs(struct link_hub *hub, struct generation g, const char *node, const char *dir)
{
    struct agent *a = hub_find(hub, g, node);
    if (a && !a->logs)
        a->logs = agent_logs_create(
            hub->logs, &(struct agent_logs_source){
                           .generation = g, .node = node, .name = a->key, .dir = dir });
}

void link_forget(struct link_hub *hub, struct generation g, const char *node)
{
    struct agent *a = hub_find(hub, g, node);
    if (a)
        forget(hub, a);
}

bool link_released(const struct link_hub *hub, struct generation g, const char *node)
{
    const struct agent *a = hub_find(hub, g, node);
    return a && a->released;
}

bool link_connected(const struct link_hub *hub, struct generation g, const char *node)
{
    struct agent *a = hub_find(hub, g, node);
    return a && a->hello;
}

bool link_came(const struct link_hub *hub, struct generation g, const char *node)
{
    const struct agent *a = hub_find(hub, g, node);
    return a && a->came;
}

/* ---- down ---- */

#define KEPT_MAX (2 * WIRE_MAX_FRAME) /* a launch with its files and secrets */

/* An agent of before this server: what it cannot read it need not know, as it was before. */
static void say_older(struct agent *a, struct kept_launch *kept)
{
    struct wire_frame frame = { .kind = WIRE_NONE };
    struct launch launch;
    size_t used, at = 0;
    AUTO_BUF struct buf older = BUF_INIT(KEPT_MAX);
    AUTO_BUF struct buf whole = BUF_INIT(KEPT_MAX);
    put_kept(&whole, kept);
    for (; frame.kind != WIRE_LAUNCH; at += used) {
        if (wire_next(whole.data + at, whole.len - at, &frame, &used) != 1)
            BUG("a launch of this server cannot be read");
        if (frame.kind == WIRE_FILE)
            buf_add(&older, whole.data + at, used);
    }
    if (wire_get(&frame, a->hub->scratch, &launch) < 0)
        BUG("a launch of this server cannot be read");
    if (!wire_limit_launch(&launch, a->launch_form))
        return;
    log_warn(
        "agent.older",
        "agent=%s note=\"it holds its devices against no other server, or knows no images, podman, "
        "docker or secrets\"",
        a->key);
    wire_put(&older, 0, &launch);
    free_kept(kept);
    keep_frame(kept, NULL, &older);
}

static void send_launch(struct agent *a, struct kept_launch *kept)
{
    if (a->launch_form < WIRE_LAUNCH_FORM)
        say_older(a, kept);
    put_kept(conn_out(a->conn), kept);
}

int link_launch(struct link_hub *hub, const struct launch *launch, struct err *err)
{
    struct agent *a = hub_find(hub, launch->generation, launch->node);
    if (!a)
        return err_set(err, ERR_NOT_FOUND, "no agent is expected on %s", launch->node);
    for (size_t i = 0; i < a->launches.n; i++)
        if (a->launches.at[i].seq == launch->seq)
            return 0;
    AUTO_BUF struct buf frame = BUF_INIT(KEPT_MAX);
    for (size_t i = 0; i < launch->n_files; i++)
        wire_put(&frame, 0, &launch->files[i]);
    if (launch->n_secrets)
        wire_put(&frame, 0,
                 &(struct wire_secrets){ .at = launch->secrets, .n = launch->n_secrets });
    size_t front = frame.len;
    wire_put(&frame, 0, launch);
    if (frame.overflow || frame.len - front > WIRE_MAX_FRAME)
        return err_set(err, ERR_TOO_LARGE,
                       "the tasks of %s on %s take more than %u MiB to describe", launch->job_name,
                       launch->node, WIRE_MAX_FRAME >> 20);
    agent_logs_launch(a->logs, launch);
    struct kept_launch *kept = vec_add(&a->launches);
    kept->seq = launch->seq;
    keep_frame(kept, shared_hosts(hub, launch), &frame);
    if (a->hello) {
        send_launch(a, kept);
        conn_flush(a->conn);
    }
    if (launch->n_secrets)
        sodium_memzero(frame.data, frame.len);
    return 0;
}

void link_secrets(struct link_hub *hub, const struct engine_secrets *secrets)
{
    struct agent *a = hub_find(hub, secrets->generation, secrets->node);
    if (!a || !a->hello || a->launch_form < 3)
        return;
    wire_put(conn_out(a->conn), 0,
             &(struct wire_secrets){ .at = (struct launch_secret *)(uintptr_t)secrets->at,
                                     .n = secrets->n });
    conn_flush(a->conn);
}

void link_stop(struct link_hub *hub, struct generation g, const char *node,
               const struct task_ref *task, enum stop_how how, enum end_origin why)
{
    struct agent *a = hub_find(hub, g, node);
    if (!a)
        return;
    struct wire_stop stop = { .all = !task, .now = how == STOP_NOW, .why = why };
    if (task)
        stop.task = *task;
    *vec_add(&a->stops) = (struct kept_stop){ stop };
    if (a->hello) {
        wire_put(conn_out(a->conn), 0, &stop);
        conn_flush(a->conn);
    }
}

void link_ack(struct link_hub *hub, struct generation g, const char *node, uint64_t seq)
{
    struct agent *a = hub_find(hub, g, node);
    if (!a || seq <= a->acked)
        return;
    a->acked = seq;
    if (!a->hello)
        return;
    wire_put_plain(conn_out(a->conn), WIRE_ACK, seq);
    if (a->released && a->released <= seq)
        wire_put_plain(conn_out(a->conn), WIRE_RELEASE, 0);
    conn_flush(a->conn);
}

void link_tell_launcher(struct link_hub *hub, const struct launcher_end *end, const void *bytes,
                        size_t len)
{
    struct agent *a = hub_find(hub, end->generation, end->node);
    if (!a || !a->hello)
        return;
    struct buf *out = conn_out(a->conn);
    if (!bytes)
        wire_put_data(out, WIRE_LAUNCHER_CLOSE, end->channel, NULL, 0);
    for (size_t done = 0; bytes && done < len; done += LAUNCHER_PIECE) {
        size_t n = len - done < LAUNCHER_PIECE ? len - done : LAUNCHER_PIECE;
        wire_put_data(out, WIRE_LAUNCHER_DATA, end->channel, (const char *)bytes + done, n);
    }
    conn_flush(a->conn);
}

/* ---- up ---- */

static void tell(struct agent *a, struct engine_fact fact)
{
    fact.generation = a->generation;
    fact.node = a->node;
    a->hub->sink.fact(a->hub->sink.arg, &fact);
}

/* What it was told to forget is not in these records: they were put back from before, and what it
 * does cannot be known any more. It is let in no more, and so ends what it runs. */
static int send_away(struct agent *a, uint64_t first_seq)
{
    log_warn("agent.ahead", "agent=%s acked=%llu first=%llu note=\"the records went back\"", a->key,
             (unsigned long long)a->acked, (unsigned long long)first_seq);
    string_map_remove(a->hub->by_hash, a->hash_hex);
    return -1;
}

static int on_hello(struct agent *a, const struct wire_hello *hello)
{
    if (hello->first_seq > a->acked + 1)
        return send_away(a, hello->first_seq);
    a->hello = a->came = true;
    conn_admit(a->conn);
    agent_logs_up(a->logs, a->conn);
    a->launch_form = hello->launch_form;
    drop_launches(a, hello->launch_seq);
    struct buf *out = conn_out(a->conn);
    wire_put_plain(out, WIRE_WELCOME, a->acked);
    for (size_t i = 0; i < a->launches.n; i++)
        send_launch(a, &a->launches.at[i]);
    for (size_t i = 0; i < a->stops.n; i++)
        wire_put(out, 0, &a->stops.at[i].stop);
    if (a->released && a->released <= a->acked)
        wire_put_plain(out, WIRE_RELEASE, 0);
    conn_flush(a->conn);
    tell(a, (struct engine_fact){ .kind = FACT_AGENT_JOINED, .launch_seq = hello->launch_seq });
    return 0;
}

static void expect_log(struct agent *a, const struct wire_fact *f)
{
    struct wire_log log = { .task = f->task, .attempt = f->attempt, .end = f->log_end };
    agent_logs_expect(a->logs, &log, f->kind == WIRE_FACT_ENDED || f->kind == WIRE_FACT_REFUSED);
}

static void on_fact(struct agent *a, uint64_t seq, const struct wire_fact *f)
{
    static const enum engine_fact_kind kinds[WIRE_FACT_N] = {
        [WIRE_FACT_STARTED] = FACT_STARTED, [WIRE_FACT_ENDED] = FACT_ENDED,
        [WIRE_FACT_REFUSED] = FACT_REFUSED, [WIRE_FACT_RELEASED] = FACT_RELEASED,
        [WIRE_FACT_DIED] = FACT_DIED,       [WIRE_FACT_IMAGE] = FACT_IMAGE,
    };
    if (seq <= a->seen)
        return; /* sent again after a break; already with the core */
    a->seen = seq;
    if (f->kind != WIRE_FACT_IMAGE)
        expect_log(a, f);
    if (f->kind == WIRE_FACT_RELEASED) {
        a->released = seq;
        agent_logs_close(a->logs); /* it has waited for them as long as it may */
    }
    tell(a, (struct engine_fact){ .kind = kinds[f->kind],
                                  .seq = seq,
                                  .task = f->task,
                                  .attempt = f->attempt,
                                  .at_ms = f->at_ms,
                                  .pid = f->pid,
                                  .log_end = f->log_end,
                                  .ending = f->ending,
                                  .remark = f->remark,
                                  .wakeup = f->wakeup,
                                  .image = &f->image });
}

static void on_log(struct agent *a, const struct wire_log *log)
{
    agent_logs_expect(a->logs, log, false);
    if (!a->logs) /* else readers hear of what the copy has */
        tell(a, (struct engine_fact){ .kind = FACT_LOG,
                                      .task = log->task,
                                      .attempt = log->attempt,
                                      .log_end = log->end });
}

static int on_log_bytes(struct agent *a, const struct wire_frame *frame)
{
    return a->hello ? agent_logs_take(a->logs, frame, a->hub->scratch) : -1;
}

/* What launchers say belongs to nobody before the agent said who it is. */
static int on_launcher(struct agent *a, const struct wire_frame *frame)
{
    struct engine_fact fact = { .kind = FACT_LAUNCHER };
    struct wire_launcher open;
    struct wire_data data;
    if (!a->hello)
        return -1;
    if (frame->kind == WIRE_LAUNCHER_OPEN) {
        if (wire_get(frame, NULL, &open) < 0)
            return -1;
        fact.task = open.task;
        fact.attempt = open.attempt;
        fact.launcher = (struct launcher_input){ .channel = open.channel, .what = LAUNCHER_OPEN };
    } else {
        if (wire_get(frame, NULL, &data) < 0)
            return -1;
        fact.launcher =
            (struct launcher_input){ .channel = data.channel,
                                     .what = frame->kind == WIRE_LAUNCHER_DATA ? LAUNCHER_DATA
                                                                               : LAUNCHER_CLOSE,
                                     .bytes = data.at,
                                     .len = data.len };
    }
    tell(a, fact);
    return 0;
}

static int take_log(struct agent *a, const struct wire_frame *frame)
{
    struct wire_log log;
    if (wire_get(frame, NULL, &log) < 0)
        return -1;
    on_log(a, &log);
    return 0;
}

static struct code_route way_of(const struct agent *a)
{
    return (struct code_route){
        .code = &a->hub->code, .own = a->code, .of = a->generation, .conn = a->conn
    };
}

static int on_want(struct agent *a, const struct wire_frame *frame)
{
    const struct code_route way = way_of(a);
    return a->hello ? code_ask(&a->wants, &way, frame, a->hub->scratch) : -1;
}

static int on_frame(struct agent *a, const struct wire_frame *frame)
{
    struct arena *scratch = a->hub->scratch;
    struct wire_hello hello;
    struct wire_fact fact;
    switch (frame->kind) {
    case WIRE_HELLO:
        if (wire_get(frame, scratch, &hello) < 0 || hello.version != WIRE_VERSION)
            return -1;
        return on_hello(a, &hello);
    case WIRE_FACT:
        if (!a->hello || wire_get(frame, scratch, &fact) < 0)
            return -1;
        on_fact(a, frame->seq, &fact);
        return 0;
    case WIRE_LOG: return take_log(a, frame);
    case WIRE_PING:
        wire_put_plain(conn_out(a->conn), WIRE_PONG, frame->seq);
        conn_flush(a->conn);
        return 0;
    case WIRE_PONG: return 0; /* it was heard: that is all */
    case WIRE_STDOUT:
    case WIRE_STDERR:
    case WIRE_REACHED:
    case WIRE_EXIT: channel_from_agent(a->hub, a, frame); return 0;
    case WIRE_LAUNCHER_OPEN:
    case WIRE_LAUNCHER_DATA:
    case WIRE_LAUNCHER_CLOSE: return on_launcher(a, frame);
    case WIRE_LOG_BYTES: return on_log_bytes(a, frame);
    case WIRE_WANT: return on_want(a, frame);
    case WIRE_SIGNALLED: return signal_from_agent(a->hub, a, frame);
    default: return -1;
    }
}

static int agent_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct agent *a = arg;
    struct link_hub *hub = a->hub;
    char key[320];
    (void)conn;
    key_of(key, a->generation, a->node);
    int bad = on_frame(a, frame); /* may forget the agent */
    arena_reset(hub->scratch);
    if (bad < 0)
        log_warn("agent.frame", "agent=%s kind=%d broken, connection closed", key,
                 (int)frame->kind);
    return bad;
}

static void agent_room(void *arg, struct conn *conn)
{
    struct agent *a = arg;
    (void)conn;
    const struct code_route way = way_of(a);
    code_go_on(&a->wants, &way);
    channels_go_on(a->hub, a);
}

static void agent_closed(void *arg, struct conn *conn, const char *why)
{
    struct agent *a = arg;
    const uint64_t quiet_ms = conn_quiet_ms(conn);
    const bool silent = a->hello && a->logs; /* of one here, its keeper's end is heard at once */
    log_debug("agent.closed", "agent=%s reason=\"%s\"", a->key, why);
    a->conn = NULL;
    disconnect(a);
    if (silent)
        tell(a, (struct engine_fact){ .kind = FACT_AGENT_SILENT,
                                      .quiet_ms = quiet_ms < UINT32_MAX ? (uint32_t)quiet_ms
                                                                        : UINT32_MAX });
}

/* ---- joining ---- */

#define HASH_HEX 65
static bool hash_token(const char *token, char hex[HASH_HEX])
{
    unsigned char raw[32], hash[32];
    size_t len = 0;
    if (sodium_hex2bin(raw, sizeof raw, token, strlen(token), NULL, &len, NULL) != 0 || len != 32)
        return false;
    crypto_hash_sha256(hash, raw, sizeof raw);
    sodium_bin2hex(hex, HASH_HEX, hash, sizeof hash);
    return true;
}

void link_hold(struct link_hub *hub, const char *token)
{
    char hex[HASH_HEX];
    if (hash_token(token, hex))
        string_map_set(hub->held, hex, hub);
}

bool link_holds(const struct link_hub *hub, const char *token)
{
    char hex[HASH_HEX];
    if (!hash_token(token, hex))
        return false;
    const struct agent *a = string_map_get(hub->by_hash, hex);
    return string_map_get(hub->held, hex) || (a && a->barred);
}

void link_bar(struct link_hub *hub, struct generation g, const char *node, bool barred)
{
    struct agent *a = hub_find(hub, g, node);
    if (a)
        a->barred = barred;
}

void link_set_peers(struct link_hub *hub, enum link_peer which, struct link_peers peers)
{
    hub->peers[which] = peers;
}

static const struct link_peers *find_peers(const struct link_hub *hub, const char *hash_hex)
{
    for (size_t i = 0; i < LINK_PEERS; i++)
        if (hub->peers[i].knows && hub->peers[i].knows(hub->peers[i].arg, hash_hex))
            return &hub->peers[i];
    return NULL;
}

struct uv_loop_s *link_loop(const struct link_hub *hub)
{
    return hub->loop;
}

bool link_knows(const struct link_hub *hub, const char *token)
{
    char hex[HASH_HEX];
    return hash_token(token, hex) && (string_map_get(hub->by_hash, hex) || find_peers(hub, hex));
}

void link_adopt(struct link_hub *hub, const char *token, struct conn *conn)
{
    char hex[HASH_HEX];
    struct agent *a = hash_token(token, hex) ? string_map_get(hub->by_hash, hex) : NULL;
    if (!a) {
        const struct link_peers *peers = find_peers(hub, hex);
        peers->adopt(peers->arg, hex, conn);
        return;
    }
    disconnect(a);
    a->conn = conn;
    conn_set_events(
        conn, (struct conn_events){
                  .frame = agent_frame, .room = agent_room, .closed = agent_closed, .arg = a });
}

void link_serve_code(struct link_hub *hub, struct link_code code)
{
    hub->code = code;
}

void link_stage_code(struct link_hub *hub, struct generation g, const char *node, const char *path)
{
    struct agent *a = hub_find(hub, g, node);
    if (!a)
        return;
    free(a->code);
    a->code = mem_strdup(path);
}

bool link_quiet_ms(const struct link_hub *hub, struct generation g, const char *node, uint64_t *ms)
{
    const struct agent *a = hub_find(hub, g, node);
    if (!a || !a->hello)
        return false;
    *ms = conn_quiet_ms(a->conn);
    return true;
}

int link_attach(struct link_hub *hub, const char *token, int fd, const void *extra, size_t len,
                struct err *err)
{
    if (!link_knows(hub, token)) {
        close(fd);
        return err_set(err, ERR_UNAUTHENTICATED, "the agent is not expected any more");
    }
    static const struct conn_terms terms = { .kinds = CONN_AGENT_KINDS,
                                             .out_max = LINK_OUT_MAX,
                                             .room = LINK_OUT_ROOM,
                                             .handshake_ms = HELLO_MS };
    struct conn *conn = conn_create(hub->loop, fd, &terms, (struct conn_events){ 0 });
    link_adopt(hub, token, conn);
    conn_unread(conn, extra, len);
    return 0;
}
