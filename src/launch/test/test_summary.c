/* The summary of a failed run, and the error files it speaks of: who is to blame, what is told
 * once. Hostile text of a rank is harmless on a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "launch/error_file.h"
#include "launch/summary.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DEATHS_MAX 64

struct screen {
    struct settings set;
    struct rdzv_end end;
    struct rdzv_victim deaths[DEATHS_MAX];
    struct buf out;
};

static struct screen *screen_of(size_t n, struct rdzv_death first)
{
    struct screen *screen = mem_new(sizeof *screen);
    screen->set = (struct settings){ .script = "/home/ada/train.py" };
    screen->end = (struct rdzv_end){
        .kind = RDZV_END_FAILED, .text = "", .deaths = screen->deaths, .n_deaths = n
    };
    for (size_t i = 0; i < n; i++) {
        screen->deaths[i] = (struct rdzv_victim){ .node = i % 2 ? "n2" : "n1", .death = first };
        screen->deaths[i].death.rank = (uint32_t)i;
        screen->deaths[i].death.local_rank = (uint32_t)i / 2;
        screen->deaths[i].death.age_us = 1000000 - 4000 * i;
    }
    screen->out = BUF_INIT(1u << 20);
    return screen;
}

static void print(struct screen *screen)
{
    buf_clear(&screen->out);
    summary_print(&screen->set, &screen->end, false, &screen->out);
}

static void has(const struct screen *screen, const char *text)
{
    if (!strstr(buf_str(&screen->out), text))
        fail_msg("\"%s\" is missing in:\n%s", text, buf_str(&screen->out));
}

static void has_not(const struct screen *screen, const char *text)
{
    if (strstr(buf_str(&screen->out), text))
        fail_msg("\"%s\" is in:\n%s", text, buf_str(&screen->out));
}

static size_t lines_of(const struct screen *screen)
{
    size_t n = 0;
    for (const char *at = buf_str(&screen->out); (at = strchr(at, '\n')); at++)
        n++;
    return n;
}

static void drop(struct screen *screen)
{
    buf_fini(&screen->out);
    free(screen);
}

static const struct rdzv_death raised = {
    .pid = 1322,
    .code = 1,
    .message = "ValueError: batch is empty",
    .error_file = "/logs/r/attempt_0/0/error.json",
    .tail = "Traceback (most recent call last):\n  File \"/home/ada/train.py\", line 88, in step\n"
            "ValueError: batch is empty",
};

static void the_guilty_one_and_its_exception(void **state)
{
    (void)state;
    struct screen *screen = screen_of(4, raised);
    for (size_t i = 1; i < 4; i++)
        screen->deaths[i].death =
            (struct rdzv_death){ .rank = (uint32_t)i, .signal = SIGTERM, .victim = true };
    screen->set.tee.all = 3;
    print(screen);
    assert_string_equal(
        buf_str(&screen->out),
        "train.py failed: rank 0 (local rank 0 on n1, pid 1322) exited with 1\n"
        "  ValueError: batch is empty\n"
        "  where       train.py:88, from its error file /logs/r/attempt_0/0/error.json\n"
        "  stopped     3 other ranks were stopped because of it\n"
        "  its logs    /logs/r/attempt_0/0 on n1\n"
        "  restarts    none were allowed; --max-restarts 3 would have started it again\n");
    screen->set.rdzv.max_restarts = 2;
    screen->set.tee.all = 0;
    screen->set.kind = PROGRAM_MODULE;
    screen->set.script = "pkg.train";
    screen->end.n_deaths = 2;
    print(screen);
    has(screen, "-m pkg.train failed: rank 0");
    has(screen, "1 other rank was stopped");
    has(screen, "all 2 of --max-restarts are spent");
    has_not(screen, "its logs");
    screen->set.rdzv.max_restarts = 1;
    print(screen);
    has(screen, "the 1 of --max-restarts is spent");
    drop(screen);
}

static void equal_tails_are_told_once(void **state)
{
    (void)state;
    struct rdzv_death death = { .code = 1, .tail = "[rank0]: one\n[rank0]: boom at 0x12" };
    struct screen *screen = screen_of(8, death);
    for (size_t i = 1; i < 8; i++)
        screen->deaths[i].death.tail = "[rank7]: one\n[rank7]: boom at 0x34";
    screen->deaths[3].death.tail = "disk full\nOSError: no space";
    print(screen);
    has(screen, "exited with 1, first of 8\n");
    has(screen, "  7 ranks printed this (numbers may differ); what others printed is below:\n"
                "  | [rank0]: one\n  | [rank0]: boom at 0x12\n");
    has_not(screen, "0x34");
    has(screen, "  then        rank 3 on n2 12 ms later exited with 1, it differs:\n"
                "  | disk full\n  | OSError: no space\n");
    assert_true(lines_of(screen) <= 24);
    drop(screen);
}

static void the_ones_after_are_one_line_each(void **state)
{
    (void)state;
    struct rdzv_death death = { .code = 1, .tail = "first" };
    struct screen *screen = screen_of(12, death);
    for (size_t i = 1; i < 12; i++)
        screen->deaths[i].death.tail = "RuntimeError: Connection closed by peer [127.0.0.1]:4";
    screen->deaths[1].death.signal = SIGABRT;
    print(screen);
    has(screen, "rank 1 on n2 4 ms later died by SIGABRT (abort): RuntimeError: Conn");
    has(screen, "ranks 2, 3, 4, 5, 6, 7 and 4 more exited with 1: RuntimeError");
    has(screen, "| first\n");
    assert_true(lines_of(screen) <= 24);
    for (size_t i = 0; i < 12; i++)
        screen->deaths[i].death.code = (int32_t)i + 1;
    print(screen);
    has(screen, "more failed in other ways");
    assert_true(lines_of(screen) <= 24);
    drop(screen);
}

static void every_way_to_die_has_its_words(void **state)
{
    (void)state;
    static const struct {
        struct rdzv_death death;
        const char *words, *why;
    } cases[] = {
        { { .signal = SIGKILL }, "was killed (SIGKILL)", "not by this launcher" },
        { { .signal = SIGKILL, .oom = true },
          "was killed (SIGKILL by the kernel, out of memory)",
          "a smaller batch" },
        { { .signal = SIGSEGV }, "died by SIGSEGV (segmentation fault)", "PYTHONFAULTHANDLER=1" },
        { { .signal = SIGBUS }, "died by SIGBUS (bus error)", "df -h /dev/shm" },
        { { .signal = SIGABRT, .at_exit = true },
          "died by SIGABRT (abort) after its script had ended",
          "torch.distributed.destroy_process_group()" },
        { { .signal = 40 }, "died by signal 40\n", "restarts" },
        { { .code = 7 }, "exited with 7\n", "restarts" },
        { { .code = 137 }, "exited with 137 (a shell's word for SIGKILL)", "restarts" },
        { { .code = 127, .spared = true, .pid = 12 },
          "exited with 127 (command not found)",
          "no restart was spent: the program never started" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct screen *screen = screen_of(1, cases[i].death);
        print(screen);
        has(screen, cases[i].words);
        has(screen, cases[i].why);
        has(screen, "it wrote nothing to stderr");
        has_not(screen, "first of");
        assert_true(lines_of(screen) <= 24);
        drop(screen);
    }
}

static void a_program_that_is_not_there_did_not_start(void **state)
{
    (void)state;
    struct rdzv_death death = { .code = 2, .spared = true };
    death.message = "script a.py: there is no such file in /home";
    death.error_file = "/logs/r/attempt_0/0/error.json";
    struct screen *screen = screen_of(1, death);
    screen->deaths[0].death.pid = 0;
    print(screen);
    assert_string_equal(buf_str(&screen->out),
                        "train.py did not start on n1\n"
                        "  script a.py: there is no such file in /home\n"
                        "  restarts    no restart was spent: the program never started\n");
    drop(screen);
}

static void who_was_first_may_be_open(void **state)
{
    (void)state;
    struct screen *screen = screen_of(2, raised);
    screen->end.undecided = true;
    screen->deaths[1].death.rank = 5;
    print(screen);
    has(screen, "  first?      at the same moment as rank 5 on n2: either may have been first\n");
    has_not(screen, "first of");
    drop(screen);
}

static void other_ends_say_what_to_do(void **state)
{
    (void)state;
    static const struct {
        enum rdzv_end_kind kind;
        const char *first, *advice;
    } cases[] = {
        { RDZV_END_LOST, "train.py ended: too few nodes are left\n  n3 is gone\n", "smaller MIN" },
        { RDZV_END_TIMEOUT, "train.py did not start: too few nodes came\n", "--rdzv-endpoint" },
        { RDZV_END_CHECK, "train.py was stopped by the node check\n", "have that node looked at" },
        { RDZV_END_STOPPED, "train.py was stopped\n  n3 is gone\n", "" },
        { RDZV_END_FAILED, "train.py failed\n  n3 is gone\n", "" },
    };
    struct screen *screen = screen_of(0, raised);
    screen->end.text = "n3 is gone";
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        screen->end.kind = cases[i].kind;
        print(screen);
        has(screen, cases[i].first);
        has(screen, cases[i].advice);
    }
    screen->end.kind = RDZV_END_DONE;
    print(screen);
    assert_string_equal(buf_str(&screen->out), "");
    drop(screen);
}

static void only_victims_is_an_end_too(void **state)
{
    (void)state;
    struct screen *screen = screen_of(2, (struct rdzv_death){ .signal = SIGTERM, .victim = true });
    screen->end.text = "the leader said so";
    print(screen);
    has(screen, "train.py failed\n  the leader said so\n");
    drop(screen);
}

/* Whatever a rank wrote, the terminal sees printable text only, and not too much of it. */
static void hostile_text_is_harmless(void **state)
{
    (void)state;
    char *huge = mem_new(100001);
    memset(huge, 'A', 100000);
    struct rdzv_death death = { .code = 1,
                                .message = "\033]0;title\a\x9b\xff\r\nsecond\nthird\n4\n5\n6",
                                .tail = huge };
    struct screen *screen = screen_of(3, death);
    screen->deaths[1].death.message = huge;
    screen->deaths[2].death.message = screen->deaths[2].death.error_file = NULL;
    screen->deaths[2].death.tail = "File \"x\", line";
    screen->set.script = "a\nb\033";
    print(screen);
    for (const char *at = buf_str(&screen->out); *at; at++)
        assert_true(*at == '\n' || (*at >= ' ' && *at < 127));
    assert_true(screen->out.len < 3000);
    assert_true(lines_of(screen) <= 24);
    has_not(screen, "  5\n");
    drop(screen);
    free(huge);
}

