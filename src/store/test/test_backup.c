/* A copy that is made while commits go on has all of them. A copy may be given up and begun again
 * under another file; one that is damaged is found out when it is looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/backup.h"

#include "base/file.h"
#include "base/mem.h"
#include "store/test/filled.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void test_copy_follows_commits(void **state)
{
    struct filled *f = *state;
    struct store_reach reach;
    int rc;
    unsigned steps = 0;
    filled_put_jobs(f, 2000);
    struct store_backup *b = store_backup_begin(f->st, f->copy, &f->err);
    assert_non_null(b);
    assert_null(store_backup_begin(f->st, f->path, &f->err)); /* one at a time */
    assert_int_equal(f->err.code, ERR_BUSY);
    while ((rc = store_backup_step(b, &f->err)) == 0 && ++steps < 100000) {
        if (steps < 20)
            filled_put_jobs(f, 5);
        if (steps == 8) { /* in an open turn nothing is copied, and what fails is not in it */
            struct event_row event = { .type = "undone", .at_ms = 1 };
            assert_int_equal(store_add_event(f->st, &event, &f->err), 0);
            assert_int_equal(store_backup_step(b, &f->err), 0);
            store_rollback(f->st);
        }
    }
    assert_int_equal(rc, 1);
    assert_true(steps > 5);
    assert_int_equal(store_look_at_copy(f->copy, &reach, &f->err), 0);
    const struct store_reach said = store_backup_reach(b);
    assert_true(reach.event == said.event && reach.number == said.number);
    assert_true(reach.number == f->jobs && reach.event == f->jobs && reach.job_id == f->jobs);
    assert_int_equal(reach.version, STORE_VERSION);
    store_backup_end(b);
    filled_put_jobs(f, 5); /* goes on as before */
    struct stat st;
    assert_int_equal(stat(f->copy, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    store_close(f->st);
    f->st = store_open_backup(f->copy, &f->err); /* a database like any other */
    assert_non_null(f->st);
}

static void test_given_up(void **state)
{
    struct filled *f = *state;
    filled_put_jobs(f, 2000);
    struct store_backup *b = store_backup_begin(f->st, f->copy, &f->err);
    assert_int_equal(store_backup_step(b, &f->err), 0);
    store_backup_end(b);
    filled_put_jobs(f, 5);
    assert_null(store_backup_begin(f->st, f->copy, &f->err)); /* the file is there */
    assert_int_equal(unlink(f->copy), 0);
    b = store_backup_begin(f->st, f->copy, &f->err);
    assert_non_null(b);
    store_backup_end(b);
}

static void test_damaged_copy(void **state)
{
    struct filled *f = *state;
    struct store_reach reach;
    filled_put_jobs(f, 2000);
    store_close(f->st);
    assert_int_equal(truncate(f->path, 300 * 4096), 0);
    assert_int_equal(store_look_at_copy(f->path, &reach, &f->err), -1);
    assert_int_equal(f->err.code, ERR_INPUT);
    int fd = open(f->copy, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "no database", 11), 11);
    close(fd);
    assert_int_equal(store_look_at_copy(f->copy, &reach, &f->err), -1);
    f->st = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_copy_follows_commits, filled_set_up, filled_tear_down),
        cmocka_unit_test_setup_teardown(test_given_up, filled_set_up, filled_tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_copy, filled_set_up, filled_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
