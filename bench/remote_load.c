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
 *
 * Hosts of machines that a whole server knows are played, too (FILE has a line for each, its name
 * and its token), and the agents that they are told to start, which do no more than say something
 * each second. It prints a line when as many are there as the last line of stdin says, and ends
 * with that.
 *
 *   remote_load hosts FILE PORT PIN
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/dice.h"
#include "base/file.h"
#include "base/mem.h"
#include "conn/conn.h"
#include "link/agent_listener.h"
#include "tls/client.h"
#include "tls/identity.h"
#include "wire/host.h"
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
#define HOSTS_MORE  2000u

struct player {
    struct load *load;
    struct generation generation; /* 0: a host */
    char node[64], token[65];
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
    struct dice dice;
    struct arena *scratch;
    unsigned wanted; /* of hosts and agents, in */
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

static struct player *add_player(struct load *load, struct generation generation, const char *node)
{
    struct player *player = mem_new(sizeof *player);
    *player = (struct player){ .load = load,
                               .generation = generation,
                               .tls = tls_client_create(load->pin) };
    snprintf(player->node, sizeof player->node, "%s", node);
    uv_timer_init(&load->loop, &player->wait);
    player->wait.data = player;
    uv_timer_start(&player->wait, on_wait_over, dice_below(&load->dice, WAIT_MS), 0);
    return player;
}

static void take_start(const struct player *host, const struct wire_frame *frame)
{
    struct load *load = host->load;
    struct wire_host_start start;
    arena_reset(load->scratch);
    if (wire_get(frame, load->scratch, &start) < 0)
        BUG("what is to be started is not said");
    struct player *agent = add_player(load, start.generation, host->node);
    sodium_bin2hex(agent->token, sizeof agent->token, start.token, HOST_TOKEN);
}

static void is_in(struct player *player)
{
    if (player->in)
        return;
    player->load->coming--;
    player->coming = false;
    player->in = true;
    player->load->in++;
}

static int on_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct player *player = arg;
    if (frame->kind == WIRE_PING) {
        wire_put_plain(conn_out(conn), WIRE_PONG, frame->seq);
        conn_flush(conn);
    }
    if (frame->kind == WIRE_HOST_START)
        take_start(player, frame);
    if (frame->kind == WIRE_WELCOME)
        is_in(player);
    return 0;
}

static void say_who(const struct player *player, struct buf *out)
{
    struct wire_hello agent = { .version = WIRE_VERSION,
                                .generation = player->generation,
                                .node = player->node,
                                .first_seq = 1,
                                .launch_form = WIRE_LAUNCH_FORM };
    struct wire_host_hello host = { .version = WIRE_VERSION,
                                    .node = player->node,
                                    .machine = player->node,
                                    .boot = "1",
                                    .pid = 1,
                                    .cpu_milli = 1000000,
                                    .memory = 1ull << 40,
                                    .disk = 1ull << 40 };
    if (player->generation.job) {
        wire_put(out, 0, &agent);
        return;
    }
    wire_put(out, 0, &host);
    wire_put(out, 0, &(struct wire_host_runs){ .n_runs = 0 });
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
    say_who(player, conn_out(conn));
    conn_flush(conn);
    if (player->generation.job == 0)
        is_in(player); /* hosts are not welcomed */
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
    if (load->coming == AT_ONCE) {
        uv_timer_start(&player->wait, on_wait_over, 1 + dice_below(&load->dice, LATER_MS), 0);
        return;
    }
    load->coming++;
    player->coming = true;
    player->conn = conn_connect(
        &load->loop, &(struct conn_target){ .addr = "127.0.0.1", .port = load->port }, &terms,
        (struct conn_events){ .bytes = on_answer, .closed = on_closed, .arg = player });
    buf_addf(conn_out(player->conn),
             "GET /v1/agents HTTP/1.1\r\nUpgrade: muster/1\r\nAuthorization: Bearer %s\r\n\r\n",
             player->token);
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

static void start_agents(struct load *load)
{
    for (unsigned i = 0; i < load->n; i++) {
        unsigned char raw[32];
        struct player *player =
            add_player(load, (struct generation){ .job = 1 + i, .number = 1 }, "n");
        token_of(i, raw);
        sodium_bin2hex(player->token, sizeof player->token, raw, sizeof raw);
    }
}

static void measure(struct load *load, double seconds)
{
    double empty = server_kb(load);
    start_agents(load);
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

/* ---- hosts ---- */

static void start_hosts(struct load *load, const char *path)
{
    char name[64], token[65];
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%63s %64s", name, token) == 2) {
        struct player *host = add_player(load, (struct generation){ .job = 0 }, name);
        memcpy(host->token, token, sizeof host->token);
    }
    if (file)
        fclose(file);
}

static void on_stdin(uv_poll_t *poll, int status, int events)
{
    struct load *load = poll->data;
    char line[32];
    (void)events;
    ssize_t n = status < 0 ? 0 : read(STDIN_FILENO, line, sizeof line - 1);
    if (n <= 0) {
        uv_poll_stop(poll);
        return;
    }
    line[n] = '\0';
    load->wanted = (unsigned)strtoul(line, NULL, 10);
}

static void play_hosts(struct load *load, char **argv)
{
    size_t len;
    uv_poll_t until;
    load->port = (uint16_t)strtoul(argv[3], NULL, 10);
    if (sodium_hex2bin(load->pin, sizeof load->pin, argv[4], strlen(argv[4]), NULL, &len, NULL))
        BUG("PIN is no fingerprint");
    uv_loop_init(&load->loop);
    uv_poll_init(&load->loop, &until, STDIN_FILENO);
    until.data = load;
    uv_poll_start(&until, UV_READABLE, on_stdin);
    start_hosts(load, argv[2]);
    while (uv_is_active((uv_handle_t *)&until)) {
        uv_run(&load->loop, UV_RUN_ONCE);
        if (!load->wanted || load->in < load->wanted)
            continue;
        printf("%u\n", load->in);
        fflush(stdout);
        load->wanted = 0;
    }
}

int main(int argc, char **argv)
{
    bool hosts = argc == 5 && strcmp(argv[1], "hosts") == 0;
    struct load load = { .n = argc > 1 && !hosts ? (unsigned)strtoul(argv[1], NULL, 10) : 10000 };
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 10;
    const rlim_t files = load.n + 1000 + (hosts ? HOSTS_MORE : 0);
    struct tls_identity identity;
    struct err err;
    size_t len;
    if (load.n == 0 || load.n > 100000 ||
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){ .rlim_cur = files, .rlim_max = files }) != 0) {
        fprintf(stderr, "remote_load: AGENTS, 1 to 100000 and fewer than open files may be\n");
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    load.scratch = arena_create();
    if (sodium_init() < 0)
        BUG("no sodium");
    if (hosts) {
        play_hosts(&load, argv);
        return 0;
    }
    snprintf(load.dir, sizeof load.dir, "/tmp/muster-remote-XXXXXX");
    if (!mkdtemp(load.dir) || tls_identity_open(load.dir, &identity, &err) != 0)
        BUG("no identity");
    sodium_hex2bin(load.pin, sizeof load.pin, identity.pin, 64, NULL, &len, NULL);
    start_server(&load); /* before there are connections for it to inherit */
    uv_loop_init(&load.loop);
    measure(&load, seconds);
    kill_server(&load);
    (void)file_remove_tree(load.dir, NULL);
    return 0;
}
