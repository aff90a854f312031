/* Statements: prepared once, failures as errors that say what helps. What fails in a turn is kept
 * for its commit. */
#include "store/db.h"

#include "store/columns.h"

#include <errno.h>
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

int db_damaged(struct err *err, const char *path, const char *why)
{
    err_set(err, ERR_CANNOT, "%s is damaged: %s", path, why);
    err_subject(err, strlen(path) + strlen(" is damaged: "));
    err_hint(err, "nothing was changed; a copy of the state directory keeps what is there");
    return err_remedy(err, REMEDY_SERVER_RECOVER);
}

int db_fail(struct store *st, struct err *err, const char *doing)
{
    struct err e = { 0 };
    err_set(&e, code_of(st->db), "%s: %s", doing, sqlite3_errmsg(st->db));
    err_subject(&e, strlen(doing) + strlen(": "));
    if (is_damage(st->db))
        db_damaged(&e, st->path, sqlite3_errmsg(st->db));
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

bool db_meta(struct store *st, const char *name, uint64_t *value)
{
    sqlite3_stmt *s = db_stmt(st, STMT_GET_META, NULL);
    if (!s)
        return false;
    bind_text(s, 1, name);
    bool there = db_step(st, s, NULL) == 1;
    if (there)
        *value = column_get_u64(s, 0);
    sqlite3_reset(s);
    return there;
}

sqlite3_file *db_file(struct store *st, int which)
{
    sqlite3_file *file = NULL;
    int rc = sqlite3_file_control(st->db, "main", which, (void *)&file);
    return rc == SQLITE_OK && file && file->pMethods ? file : NULL;
}
