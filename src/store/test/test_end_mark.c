/* The end mark, torn and whole; a WAL as bytes; damage that a start refuses; what recovering keeps.
 * The files are those of a server that was killed: copied from under one that runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/mark_file.h"
#include "store/recover.h"
#include "store/store.h"

#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRAME (WAL_FRAME_HEADER + 4096)

struct fix {
    char dir[64], *path, *wal, *mark;
    struct arena *arena;
    struct err err;
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-end-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->path = file_join(f->dir, "muster.db");
    f->wal = mem_printf("%s-wal", f->path);
    f->mark = mem_printf("%s" MARK_SUFFIX, f->path);
    f->arena = arena_create();
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    arena_destroy(f->arena);
    file_remove_tree(f->dir, NULL);
    free(f->path);
    free(f->wal);
    free(f->mark);
    free(f);
    return 0;
}

static void put_job(struct store *st, uint64_t id)
{
    struct err err;
    struct job_row job = { .id = id,
                           .number = store_next_number(st),
                           .owner = "ada",
                           .project = "p",
                           .name = "j",
                           .queue = "default",
                           .dialect = "native",
                           .state = JOB_QUEUED,
                           .tasks = 1,
                           .spec = "{\"name\":\"j\"}" };
    struct event_row event = { .job = id, .at_ms = id, .type = "submitted" };
    assert_int_equal(store_put_job(st, &job, &err), 0);
    assert_int_equal(store_add_event(st, &event, &err), 0);
    assert_int_equal(store_commit(st, &err), 0);
}

/* The files of a server that was killed: copied from under one that runs. */
static void copy_killed(struct fix *f, unsigned jobs)
{
    static const char *const parts[] = { "", "-wal", MARK_SUFFIX };
    AUTO_FREE char *live = file_join(f->dir, "live.db");
    struct store *st = store_open(live, &f->err);
    assert_non_null(st);
    for (unsigned i = 1; i <= jobs; i++)
        put_job(st, i);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        AUTO_FREE char *from = mem_printf("%s%s", live, parts[i]);
        AUTO_FREE char *to = mem_printf("%s%s", f->path, parts[i]);
        AUTO_FREE char *data = NULL;
        size_t len;
        assert_int_equal(file_read(from, 64u << 20, &data, &len, &f->err), 0);
        assert_int_equal(file_replace(to, data, len, 0600, &f->err), 0);
    }
    store_close(st);
}

static void put_byte(const char *path, off_t at, unsigned char change)
{
    unsigned char byte;
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= change;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

static off_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : -1;
}

static bool opens(struct fix *f)
{
    struct store *st = store_open(f->path, &f->err);
    store_close(st);
    return st != NULL;
}

static void a_torn_slot_leaves_the_other(void **state)
{
    struct fix *f = *state;
    struct end_mark mark = { .event = 7, .number = 3, .silent = 2, .wal = { .frames = 9 } }, got;
    struct mark_file *file = mark_open(f->path, &f->err);
    assert_non_null(file);
    assert_false(mark_was(file, &got));
    mark_write(file, &mark);
    mark.event = 8;
    mark_write(file, &mark);
    mark_close(file);
    assert_true(mark_read(f->path, &got));
    assert_int_equal(got.event, 8);
    assert_int_equal(got.number, 3);
    assert_int_equal(got.silent, 2);
    assert_int_equal(got.wal.frames, 9);
    put_byte(f->mark, 40, 1); /* of the slot that is written second */
    assert_true(mark_read(f->path, &got));
    assert_int_equal(got.event, 7);
    file = mark_open(f->path, &f->err); /* and it goes on from there */
    mark.event = 9;
    mark_write(file, &mark);
    mark_close(file);
    assert_true(mark_read(f->path, &got));
    assert_int_equal(got.event, 9);
    put_byte(f->mark, 40, 1);
    put_byte(f->mark, 4096 + 40, 1);
    assert_false(mark_read(f->path, &got));
}

