/* Room that is made by ending others: whom a job may take from, and who goes.
 *
 * It may take from jobs on idle capacity; from those that hold what its own queue is sure of and
 * theirs is not; and, in its own queue, from preemptible ones of lower priority. None of these can
 * take it back: what was ended comes back with less right than the claimant has, so there is no
 * loop. The claim stays with the job until it starts. */
#include "sched/evict.h"
#include "sched/nodes.h"
#include "sched/pass.h"

#include <stdlib.h>

#define CLAIMS_MAX    8u     /* jobs of a pass for which others are ended */
#define WORTH_WAITING 30000u /* ms: who starts that soon anyway ends nobody */

struct claim { /* whose it is */
    const struct sched_job *job;
    struct quota_claim claimant;
};

static bool is_lower(const struct sched_job *job, const struct sched_running *r)
{
    return r->queue == job->queue && r->preemptible && r->priority < job->spec->priority;
}

/* In which way may the job take from it? EVICT_CLASSES: in none. What is taken in the claim of
 * queues leaves their books at once, so that all candidates together are within it. */
static enum evict_class class_of(struct pass *pass, const struct claim *claim,
                                 const struct sched_running *r)
{
    const struct quota_claim lender = { .queue = r->queue, .demand = r->demand };
    if (r->idle)
        return EVICT_IDLE;
    if (quota_may_reclaim(pass->quota, &claim->claimant, &lender)) {
        quota_refund(pass->quota, r->queue, r->user, &r->demand);
        return EVICT_BORROWED;
    }
    return is_lower(claim->job, r) ? EVICT_LOWER : EVICT_CLASSES;
}

static uint64_t gone_by(const struct pass *pass, const struct sched_running *r)
{
    return pass->now_ms + r->held.spec->limits.grace_ms + 1;
}

struct running_candidate { /* a running job and what it is offered as */
    const struct sched_running *running;
    size_t at;
};

struct running_candidates {
    struct running_candidate *at;
    struct evict_candidate *candidates; /* the same */
    size_t n;
    bool *victims; /* per running job */
    uint64_t anyway_ms;
};

static int youngest_first(const void *a, const void *b)
{
    const struct sched_running *x = ((const struct running_candidate *)a)->running;
    const struct sched_running *y = ((const struct running_candidate *)b)->running;
    if (x->started_ms != y->started_ms)
        return x->started_ms > y->started_ms ? -1 : 1;
    return x->id > y->id ? -1 : x->id < y->id;
}

/* What runs in a queue, as far as it tells that a claim is in vain. */
struct running_summary {
    bool some;
    struct vector least; /* no job there holds less of any amount */
    uint32_t priority;   /* the lowest of those that are preemptible; UINT32_MAX: there is none */
};
/* Made when the first in the pass looks. */
struct running {
    struct running_candidate *at;
    size_t n;
    bool sorted;                     /* youngest first */
    struct running_summary *lenders; /* per queue, and one for those of no queue */
    bool idle;                       /* one runs on idle capacity */
};

static struct running_summary *lender_of(const struct pass *pass, struct running *all,
                                         uint32_t queue)
{
    size_t n = pass->snapshot->n_queues;
    return &all->lenders[queue < n ? queue : n];
}

static void count_in(struct running_summary *l, const struct sched_running *r)
{
    if (!l->some)
        *l = (struct running_summary){ .some = true, .least = r->demand, .priority = UINT32_MAX };
    vector_least(&l->least, &r->demand);
    if (r->preemptible && r->priority < l->priority)
        l->priority = r->priority;
}

static struct running *all_that_runs(struct pass *pass)
{
    const struct sched_snapshot *s = pass->snapshot;
    struct running *all = ARENA_NEW(pass->arena, struct running);
    all->at = ARENA_ARRAY(pass->arena, s->n_running, struct running_candidate);
    all->lenders = ARENA_ARRAY(pass->arena, s->n_queues + 1, struct running_summary);
    for (size_t i = 0; i < s->n_running; i++) {
        const struct sched_running *r = &s->running[i];
        if (r->leaving)
            continue;
        all->at[all->n++] = (struct running_candidate){ .running = r, .at = i };
        all->idle = all->idle || r->idle;
        if (!r->idle)
            count_in(lender_of(pass, all, r->queue), r);
    }
    return all;
}

/* false: nobody that runs is a candidate. Most claims end here, and must not cost a look at all
 * that runs. A queue that covers the least of its jobs covers each of them, and goes on to when
 * others were taken off the books. */
