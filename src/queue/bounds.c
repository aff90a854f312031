/* Checks a job, with all tasks it may ever have, against the bounds of its queue and those above
 * it. What can never start is refused here, with both numbers. */
#include "queue/queues.h"

#include <string.h>

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
static int over_most(const struct queues *q, const struct queue_spec *own,
                     const struct vector *asked, struct report *report)
{
    size_t n;
    char wanted[64], most[64];
    const struct queue_spec *all = queues_specs(q, &n), *queue = own;
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

int queues_check_job(const struct queues *q, const struct job_spec *job, struct report *report)
{
    size_t n;
    const struct queue_spec *queue = &queues_specs(q, &n)[queues_position(q, job->queue)];
    const struct vector asked = vector_of_job(job);
    if (over_user(queue, job, &asked, report))
        return -1;
    return over_most(q, queue, &asked, report);
}