static bool read_fd(void *arg, void *to, size_t n, uint64_t at)
{
    return pread(*(int *)arg, to, n, (off_t)at) == (ssize_t)n;
}

static void look_at(const struct fix *f, const struct wal_place *asked, struct wal_report *out)
{
    AUTO_CLOSE int fd = open(f->wal, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    wal_look((struct wal_bytes){ read_fd, &fd }, asked, out);
}

static void a_wal_is_whole_until_what_was_damaged(void **state)
{
    struct fix *f = *state;
    struct wal_report all, look;
    struct end_mark mark;
    copy_killed(f, 10);
    assert_true(mark_read(f->path, &mark));
    look_at(f, &mark.wal, &all);
    assert_true(all.there && all.holds && !all.broken);
    assert_int_equal(all.whole.frames, mark.wal.frames);
    assert_memory_equal(all.whole.sum, mark.wal.sum, WAL_SUM);
    put_byte(f->wal, WAL_HEADER + 3 * FRAME + 500, 4);
    look_at(f, &mark.wal, &look);
    assert_true(look.there && !look.holds && look.broken);
    assert_in_range(look.whole.frames, 0, 3);
    /* The last frame alone: as a write that was torn. */
    put_byte(f->wal, WAL_HEADER + 3 * FRAME + 500, 4);
    put_byte(f->wal, size_of(f->wal) - 1, 4);
    look_at(f, &mark.wal, &look);
    assert_true(look.there && !look.holds && !look.broken);
    put_byte(f->wal, 3, 0x10);
    look_at(f, &mark.wal, &look);
    assert_false(look.there);
}

static void what_was_not_committed_may_be_torn(void **state)
{
    struct fix *f = *state;
    char junk[FRAME + 100];
    copy_killed(f, 3);
    memset(junk, 7, sizeof junk);
    AUTO_CLOSE int fd = open(f->wal, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(file_write_all(fd, junk, sizeof junk), 0);
    assert_true(opens(f));
}

/* Behind the commits of the next server it would look like some that were damaged. */
static void what_was_not_committed_is_cut_off(void **state)
{
    struct fix *f = *state;
    copy_killed(f, 3);
    const off_t size = size_of(f->wal);
    AUTO_FREE char *torn = mem_new(FRAME);
    memset(torn, 0x55, FRAME);
    AUTO_CLOSE int fd = open(f->wal, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(write(fd, torn, FRAME), FRAME);
    struct store *st = store_open(f->path, &f->err);
    assert_non_null(st);
    assert_int_equal(size_of(f->wal), size);
    put_job(st, 4);
    assert_true(size_of(f->wal) > size);
    store_close(st);
    assert_true(opens(f));
}

static void an_older_mark_is_as_good(void **state)
{
    struct fix *f = *state;
    AUTO_FREE char *old = NULL;
    size_t len;
    copy_killed(f, 3);
    assert_int_equal(file_read(f->mark, 1 << 20, &old, &len, &f->err), 0);
    struct store *st = store_open(f->path, &f->err);
    assert_non_null(st);
    put_job(st, 4);
    store_close(st); /* the WAL is gone */
    assert_int_equal(file_replace(f->mark, old, len, 0600, &f->err), 0);
    assert_true(opens(f));
}

static void change(const struct fix *f, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* With the WAL or without it: also where no commit but the first was ever written back. */
static void a_missing_mark_is_refused(void **state)
{
    struct fix *f = *state;
    for (int gone = 0; gone < 4; gone++) {
        struct recovery_report out;
        struct recover_ask ask = { .path = f->path };
        copy_killed(f, 9);
        if (gone & 1)
            assert_int_equal(unlink(f->wal), 0);
        if (gone & 2)
            assert_int_equal(truncate(f->mark, 0), 0);
        else
            assert_int_equal(unlink(f->mark), 0);
        for (int i = 0; i < 2; i++) { /* having looked changes nothing */
            assert_false(opens(f));
            assert_non_null(strstr(f->err.what, "end mark"));
        }
        assert_int_equal(store_recover(&ask, f->arena, &out, &f->err), 0);
        assert_true(out.damaged && out.kept);
        assert_int_equal(out.jobs, gone & 1 ? 0 : 9);
        struct store *st = store_open(f->path, &f->err);
        assert_non_null(st);
        assert_true(store_next_number(st) > 9);
        store_close(st);
        assert_int_equal(unlink(f->mark), 0);
        assert_false(opens(f)); /* it has been marked again */
        assert_int_equal(file_remove_tree(f->dir, &f->err), 0);
        assert_int_equal(file_mkdirs(f->dir, 0700, &f->err), 0);
    }
}

/* Of a version that wrote no entry, or none and no mark; or recovered, and stopped before that. */
static void records_that_name_no_mark_get_one(void **state)
{
    struct fix *f = *state;
    struct store *st = store_open(f->path, &f->err);
    put_job(st, 1);
    store_close(st);
    for (int with = 0; with < 2; with++) {
        change(f, "DELETE FROM meta WHERE name = 'marked'");
        if (!with)
            assert_int_equal(unlink(f->mark), 0);
        assert_true(opens(f));
        AUTO_FREE char *aside = mem_printf("%s.aside", f->mark);
        assert_int_equal(rename(f->mark, aside), 0);
        assert_false(opens(f));
        assert_int_equal(rename(aside, f->mark), 0);
        assert_true(opens(f));
    }
}

/* A copy alone says that it is one. */
static void a_backup_gets_a_mark_of_its_own(void **state)
{
    struct fix *f = *state;
    struct recovery_report out;
    struct recover_ask ask = { .path = f->path };
    struct store *st = store_open(f->path, &f->err);
    put_job(st, 1);
    store_close(st);
    assert_int_equal(unlink(f->mark), 0);
    assert_int_equal(store_check(&ask, f->arena, &out, &f->err), 0);
    assert_true(out.damaged);
    ask.backup_copy = true;
    assert_int_equal(store_check(&ask, f->arena, &out, &f->err), 0);
    assert_false(out.damaged);
    assert_int_equal(out.jobs, 1);
    assert_false(opens(f));
    st = store_open_backup(f->path, &f->err);
    assert_non_null(st);
    store_close(st);
    assert_true(opens(f));
}

/* What adds neither event nor audit entry counts as well. */
static void a_silent_commit_is_missed(void **state)
{
    struct fix *f = *state;
    copy_killed(f, 1);
    AUTO_FREE char *older = NULL;
    size_t len;
    struct store *st = store_open(f->path, &f->err);
    store_close(st);
    assert_int_equal(file_read(f->path, 64u << 20, &older, &len, &f->err), 0);
    st = store_open(f->path, &f->err);
    struct object_row object = { .kind = "k", .project = "", .name = "n", .spec = "{}" };
    assert_int_equal(store_put_object(st, &object, &f->err), 0);
    assert_int_equal(store_commit(st, &f->err), 0);
    store_close(st);
    assert_true(opens(f));
    assert_int_equal(file_replace(f->path, older, len, 0600, &f->err), 0);
    assert_false(opens(f));
    assert_non_null(strstr(f->err.what, "missing"));
}

static void recovering_keeps_numbers(void **state)
{
    struct fix *f = *state;
    struct recovery_report out;
    copy_killed(f, 9);
    const uint64_t traces[] = { 4, 12 };
    struct recover_ask ask = { .path = f->path, .numbers = traces, .n_numbers = 2 };
    assert_int_equal(store_recover(&ask, f->arena, &out, &f->err), 0);
    assert_false(out.damaged);
    put_byte(f->wal, size_of(f->wal) / 2, 1);
    assert_false(opens(f));
    assert_int_equal(store_recover(&ask, f->arena, &out, &f->err), 0);
    assert_true(out.damaged && out.kept);
    assert_int_equal(out.last_event, 9);
    assert_int_equal(out.last_number, 12);
    assert_int_equal(out.next_number, 13);
    assert_int_equal(out.n_unknown, out.jobs < 4 ? 2 : 1);
    struct store *st = store_open(f->path, &f->err);
    assert_non_null(st);
    assert_int_equal(store_next_number(st), 13);
    assert_int_equal(store_last_event(st), 9);
    assert_int_equal(store_last_job_id(st), 9);
    store_close(st);
}

/* A page in the middle of the database is nothing any more: what is around it is there. */
static void rows_are_salvaged(void **state)
{
    struct fix *f = *state;
    struct recovery_report out;
    struct store *st = store_open(f->path, &f->err);
    for (unsigned i = 1; i <= 400; i++)
        put_job(st, i);
    store_close(st);
    off_t pages = size_of(f->path) / 4096;
    char zeros[4096] = { 0 };
    AUTO_CLOSE int fd = open(f->path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, zeros, sizeof zeros, pages / 2 * 4096), sizeof zeros);
    assert_false(opens(f));
    struct recover_ask ask = { .path = f->path };
    assert_int_equal(store_recover(&ask, f->arena, &out, &f->err), 0);
    assert_true(out.damaged && out.row_by_row);
    assert_in_range(out.jobs, 200, 400);
    assert_int_equal(out.next_number, 401);
    assert_true(opens(f));
}

static void run(sqlite3 *db, const char *sql)
{
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
}

/* As by a change that passed it by: the index is away while the row changes. */
static void make_index_wrong(const struct fix *f)
{
    static const char take_away[] =
        "PRAGMA writable_schema = ON; CREATE TABLE kept AS SELECT * FROM sqlite_master"
        " WHERE name = 'job_by_name'; DELETE FROM sqlite_master WHERE name = 'job_by_name'";
    static const char *const steps[] = {
        take_away, "UPDATE job SET name = 'other' WHERE number = 5",
        "PRAGMA writable_schema = ON; INSERT INTO sqlite_master SELECT * FROM kept",
        "DROP TABLE kept"
    };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        sqlite3 *db;
        assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
        run(db, steps[i]);
        sqlite3_close(db);
    }
}

static void a_wrong_index_is_refused_and_made_anew(void **state)
{
    struct fix *f = *state;
    struct recovery_report out;
    struct recover_ask ask = { .path = f->path };
    struct store *st = store_open(f->path, &f->err);
    for (unsigned i = 1; i <= 20; i++)
        put_job(st, i);
    store_close(st);
    make_index_wrong(f);
    assert_null(store_open(f->path, &f->err));
    assert_int_equal(f->err.code, ERR_CANNOT);
    struct remedy remedy;
    size_t at = 0;
    assert_true(remedies_next(&f->err.remedies, &at, f->arena, &remedy));
    assert_int_equal(remedy.id, REMEDY_SERVER_RECOVER);
    assert_int_equal(store_check(&ask, f->arena, &out, &f->err), 0);
    assert_true(out.damaged && out.jobs == 20);
    assert_int_equal(store_recover(&ask, f->arena, &out, &f->err), 0);
    assert_true(out.damaged && out.indexes && !out.row_by_row);
    assert_int_equal(out.jobs, 20);
    assert_int_equal(out.missing.n, 0);
    assert_true(opens(f));
    assert_int_equal(store_check(&ask, f->arena, &out, &f->err), 0);
    assert_false(out.damaged);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_torn_slot_leaves_the_other),
        TEST(a_wal_is_whole_until_what_was_damaged),
        TEST(what_was_not_committed_may_be_torn),
        TEST(what_was_not_committed_is_cut_off),
        TEST(an_older_mark_is_as_good),
        TEST(a_silent_commit_is_missed),
        TEST(a_missing_mark_is_refused),
        TEST(records_that_name_no_mark_get_one),
        TEST(a_backup_gets_a_mark_of_its_own),
        TEST(recovering_keeps_numbers),
        TEST(rows_are_salvaged),
        TEST(a_wrong_index_is_refused_and_made_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
