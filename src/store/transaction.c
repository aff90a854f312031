/* A turn as one transaction: begun by its first write, committed whole or rolled back. After a
 * commit that failed, what it may have left in the log is cut off before anything else is written.
 */
#include "store/db.h"

#include "store/disk.h"
#include "store/end_mark.h"

/* Idempotent within a turn. */
static void store_begin(struct store *st)
{
    if (st->in_turn)
        return;
    struct err err = { 0 };
    st->in_turn = true;
    st->dirty = false;
    st->failed = (struct err){ 0 };
    if (st->memory)
        return; /* nothing is ever undone */
    if (store_decide(st, &st->failed) < 0)
        return;
    sqlite3_stmt *s = db_stmt(st, STMT_BEGIN, &err);
    if (!s || sqlite3_step(s) != SQLITE_DONE)
        db_fail(st, &err, "beginning a turn");
    if (s)
        sqlite3_reset(s);
}

sqlite3_stmt *db_write(struct store *st, enum stmt_id id, struct err *err)
{
    store_begin(st);
    st->dirty = true;
    if (st->failed.code) {
        if (err)
            *err = st->failed;
        return NULL;
    }
    return db_stmt(st, id, err);
}

bool db_forget(struct store *st)
{
    if (!st->memory)
        return false;
    store_begin(st);
    st->dirty = true;
    return true;
}

bool store_dirty(const struct store *st)
{
    return st->in_turn && st->dirty;
}

void store_rollback(struct store *st)
{
    if (!st->in_turn)
        return;
    if (!sqlite3_get_autocommit(st->db)) {
        struct err err;
        sqlite3_stmt *s = db_stmt(st, STMT_ROLLBACK, &err);
        if (s) {
            sqlite3_step(s);
            sqlite3_reset(s);
        }
    }
    st->in_turn = st->dirty = false;
    st->failed = (struct err){ 0 };
    st->number = st->committed_number;
    st->job_id = st->committed_job_id;
    st->event = st->committed_event;
    st->audit = st->committed_audit;
    st->silent = st->committed_silent;
    st->event_hash = st->committed_event_hash;
    st->jobs = st->committed_jobs;
}

int store_commit(struct store *st, struct err *err)
{
    if (!st->in_turn)
        return 0;
    if (st->mark && st->dirty && !st->failed.code)
        end_count(st);
    sqlite3_stmt *s = st->failed.code || st->memory ? NULL : db_stmt(st, STMT_COMMIT, &st->failed);
    bool refused = s && sqlite3_step(s) != SQLITE_DONE;
    if (refused)
        db_fail(st, NULL, "committing");
    if (s)
        sqlite3_reset(s);
    if (st->failed.code) {
        if (err)
            *err = st->failed;
        store_rollback(st);
        st->undecided |= refused;
        store_decide(st, NULL);
        return -1;
    }
    st->in_turn = st->dirty = false;
    st->committed_number = st->number;
    st->committed_job_id = st->job_id;
    st->committed_event = st->event;
    st->committed_audit = st->audit;
    st->committed_silent = st->silent;
    st->committed_event_hash = st->event_hash;
    st->committed_jobs = st->jobs;
    end_note(st);
    return 0;
}
