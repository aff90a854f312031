/* Jobs that wait for other jobs: resolved to numbers at submission, looked up when the scheduler is
 * about to look at the waiting job. */
#include "ctl/after.h"

#include "ctl/core.h"

#include <stdio.h>
#include <string.h>

static bool fits(const char *wanted, enum job_state state)
{
    if (!wanted || strcmp(wanted, "any") == 0)
        return true;
    return (strcmp(wanted, "well") == 0) == (state == JOB_SUCCEEDED);
}

/* 1: still to end, 0: ended as wished, -1: never will. */
static int look(struct ctl *ctl, const struct job_after *after, char *text, size_t size)
{
    struct job_row row;
    uint64_t id;
    if (store_find_number(ctl->config.store, after->job, &id) != 1) {
        snprintf(text, size, "waited for job %llu, which is no longer known",
                 (unsigned long long)after->job);
        return -1;
    }
    if (live_find(ctl->live, id) && !job_state_final(live_find(ctl->live, id)->row.state)) {
        snprintf(text, size, "waits for job %llu to end", (unsigned long long)after->job);
        return 1;
    }
    struct arena *arena = arena_create();
    int rc = core_row(ctl, arena, id, &row);
    if (rc == 0 && !fits(after->ended, row.state)) {
        snprintf(text, size, "waited for job %llu to end %s, and it has %s",
                 (unsigned long long)after->job, after->ended, job_state_word(row.state));
        rc = -1;
    }
    arena_destroy(arena);
    return rc;
}

int after_blocked(struct ctl *ctl, struct live_job *job, char *text, size_t size)
{
    int blocked = 0;
    for (size_t i = 0; i < job->spec->n_after; i++) {
        int answer = look(ctl, &job->spec->after[i], text, size);
        if (answer < 0)
            return -1;
        blocked |= answer;
    }
    return blocked;
}

int after_resolve(struct ctl *ctl, struct job_spec *spec, struct report *report)
{
    for (size_t i = 0; i < spec->n_after; i++) {
        struct job_after *after = &spec->after[i];
        struct arena *arena = arena_create();
        struct job_row row;
        uint64_t id = 0;
        bool found = after->job_name ? ctl_find(ctl, after->job_name, &id, NULL) == 0
                                     : store_find_number(ctl->config.store, after->job, &id) == 1;
        if (found && core_row(ctl, arena, id, &row) == 0) {
            after->job = row.number;
            after->job_name = NULL;
        } else if (after->job_name) {
            report_error(report, (struct place){ 0 }, "after", "after[%zu].job: no job \"%.100s\"",
                         i, after->job_name);
        } else {
            report_error(report, (struct place){ 0 }, "after", "after[%zu].job: no job %llu", i,
                         (unsigned long long)after->job);
        }
        arena_destroy(arena);
    }
    return report_ok(report) ? 0 : -1;
}
