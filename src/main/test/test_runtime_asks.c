/* What muster-node says of the ways to run images, as its lines are read: also those of another
 * version, of one that crashes, and of none. The programs are scripts, because none of this is what
 * the muster-node of this version says. */
#include "main/runtime_asks.h"

#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

struct world {
    struct arena *arena;
    char dir[40];
    char *program;
    struct runtime_checks checks;
    struct err err;
};

static int begin(void **state)
{
    struct world *w = mem_new(sizeof *w);
    w->arena = arena_create();
    memcpy(w->dir, "/tmp/muster-run-XXXXXX", sizeof "/tmp/muster-run-XXXXXX");
    if (!mkdtemp(w->dir))
        return -1;
    w->program = file_join(w->dir, "muster-node");
    *state = w;
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    int rc = file_remove_tree(w->dir, NULL);
    free(w->program);
    arena_destroy(w->arena);
    free(w);
    return rc;
}

/* A muster-node that runs this shell text. */
static void ask(struct world *w, const char *text)
{
    const char *script = arena_printf(w->arena, "#!/bin/sh\n%s\n", text);
    assert_int_equal(file_replace(w->program, script, strlen(script), 0700, &w->err), 0);
    runtime_asks_first(w->arena, w->program, "/images", &w->checks);
}

/* What is said when nothing is known: images cannot be run, and nothing else is lost. */
static void nothing_works(const struct world *w, const char *why)
{
    assert_int_equal(w->checks.n, 1);
    assert_int_equal(w->checks.at[0].runtime, RUNTIME_BWRAP);
    assert_false(w->checks.at[0].works);
    assert_string_equal(w->checks.at[0].why, why);
    assert_int_equal(runtime_choose(&w->checks, RUNTIME_AUTO), RUNTIME_SERVER);
}

static void lines_in_their_order(void **state)
{
    struct world *w = *state;
    ask(w, "echo 'podman works'; echo 'bwrap no user namespaces are off: sysctl x=1'");
    assert_int_equal(w->checks.n, 2);
    assert_int_equal(w->checks.at[0].runtime, RUNTIME_PODMAN);
    assert_true(w->checks.at[0].works);
    assert_string_equal(w->checks.at[0].why, "");
    assert_int_equal(w->checks.at[1].runtime, RUNTIME_BWRAP);
    assert_false(w->checks.at[1].works);
    assert_string_equal(w->checks.at[1].why, "user namespaces are off: sysctl x=1");
    assert_int_equal(runtime_choose(&w->checks, RUNTIME_AUTO), RUNTIME_PODMAN);
}

static void what_works_with_less(void **state)
{
    struct world *w = *state;
    ask(w, "echo 'bwrap works one-user shares-pids'; echo 'podman works a-later-mark one-user'");
    assert_true(w->checks.at[0].works && w->checks.at[0].one_user);
    assert_true(*w->checks.at[0].why != '\0'); /* what tasks there lack */
    assert_true(w->checks.at[1].works && w->checks.at[1].one_user);
    assert_string_equal(w->checks.at[1].why, "");
}

/* Words of a failure are no marks. */
static void a_reason_is_only_a_reason(void **state)
{
    struct world *w = *state;
    ask(w, "echo 'bwrap no one-user shares-pids'");
    assert_false(w->checks.at[0].one_user);
    assert_string_equal(w->checks.at[0].why, "one-user shares-pids");
    ask(w, "echo 'bwrap no'");
    assert_string_equal(w->checks.at[0].why, "");
    assert_false(w->checks.at[0].works);
}

/* Newer ways are not known here, and do not hide those that are. */
static void lines_of_another_version(void **state)
{
    struct world *w = *state;
    ask(w, "echo 'youki works'; echo; echo bwrap; echo 'server works'; echo 'podman works'");
    assert_int_equal(w->checks.n, 1);
    assert_int_equal(w->checks.at[0].runtime, RUNTIME_PODMAN);
    ask(w, "echo 'youki works'");
    nothing_works(w, "muster-node does not say whether it works");
    ask(w, "for i in 1 2 3 4 5 6 7 8 9; do echo 'podman works'; done");
    assert_true(w->checks.n <= RUNTIME_N);
}

/* The host is no way to run an image. */
static void the_host_alone_says_nothing(void **state)
{
    struct world *w = *state;
    ask(w, "echo 'host works'");
    nothing_works(w, "muster-node does not say whether it works");
}

static void one_that_fails(void **state)
{
    struct world *w = *state;
    ask(w, "echo 'bwrap works'; exit 1");
    nothing_works(w, "muster-node does not say whether it works");
    ask(w, "echo 'bwrap works'; kill -9 $$");
    nothing_works(w, "muster-node does not say whether it works");
    ask(w, "exit 0");
    nothing_works(w, "muster-node does not say whether it works");
    ask(w, "echo 'bwrap works' >&2"); /* its complaints are no answer */
    nothing_works(w, "muster-node does not say whether it works");
}

static void none_at_all(void **state)
{
    struct world *w = *state;
    runtime_asks_first(w->arena, NULL, "/images", &w->checks);
    nothing_works(w, "there is no muster-node");
    runtime_asks_first(w->arena, w->program, "/images", &w->checks); /* no such file */
    nothing_works(w, "muster-node does not say whether it works");
    assert_int_equal(file_replace(w->program, "x", 1, 0600, &w->err), 0);
    runtime_asks_first(w->arena, w->program, "/images", &w->checks); /* nobody may run it */
    nothing_works(w, "muster-node does not say whether it works");
}

/* Both questions name the place of images; the shorter one is asked when a server starts. */
static void what_it_is_called_with(void **state)
{
    static const char script[] = "#!/bin/sh\necho \"bwrap no $# $1 $2\"\n";
    struct world *w = *state;
    assert_int_equal(file_replace(w->program, script, strlen(script), 0700, &w->err), 0);
    runtime_asks_first(w->arena, w->program, "/a b/images", &w->checks);
    assert_string_equal(w->checks.at[0].why, "2 runtimes-first /a b/images");
    runtime_asks_all(w->arena, w->program, "/a b/images", &w->checks);
    assert_string_equal(w->checks.at[0].why, "2 runtimes /a b/images");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(lines_in_their_order),
        CASE(what_works_with_less),
        CASE(a_reason_is_only_a_reason),
        CASE(lines_of_another_version),
        CASE(the_host_alone_says_nothing),
        CASE(one_that_fails),
        CASE(none_at_all),
        CASE(what_it_is_called_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
