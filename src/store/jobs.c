/* Rows of jobs: insert, update, look up, list. Lists never scan: each is a descending range
 * of an index that begins with what is filtered by; several states are merged by id. */
#include "store/columns.h"
#include "store/db.h"
#include "store/seal_records.h"

#include "base/mem.h"
#include "job/old_sentence.h"
#include "store/counts.h"
#include "store/find.h"

#include <stdio.h>
#include <string.h>

#define STATES_TEXT (16 * JOB_STATE_N) /* the words of all */

uint64_t store_next_number(struct store *st)
{
    return ++st->number;
}

uint64_t store_last_job_id(struct store *st)
{
    return st->job_id;
}

static const char *outcome_text(enum job_outcome outcome)
{
    return outcome == OUTCOME_NONE ? NULL : job_outcome_word(outcome);
}

static int put_body(struct store *st, const struct job_row *job, struct err *err)
{
    sqlite3_stmt *s = db_write(st, STMT_PUT_BODY, err);
    if (!s)
        return -1;
    AUTO_FREE char *spec = seal_record_text(st, job->spec), *site = seal_record_text(st, job->site);
    bind_u64(s, 1, job->id);
    bind_text(s, 2, spec);
    bind_text(s, 3, site);
    int rc = db_run(st, s, err);
    for (size_t i = 0; rc == 0 && i < job->facets.n; i++) {
        s = db_write(st, STMT_PUT_FACET, err);
        if (!s)
            return -1;
        bind_text(s, 1, job->facets.at[i].name);
        bind_text(s, 2, job->facets.at[i].value);
        bind_u64(s, 3, job->id);
        rc = db_run(st, s, err);
    }
    return rc;
}

/* An array's are given out with those of its members, whose rows follow. */
static void remember_highest(struct store *st, const struct job_row *job)
{
    if (job->id + job->members > st->job_id)
        st->job_id = job->id + job->members;
    if (job->number + job->members > st->number)
        st->number = job->number + job->members;
}

int store_put_job(struct store *st, const struct job_row *job, struct err *err)
{
    if (db_forget(st)) {
        memory_put_job(st->memory, job);
        remember_highest(st, job);
        return 0;
    }
    sqlite3_stmt *s = db_write(st, STMT_PUT_JOB, err);
    if (!s)
        return -1;
    int i = 0;
    AUTO_FREE char *named = named_job_pack(&job->reason.named);
    bind_u64(s, ++i, job->id);
    bind_u64(s, ++i, job->number);
    bind_text(s, ++i, job->owner);
    bind_text(s, ++i, job->project ? job->project : "");
    bind_text(s, ++i, job->name);
    bind_text(s, ++i, job->queue ? job->queue : "default");
    bind_text(s, ++i, job->dialect);
    bind_u64(s, ++i, job->priority);
    bind_text(s, ++i, job_state_word(job->state));
    bind_text(s, ++i, outcome_text(job->outcome));
    bind_text(s, ++i, job->reason.text ? job->reason.text : "");
    bind_u64(s, ++i, job->generation);
    bind_u64(s, ++i, job->restarts);
    bind_u64(s, ++i, job->tasks);
    bind_u64(s, ++i, job->gpu_milli);
    bind_u64(s, ++i, job->submitted_ms);
    bind_u64(s, ++i, job->started_ms);
    bind_u64(s, ++i, job->ended_ms);
    bind_u64(s, ++i, job->not_before_ms);
    bind_u64(s, ++i, job->array);
    bind_u64(s, ++i, job->index);
    bind_u64(s, ++i, job->members);
    bind_text(s, ++i, named);
    bind_text(s, ++i, job->live);
    if (db_run(st, s, err) < 0)
        return -1;
    counts_put(st, job);
    remember_highest(st, job);
    return job->array ? 0 : put_body(st, job, err);
}

