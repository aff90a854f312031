/* A verdict in words, for people: made of its counts alone, and of the names of the job's roles.
 * Nothing is decided here. */
#include "job/completion.h"

#include <stdio.h>

static void say_all(char out[VERDICT_TEXT], const struct job_spec *job,
                    const struct role_tally *sum)
{
    if (sum->failed + sum->stopped > 0)
        snprintf(out, VERDICT_TEXT, "all tasks ended: %u with 0, %u failed, %u stopped",
                 sum->succeeded, sum->failed, sum->stopped);
    else if (job->n_roles == 1)
        snprintf(out, VERDICT_TEXT, "%.60s: %u of %u tasks ended with 0", job->roles[0].name,
                 sum->succeeded, sum->succeeded);
    else
        snprintf(out, VERDICT_TEXT, "all %u tasks ended with 0", sum->succeeded);
}

const char *verdict_text(char out[VERDICT_TEXT], const struct job_spec *job,
                         const struct verdict *v)
{
    out[0] = '\0';
    switch (v->rule) {
    case VERDICT_NONE: break;
    case VERDICT_FAILED:
        snprintf(out, VERDICT_TEXT, "%.60s: %u of %u tasks failed", job->roles[v->role].name,
                 v->count, v->of);
        break;
    case VERDICT_SUCCEEDED:
        snprintf(out, VERDICT_TEXT, "%.60s: %u of %u tasks ended with 0", job->roles[v->role].name,
                 v->count, v->of);
        break;
    case VERDICT_LATE:
        snprintf(out, VERDICT_TEXT, "all tasks ended, and %u of %u tasks of %.60s failed", v->count,
                 v->of, job->roles[v->role].name);
        break;
    case VERDICT_ALL: say_all(out, job, &v->ended); break;
    }
    return out;
}
