/* Rows of a database whose first page is lost: of each size of pages and each version of the
 * tables; what was deleted stays away; pages that are nobody's are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/recover.h"
#include "store/schema.h"
#include "store/store.h"

#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define JOBS 300u

struct fix {
    char dir[64], *path;
    struct arena *arena;
    struct err err;
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-salvage-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->path = file_join(f->dir, "muster.db");
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
    free(f);
    return 0;
}

static void run(sqlite3 *db, const char *sql)
{
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
}

/* Ids as they are given out: large, and not in the order of numbers alone. */
#define EACH "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) "
static const char rows[] =
    "INSERT INTO meta VALUES ('silent', 4), ('marked', 1);" EACH
    "INSERT INTO job (id, number, owner, project, name, queue, dialect, priority, state,"
    " outcome, reason, generation, restarts, tasks, gpu_milli, submitted, started, ended,"
    " not_before, live) SELECT 1000000000 + i * 3, i, 'user-' || (i % 7), '', 'job-' || i, 'default',"
    " 'muster', 5, 'queued', NULL, 'waits', 0, 0, 1, 0, 1700000000000 + i, 0, 0, 0, NULL FROM n;" EACH
    "INSERT INTO body SELECT 1000000000 + i * 3, '{\"name\":\"job-' || i || '\",\"x\":\"' ||"
    " hex(zeroblob(i * 9)) || '\"}', NULL FROM n;" EACH
    "INSERT INTO origin SELECT 1000000000 + i * 3, 'text', NULL, NULL FROM n;" EACH
    "INSERT INTO event (seq, job, at, type, role, idx, attempt, body) SELECT i,"
    " 1000000000 + i * 3, 1700000000000 + i, 'submitted', NULL, NULL, 0, NULL FROM n;" EACH
    "INSERT INTO task SELECT 1000000000 + i * 3, 0, 0, 'waiting', 1, '{}' FROM n;" EACH
    "INSERT INTO attempt (job, role, idx, attempt, generation, state, node, place, placed,"
    " started, ended, pid, exited, code, signal, oom, lost, ended_by, reason, memory_peak, tail,"
    " log_end) SELECT 1000000000 + i * 3, 0, 0, 1, 1, 'starting', 'n1', NULL, 5, 0, 0, 0, 0, 0,"
    " 0, 0, 0, NULL, NULL, 0, NULL, 0 FROM n;" EACH
    "INSERT INTO agent SELECT 1000000000 + i * 3, 1, 'n1', 1, zeroblob(32), 0, 'joined' FROM n;" EACH
    "INSERT INTO idem SELECT 'user-' || (i % 7), 'key-' || i, zeroblob(32), 1000000000 + i * 3,"
    " 1800000000000 FROM n;"
    "INSERT INTO object VALUES ('node', '', 'n1', '{\"drained\":true}', 3);"
    "INSERT INTO secret VALUES ('user-1', 'token', x'0102030405');";
/* By the versions that made those tables. */
static const char facets[] =
    EACH "INSERT INTO facet SELECT 'type', 'muster', 1000000000 + i * 3 FROM n";
static const char audits[] =
    EACH "INSERT INTO audit SELECT i, 1700000000000 + i, 'user-1', 'admin', 'token', 'unix',"
         " 'job.stop', 'job ' || i, 'ok', zeroblob(32) FROM n";

static const char *const tables[] = { "meta",   "job",     "body",  "origin", "event",
                                      "task",   "attempt", "agent", "idem",   "object",
                                      "secret", "facet",   "audit" };

static int64_t ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s = NULL;
    int64_t n = -1; /* there is no such table */
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        n = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return n;
}

static int64_t count(sqlite3 *db, const char *table)
{
    char sql[64];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    return ask(db, sql);
}

static sqlite3 *open_at(const char *path)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    return db;
}

static sqlite3 *make(const char *path, int version, unsigned page_size)
{
    char sql[64];
    sqlite3 *db = open_at(path);
    snprintf(sql, sizeof sql, "PRAGMA page_size = %u", page_size);
    run(db, sql);
    assert_int_equal(schema_functions(db), SQLITE_OK);
    for (int i = 0; i < version; i++)
        run(db, schema_step(i));
    snprintf(sql, sizeof sql, "PRAGMA user_version = %d", version);
    run(db, sql);
    run(db, rows);
    if (version >= 3)
        run(db, facets);
    if (version >= 4)
        run(db, audits);
    return db;
}

