/* Deletion of jobs, one commit for what others see and slices for the rest. What a job is found by
 * goes at once: its row, its texts, its keys. A row of meta then says which ids its other rows have
 * (tasks, attempts, events, agents, members), and they follow, so many at a time, in this server or
 * in the next one. Members of an array are not there any more without the row of the array. */
#include "store/deletion.h"

#include "base/mem.h"
#include "store/columns.h"
#include "store/counts.h"
#include "store/db.h"
#include "store/find.h"

/* The row of a member has indices of its own, and a directory follows it. */
#define MEMBER_ROWS 8u

/* Ids of what was deleted and is not all gone. */
struct rest {
    uint64_t first, last;
};

/* What is kept for a job under its name. */
static int delete_objects(struct store *st, uint64_t job, struct err *err)
{
    char id[JOB_ID_TEXT];
    sqlite3_stmt *s = db_write(st, STMT_OBJECTS_OF_JOB, err);
    if (!s)
        return -1;
    bind_text(s, 1, job_id_format(id, job));
    return db_run(st, s, err);
}

/* A deleted job's number, id and events are never given out again, also after a restart. */
static int put_floor(struct store *st, const char *name, uint64_t value, struct err *err)
{
    sqlite3_stmt *s = db_write(st, STMT_PUT_META, err);
    if (!s)
        return -1;
    bind_text(s, 1, name);
    bind_u64(s, 2, value);
    return db_run(st, s, err);
}

static int run_of(struct store *st, enum stmt_id id, uint64_t job, struct err *err)
{
    sqlite3_stmt *s = db_write(st, id, err);
    if (!s)
        return -1;
    bind_u64(s, 1, job);
    return db_run(st, s, err);
}

int store_delete_job(struct store *st, uint64_t job, struct err *err)
{
    /* The row of the job is last: it says which members there are. */
    static const enum stmt_id all[] = { STMT_DELETE_FACETS, STMT_DELETE_BODY, STMT_DELETE_ORIGIN,
                                        STMT_DELETE_IDEM,   STMT_PUT_REST,    STMT_DELETE_JOB };
    if (counts_delete(st, job, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (run_of(st, all[i], job, err) < 0)
            return -1;
    if (delete_objects(st, job, err) < 0)
        return -1;
    if (put_floor(st, "number", st->number, err) < 0 ||
        put_floor(st, "job_id", st->job_id, err) < 0)
        return -1;
    return put_floor(st, "event", st->event, err);
}

/* ---- the rest ---- */

static int next_rest(struct store *st, struct rest *rest, struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, STMT_NEXT_REST, err);
    int found = s ? db_step(st, s, err) : -1;
    if (found == 1)
        *rest = (struct rest){ .first = column_get_u64(s, 0), .last = column_get_u64(s, 1) };
    if (s)
        sqlite3_reset(s);
    return found;
}

static sqlite3_stmt *of_rest(struct store *st, enum stmt_id id, const struct rest *rest,
                             uint32_t most, struct err *err)
{
    sqlite3_stmt *s = db_write(st, id, err);
    if (!s)
        return NULL;
    bind_u64(s, 1, rest->first);
    bind_u64(s, 2, rest->last);
    bind_u64(s, 3, most);
    return s;
}

static int delete_rows(struct store *st, const struct rest *rest, uint32_t *rows, struct err *err)
{
    static const enum stmt_id all[] = { STMT_DELETE_TASKS, STMT_DELETE_ATTEMPTS, STMT_DELETE_AGENTS,
                                        STMT_DELETE_EVENTS };
    for (size_t i = 0; i < ARRAY_LEN(all) && *rows > 0; i++) {
        sqlite3_stmt *s = of_rest(st, all[i], rest, *rows, err);
        if (!s || db_run(st, s, err) < 0)
            return -1;
        *rows -= (uint32_t)sqlite3_changes(st->db);
    }
    return 0;
}

static int delete_members(struct store *st, const struct rest *rest, struct deleted_rest *out,
                          struct err *err)
{
    uint32_t most = (out->rows + MEMBER_ROWS - 1) / MEMBER_ROWS, n = 0;
    sqlite3_stmt *s = of_rest(st, STMT_DELETE_MEMBERS, rest, most, err);
    int more = s ? 1 : -1;
    while (s && (more = db_step(st, s, err)) == 1) {
        out->numbers = rows_more(out->arena, out->numbers, out->n, &out->cap, sizeof *out->numbers);
        out->numbers[out->n++] = column_get_u64(s, 0);
        n++;
    }
    out->rows = n < most ? out->rows - n * MEMBER_ROWS : 0;
    return more;
}

int store_delete_rest(struct store *st, struct deleted_rest *out, struct err *err)
{
    struct rest rest;
    int found;
    while ((found = out->rows ? next_rest(st, &rest, err) : 0) == 1) {
        if (delete_members(st, &rest, out, err) < 0)
            return -1;
        if (delete_rows(st, &rest, &out->rows, err) < 0)
            return -1;
        if (out->rows == 0)
            return 0;
        if (run_of(st, STMT_DELETE_REST, rest.first, err) < 0)
            return -1;
        out->rows--;
    }
    return found;
}

int store_expire(struct store *st, struct arena *a, uint64_t now_ms, uint64_t **jobs, size_t *n,
                 struct err *err)
{
    if (st->memory) { /* nothing is kept for a time */
        *n = 0;
        return 0;
    }
    sqlite3_stmt *s = db_write(st, STMT_EXPIRE_IDEM, err);
    if (!s)
        return -1;
    bind_u64(s, 1, now_ms);
    bind_u64(s, 2, STORE_EXPIRE_MAX);
    if (db_run(st, s, err) < 0 || !(s = db_stmt(st, STMT_EXPIRED_JOBS, err)))
        return -1;
    bind_u64(s, 1, now_ms);
    bind_u64(s, 2, STORE_EXPIRE_JOBS);
    uint64_t *ids = ARENA_ARRAY(a, STORE_EXPIRE_JOBS, uint64_t);
    size_t count = 0;
    int more;
    while ((more = db_step(st, s, err)) == 1)
        ids[count++] = column_get_u64(s, 0);
    for (size_t i = 0; more == 0 && i < count; i++)
        more = store_delete_job(st, ids[i], err);
    if (more < 0)
        return -1;
    *jobs = ids;
    *n = count;
    return 0;
}