static bool may_find(struct pass *pass, const struct claim *claim)
{
    const struct sched_job *job = claim->job;
    struct running *all = pass->running;
    bool found = all->idle || lender_of(pass, all, job->queue)->priority < job->spec->priority;
    for (uint32_t i = 0; i <= pass->snapshot->n_queues && !found; i++) {
        const struct quota_claim lender = { .queue = i, .demand = all->lenders[i].least };
        found = all->lenders[i].some && quota_may_reclaim(pass->quota, &claim->claimant, &lender);
    }
    return found;
}

/* It reaches its limit before it would be gone. Specs lie anywhere: only candidates are asked. */
static bool ends_anyway(const struct pass *pass, const struct sched_running *r)
{
    return r->ends_ms && r->ends_ms <= gone_by(pass, r);
}

/* Youngest first, so that of what a queue borrowed the latest is offered. */
static void find_candidates(struct pass *pass, const struct claim *claim,
                            struct running_candidates *out)
{
    struct running *all = pass->running;
    if (!all->sorted && all->n)
        qsort(all->at, all->n, sizeof *all->at, youngest_first);
    all->sorted = true;
    out->at = ARENA_ARRAY(pass->arena, all->n, struct running_candidate);
    out->candidates = ARENA_ARRAY(pass->arena, all->n, struct evict_candidate);
    for (size_t k = 0; k < all->n; k++) {
        const struct sched_running *r = all->at[k].running;
        bool gone = pass->leaving[all->at[k].at] || ends_anyway(pass, r);
        enum evict_class class = gone ? EVICT_CLASSES : class_of(pass, claim, r);
        if (class == EVICT_CLASSES)
            continue;
        out->at[out->n] = all->at[k];
        out->candidates[out->n++] = (struct evict_candidate){ .job = r->id,
                                                              .held = r->held,
                                                              .class = class,
                                                              .priority = r->priority,
                                                              .started_ms = r->started_ms,
                                                              .saved_ms = r->saved_ms };
    }
    for (size_t k = 0; k < out->n; k++) { /* back into the books */
        const struct sched_running *r = out->at[k].running;
        if (out->candidates[k].class == EVICT_BORROWED)
            quota_charge(pass->quota, r->queue, r->user, &r->demand);
    }
}

static void end_for(struct pass *pass, const struct running_candidate *offer, uint64_t by)
{
    const struct sched_running *r = offer->running;
    uint64_t gone = gone_by(pass, r);
    pass->leaving[offer->at] = pass->leaves = true;
    future_end(pass->future, r->id, gone);
    if (gone < pass->ends[offer->at].at_ms)
        pass->ends[offer->at].at_ms = gone;
    *pass_later(pass) =
        (struct plan_entry){ .kind = PLAN_EVICT, .job = r->id, .by = by, .at_ms = gone };
}

/* When it would start with nobody ended for it. */
static uint64_t starts_anyway(struct pass *pass, const struct sched_job *job, uint64_t id)
{
    const struct future_ask ask = { .job = id,
                                    .spec = job->spec,
                                    .lasts_ms = pass_lasts(pass, job->spec) };
    struct promise promise;
    return future_earliest(pass->future, &ask, &promise) ? promise.at_ms : FUTURE_NEVER;
}

/* What the claimants so far are about to start counts, so that two do not claim the same share. */
static void count_claimants(struct pass *pass, bool in)
{
    for (size_t k = 0; k < pass->claimants.n; k++) {
        const struct sched_job *job = job_at(pass, pass->claimants.at[k]);
        const struct vector demand = vector_of_job(job->spec);
        if (in)
            quota_charge(pass->quota, job->queue, job->user, &demand);
        else
            quota_refund(pass->quota, job->queue, job->user, &demand);
    }
}

/* Room that is promised to others while the job would run does not help it. */
static struct cluster *beside_promises(struct pass *pass, const struct sched_job *job,
                                       const struct evict_candidate *candidates, size_t n)
{
    struct cluster *c = cluster_clone(pass->cluster);
    uint64_t until = pass->now_ms + 1 + pass_lasts(pass, job->spec), grace = 0;
    for (size_t k = 0; k < n; k++) {
        uint64_t one = candidates[k].held.spec->limits.grace_ms;
        grace = one > grace ? one : grace;
    }
    for (size_t k = 0; k < pass->promises.n; k++) {
        const struct promise *p = &pass->promises.at[k];
        const struct held_places held = held_places_of(p->spec, p->places, p->n_places);
        if (p->at_ms < until + grace)
            held_places_take(c, &held); /* where it is free already */
    }
    return c;
}

