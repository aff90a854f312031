/* Opening, versions, turns and statements. The database is ours alone: exclusive locking before WAL
 * means a second server is refused by SQLite itself and no shared memory file is needed.
 * synchronous=FULL: a commit that returned is on the disk. */
#include "store/db.h"

#include "base/mem.h"
#include "store/disk.h"
#include "store/end.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static const char *const sql[STMT_N] = {
#define STMT_SQL(id, text) [STMT_##id] = text,
    STATEMENTS(STMT_SQL)
#undef STMT_SQL
};

static enum err_code code_of(sqlite3 *db)
{
    int rc = sqlite3_extended_errcode(db);
    int sys = sqlite3_system_errno(db);
    if (rc == SQLITE_FULL || (rc != SQLITE_OK && (sys == ENOSPC || sys == EDQUOT)))
        return ERR_FULL;
    if ((rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED)
        return ERR_CONFLICT;
    return (rc & 0xff) == SQLITE_READONLY ? ERR_FULL : ERR_SYSTEM;
}

static bool is_damage(sqlite3 *db)
{
    int rc = sqlite3_errcode(db) & 0xff;
    return rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB;
}

int db_fail(struct store *st, struct err *err, const char *doing)
{
    struct err e = { 0 };
    err_set(&e, code_of(st->db), "%s: %s", doing, sqlite3_errmsg(st->db));
    err_subject(&e, strlen(doing) + strlen(": "));
    if (is_damage(st->db))
        end_damaged(&e, st->path, sqlite3_errmsg(st->db));
    if (e.code == ERR_FULL)
        err_hint(&e, "free space on the disk that holds %s; running jobs go on", st->path);
    if (st->in_turn && !st->failed.code)
        st->failed = e;
    if (err)
        *err = e;
    return -1;
}

int db_exec(struct store *st, const char *text, struct err *err)
{
    return sqlite3_exec(st->db, text, NULL, NULL, NULL) == SQLITE_OK ? 0
                                                                     : db_fail(st, err, st->path);
}

sqlite3_stmt *db_stmt(struct store *st, enum stmt_id id, struct err *err)
{
    if (!st->stmts[id] && sqlite3_prepare_v3(st->db, sql[id], -1, SQLITE_PREPARE_PERSISTENT,
                                             &st->stmts[id], NULL) != SQLITE_OK) {
        db_fail(st, err, "preparing a statement");
        return NULL;
    }
    sqlite3_reset(st->stmts[id]);
    sqlite3_clear_bindings(st->stmts[id]);
    return st->stmts[id];
}

/* Idempotent within a turn. */
static void store_begin(struct store *st)
{
    if (st->in_turn)
        return;
    struct err err = { 0 };
    st->in_turn = true;
    st->dirty = false;
    st->failed = (struct err){ 0 };
    if (st->memory)
        return; /* nothing is ever undone */
    if (store_decide(st, &st->failed) < 0)
        return;
    sqlite3_stmt *s = db_stmt(st, STMT_BEGIN, &err);
    if (!s || sqlite3_step(s) != SQLITE_DONE)
        db_fail(st, &err, "beginning a turn");
    if (s)
        sqlite3_reset(s);
}

sqlite3_stmt *db_write(struct store *st, enum stmt_id id, struct err *err)
{
    store_begin(st);
    st->dirty = true;
    if (st->failed.code) {
        if (err)
            *err = st->failed;
        return NULL;
    }
    return db_stmt(st, id, err);
}

bool db_forget(struct store *st)
{
    if (!st->memory)
        return false;
    store_begin(st);
    st->dirty = true;
    return true;
}

int db_run(struct store *st, sqlite3_stmt *s, struct err *err)
{
    int rc = sqlite3_step(s);
    if (rc != SQLITE_DONE && rc != SQLITE_ROW) {
        db_fail(st, err, "writing the record");
        sqlite3_reset(s);
        return -1;
    }
    sqlite3_reset(s);
    return 0;
}

int db_step(struct store *st, sqlite3_stmt *s, struct err *err)
{
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        return 1;
    if (rc != SQLITE_DONE)
        db_fail(st, err, "reading the records");
    sqlite3_reset(s);
    return rc == SQLITE_DONE ? 0 : -1;
}

bool store_dirty(const struct store *st)
{
    return st->in_turn && st->dirty;
}

void store_rollback(struct store *st)
{
    if (!st->in_turn)
        return;
    if (!sqlite3_get_autocommit(st->db)) {
        struct err err;
        sqlite3_stmt *s = db_stmt(st, STMT_ROLLBACK, &err);
        if (s) {
            sqlite3_step(s);
            sqlite3_reset(s);
        }
    }
    st->in_turn = st->dirty = false;
    st->failed = (struct err){ 0 };
    st->number = st->committed_number;
    st->job_id = st->committed_job_id;
    st->event = st->committed_event;
    st->audit = st->committed_audit;
    st->silent = st->committed_silent;
    st->event_hash = st->committed_event_hash;
    st->jobs = st->committed_jobs;
}

int store_commit(struct store *st, struct err *err)
{
    if (!st->in_turn)
        return 0;
    if (st->mark && st->dirty && !st->failed.code)
        end_count(st);
    sqlite3_stmt *s = st->failed.code || st->memory ? NULL : db_stmt(st, STMT_COMMIT, &st->failed);
    bool refused = s && sqlite3_step(s) != SQLITE_DONE;
    if (refused)
        db_fail(st, NULL, "committing");
    if (s)
        sqlite3_reset(s);
    if (st->failed.code) {
        if (err)
            *err = st->failed;
        store_rollback(st);
        st->undecided |= refused;
        store_decide(st, NULL);
        return -1;
    }
    st->in_turn = st->dirty = false;
    st->committed_number = st->number;
    st->committed_job_id = st->job_id;
    st->committed_event = st->event;
    st->committed_audit = st->audit;
    st->committed_silent = st->silent;
    st->committed_event_hash = st->event_hash;
    st->committed_jobs = st->jobs;
    end_note(st);
    return 0;
}

bool store_keeps_details(const struct store *st)
{
    return !st->memory;
}

static uint64_t highest(struct store *st, enum stmt_id max, const char *floor)
{
    struct err err;
    uint64_t value = 0, least = 0;
    sqlite3_stmt *s = db_stmt(st, max, &err);
    if (s && db_step(st, s, &err) == 1)
        value = db_get_u64(s, 0);
    if (s)
        sqlite3_reset(s);
    s = db_stmt(st, STMT_GET_META, &err);
    if (s) {
        db_text(s, 1, floor);
        if (db_step(st, s, &err) == 1)
            least = db_get_u64(s, 0);
        sqlite3_reset(s);
    }
    return value > least ? value : least;
}

void db_read_last(struct store *st)
{
    st->number = st->committed_number = highest(st, STMT_MAX_NUMBER, "number");
    st->job_id = st->committed_job_id = highest(st, STMT_MAX_ID, "job_id");
    st->event = st->committed_event = highest(st, STMT_MAX_EVENT, "event");
    db_read_audit(st);
}

static int open_db(struct store *st, struct err *err)
{
    /* Exclusive locking first: WAL then needs no shared memory. */
    static const char pragmas[] = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
                                  "PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF;"
                                  "PRAGMA cache_size = -16000; PRAGMA temp_store = MEMORY;"
                                  "BEGIN EXCLUSIVE; COMMIT;";
    if (end_check_file(st, err) < 0)
        return -1;
    /* Only its owner reads it: SQLite gives its other files the mode of this one. Closed before
     * SQLite opens it: closing any descriptor of a file drops all of a process's locks on it. */
    int fd = open(st->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, "%s", st->path);
    close(fd);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(st->path, &st->db, flags, NULL) != SQLITE_OK)
        return db_fail(st, err, st->path);
    sqlite3_extended_result_codes(st->db, 1);
    /* What is damaged is left as it is. */
    sqlite3_db_config(st->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (db_exec(st, pragmas, err) < 0) {
        if (err && err->code == ERR_CONFLICT) {
            err_set(err, ERR_CONFLICT, "another server uses %s", st->path);
            err_remedy(err, REMEDY_SERVER_STATUS);
            err_remedy(err, REMEDY_SERVER_STOP);
        }
        return -1;
    }
    return end_check(st, err) < 0 ? -1 : db_migrate(st, err);
}

sqlite3_file *db_file(struct store *st, int which)
{
    sqlite3_file *file = NULL;
    int rc = sqlite3_file_control(st->db, "main", which, (void *)&file);
    return rc == SQLITE_OK && file && file->pMethods ? file : NULL;
}

/* A server that died may have written what it did not come to sync, commits in the log or a part of
 * the log in the database. It has just been read and counts from now on, so a loss of power must
 * not take it away. What lies in the log behind the last commit counts for nobody: it goes, because
 * behind commits that come it would look like some that were damaged. */
static int sync_read(struct store *st, struct err *err)
{
    sqlite3_file *file = db_file(st, SQLITE_FCNTL_FILE_POINTER);
    if (end_cut(st) == 0 && (!file || file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) == SQLITE_OK))
        return 0;
    err_set(err, ERR_SYSTEM, "%s: what is in it cannot be synced", st->path);
    return err_subject(err, strlen(st->path) + strlen(": "));
}

