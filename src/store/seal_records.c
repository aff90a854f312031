/* The records and their seal: a row of `secret` without an owner says that there is one, and opens
 * with its key. Where that row is missing, an older server wrote: what it left in clear is sealed,
 * and the file is written anew, because SQLite leaves what was there in pages that it does not use.
 */
#include "store/seal_records.h"

#include "base/mem.h"
#include "store/columns.h"
#include "store/db.h"
#include "store/find.h"

#include <stdio.h>
#include <string.h>

#define CHECK         "the key of this server"
#define CLEAR(column) "substr(" column ", 1, 7) <> '" SEALED_MARK "'"
#define OR_KIND(kind) " OR kind = '" kind "'"

static void sealed(sqlite3_context *context, int n, sqlite3_value **args)
{
    const struct seal *seal = sqlite3_user_data(context);
    const void *text = sqlite3_value_blob(args[0]);
    (void)n;
    char *out = seal_text(seal, text ? text : "", (size_t)sqlite3_value_bytes(args[0]));
    sqlite3_result_text(context, out, -1, free);
}

/* What is sealed has grown: 'seal' alone was put by a server that sealed credentials only. */
struct seal_marks {
    const char
        *last;  /* the sealed text of the last one by name, which counts; NULL: there is none */
    bool older; /* it is not of this version */
};

static struct seal_marks read_marks(struct store *st, struct arena *arena)
{
    struct seal_marks marks = { .older = true };
    sqlite3_stmt *s = db_stmt(st, STMT_SEAL_MARKS, NULL);
    if (!s || db_step(st, s, NULL) != 1)
        return marks;
    marks.last = column_get_text(s, 0, arena);
    marks.older = strcmp(column_get_word(s, 1).text, "seal.2") != 0;
    sqlite3_reset(s);
    return marks;
}

bool store_has_sealed(struct store *st)
{
    struct arena *arena = arena_create();
    bool has = read_marks(st, arena).last != NULL;
    arena_destroy(arena);
    return has;
}

static int run(struct store *st, const char *text, struct err *err)
{
    return sqlite3_exec(st->db, text, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : db_fail(st, err, "sealing secrets");
}

#define SEAL_COLUMN(table, column)                                                                 \
    "UPDATE " table " SET " column " = sealed(" column ") WHERE " CLEAR(column) ";"
static const char seal_rows[] = "PRAGMA secure_delete = ON; BEGIN IMMEDIATE;" SEAL_COLUMN("body",
                                                                                          "spec")
    SEAL_COLUMN("body", "site") SEAL_COLUMN("origin", "text") SEAL_COLUMN(
        "origin",
        "masked") "UPDATE secret SET value = CAST(sealed(value) AS BLOB)"
                  " WHERE " CLEAR(
                      "CAST(value AS TEXT)") ";"
                                             "UPDATE object SET spec = sealed(spec)"
                                             " WHERE (FALSE" STORE_SECRET_KINDS(OR_KIND) ") AND " CLEAR(
                                                 "spec") "; COMMIT; VACUUM;"
                                                         "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA secure_delete = OFF;";
static const char seal_mark[] = "INSERT OR REPLACE INTO secret"
                                " VALUES ('', 'seal.2', CAST(sealed('" CHECK "') AS BLOB));";

static int put_mark(struct store *st, struct err *err)
{
    return run(st, seal_mark, err);
}

static int add_function(sqlite3 *db, struct seal *seal)
{
    return sqlite3_create_function(db, "sealed", 1, SQLITE_UTF8, seal, sealed, NULL, NULL);
}

/* The copy that was kept of an older version (versions.c) has the same tables for it. */
static int seal_copy(struct store *st, struct err *err)
{
    sqlite3 *db = NULL;
    if (!st->kept_copy)
        return 0;
    int rc = sqlite3_open_v2(st->kept_copy, &db, SQLITE_OPEN_READWRITE, NULL);
    if (rc == SQLITE_OK)
        rc = add_function(db, st->seal);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, seal_rows, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, seal_mark, NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        err_set(err, rc == SQLITE_FULL ? ERR_FULL : ERR_SYSTEM, "sealing %s: %s", st->kept_copy,
                db ? sqlite3_errmsg(db) : "no memory");
    sqlite3_close(db);
    return rc == SQLITE_OK ? 0 : -1;
}

static int seal_older(struct store *st, struct err *err)
{
    if (seal_copy(st, err) < 0)
        return -1;
    if (run(st, seal_rows, err) == 0)
        return put_mark(st, err);
    if (!sqlite3_get_autocommit(st->db))
        sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

static bool check_key(struct store *st, bool *older)
{
    struct arena *arena = arena_create();
    struct seal_marks marks = read_marks(st, arena);
    const char *text = seal_reveal(st->seal, arena, marks.last);
    bool fits = !marks.last || (text && strcmp(text, CHECK) == 0);
    *older = marks.older;
    arena_destroy(arena);
    return fits;
}

int store_use_seal(struct store *st, struct seal *seal, bool *fits, struct err *err)
{
    bool older;
    if (st->in_turn)
        BUG("a seal inside a turn");
    seal_destroy(st->seal);
    st->seal = seal;
    *fits = check_key(st, &older);
    if (!st->ballast) /* in memory */
        return 0;
    if (add_function(st->db, seal) != SQLITE_OK)
        return db_fail(st, err, "sealing secrets");
    if (*fits && older && seal_older(st, err))
        return err->code == ERR_FULL ? 0 : -1; /* no room now: at the next start */
    return 0;
}

int store_change_seal(struct store *st, struct err *err)
{
    struct job_counts counts;
    if (store_counts(st, &counts, err))
        return -1;
    uint64_t live = 0;
    for (int state = JOB_NONE + 1; state < JOB_STATE_N; state++)
        live += job_state_final((enum job_state)state) ? 0 : counts.by_state[state];
    if (live) {
        err_set(err, ERR_CANNOT, "the records are sealed with another key, and %llu job%s in them",
                (unsigned long long)live, live == 1 ? " lives" : "s live");
        return err_hint(err, "put the right key back; or begin anew with another --state-dir");
    }
    return put_mark(st, err);
}

const struct seal *store_seal(const struct store *st)
{
    return st->seal;
}

char *seal_record(const struct store *st, const char *text, size_t len)
{
    return st->seal ? seal_text(st->seal, text, len) : mem_strndup(text, len);
}

char *seal_record_text(const struct store *st, const char *text)
{
    return text ? seal_record(st, text, strlen(text)) : NULL;
}

const char *seal_column(const struct store *st, sqlite3_stmt *s, int at, struct arena *a)
{
    return seal_reveal(st->seal, a, column_get_text(s, at, a));
}

bool seal_is_for_kind(const char *kind)
{
#define KIND(kind) kind,
    static const char *const kinds[] = { STORE_SECRET_KINDS(KIND) };
#undef KIND
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}