int store_update_job(struct store *st, const struct job_row *job, struct err *err)
{
    if (db_forget(st)) {
        memory_update_job(st->memory, job);
        return 0;
    }
    sqlite3_stmt *s = db_write(st, STMT_UPDATE_JOB, err);
    if (!s || counts_update(st, job, err) < 0)
        return -1;
    bind_u64(s, 1, job->id);
    bind_text(s, 2, job_state_word(job->state));
    bind_text(s, 3, outcome_text(job->outcome));
    bind_text(s, 4, job->reason.text ? job->reason.text : "");
    bind_u64(s, 5, job->generation);
    bind_u64(s, 6, job->restarts);
    bind_u64(s, 7, job->started_ms);
    bind_u64(s, 8, job->ended_ms);
    bind_u64(s, 9, job->not_before_ms);
    bind_text(s, 10, job->live);
    bind_u64(s, 11, job->priority);
    AUTO_FREE char *named = named_job_pack(&job->reason.named);
    bind_text(s, 12, named);
    return db_run(st, s, err);
}

int store_set_keep(struct store *st, uint64_t job, uint64_t until_ms, struct err *err)
{
    if (db_forget(st))
        return 0;
    sqlite3_stmt *s = db_write(st, STMT_KEEP_JOB, err);
    if (!s)
        return -1;
    bind_u64(s, 1, job);
    bind_u64(s, 2, until_ms);
    return db_run(st, s, err);
}

static void read_job(const struct store *st, sqlite3_stmt *s, struct arena *a, struct job_row *job)
{
    int i = 0;
    job->id = column_get_u64(s, i++);
    job->number = column_get_u64(s, i++);
    job->owner = column_get_text(s, i++, a);
    job->project = column_get_text(s, i++, a);
    job->name = column_get_text(s, i++, a);
    job->queue = column_get_text(s, i++, a);
    job->dialect = column_get_text(s, i++, a);
    job->priority = (uint32_t)column_get_u64(s, i++);
    job->state = job_state_parse(column_get_word(s, i++).text);
    job->outcome = job_outcome_parse(column_get_word(s, i++).text);
    job->reason.text = column_get_text(s, i++, a);
    job->generation = (uint32_t)column_get_u64(s, i++);
    job->restarts = (uint32_t)column_get_u64(s, i++);
    job->tasks = (uint32_t)column_get_u64(s, i++);
    job->gpu_milli = column_get_u64(s, i++);
    job->submitted_ms = column_get_u64(s, i++);
    job->started_ms = column_get_u64(s, i++);
    job->ended_ms = column_get_u64(s, i++);
    job->not_before_ms = column_get_u64(s, i++);
    job->array = column_get_u64(s, i++);
    job->index = (uint32_t)column_get_u64(s, i++);
    job->members = (uint32_t)column_get_u64(s, i++);
    job->reason = recorded_sentence(a, job->reason.text, column_get_text(s, i++, a));
    if (sqlite3_column_count(s) <= i)
        return;
    job->live = column_get_text(s, i++, a);
    if (sqlite3_column_count(s) <= i)
        return;
    job->spec = seal_column(st, s, i++, a);
    job->site = seal_column(st, s, i++, a);
}

static int get_job(struct store *st, struct arena *a, enum stmt_id how, uint64_t id,
                   struct job_row *job, struct err *err)
{
    if (st->memory)
        return memory_get_job(st->memory, id, job);
    sqlite3_stmt *s = db_stmt(st, how, err);
    if (!s)
        return -1;
    bind_u64(s, 1, id);
    int found = db_step(st, s, err);
    if (found == 1) {
        *job = (struct job_row){ 0 };
        read_job(st, s, a, job);
    }
    sqlite3_reset(s);
    return found;
}

int store_get_job(struct store *st, struct arena *a, uint64_t id, struct job_row *job,
                  struct err *err)
{
    return get_job(st, a, STMT_GET_JOB, id, job, err);
}

int store_get_lean_job(struct store *st, struct arena *a, uint64_t id, struct job_row *job,
                       struct err *err)
{
    return get_job(st, a, STMT_GET_LEAN_JOB, id, job, err);
}

/* A sealed text of its body, by a statement that reads nothing else. */
static int get_text(struct store *st, struct arena *a, enum stmt_id which, uint64_t id,
                    const char **text, struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, which, err);
    if (!s)
        return -1;
    bind_u64(s, 1, id);
    int found = db_step(st, s, err);
    if (found == 1)
        *text = seal_column(st, s, 0, a);
    sqlite3_reset(s);
    return found;
}

int store_get_site(struct store *st, struct arena *a, uint64_t id, const char **site,
                   struct err *err)
{
    struct job_row row;
    if (!st->memory)
        return get_text(st, a, STMT_GET_SITE, id, site, err);
    int there = memory_get_job(st->memory, id, &row);
    *site = there ? row.site : NULL;
    return there;
}