static struct store *open_file(const char *path, bool backup_copy, struct err *err)
{
    struct store *st = mem_new(sizeof *st);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* nobody asks it for its use of memory */
    st->path = mem_strdup(path);
    st->ballast = mem_printf("%s.ballast", path);
    st->backup_copy = backup_copy;
    if (open_db(st, err) < 0 || sync_read(st, err) < 0) {
        store_close(st);
        return NULL;
    }
    db_read_last(st);
    st->whole = true;
    end_begin(st);
    store_make_ballast(st);
    return st;
}

struct store *store_open(const char *path, struct err *err)
{
    return open_file(path, false, err);
}

struct store *store_open_backup(const char *path, struct err *err)
{
    return open_file(path, true, err);
}

struct store *store_open_memory(struct store_tap tap, struct err *err)
{
    struct store *st = mem_new(sizeof *st);
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
    st->path = mem_strdup(":memory:");
    st->tap = tap;
    if (sqlite3_open_v2(st->path, &st->db, flags, NULL) != SQLITE_OK) {
        db_fail(st, err, st->path);
        store_close(st);
        return NULL;
    }
    if (db_migrate(st, err) < 0) {
        store_close(st);
        return NULL;
    }
    st->memory = memory_create();
    return st;
}

void store_close(struct store *st)
{
    if (!st)
        return;
    store_rollback(st);
    if (st->backup || st->pages)
        BUG("the store is closed during a backup");
    for (size_t i = 0; i < STMT_N; i++)
        sqlite3_finalize(st->stmts[i]);
    end_close(st);
    sqlite3_close(st->db);
    mark_close(st->mark);
    memory_destroy(st->memory);
    seal_destroy(st->seal);
    free(st->path);
    free(st->ballast);
    free(st->kept_copy);
    free(st);
}

