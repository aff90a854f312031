/* Room for images: what does not fit is refused with both figures, what others were promised
 * counts, and what nobody uses makes way, but nothing that somebody uses. */
#include "node/fetch/space.h"

#include "base/file.h"
#include "base/mem.h"
#include "node/fetch/store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[40];

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/muster-space.XXXXXX");
    assert_non_null(mkdtemp(dir));
    return store_prepare(dir, NULL);
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

/* Half made, with its lock. */
static int begin(char letter)
{
    char digest[IMAGE_DIGEST_LEN + 1];
    struct store_tree tree;
    int lock = -1;
    store_tree_init(&tree, dir, digest_of(letter, digest));
    AUTO_FREE char *root = mem_printf("%s/root", tree.half);
    AUTO_FREE char *config = mem_printf("%s/config.json", tree.half);
    assert_int_equal(file_mkdirs(root, 0755, NULL), 0);
    assert_int_equal(file_replace(config, "{}", 2, 0600, NULL), 0);
    assert_int_equal(store_lock(dir, digest, &lock, NULL), 0);
    store_tree_fini(&tree);
    return lock;
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

#define TREE ((uint64_t)256 << 20) /* more than others write to the disk meanwhile */

/* What it takes of the disk is not what it takes of the store's limit. */
static void make(char letter)
{
    char digest[IMAGE_DIGEST_LEN + 1];
    struct store_tree tree;
    AUTO_CLOSE int lock = begin(letter);
    assert_true(lock >= 0);
    store_tree_init(&tree, dir, digest_of(letter, digest));
    AUTO_FREE char *path = mem_printf("%s/root/large", tree.half);
    AUTO_CLOSE int large = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(posix_fallocate(large, 0, (off_t)TREE), 0);
    assert_int_equal(store_finish(&tree, 1, NULL), 0);
    store_tree_fini(&tree);
}

static int reserve(char letter, uint64_t bytes, struct err *err)
{
    char digest[IMAGE_DIGEST_LEN + 1];
    return space_reserve(dir, digest_of(letter, digest), bytes, err);
}

static uint64_t all_room(void)
{
    struct statvfs fs;
    assert_int_equal(statvfs(dir, &fs), 0);
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static void what_does_not_fit_is_refused(void **state)
{
    struct err err = { .code = ERR_NONE };
    AUTO_CLOSE int lock = begin('a');
    (void)state;
    assert_true(lock >= 0);
    assert_int_equal(reserve('a', 1, &err), 0);
    assert_int_equal(reserve('a', (uint64_t)1 << 50, &err), -1);
    assert_int_equal(err.code, ERR_FULL);
    assert_non_null(strstr(err.what, "1.0Pi"));
}

/* Only while it is on its way. */
static void what_others_were_promised_counts(void **state)
{
    char digest[IMAGE_DIGEST_LEN + 1];
    struct err err;
    uint64_t most = all_room() / 4 * 3;
    AUTO_CLOSE int first = begin('a');
    AUTO_CLOSE int second = begin('b');
    (void)state;
    assert_true(first >= 0 && second >= 0);
    assert_int_equal(reserve('a', most, &err), 0);
    assert_int_equal(reserve('b', most, &err), -1);
    assert_int_equal(err.code, ERR_FULL);
    space_free(dir, digest_of('a', digest));
    assert_int_equal(reserve('b', most, &err), 0);
    assert_int_equal(reserve('a', most, &err), -1);
    close(second);
    second = -1;
    assert_int_equal(reserve('a', most, &err), 0);
}

static void what_nobody_uses_makes_way(void **state)
{
    char digest[IMAGE_DIGEST_LEN + 1];
    struct err err;
    (void)state;
    make('a');
    make('b');
    AUTO_CLOSE int used = store_use(dir, digest_of('b', digest), &err);
    AUTO_CLOSE int lock = begin('c');
    assert_true(used >= 0 && lock >= 0);
    assert_int_equal(reserve('c', 1, &err), 0);
    assert_true(has('a') && has('b'));
    assert_int_equal(reserve('c', all_room() + TREE / 2, &err), 0);
    assert_true(!has('a') && has('b'));
}

/* It would not fit then either. */
static void nothing_is_removed_in_vain(void **state)
{
    char digest[IMAGE_DIGEST_LEN + 1];
    struct err err = { .code = ERR_NONE };
    (void)state;
    make('a');
    make('b');
    AUTO_CLOSE int used = store_use(dir, digest_of('b', digest), &err);
    AUTO_CLOSE int lock = begin('c');
    assert_true(used >= 0 && lock >= 0);
    assert_int_equal(reserve('c', all_room() + TREE + TREE / 2, &err), -1);
    assert_int_equal(err.code, ERR_FULL);
    assert_true(has('a') && has('b'));
    close(used);
    used = -1;
    assert_int_equal(reserve('c', all_room() + TREE + TREE / 2, &err), 0);
    assert_true(!has('a') && !has('b'));
}

/* What a pull that was killed left is not in the way. */
static void remains_make_way(void **state)
{
    char digest[IMAGE_DIGEST_LEN + 1];
    struct store_tree tree;
    struct err err;
    (void)state;
    AUTO_CLOSE int left = begin('a');
    store_tree_init(&tree, dir, digest_of('a', digest));
    AUTO_FREE char *path = mem_printf("%s/root/large", tree.half);
    AUTO_CLOSE int large = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(posix_fallocate(large, 0, (off_t)TREE), 0);
    close(left);
    close(large);
    left = large = -1;
    AUTO_CLOSE int lock = begin('c');
    assert_true(lock >= 0);
    assert_int_equal(reserve('c', all_room() + TREE / 2, &err), 0);
    assert_false(file_is_dir(tree.half));
    store_tree_fini(&tree);
}

int main(void)
{
    alarm(600);
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(what_does_not_fit_is_refused),
        CASE(what_others_were_promised_counts),
        CASE(what_nobody_uses_makes_way),
        CASE(nothing_is_removed_in_vain),
        CASE(remains_make_way),
    };
#undef CASE
    return cmocka_run_group_tests_name("node/fetch/space", tests, NULL, NULL);
}
