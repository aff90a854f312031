/* Upgraded connections over TLS: a GnuTLS client in a thread at one end, the descriptor that was
 * handed over at the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/certificate.h"
#include "http/server.h"
#include "http/test/beside.h"

#include "base/file.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define MUCH    ((size_t)2 << 20) /* more than all buffers on the way hold */
#define WAIT_MS 120000

struct fix {
    struct beside beside;
    void (*run)(struct fix *);
    struct http_server *server;
    struct certificate certificate;
    int told[2]; /* a pipe: descriptors that were taken */
    char dir[64];
    uint16_t port;
    /* the client's thread */
    gnutls_session_t session;
    gnutls_certificate_credentials_t trusted;
    int socket, taken;
    bool stays; /* both ends are open when the server ends */
};

static void taken(void *arg, int fd, const void *extra, size_t len)
{
    struct fix *f = arg;
    assert_int_equal(write(f->told[1], &fd, sizeof fd), sizeof fd);
    assert_int_equal(len, 0);
    (void)extra;
}

static void handle(void *arg, struct http_request *r)
{
    http_upgrade(r, "test/1", taken, arg);
}

static int certificate(void *arg, struct http_certificate *out, struct err *err)
{
    struct fix *f = arg;
    (void)err;
    *out = (struct http_certificate){ f->certificate.chain, f->certificate.key };
    return 0;
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    struct err err;
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-tls-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    assert_int_equal(certificate_open(f->dir, "127.0.0.1", &f->certificate, &err), 0);
    assert_int_equal(pipe2(f->told, O_CLOEXEC), 0);
    beside_init(&f->beside);
    struct http_config c = { .loop = &f->beside.loop,
                             .host = "127.0.0.1",
                             .max_body = 1000,
                             .max_connections = 50,
                             .idle_timeout_s = 30,
                             .handle = handle,
                             .arg = f,
                             .certificate = certificate,
                             .certificate_arg = f };
    f->server = http_server_create(&c, &err);
    assert_non_null(f->server);
    f->port = http_server_port(f->server);
    f->taken = f->socket = -1;
    *state = f;
    return 0;
}

static void forget(struct fix *f)
{
    gnutls_deinit(f->session);
    gnutls_certificate_free_credentials(f->trusted);
    close(f->socket);
    f->socket = -1;
}

static void see_the_end(struct fix *f)
{
    char text[8];
    assert_int_equal(recv(f->taken, text, sizeof text, 0), 0);
    assert_true(gnutls_record_recv(f->session, text, sizeof text) <= 0);
    assert_int_equal(recv(f->socket, text, sizeof text, 0), 0);
    forget(f);
    close(f->taken);
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    http_server_destroy(f->server);
    beside_fini(&f->beside);
    if (f->stays)
        see_the_end(f);
    certificate_fini(&f->certificate);
    file_remove_tree(f->dir, NULL);
    close(f->told[0]);
    close(f->told[1]);
    free(f);
    return 0;
}

/* ---- the client ---- */

static void ready(int fd, short events)
{
    struct pollfd p = { .fd = fd, .events = events };
    assert_int_equal(poll(&p, 1, WAIT_MS), 1);
}

static ssize_t client_read(struct fix *f, void *out, size_t size)
{
    for (;;) {
        ssize_t n = gnutls_record_recv(f->session, out, size);
        if (n >= 0 || gnutls_error_is_fatal((int)n))
            return n;
        ready(f->socket, POLLIN);
    }
}