int store_get_spec(struct store *st, struct arena *a, uint64_t id, const char **spec,
                   struct err *err)
{
    struct job_row row;
    if (!st->memory)
        return get_text(st, a, STMT_GET_SPEC, id, spec, err);
    int there = memory_get_job(st->memory, id, &row);
    *spec = there ? row.spec : NULL;
    return *spec != NULL;
}

static int read_id(struct store *st, sqlite3_stmt *s, uint64_t *id)
{
    struct err err;
    int found = db_step(st, s, &err);
    if (found == 1)
        *id = column_get_u64(s, 0);
    sqlite3_reset(s);
    return found == 1;
}

int store_find_number(struct store *st, uint64_t number, uint64_t *id)
{
    struct err err;
    if (st->memory)
        return memory_find_number(st->memory, number, id);
    sqlite3_stmt *s = db_stmt(st, STMT_FIND_NUMBER, &err);
    if (!s)
        return 0;
    bind_u64(s, 1, number);
    return read_id(st, s, id);
}

int store_find_name(struct store *st, const char *name, const char *owner, uint64_t *id)
{
    struct err err;
    if (st->memory)
        return memory_find_name(st->memory, name, owner, id);
    sqlite3_stmt *s = db_stmt(st, STMT_FIND_NAME, &err);
    if (!s)
        return 0;
    bind_text(s, 1, name);
    bind_text(s, 2, owner);
    return read_id(st, s, id);
}

/* " queued running "; NULL: all of them. */
static const char *join_states(char out[STATES_TEXT], uint32_t states)
{
    size_t used = (size_t)snprintf(out, STATES_TEXT, " ");
    for (int state = JOB_NONE + 1; state < JOB_STATE_N; state++)
        if (states & 1u << state)
            used += (size_t)snprintf(out + used, STATES_TEXT - used, "%s ",
                                     job_state_word((enum job_state)state));
    return states ? out : NULL;
}

int store_find_in(struct store *st, const struct job_name_query *named, uint64_t *id)
{
    struct err err;
    char states[STATES_TEXT];
    sqlite3_stmt *s = st->memory ? NULL : db_stmt(st, STMT_FIND_IN, &err);
    if (!s)
        return 0;
    bind_text(s, 1, named->name);
    bind_text(s, 2, named->project);
    bind_text(s, 3, named->owner);
    bind_u64(s, 4, named->from);
    bind_text(s, 5, join_states(states, named->states));
    return read_id(st, s, id);
}

struct job_rows {
    struct job_row *at;
    size_t n, cap;
};

/* Adds what the statement finds. */
static int read_jobs(struct store *st, sqlite3_stmt *s, struct arena *a, struct job_rows *rows,
                     struct err *err)
{
    int more;
    while ((more = db_step(st, s, err)) == 1) {
        rows->at = rows_more(a, rows->at, rows->n, &rows->cap, sizeof *rows->at);
        read_job(st, s, a, &rows->at[rows->n++]);
    }
    return more;
}

/* The members of an array that have not ended. */
static int read_live_members(struct store *st, struct arena *a, const struct job_row *array,
                             struct job_rows *rows, struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, STMT_LIVE_MEMBERS, err);
    if (!s)
        return -1;
    bind_u64(s, 1, array->id);
    bind_u64(s, 2, array->members);
    return read_jobs(st, s, a, rows, err);
}

int store_live_jobs(struct store *st, struct arena *a, struct job_row **rows, size_t *n,
                    struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, STMT_LIVE_JOBS, err);
    struct job_rows listed = { 0 }, all = { 0 };
    if (!s || read_jobs(st, s, a, &listed, err) < 0)
        return -1;
    for (size_t i = 0; i < listed.n; i++) {
        all.at = rows_more(a, all.at, all.n, &all.cap, sizeof *all.at);
        all.at[all.n++] = listed.at[i];
        if (listed.at[i].members && read_live_members(st, a, &listed.at[i], &all, err) < 0)
            return -1;
    }
    *rows = all.at;
    *n = all.n;
    return 0;
}

/* Apart by a character that no name has, and at both ends: NULL none. */
static const char *join_projects(struct arena *a, const struct words *projects)
{
    if (!projects || projects->n == 0)
        return NULL;
    const char *text = "\x1f";
    for (size_t i = 0; i < projects->n; i++)
        text = arena_printf(a, "%s%s\x1f", text, projects->at[i]);
    return text;
}

