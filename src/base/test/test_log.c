/* The log as an operator sees it: stderr is a pipe here. One line for each event, levels that are
 * left out, and repeats of a line that are counted and said once. */
#include "base/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static int saved, from;

static int begin(void **state)
{
    (void)state;
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    from = ends[0];
    fcntl(from, F_SETFL, O_NONBLOCK);
    saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    return 0;
}

static int end(void **state)
{
    (void)state;
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(from);
    return 0;
}

static const char *said(void)
{
    static char text[20000];
    ssize_t n = read(from, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void one_line_each(void **state)
{
    (void)state;
    log_info("job.submitted", "job=%d queue=%s", 7, "gpu");
    assert_string_equal(said(), "info job.submitted job=7 queue=gpu\n");
    log_warn("odd", "name=%s", "a\nb\x1b[31m");
    assert_string_equal(said(), "warn odd name=a?b?[31m\n");
    log_error("bare", "%s", "");
    assert_string_equal(said(), "error bare\n");
    char longest[3000];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    log_info("long", "%s", longest);
    const char *text = said();
    assert_true(strlen(text) > 1000 && strlen(text) <= 1024);
    assert_int_equal(text[strlen(text) - 1], '\n');
}

static void levels(void **state)
{
    (void)state;
    log_debug("quiet", "%s", "x");
    assert_string_equal(said(), "");
    log_set_level(LOG_DEBUG);
    log_debug("loud", "%s", "x");
    assert_string_equal(said(), "debug loud x\n");
    log_set_level(LOG_ERROR);
    log_warn("quiet", "%s", "x");
    assert_string_equal(said(), "");
    log_set_level(LOG_INFO);
    assert_int_equal(log_level_from_word("warn"), LOG_WARN);
    assert_int_equal(log_level_from_word("loud"), -1);
}

static void repeats_are_counted(void **state)
{
    (void)state;
    for (int i = 0; i < 500; i++) {
        log_info("a", "x=%d", 1);
        log_info("b", "x=%d", 2);
    }
    assert_string_equal(said(), "info a x=1\ninfo b x=2\n");
    log_flush();
    const char *text = said();
    assert_non_null(strstr(text, "info a x=1 repeated=499\n"));
    assert_non_null(strstr(text, "info b x=2 repeated=499\n"));
    log_flush();
    assert_string_equal(said(), "");
    for (int i = 0; i < 100; i++) /* many different lines push the old ones out; all are said */
        log_info("c", "x=%d", i);
    text = said();
    size_t lines = 0;
    for (; (text = strchr(text, '\n')); text++)
        lines++;
    assert_int_equal(lines, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line_each),
        cmocka_unit_test(levels),
        cmocka_unit_test(repeats_are_counted),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
