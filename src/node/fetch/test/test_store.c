/* The store of images: what is half made is never used, who waits for a lock gets it, and what goes
 * over the limit is what was used longest ago and that nobody uses. */
#include "node/fetch/store.h"

#include "base/file.h"
#include "base/mem.h"
#include "node/fetch/grants.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[40];

static int set_up(void **state)
{
    struct err err;
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/muster-images.XXXXXX");
    assert_non_null(mkdtemp(dir));
    return store_prepare(dir, &err);
}

static int tear_down(void **state)
{
    (void)state;
    return file_remove_tree(dir, NULL);
}

static const char *digest_of(char letter, char out[IMAGE_DIGEST_LEN + 1])
{
    memset(out, letter, IMAGE_DIGEST_LEN);
    out[IMAGE_DIGEST_LEN] = '\0';
    return out;
}

static void make_half(const struct store_tree *tree)
{
    struct err err;
    AUTO_FREE char *root = mem_printf("%s/root/bin", tree->half);
    AUTO_FREE char *config = mem_printf("%s/config.json", tree->half);
    assert_int_equal(file_mkdirs(root, 0755, &err), 0);
    assert_int_equal(file_replace(config, "{}", 2, 0600, &err), 0);
}

/* Used so many seconds after the epoch. */
static void make(char letter, uint64_t bytes, time_t used)
{
    char digest[IMAGE_DIGEST_LEN + 1];
    struct store_tree tree;
    struct err err;
    const struct timespec times[2] = { { .tv_sec = used }, { .tv_sec = used } };
    store_tree_init(&tree, dir, digest_of(letter, digest));
    make_half(&tree);
    assert_false(store_has(&tree));
    assert_int_equal(store_finish(&tree, bytes, &err), 0);
    assert_true(store_has(&tree));
    assert_int_equal(utimensat(AT_FDCWD, tree.tree, times, 0), 0);
    store_tree_fini(&tree);
}

static bool has(char letter)
{
    char digest[IMAGE_DIGEST_LEN + 1];
    struct store_tree tree;
    store_tree_init(&tree, dir, digest_of(letter, digest));
    bool there = store_has(&tree);
    store_tree_fini(&tree);
    return there;
}

static void the_one_used_longest_ago_goes(void **state)
{
    (void)state;
    make('a', 40, 300);
    make('b', 40, 100);
    make('c', 40, 200);
    store_keep_limit(dir, 120);
    assert_true(has('a') && has('b') && has('c'));
    store_keep_limit(dir, 100);
    assert_true(has('a') && !has('b') && has('c'));
    store_keep_limit(dir, 79);
    assert_true(has('a') && !has('c'));
}

static void all_is_added_up(void **state)
{
    struct store_sum sum = { .images = 9 };
    AUTO_FREE char *nothing = mem_printf("%s/trees", dir);
    (void)state;
    assert_false(store_add_up(nothing, &sum));
    assert_true(store_add_up(dir, &sum));
    assert_true(sum.images == 0 && sum.bytes == 0 && sum.free > 0);
    make('a', 40, 300);
    make('b', 2, 100);
    assert_true(store_add_up(dir, &sum));
    assert_true(sum.images == 2 && sum.bytes == 42);
}

static void what_is_in_use_stays(void **state)
{
    char digest[IMAGE_DIGEST_LEN + 1];
    struct err err;
    (void)state;
    make('a', 40, 100);
    make('b', 40, 200);
    int use = store_use(dir, digest_of('a', digest), &err); /* and is now the last used */
    assert_true(use >= 0);
    store_keep_limit(dir, 0);
    assert_true(has('a') && !has('b'));
    close(use);
    store_keep_limit(dir, 0);
    assert_false(has('a'));
    assert_int_equal(store_use(dir, digest, &err), -1);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
}

/* By another process, again and again. */
static void what_is_looked_at_can_be_used(void **state)
{
    char digest[IMAGE_DIGEST_LEN + 1], word;
    struct err err;
    int ready[2];
    (void)state;
    make('a', 40, 100);
    for (int i = 0; i < 200; i++) {
        AUTO_FREE char *path = mem_printf("%s/trees/%s/root/%d", dir, digest_of('a', digest), i);
        assert_int_equal(file_replace_unsynced(path, "x", 1, 0600, &err), 0);
    }
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
        for (;;)
            if (store_unused(dir) > 0)
                (void)!write(ready[1], "x", 1);
    assert_int_equal(read(ready[0], &word, 1), 1);
    for (int i = 0; i < 500; i++) {
        int use = store_use(dir, digest, &err);
        assert_true(use >= 0);
        close(use);
    }
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ready[0]);
    close(ready[1]);
}

/* Killed while it unpacks: another process makes it again, from nothing. */
static void a_killed_maker_leaves_nothing_to_use(void **state)
{
    char digest[IMAGE_DIGEST_LEN + 1], done;
    struct store_tree tree;
    struct err err;
    int lock, ready[2];
    (void)state;
    store_tree_init(&tree, dir, digest_of('d', digest));
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (store_lock(dir, digest, &lock, &err) != 0)
            _exit(1);
        make_half(&tree);
        (void)!write(ready[1], "x", 1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &done, 1), 1);
    assert_int_equal(store_try_lock(dir, digest, &lock, &err), 1);
    store_keep_limit(dir, 0); /* it is at work: its half stays */
    assert_true(file_is_dir(tree.half));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(store_has(&tree));
    assert_int_equal(store_lock(dir, digest, &lock, &err), 0);
    close(lock);
    store_keep_limit(dir, 1000);
    assert_false(file_is_dir(tree.half));
    close(ready[0]);
    close(ready[1]);
    store_tree_fini(&tree);
}

/* By the same credentials only, and as long as the tree is there. */
static void a_grant_is_for_its_credentials(void **state)
{
    char tree[IMAGE_DIGEST_LEN + 1], digest[IMAGE_DIGEST_LEN + 1], list[IMAGE_DIGEST_LEN + 1];
    static const char ada[] = "{\"auths\":{\"r\":{\"auth\":\"YWRhOnNlY3JldA==\"}}}";
    (void)state;
    digest_of('e', digest);
    digest_of('f', list);
    grant_keep(dir, list, ada, digest);
    assert_false(grant_find(dir, list, ada, tree)); /* the tree is not there */
    make('e', 10, 1000);
    assert_true(grant_find(dir, list, ada, tree));
    assert_string_equal(tree, digest);
    assert_false(grant_find(dir, digest, ada, tree));
    assert_false(grant_find(dir, list, NULL, tree));
    assert_false(grant_find(dir, list, "{\"auths\":{}}", tree));
    grant_keep(dir, list, NULL, digest);
    assert_true(grant_find(dir, list, NULL, tree));
    grants_drop_old(dir);
    assert_true(grant_find(dir, list, ada, tree));
    store_keep_limit(dir, 0);
    grants_drop_old(dir);
    make('e', 10, 1000);
    assert_false(grant_find(dir, list, ada, tree));
}

int main(void)
{
    alarm(600);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_one_used_longest_ago_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_is_added_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_grant_is_for_its_credentials, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_in_use_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_looked_at_can_be_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_killed_maker_leaves_nothing_to_use, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("node/fetch/store", tests, NULL, NULL);
}
