/* Table by table: forward until a page that cannot be read, and over it by growing steps of the
 * row's number; tables without one backward from the end as well. Where the first page is lost each
 * tree of pages is read by a first page of its own (roots.h, first_page.h). */
#include "store/salvage.h"

#include "base/buf.h"
#include "base/mem.h"
#include "store/first_page.h"
#include "store/roots.h"
#include "store/schema.h"
#include "store/store.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SQL_MAX    4096
#define TABLES_MAX 32

struct table {
    sqlite3 *from, *to;
    char *name;
    struct buf up, down; /* the columns of the key, each way; empty: rows have numbers */
    int columns;
    sqlite3_stmt *put;
    int rc; /* of `to` */
};

/* Puts the rows that the statement finds, from that column on. true: it came to the end. */
static bool copy_rows(struct table *t, sqlite3_stmt *s, int first, int64_t *last, bool *any)
{
    int rc = SQLITE_ROW;
    while (t->rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        for (int i = 0; i < t->columns; i++)
            sqlite3_bind_value(t->put, i + 1, sqlite3_column_value(s, first + i));
        if (first && sqlite3_column_int64(s, 0) > *last) { /* else its page is no page of here */
            *last = sqlite3_column_int64(s, 0);
            *any = true;
        }
        sqlite3_step(t->put);
        int put = sqlite3_reset(t->put) & 0xff;
        if (put != SQLITE_CONSTRAINT && put != SQLITE_MISMATCH) /* else it is no row of ours */
            t->rc = put;
    }
    return rc == SQLITE_DONE;
}

static bool copy_above(struct table *t, int64_t after, int64_t *last, bool *any)
{
    char sql[SQL_MAX];
    sqlite3_stmt *s = NULL;
    bool ended = false;
    snprintf(sql, sizeof sql,
             "SELECT rowid, * FROM \"%s\" NOT INDEXED WHERE rowid > ?1 ORDER BY rowid", t->name);
    if (sqlite3_prepare_v2(t->from, sql, -1, &s, NULL) == SQLITE_OK) {
        sqlite3_bind_int64(s, 1, after);
        ended = copy_rows(t, s, 1, last, any);
    }
    sqlite3_finalize(s);
    return ended;
}

static void copy_by_number(struct table *t)
{
    int64_t last = -1;
    bool any = true, ended = copy_above(t, last, &last, &any);
    while (!ended && any && t->rc == SQLITE_OK) {
        const int64_t at = last;
        any = false;
        for (unsigned bit = 0; bit < 62 && !any && !ended; bit++)
            if (at < INT64_MAX - ((int64_t)1 << bit))
                ended = copy_above(t, at + ((int64_t)1 << bit), &last, &any);
    }
}

static bool copy_in_order(struct table *t, const struct buf *order)
{
    char sql[2 * SQL_MAX];
    sqlite3_stmt *s = NULL;
    bool any, ended = false;
    snprintf(sql, sizeof sql, "SELECT * FROM \"%s\" ORDER BY %.*s", t->name, (int)order->len,
             order->data);
    if (sqlite3_prepare_v2(t->from, sql, -1, &s, NULL) == SQLITE_OK)
        ended = copy_rows(t, s, 0, NULL, &any);
    sqlite3_finalize(s);
    return ended;
}

