/* Works on copies in a directory of its own, compares what they hold, and exchanges the files at
 * the end: first the new database for the old one, then the WAL goes, then the end mark, so that a
 * stop in between is found by the next start like any other damage. The new one does not say that
 * it has a mark until that is written. */
#include "store/recover.h"

#include "base/file.h"
#include "base/mem.h"
#include "store/columns.h"
#include "store/end_mark.h"
#include "store/meta.h"
#include "store/rests.h"
#include "store/salvage.h"
#include "store/statements.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define COPY_PIECE (1u << 20)
#define LOCK_BYTES 0x40000000 /* where SQLite locks a database */
#define LOCK_LEN   512
/* Given out and not in a mark that a loss of power made older. */
#define MARGIN     10000ull

struct work {
    const struct recover_ask *ask;
    struct arena *arena;
    const char *dir;
    struct recovery_report *out;
};

/* One way of reading the records. */
struct reading {
    sqlite3 *db;        /* NULL: it cannot even be opened */
    bool whole, tables; /* tables: they are, whatever indexes say */
    const char *broken; /* NULL: nothing */
    uint64_t event, number, job_id, jobs;
    uint64_t event_at; /* when the last event was */
};

int store_check_unused(const char *path, struct err *err)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTES, .l_len = LOCK_LEN
    };
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
        return 0;
    err_set(err, ERR_CONFLICT, "a server (pid %d) uses %s", (int)lock.l_pid, path);
    return err_remedy(err, REMEDY_SERVER_STOP);
}

/* A file that is missing is no failure: so is its copy. */
static int copy_file(const char *from, const char *to, struct err *err)
{
    AUTO_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return errno == ENOENT ? 0 : err_sys(err, "%s", from);
    AUTO_CLOSE int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (out < 0)
        return err_sys(err, "%s", to);
    AUTO_FREE char *piece = mem_resize(NULL, COPY_PIECE);
    ssize_t n;
    while ((n = read(in, piece, COPY_PIECE)) > 0)
        if (file_write_all(out, piece, (size_t)n) != 0)
            return err_sys(err, "%s", to);
    return n < 0 ? err_sys(err, "%s", from) : 0;
}

static const char *const parts[] = { "", "-wal", MARK_SUFFIX };

/* DIR/NAME.db with the first n of the parts. */
static const char *copy_records(const struct work *w, const char *name, size_t n, struct err *err)
{
    const char *to = arena_printf(w->arena, "%s/%s.db", w->dir, name);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (i < n && copy_file(arena_printf(w->arena, "%s%s", w->ask->path, parts[i]),
                               arena_printf(w->arena, "%s%s", to, parts[i]), err) < 0)
            return NULL;
    return to;
}

static uint64_t ask_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s = NULL;
    uint64_t value = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        value = column_get_u64(s, 0);
    sqlite3_finalize(s);
    return value;
}

/* What is broken, in arena; NULL: nothing is. */
static const char *ask_check(struct arena *arena, sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s = NULL;
    const char *broken = "it cannot be read";
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
        const char *text = column_get_text(s, 0, arena);
        if (text && strcmp(text, "ok") == 0)
            broken = NULL;
        else if (text) /* its first line */
            broken = arena_strndup(arena, text, strcspn(text, "\n"));
    }
    sqlite3_finalize(s);
    return broken;
}

#define FLOOR(column, table, name)                                                                 \
    "SELECT max(ifnull((SELECT max(" column ") FROM " table "), 0),"                               \
    " ifnull((SELECT value FROM meta WHERE name = '" name "'), 0))"

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The records of older versions have no members, and the second question is none of theirs. */
static uint64_t highest(sqlite3 *db, const char *floor, const char *with_members)
{
    return more(ask_number(db, floor), ask_number(db, with_members));
}

