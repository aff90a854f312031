/* The store server over real sockets of its own loop: every operation, bytes as they may come,
 * waits, limits, and what becomes of the memory. */
#include "launch/store.h"

#include "base/clock.h"
#include "base/mem.h"
#include "launch/store_table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define PATIENCE_US 120000000u
#define MAGIC       "\0\xce\xf7\x85\x3c"
#define ALL_OPS     18

struct bed {
    uv_loop_t loop;
    struct store_server *store;
    struct store_limits limits;
};

static void open_store(struct bed *bed)
{
    struct err err;
    assert_int_equal(uv_loop_init(&bed->loop), 0);
    bed->store = store_open(&bed->loop, "127.0.0.1", 0, &bed->limits, &err);
    assert_non_null(bed->store);
    assert_int_not_equal(store_port(bed->store), 0);
}

static int set_up(void **state)
{
    struct bed *bed = mem_new(sizeof *bed);
    bed->limits = store_default_limits;
    *state = bed;
    return 0;
}

static int tear_down(void **state)
{
    struct bed *bed = *state;
    store_close(bed->store);
    uv_run(&bed->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&bed->loop), 0);
    free(bed);
    return 0;
}

/* ---- a client ---- */

static void turn(struct bed *bed)
{
    uv_run(&bed->loop, UV_RUN_NOWAIT);
}

static int plug(uint16_t port, int family)
{
    struct sockaddr_storage at = { 0 };
    if (family == AF_INET)
        uv_ip4_addr("127.0.0.1", port, (struct sockaddr_in *)(void *)&at);
    else
        uv_ip6_addr("::1", port, (struct sockaddr_in6 *)(void *)&at);
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&at,
                family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)) !=
        0) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void say(struct bed *bed, int fd, const void *bytes, size_t len)
{
    uint64_t until = clock_mono_us() + PATIENCE_US;
    for (size_t done = 0; done < len;) {
        ssize_t n = send(fd, (const char *)bytes + done, len - done, MSG_NOSIGNAL);
        assert_true(n > 0 || errno == EAGAIN);
        done += n > 0 ? (size_t)n : 0;
        turn(bed);
        assert_true(clock_mono_us() < until);
    }
}

static int client(struct bed *bed)
{
    int fd = plug(store_port(bed->store), AF_INET);
    assert_true(fd >= 0);
    say(bed, fd, MAGIC, 5);
    return fd;
}

/* Exactly these bytes come. */
static void hear(struct bed *bed, int fd, const void *bytes, size_t len)
{
    AUTO_FREE char *got = mem_new(len + 1);
    uint64_t until = clock_mono_us() + PATIENCE_US;
    for (size_t have = 0; have < len;) {
        turn(bed);
        ssize_t n = recv(fd, got + have, len - have, 0);
        assert_true(n > 0 || (n < 0 && errno == EAGAIN));
        have += n > 0 ? (size_t)n : 0;
        assert_true(clock_mono_us() < until);
    }
    assert_memory_equal(got, bytes, len);
}

static void hear_end(struct bed *bed, int fd)
{
    char byte;
    uint64_t until = clock_mono_us() + PATIENCE_US;
    for (;;) {
        turn(bed);
        ssize_t n = recv(fd, &byte, 1, 0);
        if (n == 0 || (n < 0 && errno == ECONNRESET))
            break;
        assert_true(n < 0 && errno == EAGAIN);
        assert_true(clock_mono_us() < until);
    }
    close(fd);
}

/* Whatever the server does now, it has done: a question and its answer. */
static void settle(struct bed *bed, int fd)
{
    say(bed, fd, "\x0dping", 5);
    hear(bed, fd, "ping", 4);
}

static void hear_nothing(struct bed *bed, int fd)
{
    settle(bed, fd);
}

/* ---- requests ---- */

struct text {
    char at[4096];
    size_t len;
};

static void add(struct text *text, const void *bytes, size_t len)
{
    assert_true(len <= sizeof text->at - text->len);
    memcpy(text->at + text->len, bytes, len);
    text->len += len;
}

static void add_n(struct text *text, uint64_t n)
{
    add(text, &n, sizeof n);
}

static void add_s(struct text *text, const char *s)
{
    add_n(text, strlen(s));
    add(text, s, strlen(s));
}

