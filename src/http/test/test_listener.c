/* One TCP port for plain HTTP and TLS, and requests as they are on the wire: raw sockets and a
 * GnuTLS client in a thread against the server in the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/certificate.h"
#include "http/server.h"
#include "http/test/beside.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

struct fix {
    struct beside beside;
    void (*run)(struct fix *);
    struct http_server *server;
    struct certificate certificate;
    unsigned certificates; /* asked for */
    bool refuse;
    char dir[64];
    uint16_t port;
};

/* ---- a service that says what it was asked ---- */

static void taken(void *arg, int fd, const void *extra, size_t len)
{
    (void)arg;
    (void)extra;
    (void)len;
    assert_int_equal(file_write_all(fd, "hello", 5), 0);
    close(fd);
}

static void handle(void *arg, struct http_request *r)
{
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    const char *name, *value;
    if (strcmp(http_path(r), "/upgrade") == 0) {
        http_upgrade(r, "test/1", taken, arg);
        return;
    }
    buf_addf(&out, "%s %s %s\n", http_method(r), http_target(r), http_path(r));
    for (size_t i = 0; http_query_at(r, i, &name, &value); i++)
        buf_addf(&out, "%s=%s;", name, value);
    buf_addf(&out, "\ntls=%d host=%s\n", http_over_tls(r),
             http_header(r, "Host") ? http_header(r, "Host") : "none");
    for (size_t i = 0; http_header_at(r, i, &name, &value); i++)
        if (name[0] == 'X')
            buf_addf(&out, "%s=%s;", name, value);
    buf_addf(&out, "\nsecond=%s\n",
             http_header_value(r, "x-twice", 1) ? http_header_value(r, "x-twice", 1) : "none");
    http_answer(r, 200, "text/plain", buf_str(&out), out.len);
}

static int certificate(void *arg, struct http_certificate *out, struct err *err)
{
    struct fix *f = arg;
    f->certificates++;
    if (f->refuse)
        return err_set(err, ERR_SYSTEM, "not now");
    if (!f->certificate.chain && certificate_open(f->dir, "127.0.0.1", &f->certificate, err) < 0)
        return -1;
    out->chain = f->certificate.chain;
    out->key = f->certificate.key;
    return 0;
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    struct err err;
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-door-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    beside_init(&f->beside);
    struct http_config c = { .loop = &f->beside.loop,
                             .host = "127.0.0.1",
                             .max_body = 1000,
                             .max_connections = 50,
                             .idle_timeout_s = 1,
                             .handle = handle,
                             .arg = f,
                             .certificate = certificate,
                             .certificate_arg = f };
    f->server = http_server_create(&c, &err);
    assert_non_null(f->server);
    f->port = http_server_port(f->server);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    http_server_destroy(f->server);
    beside_fini(&f->beside);
    certificate_fini(&f->certificate);
    file_remove_tree(f->dir, NULL);
    free(f);
    return 0;
}

/* ---- clients, in a thread ---- */

static void run_client(void *arg)
{
    struct fix *f = arg;
    f->run(f);
}

static void with_client(struct fix *f, void (*run)(struct fix *))
{
    f->run = run;
    beside_run(&f->beside, run_client, f);
}

