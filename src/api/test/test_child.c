/* Children of the server: what they print, how they end, input, a bound of output, a bound of time.
 * A child that nobody waits for any more leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/child.h"

#include <string.h>
#include <unistd.h>

#define LONG_MS 600000

struct seen {
    unsigned times;
    char text[64];
    size_t len;
    bool good, killed;
};

static void on_done(void *arg, const struct child_end *end)
{
    struct seen *seen = arg;
    assert_true(end->len < sizeof seen->text);
    *seen = (struct seen){
        .times = seen->times + 1, .len = end->len, .good = end->good, .killed = end->killed
    };
    memcpy(seen->text, end->text, end->len + 1);
}

/* Runs a line of the shell until it has ended. */
static struct seen run(const char *text, int input, size_t max, uint64_t limit_ms)
{
    char *args[] = { (char *)"sh", (char *)"-c", (char *)(uintptr_t)text, NULL };
    struct child_line line = { .program = "/bin/sh",
                               .args = args,
                               .no_environment = true,
                               .input = input,
                               .text_max = max,
                               .limit_ms = limit_ms };
    struct seen seen = { .times = 0 };
    struct err err;
    uv_loop_t loop;
    uv_loop_init(&loop);
    assert_non_null(child_start(&loop, &line, on_done, &seen, &err));
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(seen.times, 1);
    return seen;
}

static void what_it_prints_and_how_it_ends(void **state)
{
    (void)state;
    struct seen seen = run("printf 'one\\ntwo'", -1, 63, LONG_MS);
    assert_true(seen.good && !seen.killed);
    assert_string_equal(seen.text, "one\ntwo");
    seen = run("echo what; exit 3", -1, 63, LONG_MS);
    assert_true(!seen.good && !seen.killed);
    assert_string_equal(seen.text, "what\n");
    seen = run("kill -9 $$", -1, 63, LONG_MS);
    assert_true(!seen.good && seen.killed && seen.len == 0);
}

static void its_end_is_that_of_both(void **state)
{
    (void)state;
    /* the output ends first, then the process; then the other way round */
    struct seen seen = run("echo first; exec >&-; read x </dev/null; exit 4", -1, 63, LONG_MS);
    assert_true(!seen.good);
    assert_string_equal(seen.text, "first\n");
    seen =
        run("(until ! kill -0 $$; do :; done; echo later) 2>/dev/null & exit 0", -1, 63, LONG_MS);
    assert_true(seen.good);
    assert_string_equal(seen.text, "later\n");
}

static void too_much_is_dropped(void **state)
{
    (void)state;
    struct seen seen = run("head -c 300000 /dev/zero | tr '\\0' x", -1, 10, LONG_MS);
    assert_true(seen.good);
    assert_string_equal(seen.text, "xxxxxxxxxx");
    seen = run("echo", -1, 0, LONG_MS);
    assert_true(seen.good && seen.len == 0);
}

static void its_time_is_up(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    /* what it started has its output, and lives until there is nothing to read */
    struct seen seen = run("exec 3<&0; cat <&3 & wait", ends[0], 63, 1);
    assert_true(seen.killed && !seen.good);
    close(ends[0]);
    close(ends[1]);
}

static void it_reads_what_it_is_given(void **state)
{
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "given", 5), 5);
    close(ends[1]);
    struct seen seen = run("cat; echo \" ${HOME-nothing}\"", ends[0], 63, LONG_MS);
    close(ends[0]);
    assert_string_equal(seen.text, "given nothing\n");
}

static void nobody_waits_for_it(void **state)
{
    char *args[] = { (char *)"cat", NULL };
    struct seen seen = { .times = 0 };
    struct err err;
    int ends[2];
    uv_loop_t loop;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    uv_loop_init(&loop);
    struct child_line line = {
        .program = "/bin/cat", .args = args, .input = ends[0], .text_max = 9, .limit_ms = LONG_MS
    };
    child_drop(child_start(&loop, &line, on_done, &seen, &err));
    child_drop(NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    line.program = "/no/such/program";
    assert_null(child_start(&loop, &line, on_done, &seen, &err));
    assert_non_null(strstr(err.what, "/no/such/program"));
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(seen.times, 0);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_prints_and_how_it_ends),
        cmocka_unit_test(its_end_is_that_of_both),
        cmocka_unit_test(too_much_is_dropped),
        cmocka_unit_test(its_time_is_up),
        cmocka_unit_test(it_reads_what_it_is_given),
        cmocka_unit_test(nobody_waits_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