/* op and then by letter: s string, n number, o byte */
static void ask(struct text *text, int op, const char *shape, ...)
{
    va_list ap;
    char code = (char)op;
    if (op >= 0)
        add(text, &code, 1);
    va_start(ap, shape);
    for (; *shape; shape++) {
        if (*shape == 's') {
            add_s(text, va_arg(ap, const char *));
        } else if (*shape == 'n') {
            add_n(text, (uint64_t)va_arg(ap, int));
        } else {
            code = (char)va_arg(ap, int);
            add(text, &code, 1);
        }
    }
    va_end(ap);
}
#define SAY(bed, fd, op, ...)                                                                      \
    do {                                                                                           \
        struct text text_ = { .len = 0 };                                                          \
        ask(&text_, op, __VA_ARGS__);                                                              \
        say(bed, fd, text_.at, text_.len);                                                         \
    } while (0)
#define HEAR(bed, fd, ...)                                                                         \
    do {                                                                                           \
        struct text text_ = { .len = 0 };                                                          \
        ask(&text_, -1, __VA_ARGS__);                                                              \
        hear(bed, fd, text_.at, text_.len);                                                        \
    } while (0)

enum {
    SET = 1,
    COMPARE_SET,
    GET,
    ADD,
    CHECK,
    WAIT,
    NUM_KEYS,
    DELETE,
    APPEND,
    MULTI_GET,
    MULTI_SET,
    CANCEL,
    PING,
    PUSH,
    POP,
    QUEUE_LEN,
    LIST,
    BARRIER
};

/* Every operation once or more; the same questions and answers for whole and for cut bytes. */
static void all_operations(struct text *q, struct text *a)
{
    ask(q, SET, "ss", "k", "v");
    ask(q, GET, "s", "k"), ask(a, -1, "s", "v");
    ask(q, GET, "s", "absent"), ask(a, -1, "s", "");
    ask(q, COMPARE_SET, "sss", "k", "other", "x"), ask(a, -1, "s", "v");
    ask(q, COMPARE_SET, "sss", "k", "v", "w"), ask(a, -1, "s", "w");
    ask(q, COMPARE_SET, "sss", "c", "there", "x"), ask(a, -1, "s", "there");
    ask(q, COMPARE_SET, "sss", "c", "", "made"), ask(a, -1, "s", "made");
    ask(q, ADD, "sn", "n", -2), ask(a, -1, "n", -2);
    ask(q, ADD, "sn", "n", 44), ask(a, -1, "n", 42);
    ask(q, GET, "s", "n"), ask(a, -1, "s", "42");
    ask(q, CHECK, "n", 0), ask(a, -1, "o", 0);
    ask(q, CHECK, "nss", 2, "k", "n"), ask(a, -1, "o", 0);
    ask(q, CHECK, "nss", 2, "k", "absent"), ask(a, -1, "o", 1);
    ask(q, WAIT, "n", 0), ask(a, -1, "o", 0);
    ask(q, WAIT, "nss", 2, "k", "n"), ask(a, -1, "o", 0);
    ask(q, NUM_KEYS, ""), ask(a, -1, "n", 3);
    ask(q, DELETE, "s", "c"), ask(a, -1, "n", 1);
    ask(q, DELETE, "s", "c"), ask(a, -1, "n", 0);
    ask(q, APPEND, "ss", "k", "alk");
    ask(q, APPEND, "ss", "", "of the empty key");
    ask(q, MULTI_GET, "nsss", 3, "k", "absent", "");
    ask(a, -1, "sss", "walk", "", "of the empty key");
    ask(q, MULTI_SET, "nssss", 2, "k", "1", "l", "");
    ask(q, MULTI_GET, "nss", 2, "k", "l"), ask(a, -1, "ss", "1", "");
    ask(q, DELETE, "s", ""), ask(a, -1, "n", 1);
    ask(q, DELETE, "s", "l"), ask(a, -1, "n", 1);
    ask(q, CANCEL, ""), ask(a, -1, "o", 1);
    ask(q, PING, "oooo", 1, 2, 3, 4), ask(a, -1, "oooo", 1, 2, 3, 4);
    ask(q, PUSH, "ss", "q", "one");
    ask(q, PUSH, "ss", "q", "");
    ask(q, CHECK, "ns", 1, "q"), ask(a, -1, "o", 0);
    ask(q, QUEUE_LEN, "s", "q"), ask(a, -1, "n", 2);
    ask(q, POP, "s", "q"), ask(a, -1, "ns", 2, "one");
    ask(q, POP, "s", "q"), ask(a, -1, "ns", 1, "");
    ask(q, POP, "s", "q"), ask(a, -1, "n", 0);
    ask(q, QUEUE_LEN, "s", "q"), ask(a, -1, "n", 0);
    ask(q, BARRIER, "sn", "b", 1), ask(a, -1, "o", 0);
    ask(q, GET, "s", "b"), ask(a, -1, "s", "1");
    ask(q, DELETE, "s", "n"), ask(a, -1, "n", 1);
    ask(q, DELETE, "s", "b"), ask(a, -1, "n", 1);
    ask(q, LIST, ""), ask(a, -1, "ns", 1, "k");
    ask(q, DELETE, "s", "k"), ask(a, -1, "n", 1);
}

