/* File access as another user: what that user may not read is not read, what is made belongs to
 * that user, and afterwards everything is as before. */
#include "base/fs_user.h"

#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SOMEBODY 61234u

static char dir[] = "/tmp/test_fs_user.XXXXXX";

static void make_file(const char *name, mode_t mode, gid_t group)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fchown(fd, 0, group), 0);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static int open_of(const char *name, int flags)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, flags | O_CLOEXEC, 0644);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? errno : 0;
}

static struct stat stat_of(const char *name)
{
    struct stat st;
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(stat(path, &st), 0);
    return st;
}

static void test_reads_as_the_user(void **state)
{
    (void)state;
    const uint32_t groups[] = { 61235 };
    const struct fs_user user = { .uid = SOMEBODY, .gid = 61236, .groups = groups, .n_groups = 1 };
    make_file("private", 0600, 0);
    make_file("of-group", 0040, 61235);
    make_file("of-main-group", 0040, 61236);
    make_file("of-other-group", 0040, 61237);
    {
        AS_FS_USER(&user);
        assert_int_equal(open_of("private", O_RDONLY), EACCES);
        assert_int_equal(open_of("of-group", O_RDONLY), 0);
        assert_int_equal(open_of("of-main-group", O_RDONLY), 0);
        assert_int_equal(open_of("of-other-group", O_RDONLY), EACCES);
        assert_int_equal(open_of("made", O_WRONLY | O_CREAT), 0);
    }
    assert_int_equal(open_of("private", O_RDONLY), 0);
    assert_int_equal(stat_of("made").st_uid, SOMEBODY);
    assert_int_equal(stat_of("made").st_gid, 61236);
}

static void test_is_oneself_again(void **state)
{
    (void)state;
    gid_t before[1024], after[1024];
    int n = getgroups(1024, before);
    const struct fs_user user = { .uid = SOMEBODY, .gid = SOMEBODY };
    struct fs_self self = fs_user_enter(&user);
    assert_int_equal(getgroups(1024, after), 0);
    assert_int_equal(geteuid(), 0); /* signals and the like go on as before */
    fs_user_leave(&self);
    fs_user_leave(&self); /* once is enough */
    assert_int_equal(getgroups(1024, after), n);
    assert_memory_equal(before, after, (size_t)n * sizeof *before);
    assert_int_equal(open_of("own", O_WRONLY | O_CREAT), 0);
    assert_int_equal(stat_of("own").st_uid, 0);
}

static void test_nobody_changes_nothing(void **state)
{
    (void)state;
    AS_FS_USER(NULL);
    assert_int_equal(open_of("mine", O_WRONLY | O_CREAT), 0);
    assert_int_equal(stat_of("mine").st_uid, geteuid());
}

static void test_is_told_to_a_child(void **state)
{
    (void)state;
    const uint32_t groups[] = { 7, 8 };
    const struct fs_user user = { .uid = 5, .gid = 6, .groups = groups, .n_groups = 2 };
    uint32_t room[2];
    struct fs_user read;
    AUTO_BUF struct buf text = BUF_INIT(256);
    fs_user_print(&user, &text);
    assert_string_equal(buf_str(&text), "5 6 7 8");
    assert_true(fs_user_read("5 6 7 8", room, 2, &read));
    assert_int_equal(read.uid, 5);
    assert_int_equal(read.gid, 6);
    assert_int_equal(read.n_groups, 2);
    assert_memory_equal(read.groups, groups, sizeof groups);
    assert_true(fs_user_read("5 6", room, 2, &read));
    assert_false(fs_user_read("5 6 7 8 9", room, 2, &read));
    assert_false(fs_user_read("5", room, 2, &read));
    assert_false(fs_user_read("", room, 2, &read));
    assert_false(fs_user_read("5 x", room, 2, &read));
}

int main(void)
{
    const struct CMUnitTest of_root[] = {
        cmocka_unit_test(test_reads_as_the_user),
        cmocka_unit_test(test_is_oneself_again),
        cmocka_unit_test(test_nobody_changes_nothing),
        cmocka_unit_test(test_is_told_to_a_child),
    };
    const struct CMUnitTest of_anybody[] = { cmocka_unit_test(test_nobody_changes_nothing),
                                             cmocka_unit_test(test_is_told_to_a_child) };
    if (!mkdtemp(dir) || chmod(dir, 0777) != 0)
        return 1;
    int rc = geteuid() == 0 ? cmocka_run_group_tests(of_root, NULL, NULL)
                            : cmocka_run_group_tests(of_anybody, NULL, NULL);
    return rc;
}