static void colour_only_when_asked_for(void **state)
{
    (void)state;
    struct screen *screen = screen_of(1, raised);
    summary_print(&screen->set, &screen->end, true, &screen->out);
    has(screen, "\033[1;31mtrain.py failed\033[0m: rank 0");
    print(screen);
    has_not(screen, "\033");
    drop(screen);
}

/* ---- error files ---- */

static int read_text(struct arena *arena, const char *text, size_t len, struct error_file *out)
{
    char path[] = "/tmp/muster-error-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(file_write_all(fd, text, len), 0);
    close(fd);
    int rc = error_file_read(path, arena, out);
    unlink(path);
    return rc;
}

static void error_files_of_both_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message, *stack;
        uint64_t at_s;
    } good[] = {
        { "{\"message\": {\"message\": \"ValueError: boom\", \"extraInfo\": {\"py_callstack\": "
          "\"Traceback\\n x\", \"timestamp\": \"1795240372\"}}}",
          "ValueError: boom", "Traceback\n x", 1795240372 },
        { "{\"message\": \"plain\"}", "plain", "", 0 },
        { "{\"message\": \"plain\", \"timestamp\": 17}", "plain", "", 17 },
        { "{\"message\": {\"message\": \"m\", \"extraInfo\": {\"timestamp\": \"soon\"}}}", "m", "",
          0 },
    };
    static const char *const bad[] = { "",
                                       "{}",
                                       "[]",
                                       "{\"message\": 3}",
                                       "nope",
                                       "{\"message\": {\"message\": null}}",
                                       "{\"message\": \"cut off" };
    struct arena *arena = arena_create();
    struct error_file out;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_int_equal(read_text(arena, good[i].text, strlen(good[i].text), &out), 0);
        assert_string_equal(out.message, good[i].message);
        assert_string_equal(out.callstack, good[i].stack);
        assert_int_equal(out.at_s, good[i].at_s);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(read_text(arena, bad[i], strlen(bad[i]), &out), -1);
    arena_destroy(arena);
}

