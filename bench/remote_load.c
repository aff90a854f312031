/* Agents of other machines as one server has them: the server's end (link/agent_listener.h) is a
 * process of its own, thousands of played agents over TLS on loopback are another.
 *
 *   come_s, come_cpu_s        all agents come, with a full handshake each; processor time of the
 *                             server for it
 *   beat_cpu_s                its processor time each second while each agent says something each
 *                             second
 *   kb                        its memory for one agent
 *   return_s, return_cpu_s    the server is killed and started again: until all are back, by
 *                             resumed sessions
 *
 *   remote_load AGENTS SECONDS     prints one JSON document
 */
#include "base/clock.h"
#include "base/dice.h"
#include "base/file.h"
#include "base/mem.h"
#include "conn/conn.h"
#include "link/agent_listener.h"
#include "tls/client.h"
#include "tls/identity.h"
#include "wire/message.h"

#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define PATIENCE_MS 1800000u
#define WAIT_MS     1000u /* a played agent comes back within so long, as real ones do */
/* In their handshake at a time: the players share one processor, which real ones do not. */
#define AT_ONCE     64u
#define LATER_MS    50u

struct player {
    struct load *load;
    unsigned number;
    struct conn *conn; /* NULL: it waits */
    struct tls_client *tls;
    uv_timer_t wait;
    bool coming, in;
};
struct load {
    uv_loop_t loop;
    char dir[40];
    uint8_t pin[TLS_PIN];
    uint16_t port;
    pid_t server;
    unsigned n, in, coming;
    struct player *players;
    struct dice dice;
};

static void token_of(unsigned i, unsigned char raw[32])
{
    memset(raw, 7, 32);
    memcpy(raw, &i, sizeof i);
}

/* ---- the server ---- */

static void on_fact(void *arg, const struct engine_fact *fact)
{
    (void)arg;
    (void)fact;
}

/* Says its port, then serves until it is killed. */
static _Noreturn void serve(const struct load *load, int say)
{
    struct tls_identity identity;
    struct err err;
    uv_loop_t loop;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    uv_loop_init(&loop);
    if (tls_identity_open(load->dir, &identity, &err) != 0)
        BUG("%s", err.what);
    struct link_hub *hub = link_create(&loop, (struct engine_sink){ .fact = on_fact });
    for (unsigned i = 0; i < load->n; i++) {
        unsigned char raw[32], hash[32];
        token_of(i, raw);
        crypto_hash_sha256(hash, raw, sizeof raw);
        link_expect(hub, (struct generation){ .job = 1 + i, .number = 1 }, "n", hash, 0);
    }
    struct agent_listener *listener = agent_listener_create(
        hub,
        &(struct agent_listener_config){ .addr = "127.0.0.1",
                                         .port = load->port,
                                         .tls = tls_server_create(&identity.config, &err) },
        &err);
    if (!listener)
        BUG("%s", err.what);
    uint16_t port = agent_listener_port(listener);
    if (write(say, &port, sizeof port) != sizeof port)
        BUG("nobody waits");
    close(say);
    uv_run(&loop, UV_RUN_DEFAULT);
    exit(0);
}

static void start_server(struct load *load)
{
    int pair[2];
    if (pipe(pair) != 0)
        BUG("no pipe");
    load->server = fork();
    if (load->server == 0) {
        if (dup2(pair[1], 3) < 0)
            BUG("no descriptor");
        (void)close_range(4, ~0u, 0); /* the connections of the players */
        serve(load, 3);
    }
    close(pair[1]);
    if (read(pair[0], &load->port, sizeof load->port) != sizeof load->port)
        BUG("the server does not start");
    close(pair[0]);
}

static void kill_server(struct load *load)
{
    (void)kill(load->server, SIGKILL);
    (void)waitpid(load->server, NULL, 0);
}

static double server_cpu_s(const struct load *load)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(load->server, &clock) != 0 || clock_gettime(clock, &t) != 0)
        BUG("the server has no clock");
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double server_kb(const struct load *load)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/statm", (int)load->server);
    AUTO_FREE char *text = NULL;
    size_t len;
    if (file_read(path, 4096, &text, &len, NULL) != 0)
        BUG("the server is gone");
    char *rest = strchr(text, ' ');
    unsigned long long resident = strtoull(rest, &rest, 10), shared = strtoull(rest, NULL, 10);
    return (double)(resident - shared) * 4;
}

/* ---- the agents ---- */

static void come(struct player *player);

static void on_wait_over(uv_timer_t *timer)
{
    come(timer->data);
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    struct player *player = arg;
    (void)conn;
    (void)why;
    player->load->in -= player->in;
    player->load->coming -= player->coming;
    player->in = player->coming = false;
    player->conn = NULL;
    uv_timer_start(&player->wait, on_wait_over, dice_below(&player->load->dice, WAIT_MS), 0);
}

static int on_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct player *player = arg;
    if (frame->kind == WIRE_PING) {
        wire_put_plain(conn_out(conn), WIRE_PONG, frame->seq);
        conn_flush(conn);
    }
    if (frame->kind == WIRE_WELCOME && !player->in) {
        player->load->coming--;
        player->coming = false;
        player->in = true;
        player->load->in++;
    }
    return 0;
}

