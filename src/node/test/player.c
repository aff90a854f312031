/* The played server of the agent's tests: accepts, sends launches, reads facts. Waits are polls
 * with a deadline; a missed one fails the test. */
#include "node/test/player.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "node/keeper.h"
#include "wire/record.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define PATIENCE_MS 120000u

static void listen_at(struct player *player)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s/sock", player->dir);
    (void)unlink(address.sun_path);
    player->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(player->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(player->listener, 5), 0);
}

static void write_conf(const struct player *player, const char *more)
{
    AUTO_FREE char *text =
        mem_printf("socket=%s/sock\ntoken=00ff\njob=%llu\ngeneration=1\nnode=n1\ncookie=%s\n"
                   "sandbox=on\n%s",
                   player->dir, (unsigned long long)PLAYER_JOB, player->cookie, more);
    AUTO_FREE char *path = mem_printf("%s/agent.conf", player->agent);
    struct err err;
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
}

struct player *player_start_with(const char *conf)
{
    struct player *player = mem_new(sizeof *player);
    struct err err;
    player->arena = arena_create();
    player->conn = -1;
    buf_init(&player->in, 64u << 20);
    snprintf(player->dir, sizeof player->dir, "/tmp/muster-node-XXXXXX");
    assert_non_null(mkdtemp(player->dir));
    player->cookie = strrchr(player->dir, '/') + 1;
    snprintf(player->agent, sizeof player->agent, "%s/agent", player->dir);
    assert_int_equal(file_mkdirs(player->agent, 0700, &err), 0);
    listen_at(player);
    write_conf(player, conf);
    player->launch = (struct launch){
        .generation = { .job = PLAYER_JOB, .number = 1 },
        .node = "n1",
        .job_name = "test",
        .dir = player->agent,
        .grace_ms = 5000,
        .log_head = 1u << 20,
        .log_tail = 1u << 20,
        .tasks = ARENA_ARRAY(player->arena, 64, struct launch_task),
    };
    fflush(NULL);
    player->keeper = fork();
    assert_true(player->keeper >= 0);
    if (player->keeper == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(player->listener);
        (void)setsid();
        exit(keeper_run(player->agent));
    }
    return player;
}

struct player *player_start(void)
{
    return player_start_with("");
}

void player_hang_up(struct player *player)
{
    if (player->conn >= 0)
        close(player->conn);
    player->conn = -1;
    buf_clear(&player->in);
    player->used = 0;
}

void player_finish(struct player *player)
{
    struct err err;
    assert_int_equal(player->keeper, 0);
    player_hang_up(player);
    close(player->listener);
    buf_fini(&player->in);
    assert_int_equal(file_remove_tree(player->dir, &err), 0);
    arena_destroy(player->arena);
    free(player);
}

static void wait_readable(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    int n;
    do
        n = poll(&one, 1, PATIENCE_MS);
    while (n < 0 && errno == EINTR);
    assert_int_equal(n, 1);
}

