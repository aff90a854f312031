/* Where the records end: followed commit by commit, written to the mark, and compared with it at
 * the next start.
 *
 * A WAL with the mark's salt must reach as far as the mark says, with the same sum: that is exact.
 * Where it has been written back and begun anew since, the rows tell: event numbers, entries of the
 * audit record and a count of the commits that added neither only grow. */
#include "store/end_mark.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/scan.h"
#include "store/columns.h"
#include "store/db.h"
#include "store/meta.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CHANGE_AT 24 /* SQLite's file format: the file change counter */

uint64_t end_hash(const struct event_row *row)
{
    const char *body = row->body ? row->body : "";
    const struct hash_seed first = { .k = { row->seq, row->job } },
                           then = { .k = { row->at_ms, row->attempt } };
    return hash_bytes(first, body, strlen(body)) * 3 +
           hash_bytes(then, row->type, strlen(row->type));
}

/* ---- what SQLite's own files say ---- */

bool end_read_file(struct store *st, int which, void *to, int n, int64_t at)
{
    sqlite3_file *file = db_file(st, which);
    return file && file->pMethods->xRead(file, to, n, at) == SQLITE_OK;
}

static bool read_wal(void *arg, void *to, size_t n, uint64_t at)
{
    return end_read_file(arg, SQLITE_FCNTL_JOURNAL_POINTER, to, (int)n, (sqlite3_int64)at);
}

