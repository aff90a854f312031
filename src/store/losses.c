/* A list in the memory of the connection, by the jobs' ids: each source adds what it knows. An
 * index is read without its table, so that it tells of rows that are gone; a question of an older
 * version that has no such column is asked in another way. */
#include "store/losses.h"

#include "base/mem.h"
#include "store/columns.h"

#include <stdlib.h>
#include <string.h>

#define NOT_THERE                                                                                  \
    " WHERE id NOT IN (SELECT id FROM main.job)"                                                   \
    " ON CONFLICT (id) DO UPDATE SET number = coalesce(number, excluded.number),"                  \
    " name = coalesce(name, excluded.name), owner = coalesce(owner, excluded.owner)"

static const char make_list[] =
    "CREATE TEMP TABLE missing (id INTEGER PRIMARY KEY, number INTEGER, name TEXT, owner TEXT)";
static const char add_one[] = "INSERT INTO temp.missing SELECT * FROM"
                              " (SELECT ?1 AS id, ?2 AS number, ?3 AS name, ?4 AS owner)" NOT_THERE;

/* Of what is damaged; the second where the first cannot be asked. */
static const char *const sources[][2] = {
    { "SELECT id, number, name, owner FROM job NOT INDEXED ORDER BY id" },
    { "SELECT id, number, name, owner FROM job NOT INDEXED ORDER BY id DESC" },
    { "SELECT id, number, NULL, NULL FROM job INDEXED BY sqlite_autoindex_job_1 ORDER BY number" },
    { "SELECT id, NULL, name, NULL FROM job INDEXED BY job_by_name WHERE array = 0",
      "SELECT id, NULL, name, NULL FROM job INDEXED BY job_by_name" },
    { "SELECT id, NULL, NULL, owner FROM job INDEXED BY job_by_owner WHERE array = 0",
      "SELECT id, NULL, NULL, owner FROM job INDEXED BY job_by_owner" },
};

/* Of rows that were read, and have no job. What is sealed says nothing here. */
static const char orphans[] =
    "INSERT INTO temp.missing SELECT * FROM (SELECT job AS id, NULL AS number,"
    " CASE WHEN json_valid(spec) THEN json_extract(spec, '$.name') END AS name, NULL AS owner"
    " FROM main.body)" NOT_THERE ";"
    "INSERT INTO temp.missing SELECT * FROM (SELECT job AS id, NULL AS number, NULL AS name, owner"
    " FROM main.idem)" NOT_THERE ";"
    "INSERT INTO temp.missing SELECT * FROM (SELECT DISTINCT job AS id, NULL AS number,"
    " NULL AS name, NULL AS owner FROM main.event WHERE job <> 0)" NOT_THERE ";";

static void add_source(sqlite3 *damaged, sqlite3_stmt *add, const char *const sql[2])
{
    sqlite3_stmt *s = NULL;
    for (size_t i = 0; !s && i < 2 && sql[i]; i++)
        if (sqlite3_prepare_v2(damaged, sql[i], -1, &s, NULL) != SQLITE_OK)
            s = NULL;
    while (s && sqlite3_step(s) == SQLITE_ROW) {
        for (int i = 0; i < 4; i++)
            sqlite3_bind_value(add, i + 1, sqlite3_column_value(s, i));
        sqlite3_step(add);
        sqlite3_reset(add);
    }
    sqlite3_finalize(s);
}

void losses_look(struct sqlite3 *to, struct sqlite3 *damaged)
{
    sqlite3_stmt *add = NULL;
    sqlite3_exec(to, make_list, NULL, NULL, NULL);
    sqlite3_exec(to, orphans, NULL, NULL, NULL);
    if (damaged && sqlite3_prepare_v2(to, add_one, -1, &add, NULL) == SQLITE_OK)
        for (size_t i = 0; i < ARRAY_LEN(sources); i++)
            add_source(damaged, add, sources[i]);
    sqlite3_finalize(add);
}

/* Those without a number come last. */
static int by_number(const void *a, const void *b)
{
    const struct missing_job *x = a, *y = b;
    uint64_t of_x = x->number - 1, of_y = y->number - 1;
    return of_x != of_y ? (of_x > of_y) - (of_x < of_y) : (x->id > y->id) - (x->id < y->id);
}

static void read_list(sqlite3 *to, struct arena *arena, struct missing_jobs *out)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(to,
                           "SELECT id, number, name, owner FROM temp.missing"
                           " ORDER BY number IS NULL, number, id",
                           -1, &s, NULL) != SQLITE_OK)
        return;
    while (out->n < LOSSES_MOST && sqlite3_step(s) == SQLITE_ROW)
        out->at[out->n++] = (struct missing_job){ .id = column_get_u64(s, 0),
                                                  .number = column_get_u64(s, 1),
                                                  .name = column_get_text(s, 2, arena),
                                                  .owner = column_get_text(s, 3, arena) };
    sqlite3_finalize(s);
}

/* In the list, and numbers from `there` to `last` that nothing in it has. */
static uint64_t count_all(sqlite3 *to, uint64_t there, uint64_t last)
{
    sqlite3_stmt *s = NULL;
    uint64_t known = 0, numbers = 0;
    if (sqlite3_prepare_v2(to,
                           "SELECT count(*), count(DISTINCT iif(number BETWEEN ?1 AND ?2, number,"
                           " NULL)) FROM temp.missing",
                           -1, &s, NULL) == SQLITE_OK) {
        bind_u64(s, 1, there + 1);
        bind_u64(s, 2, last);
        if (sqlite3_step(s) == SQLITE_ROW) {
            known = column_get_u64(s, 0);
            numbers = column_get_u64(s, 1);
        }
    }
    sqlite3_finalize(s);
    return known + (last > there ? last - there - numbers : 0);
}

static void sort(struct missing_jobs *jobs)
{
    if (jobs->n)
        qsort(jobs->at, jobs->n, sizeof *jobs->at, by_number);
}

void losses_list(struct sqlite3 *to, struct arena *arena, uint64_t there, uint64_t last,
                 struct missing_jobs *out)
{
    *out = (struct missing_jobs){ .at = ARENA_ARRAY(arena, LOSSES_MOST, struct missing_job) };
    read_list(to, arena, out);
    sort(out);
    const size_t known = out->n;
    size_t at = 0;
    for (uint64_t number = there + 1; number <= last && out->n < LOSSES_MOST; number++) {
        while (at < known && out->at[at].number && out->at[at].number < number)
            at++;
        if (at == known || out->at[at].number != number)
            out->at[out->n++] = (struct missing_job){ .number = number };
    }
    sort(out);
    out->more = count_all(to, there, last) - out->n;
}
