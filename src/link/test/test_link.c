/* The link against an agent played by the test over a socket pair: what is kept, resent, passed up
 * once, asked for again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "link/link.h"

#include "base/buf.h"
#include "base/mem.h"
#include "link/hub.h"
#include "wire/message.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

struct fix {
    uv_loop_t loop;
    struct link_hub *hub;
    struct arena *arena;
    unsigned char token[32];
    char hex[65];
    struct generation g;
    enum engine_fact_kind kinds[32]; /* facts that came up */
    uint64_t seqs[32];
    unsigned facts;
    struct engine_fact launcher; /* the last of a launcher; text in arena */
    int fd;                      /* the agent's end */
    uint32_t launch_form;        /* newest that the agent reads */
    struct buf in;
};

static void on_fact(void *arg, const struct engine_fact *fact)
{
    struct fix *f = arg;
    assert_true(f->facts < 32);
    f->kinds[f->facts] = fact->kind;
    f->seqs[f->facts++] = fact->seq;
    if (fact->kind == FACT_LAUNCHER) {
        f->launcher = *fact;
        f->launcher.launcher.bytes = arena_strndup(
            f->arena, fact->launcher.bytes ? fact->launcher.bytes : "", fact->launcher.len);
    }
    assert_string_equal(fact->node, "n1");
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    unsigned char hash[32];
    assert_true(sodium_init() >= 0);
    uv_loop_init(&f->loop);
    f->hub = link_create(&f->loop, (struct engine_sink){ .fact = on_fact, .arg = f });
    f->arena = arena_create();
    f->g = (struct generation){ .job = 7, .number = 1 };
    f->fd = -1;
    buf_init(&f->in, 1 << 20);
    memset(f->token, 5, sizeof f->token);
    sodium_bin2hex(f->hex, sizeof f->hex, f->token, sizeof f->token);
    crypto_hash_sha256(hash, f->token, sizeof f->token);
    link_expect(f->hub, f->g, "n1", hash, 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    link_destroy(f->hub);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    if (f->fd >= 0)
        close(f->fd);
    buf_fini(&f->in);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static void turn(struct fix *f)
{
    for (int i = 0; i < 4; i++)
        uv_run(&f->loop, UV_RUN_NOWAIT);
}

static void say(struct fix *f, const struct buf *out)
{
    assert_int_equal(send(f->fd, out->data, out->len, MSG_NOSIGNAL), out->len);
    turn(f);
}

static void join(struct fix *f, uint32_t launch_seq)
{
    int pair[2];
    struct err err;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    if (f->fd >= 0)
        close(f->fd);
    f->fd = pair[0];
    buf_clear(&f->in);
    assert_true(link_knows(f->hub, f->hex));
    assert_int_equal(link_attach(f->hub, f->hex, pair[1], "", 0, &err), 0);
    AUTO_BUF struct buf out = BUF_INIT(4096);
    struct wire_hello hello = { .version = WIRE_VERSION,
                                .generation = f->g,
                                .node = "n1",
                                .launch_seq = launch_seq,
                                .first_seq = 1,
                                .launch_form = f->launch_form };
    wire_put(&out, 0, &hello);
    say(f, &out);
}

static void fact(struct fix *f, uint64_t seq, enum wire_fact_kind kind)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    struct wire_fact fact = { .kind = kind, .attempt = 1, .ending.tail = "", .remark = "" };
    wire_put(&out, seq, &fact);
    say(f, &out);
}

/* The next frame that the agent was sent, or WIRE_NONE. */
static struct wire_frame next(struct fix *f)
{
    char piece[4096];
    ssize_t n;
    while ((n = recv(f->fd, piece, sizeof piece, MSG_DONTWAIT)) > 0)
        buf_add(&f->in, piece, (size_t)n);
    struct wire_frame frame = { 0 };
    size_t used;
    if (wire_next(buf_str(&f->in), f->in.len, &frame, &used) != 1)
        return (struct wire_frame){ 0 };
    frame.body = memcpy(arena_alloc(f->arena, frame.len + 1), frame.body, frame.len);
    buf_drop(&f->in, used);
    return frame;
}

static struct launch launch_of(struct fix *f, uint32_t seq)
{
    return (struct launch){
        .generation = f->g, .seq = seq, .node = "n1", .job_name = "x", .dir = "/d"
    };
}

static void launches_are_kept_until_the_agent_has_them(void **state)
{
    struct fix *f = *state;
    struct err err;
    struct launch one = launch_of(f, 1), two = launch_of(f, 2), got;
    assert_int_equal(link_launch(f->hub, &one, &err), 0);
    assert_int_equal(link_launch(f->hub, &one, &err), 0);
    join(f, 0);
    assert_int_equal(next(f).kind, WIRE_WELCOME);
    struct wire_frame frame = next(f);
    assert_int_equal(frame.kind, WIRE_LAUNCH);
    assert_int_equal(wire_get(&frame, f->arena, &got), 0);
    assert_int_equal(got.seq, 1);
    assert_int_equal(next(f).kind, WIRE_NONE);
    assert_int_equal(link_launch(f->hub, &two, &err), 0);
    turn(f);
    assert_int_equal(next(f).kind, WIRE_LAUNCH);
    join(f, 1); /* it had lost the second */
    assert_int_equal(next(f).kind, WIRE_WELCOME);
    frame = next(f);
    assert_int_equal(wire_get(&frame, f->arena, &got), 0);
    assert_int_equal(got.seq, 2);
    assert_int_equal(next(f).kind, WIRE_NONE);
}

/* As agents are sent them. */
static struct hosts_text hosts_of(struct fix *f, uint32_t n)
{
    char name[32];
    AUTO_BUF struct buf text = BUF_INIT(WIRE_MAX_FRAME);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "worker-%u", i);
        wire_put_host(&text, &(struct host_name){ .address = "10.0.0.1", .name = name });
    }
    char *at = arena_alloc(f->arena, text.len);
    memcpy(at, text.data, text.len);
    return (struct hosts_text){ .at = at, .len = text.len };
}