static void overwrite(const char *path, unsigned page_size, int byte)
{
    AUTO_FREE unsigned char *page = mem_resize(NULL, page_size);
    memset(page, byte, page_size);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, page, page_size, 0), page_size);
}

static void compare_counts(const struct fix *f, const int64_t *before, int version)
{
    sqlite3 *db = open_at(f->path);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        bool migrated = version < 3 && strcmp(tables[i], "facet") == 0;
        if (strcmp(tables[i], "meta") != 0 && !migrated && before[i] >= 0)
            assert_int_equal(count(db, tables[i]), before[i]);
    }
    assert_int_equal(ask(db, "SELECT sum(number) FROM job"), JOBS * (JOBS + 1) / 2);
    assert_int_equal(ask(db, "SELECT sum(length(spec)) FROM body"),
                     ask(db, "SELECT sum(18 * number + length(name) + 18) FROM job"));
    assert_int_equal(ask(db, "SELECT value FROM meta WHERE name = 'silent'"), 4);
    assert_int_equal(ask(db, "PRAGMA user_version"), STORE_VERSION);
    sqlite3_close(db);
}

static void lose_and_recover(struct fix *f, int version, unsigned page_size, int byte)
{
    struct recovery_report out;
    int64_t before[ARRAY_LEN(tables)];
    file_remove_tree(f->dir, NULL);
    assert_int_equal(file_mkdirs(f->dir, 0700, &f->err), 0);
    sqlite3 *db = make(f->path, version, page_size);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        before[i] = count(db, tables[i]);
    sqlite3_close(db);
    overwrite(f->path, page_size, byte);
    struct recover_ask ask_for = { .path = f->path };
    if (store_recover(&ask_for, f->arena, &out, &f->err) < 0)
        fail_msg("version %d, %u: %s", version, page_size, f->err.what);
    assert_true(out.damaged && out.row_by_row);
    if (out.jobs != JOBS)
        fail_msg("version %d, %u: %u jobs", version, page_size, (unsigned)out.jobs);
    assert_int_equal(out.number, JOBS);
    assert_int_equal(out.event, JOBS);
    assert_int_equal(out.orphans, 0);
    compare_counts(f, before, version);
}

static void rows_of_each_page_size_come_back(void **state)
{
    for (unsigned page_size = 512; page_size <= 65536; page_size *= 2)
        lose_and_recover(*state, STORE_VERSION, page_size, 0);
}

static void rows_of_each_version_come_back(void **state)
{
    for (int version = 1; version <= STORE_VERSION; version++)
        lose_and_recover(*state, version, 4096, version % 2 ? 0xff : 'x');
}

/* Their rows still lie in pages that are free. */
static void what_was_deleted_stays_away(void **state)
{
    struct fix *f = *state;
    struct recovery_report out;
    struct recover_ask ask_for = { .path = f->path };
    sqlite3 *db = make(f->path, STORE_VERSION, 1024);
    run(db, "DELETE FROM job WHERE number BETWEEN 50 AND 249;"
            "DELETE FROM body WHERE job NOT IN (SELECT id FROM job);"
            "DELETE FROM event WHERE job NOT IN (SELECT id FROM job);");
    assert_true(ask(db, "PRAGMA freelist_count") > 10);
    sqlite3_close(db);
    overwrite(f->path, 1024, 0);
    assert_int_equal(store_recover(&ask_for, f->arena, &out, &f->err), 0);
    assert_int_equal(out.jobs, JOBS - 200);
    db = open_at(f->path);
    assert_int_equal(count(db, "body"), JOBS - 200);
    assert_int_equal(count(db, "event"), JOBS - 200);
    sqlite3_close(db);
}

