/* Both ends over a socket pair, in one thread: the long handshake and the short one, much in both
 * directions through small buffers, ends of every kind, and what must not be believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "tls/client.h"
#include "tls/server.h"
#include "tls/test/made.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MUCH 300000u /* more than a socket, a record and both libraries hold */

struct scene {
    struct made made, other;
    struct tls_server *server;
    struct tls_client *client;
    struct transport *near, *far; /* the client's end, the server's */
};

static struct tls_server *server_with(const struct made *made, uint8_t ticket_byte)
{
    struct tls_server_config config = { .chain = made->chain, .key = made->key };
    memset(config.ticket_key, ticket_byte, sizeof config.ticket_key);
    struct tls_server *server = tls_server_create(&config, NULL);
    assert_non_null(server);
    return server;
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    make_certificate(&scene->made);
    make_certificate(&scene->other);
    scene->server = server_with(&scene->made, 7);
    scene->client = tls_client_create(scene->made.pin);
    *state = scene;
    return 0;
}

static void close_both(struct scene *scene)
{
    if (scene->near)
        scene->near->calls->close(TAKE(scene->near));
    if (scene->far)
        scene->far->calls->close(TAKE(scene->far));
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    close_both(scene);
    tls_client_destroy(scene->client);
    tls_server_destroy(scene->server);
    free(scene);
    return 0;
}

static void connect_both(struct scene *scene)
{
    int pair[2], small = 4096;
    close_both(scene);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    scene->near = tls_client_transport(scene->client, pair[0]);
    scene->far = tls_server_transport(scene->server, pair[1]);
}

static bool waits(enum transport_state state)
{
    return state == TRANSPORT_WAIT_IN || state == TRANSPORT_WAIT_OUT;
}

/* Until both have an answer other than to wait, or neither can go on. */
static void agree(struct scene *scene, enum transport_state *near, enum transport_state *far)
{
    *near = *far = TRANSPORT_WAIT_IN;
    for (int i = 0; i < 1000 && (waits(*near) || waits(*far)); i++) {
        if (waits(*near))
            *near = scene->near->calls->start(scene->near);
        if (waits(*far))
            *far = scene->far->calls->start(scene->far);
    }
}

static void agree_well(struct scene *scene)
{
    enum transport_state near, far;
    connect_both(scene);
    agree(scene, &near, &far);
    assert_int_equal(near, TRANSPORT_READY);
    assert_int_equal(far, TRANSPORT_READY);
}

/* What `from` says arrives, in pieces of a size that divides no record. */
static void carry(struct transport *from, struct transport *to, uint8_t seed)
{
    uint8_t *said = mem_new(MUCH), *heard = mem_new(MUCH);
    size_t sent = 0, got = 0, n = 0;
    for (size_t i = 0; i < MUCH; i++)
        said[i] = (uint8_t)(i * 31 + i / 251 + seed);
    while (got < MUCH) {
        size_t size = MUCH - got < 777 ? MUCH - got : 777;
        if (sent < MUCH)
            assert_true(from->calls->write(from, said + sent, MUCH - sent, &n) < TRANSPORT_END);
        else
            n = 0;
        sent += n;
        assert_true(to->calls->read(to, heard + got, size, &n) < TRANSPORT_END);
        got += n;
    }
    assert_memory_equal(said, heard, MUCH);
    free(said);
    free(heard);
}

static void much_arrives_both_ways(void **state)
{
    struct scene *scene = *state;
    agree_well(scene);
    assert_false(tls_server_resumed(scene->far));
    carry(scene->near, scene->far, 1);
    carry(scene->far, scene->near, 2);
    carry(scene->near, scene->far, 3);
}

static void nothing_to_read_waits_for_input(void **state)
{
    struct scene *scene = *state;
    char byte;
    size_t n;
    agree_well(scene);
    assert_int_equal(scene->near->calls->read(scene->near, &byte, 1, &n), TRANSPORT_WAIT_IN);
    assert_int_equal(scene->far->calls->read(scene->far, &byte, 1, &n), TRANSPORT_WAIT_IN);
}

static void either_end_says_that_it_is_over(void **state)
{
    struct scene *scene = *state;
    for (int turn = 0; turn < 2; turn++) {
        agree_well(scene);
        struct transport *first = turn ? scene->near : scene->far;
        struct transport *second = turn ? scene->far : scene->near;
        char byte;
        size_t n;
        assert_int_equal(first->calls->finish(first), TRANSPORT_READY);
        assert_int_equal(second->calls->read(second, &byte, 1, &n), TRANSPORT_END);
        /* The other direction goes on. */
        assert_int_equal(second->calls->write(second, "x", 1, &n), TRANSPORT_READY);
        assert_true(first->calls->read(first, &byte, 1, &n) < TRANSPORT_END);
        assert_int_equal(n, 1);
        assert_int_equal(second->calls->finish(second), TRANSPORT_READY);
        assert_int_equal(first->calls->read(first, &byte, 1, &n), TRANSPORT_END);
    }
}

/* Whoever can cut a connection must not be able to make a part look like the whole. */
static void a_cut_is_no_end(void **state)
{
    struct scene *scene = *state;
    for (int turn = 0; turn < 2; turn++) {
        agree_well(scene);
        struct transport *cut = turn ? scene->near : scene->far;
        struct transport *left = turn ? scene->far : scene->near;
        char byte;
        size_t n;
        assert_int_equal(shutdown(cut->fd, SHUT_RDWR), 0);
        assert_int_equal(left->calls->read(left, &byte, 1, &n), TRANSPORT_BROKEN);
        assert_non_null(left->why);
    }
}