/* The hosts of a large job lie in memory once, and each agent is sent the launch as it was made. */
static void hosts_of_many_launches_are_kept_once(void **state)
{
    enum { FEW = 2, MANY = 1000, LAUNCHES = 5 };
    struct fix *f = *state;
    struct err err;
    struct hosts_text many = hosts_of(f, MANY), same = hosts_of(f, MANY - 1),
                      rest = hosts_of(f, MANY), few = hosts_of(f, FEW);
    rest.at += same.len; /* the same in two parts */
    rest.len -= same.len;
    same.next = &rest;
    const struct hosts_text *all[LAUNCHES] = { &many, &same, &few, &many, NULL };
    AUTO_BUF struct buf sent = BUF_INIT(1 << 20);
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        struct launch launch = launch_of(f, i + 1);
        launch.hosts_text = all[i];
        launch.n_hosts = !all[i] ? 0 : all[i] == &few ? FEW : MANY;
        assert_int_equal(link_launch(f->hub, &launch, &err), 0);
        wire_put(&sent, 0, &launch);
    }
    assert_int_equal(f->hub->hosts->users, 4);
    for (int times = 0; times < 2; times++) { /* and after a lost connection */
        join(f, 0);
        assert_int_equal(next(f).kind, WIRE_WELCOME);
        for (size_t at = 0, used; at < sent.len; at += used) {
            struct wire_frame want, got = next(f);
            assert_int_equal(wire_next(sent.data + at, sent.len - at, &want, &used), 1);
            assert_int_equal(got.len, want.len);
            assert_memory_equal(got.body, want.body, want.len);
        }
    }
    join(f, LAUNCHES);
    assert_int_equal(f->hub->hosts->users, 1);
}

/* A retry under a server that is newer than the agent: a launch that it cannot read ended the
 * connection, again and again. */
