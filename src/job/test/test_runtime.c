/* Which way to run its image a job gets of those that a machine has, and what it is told when there
 * is none. */
#include "job/runtime.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const struct runtime_checks none = {
    .at = { { .runtime = RUNTIME_HOST, .works = true, .why = "" },
            { .runtime = RUNTIME_BWRAP, .why = "skopeo is not installed" } },
    .n = 2
};
static const struct runtime_checks all = {
    .at = { { .runtime = RUNTIME_HOST, .works = true, .why = "" },
            { .runtime = RUNTIME_BWRAP, .works = true, .why = "" } },
    .n = 2
};

static void words_are_read_back(void **state)
{
    (void)state;
    for (size_t i = RUNTIME_AUTO; i < RUNTIME_N; i++)
        assert_int_equal(runtime_named(runtime_word((enum job_runtime)i)), i);
    assert_int_equal(runtime_named("server"), RUNTIME_SERVER);
    assert_int_equal(runtime_named("apptainer"), RUNTIME_SERVER);
    assert_int_equal(runtime_named(NULL), RUNTIME_SERVER);
}

static void the_host_is_never_chosen(void **state)
{
    static const struct runtime_checks empty = { .n = 0 };
    (void)state;
    assert_int_equal(runtime_choose(&all, RUNTIME_AUTO), RUNTIME_BWRAP);
    assert_int_equal(runtime_choose(&all, RUNTIME_BWRAP), RUNTIME_BWRAP);
    assert_int_equal(runtime_choose(&none, RUNTIME_AUTO), RUNTIME_SERVER);
    assert_int_equal(runtime_choose(&none, RUNTIME_BWRAP), RUNTIME_SERVER);
    assert_int_equal(runtime_choose(&empty, RUNTIME_AUTO), RUNTIME_SERVER);
}

static void each_says_why_not(void **state)
{
    AUTO_BUF struct buf text = BUF_INIT(200);
    (void)state;
    buf_puts(&text, "here: ");
    runtime_reasons(&none, RUNTIME_AUTO, &text);
    assert_string_equal(buf_str(&text), "here: bwrap: skopeo is not installed");
    buf_clear(&text);
    runtime_reasons(&all, RUNTIME_AUTO, &text);
    assert_string_equal(buf_str(&text), "");
}

int main(void)
{
    alarm(600);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_read_back),
        cmocka_unit_test(the_host_is_never_chosen),
        cmocka_unit_test(each_says_why_not),
    };
    return cmocka_run_group_tests_name("job/runtime", tests, NULL, NULL);
}