static void test_operations_in_one_segment(void **state)
{
    struct bed *bed = *state;
    struct text q = { .len = 0 }, a = { .len = 0 };
    open_store(bed);
    int fd = client(bed);
    all_operations(&q, &a);
    say(bed, fd, q.at, q.len);
    hear(bed, fd, a.at, a.len);
    assert_int_equal(store_keys(bed->store), 0);
    close(fd);
}

static void test_operations_byte_by_byte(void **state)
{
    struct bed *bed = *state;
    struct text q = { .len = 0 }, a = { .len = 0 };
    open_store(bed);
    int fd = plug(store_port(bed->store), AF_INET);
    add(&q, MAGIC, 5);
    all_operations(&q, &a);
    for (size_t i = 0; i < q.len; i++)
        say(bed, fd, q.at + i, 1);
    hear(bed, fd, a.at, a.len);
    close(fd);
}

static void test_every_cut(void **state)
{
    struct bed *bed = *state;
    struct text q = { .len = 0 }, a = { .len = 0 };
    open_store(bed);
    int fd = client(bed);
    all_operations(&q, &a);
    for (size_t cut = 1; cut < q.len; cut += 7) {
        say(bed, fd, q.at, cut);
        turn(bed);
        say(bed, fd, q.at + cut, q.len - cut);
        hear(bed, fd, a.at, a.len);
    }
    close(fd);
}

/* ---- waiting ---- */

static void test_only_those_who_wait_wake(void **state)
{
    struct bed *bed = *state;
    open_store(bed);
    int a = client(bed), b = client(bed), c = client(bed);
    SAY(bed, a, WAIT, "nss", 2, "x", "y");
    SAY(bed, b, WAIT, "ns", 1, "z");
    settle(bed, a); /* a pending wait holds up nothing */
    settle(bed, b);
    SAY(bed, c, SET, "ss", "x", "");
    hear_nothing(bed, c);
    hear_nothing(bed, a);
    SAY(bed, c, DELETE, "s", "x"); /* seen once is enough */
    HEAR(bed, c, "n", 1);
    SAY(bed, c, ADD, "sn", "y", 1);
    HEAR(bed, c, "n", 1);
    HEAR(bed, a, "o", 0);
    hear_nothing(bed, b);
    SAY(bed, c, APPEND, "ss", "z", "z");
    HEAR(bed, b, "o", 0);
    close(a), close(b), close(c);
}

static void test_cancel_forgets(void **state)
{
    struct bed *bed = *state;
    open_store(bed);
    int a = client(bed), b = client(bed);
    SAY(bed, a, WAIT, "ns", 1, "x");
    SAY(bed, a, CANCEL, "");
    HEAR(bed, a, "o", 1);
    SAY(bed, b, SET, "ss", "x", "1");
    settle(bed, b);
    hear_nothing(bed, a);
    SAY(bed, a, WAIT, "nss", 2, "x", "w");
    SAY(bed, b, SET, "ss", "w", "1");
    HEAR(bed, a, "o", 0);
    close(a), close(b);
}

static void test_a_wait_ends_with_its_connection(void **state)
{
    struct bed *bed = *state;
    open_store(bed);
    int a = client(bed), b = client(bed), c = client(bed);
    SAY(bed, a, WAIT, "ns", 1, "q");
    settle(bed, a);
    SAY(bed, b, WAIT, "ns", 1, "q");
    settle(bed, b);
    close(a);
    while (store_connections(bed->store) > 2)
        turn(bed);
    SAY(bed, c, PUSH, "ss", "q", "1");
    HEAR(bed, b, "o", 0); /* and not the one that is gone */
    close(b), close(c);
}

