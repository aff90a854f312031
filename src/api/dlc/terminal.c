/* A terminal: two sockets, one that speaks WebSocket to a browser and one that carries the frames
 * of an interactive command, and what is translated between them.
 *
 * Effects: a shell in a task's view, as `muster exec` opens it, for as long as both ends live. A
 * side is only read while the other takes what it is sent. */
#include "api/dlc/terminal.h"

#include "base/mem.h"
#include "base/scan.h"
#include "http/websocket.h"
#include "text/json.h"
#include "wire/message.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define PIECE        16384
#define IN_MAX       (WEBSOCKET_MESSAGE_MAX + 64)
#define OUT_MAX      (8u << 20)
#define FULL         (1u << 20) /* the other side waits while so much is not sent */
#define TOKEN_MAX    4096
#define CHARACTER    4 /* most bytes of one */
#define NO_CHARACTER "\xef\xbf\xbd"
#define NOTHING      "-" /* in a token's place */

struct side {
    uv_poll_t poll;
    int fd;
    struct buf in, out;
    struct terminal *terminal;
};
struct terminal {
    struct terminal *next, **at;
    struct side browser, shell;
    struct websocket framing;
    char cut[CHARACTER]; /* of output: a character whose end is still to come */
    size_t n_cut;
    bool closing;  /* what is in browser.out is the last */
    unsigned open; /* handles */
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

static void on_freed(uv_handle_t *handle)
{
    struct side *side = handle->data;
    struct terminal *t = side->terminal;
    close(side->fd);
    buf_fini(&side->in);
    buf_fini(&side->out);
    if (--t->open > 0)
        return;
    websocket_fini(&t->framing);
    free(t);
}

static void hang_up(struct terminal *t)
{
    if (!t->at)
        return;
    *t->at = t->next;
    if (t->next)
        t->next->at = t->at;
    t->at = NULL;
    uv_close((uv_handle_t *)&t->browser.poll, on_freed);
    uv_close((uv_handle_t *)&t->shell.poll, on_freed);
}

void terminals_destroy(struct terminals *all)
{
    while (all->first)
        hang_up(all->first);
    sodium_memzero(all->key, sizeof all->key);
    free(all);
}

/* ---- moving bytes ---- */

static void on_ready(uv_poll_t *poll, int status, int events);

static void want(struct side *side, const struct side *other)
{
    bool read = other->out.len < FULL && !side->terminal->closing;
    int events = (read ? UV_READABLE : 0) | (side->out.len ? UV_WRITABLE : 0);
    if (events)
        uv_poll_start(&side->poll, events, on_ready);
    else
        uv_poll_stop(&side->poll);
}

/* false: nobody is there any more, or it takes nothing. */
static bool flush(struct side *side)
{
    size_t done = 0;
    bool gone = side->out.overflow;
    while (!gone && done < side->out.len) {
        ssize_t n = send(side->fd, side->out.data + done, side->out.len - done, MSG_NOSIGNAL);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno == EAGAIN)
            break;
        else
            gone = errno != EINTR;
    }
    if (!gone)
        buf_drop(&side->out, done);
    return !gone;
}

static void settle(struct terminal *t)
{
    if (!t->at)
        return;
    bool shell = t->closing || flush(&t->shell);
    if (!flush(&t->browser) || !shell || (t->closing && !t->browser.out.len)) {
        hang_up(t);
        return;
    }
    want(&t->browser, &t->shell);
    want(&t->shell, &t->browser);
}

