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

bool start_idle(const struct pass *pass, size_t i)
{
    const struct sched_job *job = job_at(pass, i);
    if (job->spec->capacity != CAPACITY_ANY)
        return job->spec->capacity == CAPACITY_IDLE;
    const struct vector demand = vector_of_job(job->spec);
    enum quota_answer answer = quota_ask(pass->quota, job->queue, job->user, &demand).answer;
    return answer == QUOTA_MOST || answer == QUOTA_USER;
}

static bool is_lower(const struct sched_job *job, const struct sched_running *r)
{
    return r->queue == job->queue && r->held.spec->preemptible &&
           r->held.spec->priority < job->spec->priority;
}

/* In which way may the job take from it? EVICT_CLASSES: in none. What is taken in the claim of
 * queues leaves their books at once, so that all candidates together are within it. */
static enum evict_class class_of(struct pass *pass, const struct sched_job *job,
                                 const struct sched_running *r)
{
    const struct quota_claim lender = { .queue = r->queue, .demand = r->demand };
    const struct quota_claim claimant = { .queue = job->queue, .demand = vector_of_job(job->spec) };
    if (r->idle)
        return EVICT_IDLE;
    if (quota_may_reclaim(pass->quota, &claimant, &lender)) {
        quota_refund(pass->quota, r->queue, r->user, &r->demand);
        return EVICT_BORROWED;
    }
    return is_lower(job, r) ? EVICT_LOWER : EVICT_CLASSES;
}

struct offer { /* a running job and what it is offered as */
    const struct sched_running *running;
    size_t at;
};

static int youngest_first(const void *a, const void *b)
{
    const struct sched_running *x = ((const struct offer *)a)->running;
    const struct sched_running *y = ((const struct offer *)b)->running;
    if (x->started_ms != y->started_ms)
        return x->started_ms > y->started_ms ? -1 : 1;
    return x->id > y->id ? -1 : x->id < y->id;
}

static struct offer *all_by_age(struct pass *pass, size_t *n)
{
    const struct sched_snapshot *s = pass->snapshot;
    struct offer *offers = ARENA_ARRAY(pass->arena, s->n_running, struct offer);
    *n = 0;
    for (size_t i = 0; i < s->n_running; i++)
        if (!s->running[i].leaving && !pass->leaving[i])
            offers[(*n)++] = (struct offer){ .running = &s->running[i], .at = i };
    if (*n)
        qsort(offers, *n, sizeof *offers, youngest_first);
    return offers;
}

/* Youngest first, so that of what a queue borrowed the latest is offered. *offers is shortened to
 * the candidates. */
static struct evict_candidate *candidates_of(struct pass *pass, const struct sched_job *job,
                                             struct offer *offers, size_t *n)
{
    struct evict_candidate *out = ARENA_ARRAY(pass->arena, *n, struct evict_candidate);
    size_t kept = 0;
    for (size_t k = 0; k < *n; k++) {
        const struct sched_running *r = offers[k].running;
        enum evict_class class = class_of(pass, job, r);
        if (class == EVICT_CLASSES)
            continue;
        offers[kept] = offers[k];
        out[kept++] = (struct evict_candidate){ .job = r->id,
                                                .held = r->held,
                                                .class = class,
                                                .priority = r->held.spec->priority,
                                                .started_ms = r->started_ms,
                                                .saved_ms = r->saved_ms };
    }
    for (size_t k = 0; k < kept; k++) { /* back into the books */
        const struct sched_running *r = offers[k].running;
        if (out[k].class == EVICT_BORROWED)
            quota_charge(pass->quota, r->queue, r->user, &r->demand);
    }
    *n = kept;
    return out;
}

static void end_for(struct pass *pass, const struct offer *offer, uint64_t by)
{
    const struct sched_running *r = offer->running;
    uint64_t gone = pass->now_ms + r->held.spec->limits.grace_ms + 1;
    pass->leaving[offer->at] = true;
    future_end(pass->future, r->id, gone);
    *pass_later(pass) =
        (struct plan_entry){ .kind = PLAN_EVICT, .job = r->id, .by = by, .at_ms = gone };
}

static bool starts_soon(struct pass *pass, const struct sched_job *job, uint64_t id)
{
    const struct future_ask ask = { .job = id,
                                    .spec = job->spec,
                                    .lasts_ms = pass_lasts(pass, job->spec) };
    struct promise promise;
    return future_earliest(pass->future, &ask, &promise) &&
           promise.at_ms <= pass->now_ms + WORTH_WAITING;
}

bool claim_room(struct pass *pass, size_t i, uint64_t id)
{
    const struct sched_job *job = job_at(pass, i);
    size_t n;
    if (start_idle(pass, i) || pass->evictions >= CLAIMS_MAX)
        return false;
    struct offer *offers = all_by_age(pass, &n);
    struct evict_candidate *candidates = candidates_of(pass, job, offers, &n);
    if (n == 0 || starts_soon(pass, job, id))
        return false;
    const struct evict_ask ask = { .cluster = pass->cluster,
                                   .spec = job->spec,
                                   .candidates = candidates,
                                   .n = n,
                                   .now_ms = pass->now_ms };
    struct evict_choice choice;
    pass->evictions++;
    if (!evict_choose(&ask, pass->arena, &choice))
        return false;
    for (size_t k = 0; k < choice.n; k++)
        end_for(pass, &offers[choice.victims[k] - candidates], id);
    return true;
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
            uint32_t node = held_node(&r->held, pass->cluster, k);
            if (node != UINT32_MAX && cluster_form(pass->cluster, node)->spec.price_milli > price)
                price = cluster_form(pass->cluster, node)->spec.price_milli;
        }
        if (price > bid)
            end_for(pass, &(struct offer){ .running = r, .at = i }, 0);
    }
}
