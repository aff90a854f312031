/* Streams of ranks: files, prefixes, filters, whole lines, a console that takes nothing or is gone,
 * pipes that others hold, tails. The test is the ranks: it writes to their ends itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "launch/line_filter.h"
#include "launch/streams.h"
#include "launch/tail.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* A launcher whose stdout and stderr are files of the test. */
struct bench {
    char dir[40];
    uv_loop_t loop;
    int saved[3]; /* our own 1 and 2 */
    struct settings set;
    struct streams *streams;
    struct rank_ends ends[4];
};

static void put_fd(struct bench *bench, int number, int fd)
{
    if (bench->saved[number] < 0)
        bench->saved[number] = dup(number);
    dup2(fd, number);
    close(fd);
}

static char *path_in(const struct bench *bench, const char *name)
{
    return mem_printf("%s/%s", bench->dir, name);
}

static void console_file(struct bench *bench, int number, const char *name)
{
    AUTO_FREE char *path = path_in(bench, name);
    put_fd(bench, number, open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
}

static int set_up(void **state)
{
    struct bench *bench = mem_new(sizeof *bench);
    signal(SIGPIPE, SIG_IGN);
    snprintf(bench->dir, sizeof bench->dir, "/tmp/muster-streams-XXXXXX");
    bench->saved[1] = bench->saved[2] = -1;
    bench->set = (struct settings){ .ranks = 4, .role = "default", .run_id = "job/7" };
    *state = bench;
    return mkdtemp(bench->dir) && uv_loop_init(&bench->loop) == 0 ? 0 : -1;
}

static void restore(struct bench *bench)
{
    for (int number = 1; number <= 2; number++) {
        if (bench->saved[number] < 0)
            continue;
        dup2(bench->saved[number], number);
        close(bench->saved[number]);
        bench->saved[number] = -1;
    }
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    struct err err;
    restore(bench);
    streams_destroy(bench->streams); /* of a test that failed */
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&bench->loop); /* busy: a handle was forgotten */
    rc |= file_remove_tree(bench->dir, &err);
    free(bench);
    return rc;
}

static void begin(struct bench *bench, uint32_t attempt, uint32_t ranks)
{
    struct err err = { .what = "" };
    if (!bench->streams)
        bench->streams = streams_create(&bench->loop, &bench->set, &err);
    assert_non_null(bench->streams);
    for (uint32_t i = 0; i < ranks; i++)
        if (streams_open(bench->streams, attempt, i, &bench->ends[i], &err) != 0)
            fail_msg("%s", err.what);
}

static void end(struct bench *bench)
{
    streams_destroy(bench->streams);
    bench->streams = NULL;
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    restore(bench);
}

static void say(int fd, const char *text)
{
    assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
}

static void turn(struct bench *bench)
{
    uv_run(&bench->loop, UV_RUN_NOWAIT);
}

static char *read_all(const char *path)
{
    struct err err;
    char *data = NULL;
    size_t len;
    if (file_read(path, 64u << 20, &data, &len, &err) != 0)
        fail_msg("%s", err.what);
    return data;
}

static void file_is(const char *path, const char *text)
{
    AUTO_FREE char *found = read_all(path);
    assert_string_equal(found, text);
}

static void console_is(const struct bench *bench, const char *name, const char *text)
{
    AUTO_FREE char *path = path_in(bench, name);
    file_is(path, text);
}

/* A file beside rank's error file; malloc'ed. */
static char *beside(const struct bench *bench, uint32_t rank, const char *name)
{
    const char *error = bench->ends[rank].error_file;
    return mem_printf("%.*s/%s", (int)(strrchr(error, '/') - error), error, name);
}

static void nothing_asked_for_nothing_copied(void **state)
{
    struct bench *bench = *state;
    bench->set.no_stderr_tail = true;
    bench->set.log_dir = bench->dir;
    begin(bench, 0, 1);
    assert_int_equal(bench->ends[0].out, 1);
    assert_int_equal(bench->ends[0].err, 2);
    streams_started(bench->streams, 0);
    assert_true(fcntl(1, F_GETFD) >= 0);
    end(bench);
}

