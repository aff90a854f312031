/* The variant stands in the snapshot as a job that has no turn. Before each turn of another one it
 * is asked whether its own would have come; then it is seated and unseated again. */
#include "sched/probe.h"

#include "sched/nodes.h"
#include "sched/pass.h"

#include <string.h>

struct probe_pass {
    struct pass pass;
    struct sched_snapshot snapshot;
    struct sched_job *jobs; /* of it; the last is the variant in question, and has no turn */
    size_t at;              /* its position */
    uint32_t *tries;
};
struct open_probe { /* a probe that has not had its answer */
    struct probe *probe;
    const struct job_spec *first, *last;
    uint32_t low; /* starts */
    bool over;
};

static void become(struct probe_pass *a, const struct probe *p, const struct job_spec *spec)
{
    a->jobs[a->at] = p->as;
    a->jobs[a->at].spec = spec;
    a->jobs[a->at].blocked_after = true; /* no turn of its own */
    order_renew(a->pass.order, a->at);
}

static bool turn_is_before(struct probe_pass *a, const struct probe *p, const struct job_spec *spec,
                           const struct rank *next)
{
    if (!next)
        return true;
    become(a, p, spec);
    const struct rank own = order_rank(a->pass.order, a->at, p->as.id);
    return rank_before(&own, next);
}

/* What a turn decides, and everything as before. */
static bool starts(struct probe_pass *a, struct probe *p, const struct job_spec *spec)
{
    struct pass *pass = &a->pass;
    struct placed_job seated;
    if (*a->tries == 0)
        return false;
    (*a->tries)--;
    become(a, p, spec);
    if (pass->blocked >= pass->depth || order_closed(pass->order, a->at) ||
        start_over(pass, a->at, p->as.id))
        return false;
    uint32_t steps = pass->steps, squeezes = pass->squeezes;
    bool found = !start_seat(pass, spec, p->as.id, &seated);
    pass->steps = steps;
    pass->squeezes = squeezes;
    if (!found)
        return false;
    held_places_give(pass->cluster, &seated.release.held);
    p->spec = spec;
    p->places = seated.places;
    p->n_places = seated.n_places;
    return true;
}

/* The last variant whose turn comes before the next one's. */
static uint32_t last_due(struct probe_pass *a, const struct open_probe *o, const struct rank *next)
{
    struct probe *p = o->probe;
    uint32_t low = o->low, high = p->n;
    if (o->last && turn_is_before(a, p, o->last, next))
        return high;
    while (low + 1 < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct job_spec *spec = p->make(p->arg, mid);
        if (spec && turn_is_before(a, p, spec, next))
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* Between low, which starts, and last. */
static void search(struct probe_pass *a, struct open_probe *o, uint32_t last)
{
    struct probe *p = o->probe;
    uint32_t low = o->low, high = last + 1;
    if (last > low && o->last && last == p->n && starts(a, p, o->last))
        low = last;
    while (low + 1 < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct job_spec *spec = p->make(p->arg, mid);
        if (spec && starts(a, p, spec))
            low = mid;
        else
            high = mid;
    }
    o->low = p->best = low;
    o->over = low < last || last == p->n; /* what comes later has less room */
}

static void look(struct probe_pass *a, struct open_probe *o, const struct rank *next)
{
    if (o->over || !turn_is_before(a, o->probe, o->first, next))
        return;
    uint32_t last = last_due(a, o, next);
    if (last > o->low)
        search(a, o, last);
}

static bool all_over(const struct open_probe *open, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!open[k].over)
            return false;
    return true;
}

static void prepare(struct probe_pass *a, const struct sched_snapshot *s, struct arena *arena)
{
    a->snapshot = *s;
    a->at = s->n_jobs;
    a->jobs = ARENA_ARRAY(arena, s->n_jobs + 1, struct sched_job);
    if (s->n_jobs)
        memcpy(a->jobs, s->jobs, s->n_jobs * sizeof *a->jobs);
    a->jobs[a->at].blocked_after = true;
    a->snapshot.jobs = a->jobs;
    a->snapshot.n_jobs = s->n_jobs + 1;
}

void sched_probe(const struct sched_snapshot *s, uint64_t now_ms, struct arena *arena,
                 struct probe *probes, size_t n, uint32_t *tries)
{
    struct probe_pass a = { .tries = tries };
    struct open_probe *open = ARENA_ARRAY(arena, n, struct open_probe);
    struct rank rank;
    size_t i;
    prepare(&a, s, arena);
    for (size_t k = 0; k < n; k++) {
        struct probe *p = &probes[k];
        p->best = 0;
        open[k] = (struct open_probe){ .probe = p };
        open[k].first = p->n ? p->make(p->arg, 1) : NULL;
        open[k].last = p->n > 1 ? p->make(p->arg, p->n) : open[k].first;
        open[k].over = !open[k].first;
    }
    if (n == 0)
        return;
    pass_open(&a.pass, &a.snapshot, now_ms, arena);
    while (!all_over(open, n) && pass_next(&a.pass, &i, &rank)) {
        for (size_t k = 0; k < n; k++)
            look(&a, &open[k], &rank);
        pass_turn(&a.pass, i, &rank);
    }
    for (size_t k = 0; k < n; k++)
        look(&a, &open[k], NULL);
    pass_close(&a.pass);
}
