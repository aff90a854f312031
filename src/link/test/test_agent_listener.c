/* Agents of other machines, played over TLS on the same loop: who shows a token joins, a second
 * connection replaces the first, a stranger gets nothing and has little time, and a server that was
 * restarted resumes the sessions of the one before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "conn/conn.h"
#include "link/agent_listener.h"
#include "link/link.h"
#include "tls/client.h"
#include "tls/identity.h"
#include "wire/message.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#define PATIENCE_MS 120000u
#define AGENTS      3

struct player { /* an agent */
    struct conn *conn;
    struct tls_client *tls;
    char hex[65], answer[512], why[80];
    int answers, welcomes, closes, frames;
    uint64_t acked;
};
struct scene {
    uv_loop_t loop;
    uv_timer_t alarm;
    char dir[40];
    struct tls_identity identity;
    struct tls_server *tls;
    struct link_hub *hub;
    struct agent_listener *listener;
    uint16_t port;
    struct player players[AGENTS];
    int joined;
    int called, fds[AGENTS]; /* of callers */
    char from[48];
};

static struct generation generation(unsigned i)
{
    return (struct generation){ .job = 7 + i, .number = 1 };
}

static void on_fact(void *arg, const struct engine_fact *fact)
{
    struct scene *scene = arg;
    scene->joined += fact->kind == FACT_AGENT_JOINED;
}

/* ---- the server ---- */

static void on_caller(void *arg, int fd, const char *address)
{
    struct scene *scene = arg;
    snprintf(scene->from, sizeof scene->from, "%s", address);
    scene->fds[scene->called++] = fd;
}

static void serve(struct scene *scene, unsigned strangers, uint64_t stranger_ms)
{
    const struct agent_listener_config config = { .addr = "127.0.0.1",
                                                  .port = scene->port,
                                                  .tls = scene->tls,
                                                  .strangers = strangers,
                                                  .stranger_ms = stranger_ms,
                                                  .caller = on_caller,
                                                  .caller_arg = scene,
                                                  .callers = 1 };
    unsigned char raw[32], hash[32];
    struct err err;
    scene->hub = link_create(&scene->loop, (struct engine_sink){ .fact = on_fact, .arg = scene });
    for (unsigned i = 0; i < AGENTS; i++) {
        memset(raw, (int)i + 1, sizeof raw);
        sodium_bin2hex(scene->players[i].hex, 65, raw, sizeof raw);
        crypto_hash_sha256(hash, raw, sizeof raw);
        link_expect(scene->hub, generation(i), "n1", hash, 0);
    }
    scene->listener = agent_listener_create(scene->hub, &config, &err);
    assert_non_null(scene->listener);
    scene->port = agent_listener_port(scene->listener);
}

static void end_server(struct scene *scene)
{
    agent_listener_destroy(TAKE(scene->listener));
    link_destroy(TAKE(scene->hub));
}

/* ---- the agents ---- */

static int on_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct player *player = arg;
    (void)conn;
    player->frames++;
    player->welcomes += frame->kind == WIRE_WELCOME;
    return 0;
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    struct player *player = arg;
    (void)conn;
    player->conn = NULL;
    player->closes++;
    snprintf(player->why, sizeof player->why, "%s", why);
}

static ssize_t on_answer(void *arg, struct conn *conn, char *at, size_t len)
{
    struct player *player = arg;
    const char *end = memmem(at, len, "\r\n\r\n", 4);
    if (!end)
        return 0;
    player->answers++;
    snprintf(player->answer, sizeof player->answer, "%.*s", (int)(end - at), at);
    conn_set_events(conn,
                    (struct conn_events){ .frame = on_frame, .closed = on_closed, .arg = player });
    return end + 4 - at;
}

