/* The rendezvous of many launchers, for bench/rendezvous: one process is the leader (the machine of
 * rdzv/ behind src/launch/leader.c, as in a launcher that leads), this one speaks for so many
 * members over as many connections, with the code that launchers use, and no ranks. Three moments:
 *
 *   join    all are connected and JOIN at once, until the last one has its ROUND
 *   again   a member is lost, until the last of the others has the next ROUND: each is told to STOP
 *           and answers with a JOIN
 *   grown   it comes back, until everybody has the third ROUND
 *
 *   rdzv_load MEMBERS [perf]     prints one JSON document; perf: waits for a key before the work
 *
 * Members say BEAT once a second and the leader loses who is silent, as ever. */
#include "base/arena.h"
#include "base/mem.h"
#include "launch/leader.h"
#include "launch/rdzv_listener.h"
#include "wire/rendezvous.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OUT_MAX = 1 << 20, IN_MAX = 1 << 20, READ = 65536, EVENTS = 256, LIMIT_S = 60 };
#define OWN 1u /* the leader's own member: there is none */

struct one {
    int fd; /* -1: lost */
    uint64_t id;
    struct buf in;
    struct rdzv_round round; /* numbers only; nodes 0: none yet */
    unsigned rounds;
};
struct load {
    uint32_t n, least;
    int epoll;
    struct one *members;
    struct arena *arena;
    size_t in_round; /* members that have the round that is waited for */
    unsigned wanted;
    uint64_t bytes, beaten_ns;
};

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "rdzv_load: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the leader ---- */

static void on_order(void *arg, const struct rdzv_frame_data *frame)
{
    (void)arg;
    (void)frame;
}

static void on_moved(void *arg, const struct rdzv_leader_address *to)
{
    (void)arg;
    (void)to;
}

static void on_end(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    uv_stop(poll->loop);
}

/* Serves until the pipe at `until` ends. */
_Noreturn static void lead(int tell, int until)
{
    struct settings settings = { .beat_ms = 1000, .silence_ms = 2500, .shutdown_ms = 30000 };
    struct leader_sink sink = { .order = on_order, .moved = on_moved };
    struct listen_place place = { .addr = "127.0.0.1" };
    struct err err;
    uv_loop_t loop;
    uv_poll_t end;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (uv_loop_init(&loop) != 0 || uv_poll_init(&loop, &end, until) != 0)
        fail("the leader's loop");
    struct leader *leader = leader_create(&loop, &settings, OWN, sink);
    if (leader_listen(leader, &place, &err) != 0)
        fail(err.what);
    leader_wake(leader);
    uint16_t port = leader_port(leader);
    if (write(tell, &port, sizeof port) != (ssize_t)sizeof port)
        fail("telling the port");
    uv_poll_start(&end, UV_READABLE, on_end);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    _exit(0);
}

/* ---- members ---- */

static void send_all(struct one *one, const struct buf *out)
{
    for (size_t done = 0; done < out->len;) {
        ssize_t n = send(one->fd, out->data + done, out->len - done, MSG_NOSIGNAL);
        if (n < 0)
            fail("sending");
        done += (size_t)n;
    }
}

static void connect_one(struct load *load, struct one *one, uint16_t port)
{
    AUTO_BUF struct buf out = BUF_INIT(OUT_MAX);
    char preface[RDZV_PREFACE_MAX + 1];
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = one };
    struct err err;
    int on = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    one->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (one->fd < 0 || connect(one->fd, (struct sockaddr *)&at, sizeof at) != 0)
        fail("connecting");
    (void)setsockopt(one->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (rdzv_listener_preface(preface, NULL, &err) != 0)
        fail(err.what);
    buf_puts(&out, preface);
    send_all(one, &out);
    if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, one->fd, &event) != 0)
        fail("epoll_ctl");
}

static void send_join(struct load *load, struct one *one)
{
    AUTO_BUF struct buf out = BUF_INIT(OUT_MAX);
    char node[32];
    (void)snprintf(node, sizeof node, "node-%llu", (unsigned long long)one->id);
    const struct rdzv_round *round = &one->round;
    struct rdzv_join join = {
        .member = one->id,
        .run_id = "bench",
        .node = node,
        .addr = "127.0.0.1",
        .node_rank = RDZV_ANY_RANK,
        .ranks = 8,
        .store_port = 1,
        .lead_port = 2,
        .settings = { .min = load->least,
                      .max = load->n,
                      .node_unit = 1,
                      .max_restarts = 3,
                      .last_call_ms = 30000,
                      .join_ms = 600000,
                      .exit_barrier_ms = 300000 },
    };
    if (round->nodes > 0)
        join.claim = (struct rdzv_claim){ .term = round->term,
                                          .round = round->round,
                                          .group_rank = round->group_rank,
                                          .restarts = round->restarts,
                                          .world_id = round->world_id,
                                          .nodes = round->nodes };
    rdzv_put(&out, &join);
    send_all(one, &out);
}

static void hear_round(struct load *load, struct one *one, const struct rdzv_frame_data *frame)
{
    struct rdzv_round round;
    if (rdzv_get(frame, load->arena, &round) != 0)
        fail("a ROUND cannot be read");
    one->round = round;
    one->rounds++;
    if (one->rounds > load->wanted)
        fail("a round too many");
    load->in_round += one->rounds == load->wanted;
}

static void hear(struct load *load, struct one *one, const struct rdzv_frame_data *frame)
{
    arena_reset(load->arena);
    switch (frame->kind) {
    case RDZV_FRAME_ROUND: hear_round(load, one, frame); break;
    case RDZV_FRAME_STOP: send_join(load, one); break;
    case RDZV_FRAME_WELCOME:
    case RDZV_FRAME_BEAT: break;
    default: fprintf(stderr, "frame %d\n", (int)frame->kind); fail("an order nobody expects");
    }
}