void db_text(sqlite3_stmt *s, int at, const char *text)
{
    sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

void db_u64(sqlite3_stmt *s, int at, uint64_t value)
{
    sqlite3_bind_int64(s, at, (sqlite3_int64)value);
}

void db_blob(sqlite3_stmt *s, int at, const void *data, size_t len)
{
    sqlite3_bind_blob64(s, at, data, len, SQLITE_STATIC);
}

const char *db_get_text(sqlite3_stmt *s, int at, struct arena *a)
{
    const unsigned char *text = sqlite3_column_text(s, at);
    return text ? arena_strndup(a, (const char *)text, (size_t)sqlite3_column_bytes(s, at)) : NULL;
}

uint64_t db_get_u64(sqlite3_stmt *s, int at)
{
    return (uint64_t)sqlite3_column_int64(s, at);
}

struct db_word db_get_word(sqlite3_stmt *s, int at)
{
    struct db_word word = { "" };
    const unsigned char *text = sqlite3_column_text(s, at);
    if (text)
        snprintf(word.text, sizeof word.text, "%s", (const char *)text);
    return word;
}

void *db_more(struct arena *a, void *at, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return at;
    *cap = *cap ? *cap * 2 : 16;
    void *wider = arena_array(a, *cap, size);
    if (n)
        memcpy(wider, at, n * size);
    return wider;
}
