/* Keeps the answers that explain gave in a simulation and compares each with when the job started.
 * It knows the jobs that started, so it can say whether those named as ahead were. */
#include "sim/explain_check.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

struct answer {
    struct answer *other; /* an older one of the job */
    uint64_t at_ms;
    struct start_estimate told;
    uint64_t *ahead; /* sorted */
    size_t since;    /* of the starts */
    struct explain_check_changes changes;
    bool first;
};
struct start {
    uint64_t job, at_ms;
};
struct explain_check {
    struct map *answers; /* by job */
    VEC(struct start) starts;
    VEC(double) by_limit, best;
    struct explain_check_figures figures;
    struct explain_check_failure wrong;
};

struct explain_check *explain_check_create(void)
{
    struct explain_check *e = mem_new(sizeof *e);
    e->answers = map_create();
    return e;
}

static void drop(void *at)
{
    struct answer *a = at;
    while (a) {
        struct answer *next = a->other;
        free(a->ahead);
        free(a);
        a = next;
    }
}

void explain_check_destroy(struct explain_check *e)
{
    if (!e)
        return;
    map_destroy_with(e->answers, drop);
    vec_fini(&e->starts);
    vec_fini(&e->by_limit);
    vec_fini(&e->best);
    free(e);
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void explain_check_ask(struct explain_check *e, const struct start_estimate *told, uint64_t now_ms,
                       const struct explain_check_changes *changes, bool first)
{
    struct answer *a = mem_new(sizeof *a);
    *a = (struct answer){ .other = map_remove(e->answers, told->job),
                          .at_ms = now_ms,
                          .told = *told,
                          .since = e->starts.n,
                          .changes = *changes,
                          .first = first };
    a->ahead = mem_new((told->n_ahead + 1) * sizeof *a->ahead);
    if (told->n_ahead)
        memcpy(a->ahead, told->ahead, told->n_ahead * sizeof *a->ahead);
    qsort(a->ahead, told->n_ahead, sizeof *a->ahead, by_number);
    map_set(e->answers, told->job, a);
    e->figures.asked++;
}

/* ---- what came of it ---- */

static void not_so(struct explain_check *e, const struct answer *a, uint64_t now_ms, bool of_set)
{
    if (e->wrong.job)
        return;
    e->wrong = (struct explain_check_failure){ .job = a->told.job,
                                               .asked_ms = a->at_ms,
                                               .told_ms = of_set ? a->told.limit_ms
                                                                 : a->told.not_before_ms,
                                               .started_ms = now_ms,
                                               .of_set = of_set };
}

static void check_bound(struct explain_check *e, const struct answer *a, uint64_t now_ms,
                        const struct explain_check_changes *c)
{
    if (!a->told.not_before_ms)
        return;
    e->figures.bounds++;
    if (now_ms >= a->told.not_before_ms || c->early != a->changes.early ||
        c->nodes_came != a->changes.nodes_came)
        return;
    e->figures.beaten++;
    not_so(e, a, now_ms, false);
}

/* Those that started meanwhile, and before. */
static bool is_set(const struct explain_check *e, const struct answer *a, uint64_t now_ms)
{
    VEC(uint64_t) real = { 0 };
    for (size_t i = a->since; i < e->starts.n; i++)
        if (e->starts.at[i].at_ms < now_ms)
            vec_push(&real, e->starts.at[i].job);
    if (real.n)
        qsort(real.at, real.n, sizeof *real.at, by_number);
    bool same = real.n == a->told.n_ahead &&
                (real.n == 0 || memcmp(real.at, a->ahead, real.n * sizeof *real.at) == 0);
    vec_fini(&real);
    return same;
}

static void check_set(struct explain_check *e, const struct answer *a, uint64_t now_ms,
                      const struct explain_check_changes *c)
{
    if (!a->told.ahead_known)
        return;
    e->figures.sets++;
    if (is_set(e, a, now_ms))
        return;
    if (memcmp(c, &a->changes, sizeof *c) != 0) {
        e->figures.excused++;
        return;
    }
    e->figures.wrong++;
    not_so(e, a, now_ms, true);
}

static double error_of(uint64_t told_ms, uint64_t started_ms, uint64_t span_ms)
{
    uint64_t off = told_ms > started_ms ? told_ms - started_ms : started_ms - told_ms;
    return (double)off / (double)(span_ms ? span_ms : 1);
}

/* What nobody knows is taken for now, or for what it cannot start before. */
static void count_errors(struct explain_check *e, const struct answer *a, uint64_t now_ms,
                         uint64_t run_ms)
{
    const struct start_estimate *t = &a->told;
    uint64_t least = t->not_before_ms ? t->not_before_ms : a->at_ms;
    uint64_t by_limit = t->limit_ms ? t->limit_ms : least;
    uint64_t best = t->learnt_ms ? t->learnt_ms : by_limit;
    uint64_t span = now_ms - a->at_ms + run_ms;
    if (!a->first)
        return;
    e->figures.estimates++;
    e->figures.learnt += t->learnt_ms > 0;
    vec_push(&e->by_limit, error_of(by_limit, now_ms, span));
    vec_push(&e->best, error_of(best, now_ms, span));
}

void explain_check_start(struct explain_check *e, uint64_t job, uint64_t now_ms, uint64_t run_ms,
                         const struct explain_check_changes *changes)
{
    struct answer *answers = map_remove(e->answers, job);
    for (const struct answer *a = answers; a; a = a->other) {
        check_bound(e, a, now_ms, changes);
        check_set(e, a, now_ms, changes);
        count_errors(e, a, now_ms, run_ms);
    }
    drop(answers);
    vec_push(&e->starts, ((struct start){ .job = job, .at_ms = now_ms }));
}

/* ---- figures ---- */

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double percentile(const double *at, size_t n, unsigned p)
{
    size_t rank = (n * p + 99) / 100;
    return n ? at[rank ? rank - 1 : 0] : 0;
}

struct explain_check_figures explain_check_figures(struct explain_check *e)
{
    struct explain_check_figures *f = &e->figures;
    if (f->estimates) {
        qsort(e->by_limit.at, e->by_limit.n, sizeof *e->by_limit.at, by_size);
        qsort(e->best.at, e->best.n, sizeof *e->best.at, by_size);
    }
    f->limit_p50 = percentile(e->by_limit.at, e->by_limit.n, 50);
    f->limit_p90 = percentile(e->by_limit.at, e->by_limit.n, 90);
    f->best_p50 = percentile(e->best.at, e->best.n, 50);
    f->best_p90 = percentile(e->best.at, e->best.n, 90);
    return *f;
}

const struct explain_check_failure *explain_check_wrong(const struct explain_check *e)
{
    return e->wrong.job ? &e->wrong : NULL;
}
