/* The server and the client against each other, over a Unix socket and TCP: the client runs in
 * threads, the loop in the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/client.h"
#include "http/server.h"
#include "http/test/beside.h"

#include "base/file.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

struct fix {
    struct beside beside;
    void (*run)(struct fix *);
    struct http_server *server;
    struct http_request *parked;
    unsigned gone, drained;
    uv_prepare_t turned; /* at the end of each turn, while /large is sent */
    size_t left, most;   /* of /large: what is still to be sent; sent in one turn */
    char dir[64], *socket;
    char url[64];
};

/* ---- a small service ---- */

static void on_gone(void *arg)
{
    struct fix *f = arg;
    f->gone++;
}

static void on_drained(void *arg)
{
    struct fix *f = arg;
    f->drained++;
    http_stream_end(f->parked);
}

static void echo_taken(void *arg, int fd, const void *extra, size_t len)
{
    (void)arg;
    assert_int_equal(file_write_all(fd, "hello", 5), 0);
    if (len)
        assert_int_equal(file_write_all(fd, extra, len), 0);
    close(fd);
}

static void park(struct fix *f, struct http_request *r)
{
    f->parked = r;
    http_set_arg(r, f, on_gone);
}

#define LARGE ((size_t)1 << 20)

static void on_turned(uv_prepare_t *turned)
{
    struct fix *f = turned->data;
    size_t left = LARGE - http_stream_room(f->parked), sent = f->left - left;
    f->most = sent > f->most ? sent : f->most;
    f->left = left;
    if (left > 0)
        return;
    uv_prepare_stop(turned);
    http_stream_end(f->parked);
}

static void send_large(struct fix *f, struct http_request *r)
{
    AUTO_FREE char *text = mem_new(LARGE);
    park(f, r);
    http_stream_begin(r, 200, "text/plain", LARGE, NULL);
    http_stream_write(r, text, LARGE);
    f->left = LARGE;
    uv_prepare_start(&f->turned, on_turned);
}

static void handle(void *arg, struct http_request *r)
{
    struct fix *f = arg;
    const char *path = http_path(r);
    size_t len;
    const char *body = http_body(r, &len);
    if (strcmp(path, "/echo") == 0) {
        http_add_header(r, "X-Query", http_query(r, "q", 1) ? http_query(r, "q", 1) : "none");
        http_answer(r, 200, "text/plain", body, len);
    } else if (strcmp(path, "/later") == 0) {
        park(f, r);
    } else if (strcmp(path, "/release") == 0) {
        http_answer(f->parked, 200, "text/plain", "late", 4);
        http_answer(r, 200, "text/plain", "ok", 2);
    } else if (strcmp(path, "/stream") == 0) {
        park(f, r);
        http_stream_begin(r, 200, "text/plain", 1024, on_drained);
        char piece[2048];
        memset(piece, 'x', sizeof piece);
        http_stream_write(r, piece,
                          sizeof piece); /* over the bound: drained comes when it is out */
        assert_int_equal(http_stream_room(r), 0);
    } else if (strcmp(path, "/large") == 0) {
        send_large(f, r);
    } else if (strcmp(path, "/upgrade") == 0) {
        http_upgrade(r, "test/1", echo_taken, f);
    } else {
        uint32_t uid = 0;
        char text[32];
        bool known = http_peer_uid(r, &uid);
        snprintf(text, sizeof text, "%d %u", known, uid);
        http_answer(r, 404, "text/plain", text, strlen(text));
    }
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    struct err err;
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-http-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->socket = file_join(f->dir, "sock");
    beside_init(&f->beside);
    uv_prepare_init(&f->beside.loop, &f->turned);
    f->turned.data = f;
    struct http_config c = { .loop = &f->beside.loop,
                             .socket_path = f->socket,
                             .host = "127.0.0.1",
                             .port = 0,
                             .max_body = 1000,
                             .max_connections = 50,
                             .idle_timeout_s = 30,
                             .handle = handle,
                             .arg = f };
    f->server = http_server_create(&c, &err);
    assert_non_null(f->server);
    snprintf(f->url, sizeof f->url, "http://127.0.0.1:%u", http_server_port(f->server));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    http_server_destroy(f->server);
    uv_close((uv_handle_t *)&f->turned, NULL);
    beside_fini(&f->beside);
    file_remove_tree(f->dir, NULL);
    free(f->socket);
    free(f);
    return 0;
}

/* ---- the client's side runs in a thread ---- */

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

static struct http_client *client(struct fix *f, bool tcp)
{
    struct err err;
    struct http_client_config c = { .socket_path = tcp ? NULL : f->socket,
                                    .url = tcp ? f->url : NULL,
                                    .token = "secret",
                                    .timeout_ms = 10000 };
    struct http_client *made = http_client_create(&c, &err);
    assert_non_null(made);
    return made;
}

enum over { UNIX, TCP };
struct want {
    unsigned status;
    const char *body; /* NULL: any */
};

static void call(struct fix *f, enum over over, const char *request, const char *body,
                 struct want want)
{
    char method[8] = "";
    const char *path = strchr(request, ' ') + 1;
    snprintf(method, sizeof method, "%.*s", (int)(path - request - 1), request);
    struct http_client *c = client(f, over == TCP);
    struct http_response r;
    struct err err = { 0 };
    struct http_ask ask = {
        .method = method, .path = path, .body = body, .len = body ? strlen(body) : 0
    };
    if (http_call(c, &ask, &r, &err) < 0)
        fail_msg("%s", err.what);
    assert_int_equal(r.status, want.status);
    if (want.body)
        assert_string_equal(buf_str(&r.body), want.body);
    buf_fini(&r.body);
    http_client_destroy(c);
}