static void an_older_agent_gets_the_launch_that_it_reads(void **state)
{
    struct fix *f = *state;
    struct err err;
    struct launch got;
    for (uint32_t form = 0; form <= WIRE_LAUNCH_FORM; form++) {
        for (uint32_t early = 0; early < 2; early++) {
            uint32_t seq = 1 + 2 * form + early, device = 3;
            struct launch_task task = { .role = "worker",
                                        .gpu_hold = GPU_GRANT_WHOLE,
                                        .run = "train",
                                        .image = "docker.io/library/a:1" };
            task.gpus = &device;
            task.n_gpus = 1;
            struct launch launch = launch_of(f, seq);
            launch.tasks = &task;
            launch.n_tasks = 1;
            bool podman = form == 3 || (form == 4 && early);
            launch.runtime = form < 3 ? RUNTIME_SERVER : podman ? RUNTIME_PODMAN : RUNTIME_DOCKER;
            f->launch_form = form;
            if (early)
                assert_int_equal(link_launch(f->hub, &launch, &err), 0);
            join(f, seq - 1);
            assert_int_equal(next(f).kind, WIRE_WELCOME);
            if (!early)
                assert_int_equal(link_launch(f->hub, &launch, &err), 0);
            turn(f);
            struct wire_frame frame = next(f);
            assert_int_equal(wire_get(&frame, f->arena, &got), 0);
            assert_int_equal(got.seq, seq);
            assert_int_equal(got.tasks[0].gpus[0], device);
            assert_int_equal(got.tasks[0].gpu_hold, form ? GPU_GRANT_WHOLE : GPU_GRANT_NONE);
            /* not on the host, where its program is another or none */
            assert_true((strcmp(got.tasks[0].run, "train") == 0) == (got.tasks[0].image != NULL));
            assert_true((got.tasks[0].image != NULL) ==
                        (form == 2 || form >= 5 || (form == 4 && early)));
        }
    }
}

static void facts_come_up_once_and_acks_go_down(void **state)
{
    struct fix *f = *state;
    join(f, 0);
    fact(f, 1, WIRE_FACT_STARTED);
    fact(f, 2, WIRE_FACT_ENDED);
    fact(f, 2, WIRE_FACT_ENDED);
    assert_int_equal(f->facts, 3);
    assert_int_equal(f->kinds[0], FACT_AGENT_JOINED);
    assert_int_equal(f->kinds[1], FACT_STARTED);
    assert_int_equal(f->kinds[2], FACT_ENDED);
    assert_int_equal(next(f).kind, WIRE_WELCOME);
    link_ack(f->hub, f->g, "n1", 2);
    struct wire_frame ack = next(f);
    assert_int_equal(ack.kind, WIRE_ACK);
    assert_int_equal(ack.seq, 2);
    join(f, 0);
    struct wire_frame welcome = next(f);
    assert_int_equal(welcome.seq, 2);
}

