/* A terminal: two sockets, one that speaks WebSocket to a browser and one that carries the frames
 * of an interactive command, and what is translated between them.
 *
 * Effects: a shell in a task's view, as `muster exec` opens it, for as long as both ends live. A
 * side is only read while the other takes what it is sent. */
#include "api/dlc/terminal.h"

#include "access/task_entry.h"
#include "base/mem.h"
#include "base/scan.h"
#include "conn/conn.h"
#include "http/websocket.h"
#include "text/json.h"
#include "wire/message.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE        16384
#define IN_MAX       (WEBSOCKET_MESSAGE_MAX + 64 + PIECE)
#define OUT_MAX      (8u << 20)
#define FULL         (1u << 20) /* the other side waits while so much is not sent */
#define TOKEN_MAX    4096
#define CHARACTER    4 /* most bytes of one */
#define NO_CHARACTER "\xef\xbf\xbd"
#define NOTHING      "-" /* in a token's place */

struct terminal {
    struct terminal *next, **at;
    struct conn *browser, *shell; /* shell: NULL when it says no more */
    struct websocket framing;
    char cut[CHARACTER]; /* of output: a character whose end is still to come */
    size_t n_cut;
};
struct terminals {
    struct terminal *first;
    unsigned char key[crypto_secretbox_KEYBYTES];
};

/* ---- tokens ---- */

struct terminals *terminals_create(void)
{
    struct terminals *all = mem_new(sizeof *all);
    crypto_secretbox_keygen(all->key);
    return all;
}