static void files_lie_where_torchrun_puts_them(void **state)
{
    struct bench *bench = *state;
    struct std_rank some[] = { { .local_rank = 1, .bits = 3 } };
    AUTO_FREE char *base = path_in(bench, "a/logs");
    bench->set.log_dir = base;
    bench->set.redirects = (struct std_choice){ .some = some, .n_some = 1 };
    console_file(bench, 2, "err");
    begin(bench, 2, 2);
    say(bench->ends[1].out, "to a file\n");
    say(bench->ends[1].err, "also\n");
    say(bench->ends[0].err, "shown\n");
    streams_started(bench->streams, 0);
    streams_started(bench->streams, 1);
    char tail[STREAMS_TAIL_MAX];
    streams_finish(bench->streams, 1);
    assert_string_equal(streams_tail(bench->streams, 1, tail), "also");
    AUTO_FREE char *out = beside(bench, 1, "stdout.log");
    AUTO_FREE char *err_log = beside(bench, 1, "stderr.log");
    AUTO_FREE char *none = beside(bench, 0, "stderr.log");
    AUTO_FREE char *error = mem_strdup(bench->ends[1].error_file);
    end(bench);
    file_is(out, "to a file\n");
    file_is(err_log, "also\n");
    console_is(bench, "err", "shown\n");
    assert_int_not_equal(access(none, F_OK), 0);
    /* BASE/job_7_XXXXXXXX/attempt_2/1/error.json */
    size_t n = strlen(base);
    assert_int_equal(strncmp(error, base, n), 0);
    assert_int_equal(strncmp(error + n, "/job_7_", 7), 0);
    assert_string_equal(error + n + 7 + 8, "/attempt_2/1/error.json");
}

static void teed_lines_carry_the_prefix_and_never_mix(void **state)
{
    struct bench *bench = *state;
    bench->set.log_dir = bench->dir;
    bench->set.tee.all = 1;
    console_file(bench, 1, "out");
    begin(bench, 0, 2);
    say(bench->ends[0].out, "one\nhalf ");
    turn(bench);
    say(bench->ends[1].out, "other\r\n10%\r20%\r");
    turn(bench);
    say(bench->ends[0].out, "a line\n\nlast, no end");
    turn(bench);
    streams_started(bench->streams, 0);
    streams_started(bench->streams, 1);
    AUTO_FREE char *log0 = beside(bench, 0, "stdout.log");
    AUTO_FREE char *log1 = beside(bench, 1, "stdout.log");
    streams_finish(bench->streams, 0);
    streams_finish(bench->streams, 1);
    end(bench);
    console_is(bench, "out",
               "[default0]:one\n[default1]:other\n[default1]:10%\n[default1]:20%\n"
               "[default0]:half a line\n[default0]:\n[default0]:last, no end\n");
    file_is(log0, "one\nhalf a line\n\nlast, no end");
    file_is(log1, "other\r\n10%\r20%\r");
}

static void matching_lines_are_copied(void **state)
{
    struct bench *bench = *state;
    const char *words[] = { "apple", "orange" };
    uint32_t shown[] = { 0, 1 };
    bench->set.log_dir = bench->dir;
    bench->set.tee.all = 1;
    bench->set.out_filters = (struct words){ .at = words, .n = 2 };
    bench->set.err_filters = (struct words){ .at = words, .n = 1 };
    bench->set.shown = shown;
    bench->set.n_shown = 2;
    console_file(bench, 1, "out");
    begin(bench, 0, 3);
    say(bench->ends[0].out, "an apple\na pear\n");
    turn(bench);
    say(bench->ends[1].out, "an ora");
    turn(bench);
    say(bench->ends[1].out, "nge\n");
    say(bench->ends[2].out, "apple, not shown\n");
    turn(bench);
    for (uint32_t i = 0; i < 3; i++) {
        streams_started(bench->streams, i);
        streams_finish(bench->streams, i);
    }
    AUTO_FREE char *copy = beside(bench, 0, "../filtered_stdout.log");
    AUTO_FREE char *empty = beside(bench, 0, "../filtered_stderr.log");
    AUTO_FREE char *log2 = beside(bench, 2, "stdout.log");
    end(bench);
    file_is(copy, "[default0]:an apple\n[default1]:an orange\n");
    file_is(empty, "");
    file_is(log2, "apple, not shown\n");
    console_is(bench, "out", "[default0]:an apple\n[default0]:a pear\n[default1]:an orange\n");
}

