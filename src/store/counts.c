/* Counts of jobs by state follow each row that is written, and a commit that fails undoes them with
 * it. Members of an array count; the array itself does not, and its deletion takes its members out
 * at once, although their rows go later (deletion.c). */
#include "store/counts.h"

#include "store/columns.h"
#include "store/db.h"
#include "store/find.h"

static int read_counts(struct store *st, sqlite3_stmt *s, struct job_counts *counts,
                       struct err *err)
{
    *counts = (struct job_counts){ 0 };
    int more;
    while ((more = db_step(st, s, err)) == 1)
        counts->by_state[job_state_parse(column_get_word(s, 0).text)] = column_get_u64(s, 1);
    return more;
}

static int members_of(struct store *st, uint64_t array, uint64_t members, struct job_counts *counts,
                      struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, STMT_MEMBER_COUNTS, err);
    if (!s)
        return -1;
    bind_u64(s, 1, array);
    bind_u64(s, 2, members);
    return read_counts(st, s, counts, err);
}

static void subtract(struct job_counts *from, const struct job_counts *some)
{
    for (int state = 0; state < JOB_STATE_N; state++)
        from->by_state[state] -= some->by_state[state];
}

/* Members of arrays that are deleted are jobs no more. */
static int count_all(struct store *st, struct job_counts *counts, struct err *err)
{
    struct job_counts rests;
    sqlite3_stmt *s = db_stmt(st, STMT_COUNTS, err);
    if (!s || read_counts(st, s, counts, err) < 0 || !(s = db_stmt(st, STMT_COUNT_RESTS, err)) ||
        read_counts(st, s, &rests, err) < 0)
        return -1;
    subtract(counts, &rests);
    return 0;
}

/* 1: of a row that is there. It is about to be written, so the turn begins here, and what cannot be
 * read fails it. */
static int read_row(struct store *st, uint64_t job, enum job_state *state, uint64_t *members,
                    struct err *err)
{
    sqlite3_stmt *s = db_write(st, STMT_GET_COUNTED, err);
    if (!s)
        return -1;
    bind_u64(s, 1, job);
    int found = db_step(st, s, err);
    if (found == 1) {
        *state = job_state_parse(column_get_word(s, 0).text);
        *members = column_get_u64(s, 1);
    }
    sqlite3_reset(s);
    return found;
}

void counts_put(struct store *st, const struct job_row *job)
{
    if (!job->members)
        st->jobs.by_state[job->state]++;
}

int counts_update(struct store *st, const struct job_row *job, struct err *err)
{
    enum job_state was;
    uint64_t members;
    int found = read_row(st, job->id, &was, &members, err);
    if (found != 1 || members)
        return found < 0 ? -1 : 0;
    st->jobs.by_state[was]--;
    st->jobs.by_state[job->state]++;
    return 0;
}

int counts_delete(struct store *st, uint64_t job, struct err *err)
{
    struct job_counts gone = { 0 };
    enum job_state was;
    uint64_t members;
    int found = read_row(st, job, &was, &members, err);
    if (found != 1)
        return found;
    if (!members)
        gone.by_state[was] = 1;
    else if (members_of(st, job, members, &gone, err) < 0)
        return -1;
    subtract(&st->jobs, &gone);
    return 0;
}

int store_counts(struct store *st, struct job_counts *counts, struct err *err)
{
    if (!st->counted && count_all(st, &st->jobs, err) < 0)
        return -1;
    *counts = st->jobs;
    if (st->counted || st->in_turn) /* what is not committed yet may be undone */
        return 0;
    st->committed_jobs = st->jobs;
    st->counted = !st->memory;
    return 0;
}

int store_member_counts(struct store *st, const struct job_row *array, struct job_counts *counts,
                        struct err *err)
{
    return members_of(st, array->id, array->members, counts, err);
}