static void call(struct scene *scene, struct player *player)
{
    uint8_t pin[TLS_PIN];
    size_t len;
    if (!player->tls) {
        assert_int_equal(sodium_hex2bin(pin, sizeof pin, scene->identity.pin, 64, NULL, &len, NULL),
                         0);
        player->tls = tls_client_create(pin);
    }
    const struct conn_terms terms = { .kinds = CONN_AGENT_KINDS,
                                      .out_max = 1u << 20,
                                      .room = 1u << 16,
                                      .over = tls_client_transport,
                                      .over_arg = player->tls };
    player->conn = conn_connect(
        &scene->loop, &(struct conn_target){ .addr = "127.0.0.1", .port = scene->port }, &terms,
        (struct conn_events){ .bytes = on_answer, .closed = on_closed, .arg = player });
}

static void ask(struct player *player, const char *token)
{
    buf_addf(conn_out(player->conn),
             "GET /v1/agents HTTP/1.1\r\nHost: muster\r\nConnection: Upgrade\r\n"
             "Upgrade: muster/1\r\nAuthorization: Bearer %s\r\n\r\n",
             token);
    conn_flush(player->conn);
}

static void say_hello(struct player *player, unsigned i)
{
    struct wire_hello hello = { .version = WIRE_VERSION,
                                .generation = generation(i),
                                .node = "n1",
                                .first_seq = 1,
                                .launch_form = WIRE_LAUNCH_FORM };
    wire_put(conn_out(player->conn), 0, &hello);
    conn_flush(player->conn);
}

static void wait_for(struct scene *scene, const int *value, int least)
{
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (*value < least && clock_mono_ms() < until)
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    assert_true(*value >= least);
}

static void join(struct scene *scene, unsigned i)
{
    struct player *player = &scene->players[i];
    int answers = player->answers, welcomes = player->welcomes;
    call(scene, player);
    ask(player, player->hex);
    wait_for(scene, &player->answers, answers + 1);
    assert_non_null(strstr(player->answer, "HTTP/1.1 101 "));
    say_hello(player, i);
    wait_for(scene, &player->welcomes, welcomes + 1);
}

/* ---- the scene ---- */

static void on_alarm(uv_timer_t *timer)
{
    (void)timer; /* wakes the loop so that the patience is looked at */
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    assert_true(sodium_init() >= 0);
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    uv_timer_init(&scene->loop, &scene->alarm);
    uv_timer_start(&scene->alarm, on_alarm, 100, 100);
    snprintf(scene->dir, sizeof scene->dir, "/tmp/muster-agents-XXXXXX");
    assert_non_null(mkdtemp(scene->dir));
    assert_int_equal(tls_identity_open(scene->dir, &scene->identity, NULL), 0);
    scene->tls = tls_server_create(&scene->identity.config, NULL);
    assert_non_null(scene->tls);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    end_server(scene);
    for (unsigned i = 0; i < AGENTS; i++)
        conn_close(scene->players[i].conn);
    uv_close((uv_handle_t *)&scene->alarm, NULL);
    (void)uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
    for (unsigned i = 0; i < AGENTS; i++)
        tls_client_destroy(scene->players[i].tls);
    tls_server_destroy(scene->tls);
    tls_identity_fini(&scene->identity);
    assert_int_equal(file_remove_tree(scene->dir, NULL), 0);
    free(scene);
    return 0;
}

static void agents_join_and_speak(void **state)
{
    struct scene *scene = *state;
    uint64_t quiet;
    serve(scene, 0, 0);
    assert_false(link_quiet_ms(scene->hub, generation(0), "n1", &quiet));
    for (unsigned i = 0; i < AGENTS; i++)
        join(scene, i);
    assert_int_equal(scene->joined, AGENTS);
    assert_true(link_connected(scene->hub, generation(1), "n1"));
    assert_true(link_quiet_ms(scene->hub, generation(1), "n1", &quiet));
    assert_true(quiet < PATIENCE_MS);
    assert_int_equal(agent_listener_counts(scene->listener).strangers, 0);
    struct player *player = &scene->players[1];
    int frames = player->frames;
    wire_put_plain(conn_out(player->conn), WIRE_PING, 5);
    wire_put_plain(conn_out(player->conn), WIRE_PONG, 0); /* an answer to a beat is no mistake */
    wire_put_plain(conn_out(player->conn), WIRE_PING, 6);
    conn_flush(player->conn);
    wait_for(scene, &player->frames, frames + 2);
    assert_int_equal(player->closes, 0);
}