static void read_one(struct load *load, struct one *one)
{
    char piece[READ];
    struct rdzv_frame_data frame;
    size_t done = 0, used;
    ssize_t n = recv(one->fd, piece, sizeof piece, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0)
        fail("the leader closed a connection");
    load->bytes += (uint64_t)n;
    buf_add(&one->in, piece, (size_t)n);
    while (done < one->in.len &&
           rdzv_next(one->in.data + done, one->in.len - done, &frame, &used) == 1) {
        hear(load, one, &frame);
        done += used;
    }
    buf_drop(&one->in, done);
}

static void beat(struct load *load)
{
    AUTO_BUF struct buf out = BUF_INIT(OUT_MAX);
    uint64_t now = now_ns();
    if (now - load->beaten_ns < 1000000000u)
        return;
    load->beaten_ns = now;
    rdzv_put_as(&out, RDZV_FRAME_BEAT, NULL);
    for (uint32_t i = 0; i < load->n; i++)
        if (load->members[i].fd >= 0)
            send_all(&load->members[i], &out);
}

static void turn(struct load *load, int timeout_ms)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(load->epoll, events, EVENTS, timeout_ms);
    for (int i = 0; i < n; i++)
        read_one(load, events[i].data.ptr);
    beat(load);
}

/* Until so many have their next round. Seconds since. */
static double await(struct load *load, uint64_t since, size_t members)
{
    while (load->in_round < members) {
        turn(load, 100);
        if (now_ns() - since > LIMIT_S * 1000000000ull)
            fail("the round did not come");
    }
    load->in_round = 0;
    load->wanted++;
    return (double)(now_ns() - since) / 1e9;
}

/* ---- the three moments ---- */

static uint64_t join_all(struct load *load)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < load->n; i++) {
        last = now_ns();
        send_join(load, &load->members[i]);
    }
    return last;
}

static double lose_one(struct load *load)
{
    struct one *lost = &load->members[load->n / 2];
    uint64_t since = now_ns();
    (void)close(lost->fd);
    lost->fd = -1;
    double took = await(load, since, load->n - 1);
    lost->rounds++; /* it missed that one */
    return took;
}

static double take_back(struct load *load, uint16_t port)
{
    struct one *lost = &load->members[load->n / 2];
    buf_clear(&lost->in);
    uint64_t since = now_ns();
    connect_one(load, lost, port);
    send_join(load, lost);
    return await(load, since, load->n);
}

/* Processor time of the leader so far. */
static double leader_cpu(pid_t pid)
{
    char path[64];
    char text[128];
    (void)snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file || !fgets(text, sizeof text, file))
        fail("the leader's processor time");
    (void)fclose(file);
    return (double)strtoull(text, NULL, 10) / 1e9;
}

static void measure(struct load *load, uint16_t port, pid_t leader)
{
    uint64_t since = now_ns();
    load->beaten_ns = since;
    for (uint32_t i = 0; i < load->n; i++)
        connect_one(load, &load->members[i], port);
    double connected = (double)(now_ns() - since) / 1e9;
    uint64_t first = now_ns();
    uint64_t last = join_all(load);
    double join = await(load, last, load->n);
    double storm = (double)(now_ns() - first) / 1e9;
    uint64_t bytes = load->bytes;
    double join_cpu = leader_cpu(leader);
    double again = lose_one(load);
    double grown = take_back(load, port);
    printf("{\"members\": %u, \"connect_s\": %.6f, \"join_s\": %.6f, \"storm_s\": %.6f, "
           "\"again_s\": %.6f, \"grown_s\": %.6f, \"join_bytes\": %llu, \"join_cpu_s\": %.6f, "
           "\"leader_cpu_s\": %.6f}\n",
           load->n, connected, join, storm, again, grown, (unsigned long long)bytes, join_cpu,
           leader_cpu(leader));
}

static void raise_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        fail("getrlimit");
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
    struct load load = { .wanted = 1 };
    int tell[2], until[2];
    uint16_t port;
    errno = 0;
    long n = argc == 2 || argc == 3 ? strtol(argv[1], NULL, 10) : 0;
    if (n < 2 || n > (long)RDZV_MAX_MEMBERS)
        fail("usage: rdzv_load MEMBERS [perf]");
    load.n = (uint32_t)n;
    load.least = load.n - 1;
    raise_limit();
    if (pipe2(tell, O_CLOEXEC) != 0 || pipe2(until, O_CLOEXEC) != 0)
        fail("a pipe");
    pid_t leader = fork();
    if (leader == 0) {
        (void)close(until[1]);
        lead(tell[1], until[0]);
    }
    (void)close(tell[1]);
    if (leader < 0 || read(tell[0], &port, sizeof port) != (ssize_t)sizeof port)
        fail("the leader did not start");
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    load.arena = arena_create();
    load.members = mem_new(load.n * sizeof *load.members);
    for (uint32_t i = 0; i < load.n; i++) {
        load.members[i].id = 1000u + i;
        load.members[i].fd = -1;
        buf_init(&load.members[i].in, IN_MAX);
    }
    if (argc == 3) {
        fprintf(stderr, "leader %d\n", (int)leader);
        (void)getchar();
    }
    measure(&load, port, leader);
    (void)close(until[1]);
    (void)waitpid(leader, NULL, 0);
    for (uint32_t i = 0; i < load.n; i++)
        buf_fini(&load.members[i].in);
    free(load.members);
    arena_destroy(load.arena);
    return 0;
}