void player_answer(struct player *player, const char *head)
{
    char text[1000];
    size_t len = 0;
    player_hang_up(player);
    wait_readable(player->listener);
    player->conn = accept4(player->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(player->conn >= 0);
    do {
        wait_readable(player->conn);
        ssize_t n = read(player->conn, text + len, sizeof text - 1 - len);
        assert_true(n > 0);
        len += (size_t)n;
        text[len] = '\0';
    } while (!strstr(text, "\r\n\r\n"));
    assert_non_null(strstr(text, "GET /v1/agents HTTP/1.1\r\n"));
    assert_non_null(strstr(text, "Authorization: Bearer 00ff\r\n"));
    assert_non_null(strstr(text, "Upgrade: muster/1\r\n"));
    assert_int_equal(file_write_all(player->conn, head, strlen(head)), 0);
}

void player_accept(struct player *player, uint64_t committed)
{
    player_answer(player, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                          "Upgrade: muster/1\r\n\r\n");
    struct wire_frame frame = player_frame(player, WIRE_HELLO);
    assert_int_equal(wire_get(&frame, player->arena, &player->hello), 0);
    assert_true(player->hello.generation.job == PLAYER_JOB);
    player_plain(player, WIRE_WELCOME, committed);
}

/* ---- down ---- */

struct launch_task *player_task(struct player *player, const char *role, uint32_t index,
                                const char *run)
{
    struct launch_task *task = &player->launch.tasks[player->launch.n_tasks++];
    *task = (struct launch_task){
        .ref = { .role = 0, .index = index }, .role = role, .attempt = 1, .run = run
    };
    return task;
}

void player_send(struct player *player, const struct buf *frames)
{
    assert_false(frames->overflow);
    assert_int_equal(file_write_all(player->conn, frames->data, frames->len), 0);
}

void player_launch(struct player *player)
{
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    player->launch.seq++;
    wire_put(&out, 0, &player->launch);
    player_send(player, &out);
    player->launch.n_tasks = 0;
}

void player_plain(struct player *player, enum wire_kind kind, uint64_t seq)
{
    AUTO_BUF struct buf out = BUF_INIT(100);
    wire_put_plain(&out, kind, seq);
    player_send(player, &out);
}

void player_stop(struct player *player, const struct wire_stop *stop)
{
    AUTO_BUF struct buf out = BUF_INIT(100);
    wire_put(&out, 0, stop);
    player_send(player, &out);
}

/* ---- up ---- */

struct wire_frame player_next(struct player *player)
{
    for (;;) {
        struct wire_frame frame;
        buf_drop(&player->in, player->used);
        player->used = 0;
        int got = player->in.len == 0
                      ? 0
                      : wire_next(player->in.data, player->in.len, &frame, &player->used);
        assert_true(got >= 0);
        if (got == 1)
            return frame;
        char piece[65536];
        wait_readable(player->conn);
        ssize_t n = read(player->conn, piece, sizeof piece);
        assert_true(n > 0);
        buf_add(&player->in, piece, (size_t)n);
    }
}

struct wire_frame player_frame(struct player *player, enum wire_kind kind)
{
    struct wire_frame frame;
    do
        frame = player_next(player);
    while (frame.kind != kind);
    return frame;
}

struct wire_fact player_fact(struct player *player, enum wire_fact_kind kind, uint64_t *seq)
{
    struct wire_frame frame;
    struct wire_fact fact;
    do {
        frame = player_frame(player, WIRE_FACT);
        assert_int_equal(wire_get(&frame, player->arena, &fact), 0);
    } while (fact.kind == WIRE_FACT_DIED && kind != WIRE_FACT_DIED);
    if (fact.kind != kind)
        print_message("fact %d: %s\n%s\n", (int)fact.kind, fact.remark, fact.ending.tail);
    assert_int_equal(fact.kind, kind);
    if (seq)
        *seq = frame.seq;
    return fact;
}

struct wire_fact player_fact_of(struct player *player, enum wire_fact_kind kind, uint32_t index)
{
    for (;;) {
        struct wire_frame frame = player_frame(player, WIRE_FACT);
        struct wire_fact fact;
        assert_int_equal(wire_get(&frame, player->arena, &fact), 0);
        if (fact.task.index == index && fact.kind == kind)
            return fact;
        if (fact.task.index == index && fact.kind == WIRE_FACT_REFUSED)
            fail_msg("refused: %s", fact.remark);
    }
}

int player_keeper_status(struct player *player)
{
    int status = 0;
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    pid_t pid;
    while ((pid = waitpid(player->keeper, &status, WNOHANG)) == 0 && clock_mono_ms() < until)
        (void)poll(NULL, 0, 2);
    assert_int_equal(pid, player->keeper);
    player->keeper = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void add_segment(const char *path, unsigned streams, struct buf *out)
{
    AUTO_FREE char *data = NULL;
    size_t len;
    struct err err;
    assert_int_equal(file_read(path, 2 * SEGMENT_MAX, &data, &len, &err), 0);
    for (size_t at = 0; at < len;) {
        struct record record;
        assert_int_equal(record_get((unsigned char *)data + at, len - at, &record), 1);
        assert_true(at + RECORD_HEAD + record.len <= len);
        if (streams & 1u << record.stream)
            buf_add(out, data + at + RECORD_HEAD, record.len);
        at += RECORD_HEAD + record.len;
    }
}

char *player_log(struct player *player, const char *role, uint32_t index, uint32_t attempt,
                 unsigned streams)
{
    char name[LOG_DIR_MAX];
    AUTO_FREE char *dir =
        mem_printf("%s/%s", player->agent, log_dir_name(name, role, index, attempt));
    struct dirent **entries;
    int n = scandir(dir, &entries, NULL, alphasort);
    assert_true(n >= 2);
    AUTO_BUF struct buf out = BUF_INIT(1u << 28);
    for (int i = 0; i < n; i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", dir, entries[i]->d_name);
        uint64_t offset;
        if (segment_parse(entries[i]->d_name, &offset) == 0)
            add_segment(path, streams, &out);
        free(entries[i]);
    }
    free(entries);
    return arena_strdup(player->arena, buf_str(&out));
}

bool player_gone(pid_t pid)
{
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (kill(pid, 0) == 0 && clock_mono_ms() < until)
        (void)poll(NULL, 0, 2);
    return kill(pid, 0) != 0 && errno == ESRCH;
}

pid_t player_read_pid(struct player *player, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", player->dir, name);
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (clock_mono_ms() < until) {
        AUTO_FREE char *text = NULL;
        size_t len;
        struct err err;
        if (access(path, F_OK) == 0 && file_read(path, 100, &text, &len, &err) == 0 && len > 0 &&
            text[len - 1] == '\n')
            return (pid_t)strtol(text, NULL, 10);
        (void)poll(NULL, 0, 2);
    }
    fail_msg("%s does not appear", path);
    return 0;
}
