/* Slices are given anew by the tick alone: whatever else makes turns meanwhile finds what is left
 * of them, and the tick that a job asks for is a turn of the loop of its own. */
#include "ctl/slices.h"

#include "ctl/core.h"

uint32_t slices_size(const struct ctl *ctl)
{
    return ctl->config.slice ? ctl->config.slice : SLICE_TASKS;
}

static bool begin_for_plans(struct ctl *ctl)
{
    struct slices *s = &ctl->slices;
    s->plans = s->plan_waits;
    s->plan_waits = false;
    if (!s->plans)
        return false;
    s->rows = s->launches = s->hosts = s->deleted = 0;
    core_wake(ctl, core_now(ctl));
    return true;
}

bool slices_put_off_plan(struct ctl *ctl)
{
    struct slices *s = &ctl->slices;
    if (s->plans || s->rows > slices_size(ctl) / 2)
        return false;
    s->plan_waits = true;
    return true;
}

void slices_begin(struct ctl *ctl)
{
    struct slices *s = &ctl->slices;
    if (begin_for_plans(ctl))
        return;
    s->rows = s->launches = slices_size(ctl);
    s->hosts = SLICE_HOSTS * slices_size(ctl);
    s->deleted = SLICE_DELETED * slices_size(ctl);
    for (size_t i = 0; i < s->later.n; i++) {
        struct live_job *job = live_find(ctl->live, s->later.at[i]);
        if (!job)
            continue;
        job->later = false;
        core_touch(ctl, job);
    }
    vec_clear(&s->later);
}

void slices_spend(uint32_t *slice, uint32_t n)
{
    *slice -= n < *slice ? n : *slice;
}

void slices_later(struct ctl *ctl, struct live_job *job)
{
    if (!job->later)
        vec_push(&ctl->slices.later, job->row.id);
    job->later = true;
    core_wake(ctl, core_now(ctl));
}
