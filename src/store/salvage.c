/* Table by table: forward until a page that cannot be read, and over it by growing steps of the
 * row's number; tables without one backward from the end as well. */
#include "store/salvage.h"

#include "base/buf.h"
#include "base/mem.h"
#include "store/schema.h"
#include "store/store.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

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
        if (first)
            *last = sqlite3_column_int64(s, 0);
        *any = true;
        sqlite3_step(t->put);
        t->rc = sqlite3_reset(t->put);
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
            if (INT64_MAX - at > (int64_t)1 << bit)
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

static int make_tables(sqlite3 *from, sqlite3 *to)
{
    sqlite3_stmt *s = NULL;
    char set[64];
    int rc = schema_functions(to), last = STORE_VERSION;
    if (from && sqlite3_prepare_v2(from, "PRAGMA user_version", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        last = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    if (last <= 0 || last > STORE_VERSION)
        last = STORE_VERSION;
    for (int i = 0; rc == SQLITE_OK && i < last; i++)
        rc = sqlite3_exec(to, schema_step(i), NULL, NULL, NULL);
    snprintf(set, sizeof set, "PRAGMA user_version = %d", last);
    return rc == SQLITE_OK ? sqlite3_exec(to, set, NULL, NULL, NULL) : rc;
}

int salvage_rows(sqlite3 *from, sqlite3 *to)
{
    char *tables[TABLES_MAX], *triggers[TABLES_MAX], *drops[TABLES_MAX];
    int rc = make_tables(from, to);
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
        if (rc == SQLITE_OK && from)
            rc = copy_table(from, to, tables[i]);
        free(tables[i]);
    }
    for (size_t i = 0; i < n_triggers; i++) {
        if (rc == SQLITE_OK)
            rc = sqlite3_exec(to, triggers[i], NULL, NULL, NULL);
        free(triggers[i]);
    }
    return rc == SQLITE_OK ? sqlite3_exec(to, "COMMIT", NULL, NULL, NULL) : rc;
}