static void what_is_no_error_file(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct error_file out;
    char path[40];
    snprintf(path, sizeof path, "/tmp/muster-fifo-%d", (int)getpid());
    assert_int_equal(error_file_read("/tmp/muster-no-such-file", arena, &out), -1);
    assert_int_equal(error_file_read("/tmp", arena, &out), -1);
    assert_int_equal(error_file_read("", arena, &out), -1);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(error_file_read(path, arena, &out), -1); /* would wait for a writer */
    unlink(path);
    char *huge = mem_new(2u << 20);
    memset(huge, ' ', 2u << 20);
    static const char object[] = "{\"message\":\"m\"}";
    memcpy(huge, object, sizeof object - 1);
    assert_int_equal(read_text(arena, huge, 1u << 20, &out), 0);
    assert_int_equal(read_text(arena, huge, (1u << 20) + 1, &out), -1);
    free(huge);
    arena_destroy(arena);
}

int main(void)
{
    alarm(600);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_guilty_one_and_its_exception),
        cmocka_unit_test(equal_tails_are_told_once),
        cmocka_unit_test(the_ones_after_are_one_line_each),
        cmocka_unit_test(every_way_to_die_has_its_words),
        cmocka_unit_test(a_program_that_is_not_there_did_not_start),
        cmocka_unit_test(who_was_first_may_be_open),
        cmocka_unit_test(other_ends_say_what_to_do),
        cmocka_unit_test(only_victims_is_an_end_too),
        cmocka_unit_test(hostile_text_is_harmless),
        cmocka_unit_test(colour_only_when_asked_for),
        cmocka_unit_test(error_files_of_both_forms),
        cmocka_unit_test(what_is_no_error_file),
    };
    return cmocka_run_group_tests_name("launch/summary", tests, NULL, NULL);
}
