/* What follows from the range of an array (indexes, positions) and from the states of its members
 * (the array's own state, counts). Pure: an array has no state that is kept. */
#include "job/array.h"

#include <stdio.h>

uint32_t job_array_index(const struct job_array *array, uint32_t position)
{
    return array->first + position * array->step;
}

uint32_t job_array_position(const struct job_array *array, uint64_t index)
{
    uint64_t ahead = index - array->first;
    if (array->count == 0 || index < array->first || ahead % array->step != 0 ||
        ahead / array->step >= array->count)
        return UINT32_MAX;
    return (uint32_t)(ahead / array->step);
}

const char *job_array_range(char out[JOB_ARRAY_TEXT], const struct job_array *array)
{
    uint32_t last = job_array_index(array, array->count ? array->count - 1 : 0);
    if (array->count == 1)
        snprintf(out, JOB_ARRAY_TEXT, "%u", array->first);
    else if (array->step == 1)
        snprintf(out, JOB_ARRAY_TEXT, "%u-%u", array->first, last);
    else
        snprintf(out, JOB_ARRAY_TEXT, "%u-%u:%u", array->first, last, array->step);
    return out;
}

enum job_state job_array_state(const uint32_t counts[JOB_STATE_N])
{
    uint32_t live = 0, ended = 0;
    for (int state = JOB_NONE + 1; state < JOB_STATE_N; state++)
        *(job_state_final((enum job_state)state) ? &ended : &live) += counts[state];
    if (live == 0)
        return counts[JOB_FAILED] || !ended ? JOB_FAILED
               : counts[JOB_STOPPED]        ? JOB_STOPPED
                                            : JOB_SUCCEEDED;
    if (counts[JOB_SUSPENDED] == live)
        return JOB_SUSPENDED;
    bool begun = ended > 0 || counts[JOB_QUEUED] + counts[JOB_SUSPENDED] < live;
    return begun ? JOB_RUNNING : JOB_QUEUED;
}

const char *job_array_counts(char out[JOB_ARRAY_TEXT], const uint32_t counts[JOB_STATE_N])
{
    static const enum job_state order[] = { JOB_RUNNING,  JOB_STARTING, JOB_RESTARTING,
                                            JOB_STOPPING, JOB_QUEUED,   JOB_SUSPENDED,
                                            JOB_FAILED,   JOB_STOPPED,  JOB_SUCCEEDED };
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (counts[order[i]] == 0 || used >= JOB_ARRAY_TEXT)
            continue;
        int n = snprintf(out + used, JOB_ARRAY_TEXT - used, "%s%u %s", used ? ", " : "",
                         counts[order[i]], job_state_word(order[i]));
        used += n > 0 ? (size_t)n : 0;
    }
    return out;
}