/* Of the database at `live`, as one of those that are looked at. */
static void copy_part(struct fix *f, const char *live, const char *part)
{
    char *data;
    size_t len;
    AUTO_FREE char *from = mem_printf("%s%s", live, part), *to = mem_printf("%s%s", f->path, part);
    assert_int_equal(file_read(from, SIZE_MAX / 2, &data, &len, &f->err), 0);
    assert_int_equal(file_replace(to, data, len, 0600, &f->err), 0);
    free(data);
}

/* Of a server that was killed: its files are copied from under it. */
static void commits_in_the_log_count(void **state)
{
    struct fix *f = *state;
    struct recovery_report out;
    struct recover_ask ask_for = { .path = f->path };
    AUTO_FREE char *live = file_join(f->dir, "live.db");
    sqlite3 *db = make(live, STORE_VERSION, 4096);
    run(db, "PRAGMA journal_mode = WAL; UPDATE job SET name = 'other' WHERE number = 17");
    copy_part(f, live, "");
    copy_part(f, live, "-wal");
    sqlite3_close(db);
    overwrite(f->path, 4096, 0);
    assert_int_equal(store_recover(&ask_for, f->arena, &out, &f->err), 0);
    assert_true(out.row_by_row);
    assert_int_equal(out.jobs, JOBS);
    db = open_at(f->path);
    assert_int_equal(ask(db, "SELECT number FROM job WHERE name = 'other'"), 17);
    sqlite3_close(db);
}

/* Of before what the database has: with that log there would be fewer rows. */
static void an_older_log_takes_no_rows_away(void **state)
{
    struct fix *f = *state;
    struct recovery_report out;
    struct recover_ask ask_for = { .path = f->path };
    AUTO_FREE char *live = file_join(f->dir, "live.db");
    sqlite3 *db = make(live, STORE_VERSION, 4096);
    run(db, "PRAGMA journal_mode = WAL; CREATE TEMP TABLE kept AS SELECT * FROM job;"
            "DELETE FROM job WHERE number = 17");
    copy_part(f, live, "-wal");
    run(db, "INSERT INTO job SELECT * FROM temp.kept WHERE number = 17;"
            "PRAGMA wal_checkpoint(TRUNCATE)");
    copy_part(f, live, "");
    sqlite3_close(db);
    overwrite(f->path, 4096, 0);
    assert_int_equal(store_recover(&ask_for, f->arena, &out, &f->err), 0);
    assert_true(out.row_by_row);
    assert_int_equal(out.jobs, JOBS);
}

/* An array gives out the numbers and ids of its members before they have rows. */
static void numbers_of_members_are_given_out(void **state)
{
    struct fix *f = *state;
    struct recovery_report out;
    struct recover_ask ask_for = { .path = f->path };
    sqlite3 *db = make(f->path, STORE_VERSION, 1024);
    run(db, "UPDATE job SET members = 40 WHERE number = 300");
    sqlite3_close(db);
    overwrite(f->path, 1024, 0);
    assert_int_equal(store_recover(&ask_for, f->arena, &out, &f->err), 0);
    assert_int_equal(out.number, JOBS + 40);
    assert_true(out.next_number > JOBS + 40);
    assert_int_equal(out.missing.n, 0);
    db = open_at(f->path);
    assert_int_equal(ask(db, "SELECT value FROM meta WHERE name = 'job_id'"),
                     1000000000 + JOBS * 3 + 40);
    sqlite3_close(db);
}

static void what_is_no_database_has_no_rows(void **state)
{
    struct fix *f = *state;
    struct recovery_report out;
    struct recover_ask ask_for = { .path = f->path };
    uint32_t word = 1;
    for (unsigned kind = 0; kind < 3; kind++) {
        AUTO_FREE unsigned char *bytes = mem_resize(NULL, 300000);
        for (size_t i = 0; i < 300000; i++) {
            word = word * 1664525 + 1013904223;
            bytes[i] = (unsigned char)(kind == 0 ? word >> 24 : kind == 1 ? 13 : word >> 31);
        }
        assert_int_equal(file_replace(f->path, (const char *)bytes, 300000, 0600, &f->err), 0);
        assert_int_equal(store_recover(&ask_for, f->arena, &out, &f->err), 0);
        assert_true(out.damaged && !out.row_by_row);
        assert_int_equal(out.jobs, 0);
    }
}

