/* Files and trees in a directory of their own below TMPDIR: whole files replaced and read,
 * directories made, counted and removed. No link leads out of a tree that is removed. */
#include "base/file.h"

#include "base/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

static char top[256];

static int begin(void **state)
{
    (void)state;
    snprintf(top, sizeof top, "%s/muster-test-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    return mkdtemp(top) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    struct err err;
    return file_remove_tree(top, &err);
}

static void write_file(const char *path, const char *text)
{
    struct err err;
    assert_int_equal(file_replace(path, text, strlen(text), 0640, &err), 0);
}

static void replaces_and_reads(void **state)
{
    (void)state;
    struct err err;
    AUTO_FREE char *path = file_join(top, "f");
    write_file(path, "one");
    write_file(path, "two");
    AUTO_FREE char *data = NULL;
    size_t len = 0;
    assert_int_equal(file_read(path, 3, &data, &len, &err), 0);
    assert_int_equal(len, 3);
    assert_string_equal(data, "two");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    AUTO_FREE char *other = NULL;
    assert_int_equal(file_read(path, 2, &other, &len, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    assert_null(other);
    assert_int_equal(file_read(top, 100, &other, &len, &err), -1);
    assert_non_null(strstr(err.what, "is a directory"));
    assert_int_equal(file_read("/nonexistent/x", 100, &other, &len, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_int_equal(file_replace("/nonexistent/x", "", 0, 0600, &err), -1);
    assert_int_equal(file_replace_unsynced("/nonexistent/x", "", 0, 0600, &err), -1);
    assert_int_equal(file_replace_unsynced(path, "none", 4, 0600, &err), 0);
    assert_int_equal(file_read(path, 4, &other, &len, &err), 0);
    assert_string_equal(other, "none");
}

/* A file that says it is empty, and one that has no size at all. */
static void reads_what_has_no_size(void **state)
{
    (void)state;
    struct err err;
    AUTO_FREE char *data = NULL;
    size_t len = 0;
    assert_int_equal(file_read("/proc/self/status", 1u << 20, &data, &len, &err), 0);
    assert_true(len > 100);
    AUTO_FREE char *none = NULL;
    assert_int_equal(file_read("/dev/zero", 100000, &none, &len, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    assert_int_equal(file_read("/dev/null", 10, &none, &len, &err), 0);
    assert_int_equal(len, 0);
    assert_string_equal(none, "");
}

static void makes_directories(void **state)
{
    (void)state;
    struct err err;
    AUTO_FREE char *deep = file_join(top, "a/b//c/");
    assert_int_equal(file_mkdirs(deep, 0700, &err), 0);
    assert_int_equal(file_mkdirs(deep, 0700, &err), 0);
    assert_true(file_is_dir(deep));
    AUTO_FREE char *file = file_join(top, "a/f");
    write_file(file, "x");
    assert_false(file_is_dir(file));
    AUTO_FREE char *below = file_join(file, "g");
    assert_int_equal(file_mkdirs(below, 0700, &err), -1);
    assert_non_null(strstr(err.what, "Not a directory"));
    AUTO_FREE char *further = file_join(below, "h"), *said = mem_printf("%s: Not", file);
    assert_int_equal(file_mkdirs(further, 0700, &err), -1);
    assert_non_null(strstr(err.what, said)); /* what is in the way */
}

static void counts_without_following(void **state)
{
    (void)state;
    struct err err;
    unsigned long long bytes = 7;
    AUTO_FREE char *dir = file_join(top, "size/sub");
    file_mkdirs(dir, 0700, &err);
    AUTO_FREE char *one = file_join(dir, "one"), *two = file_join(top, "size/two"),
                   *link = file_join(dir, "up");
    write_file(one, "12345");
    write_file(two, "123");
    assert_int_equal(symlink(top, link), 0);
    AUTO_FREE char *size = file_join(top, "size");
    assert_int_equal(file_tree_size(size, 1000, &bytes, &err), 0);
    assert_int_equal(bytes, 8);
    assert_int_equal(file_tree_size(size, 2, &bytes, &err), 0);
    assert_true(bytes > 2);
    assert_int_equal(file_tree_size(one, 1000, &bytes, &err), 0);
    assert_int_equal(bytes, 5);
    assert_int_equal(file_tree_size("/nonexistent", 1000, &bytes, &err), -1);
}

static void what_has_two_names_is_on_the_disk_once(void **state)
{
    (void)state;
    struct err err;
    unsigned long long one_name = 0, two_names = 0, bytes = 0;
    AUTO_FREE char *dir = file_join(top, "disk");
    file_mkdirs(dir, 0700, &err);
    AUTO_FREE char *file = file_join(dir, "file"), *again = file_join(dir, "again");
    AUTO_CLOSE int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(posix_fallocate(fd, 0, 1 << 20), 0);
    assert_int_equal(file_tree_disk(dir, UINT64_MAX, &one_name, &err), 0);
    assert_true(one_name >= 1 << 20);
    assert_int_equal(link(file, again), 0);
    assert_int_equal(file_tree_disk(dir, UINT64_MAX, &two_names, &err), 0);
    assert_int_equal(two_names, one_name);
    /* one that is long and has no bytes */
    AUTO_FREE char *hole = file_join(dir, "hole");
    AUTO_CLOSE int holed = open(hole, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(holed, 1 << 20), 0);
    assert_int_equal(file_tree_disk(dir, UINT64_MAX, &bytes, &err), 0);
    assert_int_equal(bytes, one_name);
    assert_int_equal(file_tree_disk("/nonexistent", 1000, &bytes, &err), -1);
}

static void removes_trees_and_spares_what_links_name(void **state)
{
    (void)state;
    struct err err;
    AUTO_FREE char *keep = file_join(top, "keep"), *kept = file_join(top, "keep/file");
    AUTO_FREE char *tree = file_join(top, "tree"), *dir = file_join(top, "tree/x/y"),
                   *locked = file_join(top, "tree/x/locked");
    AUTO_FREE char *link = file_join(top, "tree/x/link"),
                   *inside = file_join(top, "tree/x/locked/f");
    file_mkdirs(keep, 0700, &err);
    write_file(kept, "x");
    file_mkdirs(dir, 0700, &err);
    file_mkdirs(locked, 0700, &err);
    write_file(inside, "x");
    assert_int_equal(chmod(locked, 0), 0);
    assert_int_equal(symlink(keep, link), 0);
    assert_int_equal(file_remove_tree(tree, &err), 0);
    assert_false(file_is_dir(tree));
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(file_remove_tree(tree, &err), 0); /* missing is fine */
    assert_int_equal(symlink(keep, tree), 0);
    assert_int_equal(file_remove_tree(tree, &err), 0); /* the link, not what it names */
    assert_int_equal(access(kept, F_OK), 0);
}

/* Several times deeper than the walk goes by recursion. */
static void removes_deep_trees(void **state)
{
    (void)state;
    struct err err;
    AUTO_FREE char *deep = file_join(top, "deep");
    assert_int_equal(mkdir(deep, 0700), 0);
    int fd = open(deep, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(mkdirat(fd, "dd", 0700), 0);
        int next = openat(fd, "dd", O_RDONLY | O_DIRECTORY);
        close(fd);
        fd = next;
        assert_true(fd >= 0);
        int file = openat(fd, "f", O_WRONLY | O_CREAT, 0600);
        close(file);
    }
    close(fd);
    unsigned long long bytes;
    assert_int_equal(file_tree_size(deep, 1, &bytes, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    assert_int_equal(file_remove_tree(deep, &err), 0);
    assert_false(file_is_dir(deep));
}

static void joins(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        { "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "a//", "b", "a/b" },
        { "/", "b", "/b" },  { "a", "/b", "/b" },  { "", "b", "b" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_FREE char *path = file_join(rows[i][0], rows[i][1]);
        assert_string_equal(path, rows[i][2]);
    }
}

static void climbs(void **state)
{
    (void)state;
    static const char *const up[] = { "..", "../a", "a/..", "/a/../b", "a/b/..", "....//.." };
    static const char *const not_up[] = {
        "", ".", "...", "a..", "..a", "a/..b/c", "a../b", "/a.b"
    };
    for (size_t i = 0; i < ARRAY_LEN(up); i++)
        assert_true(file_climbs(up[i]));
    for (size_t i = 0; i < ARRAY_LEN(not_up); i++)
        assert_false(file_climbs(not_up[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaces_and_reads),
        cmocka_unit_test(reads_what_has_no_size),
        cmocka_unit_test(makes_directories),
        cmocka_unit_test(counts_without_following),
        cmocka_unit_test(what_has_two_names_is_on_the_disk_once),
        cmocka_unit_test(removes_trees_and_spares_what_links_name),
        cmocka_unit_test(removes_deep_trees),
        cmocka_unit_test(joins),
        cmocka_unit_test(climbs),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