/* Columns, and the key of a table without row numbers: as the new one has them. */
static void look_at_columns(struct table *t)
{
    char sql[SQL_MAX];
    sqlite3_stmt *s = NULL;
    snprintf(
        sql, sizeof sql,
        "SELECT name, pk, (SELECT wr FROM pragma_table_list('%s')) FROM pragma_table_info('%s')"
        " ORDER BY pk",
        t->name, t->name);
    if (sqlite3_prepare_v2(t->to, sql, -1, &s, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(s) == SQLITE_ROW) {
        t->columns++;
        if (!sqlite3_column_int(s, 1) || !sqlite3_column_int(s, 2))
            continue;
        const char *name = (const char *)sqlite3_column_text(s, 0), *comma = t->up.len ? ", " : "";
        buf_addf(&t->up, "%s\"%s\"", comma, name);
        buf_addf(&t->down, "%s\"%s\" DESC", comma, name);
    }
    sqlite3_finalize(s);
}

static int copy_table(sqlite3 *from, sqlite3 *to, char *name)
{
    AUTO_BUF struct buf sql = BUF_INIT(SQL_MAX);
    struct table t = {
        .from = from, .to = to, .name = name, .up = BUF_INIT(SQL_MAX), .down = BUF_INIT(SQL_MAX)
    };
    look_at_columns(&t);
    buf_addf(&sql, "INSERT OR IGNORE INTO \"%s\" VALUES (", name);
    for (int i = 0; i < t.columns; i++)
        buf_puts(&sql, i ? ",?" : "?");
    buf_putc(&sql, ')');
    t.rc = sqlite3_prepare_v2(to, buf_str(&sql), -1, &t.put, NULL);
    if (t.rc == SQLITE_OK && !t.up.len)
        copy_by_number(&t);
    else if (t.rc == SQLITE_OK && !copy_in_order(&t, &t.up))
        copy_in_order(&t, &t.down);
    sqlite3_finalize(t.put);
    buf_fini(&t.up);
    buf_fini(&t.down);
    return t.rc;
}

/* Texts of a statement's first column, malloc'ed. */
static size_t list_texts(sqlite3 *db, const char *sql, char *out[TABLES_MAX])
{
    sqlite3_stmt *s = NULL;
    size_t n = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK)
        while (n < TABLES_MAX && sqlite3_step(s) == SQLITE_ROW)
            out[n++] = mem_strdup((const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    return n;
}

static int version_of(sqlite3 *from)
{
    sqlite3_stmt *s = NULL;
    int version = 0;
    if (sqlite3_prepare_v2(from, "PRAGMA user_version", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        version = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return version;
}

static int make_tables(sqlite3 *to, int version)
{
    char set[64];
    int rc = schema_functions(to), last = version;
    if (last <= 0 || last > STORE_VERSION)
        last = STORE_VERSION;
    for (int i = 0; rc == SQLITE_OK && i < last; i++)
        rc = sqlite3_exec(to, schema_step(i), NULL, NULL, NULL);
    snprintf(set, sizeof set, "PRAGMA user_version = %d", last);
    return rc == SQLITE_OK ? sqlite3_exec(to, set, NULL, NULL, NULL) : rc;
}

/* The rows come from what is called for each table. */
struct source {
    int (*copy)(const struct source *, sqlite3 *to, char *table);
    sqlite3 *db;
    const char *path;
    const struct roots *roots;
};

static int copy_opened(const struct source *from, sqlite3 *to, char *table)
{
    return copy_table(from->db, to, table);
}

static int salvage(const struct source *from, sqlite3 *to, int version)
{
    char *tables[TABLES_MAX], *triggers[TABLES_MAX], *drops[TABLES_MAX];
    int rc = make_tables(to, version);
    size_t n = list_texts(to, "SELECT name FROM sqlite_master WHERE type = 'table'", tables);
    size_t n_triggers =
        list_texts(to, "SELECT sql FROM sqlite_master WHERE type = 'trigger'", triggers);
    size_t n_drops = list_texts(
        to, "SELECT 'DROP TRIGGER ' || name FROM sqlite_master WHERE type = 'trigger'", drops);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(to, "BEGIN", NULL, NULL, NULL);
    for (size_t i = 0; i < n_drops; i++) { /* rows that may only be added come in any order */
        if (rc == SQLITE_OK)
            rc = sqlite3_exec(to, drops[i], NULL, NULL, NULL);
        free(drops[i]);
    }
    for (size_t i = 0; i < n; i++) {
        if (rc == SQLITE_OK)
            rc = from->copy(from, to, tables[i]);
        free(tables[i]);
    }
    for (size_t i = 0; i < n_triggers; i++) {
        if (rc == SQLITE_OK)
            rc = sqlite3_exec(to, triggers[i], NULL, NULL, NULL);
        free(triggers[i]);
    }
    return rc == SQLITE_OK ? sqlite3_exec(to, "COMMIT", NULL, NULL, NULL) : rc;
}

int salvage_rows(sqlite3 *from, sqlite3 *to)
{
    const struct source source = { .copy = copy_opened, .db = from };
    return salvage(&source, to, version_of(from));
}

/* ---- without a first page ---- */

/* The table as `to` has it, in as few characters as read the same rows. */
static void write_sql(sqlite3 *to, const char *table, struct buf *out)
{
    char sql[SQL_MAX];
    sqlite3_stmt *s = NULL;
    AUTO_BUF struct buf keys = BUF_INIT(SQL_MAX);
    bool numbered = true;
    snprintf(sql, sizeof sql,
             "SELECT name, pk, (SELECT wr FROM pragma_table_list('%s')), dflt_value"
             " FROM pragma_table_info('%s') ORDER BY cid",
             table, table);
    buf_addf(out, "CREATE TABLE %s(", table);
    if (sqlite3_prepare_v2(to, sql, -1, &s, NULL) == SQLITE_OK)
        for (bool any = false; sqlite3_step(s) == SQLITE_ROW; any = true) {
            const char *name = (const char *)sqlite3_column_text(s, 0);
            bool key = sqlite3_column_int(s, 1) > 0;
            numbered = !sqlite3_column_int(s, 2);
            buf_addf(out, "%s%s%s", any ? "," : "", name,
                     key && numbered ? " INTEGER PRIMARY KEY" : "");
            if (sqlite3_column_type(s, 3) == SQLITE_TEXT)
                buf_addf(out, " DEFAULT %s", (const char *)sqlite3_column_text(s, 3));
            if (key && !numbered) /* keys are the first columns, in order */
                buf_addf(&keys, "%s%s", keys.len ? "," : "", name);
        }
    sqlite3_finalize(s);
    if (numbered)
        buf_putc(out, ')');
    else
        buf_addf(out, ",PRIMARY KEY(%s))WITHOUT ROWID", buf_str(&keys));
}

static int copy_tree(const struct source *from, sqlite3 *to, char *table, const struct root *root)
{
    AUTO_BUF struct buf sql = BUF_INIT(SQL_MAX);
    sqlite3 *db = NULL;
    struct err err;
    write_sql(to, table, &sql);
    if (first_page_write(from->path, from->roots->page_size, root->page, table, buf_str(&sql),
                         &err) < 0)
        return SQLITE_IOERR;
    int rc = sqlite3_open_v2(from->path, &db, SQLITE_OPEN_READONLY, NULL);
    if (rc == SQLITE_OK)
        rc = copy_table(db, to, table);
    sqlite3_close(db);
    return rc;
}

static int copy_trees(const struct source *from, sqlite3 *to, char *table)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < from->roots->found.n; i++)
        if (strcmp(from->roots->found.at[i].table, table) == 0)
            rc = copy_tree(from, to, table, &from->roots->found.at[i]);
    return rc;
}

static int look_at_pages(const char *path, uint32_t page_size, struct roots *roots, struct err *err)
{
    struct stat st;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return err_sys(err, "%s", path);
    if (st.st_size == 0)
        return 0;
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return err_sys(err, "%s", path);
    roots_find(at, (size_t)st.st_size, page_size, roots);
    munmap(at, (size_t)st.st_size);
    return 0;
}

int salvage_pages(const char *path, sqlite3 *to, bool *found, struct err *err)
{
    struct roots roots = { .version = 0 };
    uint32_t page_size = 0;
    const struct source source = { .copy = copy_trees, .path = path, .roots = &roots };
    if (first_page_take_wal(path, &page_size, err) < 0 ||
        look_at_pages(path, page_size, &roots, err) < 0)
        return SQLITE_IOERR;
    *found = roots.found.n > 0;
    int rc = salvage(&source, to, *found ? roots.version : STORE_VERSION);
    roots_fini(&roots);
    if (rc != SQLITE_OK)
        err_set(err, rc == SQLITE_FULL ? ERR_FULL : ERR_SYSTEM, "%s: %s", path, sqlite3_errstr(rc));
    return rc;
}
