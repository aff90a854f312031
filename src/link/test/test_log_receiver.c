/* Copies of logs behind a hub, with the agent played over a socket pair: what is acknowledged,
 * asked for again, told to readers, and what becomes a hole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "link/link.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "wire/log_reader.h"
#include "wire/message.h"

#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

struct fix {
    uv_loop_t loop;
    struct link_hub *hub;
    struct arena *arena;
    char hex[65], dir[40];
    struct generation g;
    uint64_t told; /* the last FACT_LOG */
    unsigned logs, others;
    int fd;
    struct buf in;
};

static void on_fact(void *arg, const struct engine_fact *fact)
{
    struct fix *f = arg;
    if (fact->kind != FACT_LOG) {
        f->others++;
        return;
    }
    assert_string_equal(fact->node, "n1");
    f->logs++;
    f->told = fact->log_end;
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    unsigned char token[32], hash[32];
    assert_true(sodium_init() >= 0);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-recv-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    uv_loop_init(&f->loop);
    f->hub = link_create(&f->loop, (struct engine_sink){ .fact = on_fact, .arg = f });
    f->arena = arena_create();
    f->g = (struct generation){ .job = 7, .number = 1 };
    f->fd = -1;
    buf_init(&f->in, 1 << 20);
    memset(token, 5, sizeof token);
    sodium_bin2hex(f->hex, sizeof f->hex, token, sizeof token);
    crypto_hash_sha256(hash, token, sizeof token);
    link_expect(f->hub, f->g, "n1", hash, 0);
    link_keep_logs(f->hub, f->g, "n1", f->dir);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    struct err err;
    link_destroy(f->hub);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    if (f->fd >= 0)
        close(f->fd);
    buf_fini(&f->in);
    arena_destroy(f->arena);
    assert_int_equal(file_remove_tree(f->dir, &err), 0);
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

static void join(struct fix *f)
{
    int pair[2];
    struct err err;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    if (f->fd >= 0)
        close(f->fd);
    f->fd = pair[0];
    buf_clear(&f->in);
    assert_int_equal(link_attach(f->hub, f->hex, pair[1], "", 0, &err), 0);
    AUTO_BUF struct buf out = BUF_INIT(4096);
    struct wire_hello hello = {
        .version = WIRE_VERSION, .generation = f->g, .node = "n1", .first_seq = 1
    };
    wire_put(&out, 0, &hello);
    say(f, &out);
}

/* The next LOG_KEPT that came; false: none did. */
static bool kept(struct fix *f, struct wire_log_kept_ack *out)
{
    char piece[4096];
    ssize_t n;
    while ((n = recv(f->fd, piece, sizeof piece, MSG_DONTWAIT)) > 0)
        buf_add(&f->in, piece, (size_t)n);
    struct wire_frame frame;
    size_t used;
    while (f->in.len > 0 && wire_next(f->in.data, f->in.len, &frame, &used) == 1) {
        bool is = frame.kind == WIRE_LOG_KEPT;
        if (is)
            assert_int_equal(wire_get(&frame, NULL, out), 0);
        buf_drop(&f->in, used);
        if (is)
            return true;
    }
    return false;
}

static void expect_kept(struct fix *f, uint64_t offset, bool again)
{
    struct wire_log_kept_ack got;
    while (!kept(f, &got)) /* the test's own limit of time ends it otherwise */
        uv_run(&f->loop, UV_RUN_ONCE);
    assert_int_equal(got.offset, offset);
    assert_int_equal(got.again, again);
    assert_int_equal(got.attempt, 3);
    assert_int_equal(got.task.index, 2);
}

static void expect_silence(struct fix *f)
{
    struct wire_log_kept_ack got;
    turn(f);
    assert_false(kept(f, &got));
}

static const char word[] = { 't', 'e', 'x', 't' };
#define RECORD (RECORD_HEAD + sizeof word)

static struct wire_log_bytes bytes_at(uint64_t offset)
{
    static unsigned char record[RECORD];
    record_put(record, &(struct record){ .len = sizeof word, .stream = RECORD_STDOUT });
    memcpy(record + RECORD_HEAD, word, sizeof word);
    return (struct wire_log_bytes){ .task = { .index = 2 },
                                    .attempt = 3,
                                    .role = "worker",
                                    .from = offset,
                                    .offset = offset,
                                    .at = record,
                                    .len = sizeof record };
}

static void send_bytes(struct fix *f, const struct wire_log_bytes *bytes)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    wire_put(&out, 0, bytes);
    say(f, &out);
}

static void send_at(struct fix *f, uint64_t offset)
{
    struct wire_log_bytes bytes = bytes_at(offset);
    send_bytes(f, &bytes);
}

static void ask(struct fix *f, uint64_t end)
{
    struct wire_log_bytes bytes = bytes_at(end);
    bytes.len = 0;
    send_bytes(f, &bytes);
}

/* "t" for each record, a number for a hole. */
static const char *shown(struct fix *f, const char *role)
{
    char name[LOG_DIR_MAX];
    AUTO_FREE char *dir = mem_printf("%s/%s", f->dir, log_dir_name(name, role, 2, 3));
    struct log_reader *reader = log_reader_create(dir, 0);
    AUTO_BUF struct buf out = BUF_INIT(1000);
    struct log_item item;
    while (log_reader_next(reader, &item) == 1)
        buf_addf(&out, item.gap ? "%llu" : "t", (unsigned long long)item.gap);
    log_reader_destroy(reader);
    return arena_strdup(f->arena, buf_str(&out));
}