/* How far the rows go. */
static void read_reach(sqlite3 *db, struct reading *r)
{
    r->number =
        highest(db, FLOOR("number", "job", "number"), "SELECT " HIGHEST("number") FROM_LAST_JOB);
    r->job_id = highest(db, FLOOR("id", "job", "job_id"), "SELECT " HIGHEST("id") FROM_LAST_JOB);
    r->event = ask_number(db, FLOOR("seq", "event", "event"));
    r->event_at = ask_number(db, "SELECT at FROM event ORDER BY seq DESC LIMIT 1");
    r->jobs = ask_number(db, "SELECT count(*) FROM job");
}

/* One whose first page is lost does not even say which tables it has. */
static void read_records(struct arena *arena, const char *path, struct reading *r)
{
    *r = (struct reading){ .broken = "it cannot be read" };
    if (sqlite3_open_v2(path, &r->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        ask_number(r->db, "PRAGMA user_version") == 0 ||
        ask_number(r->db, "SELECT count(*) FROM sqlite_master WHERE name = 'job'") == 0) {
        sqlite3_close(r->db);
        r->db = NULL;
        return;
    }
    r->broken = ask_check(arena, r->db, "PRAGMA integrity_check(1)");
    r->whole = !r->broken;
    r->tables = r->whole || !ask_check(arena, r->db, "PRAGMA quick_check(1)");
    read_reach(r->db, r);
}

/* A WAL that ends early may put old pages over newer ones: what is whole counts first. */
static bool is_better(const struct reading *x, const struct reading *y)
{
    if (!x->db || !y->db)
        return x->db != NULL;
    if (x->tables != y->tables)
        return x->tables;
    return x->event != y->event ? x->event > y->event : x->jobs >= y->jobs;
}

/* ---- the new database ---- */

static int failed(struct err *err, const char *path, int rc)
{
    err_set(err, rc == SQLITE_FULL ? ERR_FULL : ERR_SYSTEM, "%s: %s", path, sqlite3_errstr(rc));
    return rc;
}

static int copy_whole(sqlite3 *from, sqlite3 *to)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    if (!backup)
        return sqlite3_errcode(to);
    sqlite3_backup_step(backup, -1);
    return sqlite3_backup_finish(backup);
}

/* Rows of jobs that are not there, members without their array first. Older versions lack some of
 * the tables. */
#define NO_JOB "job NOT IN (SELECT id FROM job)"
static const struct {
    const char *table, *job, *where;
} orphans[] = {
    { "job", "id", "array <> 0 AND array NOT IN (SELECT id FROM job)" },
    { "body", "job", NO_JOB },
    { "facet", "job", NO_JOB },
    { "origin", "job", NO_JOB },
    { "task", "job", NO_JOB },
    { "attempt", "job", NO_JOB },
    { "agent", "job", NO_JOB },
    { "idem", "job", NO_JOB },
    { "event", "job", "job <> 0 AND " NO_JOB },
};
/* Jobs that live, and have lost what they are. */
#define UNREADABLE                                                                                 \
    "state" IS_LIVE " AND id NOT IN (SELECT job FROM body) AND array NOT IN (SELECT job FROM body)"

/* What a server was still removing of deleted jobs is no orphan. */
static void finish_deletions(sqlite3 *db)
{
    char sql[512];
    for (size_t i = 0; i < ARRAY_LEN(orphans); i++) {
        snprintf(sql, sizeof sql,
                 "DELETE FROM %s WHERE %s AND EXISTS"
                 " (SELECT 1 FROM " RESTS " WHERE %s BETWEEN low AND high)",
                 orphans[i].table, orphans[i].where, orphans[i].job);
        sqlite3_exec(db, sql, NULL, NULL, NULL);
    }
    sqlite3_exec(db, "DELETE FROM meta WHERE " IS_REST, NULL, NULL, NULL);
}

static void leave_out_orphans(sqlite3 *db, struct recovery_report *out)
{
    char sql[512];
    for (size_t i = 0; i < ARRAY_LEN(orphans); i++) {
        snprintf(sql, sizeof sql, "DELETE FROM %s WHERE %s", orphans[i].table, orphans[i].where);
        if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
            out->orphans += (uint64_t)sqlite3_changes(db);
    }
    snprintf(sql, sizeof sql,
             "UPDATE job SET state = 'failed', outcome = NULL, live = NULL, ended = %lld,"
             " reason = 'the records were damaged, and what it was is not in them any more'"
             " WHERE " UNREADABLE,
             (long long)time(NULL) * 1000);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
        out->unreadable = (uint64_t)sqlite3_changes(db);
}

