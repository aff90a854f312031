/* Opening and closing. The database is ours alone: exclusive locking before WAL means a second
 * server is refused by SQLite itself and no shared memory file is needed. synchronous=FULL: a
 * commit that returned is on the disk. */
#include "store/columns.h"
#include "store/db.h"
#include "store/versions.h"

#include "base/mem.h"
#include "store/disk.h"
#include "store/end_mark.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool store_keeps_details(const struct store *st)
{
    return !st->memory;
}

/* What was given out counts, whether its row is still there or not. */
static uint64_t highest(struct store *st, uint64_t of_rows, const char *floor)
{
    uint64_t least = 0;
    db_meta(st, floor, &least);
    return of_rows > least ? of_rows : least;
}

void db_read_last(struct store *st)
{
    uint64_t number = 0, id = 0, event = 0;
    sqlite3_stmt *s = db_stmt(st, STMT_MAX_JOB, NULL);
    if (s && db_step(st, s, NULL) == 1) {
        number = column_get_u64(s, 0);
        id = column_get_u64(s, 1);
        sqlite3_reset(s);
    }
    s = db_stmt(st, STMT_MAX_EVENT, NULL);
    if (s && db_step(st, s, NULL) == 1) {
        event = column_get_u64(s, 0);
        sqlite3_reset(s);
    }
    st->number = st->committed_number = highest(st, number, "number");
    st->job_id = st->committed_job_id = highest(st, id, "job_id");
    st->event = st->committed_event = highest(st, event, "event");
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
    /* No plan depends on what is bound: else each new value prepares some statements anew. */
    sqlite3_db_config(st->db, SQLITE_DBCONFIG_ENABLE_QPSG, 1, NULL);
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
    return end_check(st, err) < 0 ? -1 : versions_migrate(st, err);
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
    store_decide(st, NULL);
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
    if (versions_migrate(st, err) < 0) {
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
