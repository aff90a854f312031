/* Adds up what a job's placed tasks hold, role by role. What is charged before and after, and what
 * a user's usage comes to, is queue/'s to know. */
#include "ctl/charges.h"

#include "ctl/core.h"

static struct queue_charge hold_of(const struct live_job *job, bool nothing)
{
    struct queue_charge hold = { .job = job->row.id,
                                 .queue = job->row.queue,
                                 .owner = job->row.owner };
    for (size_t i = 0; !nothing && job->tasks && job->spec && i < job->spec->n_roles; i++) {
        struct vector of_role = vector_of_role(&job->spec->roles[i], job->taken[i]);
        vector_add(&hold.held, &of_role);
    }
    return hold;
}

void charges_record(struct ctl *ctl)
{
    if (ctl->touched.n == 0)
        return;
    for (size_t i = 0; i < ctl->touched.n; i++) {
        const struct live_job *job = live_find(ctl->live, ctl->touched.at[i]);
        if (!job)
            continue;
        const struct queue_charge hold = hold_of(job, false);
        queues_charge(ctl->queues, &hold, core_now(ctl));
    }
    queues_record(ctl->queues);
}

void charges_release(struct ctl *ctl, const struct live_job *job)
{
    const struct queue_charge none = hold_of(job, true);
    queues_charge(ctl->queues, &none, core_now(ctl));
}

void charges_resume(struct ctl *ctl, const struct live_job *job)
{
    const struct queue_charge hold = hold_of(job, false);
    queues_resume(ctl->queues, &hold, core_now(ctl));
}

uint32_t charges_user(struct ctl *ctl, uint32_t queue, const char *owner)
{
    return queues_user(ctl->queues, queue, owner, core_now(ctl));
}

void charges_locate(struct ctl *ctl, struct live_job *job)
{
    if (job->located == queues_version(ctl->queues))
        return;
    job->located = queues_version(ctl->queues);
    job->queue_at = queues_position(ctl->queues, job->row.queue);
    job->user_at = charges_user(ctl, job->queue_at, job->row.owner);
}