static void ranks_not_shown_go_nowhere_but_have_a_tail(void **state)
{
    struct bench *bench = *state;
    uint32_t shown[] = { 0 };
    char tail[STREAMS_TAIL_MAX];
    struct stat st, null;
    bench->set.log_dir = bench->dir;
    bench->set.shown = shown;
    bench->set.n_shown = 1;
    console_file(bench, 2, "err");
    begin(bench, 0, 2);
    assert_int_equal(bench->ends[0].out, 1);
    assert_int_equal(fstat(bench->ends[1].out, &st), 0);
    assert_int_equal(stat("/dev/null", &null), 0);
    assert_true(st.st_rdev == null.st_rdev);
    say(bench->ends[1].err, "hidden\n");
    say(bench->ends[0].err, "seen\n");
    for (uint32_t i = 0; i < 2; i++) {
        streams_started(bench->streams, i);
        streams_finish(bench->streams, i);
    }
    assert_string_equal(streams_tail(bench->streams, 1, tail), "hidden");
    end(bench);
    console_is(bench, "err", "seen\n");
}

static void an_unfinished_line_shows_soon(void **state)
{
    struct bench *bench = *state;
    bench->set.log_dir = bench->dir;
    console_file(bench, 2, "err");
    AUTO_FREE char *path = path_in(bench, "err");
    begin(bench, 0, 1);
    say(bench->ends[0].err, "\rstep 1");
    struct stat st = { .st_size = 0 };
    while (st.st_size == 0) { /* the test's own time limit ends it */
        uv_run(&bench->loop, UV_RUN_ONCE);
        assert_int_equal(stat(path, &st), 0);
    }
    file_is(path, "\rstep 1");
    streams_flush(bench->streams);
    file_is(path, "\rstep 1\n"); /* the summary begins a line */
    say(bench->ends[0].err, "\rstep 2");
    while (st.st_size < 15) {
        uv_run(&bench->loop, UV_RUN_ONCE);
        assert_int_equal(stat(path, &st), 0);
    }
    streams_say(bench->streams, "launcher: hm\n", 13);
    streams_say(bench->streams, "launcher: ho\n", 13);
    file_is(path, "\rstep 1\n\rstep 2\nlauncher: hm\nlauncher: ho\n");
    streams_started(bench->streams, 0);
    end(bench);
}

static void binary_output_is_not_changed(void **state)
{
    struct bench *bench = *state;
    bench->set.log_dir = bench->dir;
    bench->set.tee.all = 1;
    console_file(bench, 2, "err");
    console_file(bench, 1, "out");
    begin(bench, 0, 1);
    char bytes[20000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 31 % 251);
    assert_int_equal(file_write_all(bench->ends[0].err, bytes, sizeof bytes), 0);
    assert_int_equal(file_write_all(bench->ends[0].out, bytes, sizeof bytes), 0);
    streams_started(bench->streams, 0);
    streams_finish(bench->streams, 0);
    AUTO_FREE char *log = beside(bench, 0, "stdout.log");
    AUTO_FREE char *console = path_in(bench, "err");
    end(bench);
    AUTO_FREE char *a = read_all(log);
    AUTO_FREE char *b = read_all(console);
    assert_memory_equal(a, bytes, sizeof bytes);
    assert_memory_equal(b, bytes, sizeof bytes);
}

/* Writes to a rank's end until it would block, turning the loop; returns what went in. */
static size_t stuff(struct bench *bench, int fd, size_t most)
{
    char line[64];
    size_t total = 0;
    int full = 0;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    while (total < most && full < 50) {
        snprintf(line, sizeof line, "%062zu\n", total / 63);
        ssize_t n = write(fd, line + total % 63, 63 - total % 63);
        if (n > 0)
            total += (size_t)n;
        else
            full++;
        turn(bench);
    }
    return total;
}