static ssize_t on_answer(void *arg, struct conn *conn, char *at, size_t len)
{
    static const struct conn_keep_alive_terms beat = { .kind = WIRE_PING,
                                                       .ask_ms = 1000,
                                                       .silence_ms = 60000 };
    struct player *player = arg;
    const char *end = memmem(at, len, "\r\n\r\n", 4);
    if (!end || strncmp(at, "HTTP/1.1 101 ", 13) != 0)
        return end ? -1 : 0;
    conn_set_events(conn,
                    (struct conn_events){ .frame = on_frame, .closed = on_closed, .arg = player });
    struct wire_hello hello = { .version = WIRE_VERSION,
                                .generation = { .job = 1 + player->number, .number = 1 },
                                .node = "n",
                                .first_seq = 1,
                                .launch_form = WIRE_LAUNCH_FORM };
    wire_put(conn_out(conn), 0, &hello);
    conn_flush(conn);
    conn_keep_alive(conn, &beat);
    return end + 4 - at;
}

static void come(struct player *player)
{
    struct load *load = player->load;
    const struct conn_terms terms = { .kinds = CONN_AGENT_KINDS,
                                      .out_max = 1u << 20,
                                      .room = 1u << 16,
                                      .over = tls_client_transport,
                                      .over_arg = player->tls };
    unsigned char raw[32];
    char hex[65];
    if (load->coming == AT_ONCE) {
        uv_timer_start(&player->wait, on_wait_over, 1 + dice_below(&load->dice, LATER_MS), 0);
        return;
    }
    load->coming++;
    player->coming = true;
    token_of(player->number, raw);
    sodium_bin2hex(hex, sizeof hex, raw, sizeof raw);
    player->conn = conn_connect(
        &load->loop, &(struct conn_target){ .addr = "127.0.0.1", .port = load->port }, &terms,
        (struct conn_events){ .bytes = on_answer, .closed = on_closed, .arg = player });
    buf_addf(conn_out(player->conn),
             "GET /v1/agents HTTP/1.1\r\nUpgrade: muster/1\r\nAuthorization: Bearer %s\r\n\r\n",
             hex);
}

/* ---- measuring ---- */

static double wait_for_all(struct load *load, unsigned in)
{
    uint64_t began = clock_mono_ms();
    while (load->in != in) {
        if (clock_mono_ms() - began > PATIENCE_MS)
            BUG("%u of %u agents came", load->in, load->n);
        uv_run(&load->loop, UV_RUN_ONCE);
    }
    return (double)(clock_mono_ms() - began) / 1000;
}

static void pass_time(struct load *load, double seconds)
{
    uint64_t until = clock_mono_ms() + (uint64_t)(seconds * 1000);
    while (clock_mono_ms() < until)
        uv_run(&load->loop, UV_RUN_ONCE);
}

static void restart(struct load *load)
{
    kill_server(load);
    (void)wait_for_all(load, 0);
    start_server(load);
    double s = wait_for_all(load, load->n);
    printf("\"return_s\": %.2f, \"return_cpu_s\": %.2f, ", s, server_cpu_s(load));
}

static void measure(struct load *load, double seconds)
{
    double empty = server_kb(load);
    for (unsigned i = 0; i < load->n; i++) {
        struct player *player = &load->players[i];
        *player = (struct player){ .load = load, .number = i, .tls = tls_client_create(load->pin) };
        uv_timer_init(&load->loop, &player->wait);
        player->wait.data = player;
        uv_timer_start(&player->wait, on_wait_over, dice_below(&load->dice, WAIT_MS), 0);
    }
    double s = wait_for_all(load, load->n);
    printf("{\"agents\": %u, \"come_s\": %.2f, \"come_cpu_s\": %.2f, ", load->n, s,
           server_cpu_s(load));
    fflush(stdout);
    pass_time(load, 2);
    double began = server_cpu_s(load);
    pass_time(load, seconds);
    printf("\"beat_cpu_s\": %.3f, \"kb\": %.1f, ", (server_cpu_s(load) - began) / seconds,
           (server_kb(load) - empty) / load->n);
    restart(load);
    printf("\"all\": %u}\n", load->in);
}

int main(int argc, char **argv)
{
    struct load load = { .n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10000 };
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 10;
    struct rlimit files = { .rlim_cur = load.n + 1000, .rlim_max = load.n + 1000 };
    struct tls_identity identity;
    struct err err;
    size_t len;
    if (load.n == 0 || load.n > 100000 || setrlimit(RLIMIT_NOFILE, &files) != 0) {
        fprintf(stderr, "remote_load: AGENTS, 1 to 100000 and fewer than open files may be\n");
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    snprintf(load.dir, sizeof load.dir, "/tmp/muster-remote-XXXXXX");
    if (sodium_init() < 0 || !mkdtemp(load.dir) ||
        tls_identity_open(load.dir, &identity, &err) != 0)
        BUG("no identity");
    sodium_hex2bin(load.pin, sizeof load.pin, identity.pin, 64, NULL, &len, NULL);
    load.players = mem_new(load.n * sizeof *load.players);
    start_server(&load); /* before there are connections for it to inherit */
    uv_loop_init(&load.loop);
    measure(&load, seconds);
    kill_server(&load);
    (void)file_remove_tree(load.dir, NULL);
    return 0;
}
