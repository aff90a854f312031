/* An older database is brought up to date, step by step in one transaction, after a copy of it was
 * made: PATH.vN, one only. A newer one is refused. */
#include "store/versions.h"

#include "store/db.h"
#include "store/schema.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int versions_read(struct store *st, int *version, struct err *err)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(st->db, "PRAGMA user_version", -1, &s, NULL) != SQLITE_OK)
        return db_fail(st, err, st->path);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        *version = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return rc == SQLITE_ROW ? 0 : db_fail(st, err, st->path);
}

/* By SQLite, because closing a descriptor of the database would drop the lock on it. */
static int copy_to(struct store *st, const char *path, struct err *err)
{
    sqlite3 *to = NULL;
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(err, "%s", path);
    int rc = sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE, NULL);
    sqlite3_backup *backup =
        rc == SQLITE_OK ? sqlite3_backup_init(to, "main", st->db, "main") : NULL;
    if (backup) {
        sqlite3_backup_step(backup, -1);
        rc = sqlite3_backup_finish(backup);
    }
    sqlite3_close(to);
    if (rc == SQLITE_OK && backup)
        return 0;
    bool full = rc == SQLITE_FULL || errno == ENOSPC;
    err_set(err, full ? ERR_FULL : ERR_SYSTEM, "%s: %s", path, sqlite3_errstr(rc));
    return full ? err_hint(err, "an older database is copied before it is changed: make room") : -1;
}

static int keep_copy(struct store *st, int version, struct err *err)
{
    AUTO_FREE char *part = mem_printf("%s.part", st->path);
    if (copy_to(st, part, err) < 0) {
        unlink(part);
        return -1;
    }
    for (int older = 1; older < STORE_VERSION; older++) {
        AUTO_FREE char *path = mem_printf("%s.v%d", st->path, older);
        if (older == version && rename(part, path) != 0)
            return err_sys(err, "%s", path);
        if (older != version)
            unlink(path);
        else
            st->kept_copy = TAKE(path);
    }
    return 0;
}

const char *store_kept_copy(const struct store *st)
{
    return st->kept_copy;
}

int versions_migrate(struct store *st, struct err *err)
{
    int version = 0;
    if (versions_read(st, &version, err) < 0)
        return -1;
    if (version > STORE_VERSION) {
        err_set(err, ERR_CANNOT, "%s has version %d, this program knows up to %d", st->path,
                version, STORE_VERSION);
        return err_hint(err, "use the newer muster that wrote it, or another state directory");
    }
    if (version == STORE_VERSION)
        return 0;
    if (version > 0 && st->ballast && keep_copy(st, version, err) < 0)
        return -1;
    if (schema_functions(st->db) != SQLITE_OK)
        return db_fail(st, err, st->path);
    if (db_exec(st, "BEGIN IMMEDIATE", err) < 0)
        return -1;
    for (; version < STORE_VERSION; version++)
        if (db_exec(st, schema_step(version), err) < 0)
            return -1;
    char set[64];
    snprintf(set, sizeof set, "PRAGMA user_version = %d", version);
    return db_exec(st, set, err) < 0 ? -1 : db_exec(st, "COMMIT", err);
}
