#include "ctl/share.h"

#include "base/mem.h"
#include "base/scan.h"
#include "ctl/core.h"

#include <stdio.h>
#include <string.h>

static const struct queue_spec *queue_of(const struct ctl *ctl, const char *queue)
{
    size_t n;
    return &queues_specs(ctl, &n)[queues_position(ctl, queue)];
}

static void add(struct share *to, const struct job_spec *job)
{
    const struct vector all = vector_of_job(job);
    to->cpu_milli += all.cpu_milli;
    to->gpu_milli += all.gpu_milli;
}

/* "8 cores and 2 GPUs": what is bounded, or of what is asked, what is not nothing. */
static const char *amounts(char *out, size_t size, uint64_t cpu_milli, uint64_t gpu_milli)
{
    char cpu[FMT_MAX], gpu[FMT_MAX];
    int n = 0;
    if (cpu_milli && cpu_milli != UINT64_MAX)
        n = snprintf(out, size, "%s cores", fmt_milli(cpu, cpu_milli));
    if (gpu_milli && gpu_milli != UINT64_MAX && n >= 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, "%s%s GPUs", n ? " and " : "",
                 fmt_milli(gpu, gpu_milli));
    return out;
}

static int over_user(const struct queue_spec *queue, const struct job_spec *job,
                     const struct vector *asked, struct report *report)
{
    char wanted[64], most[64];
    const char *over = vector_over(asked, &queue->user_most);
    if (!over)
        return 0;
    int r = queue_resource(over);
    struct problem *p = report_error(
        report, (struct place){ 0 }, "queue", "asks for %s, and a user has at most %s of \"%.80s\"",
        queue_amount(wanted, r, queue_amount_of(asked, r)),
        queue_amount(most, r, queue_amount_of(&queue->user_most, r)), queue->name);
    report_hint(report, p, "%sor declare \"%.80s\" anew with more for a user (user_cpu, user_gpu)",
                job->queue && strcmp(queue->name, "default") != 0 ? "--queue default; " : "",
                queue->name);
    return -1;
}

/* No nodes and no patience would help. */
static int over_most(const struct ctl *ctl, const struct queue_spec *own,
                     const struct vector *asked, struct report *report)
{
    size_t n;
    char wanted[64], most[64];
    const struct queue_spec *all = queues_specs(ctl, &n), *queue = own;
    for (;; queue = &all[queue->parent]) {
        const char *over = vector_over(asked, &queue->most);
        if (over) {
            int r = queue_resource(over);
            struct problem *p = report_error(
                report, (struct place){ 0 }, "queue",
                "asks for %s and can never start in \"%.80s\": the maximum of %s%.80s%s is %s",
                queue_amount(wanted, r, queue_amount_of(asked, r)), own->name,
                queue == own ? "" : "\"", queue == own ? "this queue" : queue->name,
                queue == own ? "" : "\"", queue_amount(most, r, queue_amount_of(&queue->most, r)));
            report_hint(report, p, "another --queue, fewer tasks, or a larger maximum");
            return -1;
        }
        if (queue->parent == QUEUE_ROOT)
            return 0;
    }
}

int share_check(const struct ctl *ctl, const struct job_spec *job, struct report *report)
{
    const struct queue_spec *queue = queue_of(ctl, job->queue);
    const struct vector asked = vector_of_job(job);
    if (over_user(queue, job, &asked, report))
        return -1;
    return over_most(ctl, queue, &asked, report);
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
    const struct queue_spec *queue = queue_of(ctl, job->row.queue);
    const struct vector *most_of = &queue->user_most;
    if (most_of->cpu_milli == UINT64_MAX && most_of->gpu_milli == UINT64_MAX)
        return true;
    struct share *share = share_of(ctl, all, job), with = *share;
    char most[80] = "", held[80] = "none";
    add(&with, job->spec);
    if (with.cpu_milli > most_of->cpu_milli || with.gpu_milli > most_of->gpu_milli) {
        snprintf(text, size,
                 "waits for jobs of %.60s: a user has at most %s of \"%.60s\", %s are taken",
                 job->row.owner, amounts(most, sizeof most, most_of->cpu_milli, most_of->gpu_milli),
                 queue->name, amounts(held, sizeof held, share->cpu_milli, share->gpu_milli));
        return false;
    }
    *share = with;
    return true;
}
