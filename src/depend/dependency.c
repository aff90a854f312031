/* Jobs that wait for other jobs: resolved to numbers at submission, so that only jobs that are
 * there can be named and no circle can be made. A waiting job is filed under one job that it waits
 * for and costs nothing until that one has ended; what ended as wished is noted, so that its record
 * may go. */
#include "depend/dependency.h"

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "depend/members.h"
#include "job/record.h"

#include <stdio.h>
#include <string.h>

struct waiters {
    VEC(uint64_t) ids;
};
struct dependencies {
    struct dependencies_config config;
    struct map *by_job; /* struct waiters by the job they wait for */
    VEC(uint64_t) due;  /* to be looked at */
    size_t taken;       /* of them */
};

struct dependencies *dependencies_create(const struct dependencies_config *config)
{
    struct dependencies *all = mem_new(sizeof *all);
    all->config = *config;
    all->by_job = map_create();
    return all;
}

static void waiters_free(void *freed)
{
    struct waiters *waiters = freed;
    vec_fini(&waiters->ids);
    free(waiters);
}

void dependencies_destroy(struct dependencies *all)
{
    if (!all)
        return;
    map_destroy_with(all->by_job, waiters_free);
    vec_fini(&all->due);
    free(all);
}

/* ---- rows ---- */

static uint64_t id_of(const struct dependencies *all, uint64_t number)
{
    uint64_t id;
    return store_find_number(all->config.store, number, &id) == 1
               ? id
               : members_find_coming(all->config.arrays, number);
}

static bool read_stored(const struct dependencies *all, struct arena *arena, uint64_t id,
                        struct job_row *row)
{
    struct err err;
    int found = store_get_job(all->config.store, arena, id, row, &err);
    if (found < 0)
        log_error("store.read", "job=%llu: %s", (unsigned long long)id, err.what);
    return found == 1;
}

static bool read_row(const struct dependencies *all, struct arena *arena, uint64_t id,
                     struct job_row *row)
{
    return read_stored(all, arena, id, row) || members_coming(all->config.arrays, id, row);
}

/* The row of what is waited for, as it is in this turn; texts of live ones are theirs. */
static bool find(const struct dependencies *all, struct arena *arena, uint64_t number,
                 struct job_row *row)
{
    const struct dependencies_core *core = &all->config.core;
    uint64_t id = id_of(all, number);
    const struct job_row *live = core->live(core->arg, id);
    const struct live_array *array = array_find(all->config.arrays, id);
    if (live || array) {
        *row = live ? *live : array->row;
        return true;
    }
    return read_row(all, arena, id, row);
}

/* ---- looking ---- */

static bool fits(const char *ended, enum job_state state)
{
    if (strcmp(ended, "any") == 0)
        return true;
    return (strcmp(ended, "well") == 0) == (state == JOB_SUCCEEDED);
}

static bool matched(const struct job_dependency *after)
{
    return after->match && strcmp(after->match, "index") == 0;
}

static struct depend_answer look(const struct dependencies *all, struct arena *arena,
                                 const struct depend_job *job, const struct job_dependency *after)
{
    struct depend_answer answer = { .number = after->job,
                                    .ended = after->ended ? after->ended : "any" };
    if (matched(after) &&
        job->row->array) /* members' numbers follow their array's, as their ids do */
        answer.number += job->row->id - job->row->array;
    if (!find(all, arena, answer.number, &answer.row))
        answer.kind = DEPEND_GONE;
    else if (!job_state_final(answer.row.state))
        answer.kind = DEPEND_TO_END;
    else
        answer.kind = fits(answer.ended, answer.row.state) ? DEPEND_MET : DEPEND_OTHERWISE;
    if (answer.kind == DEPEND_TO_END && answer.row.members)
        array_counts(all->config.arrays, &answer.row, answer.counts);
    return answer;
}

bool depend_never(const struct depend_answer *answer)
{
    return answer->kind == DEPEND_GONE || answer->kind == DEPEND_OTHERWISE;
}

