/* The audit record's rows. The head (last number and hash) is kept in memory beside the highest
 * event, and goes back with it when a turn fails. */
#include "store/audit.h"

#include "store/columns.h"
#include "store/db.h"

#include "base/mem.h"
#include "store/deletion.h"

#include <sodium.h>
#include <string.h>

_Static_assert(AUDIT_HASH == crypto_hash_sha256_BYTES, "a hash is a SHA-256");

int store_add_audit(struct store *st, struct audit_row *row, struct err *err)
{
    if (st->memory)
        return 0;
    sqlite3_stmt *s = db_write(st, STMT_ADD_AUDIT, err);
    if (!s)
        return -1;
    AUTO_BUF struct buf text = BUF_INIT(AUDIT_TEXT_MAX);
    row->seq = st->audit.seq + 1;
    audit_text(row, st->audit.hash, &text);
    if (text.overflow)
        return err_set(err, ERR_TOO_LARGE, "an entry of the audit record is too long");
    crypto_hash_sha256(row->hash, (const unsigned char *)buf_str(&text), text.len);
    bind_u64(s, 1, row->seq);
    bind_u64(s, 2, row->at_ms);
    bind_text(s, 3, row->user);
    bind_text(s, 4, row->role);
    bind_text(s, 5, row->known);
    bind_text(s, 6, row->from);
    bind_text(s, 7, row->action);
    bind_text(s, 8, row->object);
    bind_text(s, 9, row->outcome);
    bind_blob(s, 10, row->hash, sizeof row->hash);
    if (db_run(st, s, err) < 0)
        return -1;
    st->audit.seq = row->seq;
    memcpy(st->audit.hash, row->hash, sizeof row->hash);
    return 0;
}

struct audit_mark store_audit_head(const struct store *st)
{
    return st->audit;
}

int store_audit_floor(struct store *st, struct audit_mark *floor, struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, STMT_LAST_CUT, err);
    *floor = (struct audit_mark){ 0 };
    int found = s ? db_step(st, s, err) : -1;
    if (found == 1) {
        const char *text = (const char *)sqlite3_column_text(s, 0);
        if (!text || !audit_mark_parse(text, floor))
            *floor = (struct audit_mark){ 0 }; /* who checks finds the gap */
        sqlite3_reset(s);
    }
    return found < 0 ? -1 : 0;
}

static void read_hash(sqlite3_stmt *s, int at, unsigned char hash[AUDIT_HASH])
{
    const void *blob = sqlite3_column_blob(s, at);
    memset(hash, 0, AUDIT_HASH);
    if (blob && sqlite3_column_bytes(s, at) == AUDIT_HASH)
        memcpy(hash, blob, AUDIT_HASH);
}

int store_audits(struct store *st, struct arena *a, const struct audit_range *range,
                 struct audit_row **rows, size_t *n, struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, range->newest ? STMT_AUDITS_DOWN : STMT_AUDITS_UP, err);
    if (!s)
        return -1;
    bind_u64(s, 1, range->after);
    bind_u64(s, 2, range->before ? range->before : INT64_MAX);
    bind_u64(s, 3, range->limit);
    struct audit_row *at = NULL;
    size_t count = 0, cap = 0;
    int more;
    while ((more = db_step(st, s, err)) == 1) {
        at = rows_more(a, at, count, &cap, sizeof *at);
        struct audit_row *row = &at[count++];
        *row = (struct audit_row){ .seq = column_get_u64(s, 0),
                                   .at_ms = column_get_u64(s, 1),
                                   .user = column_get_text(s, 2, a),
                                   .role = column_get_text(s, 3, a),
                                   .known = column_get_text(s, 4, a),
                                   .from = column_get_text(s, 5, a),
                                   .action = column_get_text(s, 6, a),
                                   .object = column_get_text(s, 7, a),
                                   .outcome = column_get_text(s, 8, a) };
        read_hash(s, 9, row->hash);
    }
    *rows = at;
    *n = count;
    return more;
}

void db_read_audit(struct store *st)
{
    struct err err;
    sqlite3_stmt *s = db_stmt(st, STMT_LAST_AUDIT, &err);
    if (s && db_step(st, s, &err) == 1) {
        st->audit.seq = column_get_u64(s, 0);
        read_hash(s, 1, st->audit.hash);
    }
    if (s)
        sqlite3_reset(s);
    st->committed_audit = st->audit;
}

int store_cut_audit(struct store *st, uint64_t before_ms, struct audit_row *cut, struct err *err)
{
    char text[AUDIT_MARK_TEXT];
    struct audit_mark floor = { 0 };
    sqlite3_stmt *s = st->memory ? NULL : db_stmt(st, STMT_OLD_AUDIT, err);
    if (!s)
        return st->memory ? 0 : -1;
    bind_u64(s, 1, st->audit.seq);
    bind_u64(s, 2, STORE_EXPIRE_MAX);
    int more;
    while ((more = db_step(st, s, err)) == 1 && column_get_u64(s, 2) < before_ms) {
        floor.seq = column_get_u64(s, 0);
        read_hash(s, 1, floor.hash);
    }
    sqlite3_reset(s);
    if (more < 0 || !floor.seq)
        return more < 0 ? -1 : 0;
    cut->object = audit_mark_text(text, &floor);
    if (store_add_audit(st, cut, err) < 0)
        return -1;
    s = db_write(st, STMT_PUT_META, err);
    if (!s)
        return -1;
    bind_text(s, 1, "audit_cut"); /* what the trigger lets go */
    bind_u64(s, 2, floor.seq);
    if (db_run(st, s, err) < 0)
        return -1;
    s = db_write(st, STMT_CUT_AUDIT, err);
    if (!s)
        return -1;
    bind_u64(s, 1, floor.seq);
    return db_run(st, s, err);
}