const char *terminals_seal(const struct terminals *all, struct arena *a, struct terminal_pass pass)
{
    unsigned char raw[TOKEN_MAX];
    const char *text = arena_printf(
        a, "%llu %llu %s %s %s %s", (unsigned long long)pass.job, (unsigned long long)pass.until_ms,
        pass.task, pass.owner, pass.token ? pass.token : NOTHING, pass.key ? pass.key : NOTHING);
    size_t head = crypto_secretbox_NONCEBYTES, len = strlen(text);
    size_t size = head + crypto_secretbox_MACBYTES + len;
    size_t space = sodium_base64_ENCODED_LEN(size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    char *out = arena_alloc(a, space);
    if (size > sizeof raw)
        return NULL;
    randombytes_buf(raw, head);
    crypto_secretbox_easy(raw + head, (const unsigned char *)text, len, raw, all->key);
    return sodium_bin2base64(out, space, raw, size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

bool terminals_open(const struct terminals *all, struct arena *a, const char *token,
                    struct terminal_pass *pass)
{
    unsigned char raw[TOKEN_MAX];
    const size_t head = crypto_secretbox_NONCEBYTES, least = head + crypto_secretbox_MACBYTES;
    char *text = arena_alloc(a, TOKEN_MAX), hex[2 * crypto_secretbox_NONCEBYTES + 1];
    const char *end;
    size_t len = 0;
    char *parts[6], *at = text; /* job, until, task, owner, token, key */
    if (sodium_base642bin(raw, sizeof raw, token, strlen(token), NULL, &len, &end,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        *end || len <= least ||
        crypto_secretbox_open_easy((unsigned char *)text, raw + head, len - head, raw, all->key))
        return false;
    text[len - least] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        char *blank = i + 1 < ARRAY_LEN(parts) ? strchr(at, ' ') : at + strlen(at);
        if (!blank)
            return false;
        parts[i] = at;
        at = blank + (*blank == ' ');
        *blank = '\0';
    }
    *pass = (struct terminal_pass){ .owner = parts[3], .task = parts[2] };
    pass->token = strcmp(parts[4], NOTHING) != 0 ? parts[4] : NULL;
    pass->key = strcmp(parts[5], NOTHING) != 0 ? parts[5] : NULL;
    if (!scan_u64(parts[0], 0, UINT64_MAX, &pass->job) ||
        !scan_u64(parts[1], 0, UINT64_MAX, &pass->until_ms))
        return false;
    pass->nonce = arena_strdup(a, sodium_bin2hex(hex, sizeof hex, raw, head));
    return true;
}

/* ---- the end ---- */

static void hang_up(struct terminal *t)
{
    *t->at = t->next;
    if (t->next)
        t->next->at = t->at;
    conn_close(t->browser);
    conn_close(t->shell);
    websocket_fini(&t->framing);
    free(t);
}

void terminals_destroy(struct terminals *all)
{
    struct terminal *next;
    for (struct terminal *t = all->first; t; t = next) {
        next = t->next;
        hang_up(t);
    }
    sodium_memzero(all->key, sizeof all->key);
    free(all);
}

/* Its last word, which is still sent. */
static void say_goodbye(struct terminal *t, enum websocket_code code)
{
    websocket_put_close(conn_out(t->browser), code);
    conn_finish(t->browser);
    conn_close(TAKE(t->shell));
}

/* ---- from the shell ---- */

static void say(struct terminal *t, const char *text)
{
    struct arena *a = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(8 * PIECE);
    struct text_node *map = text_map(a, NULL, NULL);
    text_str(a, map, "operation", "stdout");
    text_str(a, map, "data", text);
    json_print(map, 0, &out);
    websocket_put(conn_out(t->browser), WEBSOCKET_TEXT, buf_str(&out), out.len);
    arena_destroy(a);
}

/* Bytes at the end that may yet become a character: its beginning, and fewer than it has. */
static size_t unfinished(const char *at, size_t len)
{
    for (size_t n = 1; n < CHARACTER && n <= len; n++) {
        unsigned char c = (unsigned char)at[len - n];
        if (c >= 0xc2 && c <= 0xf4)
            return n < (c < 0xe0 ? 2u : c < 0xf0 ? 3u : 4u) ? n : 0;
        if (c < 0x80 || c >= 0xc0)
            return 0;
    }
    return 0;
}

/* Output is bytes, JSON is characters: what is none is shown as one that says so. */
static void show(struct terminal *t, const void *bytes, size_t len)
{
    AUTO_BUF struct buf raw = BUF_INIT(4 * PIECE), text = BUF_INIT(16 * PIECE);
    buf_add(&raw, t->cut, t->n_cut);
    buf_add(&raw, bytes, len);
    t->n_cut = unfinished(buf_str(&raw), raw.len);
    memcpy(t->cut, buf_str(&raw) + raw.len - t->n_cut, t->n_cut);
    size_t end = raw.len - t->n_cut;
    for (size_t at = 0; at < end;) {
        size_t good = scan_utf8_prefix(raw.data + at, end - at);
        buf_add(&text, raw.data + at, good);
        at += good;
        if (at < end) {
            buf_puts(&text, raw.data[at] ? NO_CHARACTER : "");
            at++;
        }
    }
    if (text.len)
        say(t, buf_str(&text));
}

static int from_shell(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct terminal *t = arg;
    struct wire_data data;
    if (frame->kind == WIRE_EXIT)
        say_goodbye(t, WEBSOCKET_DONE);
    if ((frame->kind != WIRE_STDOUT && frame->kind != WIRE_STDERR) ||
        wire_get(frame, NULL, &data) != 0)
        return 0;
    for (size_t done = 0; done < data.len; done += PIECE)
        show(t, (const char *)data.at + done, data.len - done < PIECE ? data.len - done : PIECE);
    conn_flush(t->browser);
    if (!conn_has_room(t->browser))
        conn_read(conn, CONN_HOLDS);
    return 0;
}

static void browser_has_room(void *arg, struct conn *conn)
{
    struct terminal *t = arg;
    (void)conn;
    if (t->shell)
        conn_read(t->shell, CONN_READS);
}

/* With it whoever could say more is gone. */
static void shell_closed(void *arg, struct conn *conn, const char *why)
{
    struct terminal *t = arg;
    (void)conn;
    (void)why;
    t->shell = NULL;
    say_goodbye(t, WEBSOCKET_AWAY);
}

/* ---- from the browser ---- */

static uint16_t cells(const struct text_node *map, const char *key, uint16_t otherwise)
{
    const struct text_node *node = text_get(map, key);
    bool good = node && node->kind == TEXT_INT && node->integer > 0 && node->integer <= 10000;
    return good ? (uint16_t)node->integer : otherwise;
}

static void type(struct terminal *t, const struct websocket_message *m)
{
    struct arena *a = arena_create();
    struct report report;
    report_init(&report, a);
    const struct text_node *map = json_parse(a, m->data, m->len, 0, &report);
    map = map && map->kind == TEXT_MAP && report_ok(&report) ? map : NULL;
    const struct text_node *what = map ? text_get(map, "operation") : NULL;
    const struct text_node *data = map ? text_get(map, "data") : NULL;
    const char *word = what && what->kind == TEXT_STR ? what->str : "";
    if (strcmp(word, "stdin") == 0 && data && data->kind == TEXT_STR && *data->str)
        wire_put_data(conn_out(t->shell), WIRE_STDIN, 0, data->str, strlen(data->str));
    else if (strcmp(word, "resize") == 0)
        wire_put(conn_out(t->shell), 0,
                 &(struct wire_resize){ .rows = cells(map, "rows", 24),
                                        .cols = cells(map, "cols", 80) });
    else if (!map)
        say_goodbye(t, WEBSOCKET_NO_TEXT);
    arena_destroy(a);
}

static ssize_t from_browser(void *arg, struct conn *conn, char *at, size_t len)
{
    struct terminal *t = arg;
    struct websocket_message m;
    size_t used = 0;
    int got = websocket_next(&t->framing, at, len, &m, &used);
    if (got == 0)
        return len <= IN_MAX ? 0 : -1;
    if (got < 0)
        say_goodbye(t, t->framing.fault);
    else if (m.kind == WEBSOCKET_TEXT)
        type(t, &m);
    else if (m.kind == WEBSOCKET_PING)
        websocket_put(conn_out(conn), WEBSOCKET_PONG, m.data, m.len);
    else if (m.kind == WEBSOCKET_CLOSE)
        say_goodbye(t, WEBSOCKET_DONE);
    else if (m.kind == WEBSOCKET_BINARY)
        say_goodbye(t, WEBSOCKET_NO_TEXT);
    conn_flush(conn);
    if (!t->shell)
        return 0; /* that was the last */
    conn_flush(t->shell);
    if (!conn_has_room(t->shell))
        conn_read(conn, CONN_WATCHES);
    return (ssize_t)used;
}

static void shell_has_room(void *arg, struct conn *conn)
{
    struct terminal *t = arg;
    (void)conn;
    conn_read(t->browser, CONN_READS);
}

static void browser_closed(void *arg, struct conn *conn, const char *why)
{
    (void)conn;
    (void)why;
    hang_up(arg);
}

/* ---- the beginning ---- */

struct beginning {
    struct terminals *all;
    struct call *call;
    struct terminal_pass pass; /* in the arena of the call */
};

static struct terminal *joined(struct beginning *b, int browser, int shell)
{
    static const struct conn_terms terms = { .kinds = CONN_AGENT_KINDS,
                                             .out_max = OUT_MAX,
                                             .room = FULL };
    uv_loop_t *loop = b->call->api->config.loop;
    struct terminal *t = mem_new(sizeof *t);
    websocket_init(&t->framing);
    t->browser = conn_create(
        loop, browser, &terms,
        (struct conn_events){
            .bytes = from_browser, .room = browser_has_room, .closed = browser_closed, .arg = t });
    t->shell = conn_create(
        loop, shell, &terms,
        (struct conn_events){
            .frame = from_shell, .room = shell_has_room, .closed = shell_closed, .arg = t });
    t->next = b->all->first;
    t->at = &b->all->first;
    if (t->next)
        t->next->at = &t->next;
    b->all->first = t;
    return t;
}

static void taken(void *arg, int fd, const void *extra, size_t len)
{
    struct beginning *b = arg;
    struct call *call = b->call;
    struct engine_exec exec = { .tty = true, .rows = 24, .cols = 80 };
    struct err err;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        close(fd);
        call_free(call);
        return;
    }
    channel_note(call, fd);
    struct terminal *t = joined(b, fd, ends[0]);
    exec.fd = ends[1];
    call->owner = b->pass.owner;
    caller_tell(call);
    const struct task_target to = { b->pass.owner, b->pass.job, b->pass.task };
    if (task_exec(ctl_access(call->api->config.ctl), &to, &exec, &err)) {
        close(ends[1]);
        say(t, err.what);
        say_goodbye(t, WEBSOCKET_AWAY);
    } else {
        conn_unread(t->browser, extra, len);
    }
    call_free(call);
}

/* "Connection: keep-alive, Upgrade": is the word in the list? */
static bool lists(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list ? list : ""; *at; at += strcspn(at, ","), at += *at == ',') {
        at += strspn(at, " \t");
        if (strncasecmp(at, word, len) == 0 && strchr(", \t", at[len]))
            return true;
    }
    return false;
}

bool terminal_begin(struct terminals *all, struct call *call, const struct terminal_pass *pass,
                    const char **why)
{
    struct http_request *r = call->request;
    const char *key = http_header(r, "Sec-WebSocket-Key");
    const char *version = http_header(r, "Sec-WebSocket-Version");
    char accept[WEBSOCKET_ACCEPT];
    *why = NULL;
    if (!lists(http_header(r, "Upgrade"), "websocket") ||
        !lists(http_header(r, "Connection"), "upgrade") || strcmp(http_method(r), "GET") != 0)
        *why = "this address is for a WebSocket: GET with Upgrade: websocket";
    else if (!version || strcmp(version, "13") != 0)
        *why = "Sec-WebSocket-Version is not 13";
    else if (!key || !websocket_accept(key, accept))
        *why = "Sec-WebSocket-Key is not 16 bytes in base64";
    if (*why)
        return false;
    struct beginning *b = ARENA_NEW(call->arena, struct beginning);
    *b = (struct beginning){ .all = all, .call = call, .pass = *pass };
    http_add_header(r, "Sec-WebSocket-Accept", accept);
    http_upgrade(r, "websocket", taken, b);
    return true;
}