static void count_orphans(sqlite3 *db, struct recovery_report *out)
{
    char sql[512];
    for (size_t i = 0; i < ARRAY_LEN(orphans); i++) {
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE %s", orphans[i].table,
                 orphans[i].where);
        out->orphans += ask_number(db, sql);
    }
    out->unreadable = ask_number(db, "SELECT count(*) FROM job WHERE " UNREADABLE);
}

/* Are these records what the copy was made of, gone on? Only then they say what was given out
 * since.
 */
static bool follows(const struct reading *old, const struct reading *copy)
{
    char sql[96];
    snprintf(sql, sizeof sql,
             "SELECT at FROM event WHERE seq = (SELECT max(seq) FROM event"
             " WHERE seq <= %" PRIu64 ")",
             copy->event);
    return old->db && old->event >= copy->event && copy->event_at != 0 &&
           ask_number(old->db, sql) == copy->event_at;
}

/* Highest that were given out: by the rows, by those that are replaced (NULL: none are), by the
 * mark, by the traces that jobs left. */
static int put_floors(const struct work *w, sqlite3 *db, const struct reading *r,
                      const struct reading *old)
{
    struct end_mark mark = { 0 }, now = { 0 };
    char sql[640];
    struct recovery_report *out = w->out;
    bool has = mark_read(w->ask->path, &mark);
    mark_boot(now.boot);
    bool older = !has || strcmp(mark.boot, now.boot) != 0 || (old && !follows(old, r));
    uint64_t margin = older ? MARGIN : 0, traced = 0;
    if (old) {
        mark.number = more(mark.number, old->number);
        mark.event = more(mark.event, old->event);
        mark.job_id = more(mark.job_id, old->job_id);
    }
    if (w->ask->n_numbers)
        traced = w->ask->numbers[w->ask->n_numbers - 1];
    out->number = r->number;
    out->event = r->event;
    out->last_number = more(more(r->number, mark.number), traced);
    out->last_event = more(r->event, mark.event);
    out->next_number = out->last_number + margin + 1;
    snprintf(sql, sizeof sql,
             "INSERT OR REPLACE INTO meta VALUES ('number', %" PRIu64 "), ('event', %" PRIu64
             "), ('job_id', %" PRIu64 "), ('%s', %" PRIu64 "), ('silent', max(%" PRIu64
             ", ifnull((SELECT value FROM meta WHERE name = 'silent'), 0)));"
             "DELETE FROM meta WHERE name = '" META_MARKED "'", /* it has no mark yet (exchange) */
             out->next_number - 1, out->last_event + margin, more(r->job_id, mark.job_id),
             w->ask->from ? META_RESTORED : META_RECOVERED, r->event, mark.silent);
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static void find_unknown(const struct work *w, sqlite3 *db)
{
    struct recovery_report *out = w->out;
    sqlite3_stmt *s = NULL;
    out->unknown = ARENA_ARRAY(w->arena, w->ask->n_numbers + 1, uint64_t);
    if (sqlite3_prepare_v2(db, "SELECT 1 FROM job WHERE number = ?", -1, &s, NULL) != SQLITE_OK)
        return;
    for (size_t i = 0; i < w->ask->n_numbers; i++) {
        bind_u64(s, 1, w->ask->numbers[i]);
        if (sqlite3_step(s) != SQLITE_ROW)
            out->unknown[out->n_unknown++] = w->ask->numbers[i];
        sqlite3_reset(s);
    }
    sqlite3_finalize(s);
}

/* Of a file and so many of its parts, into that database. */
static int read_pages(const struct work *w, const char *name, size_t n_parts, struct reading *to,
                      bool *found, struct err *err)
{
    const char *copy = copy_records(w, name, n_parts, err);
    int rc = copy ? salvage_pages(copy, to->db, found, err) : SQLITE_IOERR;
    if (rc == SQLITE_OK)
        read_reach(to->db, to);
    return rc;
}

/* From pages of which none says what they are, with the WAL or without, as whole records are. */
static int take_pages(const struct work *w, sqlite3 *db, struct reading *best, struct err *err)
{
    struct reading with = { .db = db, .tables = true }, without = { .tables = true };
    bool found[2];
    struct err none = { 0 };
    const char *path = arena_printf(w->arena, "%s/without-pages.db", w->dir);
    int rc = read_pages(w, "pages", 2, &with, &found[0], err);
    if (rc != SQLITE_OK)
        return rc;
    *best = with;
    w->out->row_by_row = found[0];
    if (sqlite3_open_v2(path, &without.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) ==
            SQLITE_OK &&
        read_pages(w, "early", 1, &without, &found[1], &none) == SQLITE_OK &&
        !is_better(&with, &without)) {
        rc = copy_whole(without.db, db);
        *best = without;
        w->out->row_by_row = found[1];
    }
    sqlite3_close(without.db);
    best->db = NULL; /* the caller's own */
    return rc == SQLITE_OK ? rc : failed(err, path, rc);
}

/* What all ways have in common. */
static int finish(const struct work *w, sqlite3 *db, const struct reading *best,
                  const struct reading *old, const char *path, struct err *err)
{
    finish_deletions(db);
    if (!old)
        losses_look(db, best->whole ? NULL : best->db);
    leave_out_orphans(db, w->out);
    int rc = put_floors(w, db, best, old);
    if (rc != SQLITE_OK)
        return failed(err, path, rc);
    if (!old)
        losses_list(db, w->arena, w->out->number, w->out->last_number, &w->out->missing);
    w->out->jobs = ask_number(db, "SELECT count(*) FROM job");
    find_unknown(w, db);
    return rc;
}

static int build(const struct work *w, struct reading *best, const struct reading *old,
                 const char *path, struct err *err)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    w->out->row_by_row = best->db && !best->tables;
    w->out->indexes = best->db && best->tables && !best->whole;
    if (rc == SQLITE_OK && best->whole)
        rc = copy_whole(best->db, db);
    else if (rc == SQLITE_OK && best->db)
        rc = salvage_rows(best->db, db);
    if (rc != SQLITE_OK)
        failed(err, path, rc);
    else if (!best->db)
        rc = take_pages(w, db, best, err);
    if (rc == SQLITE_OK)
        rc = finish(w, db, best, old, path, err);
    sqlite3_close(db);
    return rc == SQLITE_OK ? 0 : -1;
}