static void test_a_push_wakes_one(void **state)
{
    struct bed *bed = *state;
    open_store(bed);
    int a = client(bed), b = client(bed), c = client(bed);
    SAY(bed, a, WAIT, "ns", 1, "q");
    settle(bed, a);
    SAY(bed, b, WAIT, "ns", 1, "q");
    settle(bed, b);
    SAY(bed, c, PUSH, "ss", "q", "1");
    HEAR(bed, a, "o", 0);
    hear_nothing(bed, b);
    SAY(bed, c, PUSH, "ss", "q", "2");
    HEAR(bed, b, "o", 0);
    SAY(bed, b, POP, "s", "q");
    HEAR(bed, b, "ns", 2, "1");
    close(a), close(b), close(c);
}

static void test_barrier(void **state)
{
    struct bed *bed = *state;
    open_store(bed);
    int a = client(bed), b = client(bed), c = client(bed);
    SAY(bed, a, BARRIER, "sn", "b", 3);
    settle(bed, a);
    SAY(bed, b, BARRIER, "sn", "b", 3);
    settle(bed, b);
    SAY(bed, b, CANCEL, ""); /* stays counted */
    HEAR(bed, b, "o", 1);
    SAY(bed, c, BARRIER, "sn", "b", 3);
    HEAR(bed, c, "o", 0);
    HEAR(bed, a, "o", 0);
    hear_nothing(bed, b);
    SAY(bed, b, BARRIER, "sn", "b", 3);
    HEAR(bed, b, "o", 0);
    SAY(bed, b, SET, "ss", "b", "no number");
    SAY(bed, b, BARRIER, "sn", "b", 3);
    hear_end(bed, b);
    close(a), close(c);
}

static void test_compare_set_that_stores_nothing_wakes_nobody(void **state)
{
    struct bed *bed = *state;
    open_store(bed);
    int a = client(bed), b = client(bed);
    SAY(bed, a, WAIT, "ns", 1, "x");
    settle(bed, a);
    SAY(bed, b, COMPARE_SET, "sss", "x", "old", "new");
    HEAR(bed, b, "s", "old");
    hear_nothing(bed, a);
    SAY(bed, b, COMPARE_SET, "sss", "x", "", "new");
    HEAR(bed, b, "s", "new");
    HEAR(bed, a, "o", 0);
    close(a), close(b);
}

static void test_multi_set_is_all_or_nothing(void **state)
{
    struct bed *bed = *state;
    open_store(bed);
    int a = client(bed), b = client(bed);
    SAY(bed, a, MULTI_SET, "nsssn", 2, "x", "1", "y", 1);
    SAY(bed, b, CHECK, "ns", 1, "x");
    HEAR(bed, b, "o", 1);
    say(bed, a, "2", 1);
    settle(bed, a);
    SAY(bed, b, MULTI_GET, "nss", 2, "x", "y");
    HEAR(bed, b, "ss", "1", "2");
    close(a), close(b);
}

/* ---- numbers ---- */

static void test_adding_to_text(void **state)
{
    static const struct {
        const char *text;
        bool number;
        int64_t sum;
    } rows[] = {
        { "12abc", true, 13 },
        { " \t+5", true, 6 },
        { "-7", true, -6 },
        { "0x10", true, 1 },
        { "9223372036854775807", true, INT64_MIN },
        { "-9223372036854775808", true, INT64_MIN + 1 },
        { "9223372036854775808", false, 0 },
        { "", false, 0 },
        { " ", false, 0 },
        { "+", false, 0 },
        { "abc", false, 0 },
    };
    struct bed *bed = *state;
    open_store(bed);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int fd = client(bed);
        SAY(bed, fd, SET, "ss", "k", rows[i].text);
        SAY(bed, fd, ADD, "sn", "k", 1);
        if (!rows[i].number) {
            hear_end(bed, fd);
            continue;
        }
        hear(bed, fd, &rows[i].sum, sizeof rows[i].sum);
        close(fd);
    }
}

/* ---- limits ---- */

