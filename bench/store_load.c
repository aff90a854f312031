/* Clients of a c10d store, for bench/store: so many connections, each going through rounds of what
 * ranks do to each other (SET own key, WAIT and GET of a neighbour's, ADD to a counter), until so
 * many operations are answered; prints one JSON document.
 *
 *   store_load PORT CONNECTIONS OPERATIONS DEPTH
 *
 * DEPTH 0: as torch's own client, which waits for every answer (SET has none and goes with the
 * WAIT). DEPTH n: n rounds in one segment. One thread and one epoll, so that the server under test,
 * and not the client, is what fills a core. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { VALUE = 64, STEPS = 3, DEPTH_MAX = 256, OUT_MAX = 65536, EVENTS = 256 };
enum { SET = 1, GET = 3, ADD = 4, WAIT = 6 };
/* Bytes of the answers to WAIT, GET and ADD. */
static const size_t answers[STEPS] = { 1, sizeof(uint64_t) + VALUE, sizeof(uint64_t) };
static const unsigned operations[STEPS] = { 2, 1, 1 };
static const double ns_per_s = 1e9;

struct segment {
    char bytes[OUT_MAX];
    size_t len, answer;
    unsigned operations;
};
struct connection {
    int fd;
    unsigned step;
    size_t remaining; /* bytes of answers to come */
    bool busy;
    struct segment *segments;
};
struct load {
    unsigned n_connections, depth, n_segments;
    uint64_t wanted, asked, done;
    int epoll;
    struct connection *connections;
};

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "store_load: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static unsigned number(const char *text, unsigned long max)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    if (errno || *end || end == text || n > max)
        fail("PORT, CONNECTIONS, OPERATIONS and DEPTH are numbers");
    return (unsigned)n;
}

/* ---- what is sent ---- */

static void add(struct segment *segment, const void *bytes, size_t len)
{
    if (len > sizeof segment->bytes - segment->len)
        fail("the segment is too long");
    memcpy(segment->bytes + segment->len, bytes, len);
    segment->len += len;
}

static void add_number(struct segment *segment, uint64_t n)
{
    add(segment, &n, sizeof n);
}

static void add_code(struct segment *segment, char code)
{
    add(segment, &code, 1);
}

static void add_key(struct segment *segment, const char *kind, unsigned n)
{
    char key[64];
    int len = snprintf(key, sizeof key, "/default_pg/0//cpu//%s/%u", kind, n);
    add_number(segment, (uint64_t)len);
    add(segment, key, (size_t)len);
}

static void add_step(struct segment *segment, unsigned step, unsigned own)
{
    char value[VALUE];
    memset(value, 'v', sizeof value);
    if (step == 0) {
        add_code(segment, SET);
        add_key(segment, "rank", own);
        add_number(segment, sizeof value);
        add(segment, value, sizeof value);
        add_code(segment, WAIT);
        add_number(segment, 1);
        add_key(segment, "rank", own ^ 1u);
    } else if (step == 1) {
        add_code(segment, GET);
        add_key(segment, "rank", own ^ 1u);
    } else {
        add_code(segment, ADD);
        add_key(segment, "count", own % 8);
        add_number(segment, 1);
    }
    segment->answer += answers[step];
    segment->operations += operations[step];
}

static void make_segments(const struct load *load, struct connection *c, unsigned own)
{
    c->segments = calloc(load->n_segments, sizeof *c->segments);
    if (!c->segments)
        fail("memory");
    if (load->depth == 0) {
        for (unsigned step = 0; step < STEPS; step++)
            add_step(&c->segments[step], step, own);
        return;
    }
    for (unsigned i = 0; i < load->depth * STEPS; i++)
        add_step(c->segments, i % STEPS, own);
}

/* ---- connections ---- */

static void open_connection(struct load *load, unsigned i, uint16_t port)
{
    static const char hello[] = "\0\xce\xf7\x85\x3c";
    struct connection *c = &load->connections[i];
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
    int one = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&at, sizeof at) != 0)
        fail("connecting");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    /* The neighbour's key is there from the start: a server is measured, not who comes first. */
    struct segment first = { .len = 0 };
    add(&first, hello, sizeof hello - 1);
    add_step(&first, 0, i);
    char answer;
    if (send(c->fd, first.bytes, first.len, MSG_NOSIGNAL) != (ssize_t)first.len)
        fail("sending");
    if (i % 2 == 1 &&
        (recv(c->fd, &answer, 1, 0) != 1 || recv(load->connections[i - 1].fd, &answer, 1, 0) != 1))
        fail("the first answer");
    if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
        fail("epoll_ctl");
    make_segments(load, c, i);
}

static void ask(struct load *load, struct connection *c)
{
    const struct segment *segment = &c->segments[c->step];
    c->busy = load->asked < load->wanted;
    if (!c->busy)
        return;
    load->asked += segment->operations;
    c->remaining = segment->answer;
    if (send(c->fd, segment->bytes, segment->len, MSG_NOSIGNAL) != (ssize_t)segment->len)
        fail("sending");
}

static void take(struct load *load, struct connection *c)
{
    char bytes[OUT_MAX];
    ssize_t n = recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0)
        fail("the server closed a connection");
    if (!c->busy || (size_t)n > c->remaining)
        fail("more answers than questions");
    c->remaining -= (size_t)n;
    if (c->remaining > 0)
        return;
    load->done += c->segments[c->step].operations;
    c->step = (c->step + 1) % load->n_segments;
    ask(load, c);
}

int main(int argc, char **argv)
{
    struct load load = { .n_segments = STEPS };
    struct epoll_event events[EVENTS];
    errno = 0;
    if (argc != 5)
        fail("usage: store_load PORT CONNECTIONS OPERATIONS DEPTH");
    uint16_t port = (uint16_t)number(argv[1], UINT16_MAX);
    load.n_connections = number(argv[2], 4096) & ~1u;
    load.wanted = number(argv[3], 1000000000);
    load.depth = number(argv[4], DEPTH_MAX);
    load.n_segments = load.depth == 0 ? STEPS : 1;
    load.connections = calloc(load.n_connections, sizeof *load.connections);
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!load.connections || load.epoll < 0 || load.n_connections == 0)
        fail("starting");
    for (unsigned i = 0; i < load.n_connections; i++)
        open_connection(&load, i, port);
    uint64_t since = now_ns();
    for (unsigned i = 0; i < load.n_connections; i++)
        ask(&load, &load.connections[i]);
    while (load.done < load.asked) {
        int n = epoll_wait(load.epoll, events, EVENTS, 10000);
        if (n == 0)
            fail("no answer for ten seconds");
        for (int i = 0; i < n; i++)
            take(&load, events[i].data.ptr);
    }
    double seconds = (double)(now_ns() - since) / ns_per_s;
    printf("{\"operations\": %llu, \"seconds\": %.6f, \"per_s\": %.1f}\n",
           (unsigned long long)load.done, seconds, (double)load.done / seconds);
    for (unsigned i = 0; i < load.n_connections; i++) {
        close(load.connections[i].fd);
        free(load.connections[i].segments);
    }
    close(load.epoll);
    free(load.connections);
    return 0;
}
