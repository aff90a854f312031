/* What settings say about accounts, held against this machine: settings that contradict each other
 * are refused with what to write, and where jobs of others do not run nothing is asked for. */
#include "main/account_settings.h"

#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
    struct arena *arena;
    char dir[40];
    const char *flags[SETTING_N];
    struct err err;
};

static int begin(void **state)
{
    struct world *w = mem_new(sizeof *w);
    w->arena = arena_create();
    memcpy(w->dir, "/tmp/muster-acc-XXXXXX", sizeof "/tmp/muster-acc-XXXXXX");
    if (!mkdtemp(w->dir))
        return -1;
    setenv("XDG_CONFIG_HOME", w->dir, 1);
    unsetenv("MUSTER_CONFIG");
    *state = w;
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    int rc = file_remove_tree(w->dir, NULL);
    arena_destroy(w->arena);
    free(w);
    return rc;
}

/* Without a program to ask the name service by. */
static int check(struct world *w)
{
    struct config config;
    if (config_load(w->arena, w->flags, &config, &w->err))
        fail_msg("%s", w->err.what);
    return account_settings_check(&config, NULL, &w->err);
}

static void refuses(struct world *w, const char *what, const char *hint)
{
    assert_int_equal(check(w), -1);
    assert_int_equal(w->err.code, ERR_INPUT);
    assert_non_null(strstr(w->err.what, what));
    assert_non_null(strstr(w->err.hint, hint));
}

/* Jobs of others run as themselves where the server is root's. */
static bool has_accounts(void)
{
    return geteuid() == 0;
}

static void nothing_is_said(void **state)
{
    struct world *w = *state;
    assert_int_equal(check(w), 0);
    w->flags[SETTING_SHARED_ACCOUNT] = "yes";
    assert_int_equal(check(w), 0);
}

/* One says as whom strangers' jobs run, the other that all run as the server. */
static void two_answers_to_one_question(void **state)
{
    struct world *w = *state;
    w->flags[SETTING_JOB_ACCOUNT] = "nobody";
    w->flags[SETTING_SHARED_ACCOUNT] = "yes";
    refuses(w, "job_account is nobody, and shared_account", "leave one of them out");
}

static void an_account_where_there_are_none(void **state)
{
    struct world *w = *state;
    if (has_accounts())
        skip();
    w->flags[SETTING_JOB_ACCOUNT] = "nobody";
    assert_int_equal(check(w), 0); /* the log says so */
}

/* ---- the daemon for shares of devices ---- */

static void the_daemons_directory_is_a_path(void **state)
{
    struct world *w = *state;
    w->flags[SETTING_GPU_MPS] = "run/mps";
    refuses(w, "gpu_mps is \"run/mps\"", "begins with /");
    w->flags[SETTING_GPU_MPS] = "/run/mps/{uid}";
    assert_int_equal(check(w), 0);
    w->flags[SETTING_GPU_MPS] = "";
    assert_int_equal(check(w), 0);
}

static void a_daemon_serves_one_account(void **state)
{
    struct world *w = *state;
    w->flags[SETTING_GPU_MPS] = "/run/mps";
    if (has_accounts())
        refuses(w, "gpu_mps is /run/mps for the jobs of all accounts", "{uid}");
    w->flags[SETTING_SHARED_ACCOUNT] = "yes"; /* then there is one */
    assert_int_equal(check(w), 0);
}

/* ---- the directory of other accounts ---- */

static void others_have_to_reach_their_directory(void **state)
{
    struct world *w = *state;
    if (!has_accounts())
        skip();
    AUTO_FREE char *closed = file_join(w->dir, "closed"), *below = file_join(closed, "a/b");
    assert_int_equal(chmod(w->dir, 0755), 0);
    assert_int_equal(mkdir(closed, 0755), 0);
    w->flags[SETTING_USERS_DIR] = below; /* neither a nor b is there: they will be made */
    assert_int_equal(check(w), 0);
    assert_int_equal(chmod(closed, 0700), 0);
    refuses(w, arena_printf(w->arena, "%s lets nobody else through", closed), "/var/lib");
    w->flags[SETTING_USERS_DIR] = closed; /* itself may be closed: its own folders are not */
    assert_int_equal(check(w), 0);
    assert_int_equal(chmod(w->dir, 0700), 0);
    refuses(w, arena_printf(w->arena, "%s lets nobody else through", w->dir), "/var/lib");
}

static void their_directory_is_a_path(void **state)
{
    struct world *w = *state;
    if (!has_accounts())
        skip();
    w->flags[SETTING_USERS_DIR] = "users";
    refuses(w, "users_dir is \"users\"", "begins with /");
    w->flags[SETTING_SHARED_ACCOUNT] = "yes"; /* nobody uses it then */
    assert_int_equal(check(w), 0);
}

static void a_file_on_the_way(void **state)
{
    struct world *w = *state;
    if (!has_accounts())
        skip();
    AUTO_FREE char *file = file_join(w->dir, "file"), *below = file_join(file, "a/b");
    assert_int_equal(chmod(w->dir, 0755), 0);
    assert_int_equal(file_replace(file, "x", 1, 0755, &w->err), 0);
    w->flags[SETTING_USERS_DIR] = below;
    assert_int_equal(check(w), -1);
    assert_non_null(strstr(w->err.what, "users_dir"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nothing_is_said),
        CASE(two_answers_to_one_question),
        CASE(an_account_where_there_are_none),
        CASE(the_daemons_directory_is_a_path),
        CASE(a_daemon_serves_one_account),
        CASE(others_have_to_reach_their_directory),
        CASE(their_directory_is_a_path),
        CASE(a_file_on_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
