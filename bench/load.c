/* A load generator for the benchmarks: so many keep-alive connections, each with one request under
 * way at a time, until all are answered; prints one JSON document with the rate and the latencies.
 *
 *   load ADDRESS CONNECTIONS REQUESTS FILE
 *
 * ADDRESS is the path of a Unix socket or HOST:PORT with a numeric host. FILE holds one complete
 * HTTP request; each run of eight
 * '@' in it becomes the number of the request in eight digits, so that its length stays the same.
 * One thread and one epoll, so that the server under test, and not the client, is what fills a
 * core. Answers need a Content-Length. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MARKS_MAX = 4096, DIGITS = 8, HEAD_MAX = 16384, STATUS_MAX = 600, REQUEST_MAX = 64 << 20 };
static const uint64_t ns_per_s = 1000000000u;

struct connection {
    int fd;
    char *out; /* the request, with its number filled in */
    size_t sent;
    char head[HEAD_MAX + 1];
    size_t got;       /* bytes of the head */
    size_t remaining; /* bytes of the body to come */
    bool in_body, busy;
    uint64_t since_ns;
};
struct load {
    struct sockaddr_storage address;
    socklen_t address_len;
    char *text;
    size_t len;
    size_t marks[MARKS_MAX], n_marks;
    unsigned n_connections;
    uint64_t requests, started, done;
    uint64_t *took_ns;
    uint64_t status[STATUS_MAX];
    struct connection *connections;
    int epoll;
};

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "load: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * ns_per_s + (uint64_t)t.tv_nsec;
}

/* ---- arguments ---- */

static uint64_t number(const char *text)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno || *end || n == 0 || n > 100000000)
        fail("CONNECTIONS and REQUESTS are numbers from 1");
    return n;
}

static void read_address(struct load *load, const char *text)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&load->address;
    struct sockaddr_in *in = (struct sockaddr_in *)&load->address;
    const char *colon = strrchr(text, ':');
    char host[64];
    if (text[0] == '/') {
        un->sun_family = AF_UNIX;
        snprintf(un->sun_path, sizeof un->sun_path, "%s", text);
        load->address_len = sizeof *un;
        return;
    }
    snprintf(host, sizeof host, "%.*s", colon ? (int)(colon - text) : 0, text);
    in->sin_family = AF_INET;
    if (!colon || inet_pton(AF_INET, host, &in->sin_addr) != 1)
        fail("ADDRESS is /a/socket or 127.0.0.1:6878");
    in->sin_port = htons((uint16_t)number(colon + 1));
    load->address_len = sizeof *in;
}

static void read_request(struct load *load, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path);
    load->text = malloc(REQUEST_MAX);
    if (!load->text)
        fail("memory");
    load->len = fread(load->text, 1, REQUEST_MAX, file);
    fclose(file);
    for (size_t i = 0; i + DIGITS <= load->len; i++) {
        if (memcmp(load->text + i, "@@@@@@@@", DIGITS) != 0)
            continue;
        if (load->n_marks == MARKS_MAX)
            fail("too many numbers in the request");
        load->marks[load->n_marks++] = i;
        i += DIGITS - 1;
    }
}

/* ---- one connection ---- */

static void watch(struct load *load, struct connection *c, uint32_t events, int operation)
{
    struct epoll_event event = { .events = events, .data.ptr = c };
    if (epoll_ctl(load->epoll, operation, c->fd, &event) != 0)
        fail("epoll_ctl");
}

static void open_connection(struct load *load, struct connection *c)
{
    int one = 1;
    c->fd = socket(load->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&load->address, load->address_len) != 0)
        fail("connecting");
    if (load->address.ss_family == AF_INET)
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0)
        fail("fcntl");
    c->out = malloc(load->len);
    if (!c->out)
        fail("memory");
    memcpy(c->out, load->text, load->len);
    watch(load, c, EPOLLIN, EPOLL_CTL_ADD);
}

