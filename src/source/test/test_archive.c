/* Archives of code: their paths, that looking at one keeps it, and marks that no two digits
 * share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "source/archive.h"

#include "base/file.h"
#include "base/mem.h"
#include "job/job.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#define DIGITS "0123456789abcdef"

static void a_look_keeps_it(void **state)
{
    char dir[] = "/tmp/muster-source-archive-XXXXXX";
    struct arena *arena = arena_create();
    const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    struct stat st;
    struct err err;
    (void)state;
    assert_non_null(mkdtemp(dir));
    const char *path = archive_path(dir, arena, CODE_ARCHIVE DIGITS);
    assert_string_equal(path, arena_printf(arena, "%s/archives/" DIGITS, dir));
    assert_false(archive_keep(path));
    assert_int_equal(file_mkdirs(arena_printf(arena, "%s/archives", dir), 0700, &err), 0);
    assert_false(archive_keep(arena_printf(arena, "%s/archives", dir)));
    assert_int_equal(file_replace(path, "x", 1, 0600, &err), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_true(archive_keep(path));
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_mtim.tv_sec > 1000);
    assert_int_equal(file_remove_tree(dir, &err), 0);
    arena_destroy(arena);
}

static void marks_are_of_the_first_digits(void **state)
{
    (void)state;
    assert_true(archive_mark(CODE_ARCHIVE DIGITS) == UINT64_C(0x0123456789abcde));
    assert_true(archive_mark(CODE_ARCHIVE "000000000000000f") == 1);
    assert_true(archive_mark(CODE_ARCHIVE "00000000000000f0") == 0xf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_keeps_it),
        cmocka_unit_test(marks_are_of_the_first_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
