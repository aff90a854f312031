/* A copy of what a server goes on from: enough to start the same core elsewhere, and small however
 * long the history is. Written by SQLite between two attached databases; read back into memory. */
#include "store/columns.h"
#include "store/db.h"
#include "store/schema.h"
#include "store/versions.h"

#include "base/mem.h"

#include <stdio.h>

#define OF_KEPT "WHERE job IN (SELECT id FROM copy.job)"

static int run(sqlite3 *db, const char *text, const char *path, struct err *err)
{
    char *why = NULL;
    int rc = sqlite3_exec(db, text, NULL, NULL, &why);
    if (rc == SQLITE_OK)
        return 0;
    bool full = (rc & 0xff) == SQLITE_FULL || (rc & 0xff) == SQLITE_IOERR;
    err_set(err, full ? ERR_FULL : ERR_SYSTEM, "%s: %s", path, why ? why : sqlite3_errstr(rc));
    sqlite3_free(why);
    return -1;
}

static int make_tables(const char *path, struct err *err)
{
    sqlite3 *db = NULL;
    char version[64];
    bool open = sqlite3_open(path, &db) == SQLITE_OK && schema_functions(db) == SQLITE_OK;
    int rc = open ? 0 : -1;
    if (rc)
        err_set(err, ERR_SYSTEM, "%s: %s", path, db ? sqlite3_errmsg(db) : "no memory");
    for (int step = 0; rc == 0 && step < STORE_VERSION; step++)
        rc = run(db, schema_step(step), path, err);
    snprintf(version, sizeof version, "PRAGMA user_version = %d", STORE_VERSION);
    rc = rc == 0 ? run(db, version, path, err) : rc;
    sqlite3_close(db);
    return rc;
}

static int attach(struct store *st, const char *path, struct err *err)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(st->db, "ATTACH ? AS copy", -1, &s, NULL);
    if (rc == SQLITE_OK) {
        bind_text(s, 1, path);
        rc = sqlite3_step(s) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
    }
    if (rc != SQLITE_OK)
        err_set(err, ERR_SYSTEM, "%s: %s", path, sqlite3_errmsg(st->db));
    sqlite3_finalize(s);
    return rc == SQLITE_OK ? 0 : -1;
}

int store_copy(struct store *st, const char *path, struct err *err)
{
    char rows[2048];
    snprintf(rows, sizeof rows,
             "PRAGMA copy.journal_mode = OFF; PRAGMA copy.synchronous = OFF;"
             "PRAGMA copy.secure_delete = ON; BEGIN;" /* unused parts of pages are zero */
             "INSERT INTO copy.job SELECT * FROM main.job WHERE state" IS_LIVE
             " OR array IN (SELECT id FROM main.job WHERE members > 0 AND state" IS_LIVE ");"
             "INSERT OR IGNORE INTO copy.job SELECT * FROM main.job WHERE id IN"
             " (SELECT id FROM main.job ORDER BY id DESC LIMIT %d);"
             "INSERT INTO copy.body SELECT * FROM main.body " OF_KEPT ";"
             "INSERT INTO copy.facet SELECT * FROM main.facet " OF_KEPT ";"
             "INSERT INTO copy.origin SELECT * FROM main.origin " OF_KEPT ";"
             "INSERT INTO copy.task SELECT * FROM main.task " OF_KEPT ";"
             "INSERT INTO copy.attempt SELECT * FROM main.attempt " OF_KEPT ";"
             "INSERT INTO copy.agent SELECT * FROM main.agent " OF_KEPT ";"
             "UPDATE copy.agent SET token_hash = zeroblob(32);"
             "INSERT INTO copy.idem SELECT * FROM main.idem " OF_KEPT ";"
             "INSERT INTO copy.object SELECT * FROM main.object WHERE kind NOT IN ('key', 'token')"
             " AND instr(kind, '.') = 0;" /* documents of façades */
             /* what is sealed stays sealed: the copy tells the key by this row */
             "INSERT INTO copy.secret SELECT * FROM main.secret WHERE owner = '';"
             "UPDATE copy.object SET spec = json_remove(spec, '$.password') WHERE kind = 'user';"
             "INSERT OR REPLACE INTO copy.meta VALUES"
             " ('number', %llu), ('job_id', %llu), ('event', %llu); COMMIT;",
             STORE_COPY_ENDED, (unsigned long long)st->number, (unsigned long long)st->job_id,
             (unsigned long long)st->event);
    if (st->in_turn)
        BUG("a copy inside a turn");
    if (make_tables(path, err) || attach(st, path, err))
        return -1;
    int rc = run(st->db, rows, path, err);
    if (!sqlite3_get_autocommit(st->db))
        sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_exec(st->db, "DETACH copy", NULL, NULL, NULL);
    return rc;
}

static int read_in(struct store *st, const char *path, struct err *err)
{
    sqlite3 *file = NULL;
    int rc = sqlite3_open_v2(path, &file, SQLITE_OPEN_READONLY, NULL);
    sqlite3_backup *backup =
        rc == SQLITE_OK ? sqlite3_backup_init(st->db, "main", file, "main") : NULL;
    if (backup) {
        sqlite3_backup_step(backup, -1);
        rc = sqlite3_backup_finish(backup);
    }
    if (rc != SQLITE_OK || !backup)
        err_set(err, ERR_INPUT, "%s: %s", path, file ? sqlite3_errmsg(file) : "no memory");
    sqlite3_close(file);
    return rc == SQLITE_OK && backup ? 0 : -1;
}

struct store *store_open_copy(const char *path, struct err *err)
{
    struct store *st = mem_new(sizeof *st);
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
    st->path = mem_strdup(path);
    if (sqlite3_open_v2(":memory:", &st->db, flags, NULL) != SQLITE_OK) {
        db_fail(st, err, path);
        store_close(st);
        return NULL;
    }
    sqlite3_extended_result_codes(st->db, 1);
    if (read_in(st, path, err) < 0 || versions_migrate(st, err) < 0) {
        store_close(st);
        return NULL;
    }
    db_read_last(st);
    return st;
}
