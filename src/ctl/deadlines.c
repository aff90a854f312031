/* When which live job is to be looked at: a heap by time. An entry says no more than "look then";
 * what is due follows from the job's state, so one that has become pointless harms nobody. */
#include "ctl/core.h"

static void swap(struct deadline *a, struct deadline *b)
{
    struct deadline kept = *a;
    *a = *b;
    *b = kept;
}

static bool before(const struct deadline *a, const struct deadline *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->job < b->job;
}

void core_deadline(struct ctl *ctl, const struct live_job *job, uint64_t at_ms)
{
    if (at_ms == 0)
        return;
    vec_push(&ctl->deadlines, ((struct deadline){ .at_ms = at_ms, .job = job->row.id }));
    struct deadline *heap = ctl->deadlines.at;
    for (size_t i = ctl->deadlines.n - 1; i > 0 && before(&heap[i], &heap[(i - 1) / 2]);
         i = (i - 1) / 2)
        swap(&heap[i], &heap[(i - 1) / 2]);
    core_wake(ctl, at_ms);
}

uint64_t deadlines_first(const struct ctl *ctl)
{
    return ctl->deadlines.n ? ctl->deadlines.at[0].at_ms : 0;
}

uint64_t deadlines_take(struct ctl *ctl)
{
    struct deadline *heap = ctl->deadlines.at;
    uint64_t job = heap[0].job;
    size_t n = --ctl->deadlines.n;
    heap[0] = heap[n];
    for (size_t i = 0, child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &heap[i]))
            break;
        swap(&heap[child], &heap[i]);
    }
    return job;
}