static void bytes_are_written_and_acknowledged(void **state)
{
    struct fix *f = *state;
    join(f);
    ask(f, 2 * RECORD);
    expect_kept(f, 0, true);
    send_at(f, 0);
    send_at(f, RECORD);
    expect_kept(f, RECORD, false);
    expect_kept(f, 2 * RECORD, false);
    assert_string_equal(shown(f, "worker"), "tt");
    while (f->told < 2 * RECORD)
        uv_run(&f->loop, UV_RUN_ONCE);
    join(f); /* it asks for each log, and what it sends again is no matter */
    ask(f, 2 * RECORD);
    expect_kept(f, 2 * RECORD, true);
    send_at(f, 0);
    expect_kept(f, 2 * RECORD, false);
    assert_string_equal(shown(f, "worker"), "tt");
}

/* What the agent has is not told to readers, who would look and find nothing. */
static void readers_hear_of_what_is_copied(void **state)
{
    struct fix *f = *state;
    AUTO_BUF struct buf out = BUF_INIT(4096);
    join(f);
    wire_put(&out, 0, &(struct wire_log){ .task = { .index = 2 }, .attempt = 3, .end = 1000 });
    say(f, &out);
    assert_int_equal(f->logs, 0);
    ask(f, 1000);
    send_at(f, 0);
    while (f->logs == 0)
        uv_run(&f->loop, UV_RUN_ONCE);
    assert_int_equal(f->told, RECORD);
}

static void what_does_not_follow_is_asked_for_once(void **state)
{
    struct fix *f = *state;
    join(f);
    send_at(f, RECORD);
    send_at(f, 2 * RECORD);
    expect_kept(f, 0, true);
    expect_silence(f);
    send_at(f, 0);
    expect_kept(f, RECORD, false);
    send_at(f, 3 * RECORD);
    expect_kept(f, RECORD, true);
}

static void a_full_disk_is_asked_again_later(void **state)
{
    struct fix *f = *state;
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN);
    join(f);
    send_at(f, 0);
    expect_kept(f, RECORD, false);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    struct rlimit small = { .rlim_cur = RECORD + 5, .rlim_max = limit.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    send_at(f, RECORD);
    send_at(f, 2 * RECORD);
    expect_silence(f);
    assert_true(link_connected(f->hub, f->g, "n1"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    expect_kept(f, RECORD, true);
    send_at(f, RECORD);
    expect_kept(f, 2 * RECORD, false);
    assert_string_equal(shown(f, "worker"), "tt");
}

static void send_fact(struct fix *f, uint64_t seq, enum wire_fact_kind kind, uint64_t log_end)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    struct wire_fact fact = { .kind = kind,
                              .task = { .index = 2 },
                              .attempt = 3,
                              .log_end = log_end,
                              .ending.tail = "",
                              .remark = "" };
    wire_put(&out, seq, &fact);
    say(f, &out);
}

static void what_is_missing_at_the_end_is_a_hole(void **state)
{
    struct fix *f = *state;
    join(f);
    send_at(f, 0);
    expect_kept(f, RECORD, false);
    send_fact(f, 1, WIRE_FACT_ENDED, RECORD + 700);
    assert_string_equal(shown(f, "worker"), "t");
    send_fact(f, 2, WIRE_FACT_RELEASED, 0);
    assert_string_equal(shown(f, "worker"), "t700");
    ask(f, RECORD + 700);
    expect_kept(f, RECORD + 700, true); /* it can leave */
}

/* Of a machine that went away before it could send a byte. */
static void nothing_came_of_a_lost_machine(void **state)
{
    struct fix *f = *state;
    struct err err;
    struct launch_task task = { .ref = { .index = 2 }, .role = "ps", .attempt = 3 };
    struct launch launch = { .generation = f->g,
                             .seq = 1,
                             .node = "n1",
                             .job_name = "x",
                             .dir = "/d",
                             .tasks = &task,
                             .n_tasks = 1 };
    assert_int_equal(link_launch(f->hub, &launch, &err), 0);
    join(f);
    send_fact(f, 1, WIRE_FACT_STARTED, 50);
    link_forget(f->hub, f->g, "n1");
    assert_string_equal(shown(f, "ps"), "50");
}

static void strange_bytes_close_the_connection(void **state)
{
    struct fix *f = *state;
    for (int i = 0; i < 4; i++) {
        struct wire_log_bytes bad = bytes_at(0);
        bad.role = i == 0 ? "../../etc" : i == 1 ? "" : bad.role;
        bad.len -= i == 2;
        bad.from += i == 3;
        join(f);
        assert_true(link_connected(f->hub, f->g, "n1"));
        send_bytes(f, &bad);
        assert_false(link_connected(f->hub, f->g, "n1"));
    }
    assert_string_equal(shown(f, "worker"), "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_are_written_and_acknowledged),     TEST(readers_hear_of_what_is_copied),
        TEST(what_does_not_follow_is_asked_for_once), TEST(a_full_disk_is_asked_again_later),
        TEST(what_is_missing_at_the_end_is_a_hole),   TEST(nothing_came_of_a_lost_machine),
        TEST(strange_bytes_close_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