static void sessions_are_resumed(void **state)
{
    struct scene *scene = *state;
    agree_well(scene);
    assert_false(tls_server_resumed(scene->far));
    for (int i = 0; i < 3; i++) {
        agree_well(scene);
        assert_true(tls_server_resumed(scene->far));
        carry(scene->near, scene->far, 4);
    }
}

static void serve_anew(struct scene *scene, const struct made *made, uint8_t ticket_byte)
{
    close_both(scene);
    tls_server_destroy(scene->server);
    scene->server = server_with(made, ticket_byte);
}

static void a_restarted_server_resumes_them(void **state)
{
    struct scene *scene = *state;
    agree_well(scene);
    serve_anew(scene, &scene->made, 7);
    agree_well(scene);
    assert_true(tls_server_resumed(scene->far));
    serve_anew(scene, &scene->made, 8); /* its key is lost: the long way */
    agree_well(scene);
    assert_false(tls_server_resumed(scene->far));
}

static void know_anew(struct scene *scene, const uint8_t pin[TLS_PIN])
{
    close_both(scene);
    tls_client_destroy(scene->client);
    scene->client = tls_client_create(pin);
}

static void another_process_resumes_them(void **state)
{
    struct scene *scene = *state;
    unsigned char session[TLS_SESSION_MAX];
    assert_int_equal(tls_client_save(scene->client, session, sizeof session), 0);
    agree_well(scene);
    size_t len = tls_client_save(scene->client, session, sizeof session);
    assert_true(len > 0);
    assert_int_equal(tls_client_save(scene->client, session, len - 1), 0);
    for (int turn = 0; turn < 2; turn++) { /* each that it was given to */
        know_anew(scene, scene->made.pin);
        assert_true(tls_client_load(scene->client, session, len));
        agree_well(scene);
        assert_true(tls_server_resumed(scene->far));
    }
    know_anew(scene, scene->made.pin);
    assert_false(tls_client_load(scene->client, session, len / 2));
    agree_well(scene);
    assert_false(tls_server_resumed(scene->far));
    enum transport_state near, far; /* a session is no way around the certificate */
    know_anew(scene, scene->other.pin);
    assert_true(tls_client_load(scene->client, session, len));
    connect_both(scene);
    agree(scene, &near, &far);
    assert_int_equal(near, TRANSPORT_BROKEN);
    assert_non_null(strstr(scene->near->why, "another certificate"));
}

static void another_certificate_is_refused(void **state)
{
    struct scene *scene = *state;
    enum transport_state near, far;
    for (int known = 0; known < 2; known++) { /* also by a client that was there before */
        if (known) {
            serve_anew(scene, &scene->made, 7);
            agree_well(scene);
        }
        serve_anew(scene, &scene->other, 9);
        connect_both(scene);
        agree(scene, &near, &far);
        assert_int_equal(near, TRANSPORT_BROKEN);
        assert_non_null(strstr(scene->near->why, "another certificate"));
    }
}

static void what_is_no_tls_breaks(void **state)
{
    struct scene *scene = *state;
    static const char plain[] = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
    for (int turn = 0; turn < 2; turn++) {
        connect_both(scene);
        struct transport *strange = turn ? scene->near : scene->far;
        struct transport *heard = turn ? scene->far : scene->near;
        assert_int_equal(send(strange->fd, plain, sizeof plain - 1, 0), sizeof plain - 1);
        assert_int_equal(heard->calls->start(heard), TRANSPORT_BROKEN);
        assert_non_null(heard->why);
    }
}

/* One byte on the way is another one: nothing of that record is believed. */
static void changed_bytes_break(void **state)
{
    struct scene *scene = *state;
    for (int turn = 0; turn < 2; turn++) {
        agree_well(scene);
        struct transport *from = turn ? scene->near : scene->far;
        struct transport *to = turn ? scene->far : scene->near;
        uint8_t record[512];
        size_t n;
        assert_int_equal(from->calls->write(from, "hello", 5, &n), TRANSPORT_READY);
        ssize_t len = recv(to->fd, record, sizeof record, 0);
        assert_true(len > 5);
        record[len - 1] ^= 1;
        assert_int_equal(send(from->fd, record, (size_t)len, 0), len);
        assert_int_equal(to->calls->read(to, record, sizeof record, &n), TRANSPORT_BROKEN);
        assert_int_equal(n, 0);
    }
}

static void a_wrong_key_is_named(void **state)
{
    struct scene *scene = *state;
    struct tls_server_config config = { .chain = scene->made.chain, .key = scene->other.key };
    struct err err = { 0 };
    assert_null(tls_server_create(&config, &err));
    config.key = "no key";
    assert_null(tls_server_create(&config, &err));
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(much_arrives_both_ways),
        T(nothing_to_read_waits_for_input),
        T(either_end_says_that_it_is_over),
        T(a_cut_is_no_end),
        T(sessions_are_resumed),
        T(a_restarted_server_resumes_them),
        T(another_process_resumes_them),
        T(another_certificate_is_refused),
        T(what_is_no_tls_breaks),
        T(changed_bytes_break),
        T(a_wrong_key_is_named),
    };
    return cmocka_run_group_tests_name("tls", tests, NULL, NULL);
}