static int dial(const struct fix *f)
{
    struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(f->port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    return fd;
}

/* All until the server closes, in out (NUL-terminated). false: it did not close within the time. */
static bool read_all(int fd, char *out, size_t size, int ms)
{
    size_t len = 0;
    for (;;) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        if (poll(&p, 1, ms) <= 0)
            return false;
        ssize_t n = recv(fd, out + len, size - 1 - len, 0);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    out[len] = '\0';
    return true;
}

static void says(const struct fix *f, const char *request, const char *answer)
{
    char text[4096] = "";
    int fd = dial(f);
    assert_int_equal(file_write_all(fd, request, strlen(request)), 0);
    assert_true(read_all(fd, text, sizeof text, 10000));
    if (!strstr(text, answer))
        fail_msg("%s\nis not in\n%s", answer, text);
    close(fd);
}

/* ---- as on the wire ---- */

static void ask_targets(struct fix *f)
{
    says(
        f,
        "GET /a%2Fb/%E4%BD%A0?z=1&a=x%20y+z&z=2&e=&flag HTTP/1.1\r\nHost: http://127.0.0.1:18090\r\n"
        "Connection: close\r\n\r\n",
        "GET /a%2Fb/%E4%BD%A0?z=1&a=x%20y+z&z=2&e=&flag /a/b/\xe4\xbd\xa0\n"
        "z=1;a=x y z;z=2;e=;flag=;\ntls=0 host=http://127.0.0.1:18090\n");
    says(f, "GET /../x/./y HTTP/1.0\r\n\r\n", "GET /../x/./y /../x/./y\n\ntls=0 host=none\n");
    says(f,
         "GET / HTTP/1.1\r\nHost: h\r\nX-Twice: one\r\nX-B: 2\r\nX-Twice: two\r\n"
         "Connection: close\r\n\r\n",
         "X-Twice=one;X-B=2;X-Twice=two;\nsecond=two\n");
    says(f, "GET /a%00b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "HTTP/1.1 400 ");
    says(f, "GET /a?b=%00 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "HTTP/1.1 400 ");
    says(f, "GET /a%2500b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", " /a%00b\n");
}

static void test_targets(void **state)
{
    with_client(*state, ask_targets);
}

/* ---- TLS ---- */

static void trust(struct fix *f, gnutls_session_t session, gnutls_certificate_credentials_t *all)
{
    AUTO_FREE char *path = file_join(f->dir, "tls-ca.pem");
    gnutls_certificate_allocate_credentials(all);
    assert_true(gnutls_certificate_set_x509_trust_file(*all, path, GNUTLS_X509_FMT_PEM) > 0);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, *all);
}

/* A request over TLS whose certificate is checked against name. */
static void says_tls(struct fix *f, const char *name, const char *request, const char *answer)
{
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
    char text[4096] = "";
    size_t len = 0;
    ssize_t n = 1;
    int fd = dial(f), rc;
    gnutls_init(&session, GNUTLS_CLIENT);
    gnutls_set_default_priority(session);
    trust(f, session, &credentials);
    gnutls_session_set_verify_cert(session, name, 0);
    gnutls_transport_set_int(session, fd);
    do
        rc = gnutls_handshake(session);
    while (rc < 0 && !gnutls_error_is_fatal(rc));
    if (rc < 0)
        fail_msg("%s: %s", name, gnutls_strerror(rc));
    assert_true(gnutls_record_send(session, request, strlen(request)) > 0);
    while (n > 0 && len < sizeof text - 1) {
        n = gnutls_record_recv(session, text + len, sizeof text - 1 - len);
        len += n > 0 ? (size_t)n : 0;
    }
    if (!strstr(text, answer))
        fail_msg("%s\nis not in\n%s", answer, text);
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(credentials);
    close(fd);
}

#define CLOSE " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

static void ask_both(struct fix *f)
{
    says(f, "GET /plain" CLOSE, "tls=0");
    assert_int_equal(f->certificates, 1); /* made before, for the trust file */
    says_tls(f, "127.0.0.1", "GET /one" CLOSE, "tls=1");
    says_tls(f, "localhost", "GET /two" CLOSE, "tls=1");
    says(f, "GET /plain" CLOSE, "tls=0");
}

static void open_certificate(struct fix *f)
{
    struct http_certificate none;
    struct err err = { 0 };
    if (certificate(f, &none, &err) < 0)
        fail_msg("%s", err.what);
}

static void test_both(void **state)
{
    struct fix *f = *state;
    open_certificate(f);
    with_client(f, ask_both);
    assert_int_equal(f->certificates, 2); /* at the first hello only */
}

static void ask_refused(struct fix *f)
{
    char text[64];
    int fd = dial(f);
    assert_int_equal(file_write_all(fd, "\x16\x03\x01", 3), 0);
    assert_true(read_all(fd, text, sizeof text, 10000)); /* closed, and the server goes on */
    close(fd);
    says(f, "GET /plain" CLOSE, "tls=0");
}

static void ask_both_again(struct fix *f)
{
    says_tls(f, "127.0.0.1", "GET /one" CLOSE, "tls=1");
}

static void test_no_certificate(void **state)
{
    struct fix *f = *state;
    f->refuse = true;
    with_client(f, ask_refused);
    f->refuse = false;
    open_certificate(f);
    with_client(f, ask_both_again);
}

/* ---- clients that are slow or wrong ---- */

static void ask_slowly(struct fix *f)
{
    static const char request[] = "GET /slow" CLOSE;
    char text[4096];
    int silent = dial(f), half = dial(f), left = dial(f), garbage = dial(f), slow = dial(f);
    int wrong = dial(f);
    close(left); /* says nothing and goes */
    assert_int_equal(file_write_all(half, "\x16\x03\x01\x02\x00\x01\x00", 7), 0);
    poll(NULL, 0, 50); /* the server waits for its first byte meanwhile */
    for (size_t i = 0; i < sizeof request - 1; i++)
        assert_int_equal(file_write_all(slow, request + i, 1), 0);
    assert_true(read_all(slow, text, sizeof text, 10000));
    assert_non_null(strstr(text, "GET /slow"));
    assert_int_equal(file_write_all(garbage, "\x01\x02\r\n\r\n", 6), 0);
    assert_true(read_all(garbage, text, sizeof text, 10000));
    assert_true(read_all(silent, text, sizeof text, 10000)); /* the idle time is over */
    assert_string_equal(text, "");
    assert_true(read_all(half, text, sizeof text, 10000)); /* in the middle of its hello */
    assert_string_equal(text, "");
    assert_int_equal(file_write_all(wrong, "\x16\x03\x01\x00\x05hello", 10), 0);
    assert_true(read_all(wrong, text, sizeof text, 10000));
    close(wrong);
    close(half);
    close(silent);
    close(garbage);
    close(slow);
    says(f, "GET /after" CLOSE, "GET /after");
}

static void test_slow(void **state)
{
    struct fix *f = *state;
    open_certificate(f);
    with_client(f, ask_slowly);
}

static void ask_upgrade(struct fix *f)
{
    says(f, "GET /upgrade HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: test/1\r\n\r\n",
         "\r\n\r\nhello");
}

static void test_upgrade(void **state)
{
    with_client(*state, ask_upgrade);
}

/* Half a request when the server ends: nothing is left behind. */
static void leave_half(struct fix *f)
{
    int fd = dial(f), silent = dial(f);
    assert_int_equal(file_write_all(fd, "GET /half HTTP/1.1\r\nHo", 22), 0);
    poll(NULL, 0, 50);
    f->refuse = fd + silent < 0; /* both stay open until the process ends */
}

static void test_half(void **state)
{
    with_client(*state, leave_half);
}

/* ---- certificates ---- */

static void test_files(void **state)
{
    struct fix *f = *state;
    struct certificate first, second;
    struct err err;
    struct stat st;
    AUTO_FREE char *key = file_join(f->dir, "tls.key"), *crt = file_join(f->dir, "tls.pem");
    assert_int_equal(certificate_open(f->dir, NULL, &first, &err), 0);
    assert_int_equal(stat(key, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(certificate_open(f->dir, NULL, &second, &err), 0);
    assert_string_equal(first.chain, second.chain);
    certificate_fini(&second);
    /* An address more: another certificate of the same authority. */
    assert_int_equal(certificate_open(f->dir, "10.1.2.3", &second, &err), 0);
    assert_string_not_equal(first.chain, second.chain);
    assert_string_equal(first.authority, second.authority);
    certificate_fini(&second);
    /* A file that is no certificate is made anew. */
    assert_int_equal(file_replace(crt, "x", 1, 0644, &err), 0);
    assert_int_equal(certificate_open(f->dir, NULL, &second, &err), 0);
    assert_string_equal(first.authority, second.authority);
    certificate_fini(&second);
    assert_int_equal(certificate_read(crt, key, &second, &err), 0);
    certificate_fini(&second);
    assert_int_equal(certificate_read("/nowhere", key, &second, &err), -1);
    certificate_fini(&first);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_targets), T(test_both), T(test_no_certificate), T(test_slow),
        T(test_upgrade), T(test_half), T(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