static void echo(struct fix *f)
{
    call(f, UNIX, "POST /echo?q=a&q=b%20c", "text", (struct want){ 200, "text" });
    call(f, TCP, "POST /echo", "text", (struct want){ 200, "text" });
    char peer[32];
    snprintf(peer, sizeof peer, "1 %u", getuid());
    call(f, UNIX, "GET /nowhere", NULL, (struct want){ 404, peer });
    call(f, TCP, "GET /nowhere", NULL, (struct want){ 404, "0 0" });
}

static void echoes_over_both(void **state)
{
    with_client(*state, echo);
}

static void too_large(struct fix *f)
{
    static char big[3 << 20];
    memset(big, 'x', sizeof big);
    struct http_client *c = client(f, true);
    struct http_response r;
    struct err err = { 0 };
    struct http_ask ask = { .method = "POST", .path = "/echo", .body = big, .len = sizeof big };
    assert_int_equal(http_call(c, &ask, &r, &err), 0);
    assert_int_equal(r.status, 413);
    assert_non_null(strstr(buf_str(&r.body), "1000 bytes"));
    buf_fini(&r.body);
    ask.body = "fine";
    ask.len = 4;
    assert_int_equal(http_call(c, &ask, &r, &err), 0);
    assert_string_equal(buf_str(&r.body), "fine");
    buf_fini(&r.body);
    http_client_destroy(c);
}

static void larger_body_is_refused_and_the_server_goes_on(void **state)
{
    with_client(*state, too_large);
}

static void *release(void *arg)
{
    struct fix *f = arg;
    while (!*(struct http_request *volatile *)&f->parked)
        usleep(1000);
    call(f, UNIX, "GET /release", NULL, (struct want){ 200, "ok" });
    return NULL;
}

static void later(struct fix *f)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, release, f), 0);
    call(f, TCP, "GET /later", NULL, (struct want){ 200, "late" });
    pthread_join(thread, NULL);
}

static void answer_may_come_later(void **state)
{
    with_client(*state, later);
}

static bool count(void *arg, const void *data, size_t n)
{
    (void)data;
    *(size_t *)arg += n;
    return true;
}

static void stream(struct fix *f)
{
    struct http_client *c = client(f, false);
    struct http_response r;
    struct err err;
    size_t n = 0;
    struct http_ask ask = { .method = "GET", .path = "/stream", .data = count, .arg = &n };
    assert_int_equal(http_call(c, &ask, &r, &err), 0);
    assert_int_equal(r.status, 200);
    assert_int_equal(n, 2048);
    buf_fini(&r.body);
    http_client_destroy(c);
}

static void stream_is_bounded_and_drains(void **state)
{
    struct fix *f = *state;
    with_client(f, stream);
    assert_int_equal(f->drained, 1);
}

static void large(struct fix *f)
{
    struct http_client *c = client(f, false);
    struct http_response r;
    struct err err;
    size_t n = 0;
    struct http_ask ask = { .method = "GET", .path = "/large", .data = count, .arg = &n };
    assert_int_equal(http_call(c, &ask, &r, &err), 0);
    assert_int_equal(n, LARGE);
    buf_fini(&r.body);
    http_client_destroy(c);
}

/* However much the client's socket takes, others come in between. */
static void long_answer_takes_several_turns(void **state)
{
    struct fix *f = *state;
    with_client(f, large);
    assert_int_equal(f->left, 0);
    assert_in_range(f->most, 1, 100000);
}

static void upgrade(struct fix *f)
{
    struct http_client *c = client(f, false);
    AUTO_BUF struct buf extra = BUF_INIT(4096);
    struct err err;
    struct http_duplex *line = http_client_upgrade(c, "/upgrade", "test/1", &extra, &err);
    assert_non_null(line);
    while (extra.len < 5) {
        char piece[16];
        ssize_t n = http_duplex_read(line, piece, sizeof piece);
        if (n < 0)
            continue;
        assert_true(n > 0);
        buf_add(&extra, piece, (size_t)n);
    }
    assert_string_equal(buf_str(&extra), "hello");
    http_duplex_close(line);
    assert_null(http_client_upgrade(c, "/echo", "test/1", &extra, &err));
    http_client_destroy(c);
}

static void upgraded_socket_is_handed_over(void **state)
{
    with_client(*state, upgrade);
}

static void leave(struct fix *f)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    snprintf(addr.sun_path, sizeof addr.sun_path, "%s", f->socket);
    for (int i = 0; i < 2; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
        const char *text = i ? "garbage\r\n\r\n" : "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n";
        assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
        char head[12];
        assert_true(recv(fd, head, sizeof head, 0) >= 0);
        close(fd);
    }
    while (*(volatile unsigned *)&f->gone == 0)
        usleep(1000);
    call(f, TCP, "POST /echo", "still here", (struct want){ 200, "still here" });
}

static void client_that_leaves_is_noticed(void **state)
{
    with_client(*state, leave);
}

static void second_listener_is_refused(void **state)
{
    struct fix *f = *state;
    struct err err;
    struct http_config c = { .loop = &f->beside.loop,
                             .socket_path = f->socket,
                             .max_body = 10,
                             .max_connections = 5,
                             .handle = handle };
    assert_null(http_server_create(&c, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(echoes_over_both),
        TEST(larger_body_is_refused_and_the_server_goes_on),
        TEST(answer_may_come_later),
        TEST(stream_is_bounded_and_drains),
        TEST(long_answer_takes_several_turns),
        TEST(upgraded_socket_is_handed_over),
        TEST(client_that_leaves_is_noticed),
        TEST(second_listener_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