static const char *position_text(char out[24], size_t position)
{
    snprintf(out, 24, "%zu", position);
    return out;
}

struct depend_answer depend_look(const struct dependencies *all, struct arena *arena,
                                 const struct depend_job *job)
{
    struct depend_answer first = { .kind = DEPEND_MET };
    char position[24];
    for (size_t i = 0; i < job->spec->n_after; i++) {
        if (words_have(job->met, position_text(position, i)))
            continue;
        const struct depend_answer one = look(all, arena, job, &job->spec->after[i]);
        if (depend_never(&one))
            return one;
        if (one.kind == DEPEND_TO_END && first.kind == DEPEND_MET)
            first = one;
    }
    return first;
}

struct words depend_met(const struct dependencies *all, struct arena *arena,
                        const struct depend_job *job)
{
    struct words met = { .at = ARENA_ARRAY(arena, job->spec->n_after, const char *) };
    char position[24];
    for (size_t i = 0; i < job->spec->n_after; i++) {
        struct arena *scratch = arena_create();
        if (words_have(job->met, position_text(position, i)) ||
            look(all, scratch, job, &job->spec->after[i]).kind == DEPEND_MET)
            met.at[met.n++] = arena_strdup(arena, position);
        arena_destroy(scratch);
    }
    return met;
}

/* ---- waiting ---- */

void depend_ask(struct dependencies *all, uint64_t job)
{
    vec_push(&all->due, job);
}

void depend_ended(struct dependencies *all, uint64_t id)
{
    struct waiters *waiters = map_remove(all->by_job, id);
    if (!waiters)
        return;
    for (size_t i = 0; i < waiters->ids.n; i++)
        vec_push(&all->due, waiters->ids.at[i]);
    waiters_free(waiters);
}

void depend_wait(struct dependencies *all, uint64_t job, const struct depend_answer *answer)
{
    struct waiters *waiters = map_get(all->by_job, answer->row.id);
    if (!waiters) {
        waiters = mem_new(sizeof *waiters);
        map_set(all->by_job, answer->row.id, waiters);
    }
    vec_push(&waiters->ids, job);
}

bool depend_take(struct dependencies *all, uint64_t *job)
{
    if (all->taken == all->due.n) {
        all->taken = 0;
        vec_clear(&all->due);
        return false;
    }
    *job = all->due.at[all->taken++];
    return true;
}

/* ---- at submission ---- */

struct resolution {
    const struct dependencies *all;
    struct arena *arena;
    struct arena *scratch; /* of one of those that are waited for */
    const char *owner;
    struct job_spec *spec;
    const struct depend_problem *first;
    const struct depend_problem **last;
};

static struct depend_problem *add(struct resolution *r, size_t at, enum depend_fault fault)
{
    struct depend_problem *problem = ARENA_NEW(r->arena, struct depend_problem);
    *problem =
        (struct depend_problem){ .fault = fault, .at = at, .number = r->spec->after[at].job };
    *r->last = problem;
    r->last = &problem->next;
    return problem;
}

static void check_match(struct resolution *r, size_t i, const struct job_row *row)
{
    const struct job_array *own = &r->spec->array;
    const struct job_spec *other = row->members ? job_of_text(r->scratch, row->spec) : NULL;
    if (!own->count) {
        add(r, i, DEPEND_NO_INDEX);
    } else if (!other) {
        add(r, i, DEPEND_NO_ARRAY);
    } else if (own->count != other->array.count || own->first != other->array.first ||
               own->step != other->array.step) {
        struct depend_problem *problem = add(r, i, DEPEND_OTHER_INDEX);
        problem->own = *own;
        problem->its = other->array;
    }
}

