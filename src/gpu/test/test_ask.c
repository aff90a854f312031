/* The process that asks the driver: one that crashes, hangs, is cut off or lies takes nothing
 * along, and what went wrong is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "gpu/ask.h"

#include "base/file.h"
#include "base/mem.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fix {
    char dir[64];
    struct arena *arena;
};

static int setup(void **state)
{
    static struct fix f;
    snprintf(f.dir, sizeof f.dir, "/tmp/muster-ask-XXXXXX");
    f.arena = arena_create();
    *state = &f;
    return mkdtemp(f.dir) ? 0 : -1;
}

static int teardown(void **state)
{
    struct fix *f = *state;
    arena_destroy(f->arena);
    unsetenv("MUSTER_GPU_TIMEOUT_S");
    return file_remove_tree(f->dir, NULL);
}

/* What is reported of a program that the shell runs so. */
static struct gpu_report asked(struct fix *f, const char *script)
{
    struct gpu_report report;
    struct err err;
    const char *path = arena_printf(f->arena, "%s/asks", f->dir);
    const char *text = arena_printf(f->arena, "#!/bin/sh\n%s\n", script);
    assert_int_equal(file_replace(path, text, strlen(text), 0700, &err), 0);
    gpu_ask(f->arena, path, &report);
    return report;
}

static void what_goes_wrong_is_said(void **state)
{
    static const char none[] = "the driver could not be asked";
    static const struct {
        const char *script, *error;
    } cases[] = {
        { "echo driver=1; echo end=1", "" },
        { "echo error=no luck; echo end=1", "no luck" },
        { "kill -SEGV $$", "the driver's library crashed (SIGSEGV)" },
        { "echo driver=1; echo end=1; kill -ABRT $$", "the driver's library crashed (SIGABRT)" },
        { "echo driver=1; echo end=1; exit 3", none },
        { "echo driver=1", none },
        { "printf 'driver=1\\nend'", none },
        { "echo what", none },
        { "exec /nowhere 2>&1", none },
        { "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end=1", none },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct gpu_report report = asked(*state, cases[i].script);
        assert_string_equal(report.error, cases[i].error);
        assert_int_equal(report.n, 0);
    }
}

static void a_program_that_is_not_there(void **state)
{
    struct fix *f = *state;
    struct gpu_report report;
    gpu_ask(f->arena, "/nowhere/muster", &report);
    assert_string_equal(report.error, "the driver could not be asked");
}

/* It is ended, and so is nobody's: it says who it is before it hangs. */
static void a_driver_that_hangs(void **state)
{
    struct fix *f = *state;
    AUTO_FREE char *pid = NULL, *path = file_join(f->dir, "pid");
    size_t len;
    struct err err;
    setenv("MUSTER_GPU_TIMEOUT_S", "1", 1);
    struct gpu_report report =
        asked(f, arena_printf(f->arena, "echo $$ >%s; echo driver=1; exec sleep 600", path));
    assert_string_equal(report.error, "the driver did not answer within 1 s");
    assert_string_equal(report.driver, "");
    assert_int_equal(file_read(path, 100, &pid, &len, &err), 0);
    assert_int_equal(kill((pid_t)strtol(pid, NULL, 10), 0), -1);
}

static void limits_are_read_strictly(void **state)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } cases[] = { { "1", 1000 },   { "600", 600000 }, { "0", 30000 },  { "601", 30000 },
                  { "1s", 30000 }, { "", 30000 },     { "-1", 30000 }, { " 5", 30000 } };
    (void)state;
    assert_true(gpu_ask_limit_ms() == 30000);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        setenv("MUSTER_GPU_TIMEOUT_S", cases[i].text, 1);
        assert_true(gpu_ask_limit_ms() == cases[i].ms);
    }
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = { T(what_goes_wrong_is_said), T(a_program_that_is_not_there),
                                        T(a_driver_that_hangs), T(limits_are_read_strictly) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
