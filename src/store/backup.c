/* SQLite's backup in slices. The source's connection tells it of every page that a commit writes,
 * so pages that were copied are copied again with it. The copy is not synced: who takes it away
 * does that. */
#include "store/backup.h"

#include "base/mem.h"
#include "store/columns.h"
#include "store/db.h"
#include "store/versions.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>

#define ROOM_LEFT (64ull << 20) /* of the disk, for what goes on beside the copy */

struct store_backup {
    struct store *store;
    sqlite3 *to;
    sqlite3_backup *backup;
    struct store_reach reach;
    char *path;
};

static int fail(const struct store_backup *b, int rc, struct err *err)
{
    int sys = b->to ? sqlite3_system_errno(b->to) : 0;
    bool full = (rc & 0xff) == SQLITE_FULL || sys == ENOSPC || sys == EDQUOT;
    return err_set(err, full ? ERR_FULL : ERR_SYSTEM, "copying the records to %s: %s", b->path,
                   sqlite3_errstr(rc));
}

static int check_room(const struct store *st, const char *path, struct err *err)
{
    char text[32];
    struct statvfs disk;
    uint64_t pages = 0;
    sqlite3_stmt *s = NULL;
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *dir = slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");
    if (sqlite3_prepare_v2(st->db, "PRAGMA page_count", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        pages = column_get_u64(s, 0);
    sqlite3_finalize(s);
    uint64_t need = pages * st->page_size + ROOM_LEFT;
    if (statvfs(dir, &disk) != 0 || (uint64_t)disk.f_bavail * disk.f_frsize >= need)
        return 0;
    snprintf(text, sizeof text, "%" PRIu64 " MiB", need >> 20);
    err_set(err, ERR_FULL, "there is no room for a copy of the records in %s", dir);
    return err_hint(err, "free %s there", text);
}

static int open_copy(struct store_backup *b, struct err *err)
{
    static const char pragmas[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                                  "PRAGMA cache_size = -500; PRAGMA temp_store = MEMORY;";
    AUTO_CLOSE int fd = open(b->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(err, "%s", b->path);
    int rc = sqlite3_open_v2(b->path, &b->to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(b->to, pragmas, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        b->backup = sqlite3_backup_init(b->to, "main", b->store->db, "main");
    return b->backup ? 0 : fail(b, rc == SQLITE_OK ? sqlite3_errcode(b->to) : rc, err);
}

struct store_backup *store_backup_begin(struct store *st, const char *path, struct err *err)
{
    if (st->backup) {
        err_set(err, ERR_BUSY, "a backup is being made");
        err_hint(err, "wait until it is done");
        return NULL;
    }
    if (st->memory || !st->ballast) {
        err_set(err, ERR_CANNOT, "records in memory have no backup");
        return NULL;
    }
    struct store_backup *b = mem_new(sizeof *b);
    b->store = st;
    b->path = mem_strdup(path);
    if (check_room(st, path, err) < 0 || open_copy(b, err) < 0) {
        store_backup_end(b);
        return NULL;
    }
    st->backup = b;
    return b;
}

struct store_reach store_reach_now(const struct store *st)
{
    return (struct store_reach){ .event = st->committed_event,
                                 .number = st->committed_number,
                                 .job_id = st->committed_job_id,
                                 .silent = st->committed_silent,
                                 .audit = st->committed_audit,
                                 .version = STORE_VERSION };
}

bool store_backing_up(const struct store *st)
{
    return st->backup != NULL;
}

int store_backup_step(struct store_backup *b, struct err *err)
{
    struct store *st = b->store;
    if (st->in_turn)
        return 0;
    int rc = sqlite3_backup_step(b->backup, STORE_BACKUP_PAGES);
    if (rc == SQLITE_OK)
        return 0;
    if (rc != SQLITE_DONE)
        return fail(b, rc, err);
    b->reach = store_reach_now(st);
    rc = sqlite3_backup_finish(TAKE(b->backup));
    if (rc == SQLITE_OK)
        rc = sqlite3_close(TAKE(b->to));
    return rc == SQLITE_OK ? 1 : fail(b, rc, err);
}

struct store_reach store_backup_reach(const struct store_backup *b)
{
    return b->reach;
}

void store_backup_end(struct store_backup *b)
{
    if (!b)
        return;
    sqlite3_backup_finish(b->backup); /* NULL-safe, as is the next */
    sqlite3_close(b->to);
    if (b->store->backup == b)
        b->store->backup = NULL;
    free(b->path);
    free(b);
}

/* ---- of a file ---- */

static int ask_whole(sqlite3 *db, char text[160])
{
    sqlite3_stmt *s = NULL;
    bool has = sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &s, NULL) == SQLITE_OK &&
               sqlite3_step(s) == SQLITE_ROW;
    snprintf(text, 160, "%s", has ? (const char *)sqlite3_column_text(s, 0) : sqlite3_errmsg(db));
    sqlite3_finalize(s);
    return has && strcmp(text, "ok") == 0 ? 0 : -1;
}

int store_look_at_copy(const char *path, struct store_reach *out, struct err *err)
{
    char text[160];
    /* As a file that nobody writes: without a WAL, whatever its header says. */
    AUTO_FREE char *uri = mem_printf("file:%s?immutable=1", path);
    struct store *st = mem_new(sizeof *st);
    st->path = mem_strdup(path);
    int rc = -1;
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
    if (sqlite3_open_v2(uri, &st->db, flags, NULL) != SQLITE_OK || ask_whole(st->db, text) < 0) {
        err_set(err, ERR_INPUT, "%s is damaged: %s", path, st->db ? text : "no memory");
        goto out;
    }
    sqlite3_extended_result_codes(st->db, 1);
    *out = (struct store_reach){ .version = 0 };
    if (versions_read(st, &out->version, err) < 0)
        goto out;
    if (out->version <= 0 || out->version > STORE_VERSION) {
        err_set(err, ERR_CANNOT, "%s has version %d, this program knows 1 to %d", path,
                out->version, STORE_VERSION);
        goto out;
    }
    db_read_last(st);
    out->event = st->event;
    out->number = st->number;
    out->job_id = st->job_id;
    out->audit = st->audit;
    rc = 0;
out:
    store_close(st);
    return rc;
}
