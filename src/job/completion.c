/* Completion policy and retry: when a job is over and what follows an end. Pure decisions over
 * counts; who ended what and how it is classed comes from the job's convention. */
#include "job/completion.h"

/* ---- verdict ---- */

static uint32_t failed_limit(const struct role *role) /* 0: never decides */
{
    switch (role->done.failed.kind) {
    case COUNT_UNSET: return 1;
    case COUNT_NUMBER: return role->done.failed.n;
    default: return 0;
    }
}

static uint32_t succeeded_limit(const struct role *role) /* 0: all tasks of the job decide */
{
    return role->done.succeeded.kind == COUNT_NUMBER ? role->done.succeeded.n : 0;
}

/* Roles that only serve the others are not waited for, unless there are no others. */
static bool waited_for(const struct job_spec *job, const struct role *role)
{
    if (role->done.succeeded.kind != COUNT_NEVER)
        return true;
    for (size_t i = 0; i < job->n_roles; i++)
        if (job->roles[i].done.succeeded.kind != COUNT_NEVER)
            return false;
    return true;
}

/* The first role whose failures decide when the job is over anyway. */
static const struct role *failed_late(const struct job_spec *job, const struct role_tally *tally)
{
    for (size_t i = 0; i < job->n_roles; i++)
        if (job->roles[i].done.failed.kind == COUNT_ALWAYS && tally[i].failed > 0)
            return &job->roles[i];
    return NULL;
}

static struct verdict all_ended(const struct job_spec *job, const struct role_tally *tally)
{
    struct role_tally sum = { 0 };
    for (size_t i = 0; i < job->n_roles; i++) {
        uint32_t ended = tally[i].succeeded + tally[i].failed + tally[i].stopped;
        if (!waited_for(job, &job->roles[i]))
            continue;
        uint32_t needed = job->roles[i].replicas - job->roles[i].spares;
        bool spared = job->roles[i].spares && tally[i].succeeded >= needed;
        if (ended < job->roles[i].replicas && !spared)
            return (struct verdict){ .outcome = OUTCOME_NONE };
        sum.succeeded += tally[i].succeeded;
        sum.failed += tally[i].failed;
        sum.stopped += tally[i].stopped;
    }
    const struct role *late = failed_late(job, tally);
    if (!late)
        return (struct verdict){ OUTCOME_SUCCEEDED, .rule = VERDICT_ALL, .ended = sum };
    uint32_t role = (uint32_t)(late - job->roles);
    return (struct verdict){ OUTCOME_FAILED, .rule = VERDICT_LATE, .role = role,
                             .count = tally[role].failed, .of = late->replicas };
}

struct verdict job_verdict(const struct job_spec *job, const struct role_tally *tally)
{
    for (uint32_t i = 0; i < job->n_roles; i++) {
        uint32_t limit = failed_limit(&job->roles[i]);
        if (limit > 0 && tally[i].failed >= limit)
            return (struct verdict){ OUTCOME_FAILED, .rule = VERDICT_FAILED, .role = i,
                                     .count = tally[i].failed, .of = job->roles[i].replicas };
    }
    for (uint32_t i = 0; i < job->n_roles; i++) {
        uint32_t limit = succeeded_limit(&job->roles[i]);
        if (limit > 0 && tally[i].succeeded >= limit)
            return (struct verdict){ OUTCOME_SUCCEEDED, .rule = VERDICT_SUCCEEDED, .role = i,
                                     .count = tally[i].succeeded, .of = job->roles[i].replicas };
    }
    return all_ended(job, tally);
}

/* ---- retry ---- */

struct budget {
    struct count limit;
    uint32_t used;
};

/* Every class has a counter of its own, unless platform ends are counted: then platform and unknown
 * share one counter, each against its own limit. */
static struct budget budget_of(const struct retry *retry, const struct retry_counts *used,
                               enum end_class class)
{
    uint32_t shared = retry->platform_counted ? used->platform + used->unknown : 0;
    switch (class) {
    case END_SUCCESS: return (struct budget){ retry->success, used->success };
    case END_USER: return (struct budget){ retry->user, used->user };
    case END_CONFLICT: return (struct budget){ retry->conflict, used->conflict };
    case END_UNKNOWN:
        return (struct budget){ retry->unknown, retry->platform_counted ? shared : used->unknown };
    case END_PLATFORM:
        return (struct budget){ retry->platform,
                                retry->platform_counted ? shared : used->platform };
    default: return (struct budget){ { .kind = COUNT_NEVER }, 0 };
    }
}

static uint64_t backoff(const struct retry *retry, uint32_t times)
{
    uint64_t delay = retry->backoff_ms;
    for (uint32_t i = 0; i < times && delay < retry->backoff_max_ms; i++)
        delay *= 2;
    return delay > retry->backoff_max_ms ? retry->backoff_max_ms : delay;
}

struct retry_decision retry_decide(const struct retry *retry, const struct retry_counts *used,
                                   enum end_class class)
{
    struct budget budget = budget_of(retry, used, class);
    bool numbered = budget.limit.kind == COUNT_NUMBER;
    if (budget.limit.kind != COUNT_ALWAYS && !(numbered && budget.used < budget.limit.n))
        return (struct retry_decision){ .answer = RETRY_NO };
    uint32_t retries = used->platform + used->conflict + used->unknown + used->user + used->success;
    struct retry_decision decision = { .answer = RETRY_NOW, .next = retries + 2 };
    if (numbered)
        decision.of = decision.next + (budget.limit.n - budget.used - 1);
    if (class == END_CONFLICT) {
        decision.delay_ms = backoff(retry, used->conflict);
        decision.answer = decision.delay_ms > 0 ? RETRY_LATER : RETRY_NOW;
    }
    return decision;
}

void retry_count_one(struct retry_counts *used, enum end_class class)
{
    switch (class) {
    case END_SUCCESS: used->success++; break;
    case END_USER: used->user++; break;
    case END_UNKNOWN: used->unknown++; break;
    case END_PLATFORM: used->platform++; break;
    case END_CONFLICT: used->conflict++; break;
    default: break;
    }
}