/* The same job cannot end in two ways. */
static void check_twice(struct resolution *r, size_t i)
{
    const struct job_dependency *a = &r->spec->after[i];
    for (size_t k = 0; k < i; k++) {
        const struct job_dependency *b = &r->spec->after[k];
        if (a->job != b->job || strcmp(a->ended, "any") == 0 || strcmp(b->ended, "any") == 0 ||
            strcmp(a->ended, b->ended) == 0)
            continue;
        add(r, i, DEPEND_BOTH_ENDS);
    }
}

/* The job that is meant, as its owner may know it; of a name the newest. */
static bool find_meant(const struct resolution *r, const struct job_dependency *after,
                       struct job_row *row)
{
    const struct dependencies_core *core = &r->all->config.core;
    struct store *store = r->all->config.store;
    uint64_t id =
        after->job_name ? core->find(core->arg, after->job_name) : id_of(r->all, after->job);
    if (!id || !read_row(r->all, r->scratch, id, row))
        return false;
    if (!r->owner || strcmp(r->owner, row->owner) == 0 || core->may_read(core->arg, r->owner, row))
        return true;
    return after->job_name && store_find_name(store, after->job_name, r->owner, &id) == 1 &&
           read_stored(r->all, r->scratch, id, row);
}

static void resolve(struct resolution *r, size_t i)
{
    struct job_dependency *after = &r->spec->after[i];
    struct job_row row;
    if (!find_meant(r, after, &row)) {
        add(r, i, after->job_name ? DEPEND_NO_NAME : DEPEND_NO_NUMBER)->name = after->job_name;
        return;
    }
    after->job = row.number;
    after->job_name = NULL;
    if (!matched(after))
        after->match = "all";
    if (matched(after))
        check_match(r, i, &row);
    check_twice(r, i);
}

struct name_search { /* those of one name */
    struct job_spec *spec;
    struct job_dependency like;
    bool too_many;
};

static void take_found(void *arg, const struct job_row *row)
{
    struct name_search *found = arg;
    if (found->spec->n_after == JOB_AFTER_MAX) {
        found->too_many = true;
        return;
    }
    struct job_dependency *one = &found->spec->after[found->spec->n_after++];
    *one = found->like;
    one->job = row->number;
    one->job_name = NULL;
    one->match = "all";
}

static int by_number(const void *a, const void *b)
{
    const struct job_dependency *x = a, *y = b;
    return x->job < y->job ? -1 : x->job > y->job;
}

/* In the place of each that means every job of its name: those that there are. */
static void find_every(struct resolution *r)
{
    const struct dependencies_core *core = &r->all->config.core;
    const struct job_dependency *asked = r->spec->after;
    const size_t n = r->spec->n_after;
    r->spec->after = ARENA_ARRAY(r->arena, JOB_AFTER_MAX, struct job_dependency);
    r->spec->n_after = 0;
    for (size_t i = 0; i < n; i++) {
        struct name_search found = { .spec = r->spec, .like = asked[i] };
        const size_t from = r->spec->n_after;
        if (job_after_every(&asked[i])) {
            core->unended(core->arg, r->owner,
                          asked[i].job_name ? asked[i].job_name : r->spec->name, take_found,
                          &found);
            qsort(r->spec->after + from, r->spec->n_after - from, sizeof *r->spec->after,
                  by_number);
        } else if (from < JOB_AFTER_MAX) {
            r->spec->after[r->spec->n_after++] = asked[i];
        } else {
            found.too_many = true;
        }
        if (found.too_many)
            add(r, i, DEPEND_TOO_MANY);
    }
}

const struct depend_problem *depend_resolve(const struct dependencies *all, struct arena *arena,
                                            const char *owner, struct job_spec *spec)
{
    struct resolution r = { .all = all, .arena = arena, .owner = owner, .spec = spec };
    r.last = &r.first;
    for (size_t i = 0; i < spec->n_after; i++) {
        if (job_after_every(&spec->after[i]))
            continue;
        r.scratch = arena_create();
        resolve(&r, i);
        arena_destroy(r.scratch);
    }
    find_every(&r);
    return r.first;
}
