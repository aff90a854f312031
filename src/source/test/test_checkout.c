/* Work trees made of the files that git makes: which names of branches, tags and commits a tree is
 * at, linked trees too. What is no work tree is told apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "source/checkout.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define ONE "1111111111111111111111111111111111111111"
#define TWO "2222222222222222222222222222222222222222"
#define TAG "3333333333333333333333333333333333333333"

static void put(const char *dir, const char *name, const char *text)
{
    struct err err;
    AUTO_FREE char *path = file_join(dir, name);
    AUTO_FREE char *folder = mem_strndup(path, (size_t)(strrchr(path, '/') - path));
    assert_int_equal(file_mkdirs(folder, 0700, &err), 0);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
}

static int make(void **state)
{
    char dir[] = "/tmp/checkout.XXXXXX";
    assert_non_null(mkdtemp(dir));
    put(dir, ".git/HEAD", "ref: refs/heads/main\n");
    put(dir, ".git/refs/heads/main", ONE "\n");
    put(dir, ".git/refs/heads/other", TWO "\n");
    put(dir, ".git/refs/heads/team/x", ONE "\n");
    put(dir, ".git/refs/tags/light", ONE "\n");
    put(dir, ".git/refs/tags/loose", TAG "\n");
    put(dir, ".git/packed-refs",
        "# pack-refs with: peeled\n" TAG " refs/tags/noted\n^" ONE "\n" TWO " refs/tags/v2\n" ONE
        " refs/remotes/origin/far\n");
    put(dir, "secret", ONE "\n");
    *state = mem_strdup(dir);
    return 0;
}

static int drop(void **state)
{
    struct err err;
    file_remove_tree(*state, &err);
    free(*state);
    return 0;
}

static void test_names(void **state)
{
    static const struct {
        const char *at;
        bool fits;
    } cases[] = {
        { "main", true },    { ONE, true },
        { "1111111", true }, { "111111", false },
        { "light", true },   { "noted", true },
        { "far", true },     { "team/x", true },
        { "other", false },  { TWO, false },
        { "v2", false },     { "loose", false },
        { "MAIN", false },   { "../../secret", false },
        { "/", false },      { "heads/main", false },
        { "", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        int rc = checkout_check(*state, cases[i].at, &err);
        if ((rc == 0) != cases[i].fits)
            fail_msg("%s: %s", cases[i].at, err.what);
        if (rc)
            assert_int_equal(err.code, ERR_CANNOT);
    }
}

static void test_what_it_is_at(void **state)
{
    struct err err;
    assert_int_equal(checkout_check(*state, "v2", &err), -1);
    assert_non_null(strstr(err.what, "\"v2\", and its directory is at branch main, commit 111111"));
    put(*state, ".git/HEAD", TWO "\n"); /* detached */
    assert_int_equal(checkout_check(*state, "v2", &err), 0);
    assert_int_equal(checkout_check(*state, "other", &err), 0);
    assert_int_equal(checkout_check(*state, "main", &err), -1);
    assert_non_null(strstr(err.what, "is at commit 222222"));
    put(*state, ".git/HEAD", "ref: refs/heads/unborn\n");
    assert_int_equal(checkout_check(*state, "unborn", &err), -1);
    assert_non_null(strstr(err.what, "has no commit"));
    put(*state, ".git/HEAD", "ref: ../../secret\n");
    assert_int_equal(checkout_check(*state, "1111111", &err), -1);
}

static void test_linked(void **state)
{
    struct err err;
    put(*state, "wt/.git", "gitdir: ../.git/worktrees/wt\n");
    put(*state, ".git/worktrees/wt/HEAD", "ref: refs/heads/other\n");
    put(*state, ".git/worktrees/wt/commondir", "../..\n");
    AUTO_FREE char *tree = file_join(*state, "wt");
    assert_int_equal(checkout_check(tree, "other", &err), 0);
    assert_int_equal(checkout_check(tree, "v2", &err), 0);
    assert_int_equal(checkout_check(tree, "main", &err), -1);
}

static void test_no_work_tree(void **state)
{
    struct err err;
    put(*state, "plain/main.py", "");
    AUTO_FREE char *plain = file_join(*state, "plain");
    assert_int_equal(checkout_check(plain, "main", &err), -1);
    assert_non_null(strstr(err.what, "its directory is no git work tree"));
    assert_non_null(strstr(err.hint, "name no branch and no commit"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make, drop)
    const struct CMUnitTest tests[] = { T(test_names), T(test_what_it_is_at), T(test_linked),
                                        T(test_no_work_tree) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