static void say_goodbye(struct terminal *t, enum websocket_code code)
{
    if (!t->closing)
        websocket_put_close(&t->browser.out, code);
    t->closing = true;
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
    websocket_put(&t->browser.out, WEBSOCKET_TEXT, buf_str(&out), out.len);
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

static void from_shell(struct terminal *t, const struct wire_frame *frame)
{
    struct wire_data data;
    if (frame->kind == WIRE_EXIT)
        say_goodbye(t, WEBSOCKET_DONE);
    if ((frame->kind != WIRE_STDOUT && frame->kind != WIRE_STDERR) ||
        wire_get(frame, NULL, &data) != 0)
        return;
    for (size_t done = 0; done < data.len; done += PIECE)
        show(t, (const char *)data.at + done, data.len - done < PIECE ? data.len - done : PIECE);
}

static void take_shell(struct terminal *t)
{
    struct side *side = &t->shell;
    struct wire_frame frame;
    size_t done = 0, used = 0;
    int got = 0;
    while (!t->closing &&
           (got = wire_next(buf_str(&side->in) + done, side->in.len - done, &frame, &used)) == 1) {
        from_shell(t, &frame);
        done += used;
    }
    buf_drop(&side->in, done);
    if (got < 0)
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
        wire_put_data(&t->shell.out, WIRE_STDIN, 0, data->str, strlen(data->str));
    else if (strcmp(word, "resize") == 0)
        wire_put(&t->shell.out, 0,
                 &(struct wire_resize){ .rows = cells(map, "rows", 24),
                                        .cols = cells(map, "cols", 80) });
    else if (!map)
        say_goodbye(t, WEBSOCKET_NO_TEXT);
    arena_destroy(a);
}

static void take_browser(struct terminal *t)
{
    struct side *side = &t->browser;
    struct websocket_message m;
    size_t done = 0, used = 0;
    int got = 0;
    while (!t->closing && side->in.data &&
           (got = websocket_next(&t->framing, side->in.data + done, side->in.len - done, &m,
                                 &used)) == 1) {
        if (m.kind == WEBSOCKET_TEXT)
            type(t, &m);
        else if (m.kind == WEBSOCKET_PING)
            websocket_put(&side->out, WEBSOCKET_PONG, m.data, m.len);
        else if (m.kind == WEBSOCKET_CLOSE)
            say_goodbye(t, WEBSOCKET_DONE);
        else if (m.kind == WEBSOCKET_BINARY)
            say_goodbye(t, WEBSOCKET_NO_TEXT);
        done += used;
    }
    buf_drop(&side->in, done);
    if (got < 0)
        say_goodbye(t, t->framing.fault);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct side *side = poll->data;
    struct terminal *t = side->terminal;
    char piece[PIECE];
    ssize_t n = 1;
    if (!(events & UV_READABLE) && status == 0) {
        settle(t);
        return;
    }
    n = status < 0 ? 0 : recv(side->fd, piece, sizeof piece, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        buf_add(&side->in, piece, (size_t)n);
    if (side->in.overflow || (n <= 0 && side == &t->browser)) {
        hang_up(t);
        return;
    }
    if (n <= 0) /* the shell is gone, and with it whoever could say more */
        say_goodbye(t, WEBSOCKET_AWAY);
    else if (side == &t->browser)
        take_browser(t);
    else
        take_shell(t);
    settle(t);
}

/* ---- the beginning ---- */

struct beginning {
    struct terminals *all;
    struct call *call;
    struct terminal_pass pass; /* in the arena of the call */
};

static void side_begin(struct terminal *t, struct side *side, uv_loop_t *loop, int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    *side = (struct side){ .fd = fd,
                           .in = BUF_INIT(side == &t->shell ? WIRE_MAX_FRAME : IN_MAX + PIECE),
                           .out = BUF_INIT(OUT_MAX),
                           .terminal = t };
    uv_poll_init(loop, &side->poll, fd);
    side->poll.data = side;
    t->open++;
}

static struct terminal *joined(struct beginning *b, int browser, int shell)
{
    uv_loop_t *loop = b->call->api->config.loop;
    struct terminal *t = mem_new(sizeof *t);
    websocket_init(&t->framing);
    side_begin(t, &t->browser, loop, browser);
    side_begin(t, &t->shell, loop, shell);
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
    if (ctl_exec(call->api->config.ctl, b->pass.owner, b->pass.job, b->pass.task, &exec, &err)) {
        close(ends[1]);
        say(t, err.what);
        say_goodbye(t, WEBSOCKET_AWAY);
    } else {
        buf_add(&t->browser.in, extra, len);
        take_browser(t);
    }
    call_free(call);
    settle(t);
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