static void client_write(struct fix *f, const void *data, size_t len)
{
    for (const char *at = data; len > 0;) {
        ssize_t n = gnutls_record_send(f->session, at, len);
        if (n < 0)
            ready(f->socket, POLLOUT);
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

static void shake_hands(struct fix *f)
{
    AUTO_FREE char *path = file_join(f->dir, "tls-ca.pem");
    int rc;
    gnutls_certificate_allocate_credentials(&f->trusted);
    assert_true(gnutls_certificate_set_x509_trust_file(f->trusted, path, GNUTLS_X509_FMT_PEM) > 0);
    gnutls_init(&f->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK);
    gnutls_set_default_priority(f->session);
    gnutls_credentials_set(f->session, GNUTLS_CRD_CERTIFICATE, f->trusted);
    gnutls_session_set_verify_cert(f->session, "127.0.0.1", 0);
    gnutls_transport_set_int(f->session, f->socket);
    while ((rc = gnutls_handshake(f->session)) < 0) {
        assert_false(gnutls_error_is_fatal(rc));
        ready(f->socket, gnutls_record_get_direction(f->session) ? POLLOUT : POLLIN);
    }
}

/* The server's end of the client's connection, which is in this process too. */
static int server_side(const struct fix *f)
{
    struct sockaddr_in own = { 0 }, peer = { 0 };
    socklen_t len = sizeof own;
    assert_int_equal(getsockname(f->socket, (struct sockaddr *)&own, &len), 0);
    for (int fd = 3; fd < 256; fd++) {
        len = sizeof peer;
        if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 && peer.sin_family == AF_INET &&
            peer.sin_port == own.sin_port)
            return fd;
    }
    fail_msg("nobody is connected to port %u", ntohs(own.sin_port));
    return -1;
}

/* So that little is more than they hold. */
static void make_narrow(struct fix *f, int size)
{
    int there = server_side(f);
    setsockopt(there, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    setsockopt(there, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    setsockopt(f->socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    setsockopt(f->socket, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

static void upgrade(struct fix *f)
{
    static const char request[] =
        "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: test/1\r\n\r\n";
    struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(f->port) };
    char text[1024] = "";
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    f->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(f->socket, (struct sockaddr *)&addr, sizeof addr), 0);
    fcntl(f->socket, F_SETFL, O_NONBLOCK);
    shake_hands(f);
    client_write(f, request, sizeof request - 1);
    for (size_t n = 0; !strstr(text, "\r\n\r\n") && n < sizeof text - 1; n++)
        assert_int_equal(client_read(f, text + n, 1), 1);
    assert_memory_equal(text, "HTTP/1.1 101 ", 13);
    assert_int_equal(read(f->told[0], &f->taken, sizeof f->taken), sizeof f->taken);
    assert_true(fcntl(f->taken, F_GETFL) & O_NONBLOCK);
    make_narrow(f, 64 << 10);
}

/* ---- the other end ---- */

static ssize_t taker_read(struct fix *f, void *out, size_t size)
{
    ready(f->taken, POLLIN);
    return recv(f->taken, out, size, 0);
}

static void run_client(void *arg)
{
    struct fix *f = arg;
    upgrade(f);
    f->run(f);
    if (f->socket >= 0 && !f->stays)
        forget(f);
    if (f->taken >= 0 && !f->stays)
        close(f->taken);
}

static void with_client(void **state, void (*run)(struct fix *))
{
    struct fix *f = *state;
    f->run = run;
    beside_run(&f->beside, run_client, f);
}

static char byte_at(size_t at)
{
    return (char)(at * 31 + at / 4096);
}

static void check(const char *data, size_t n, size_t *at)
{
    for (size_t i = 0; i < n; i++, (*at)++)
        if (data[i] != byte_at(*at))
            fail_msg("byte %zu is another one", *at);
}

/* ---- tests ---- */

static void talk(struct fix *f)
{
    char text[8];
    for (int i = 0; i < 3; i++) {
        client_write(f, "ask", 3);
        assert_int_equal(taker_read(f, text, sizeof text), 3);
        assert_memory_equal(text, "ask", 3);
        assert_int_equal(send(f->taken, "answer", 6, 0), 6);
        assert_int_equal(client_read(f, text, sizeof text), 6);
        assert_memory_equal(text, "answer", 6);
    }
}

static void test_talk(void **state)
{
    with_client(state, talk);
}

/* A way through all that is between the two ends. */
struct way {
    ssize_t (*send)(struct fix *, const char *, size_t); /* both: -1 when nothing goes or comes */
    ssize_t (*read)(struct fix *, char *, size_t);
    int from, to; /* to be polled */
    size_t sent, got;
};

static ssize_t client_sends(struct fix *f, const char *data, size_t len)
{
    ssize_t n = gnutls_record_send(f->session, data, len);
    return n < 0 ? -1 : n;
}

static ssize_t client_reads(struct fix *f, char *out, size_t size)
{
    ssize_t n = gnutls_record_recv(f->session, out, size);
    return n < 0 ? -1 : n;
}

static ssize_t taker_sends(struct fix *f, const char *data, size_t len)
{
    return send(f->taken, data, len, MSG_NOSIGNAL);
}

static ssize_t taker_reads(struct fix *f, char *out, size_t size)
{
    return recv(f->taken, out, size, 0);
}

static bool send_piece(struct fix *f, struct way *w)
{
    char piece[10000];
    size_t len = MUCH - w->sent < sizeof piece ? MUCH - w->sent : sizeof piece;
    for (size_t i = 0; i < len; i++)
        piece[i] = byte_at(w->sent + i);
    ssize_t n = len ? w->send(f, piece, len) : -1;
    w->sent += n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* Sends until nobody takes more: memory is bounded. Then all that is not read yet arrives. */
static void carry(struct fix *f, struct way *w)
{
    char piece[10000];
    struct pollfd p[2] = { { .fd = w->from, .events = POLLOUT },
                           { .fd = w->to, .events = POLLIN } };
    while (send_piece(f, w) || poll(p, 1, 100) == 1)
        assert_true(w->sent < MUCH);
    while (w->sent < MUCH) {
        bool any = send_piece(f, w);
        ssize_t n = w->read(f, piece, sizeof piece);
        if (n > 0)
            check(piece, (size_t)n, &w->got);
        if (!any && n <= 0)
            assert_true(poll(p, 2, WAIT_MS) > 0);
    }
}

static void send_much(struct fix *f)
{
    char piece[10000];
    struct way w = { client_sends, taker_reads, f->socket, f->taken, 0, 0 };
    carry(f, &w);
    while (w.got < MUCH) {
        ssize_t n = taker_read(f, piece, sizeof piece);
        assert_true(n > 0);
        check(piece, (size_t)n, &w.got);
    }
}

static void test_send_much(void **state)
{
    with_client(state, send_much);
}

/* The taker closes while much is on its way: it arrives, then the end. */
static void receive_much(struct fix *f)
{
    char piece[10000];
    ssize_t n;
    struct way w = { taker_sends, client_reads, f->taken, f->socket, 0, 0 };
    carry(f, &w);
    client_write(f, "nobody reads this", 17);
    close(f->taken);
    f->taken = -1;
    while ((n = client_read(f, piece, sizeof piece)) > 0)
        check(piece, (size_t)n, &w.got);
    assert_int_equal(n, 0); /* a proper end of TLS */
    assert_int_equal(w.got, MUCH);
}

static void test_receive_much(void **state)
{
    with_client(state, receive_much);
}

/* The taker is done while its last bytes wait for a client that is slow: they are not lost. */
static void finish_slowly(struct fix *f)
{
    char last[50000], piece[1000]; /* less than is kept for a client, more than its sockets hold */
    size_t got = 0;
    ssize_t n;
    make_narrow(f, 4096);
    for (size_t i = 0; i < sizeof last; i++)
        last[i] = byte_at(i);
    assert_int_equal(send(f->taken, last, sizeof last, 0), sizeof last);
    close(f->taken);
    f->taken = -1;
    poll(NULL, 0, 50); /* it is gone before the first byte is read */
    while ((n = client_read(f, piece, sizeof piece)) > 0)
        check(piece, (size_t)n, &got);
    assert_int_equal(n, 0);
    assert_int_equal(got, sizeof last);
}

static void test_finish_slowly(void **state)
{
    with_client(state, finish_slowly);
}

/* What it sent last is read before the end, whether it says goodbye or not. */
static void go(struct fix *f, bool polite)
{
    char last[30000], piece[10000];
    size_t got = 0;
    ssize_t n;
    for (size_t i = 0; i < sizeof last; i++)
        last[i] = byte_at(i);
    client_write(f, last, sizeof last);
    if (polite)
        gnutls_bye(f->session, GNUTLS_SHUT_WR);
    forget(f);
    while ((n = taker_read(f, piece, sizeof piece)) > 0)
        check(piece, (size_t)n, &got);
    assert_int_equal(n, 0);
    assert_int_equal(got, sizeof last);
}

static void go_politely(struct fix *f)
{
    go(f, true);
}

static void vanish(struct fix *f)
{
    go(f, false);
}

static void test_client_leaves(void **state)
{
    with_client(state, go_politely);
    with_client(state, vanish);
}

/* Without a byte: nobody would notice by writing. */
static void leave_silently(struct fix *f)
{
    char piece[16];
    forget(f);
    assert_int_equal(taker_read(f, piece, sizeof piece), 0);
}

static void test_client_leaves_silently(void **state)
{
    with_client(state, leave_silently);
}

static double cpu_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/* Nothing spins, also when one side is full. */
static void idle(struct fix *f)
{
    static const char zeros[10000];
    double before;
    talk(f);
    before = cpu_seconds();
    poll(NULL, 0, 200);
    assert_true(cpu_seconds() - before < 0.1);
    for (ssize_t n = 1; n > 0 || n == GNUTLS_E_INTERRUPTED;) {
        struct pollfd p = { .fd = f->socket, .events = POLLOUT };
        n = gnutls_record_send(f->session, zeros, sizeof zeros);
        n = n < 0 && poll(&p, 1, 100) == 1 ? 1 : n;
    }
    before = cpu_seconds();
    poll(NULL, 0, 200);
    assert_true(cpu_seconds() - before < 0.1);
}

static void test_idle(void **state)
{
    with_client(state, idle);
}

/* The server ends meanwhile: tear_down looks at both. */
static void stay(struct fix *f)
{
    talk(f);
    f->stays = true;
}

static void test_server_ends(void **state)
{
    with_client(state, stay);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_talk),          T(test_send_much),     T(test_receive_much),
        T(test_finish_slowly), T(test_client_leaves), T(test_client_leaves_silently),
        T(test_idle),          T(test_server_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
