/* Searching jobs: a statement made of the clauses that a query needs, values always bound.
 *
 * Submission times are the upper bits of ids, so a time window is a range of the index of listed
 * jobs, which has what a search asks of their rows; what jobs say is in `facet` (schema.c), so no
 * JSON is read but that of tags put on later. */
#include "store/find.h"

#include "base/buf.h"
#include "base/mem.h"
#include "store/columns.h"
#include "store/db.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SQL_MAX  65536
#define BIND_MAX 4000 /* below SQLite's own bound */
#define ID_SHIFT 20   /* of the milliseconds in an id */

struct search {
    struct arena *arena;
    struct buf where;
    const char **texts; /* bound in order */
    size_t n;
};

static void bind(struct search *s, const char *text)
{
    if (s->n < BIND_MAX)
        s->texts[s->n++] = text;
}

/* A clause with one value. */
static void clause(struct search *s, const char *sql, const char *value)
{
    if (!value)
        return;
    buf_puts(&s->where, sql);
    bind(s, value);
}

static void any_of(struct search *s, const char *column, const struct words *words)
{
    if (!words->n)
        return;
    buf_addf(&s->where, " AND %s IN (", column);
    for (size_t i = 0; i < words->n; i++) {
        buf_puts(&s->where, i ? ",?" : "?");
        bind(s, words->at[i]);
    }
    buf_putc(&s->where, ')');
}

static void readable(struct search *s, const struct job_query *q)
{
    if (!q->reader)
        return;
    buf_puts(&s->where, " AND (owner = ?");
    bind(s, q->reader);
    for (size_t i = 0; q->projects && i < q->projects->n; i++)
        clause(s, " OR project = ?", q->projects->at[i]);
    buf_putc(&s->where, ')');
}

static void states(struct search *s, uint32_t mask, bool lean)
{
    struct words words = { .at = ARENA_ARRAY(s->arena, JOB_STATE_N, const char *) };
    for (int state = JOB_NONE + 1; state < JOB_STATE_N; state++)
        if (mask & 1u << state)
            words.at[words.n++] = job_state_word((enum job_state)state);
    any_of(s, lean ? "state" : "+state", &words);
}

/* Can the indices of owners and states answer alone? Else the one that has all columns is walked:
 * looking up each row costs more than the rows that would be left out. */
static bool lean(const struct job_query *q)
{
    return !q->queue && !q->dialect && !q->queue_not && !q->in.n && !q->name_has && !q->reader;
}

static void window(struct search *s, const struct job_query *q)
{
    const uint64_t most = (uint64_t)INT64_MAX >> ID_SHIFT;
    const uint64_t since = (q->since_ms < most ? q->since_ms : most) << ID_SHIFT;
    const uint64_t until = (q->until_ms < most ? q->until_ms : most) << ID_SHIFT;
    if (since)
        buf_addf(&s->where, " AND id >= %" PRIu64, since);
    if (until)
        buf_addf(&s->where, " AND id < %" PRIu64, until);
}

static void ids(struct search *s, const struct words *words)
{
    if (!words->n)
        return;
    buf_puts(&s->where, " AND id IN (0");
    for (size_t i = 0; i < words->n; i++) {
        uint64_t id;
        if (job_id_parse(words->at[i], &id))
            buf_addf(&s->where, ",%llu", (unsigned long long)id);
    }
    buf_putc(&s->where, ')');
}

/* The tag put on later counts before the label of the same key. */
static void labels(struct search *s, const struct pairs *pairs)
{
    static const char tagged[] = " (SELECT job_of(project) FROM object WHERE kind = 'job.tag'"
                                 " AND name = ?";
    for (size_t i = 0; i < pairs->n; i++) {
        const struct pair *pair = &pairs->at[i];
        buf_puts(&s->where, " AND id IN (SELECT job FROM facet WHERE name = ? AND value = ?"
                            " AND job NOT IN");
        bind(s, arena_printf(s->arena, "label.%s", pair->name));
        bind(s, pair->value);
        buf_puts(&s->where, tagged);
        bind(s, pair->name);
        buf_puts(&s->where, ") UNION ALL SELECT * FROM");
        buf_puts(&s->where, tagged);
        bind(s, pair->name);
        buf_puts(&s->where, " AND json_extract(spec, '$.spec.value') = ?))");
        bind(s, pair->value);
    }
}

/* Said values by one lookup; only what has to be missing needs a look at every job. */
static void values(struct search *s, const struct job_values *any)
{
    size_t missing = 0;
    if (!any->n)
        return;
    buf_puts(&s->where, " AND (id IN (SELECT 0");
    for (size_t i = 0; i < any->n; i++) {
        missing += any->at[i].missing;
        if (any->at[i].missing)
            continue;
        buf_puts(&s->where, " UNION ALL SELECT job FROM facet WHERE name = ? AND value = ?");
        bind(s, any->at[i].facet);
        bind(s, any->at[i].value);
    }
    buf_putc(&s->where, ')');
    for (size_t i = 0; missing && i < any->n; i++) {
        if (!any->at[i].missing)
            continue;
        buf_puts(&s->where, " OR id NOT IN (SELECT job FROM facet WHERE name = ?)");
        bind(s, any->at[i].facet);
    }
    buf_putc(&s->where, ')');
}

static void texts(struct search *s, const struct job_text *text)
{
    if (!text->facet || !text->has)
        return;
    buf_puts(&s->where, " AND id IN (SELECT job FROM facet WHERE name = ?"
                        " AND instr(lower(value), lower(?)) > 0)");
    bind(s, text->facet);
    bind(s, text->has);
}