/* The first page of a table's rows that has these words. */
static off_t find_page(const char *path, unsigned page_size, const char *word)
{
    char *data;
    size_t len;
    off_t at = 0;
    struct err err;
    assert_int_equal(file_read(path, SIZE_MAX / 2, &data, &len, &err), 0);
    for (size_t i = page_size; i < len && !at; i += page_size)
        if (data[i] == 13 && memmem(data + i, page_size, word, strlen(word)) &&
            memmem(data + i, page_size, "queued", 6))
            at = (off_t)i;
    free(data);
    assert_true(at > 0);
    return at;
}

/* Jobs on a page that is nothing any more: the indexes know them, and what is left of them. */
static void missing_jobs_are_named(void **state)
{
    for (int version = 1; version <= STORE_VERSION; version++) {
        struct fix *f = *state;
        struct recovery_report out;
        struct recover_ask ask_for = { .path = f->path };
        file_remove_tree(f->dir, NULL);
        assert_int_equal(file_mkdirs(f->dir, 0700, &f->err), 0);
        sqlite3_close(make(f->path, version, 4096));
        off_t at = find_page(f->path, 4096, "job-150");
        char zeros[4096] = { 0 };
        AUTO_CLOSE int fd = open(f->path, O_WRONLY | O_CLOEXEC);
        assert_int_equal(pwrite(fd, zeros, sizeof zeros, at), sizeof zeros);
        assert_int_equal(store_recover(&ask_for, f->arena, &out, &f->err), 0);
        assert_true(out.row_by_row);
        assert_in_range(out.missing.n, 10, 100);
        assert_int_equal(out.jobs + out.missing.n, JOBS);
        assert_int_equal(out.missing.more, 0);
        for (size_t i = 0; i < out.missing.n; i++) {
            const struct missing_job *job = &out.missing.at[i];
            char name[32], owner[32];
            snprintf(name, sizeof name, "job-%u", (unsigned)job->number);
            snprintf(owner, sizeof owner, "user-%u", (unsigned)job->number % 7);
            assert_int_equal(job->number, out.missing.at[0].number + i);
            assert_int_equal(job->id, 1000000000 + job->number * 3);
            assert_string_equal(job->name, name);
            assert_string_equal(job->owner, owner);
        }
    }
}

/* Pages whose bytes are others here and there: whatever comes of it, nothing is read outside them.
 */
static void broken_pages_are_passed_over(void **state)
{
    struct fix *f = *state;
    uint32_t word = 7;
    for (unsigned page_size = 512; page_size <= 65536; page_size *= 4)
        for (unsigned run_of = 0; run_of < 4; run_of++) {
            struct recovery_report out;
            struct recover_ask ask_for = { .path = f->path };
            file_remove_tree(f->dir, NULL);
            assert_int_equal(file_mkdirs(f->dir, 0700, &f->err), 0);
            sqlite3_close(make(f->path, STORE_VERSION, page_size));
            overwrite(f->path, page_size, 0);
            AUTO_CLOSE int fd = open(f->path, O_WRONLY | O_CLOEXEC);
            off_t size = lseek(fd, 0, SEEK_END);
            for (unsigned i = 0; i < 200; i++) {
                word = word * 1664525 + 1013904223;
                off_t at = (off_t)(word >> 4) % (size - page_size) + page_size;
                unsigned char byte = (unsigned char)(word >> 11);
                assert_int_equal(pwrite(fd, &byte, 1, i % 2 ? at : at - at % page_size + i % 16),
                                 1);
            }
            assert_int_equal(store_recover(&ask_for, f->arena, &out, &f->err), 0);
            assert_true(out.jobs <= JOBS);
        }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_of_each_page_size_come_back), TEST(rows_of_each_version_come_back),
        TEST(what_was_deleted_stays_away),      TEST(commits_in_the_log_count),
        TEST(an_older_log_takes_no_rows_away),  TEST(missing_jobs_are_named),
        TEST(what_is_no_database_has_no_rows),  TEST(broken_pages_are_passed_over),
        TEST(numbers_of_members_are_given_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