static void bind_filter(sqlite3_stmt *s, struct arena *a, const struct job_filter *f)
{
    bind_text(s, 3, f->queue);
    bind_text(s, 4, f->dialect);
    bind_text(s, 5, f->name);
    bind_text(s, 8, f->reader);
    bind_text(s, 9, join_projects(a, f->projects));
}

/* One range: state JOB_NONE is all states (not with an owner). */
static int list_range(struct store *st, struct arena *a, const struct job_filter *f,
                      enum job_state state, struct job_rows *out, struct err *err)
{
    enum stmt_id id = state == JOB_NONE ? STMT_LIST_ALL
                      : f->owner        ? STMT_LIST_OWNER
                                        : STMT_LIST_STATE;
    sqlite3_stmt *s = db_stmt(st, id, err);
    if (!s)
        return -1;
    bind_u64(s, 1, f->before_id ? f->before_id : INT64_MAX);
    bind_u64(s, 2, f->limit);
    bind_filter(s, a, f);
    bind_u64(s, 10, f->offset);
    if (id == STMT_LIST_OWNER)
        bind_text(s, 6, f->owner);
    if (id != STMT_LIST_ALL)
        bind_text(s, 7, job_state_word(state));
    return read_jobs(st, s, a, out, err);
}

static int newest_first(const void *a, const void *b)
{
    const struct job_row *x = a, *y = b;
    return (x->id < y->id) - (x->id > y->id);
}

static int list_members(struct store *st, struct arena *a, const struct job_filter *f,
                        struct job_rows *out, struct err *err)
{
    char states[STATES_TEXT];
    sqlite3_stmt *s = db_stmt(st, STMT_LIST_MEMBERS, err);
    if (!s)
        return -1;
    bind_u64(s, 1, f->before_id);
    bind_u64(s, 2, f->limit);
    bind_u64(s, 3, f->array);
    bind_u64(s, 4, f->members);
    bind_text(s, 5, join_states(states, f->states));
    return read_jobs(st, s, a, out, err);
}

static int list_all(struct store *st, struct arena *a, const struct job_filter *f,
                    struct job_rows *out, struct err *err)
{
    return f->array ? list_members(st, a, f, out, err) : list_range(st, a, f, JOB_NONE, out, err);
}

int store_list(struct store *st, struct arena *a, const struct job_filter *f, struct job_row **rows,
               size_t *n, struct err *err)
{
    struct job_rows some = { 0 };
    *n = 0;
    if (f->offset > JOB_OFFSET_MAX)
        return 0;
    if (f->array || (!f->states && !f->owner)) {
        if (list_all(st, a, f, &some, err) < 0)
            return -1;
        *rows = some.at;
        *n = some.n;
        return 0;
    }
    struct job_filter each = *f; /* what is left out is known only when all are merged */
    each.limit += f->offset;
    each.offset = 0;
    struct job_rows all = { 0 };
    for (int state = JOB_NONE + 1; state < JOB_STATE_N; state++)
        if (!f->states || f->states & 1u << state)
            if (list_range(st, a, &each, (enum job_state)state, &all, err) < 0)
                return -1;
    if (all.n)
        qsort(all.at, all.n, sizeof *all.at, newest_first);
    size_t skip = f->offset < all.n ? f->offset : all.n;
    *rows = skip ? all.at + skip : all.at;
    *n = all.n - skip < f->limit ? all.n - skip : f->limit;
    return 0;
}

int store_list_count(struct store *st, const struct job_filter *f, uint64_t *n, struct err *err)
{
    char states[STATES_TEXT];
    sqlite3_stmt *s = db_stmt(st, f->owner ? STMT_COUNT_OWNER : STMT_COUNT_ALL, err);
    if (!s)
        return -1;
    struct arena *a = arena_create();
    bind_filter(s, a, f);
    bind_text(s, 7, join_states(states, f->states));
    if (f->owner)
        bind_text(s, 6, f->owner);
    int found = db_step(st, s, err);
    if (found == 1)
        *n = column_get_u64(s, 0);
    sqlite3_reset(s);
    arena_destroy(a);
    return found == 1 ? 0 : -1;
}