static int open_code(void *arg, struct generation of, const char *hash)
{
    char *path = arg;
    return of.job == 7 && hash[0] == 'a' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static void want(struct fix *f, char digit, uint64_t offset, uint32_t len)
{
    char hash[65];
    AUTO_BUF struct buf out = BUF_INIT(4096);
    memset(hash, digit, 64);
    hash[64] = '\0';
    wire_put(&out, 0, &(struct wire_code_request){ .hash = hash, .offset = offset, .len = len });
    say(f, &out);
}

static struct wire_piece next_piece(struct fix *f)
{
    struct wire_piece piece = { 0 };
    struct wire_frame frame = next(f);
    assert_int_equal(frame.kind, WIRE_PIECE);
    assert_int_equal(wire_get(&frame, NULL, &piece), 0);
    return piece;
}

static void an_agent_gets_the_code_of_its_job(void **state)
{
    struct fix *f = *state;
    char path[] = "/tmp/muster-code-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "0123456789", 10), 10);
    close(fd);
    link_serve_code(f->hub, (struct link_code){ .open = open_code, .arg = path });
    join(f, 0);
    assert_int_equal(next(f).kind, WIRE_WELCOME);
    want(f, 'a', 3, 4);
    struct wire_piece piece = next_piece(f);
    assert_true(piece.offset == 3 && piece.size == 10 && piece.len == 4);
    assert_memory_equal(piece.at, "3456", 4);
    want(f, 'a', 8, 1u << 30);
    piece = next_piece(f);
    assert_true(piece.offset == 8 && piece.len == 2);
    want(f, 'a', 100, 5);
    assert_int_equal(next_piece(f).len, 0);
    want(f, 'b', 0, 5); /* of another job, or of none */
    piece = next_piece(f);
    assert_true(piece.size == 0 && piece.len == 0);
    assert_int_equal(unlink(path), 0);
    want(f, 'a', 0, 5);
    assert_true(next_piece(f).size == 0);
    assert_true(link_connected(f->hub, f->g, "n1"));
    AUTO_BUF struct buf out = BUF_INIT(4096);
    wire_put(&out, 0, &(struct wire_code_request){ .hash = "../../etc/passwd", .len = 5 });
    say(f, &out);
    assert_false(link_connected(f->hub, f->g, "n1"));
}

/* It takes nothing of what it asks for: pieces stop when the connection is full, and who goes on to
 * ask is broken. */
static void who_asks_for_more_code_than_it_takes_is_closed(void **state)
{
    struct fix *f = *state;
    char path[] = "/tmp/muster-code-XXXXXX";
    int fd = mkstemp(path), asked = 0;
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    close(fd);
    link_serve_code(f->hub, (struct link_code){ .open = open_code, .arg = path });
    join(f, 0);
    for (; link_connected(f->hub, f->g, "n1") && asked < 1000; asked++) {
        assert_true(conn_out(hub_find(f->hub, f->g, "n1")->conn)->len <= 2u << 20);
        want(f, 'a', 0, 1u << 18);
    }
    assert_in_range(asked, WANTS_MAX, 100);
    assert_int_equal(unlink(path), 0);
}

static void released_agent_is_told_to_leave_after_the_commit(void **state)
{
    struct fix *f = *state;
    join(f, 0);
    assert_int_equal(next(f).kind, WIRE_WELCOME);
    assert_false(link_released(f->hub, f->g, "n1"));
    fact(f, 1, WIRE_FACT_RELEASED);
    assert_int_equal(next(f).kind, WIRE_NONE);
    link_ack(f->hub, f->g, "n1", 1);
    assert_int_equal(next(f).kind, WIRE_ACK);
    assert_int_equal(next(f).kind, WIRE_RELEASE);
    assert_true(link_released(f->hub, f->g, "n1"));
    link_forget(f->hub, f->g, "n1");
    assert_false(link_knows(f->hub, f->hex));
}

static void stops_are_kept_too(void **state)
{
    struct fix *f = *state;
    struct task_ref task = { .role = 1, .index = 2 };
    struct wire_stop stop;
    link_stop(f->hub, f->g, "n1", &task, STOP_NOW, BY_USER);
    join(f, 0);
    assert_int_equal(next(f).kind, WIRE_WELCOME);
    struct wire_frame frame = next(f);
    assert_int_equal(frame.kind, WIRE_STOP);
    assert_int_equal(wire_get(&frame, NULL, &stop), 0);
    assert_false(stop.all);
    assert_true(stop.now);
    assert_int_equal(stop.task.index, 2);
    assert_int_equal(stop.why, BY_USER);
}

static void launchers_are_passed_through(void **state)
{
    struct fix *f = *state;
    AUTO_BUF struct buf out = BUF_INIT(4096);
    struct launcher_end end = { .generation = f->g, .node = "n1", .channel = 9 };
    link_tell_launcher(f->hub, &end, "x", 1); /* nobody is there: nothing happens */
    join(f, 0);
    assert_int_equal(next(f).kind, WIRE_WELCOME);
    wire_put(&out, 0,
             &(struct wire_launcher){ .channel = 9, .task = { .index = 3 }, .attempt = 2 });
    say(f, &out);
    assert_int_equal(f->launcher.launcher.what, LAUNCHER_OPEN);
    assert_int_equal(f->launcher.task.index, 3);
    assert_int_equal(f->launcher.attempt, 2);
    assert_int_equal(f->launcher.seq, 0);
    buf_clear(&out);
    wire_put_data(&out, WIRE_LAUNCHER_DATA, 9, "said", 4);
    say(f, &out);
    assert_int_equal(f->launcher.launcher.what, LAUNCHER_DATA);
    assert_string_equal(f->launcher.launcher.bytes, "said");
    buf_clear(&out);
    wire_put_data(&out, WIRE_LAUNCHER_CLOSE, 9, NULL, 0);
    say(f, &out);
    assert_int_equal(f->launcher.launcher.what, LAUNCHER_CLOSE);
    assert_int_equal(f->launcher.launcher.channel, 9);
    link_tell_launcher(f->hub, &end, "told", 4);
    link_tell_launcher(f->hub, &end, NULL, 0);
    turn(f);
    struct wire_frame frame = next(f);
    struct wire_data data;
    assert_int_equal(frame.kind, WIRE_LAUNCHER_DATA);
    assert_int_equal(wire_get(&frame, NULL, &data), 0);
    assert_true(data.channel == 9 && data.len == 4 && memcmp(data.at, "told", 4) == 0);
    assert_int_equal(next(f).kind, WIRE_LAUNCHER_CLOSE);
}

static void garbage_closes_the_connection_only(void **state)
{
    struct fix *f = *state;
    join(f, 0);
    AUTO_BUF struct buf out = BUF_INIT(64);
    buf_puts(&out, "\xff\xff\xff\xff garbage that is no frame");
    say(f, &out);
    assert_false(link_connected(f->hub, f->g, "n1"));
    join(f, 0);
    assert_true(link_connected(f->hub, f->g, "n1"));
}

static void heard(void *arg, int heard)
{
    int *out = arg;
    assert_int_equal(*out, 99); /* once */
    *out = heard;
}

static struct engine_signal signal_of(struct fix *f, int *out)
{
    *out = 99;
    return (struct engine_signal){ .generation = f->g,
                                   .node = "n1",
                                   .task = { .role = 1, .index = 4 },
                                   .attempt = 2,
                                   .signal = 10,
                                   .done = heard,
                                   .arg = out };
}

static void signals_are_answered_once(void **state)
{
    struct fix *f = *state;
    struct err err;
    int first, second;
    struct engine_signal one = signal_of(f, &first), two = signal_of(f, &second);
    assert_int_equal(link_signal(f->hub, &one, &err), -1);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    join(f, 0);
    assert_int_equal(next(f).kind, WIRE_WELCOME);
    assert_int_equal(link_signal(f->hub, &one, &err), 0);
    assert_int_equal(link_signal(f->hub, &two, &err), 0);
    struct wire_signal got;
    struct wire_frame frame = next(f);
    assert_int_equal(wire_get(&frame, NULL, &got), 0);
    assert_true(got.task.role == 1 && got.task.index == 4 && got.attempt == 2 && got.signal == 10);
    AUTO_BUF struct buf out = BUF_INIT(4096);
    struct wire_signalled_report said = { .number = got.number, .heard = 3 };
    wire_put(&out, 0, &said);
    wire_put(&out, 0, &said); /* said again, or of nothing: no matter */
    say(f, &out);
    assert_int_equal(first, 3);
    assert_int_equal(second, 99);
    join(f, 0); /* the other one's answer will never come */
    turn(f);
    assert_int_equal(second, HEARD_LOST);
}

static void signals_open_at_the_end_never_hear(void **state)
{
    struct fix *f = *state;
    struct err err;
    int open;
    struct engine_signal one = signal_of(f, &open);
    join(f, 0);
    assert_int_equal(link_signal(f->hub, &one, &err), 0);
    link_destroy(f->hub);
    assert_int_equal(open, HEARD_NEVER);
    f->hub = NULL;
}

/* ---- interactive commands ---- */

#define PIECE (64u << 10)

/* An open channel of exec: the client's end, which does not block. */
static int open_exec(struct fix *f)
{
    int pair[2];
    struct err err;
    const char *argv = "cat";
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    (void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
    struct engine_exec exec = {
        .generation = f->g, .node = "n1", .fd = pair[1], .argv = { .at = &argv, .n = 1 }
    };
    assert_int_equal(link_exec(f->hub, &exec, &err), 0);
    return pair[0];
}

/* What the client could send, a frame of input after another, until it is held up or has sent so
 * many bytes. */
static size_t type_until_held(struct fix *f, int client, size_t most)
{
    AUTO_BUF struct buf out = BUF_INIT(2 * PIECE);
    static const char piece[PIECE];
    size_t sent = 0;
    int waits = 0;
    while (sent < most && waits < 20) {
        if (out.len == 0)
            wire_put_data(&out, WIRE_STDIN, 0, piece, sizeof piece);
        ssize_t n = send(client, out.data, out.len, MSG_NOSIGNAL);
        waits = n > 0 ? 0 : waits + 1;
        sent += n > 0 ? (size_t)n : 0;
        buf_drop(&out, n > 0 ? (size_t)n : 0);
        turn(f);
    }
    while (out.len > 0 && sent >= most) { /* no half frame */
        ssize_t n = send(client, out.data, out.len, MSG_NOSIGNAL);
        assert_true(n > 0);
        buf_drop(&out, (size_t)n);
        sent += (size_t)n;
    }
    return sent;
}

/* Bytes that came at the agent's end until nothing comes any more. */
static size_t agent_reads(struct fix *f)
{
    static char piece[1 << 16];
    size_t all = 0;
    ssize_t n;
    for (int waits = 0; waits < 20; turn(f)) {
        n = recv(f->fd, piece, sizeof piece, MSG_DONTWAIT);
        waits = n > 0 ? 0 : waits + 1;
        all += n > 0 ? (size_t)n : 0;
    }
    return all;
}

/* It grew until the connection, and with it everything else of that agent, was given up. */
static void input_for_a_slow_agent_holds_up_its_client(void **state)
{
    struct fix *f = *state;
    join(f, 0);
    int client = open_exec(f);
    size_t sent = type_until_held(f, client, 80u << 20);
    assert_true(link_connected(f->hub, f->g, "n1"));
    assert_true(sent > (1u << 20) && sent < (8u << 20));
    size_t read = agent_reads(f); /* it goes on */
    assert_true(read > sent - 2 * PIECE);
    assert_true(link_connected(f->hub, f->g, "n1"));
    close(client);
    turn(f);
    assert_int_equal(agent_reads(f) >= WIRE_HEAD + 4, 1); /* EXIT, behind what was left */
}

/* What was held up goes on by itself when the client that waits has gone. */
static void a_held_client_that_goes_is_noticed(void **state)
{
    struct fix *f = *state;
    join(f, 0);
    int client = open_exec(f);
    (void)type_until_held(f, client, 80u << 20);
    assert_int_equal(map_count(f->hub->channels), 1);
    close(client);
    turn(f);
    assert_int_equal(map_count(f->hub->channels), 0);
}

/* A client types on and the agent reads until neither gets any further: what the agent got. */
static size_t type_and_read(struct fix *f, int client, struct buf *out)
{
    static const char piece[PIECE];
    size_t all = 0;
    for (int waits = 0; waits < 20;) {
        if (out->len == 0)
            wire_put_data(out, WIRE_STDIN, 0, piece, sizeof piece);
        ssize_t n = send(client, out->data, out->len, MSG_NOSIGNAL);
        buf_drop(out, n > 0 ? (size_t)n : 0);
        turn(f);
        size_t more = agent_reads(f);
        waits = n > 0 || more > 0 ? 0 : waits + 1;
        all += more;
    }
    return all;
}

static void say_reached(struct fix *f, uint64_t input)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    wire_put(&out, 0, &(struct wire_reached_report){ .channel = 1, .input = input });
    say(f, &out);
}

/* Its agent reads all the while: what the command does not take would lie there, until the agent
 * ended it. */
static void input_that_a_command_does_not_take_holds_up_its_client(void **state)
{
    struct fix *f = *state;
    AUTO_BUF struct buf out = BUF_INIT(2 * PIECE);
    f->launch_form = WIRE_EXEC_FORM;
    join(f, 0);
    (void)agent_reads(f);
    int client = open_exec(f);
    assert_in_range(type_and_read(f, client, &out), EXEC_WINDOW, EXEC_WINDOW + 3 * PIECE);
    say_reached(f, EXEC_WINDOW + (1u << 30)); /* more than there was is no answer */
    assert_int_equal(type_and_read(f, client, &out), 0);
    say_reached(f, EXEC_WINDOW / 2);
    assert_in_range(type_and_read(f, client, &out), EXEC_WINDOW / 2 - 3 * PIECE,
                    EXEC_WINDOW / 2 + 3 * PIECE);
    close(client);
}

/* It would start a shell. */
static void an_older_agent_is_asked_for_no_port(void **state)
{
    struct fix *f = *state;
    struct err err;
    struct engine_exec exec = { .generation = f->g, .node = "n1", .fd = -1, .port = 80 };
    f->launch_form = WIRE_EXEC_FORM - 1;
    join(f, 0);
    assert_int_equal(link_exec(f->hub, &exec, &err), -1);
    assert_int_equal(err.code, ERR_CANNOT);
    assert_int_equal(map_count(f->hub->channels), 0);
}

/* before: where nothing was told since. */
static uint64_t output_told(struct fix *f, uint64_t before)
{
    struct wire_reached_report reached;
    struct wire_frame frame = next(f);
    if (frame.kind == WIRE_NONE)
        return before;
    assert_int_equal(wire_get(&frame, NULL, &reached), 0);
    return reached.output;
}

/* The agent is told what its client has taken, and sends no more than the window beyond it. */
static void output_that_a_client_does_not_take_is_not_asked_for(void **state)
{
    struct fix *f = *state;
    static char piece[1 << 16];
    uint64_t told = 0, sent = 0;
    f->launch_form = WIRE_EXEC_FORM;
    join(f, 0);
    assert_int_equal(next(f).kind, WIRE_WELCOME);
    int client = open_exec(f);
    turn(f);
    assert_int_equal(next(f).kind, WIRE_EXEC);
    for (; sent < told + EXEC_WINDOW; sent += sizeof piece) {
        AUTO_BUF struct buf out = BUF_INIT(2 * sizeof piece);
        wire_put_data(&out, WIRE_STDOUT, 1, piece, sizeof piece);
        say(f, &out);
        told = output_told(f, told);
    }
    assert_int_equal(map_count(f->hub->channels), 1);
    assert_in_range(sent, EXEC_WINDOW, 3 * EXEC_WINDOW / 2);
    for (size_t got = 0; got < sent;) {
        ssize_t n = recv(client, piece, sizeof piece, MSG_DONTWAIT);
        got += n > 0 ? (size_t)n : 0;
        turn(f);
    }
    assert_int_equal(output_told(f, told), sent);
    close(client);
}

static void output_is_whole_although_the_agent_has_gone(void **state)
{
    struct fix *f = *state;
    static char piece[1 << 16];
    size_t got = 0;
    ssize_t n;
    join(f, 0);
    int client = open_exec(f);
    for (int i = 0; i < 4; i++) {
        AUTO_BUF struct buf out = BUF_INIT(2u << 20);
        AUTO_FREE char *text = mem_new(1u << 20);
        wire_put_data(&out, WIRE_STDOUT, 1, text, 1u << 20);
        for (size_t done = 0; done < out.len; turn(f)) {
            n = send(f->fd, out.data + done, out.len - done, MSG_NOSIGNAL | MSG_DONTWAIT);
            done += n > 0 ? (size_t)n : 0;
        }
    }
    close(f->fd);
    f->fd = -1;
    turn(f);
    assert_int_equal(send(client, "unread", 6, MSG_NOSIGNAL),
                     6); /* which must not reset the connection */
    assert_false(link_connected(f->hub, f->g, "n1"));
    while ((n = recv(client, piece, sizeof piece, MSG_DONTWAIT)) > 0) {
        got += (size_t)n;
        turn(f);
    }
    assert_int_equal(got, 4 * ((1u << 20) + WIRE_HEAD + 4));
    assert_int_equal(n, 0);
    close(client);
    turn(f);
    assert_int_equal(map_count(f->hub->channels), 0);
}

static void an_agent_that_says_nothing_has_to_go(void **state)
{
    struct fix *f = *state;
    int pair[2];
    struct err err;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(link_attach(f->hub, f->hex, pair[1], "", 0, &err), 0);
    const struct agent *a = hub_find(f->hub, f->g, "n1");
    conn_pass_time(a->conn, uv_now(&f->loop) + 3600000);
    assert_null(a->conn);
    close(pair[0]);
    join(f, 0);
    conn_pass_time(a->conn, uv_now(&f->loop) + 3600000); /* one that has may be silent */
    assert_non_null(a->conn);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(launches_are_kept_until_the_agent_has_them),
        TEST(hosts_of_many_launches_are_kept_once),
        TEST(an_older_agent_gets_the_launch_that_it_reads),
        TEST(facts_come_up_once_and_acks_go_down),
        TEST(an_agent_gets_the_code_of_its_job),
        TEST(who_asks_for_more_code_than_it_takes_is_closed),
        TEST(released_agent_is_told_to_leave_after_the_commit),
        TEST(stops_are_kept_too),
        TEST(launchers_are_passed_through),
        TEST(signals_are_answered_once),
        TEST(signals_open_at_the_end_never_hear),
        TEST(garbage_closes_the_connection_only),
        TEST(input_for_a_slow_agent_holds_up_its_client),
        TEST(a_held_client_that_goes_is_noticed),
        TEST(input_that_a_command_does_not_take_holds_up_its_client),
        TEST(an_older_agent_is_asked_for_no_port),
        TEST(output_that_a_client_does_not_take_is_not_asked_for),
        TEST(output_is_whole_although_the_agent_has_gone),
        TEST(an_agent_that_says_nothing_has_to_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