/* Expects the lines of stuff() on fd from byte *at on. */
static void drain(int fd, size_t *at)
{
    char bytes[65536], line[64];
    ssize_t n;
    while ((n = read(fd, bytes, sizeof bytes)) > 0)
        for (ssize_t i = 0; i < n; i++, ++*at) {
            snprintf(line, sizeof line, "%062zu\n", *at / 63);
            assert_int_equal(bytes[i], line[*at % 63]);
        }
}

/* ends: the console's reading and writing end. */
static void rank_waits_for(struct bench *bench, const int ends[2])
{
    bench->set.log_dir = bench->dir;
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    put_fd(bench, 2, ends[1]);
    begin(bench, 0, 1);
    size_t total = stuff(bench, bench->ends[0].err, 8u << 20), seen = 0;
    bool waited = total < 2u << 20; /* kernel buffers and one of ours, not 8 MiB */
    bool as_it_was = !(fcntl(2, F_GETFL) & O_NONBLOCK); /* others write there too */
    streams_started(bench->streams, 0);
    while (seen < total) { /* the test's own time limit ends it */
        drain(ends[0], &seen);
        uv_run(&bench->loop, UV_RUN_NOWAIT);
    }
    end(bench);
    drain(ends[0], &seen);
    close(ends[0]);
    assert_true(waited && as_it_was);
    assert_int_equal(seen, total);
}

static void a_blocked_console_makes_the_rank_wait(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    rank_waits_for(*state, ends);
}

static void a_blocked_socket_too(void **state)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    rank_waits_for(*state, ends);
}

static void a_console_that_went_away_is_no_reason_to_die(void **state)
{
    struct bench *bench = *state;
    int ends[2];
    char tail[STREAMS_TAIL_MAX];
    bench->set.log_dir = bench->dir;
    bench->set.tee.all = 1;
    for (int number = 1; number <= 2; number++) {
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        close(ends[0]);
        put_fd(bench, number, ends[1]);
    }
    begin(bench, 0, 1);
    size_t out = stuff(bench, bench->ends[0].out, 4u << 20);
    size_t err_bytes = stuff(bench, bench->ends[0].err, 4u << 20);
    say(bench->ends[0].err, "\nlast words\n");
    streams_started(bench->streams, 0);
    streams_finish(bench->streams, 0);
    streams_tail(bench->streams, 0, tail);
    AUTO_FREE char *log = beside(bench, 0, "stdout.log");
    end(bench);
    struct stat st;
    assert_int_equal(out >= 4u << 20 && err_bytes >= 4u << 20, 1);
    assert_int_equal(stat(log, &st), 0);
    assert_int_equal((size_t)st.st_size, out);
    assert_string_equal(strrchr(tail, '\n') + 1, "last words");
}

static void children_that_hold_a_pipe_are_not_waited_for(void **state)
{
    struct bench *bench = *state;
    char tail[STREAMS_TAIL_MAX];
    bench->set.log_dir = bench->dir;
    console_file(bench, 2, "err");
    begin(bench, 0, 1);
    AUTO_CLOSE int held = dup(bench->ends[0].err);
    say(held, "its last line");
    streams_started(bench->streams, 0);
    streams_finish(bench->streams, 0);
    assert_string_equal(streams_tail(bench->streams, 0, tail), "its last line");
    end(bench);
    console_is(bench, "err", "its last line");
}