/* With the victims gone, does it start then, whatever else was promised in this pass, and sooner
 * than it would anyway? */
static bool helps(struct pass *pass, size_t i, uint64_t id, const struct running_candidates *offers)
{
    size_t n = pass->snapshot->n_running;
    struct arena *scratch = arena_create();
    struct future_release *ends = ARENA_ARRAY(scratch, n + pass->begun.n, struct future_release);
    uint64_t last = pass->now_ms + 1;
    for (size_t k = 0; k < n; k++) {
        ends[k] = pass->ends[k];
        uint64_t gone = gone_by(pass, &pass->snapshot->running[k]);
        if (!offers->victims[k])
            continue;
        ends[k].at_ms = gone < ends[k].at_ms ? gone : ends[k].at_ms;
        last = ends[k].at_ms > last ? ends[k].at_ms : last;
    }
    for (size_t k = 0; k < pass->begun.n; k++)
        ends[n + k] = pass->begun.at[k];
    struct future *then =
        future_create(pass->cluster, pass->now_ms, ends, n + pass->begun.n, scratch);
    bool kept = true;
    for (size_t k = 0; k < pass->promises.n && kept; k++)
        kept = future_reserve(then, &pass->promises.at[k]);
    const struct quota_request limits = start_ask(pass, i, id);
    const struct future_ask ask = { .job = id,
                                    .spec = job_at(pass, i)->spec,
                                    .lasts_ms = limits.lasts_ms };
    struct promise promise;
    kept = kept && future_earliest(then, &ask, &promise) && promise.at_ms <= last &&
           promise.at_ms < offers->anyway_ms &&
           quota_timeline_earliest(pass->quota_timeline, &limits, promise.at_ms) == promise.at_ms;
    future_destroy(then);
    arena_destroy(scratch);
    return kept;
}

static bool end_those(struct pass *pass, size_t i, uint64_t id, struct running_candidates *offers)
{
    const struct evict_candidate *candidates = offers->candidates;
    struct cluster *room = beside_promises(pass, job_at(pass, i), candidates, offers->n);
    const struct evict_ask ask = { .cluster = room,
                                   .spec = job_at(pass, i)->spec,
                                   .candidates = candidates,
                                   .n = offers->n,
                                   .now_ms = pass->now_ms };
    struct evict_choice choice;
    offers->victims = ARENA_ARRAY(pass->arena, pass->snapshot->n_running, bool);
    bool chosen = evict_choose(&ask, pass->arena, &choice);
    cluster_destroy(room);
    for (size_t k = 0; chosen && k < choice.n; k++)
        offers->victims[offers->at[choice.victims[k] - candidates].at] = true;
    if (!chosen || !helps(pass, i, id, offers))
        return false;
    for (size_t k = 0; k < choice.n; k++)
        end_for(pass, &offers->at[choice.victims[k] - candidates], id);
    return true;
}

bool claim_room(struct pass *pass, size_t i, uint64_t id)
{
    const struct sched_job *job = job_at(pass, i);
    if (start_idle(pass, i) || pass->evictions >= CLAIMS_MAX)
        return false;
    const struct claim claim = {
        .job = job, .claimant = { .queue = job->queue, .demand = vector_of_job(job->spec) }
    };
    struct running_candidates offers = { .n = 0 };
    pass->running = pass->running ? pass->running : all_that_runs(pass);
    count_claimants(pass, true);
    if (may_find(pass, &claim))
        find_candidates(pass, &claim, &offers);
    count_claimants(pass, false);
    if (offers.n == 0)
        return false;
    offers.anyway_ms = starts_anyway(pass, job, id);
    if (offers.anyway_ms <= pass->now_ms + WORTH_WAITING)
        return false;
    pass->evictions++;
    return end_those(pass, i, id, &offers);
}

void claim_prices(struct pass *pass)
{
    const struct sched_snapshot *s = pass->snapshot;
    for (size_t i = 0; i < s->n_running; i++) {
        const struct sched_running *r = &s->running[i];
        uint64_t bid = r->bid_milli, price = 0;
        if (!bid || r->leaving)
            continue;
        for (uint32_t k = 0; k < r->held.n; k++) {
            uint32_t node = held_places_node(&r->held, pass->cluster, k);
            if (node != UINT32_MAX && cluster_form(pass->cluster, node)->spec.price_milli > price)
                price = cluster_form(pass->cluster, node)->spec.price_milli;
        }
        if (price > bid)
            end_for(pass, &(struct running_candidate){ .running = r, .at = i }, 0);
    }
}