static void test_lengths_are_refused_before_their_bytes(void **state)
{
    struct bed *bed = *state;
    struct {
        int op, before;
        uint64_t n;
    } rows[] = {
        { GET, 0, 8193 },
        { SET, 0, UINT64_MAX },
        { SET, 1, (8u << 20) + 1 },
        { CHECK, 0, 131073 },
        { WAIT, 0, 131073 },
        { MULTI_GET, 0, 131073 },
        { MULTI_SET, 0, 131073 },
        { PUSH, 1, UINT64_MAX },
        { ALL_OPS + 1, 0, 0 },
        { 255, 0, 0 },
        { 0, 0, 0 }, /* the magic a second time */
    };
    open_store(bed);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int fd = client(bed);
        struct text q = { .len = 0 };
        ask(&q, rows[i].op, rows[i].before ? "s" : "", "key");
        add_n(&q, rows[i].n);
        say(bed, fd, q.at, q.len);
        hear_end(bed, fd);
    }
    assert_int_equal(store_connections(bed->store), 0);
}

static void test_what_does_not_begin_with_the_magic_is_closed(void **state)
{
    struct bed *bed = *state;
    open_store(bed);
    int fd = plug(store_port(bed->store), AF_INET);
    say(bed, fd, "GET / HTTP/1.1\r\n", 1);
    hear_end(bed, fd);
    fd = plug(store_port(bed->store), AF_INET);
    say(bed, fd, "\0\xce\xf7\x85\x3d", 5);
    hear_end(bed, fd);
}

static void test_a_silent_connection_is_closed(void **state)
{
    struct bed *bed = *state;
    bed->limits.hello_ms = 50;
    open_store(bed);
    int good = client(bed);
    settle(bed, good);
    int silent = plug(store_port(bed->store), AF_INET);
    int half = plug(store_port(bed->store), AF_INET);
    say(bed, half, MAGIC, 4);
    hear_end(bed, silent);
    hear_end(bed, half);
    settle(bed, good);
    assert_int_equal(store_connections(bed->store), 1);
    close(good);
}

static void test_connections_are_limited(void **state)
{
    struct bed *bed = *state;
    bed->limits.connections = 2;
    open_store(bed);
    int a = client(bed), b = client(bed);
    settle(bed, a);
    settle(bed, b);
    hear_end(bed, plug(store_port(bed->store), AF_INET));
    close(a);
    while (store_connections(bed->store) > 1)
        turn(bed);
    int c = client(bed);
    settle(bed, c);
    close(b), close(c);
}

static void test_a_full_store_closes_who_asks_for_more(void **state)
{
    struct bed *bed = *state;
    bed->limits.total_bytes = 64u << 10;
    open_store(bed);
    int good = client(bed), greedy = client(bed);
    char value[4001];
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    struct text head = { .len = 0 };
    ask(&head, SET, "sn", "large", 100 << 10);
    say(bed, greedy, head.at, head.len); /* announced and not sent costs nothing */
    SAY(bed, good, SET, "ss", "k", "v");
    settle(bed, good);
    for (int i = 0; i < 40; i++) {
        ssize_t n = send(greedy, value, sizeof value - 1, MSG_NOSIGNAL);
        (void)n;
        turn(bed);
    }
    hear_end(bed, greedy);
    SAY(bed, good, GET, "s", "k");
    HEAR(bed, good, "s", "v");
    int pusher = client(bed);
    for (int i = 0; i < 32; i++) {
        struct text q = { .len = 0 };
        ask(&q, PUSH, "s", "q");
        ask(&q, -1, "n", 3000);
        add(&q, value, 3000);
        ssize_t n = send(pusher, q.at, q.len, MSG_NOSIGNAL);
        (void)n;
        turn(bed);
    }
    hear_end(bed, pusher);
    settle(bed, good);
    close(good);
}

static void test_waits_are_limited(void **state)
{
    struct bed *bed = *state;
    bed->limits.keys_per_call = 4;
    open_store(bed);
    int fd = client(bed);
    for (int i = 0; i < 8; i++)
        SAY(bed, fd, WAIT, "ns", 1, "x");
    settle(bed, fd);
    SAY(bed, fd, WAIT, "ns", 1, "x");
    hear_end(bed, fd);
}