static void compose(struct search *s, const struct job_query *q)
{
    window(s, q);
    readable(s, q);
    if (q->states)
        states(s, q->states, lean(q));
    clause(s, lean(q) ? " AND owner = ?" : " AND +owner = ?", q->owner);
    clause(s, " AND queue = ?", q->queue);
    clause(s, " AND dialect = ?", q->dialect);
    clause(s, " AND queue <> ?", q->queue_not);
    any_of(s, "project", &q->in);
    clause(s, " AND instr(lower(job.name), lower(?)) > 0", q->name_has);
    clause(s, " AND instr(lower(reason), lower(?)) > 0", q->reason_has);
    for (size_t i = 0; i < ARRAY_LEN(q->texts); i++)
        texts(s, &q->texts[i]);
    ids(s, &q->ids);
    labels(s, &q->labels);
    for (size_t i = 0; i < ARRAY_LEN(q->values); i++)
        values(s, &q->values[i]);
}

/* The id in the project of objects of a job. */
static void job_of(sqlite3_context *context, int n, sqlite3_value **args)
{
    const char *text = (const char *)sqlite3_value_text(args[0]);
    uint64_t id = 0;
    (void)n;
    if (text && !job_id_parse(text, &id))
        id = 0;
    sqlite3_result_int64(context, (sqlite3_int64)id);
}

/* Where no lookup leads to the jobs, the narrow rows are walked, and not the wide ones. */
static const char *walked(const struct job_query *q)
{
    bool sought = q->labels.n || q->ids.n;
    for (size_t i = 0; i < ARRAY_LEN(q->texts); i++)
        sought = sought || (q->texts[i].facet && q->texts[i].has);
    for (size_t i = 0; i < ARRAY_LEN(q->values); i++)
        for (size_t k = 0; k < q->values[i].n; k++)
            sought = sought || !q->values[i].at[k].missing;
    if (sought || (lean(q) && (q->owner || q->states)))
        return "job";
    return "job INDEXED BY job_searched";
}

static sqlite3_stmt *prepare(struct store *st, const struct search *s, const char *sql,
                             struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    if (s->where.overflow || s->n == BIND_MAX) {
        err_set(err, ERR_TOO_LARGE, "the search has too many parts");
        return NULL;
    }
    if (sqlite3_prepare_v2(st->db, sql, -1, &stmt, NULL) != SQLITE_OK) {
        db_fail(st, err, "preparing a search");
        return NULL;
    }
    for (size_t i = 0; i < s->n; i++)
        bind_text(stmt, (int)i + 1, s->texts[i]);
    return stmt;
}

static const char *const orders[] = {
    [JOBS_BY_ID] = "id",     [JOBS_BY_NAME] = "job.name",     [JOBS_BY_STATE] = "state",
    [JOBS_BY_END] = "ended", [JOBS_BY_PRIORITY] = "priority", [JOBS_BY_TYPE] = "said.value",
};

static int count(struct store *st, const struct search *s, const struct job_query *q,
                 uint64_t *total, struct err *err)
{
    const char *sql = arena_printf(s->arena, "SELECT count(*) FROM %s WHERE array = 0%s", walked(q),
                                   buf_str(&s->where));
    sqlite3_stmt *stmt = prepare(st, s, sql, err);
    int rc = stmt ? db_step(st, stmt, err) : -1;
    if (rc == 1)
        *total = column_get_u64(stmt, 0);
    sqlite3_finalize(stmt);
    return rc == 1 ? 0 : -1;
}

static int page(struct store *st, struct search *s, const struct job_query *q, struct job_page *out,
                struct err *err)
{
    /* In the order of what jobs say, with the row of each looked up. */
    const char *from =
        q->order == JOBS_BY_TYPE
            ? "facet AS said CROSS JOIN job ON job.id = said.job AND said.name = 'type'"
            : walked(q);
    const char *way = q->ascending ? "ASC" : "DESC";
    const char *sql = arena_printf(
        s->arena,
        "SELECT id FROM %s WHERE array = 0%s ORDER BY %s %s, %s %s LIMIT %llu OFFSET %llu", from,
        buf_str(&s->where), orders[q->order], way, q->order == JOBS_BY_TYPE ? "said.job" : "id",
        way, (unsigned long long)q->limit,
        (unsigned long long)(q->offset < INT64_MAX ? q->offset : INT64_MAX));
    sqlite3_stmt *stmt = prepare(st, s, sql, err);
    uint64_t *found = ARENA_ARRAY(s->arena, q->limit + 1, uint64_t);
    size_t count = 0;
    int more = stmt ? 0 : -1;
    while (stmt && (more = db_step(st, stmt, err)) == 1)
        found[count++] = column_get_u64(stmt, 0);
    sqlite3_finalize(stmt);
    out->rows = ARENA_ARRAY(s->arena, count + 1, struct job_row);
    for (size_t i = 0; more == 0 && i < count; i++)
        if (store_get_job(st, s->arena, found[i], &out->rows[out->n], err) == 1)
            out->n++;
    return more;
}

int store_find_jobs(struct store *st, struct arena *a, const struct job_query *q,
                    struct job_page *out, struct err *err)
{
    *out = (struct job_page){ 0 };
    struct search s = { .arena = a,
                        .where = BUF_INIT(SQL_MAX),
                        .texts = ARENA_ARRAY(a, BIND_MAX, const char *) };
    if (st->memory)
        return err_set(err, ERR_CANNOT, "records in memory cannot be searched");
    if (sqlite3_create_function(st->db, "job_of", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                job_of, NULL, NULL) != SQLITE_OK)
        return db_fail(st, err, "preparing a search");
    compose(&s, q);
    int rc = count(st, &s, q, &out->total, err);
    if (rc == 0)
        rc = page(st, &s, q, out, err);
    buf_fini(&s.where);
    return rc;
}