static uint32_t read_change(struct store *st)
{
    unsigned char b[4];
    if (!end_read_file(st, SQLITE_FCNTL_FILE_POINTER, b, sizeof b, CHANGE_AT))
        return 0;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Only a database that took all of the WAL was synced: the mark may not lead it. */
void end_write_back(struct store *st)
{
    int frames = 0, taken = -1;
    st->behind = false;
    if (sqlite3_wal_checkpoint_v2(st->db, "main", SQLITE_CHECKPOINT_PASSIVE, &frames, &taken) ==
            SQLITE_OK &&
        frames == taken)
        st->file_change = read_change(st);
}

/* A commit wrote the WAL: it has so many frames now. */
static int on_wal(void *arg, sqlite3 *db, const char *name, int frames)
{
    struct store *st = arg;
    (void)db;
    unsigned char header[WAL_FRAME_HEADER];
    const struct wal_place before = st->wal;
    int64_t each = (int64_t)(WAL_FRAME_HEADER + st->page_size);
    if (strcmp(name, "main") != 0 || frames <= 0)
        return SQLITE_OK;
    if (end_read_file(st, SQLITE_FCNTL_JOURNAL_POINTER, header, sizeof header,
                      WAL_HEADER + (frames - 1) * each)) {
        wal_place_of(header, (uint32_t)frames, &st->wal);
        if (st->pages)
            pages_note(st->pages, &before, &st->wal);
    } else if (st->pages) {
        pages_lose(st->pages);
    }
    st->behind = (uint32_t)frames >= wal_frames_most();
    if ((uint32_t)frames >= 2 * wal_frames_most())
        end_write_back(st);
    return SQLITE_OK;
}

/* ---- checking ---- */

int end_check_file(const struct store *st, struct err *err)
{
    struct stat file;
    struct end_mark mark;
    AUTO_FREE char *wal = mem_printf("%s-wal", st->path);
    if (stat(st->path, &file) == 0 && file.st_size > 0)
        return 0;
    if (!mark_read(st->path, &mark) && (stat(wal, &file) != 0 || file.st_size == 0))
        return 0;
    err_set(err, ERR_CANNOT, "%s: it is gone or empty, and there were records in it", st->path);
    err_subject(err, strlen(st->path) + strlen(": "));
    err_hint(err, "put it back; to begin anew remove %s" MARK_SUFFIX " and %s-wal too", st->path,
             st->path);
    return err_remedy(err, REMEDY_SERVER_RECOVER);
}

/* The first column of a statement's only row. */
static bool ask(struct store *st, const char *sql, char *text, size_t size)
{
    sqlite3_stmt *s = NULL;
    bool has =
        sqlite3_prepare_v2(st->db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW;
    if (has)
        snprintf(text, size, "%s", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    return has;
}

static int check_pages(struct store *st, struct err *err)
{
    char text[160] = "it cannot be read";
    struct stat file;
    if (stat(st->path, &file) != 0 || (uint64_t)file.st_size > END_CHECK_BYTES)
        return 0;
    const char *look = (uint64_t)file.st_size > END_INDEX_BYTES ? "PRAGMA quick_check(1)"
                                                                : "PRAGMA integrity_check(1)";
    if (ask(st, look, text, sizeof text) && strcmp(text, "ok") == 0)
        return 0;
    for (char *c = text; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    return db_damaged(err, st->path, text);
}

/* The row of that number, as it was hashed; false: it is not there any more. Its columns have been
 * there since version 1: this is asked before an older database is migrated. */
static bool hash_event(struct store *st, uint64_t seq, uint64_t *hash)
{
    sqlite3_stmt *s = NULL;
    bool has =
        sqlite3_prepare_v2(st->db, "SELECT job, at, type, attempt, body FROM event WHERE seq = ?",
                           -1, &s, NULL) == SQLITE_OK;
    if (has)
        bind_u64(s, 1, seq);
    has = has && sqlite3_step(s) == SQLITE_ROW;
    if (has)
        *hash = end_hash(&(struct event_row){ .seq = seq,
                                              .job = column_get_u64(s, 0),
                                              .at_ms = column_get_u64(s, 1),
                                              .type = (const char *)sqlite3_column_text(s, 2),
                                              .attempt = (uint32_t)column_get_u64(s, 3),
                                              .body = (const char *)sqlite3_column_text(s, 4) });
    sqlite3_finalize(s);
    return has;
}

static bool same_event(struct store *st, const struct end_mark *m)
{
    uint64_t hash = 0;
    return !m->event_hash || !hash_event(st, m->event, &hash) || hash == m->event_hash;
}

static bool same_audit(struct store *st, const struct audit_mark *m)
{
    bool same = true;
    sqlite3_stmt *s = m->seq ? db_stmt(st, STMT_AUDITS_UP, NULL) : NULL;
    if (!s)
        return true;
    bind_u64(s, 1, m->seq - 1);
    bind_u64(s, 2, m->seq + 1);
    bind_u64(s, 3, 1);
    if (db_step(st, s, NULL) == 1)
        same = sqlite3_column_bytes(s, 9) == AUDIT_HASH &&
               memcmp(sqlite3_column_blob(s, 9), m->hash, AUDIT_HASH) == 0;
    sqlite3_reset(s);
    return same;
}

/* "jobs 15 to 60 and events 120 to 166 are missing" */
static const char *say_missing(const struct store *st, const struct end_mark *m, char out[160])
{
    bool jobs = st->number < m->number, events = st->event < m->event;
    int n = 0;
    if (jobs)
        n = snprintf(out, 160, "jobs %" PRIu64 " to %" PRIu64, st->number + 1, m->number);
    if (events)
        n += snprintf(out + n, (size_t)(160 - n), "%sevents %" PRIu64 " to %" PRIu64,
                      jobs ? " and " : "", st->event + 1, m->event);
    if (!jobs && !events)
        n = snprintf(out, 160, "its last commits");
    snprintf(out + n, (size_t)(160 - n), " are missing");
    return out;
}

static bool holds_rows(struct store *st, const struct end_mark *m)
{
    return st->event >= m->event && st->number >= m->number && st->job_id >= m->job_id &&
           st->silent >= m->silent && st->audit.seq >= m->audit.seq;
}

/* NULL: all that the mark says is there. */
static const char *find_loss(struct store *st, const struct end_mark *m,
                             const struct wal_report *look, char out[160])
{
    bool same_wal = m->wal.frames && memcmp(look->whole.salt, m->wal.salt, WAL_SALT) == 0;
    if (!holds_rows(st, m) || (same_wal && !look->holds))
        return say_missing(st, m, out);
    if (st->file_change < m->file_change)
        return "it is an older copy";
    if (!same_event(st, m) || !same_audit(st, &m->audit))
        return "it is not the one that was written last: its last events are others";
    return NULL;
}

static void read_end(struct store *st)
{
    char text[32] = "";
    uint64_t since;
    db_read_last(st);
    st->silent = 0;
    db_meta(st, "silent", &st->silent);
    st->committed_silent = st->silent;
    st->marked = db_meta(st, META_MARKED, &since);
    if (ask(st, "PRAGMA page_size", text, sizeof text))
        scan_u64(text, 512, 65536, &st->page_size);
    st->file_change = read_change(st);
    if (!hash_event(st, st->event, &st->event_hash))
        st->event_hash = 0;
    st->committed_event_hash = st->event_hash;
}

int end_check(struct store *st, struct err *err)
{
    struct end_mark mark = { 0 };
    struct wal_report look;
    char text[160];
    AUTO_FREE char *wal = mem_printf("%s-wal", st->path);
    st->mark = mark_open(st->path, &st->mark_err);
    bool was = st->mark && mark_was(st->mark, &mark);
    wal_look((struct wal_bytes){ read_wal, st }, was ? &mark.wal : NULL, &look);
    if (check_pages(st, err) < 0)
        return -1;
    read_end(st);
    const char *lost = NULL;
    if (was)
        lost = find_loss(st, &mark, &look, text);
    else if (st->marked && !st->backup_copy)
        lost = "its end mark (" MARK_SUFFIX " beside it) is gone or broken, and nothing else says "
               "whether its last commits are there";
    if (lost)
        return db_damaged(err, st->path, lost);
    if (look.broken)
        return db_damaged(err, wal, "commits lie behind a part that cannot be read");
    st->wal = look.whole;
    sqlite3_wal_hook(st->db, on_wal, st);
    return 0;
}

/* ---- following ---- */

void end_count(struct store *st)
{
    if (st->event != st->committed_event || st->audit.seq != st->committed_audit.seq)
        return;
    sqlite3_stmt *s = db_stmt(st, STMT_PUT_META, NULL);
    if (!s)
        return;
    bind_text(s, 1, "silent");
    bind_u64(s, 2, ++st->silent);
    db_run(st, s, NULL);
}

void end_note(struct store *st)
{
    if (!st->mark)
        return;
    const struct end_mark mark = { .event = st->committed_event,
                                   .number = st->committed_number,
                                   .job_id = st->committed_job_id,
                                   .event_hash = st->event_hash,
                                   .silent = st->committed_silent,
                                   .audit = st->committed_audit,
                                   .wal = st->wal,
                                   .file_change = st->file_change };
    mark_write(st->mark, &mark);
}

/* The entry stands in the database itself before anything else is committed: without its WAL, too,
 * it says that there is a mark. What fails is tried again at the next start. */
static void put_marked(struct store *st)
{
    struct end_mark mark;
    if (st->marked || !mark_read(st->path, &mark) || file_sync_parent(st->path, NULL) < 0)
        return;
    if (db_exec(st, "INSERT OR REPLACE INTO meta VALUES ('" META_MARKED "', 1)", NULL) < 0) {
        st->undecided = true; /* it may have left something in the log */
        return;
    }
    st->marked = true;
    end_write_back(st);
    end_note(st);
}

void end_begin(struct store *st)
{
    end_note(st);
    if (!st->mark)
        return;
    mark_sync(st->mark);
    put_marked(st);
}

/* A WAL with another salt was begun anew by the commit that failed: nothing in it counts. */
int end_cut(struct store *st)
{
    sqlite3_file *file = db_file(st, SQLITE_FCNTL_JOURNAL_POINTER);
    unsigned char head[WAL_HEADER];
    sqlite3_int64 size = 0, keep = 0;
    if (!file)
        return 0;
    if (file->pMethods->xFileSize(file, &size) != SQLITE_OK)
        return -1;
    if (size >= WAL_HEADER && file->pMethods->xRead(file, head, sizeof head, 0) != SQLITE_OK)
        return -1;
    if (size >= WAL_HEADER && memcmp(head + WAL_SALT_AT, st->wal.salt, WAL_SALT) == 0)
        keep = WAL_HEADER + st->wal.frames * (sqlite3_int64)(WAL_FRAME_HEADER + st->page_size);
    if (size > keep && file->pMethods->xTruncate(file, keep) != SQLITE_OK)
        return -1;
    return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) == SQLITE_OK ? 0 : -1;
}

void end_close(struct store *st)
{
    if (!st->whole)
        return;
    if (sqlite3_wal_checkpoint_v2(st->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) ==
        SQLITE_OK) {
        st->wal = (struct wal_place){ .frames = 0 };
        st->file_change = read_change(st);
        end_note(st);
    }
    sqlite3_db_config(st->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
}