static void a_second_connection_replaces_the_first(void **state)
{
    struct scene *scene = *state;
    struct player second = { .conn = NULL };
    serve(scene, 0, 0);
    join(scene, 0);
    struct player *first = &scene->players[0];
    call(scene, &second);
    ask(&second, first->hex);
    wait_for(scene, &second.answers, 1);
    wait_for(scene, &first->closes, 1);
    say_hello(&second, 0);
    wait_for(scene, &second.welcomes, 1);
    assert_true(link_connected(scene->hub, generation(0), "n1"));
    conn_close(second.conn);
    tls_client_destroy(second.tls);
}

static void who_is_not_expected_is_refused(void **state)
{
    struct scene *scene = *state;
    struct player *player = &scene->players[0];
    static const char *const wrong[] = { "", "00ff", "no token at all" };
    serve(scene, 0, 0);
    AUTO_FREE char *unknown = mem_strdup(player->hex);
    memset(unknown, 'e', 64);
    for (int i = 0; i <= 3; i++) {
        call(scene, player);
        ask(player, i < 3 ? wrong[i] : unknown);
        wait_for(scene, &player->answers, i + 1);
        assert_non_null(strstr(player->answer, "HTTP/1.1 401 "));
        wait_for(scene, &player->closes, i + 1);
    }
    call(scene, player); /* its generation is over */
    link_forget(scene->hub, generation(0), "n1");
    ask(player, player->hex);
    wait_for(scene, &player->answers, 5);
    assert_non_null(strstr(player->answer, "HTTP/1.1 401 "));
    wait_for(scene, &player->closes, 5);
    call(scene, player); /* of a job that is not in the records: it may go on, and ask again */
    link_hold(scene->hub, player->hex);
    ask(player, player->hex);
    wait_for(scene, &player->answers, 6);
    assert_non_null(strstr(player->answer, "HTTP/1.1 503 "));
    assert_int_equal(scene->joined, 0);
    assert_true(agent_listener_counts(scene->listener).refused == 6);
}

static void another_request_is_not_understood(void **state)
{
    struct scene *scene = *state;
    struct player *player = &scene->players[0];
    serve(scene, 0, 0);
    static const char *const requests[] = { "GET / HTTP/1.1\r\n\r\n", "\x01\x02\x03\x04", "G\0ET" };
    for (int i = 0; i < 3; i++) {
        call(scene, player);
        buf_add(conn_out(player->conn), requests[i], i == 2 ? 4 : strlen(requests[i]));
        conn_flush(player->conn);
        wait_for(scene, &player->closes, i + 1);
    }
    call(scene, player);
    for (int i = 0; i < 200; i++)
        buf_puts(conn_out(player->conn),
                 i ? "X-Header: so much\r\n" : "GET /v1/agents HTTP/1.1\r\n");
    for (int i = 0; i < 200; i++)
        buf_puts(conn_out(player->conn), "X-Header: and more\r\n");
    conn_flush(player->conn);
    wait_for(scene, &player->closes, 4);
    assert_int_equal(player->answers, 0);
}

static void who_says_nothing_has_little_time(void **state)
{
    struct scene *scene = *state;
    serve(scene, 0, 300);
    call(scene, &scene->players[0]); /* it agrees on keys, and that is all */
    wait_for(scene, &scene->players[0].closes, 1);
    join(scene, 1);
    assert_int_equal(scene->players[0].answers, 0);
}

/* ---- programs of tasks ---- */

static ssize_t on_bytes(void *arg, struct conn *conn, char *at, size_t len)
{
    struct player *player = arg;
    (void)conn;
    player->frames++;
    snprintf(player->answer, sizeof player->answer, "%.*s", (int)len, at);
    return (ssize_t)len;
}