static unsigned entries(const char *dir)
{
    unsigned n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void a_temporary_directory_stays_only_with_something_in_it(void **state)
{
    struct bench *bench = *state;
    AUTO_FREE char *tmp = path_in(bench, "tmp");
    assert_int_equal(mkdir(tmp, 0700), 0);
    setenv("TMPDIR", tmp, 1);
    begin(bench, 0, 2);
    begin(bench, 1, 2);
    assert_int_equal(entries(tmp), 1);
    streams_started(bench->streams, 0);
    streams_started(bench->streams, 1);
    end(bench);
    assert_int_equal(entries(tmp), 0);
    begin(bench, 0, 2);
    AUTO_FREE char *error = mem_strdup(bench->ends[1].error_file);
    close(open(error, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    streams_started(bench->streams, 0);
    streams_started(bench->streams, 1);
    end(bench);
    unsetenv("TMPDIR");
    assert_int_equal(entries(tmp), 1);
    assert_int_equal(access(error, F_OK), 0);
    assert_int_equal(strncmp(error + strlen(tmp), "/torchelastic_", 14), 0);
}

static void the_same_attempt_goes_on_in_its_files(void **state)
{
    struct bench *bench = *state;
    char tail[STREAMS_TAIL_MAX];
    bench->set.log_dir = bench->dir;
    bench->set.redirects.all = 2;
    begin(bench, 0, 1);
    AUTO_FREE char *log = beside(bench, 0, "stderr.log");
    AUTO_FREE char *error = mem_strdup(bench->ends[0].error_file);
    say(bench->ends[0].err, "first round\n");
    close(open(error, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    begin(bench, 0, 1);
    assert_int_not_equal(access(error, F_OK), 0); /* of the round before */
    assert_string_equal(streams_tail(bench->streams, 0, tail), "");
    say(bench->ends[0].err, "second round\n");
    assert_string_equal(streams_tail(bench->streams, 0, tail), "second round");
    streams_started(bench->streams, 0);
    end(bench);
    file_is(log, "first round\nsecond round\n");
}

static void no_files_and_bad_places(void **state)
{
    struct bench *bench = *state;
    struct err err;
    AUTO_FREE char *file = path_in(bench, "file");
    bench->set.log_dir = "/dev/null";
    bench->set.tee.all = 3;
    bench->set.no_stderr_tail = true;
    begin(bench, 0, 1);
    assert_string_equal(bench->ends[0].error_file, "");
    assert_int_equal(bench->ends[0].out, 1);
    assert_int_equal(bench->ends[0].err, 2);
    end(bench);
    close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    bench->set.log_dir = file;
    assert_null(streams_create(&bench->loop, &bench->set, &err));
    assert_non_null(strstr(err.what, "is not a directory"));
    AUTO_FREE char *below = mem_printf("%s/below", file);
    bench->set.log_dir = below;
    bench->streams = streams_create(&bench->loop, &bench->set, &err);
    assert_int_equal(streams_open(bench->streams, 0, 0, &bench->ends[0], &err), -1);
    assert_non_null(strstr(err.what, "--log-dir"));
    end(bench);
}

static void the_prefix_can_be_chosen(void **state)
{
    struct bench *bench = *state;
    bench->set.log_dir = bench->dir;
    bench->set.tee.all = 1;
    setenv("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "[${role_name}/$rank/${local_rank}] $$ $x ", 1);
    console_file(bench, 1, "out");
    bench->streams = NULL;
    struct err err;
    bench->streams = streams_create(&bench->loop, &bench->set, &err);
    streams_round(bench->streams, 8);
    begin(bench, 0, 2);
    unsetenv("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE");
    say(bench->ends[1].out, "hello\n");
    streams_started(bench->streams, 0);
    streams_started(bench->streams, 1);
    end(bench);
    console_is(bench, "out", "[default/9/1] $ $x hello\n");
}

/* ---- parts ---- */

/* However a stream is cut into reads, the same lines come of it. */
static void lines_do_not_depend_on_reads(void **state)
{
    (void)state;
    const char text[] = "a\n\r\nbb\rccc\r\r\nd\n\nno end";
    const char want[] = "P:a\nP:\nP:bb\nP:ccc\nP:\nP:d\nP:\nP:no end\n";
    const char *word[] = { "c", "no" };
    struct words filters = { .at = word, .n = 2 };
    size_t len = sizeof text - 1;
    for (uint32_t cuts = 0; cuts < 1u << (len - 1); cuts += 37) {
        struct buf out = BUF_INIT(4096), copy = BUF_INIT(4096);
        struct line_filter lines;
        line_filter_init(&lines, "P:", &filters);
        size_t from = 0;
        for (size_t i = 1; i <= len; i++)
            if (i == len || cuts >> (i - 1) & 1) {
                line_filter_take(&lines, text + from, i - from, &out, &copy);
                from = i;
            }
        line_filter_end(&lines, &out, &copy);
        assert_string_equal(buf_str(&out), want);
        assert_string_equal(buf_str(&copy), "P:ccc\nP:no end\n");
        line_filter_fini(&lines);
        buf_fini(&out);
        buf_fini(&copy);
    }
}

static void a_line_without_end_is_bounded(void **state)
{
    (void)state;
    struct buf out = BUF_INIT(8u << 20), copy = BUF_INIT(16);
    struct line_filter lines;
    char chunk[4096];
    line_filter_init(&lines, "P:", NULL);
    memset(chunk, 'x', sizeof chunk);
    for (size_t i = 0; i < 3 * (LINE_MAX_HELD / sizeof chunk); i++) {
        line_filter_take(&lines, chunk, sizeof chunk, &out, &copy);
        assert_true(lines.held.len <= LINE_MAX_HELD);
    }
    line_filter_end(&lines, &out, &copy);
    assert_int_equal(out.len, 3 * (LINE_MAX_HELD + 3));
    line_filter_fini(&lines);
    buf_fini(&out);
    buf_fini(&copy);
}

static void tails_are_clean_and_short(void **state)
{
    (void)state;
    char out[64], small[16];
    const char raw[] = "cut off\n\033[31mred\033[0m\a\n 10%\r 99%\r\nbad \xff \xe4\xb8\xad\tx\n\n";
    assert_string_equal(tail_clean(raw, sizeof raw - 1, true, out, sizeof out),
                        "red\n 99%\nbad ? \xe4\xb8\xad    x");
    assert_string_equal(tail_clean("one\ntwo\nthree\nfour", 18, false, small, sizeof small),
                        "two\nthree\nfour");
    assert_string_equal(tail_clean("\n\n", 2, true, out, sizeof out), "");
    assert_string_equal(tail_clean("", 0, false, out, sizeof out), "");
    struct tail tail = { .bytes = NULL };
    char line[1000], cleaned[STREAMS_TAIL_MAX];
    for (int i = 0; i < 100; i++) {
        memset(line, 'y', sizeof line);
        line[sizeof line - 1] = '\n';
        tail_add(&tail, line, sizeof line);
    }
    tail_add(&tail, "the end\n", 8);
    assert_true(tail.cut && tail.len == TAIL_KEPT);
    tail_clean(tail.bytes, tail.len, tail.cut, cleaned, sizeof cleaned);
    assert_string_equal(strrchr(cleaned, '\n') + 1, "the end");
    assert_non_null(strstr(cleaned, "yyy...\n"));
    assert_true(strcspn(cleaned, "\n") <= TAIL_LINE_MAX);
    tail_fini(&tail);
}

#define STREAMS_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    alarm(600);
    const struct CMUnitTest tests[] = {
        STREAMS_TEST(nothing_asked_for_nothing_copied),
        STREAMS_TEST(files_lie_where_torchrun_puts_them),
        STREAMS_TEST(teed_lines_carry_the_prefix_and_never_mix),
        STREAMS_TEST(matching_lines_are_copied),
        STREAMS_TEST(ranks_not_shown_go_nowhere_but_have_a_tail),
        STREAMS_TEST(an_unfinished_line_shows_soon),
        STREAMS_TEST(binary_output_is_not_changed),
        STREAMS_TEST(a_blocked_console_makes_the_rank_wait),
        STREAMS_TEST(a_blocked_socket_too),
        STREAMS_TEST(a_console_that_went_away_is_no_reason_to_die),
        STREAMS_TEST(children_that_hold_a_pipe_are_not_waited_for),
        STREAMS_TEST(a_temporary_directory_stays_only_with_something_in_it),
        STREAMS_TEST(the_same_attempt_goes_on_in_its_files),
        STREAMS_TEST(no_files_and_bad_places),
        STREAMS_TEST(the_prefix_can_be_chosen),
        cmocka_unit_test(lines_do_not_depend_on_reads),
        cmocka_unit_test(a_line_without_end_is_bounded),
        cmocka_unit_test(tails_are_clean_and_short),
    };
    return cmocka_run_group_tests_name("launch/streams", tests, NULL, NULL);
}