/* ---- exchange ---- */

/* The files as they were, by a second name each. */
static int keep_files(const struct work *w, struct err *err)
{
    const char *slash = strrchr(w->ask->path, '/');
    int n = (int)(slash - w->ask->path);
    struct tm day;
    char text[32];
    time_t now = time(NULL);
    gmtime_r(&now, &day);
    strftime(text, sizeof text, "%Y%m%dT%H%M%S", &day);
    const char *dir = arena_printf(w->arena, "%.*s/%s-%s", n, w->ask->path,
                                   w->ask->from ? "replaced" : "damaged", text);
    if (file_mkdirs(dir, 0700, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const char *from = arena_printf(w->arena, "%s%s", w->ask->path, parts[i]);
        const char *to = arena_printf(w->arena, "%s%s%s", dir, slash, parts[i]);
        if (link(from, to) != 0 && errno != ENOENT && copy_file(from, to, err) < 0)
            return err_sys(err, "%s", to);
    }
    w->out->kept = dir;
    return 0;
}

static int exchange(const struct work *w, const char *fresh, struct err *err)
{
    if (access(w->ask->path, F_OK) == 0 && keep_files(w, err) < 0)
        return -1;
    if (rename(fresh, w->ask->path) != 0)
        return err_sys(err, "%s", w->ask->path);
    for (size_t i = 1; i < ARRAY_LEN(parts); i++) {
        const char *path = arena_printf(w->arena, "%s%s", w->ask->path, parts[i]);
        if (unlink(path) != 0 && errno != ENOENT)
            return err_sys(err, "%s", path);
    }
    struct store *st = store_open(w->ask->path, err); /* with a mark of its own from now on */
    store_close(st);
    return st ? 0 : err_in(err, w->ask->from ? "the copy" : "what was recovered");
}

/* ---- the whole ---- */

/* Would a start refuse them, or is a page or an index of them broken? Asked of a copy, whose path
 * is left in *copy. 1: yes; 0: no. */
static int is_damaged(const struct work *w, const char **copy, struct err *err)
{
    struct err why = { 0 };
    struct reading r;
    *copy = copy_records(w, "look", ARRAY_LEN(parts), err);
    if (!*copy)
        return -1;
    struct store *st =
        w->ask->backup_copy ? store_open_backup(*copy, &why) : store_open(*copy, &why);
    store_close(st);
    if (!st) {
        w->out->why = arena_strdup(w->arena, err_cause(&why));
    } else {
        read_records(w->arena, *copy, &r);
        w->out->why = r.broken;
        sqlite3_close(r.db);
    }
    return w->out->damaged = w->out->why != NULL;
}

static int replace(const struct work *w, struct err *err)
{
    struct reading copy, old;
    const char *was = copy_records(w, "was", 2, err);
    if (!was)
        return -1;
    read_records(w->arena, w->ask->from, &copy);
    read_records(w->arena, was, &old);
    const char *fresh = arena_printf(w->arena, "%s/fresh.db", w->dir);
    int rc = copy.whole ? build(w, &copy, &old, fresh, err)
                        : err_set(err, ERR_INPUT, "%s is damaged", w->ask->from);
    sqlite3_close(copy.db);
    sqlite3_close(old.db);
    return rc < 0 || w->ask->dry_run ? rc : exchange(w, fresh, err);
}

static int recover(const struct work *w, struct err *err)
{
    struct reading with, without;
    const char *copy;
    int damaged = is_damaged(w, &copy, err);
    if (damaged <= 0)
        return damaged;
    const char *a = copy_records(w, "with", 2, err), *b = copy_records(w, "without", 1, err);
    if (!a || !b)
        return -1;
    read_records(w->arena, a, &with);
    read_records(w->arena, b, &without);
    const char *fresh = arena_printf(w->arena, "%s/fresh.db", w->dir);
    int rc = build(w, is_better(&with, &without) ? &with : &without, NULL, fresh, err);
    sqlite3_close(with.db);
    sqlite3_close(without.db);
    return rc < 0 || w->ask->dry_run ? rc : exchange(w, fresh, err);
}

static int check(const struct work *w, struct err *err)
{
    struct reading r;
    const char *copy;
    if (is_damaged(w, &copy, err) < 0)
        return -1;
    read_records(w->arena, copy, &r);
    w->out->event = r.event;
    w->out->number = r.number;
    finish_deletions(r.db);
    w->out->jobs = ask_number(r.db, "SELECT count(*) FROM job");
    count_orphans(r.db, w->out);
    find_unknown(w, r.db);
    sqlite3_close(r.db);
    return 0;
}

/* In a directory of its own, which goes again. */
static int run(int (*what)(const struct work *, struct err *), const struct recover_ask *ask,
               struct arena *arena, struct recovery_report *out, struct err *err)
{
    const char *dir = arena_printf(arena, "%s.recover", ask->path);
    struct work w = { .ask = ask, .arena = arena, .dir = dir, .out = out };
    *out = (struct recovery_report){ .damaged = false };
    if (store_check_unused(ask->path, err) < 0 || file_remove_tree(dir, err) < 0 ||
        file_mkdirs(dir, 0700, err) < 0)
        return -1;
    int rc = what(&w, err);
    file_remove_tree(dir, NULL);
    return rc;
}

int store_recover(const struct recover_ask *ask, struct arena *arena, struct recovery_report *out,
                  struct err *err)
{
    return run(ask->from ? replace : recover, ask, arena, out, err);
}

int store_check(const struct recover_ask *ask, struct arena *arena, struct recovery_report *out,
                struct err *err)
{
    return run(check, ask, arena, out, err);
}