static void push(struct load *load, struct connection *c)
{
    while (c->sent < load->len) {
        ssize_t n = send(c->fd, c->out + c->sent, load->len - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            watch(load, c, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
            return;
        }
        if (n < 0)
            fail("sending");
        c->sent += (size_t)n;
    }
}

static void begin(struct load *load, struct connection *c)
{
    char digits[DIGITS + 1];
    c->busy = load->started < load->requests;
    if (!c->busy)
        return;
    snprintf(digits, sizeof digits, "%08u", (unsigned)(load->started++ % 100000000u));
    for (size_t i = 0; i < load->n_marks; i++)
        memcpy(c->out + load->marks[i], digits, DIGITS);
    c->sent = c->got = c->remaining = 0;
    c->in_body = false;
    c->since_ns = now_ns();
    push(load, c);
}

static void finish(struct load *load, struct connection *c)
{
    load->took_ns[load->done++] = now_ns() - c->since_ns;
    begin(load, c);
}

/* Status and length, once the head is complete; what came after it counts for the body. */
static void read_head(struct load *load, struct connection *c, const char *end)
{
    const char *at = strcasestr(c->head, "\r\ncontent-length:");
    static const char version[] = "HTTP/1.1 ";
    unsigned long status = strncmp(c->head, version, sizeof version - 1) == 0
                               ? strtoul(c->head + sizeof version - 1, NULL, 10)
                               : STATUS_MAX;
    if (status >= STATUS_MAX)
        fail("an answer that is not HTTP/1.1");
    load->status[status]++;
    if (!at || at > end)
        fail("an answer without Content-Length");
    size_t length = strtoull(at + strlen("\r\ncontent-length:"), NULL, 10);
    size_t have = c->got - (size_t)(end - c->head) - 4;
    if (have > length)
        fail("more than was announced");
    c->in_body = true;
    c->remaining = length - have;
}

static bool pull_body(struct connection *c)
{
    char waste[65536];
    while (c->remaining > 0) {
        size_t want = c->remaining < sizeof waste ? c->remaining : sizeof waste;
        ssize_t n = recv(c->fd, waste, want, 0);
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n <= 0)
            fail("the server closed a connection");
        c->remaining -= (size_t)n;
    }
    return true;
}

static void pull(struct load *load, struct connection *c)
{
    while (!c->in_body) {
        ssize_t n = recv(c->fd, c->head + c->got, HEAD_MAX - c->got, 0);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0)
            fail("the server closed a connection");
        c->got += (size_t)n;
        c->head[c->got] = '\0';
        const char *end = strstr(c->head, "\r\n\r\n");
        if (end)
            read_head(load, c, end);
        else if (c->got == HEAD_MAX)
            fail("an answer with a head of more than 16 KiB");
    }
    if (pull_body(c))
        finish(load, c);
}

/* ---- all of them ---- */

static void run(struct load *load)
{
    struct epoll_event events[256];
    for (unsigned i = 0; i < load->n_connections; i++)
        begin(load, &load->connections[i]);
    while (load->done < load->requests) {
        int n = epoll_wait(load->epoll, events, 256, 60000);
        if (n == 0)
            fail("no answer for 60 s");
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            if ((events[i].events & EPOLLOUT) && c->sent < load->len) {
                push(load, c);
                if (c->sent == load->len)
                    watch(load, c, EPOLLIN, EPOLL_CTL_MOD);
            }
            if ((events[i].events & ~(uint32_t)EPOLLOUT) && c->busy)
                pull(load, c);
        }
    }
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static double percentile(const struct load *load, double part)
{
    uint64_t at = (uint64_t)((double)(load->done - 1) * part);
    return (double)load->took_ns[at] / 1e6;
}

static void report(struct load *load, double seconds)
{
    const char *comma = "";
    qsort(load->took_ns, load->done, sizeof *load->took_ns, by_size);
    printf("{\"requests\": %llu, \"connections\": %u, \"seconds\": %.6f, \"per_s\": %.1f, ",
           (unsigned long long)load->done, load->n_connections, seconds,
           (double)load->done / seconds);
    printf("\"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f, \"status\": {",
           percentile(load, 0.5), percentile(load, 0.99), percentile(load, 1));
    for (unsigned i = 0; i < STATUS_MAX; i++) {
        if (!load->status[i])
            continue;
        printf("%s\"%u\": %llu", comma, i, (unsigned long long)load->status[i]);
        comma = ", ";
    }
    printf("}}\n");
}

int main(int argc, char **argv)
{
    struct load *load = calloc(1, sizeof *load);
    errno = 0;
    if (argc != 5)
        fail("usage: load ADDRESS CONNECTIONS REQUESTS FILE");
    if (!load)
        fail("memory");
    read_address(load, argv[1]);
    load->n_connections = (unsigned)number(argv[2]);
    load->requests = number(argv[3]);
    read_request(load, argv[4]);
    load->took_ns = calloc(load->requests, sizeof *load->took_ns);
    load->connections = calloc(load->n_connections, sizeof *load->connections);
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!load->took_ns || !load->connections || load->epoll < 0)
        fail("starting");
    for (unsigned i = 0; i < load->n_connections; i++)
        open_connection(load, &load->connections[i]);
    uint64_t since = now_ns();
    run(load);
    report(load, (double)(now_ns() - since) / 1e9);
    for (unsigned i = 0; i < load->n_connections; i++) {
        close(load->connections[i].fd);
        free(load->connections[i].out);
    }
    close(load->epoll);
    free(load->connections);
    free(load->took_ns);
    free(load->text);
    free(load);
    return 0;
}
