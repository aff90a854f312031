/* The records and their seal: a row of `secret` without an owner says that there is one, and opens
 * with its key. Where that row is missing, an older server wrote: its secrets are sealed, and the
 * file is written anew, because SQLite leaves what was there in pages that it does not use. */
#include "store/db.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define CHECK     "the key of this server"
#define IS_CLEAR  "substr(text, 1, 7) <> '" SEALED_MARK "'"
#define OF_SECRET " WHERE owner = '' AND name = 'seal'"

static void sealed(sqlite3_context *context, int n, sqlite3_value **args)
{
    const struct seal *seal = sqlite3_user_data(context);
    const void *text = sqlite3_value_blob(args[0]);
    (void)n;
    char *out = seal_text(seal, text ? text : "", (size_t)sqlite3_value_bytes(args[0]));
    sqlite3_result_text(context, out, -1, free);
}

/* The first row's text, in arena; NULL: there is none. */
static const char *ask(struct store *st, struct arena *arena, const char *query)
{
    sqlite3_stmt *s = NULL;
    const char *text = NULL;
    if (sqlite3_prepare_v2(st->db, query, -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        text = db_get_text(s, 0, arena);
    sqlite3_finalize(s);
    return text;
}

bool store_has_sealed(struct store *st)
{
    struct arena *arena = arena_create();
    bool has = ask(st, arena, "SELECT 'x' FROM secret" OF_SECRET) != NULL;
    arena_destroy(arena);
    return has;
}

static int run(struct store *st, const char *text, struct err *err)
{
    return sqlite3_exec(st->db, text, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : db_fail(st, err, "sealing secrets");
}

static int seal_older(struct store *st, struct err *err)
{
    static const char rows[] =
        "PRAGMA secure_delete = ON; BEGIN IMMEDIATE;"
        "UPDATE origin SET text = sealed(text) WHERE text IS NOT masked AND " IS_CLEAR ";"
        "UPDATE secret SET value = CAST(sealed(value) AS BLOB)"
        " WHERE CAST(substr(value, 1, 7) AS TEXT) <> '" SEALED_MARK "';"
        "UPDATE object SET spec = sealed(spec) WHERE kind IN ('k8s.secrets', 'dlc.template')"
        " AND substr(spec, 1, 7) <> '" SEALED_MARK "'; COMMIT; VACUUM;"
        "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA secure_delete = OFF;"
        "INSERT INTO secret VALUES ('', 'seal', CAST(sealed('" CHECK "') AS BLOB));";
    if (run(st, rows, err) == 0)
        return 0;
    if (!sqlite3_get_autocommit(st->db))
        sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

int store_use_seal(struct store *st, struct seal *seal, bool *fits, struct err *err)
{
    if (st->in_turn)
        BUG("a seal inside a turn");
    seal_destroy(st->seal);
    st->seal = seal;
    *fits = true;
    if (!st->ballast) /* in memory */
        return 0;
    if (sqlite3_create_function(st->db, "sealed", 1, SQLITE_UTF8, seal, sealed, NULL, NULL) !=
        SQLITE_OK)
        return db_fail(st, err, "sealing secrets");
    if (!store_has_sealed(st) && seal_older(st, err))
        return err->code == ERR_FULL ? 0 : -1; /* no room now: at the next start */
    struct arena *arena = arena_create();
    const char *row = ask(st, arena, "SELECT CAST(value AS TEXT) FROM secret" OF_SECRET);
    const char *text = seal_reveal(seal, arena, row);
    *fits = text && strcmp(text, CHECK) == 0;
    arena_destroy(arena);
    return 0;
}

const struct seal *store_seal(const struct store *st)
{
    return st->seal;
}

char *db_secret(const struct store *st, const char *text, size_t len)
{
    return st->seal ? seal_text(st->seal, text, len) : mem_strndup(text, len);
}

bool db_kind_is_secret(const char *kind)
{
    static const char *const kinds[] = { STORE_SECRET_KINDS };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}
