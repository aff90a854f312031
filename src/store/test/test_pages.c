/* A copy with the pages that commits changed since is the database, byte by byte: over checkpoints,
 * turns that were undone, sets that are full or damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/disk.h"
#include "store/pages.h"
#include "store/wal.h"

#include "base/file.h"
#include "base/mem.h"
#include "store/test/filled.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void make_copy(struct filled *f)
{
    int rc;
    struct store_backup *b = store_backup_begin(f->st, f->copy, &f->err);
    assert_non_null(b);
    while ((rc = store_backup_step(b, &f->err)) == 0)
        filled_put_jobs(f, 1);
    assert_int_equal(rc, 1);
    store_pages_reset(f->pages);
    store_backup_end(b);
}

static void begin(struct filled *f)
{
    f->pages = store_pages_begin(f->st, &f->err);
    assert_non_null(f->pages);
}

/* What was changed, as a file. */
static void take(struct filled *f)
{
    char piece[4096];
    ssize_t n;
    uint64_t at = 0;
    int from = store_pages_take(f->pages, &f->err);
    int to = open(f->file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(from >= 0 && to >= 0);
    for (; (n = pread(from, piece, sizeof piece, (off_t)at)) > 0; at += (uint64_t)n)
        assert_int_equal(file_write_all(to, piece, (size_t)n), 0);
    assert_int_equal(close(from), 0);
    assert_int_equal(close(to), 0);
}

static void apply(struct filled *f)
{
    take(f);
    assert_int_equal(store_pages_apply(f->file, f->copy, &f->err), 0);
}

static void assert_same(struct filled *f)
{
    size_t n, m;
    AUTO_FREE char *a = NULL;
    AUTO_FREE char *b = NULL;
    store_pages_end(TAKE(f->pages));
    store_close(TAKE(f->st)); /* all of it is in the database's file then */
    assert_int_equal(file_read(f->path, 1u << 30, &a, &n, &f->err), 0);
    assert_int_equal(file_read(f->copy, 1u << 30, &b, &m, &f->err), 0);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
}

static void test_copy_and_pages_are_the_database(void **state)
{
    struct filled *f = *state;
    struct store_reach reach;
    filled_put_jobs(f, 300);
    begin(f);
    make_copy(f);
    assert_int_equal(store_pages_state(f->pages).bytes, 0);
    assert_int_equal(store_pages_take(f->pages, &f->err), -1); /* nothing was committed */
    for (unsigned i = 0; i < 5; i++) {
        filled_put_jobs(f, 10);
        filled_put_jobs(f, 10);
        assert_true(store_pages_state(f->pages).bytes > 0 && store_pages_state(f->pages).since_ms);
        apply(f);
        assert_int_equal(store_look_at_copy(f->copy, &reach, &f->err), 0);
        const struct store_reach now = store_reach_now(f->st);
        assert_true(reach.event == now.event && reach.number == now.number);
    }
    assert_same(f);
}

/* The log is written back and begun anew many times within one set of pages. */
static void test_checkpoints(void **state)
{
    struct filled *f = *state;
    filled_put_jobs(f, 10);
    begin(f);
    make_copy(f);
    for (unsigned i = 0; i < 60; i++)
        filled_put_jobs(f, 300);
    assert_false(store_pages_state(f->pages).lost);
    apply(f);
    filled_put_jobs(f, 1);
    apply(f);
    assert_same(f);
}

static off_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

/* A commit leaves a long log to whoever has the time, up to twice that length; what is written back
 * is all there, with what is committed after it. */
static void test_log_is_written_back_later(void **state)
{
    struct filled *f = *state;
    const off_t most = wal_frames_most() * (off_t)(WAL_FRAME_HEADER + 4096);
    off_t before = size_of(f->path);
    AUTO_FREE char *wal = mem_printf("%s-wal", f->path);
    begin(f);
    make_copy(f);
    assert_false(store_behind(f->st));
    store_write_back(f->st); /* nothing */
    while (!store_behind(f->st))
        filled_put_jobs(f, 300);
    assert_int_equal(size_of(f->path), before);
    assert_true(size_of(wal) >= most);
    struct event_row event = { .type = "undone", .at_ms = 1 };
    assert_int_equal(store_add_event(f->st, &event, &f->err), 0);
    assert_false(store_behind(f->st)); /* a turn is open */
    store_write_back(f->st);
    assert_int_equal(size_of(f->path), before);
    store_rollback(f->st);
    store_write_back(f->st);
    assert_false(store_behind(f->st));
    before = size_of(f->path);
    assert_true(before > most / 2);
    filled_put_jobs(f, 1); /* begins the log anew */
    while (size_of(f->path) == before)
        filled_put_jobs(f, 300);
    assert_in_range(size_of(wal), 2 * most, 3 * most);
    assert_false(store_behind(f->st));
    apply(f);
    assert_same(f);
}

/* A turn that is undone is in no pages. */
static void test_undone(void **state)
{
    struct filled *f = *state;
    filled_put_jobs(f, 10);
    begin(f);
    make_copy(f);
    struct event_row event = { .type = "undone", .at_ms = 1 };
    assert_int_equal(store_add_event(f->st, &event, &f->err), 0);
    store_rollback(f->st);
    assert_int_equal(store_pages_state(f->pages).bytes, 0);
    filled_put_jobs(f, 1);
    apply(f);
    assert_same(f);
}

/* Beyond the bound they are lost, and no part of them is given. */
static void test_too_many(void **state)
{
    struct filled *f = *state;
    begin(f);
    while (!store_pages_state(f->pages).lost && f->jobs < 200000)
        filled_put_jobs(f, 2000);
    assert_true(store_pages_state(f->pages).lost);
    assert_int_equal(store_pages_take(f->pages, &f->err), -1);
    make_copy(f);
    assert_false(store_pages_state(f->pages).lost);
    filled_put_jobs(f, 5);
    apply(f);
    assert_same(f);
}

static void test_damaged(void **state)
{
    struct filled *f = *state;
    struct stat st;
    filled_put_jobs(f, 300);
    begin(f);
    make_copy(f);
    filled_put_jobs(f, 10);
    take(f);
    assert_int_equal(stat(f->file, &st), 0);
    for (off_t cut = 1; cut < st.st_size; cut = cut * 3 + 1) {
        assert_int_equal(truncate(f->file, st.st_size - cut), 0);
        assert_int_equal(store_pages_apply(f->file, f->copy, &f->err), -1);
        assert_int_equal(f->err.code, ERR_INPUT);
    }
    int fd = open(f->copy, O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, "no database", 11), 11);
    close(fd);
    filled_put_jobs(f, 10);
    take(f);
    assert_int_equal(store_pages_apply(f->file, f->copy, &f->err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_copy_and_pages_are_the_database, filled_set_up,
                                        filled_tear_down),
        cmocka_unit_test_setup_teardown(test_checkpoints, filled_set_up, filled_tear_down),
        cmocka_unit_test_setup_teardown(test_log_is_written_back_later, filled_set_up,
                                        filled_tear_down),
        cmocka_unit_test_setup_teardown(test_undone, filled_set_up, filled_tear_down),
        cmocka_unit_test_setup_teardown(test_too_many, filled_set_up, filled_tear_down),
        cmocka_unit_test_setup_teardown(test_damaged, filled_set_up, filled_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
