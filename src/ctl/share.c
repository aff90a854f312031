#include "ctl/share.h"

#include "base/mem.h"
#include "base/scan.h"
#include "ctl/core.h"
#include "ctl/resolve.h"

#include <stdio.h>
#include <string.h>

/* Of a queue that has a most for each user. */
static const struct entry *quota_of(const struct catalogue *c, const char *queue)
{
    const struct entry *quota = resolve_queue(c, queue);
    return quota && (quota->user_cpu_milli || quota->user_gpu_milli) ? quota : NULL;
}

static void add(struct share *to, const struct job_spec *job)
{
    for (size_t i = 0; i < job->n_roles; i++) {
        const struct role *role = &job->roles[i];
        to->cpu_milli += role->replicas * role->resources.cpu_milli;
        to->gpu_milli += role->replicas * role->resources.gpu_milli;
    }
}

static bool over(uint64_t most, uint64_t wanted)
{
    return most && wanted > most;
}

/* "8 cores and 2 GPUs" */
static const char *amounts(char *out, size_t size, uint64_t cpu_milli, uint64_t gpu_milli)
{
    char cpu[FMT_MAX], gpu[FMT_MAX];
    int n = 0;
    if (cpu_milli)
        n = snprintf(out, size, "%s cores", fmt_milli(cpu, cpu_milli));
    if (gpu_milli && n >= 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, "%s%s GPUs", n ? " and " : "",
                 fmt_milli(gpu, gpu_milli));
    return out;
}

int share_check(const struct catalogue *c, const struct job_spec *job, struct report *report)
{
    const struct entry *quota = quota_of(c, job->queue);
    struct share own = { .owner = NULL };
    char asked[80] = "nothing", most[80] = "";
    add(&own, job);
    if (!quota || (!over(quota->user_cpu_milli, own.cpu_milli) &&
                   !over(quota->user_gpu_milli, own.gpu_milli)))
        return 0;
    struct problem *p = report_error(
        report, (struct place){ 0 }, "queue", "asks for %s, and a user has at most %s of \"%.80s\"",
        amounts(asked, sizeof asked, own.cpu_milli, own.gpu_milli),
        amounts(most, sizeof most, quota->user_cpu_milli, quota->user_gpu_milli), quota->name);
    report_hint(report, p,
                "--queue default; or declare \"%.80s\" anew with another user_cpu and user_gpu",
                quota->name);
    return -1;
}

static bool holds(const struct live_job *job)
{
    for (uint32_t flat = 0; job->tasks && flat < job->row.tasks; flat++)
        if (job->tasks[flat].taken)
            return true;
    return false;
}

static struct share *share_of(struct ctl *ctl, struct shares *all, const struct live_job *job)
{
    size_t cursor = 0;
    struct live_job *other;
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->at[i].owner, job->row.owner) == 0 &&
            strcmp(all->at[i].queue, job->row.queue) == 0)
            return &all->at[i];
    if (all->n == all->cap) {
        struct share *wider = ARENA_ARRAY(all->arena, 2 * all->cap + 8, struct share);
        if (all->n)
            memcpy(wider, all->at, all->n * sizeof *wider);
        all->at = wider;
        all->cap = 2 * all->cap + 8;
    }
    struct share *share = &all->at[all->n++];
    *share = (struct share){ .owner = job->row.owner, .queue = job->row.queue };
    while (live_next(ctl->live, &cursor, &other))
        if (holds(other) && strcmp(other->row.owner, share->owner) == 0 &&
            strcmp(other->row.queue, share->queue) == 0 && core_spec(ctl, other))
            add(share, other->spec);
    return share;
}

bool share_ask(struct ctl *ctl, struct shares *all, struct live_job *job, char *text, size_t size)
{
    const struct entry *quota = quota_of(ctl->catalogue, job->row.queue);
    if (!quota)
        return true;
    struct share *share = share_of(ctl, all, job), with = *share;
    char most[80] = "", held[80] = "none";
    add(&with, job->spec);
    if (over(quota->user_cpu_milli, with.cpu_milli) ||
        over(quota->user_gpu_milli, with.gpu_milli)) {
        snprintf(text, size,
                 "waits for jobs of %.60s: a user has at most %s of \"%.60s\", %s are taken",
                 job->row.owner,
                 amounts(most, sizeof most, quota->user_cpu_milli, quota->user_gpu_milli),
                 quota->name, amounts(held, sizeof held, share->cpu_milli, share->gpu_milli));
        return false;
    }
    *share = with;
    return true;
}