static void ask_http(struct scene *scene, struct player *player, const char *token)
{
    int answers = player->answers;
    call(scene, player);
    buf_addf(conn_out(player->conn),
             "GET /v1/agents HTTP/1.1\r\nHost: muster\r\nConnection: Upgrade\r\n"
             "Authorization: Bearer %s\r\nUpgrade: muster-http/1\r\n\r\n",
             token);
    conn_flush(player->conn);
    wait_for(scene, &player->answers, answers + 1);
}

static void programs_of_tasks_are_handed_on(void **state)
{
    struct scene *scene = *state;
    struct player *caller = &scene->players[1], *second = &scene->players[2];
    const char *token = scene->players[0].hex;
    char text[8] = "";
    serve(scene, 0, 0);
    join(scene, 0); /* their agent, whose connection stays */
    ask_http(scene, caller, token);
    assert_non_null(strstr(caller->answer, "HTTP/1.1 101 "));
    assert_int_equal(scene->called, 1);
    assert_string_equal(scene->from, "127.0.0.1");
    conn_set_events(caller->conn,
                    (struct conn_events){ .bytes = on_bytes, .closed = on_closed, .arg = caller });
    buf_puts(conn_out(caller->conn), "ask");
    conn_flush(caller->conn);
    while (recv(scene->fds[0], text, sizeof text, MSG_DONTWAIT) < 0)
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    assert_string_equal(text, "ask");
    ask_http(scene, second, token);
    assert_non_null(strstr(second->answer, "HTTP/1.1 503 ")); /* one too many */
    wait_for(scene, &second->closes, 1);
    ask_http(scene, second, "00ff");
    assert_non_null(strstr(second->answer, "HTTP/1.1 401 "));
    wait_for(scene, &second->closes, 2);
    int frames = caller->frames;
    assert_int_equal(send(scene->fds[0], "tell", 4, 0), 4);
    close(scene->fds[0]);
    wait_for(scene, &caller->frames, frames + 1);
    assert_string_equal(caller->answer, "tell");
    wait_for(scene, &caller->closes, 1);
    assert_int_equal(scene->called, 1);
    assert_int_equal(scene->players[0].closes, 0);
}

/* Strangers take the place of nobody but each other. */
static void strangers_hold_up_agents_for_a_moment_only(void **state)
{
    struct scene *scene = *state;
    serve(scene, 2, PATIENCE_MS);
    join(scene, 0);
    struct player silent[3] = { 0 };
    for (int i = 0; i < 3; i++)
        call(scene, &silent[i]);
    join(scene, 1); /* once two of them have been there for too long */
    assert_int_equal(scene->players[0].closes, 0);
    int gone = 0;
    for (int i = 0; i < 3; i++) {
        gone += silent[i].closes;
        conn_close(silent[i].conn);
        tls_client_destroy(silent[i].tls);
    }
    assert_true(gone >= 2);
}

static void a_restarted_server_resumes_sessions(void **state)
{
    struct scene *scene = *state;
    serve(scene, 0, 0);
    for (unsigned i = 0; i < AGENTS; i++)
        join(scene, i);
    assert_true(agent_listener_counts(scene->listener).resumed == 0);
    end_server(scene);
    for (unsigned i = 0; i < AGENTS; i++)
        wait_for(scene, &scene->players[i].closes, 1);
    tls_server_destroy(scene->tls);
    tls_identity_fini(&scene->identity);
    assert_int_equal(tls_identity_open(scene->dir, &scene->identity, NULL), 0);
    scene->tls = tls_server_create(&scene->identity.config, NULL);
    serve(scene, 0, 0);
    for (unsigned i = 0; i < AGENTS; i++)
        join(scene, i);
    struct agent_listener_counts counts = agent_listener_counts(scene->listener);
    assert_true(counts.joined == AGENTS && counts.resumed == AGENTS);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(agents_join_and_speak),
        T(a_second_connection_replaces_the_first),
        T(who_is_not_expected_is_refused),
        T(another_request_is_not_understood),
        T(programs_of_tasks_are_handed_on),
        T(who_says_nothing_has_little_time),
        T(strangers_hold_up_agents_for_a_moment_only),
        T(a_restarted_server_resumes_sessions),
    };
    return cmocka_run_group_tests_name("agent listener", tests, NULL, NULL);
}