static size_t take_all(struct bed *bed, int fd, size_t want)
{
    static const size_t piece_size = 65536;
    AUTO_FREE char *piece = mem_new(piece_size);
    uint64_t until = clock_mono_us() + PATIENCE_US;
    size_t got = 0;
    while (got < want && clock_mono_us() < until) {
        turn(bed);
        ssize_t n = recv(fd, piece, piece_size, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            break;
        got += n > 0 ? (size_t)n : 0;
    }
    return got;
}

/* Asks and does not read: at some point the server reads no further, and later nothing is lost. */
static void test_a_slow_reader_waits(void **state)
{
    struct bed *bed = *state;
    struct text q = { .len = 0 };
    char value[2048];
    int small = 4096;
    size_t asked = 0;
    bed->limits.total_bytes = 8u << 20; /* unbounded answers would not fit */
    open_store(bed);
    int fd = client(bed);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    memset(value, 'v', sizeof value);
    ask(&q, SET, "sn", "k", (int)sizeof value);
    add(&q, value, sizeof value);
    say(bed, fd, q.at, q.len);
    q.len = 0;
    ask(&q, GET, "s", "k");
    for (int idle = 0; idle < 200; idle++) {
        ssize_t n;
        while ((n = send(fd, q.at + asked % q.len, q.len - asked % q.len, MSG_NOSIGNAL)) > 0) {
            asked += (size_t)n;
            idle = 0;
            turn(bed);
        }
        assert_int_equal(errno, EAGAIN);
        turn(bed);
    }
    size_t want = asked / q.len * (sizeof value + 8);
    assert_true(want > bed->limits.total_bytes);
    assert_int_equal(take_all(bed, fd, want), want);
    close(fd);
}

static void test_megabytes(void **state)
{
    struct bed *bed = *state;
    size_t len = 8u << 20;
    AUTO_FREE char *value = mem_new(len);
    struct text q = { .len = 0 };
    open_store(bed);
    int fd = client(bed);
    memset(value, 'm', len);
    ask(&q, SET, "sn", "k", (int)len);
    say(bed, fd, q.at, q.len);
    say(bed, fd, value, len);
    settle(bed, fd);
    SAY(bed, fd, GET, "s", "k");
    HEAR(bed, fd, "n", (int)len);
    hear(bed, fd, value, len);
    SAY(bed, fd, MULTI_GET, "nssss", 4, "k", "k", "k", "k");
    assert_int_equal(take_all(bed, fd, 4 * (len + 8)), 4 * (len + 8));
    settle(bed, fd);
    close(fd);
}

/* ---- the table ---- */

static void nobody(struct store_await *await)
{
    (void)await;
    fail();
}

static void test_the_table_gives_memory_back(void **state)
{
    struct store_table *table = store_table_create(nobody);
    size_t len = 4u << 20;
    AUTO_FREE char *value = mem_new(len);
    struct store_span key = { "k\0k", 3 }, prefix = { "k", 1 };
    (void)state;
    assert_int_equal(store_table_bytes(table), 0);
    struct store_slot *slot = store_make(table, key);
    assert_null(store_find(table, prefix)); /* bytes, not text */
    store_put(table, slot, (struct store_span){ value, len });
    assert_true(store_table_bytes(table) >= len);
    store_put(table, slot, (struct store_span){ "1", 1 });
    assert_true(store_table_bytes(table) < 1024);
    for (int i = 0; i < 1000; i++)
        store_append(table, slot, (struct store_span){ value, 4096 });
    assert_true(store_table_bytes(table) < 4096 * 1000 * 2);
    assert_int_equal(store_value(slot).len, 4096 * 1000 + 1);
    store_drop(table, slot);
    store_tidy(table, slot);
    for (int i = 0; i < 5000; i++) {
        char name[16];
        int n = snprintf(name, sizeof name, "key%d", i);
        slot = store_make(table, (struct store_span){ name, (size_t)n });
        store_put(table, slot, (struct store_span){ name, (size_t)n });
    }
    assert_int_equal(store_table_keys(table), 5000);
    for (int i = 0; i < 5000; i++) {
        char name[16];
        int n = snprintf(name, sizeof name, "key%d", i);
        slot = store_find(table, (struct store_span){ name, (size_t)n });
        assert_non_null(slot);
        assert_memory_equal(store_value(slot).at, name, (size_t)n);
        store_drop(table, slot);
        store_tidy(table, slot);
    }
    assert_int_equal(store_table_bytes(table), 0);
    assert_null(store_next(table, NULL));
    store_table_destroy(table);
}

/* ---- opening ---- */

static void test_adopted_connections(void **state)
{
    struct bed *bed = *state;
    struct text q = { .len = 0 };
    int ends[2];
    assert_int_equal(uv_loop_init(&bed->loop), 0);
    bed->store = store_open_unbound(&bed->loop, &bed->limits);
    assert_int_equal(store_port(bed->store), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    add(&q, MAGIC, 5);
    ask(&q, ADD, "sn", "k", 3);
    store_adopt(bed->store, ends[1], q.at, q.len - 2);
    assert_int_equal(store_connections(bed->store), 1);
    say(bed, ends[0], q.at + q.len - 2, 2);
    HEAR(bed, ends[0], "n", 3);
    assert_int_equal(store_keys(bed->store), 1);
    close(ends[0]);
}

static void test_adopting_what_is_no_client(void **state)
{
    struct bed *bed = *state;
    int ends[2];
    assert_int_equal(uv_loop_init(&bed->loop), 0);
    bed->store = store_open_unbound(&bed->loop, &bed->limits);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    store_adopt(bed->store, ends[1], "x", 1);
    assert_int_equal(store_connections(bed->store), 0);
    hear_end(bed, ends[0]);
}

static void test_addresses(void **state)
{
    struct bed *bed = *state;
    struct err err;
    open_store(bed);
    uint16_t port = store_port(bed->store);
    assert_null(store_open(&bed->loop, "127.0.0.1", port, &bed->limits, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_null(store_open(&bed->loop, "localhost", port, &bed->limits, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_null(store_open(&bed->loop, "some.name", 0, &bed->limits, &err));
    assert_int_equal(err.code, ERR_INPUT);
    static const char *const both[] = { "localhost", "", "*" };
    int has_six = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 six;
    uv_ip6_addr("::1", 0, &six);
    bool use_six = has_six >= 0 && bind(has_six, (struct sockaddr *)&six, sizeof six) == 0;
    if (has_six >= 0)
        close(has_six);
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        struct store_server *store = store_open(&bed->loop, both[i], 0, &bed->limits, &err);
        assert_non_null(store);
        int four = plug(store_port(store), AF_INET);
        assert_true(four >= 0);
        close(four);
        if (use_six) {
            int fd = plug(store_port(store), AF_INET6);
            assert_true(fd >= 0);
            close(fd);
        }
        store_close(store);
        turn(bed);
    }
    store_close(NULL);
}

static void test_closing_with_everything_under_way(void **state)
{
    struct bed *bed = *state;
    open_store(bed);
    int a = client(bed), b = client(bed), c = plug(store_port(bed->store), AF_INET);
    SAY(bed, a, WAIT, "nss", 2, "x", "y");
    SAY(bed, b, SET, "sn", "k", 1000);
    settle(bed, a);
    while (store_connections(bed->store) < 3)
        turn(bed);
    store_close(bed->store);
    hear_end(bed, a);
    hear_end(bed, b);
    hear_end(bed, c);
    bed->store = NULL;
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_operations_in_one_segment),
        T(test_operations_byte_by_byte),
        T(test_every_cut),
        T(test_only_those_who_wait_wake),
        T(test_cancel_forgets),
        T(test_a_wait_ends_with_its_connection),
        T(test_a_push_wakes_one),
        T(test_barrier),
        T(test_compare_set_that_stores_nothing_wakes_nobody),
        T(test_multi_set_is_all_or_nothing),
        T(test_adding_to_text),
        T(test_lengths_are_refused_before_their_bytes),
        T(test_what_does_not_begin_with_the_magic_is_closed),
        T(test_a_silent_connection_is_closed),
        T(test_connections_are_limited),
        T(test_a_full_store_closes_who_asks_for_more),
        T(test_waits_are_limited),
        T(test_a_slow_reader_waits),
        T(test_megabytes),
        cmocka_unit_test(test_the_table_gives_memory_back),
        T(test_adopted_connections),
        T(test_adopting_what_is_no_client),
        T(test_addresses),
        T(test_closing_with_everything_under_way),
    };
    return cmocka_run_group_tests_name("launch/store", tests, NULL, NULL);
}
