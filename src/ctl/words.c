/* How an attempt ended, as one clause that follows its name: "worker/2 on n2 exited with 1". Pure:
 * made of the ending alone, for events and reasons. */
#include "ctl/words.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* "SIGKILL" or "signal 40". */
static const char *words_signal(char out[24], int signal)
{
    const char *name = sigabbrev_np(signal);
    if (name)
        snprintf(out, 24, "SIG%s", name);
    else
        snprintf(out, 24, "signal %d", signal);
    return out;
}

static const char *const who[END_BY_N] = {
    [BY_KERNEL] = " by the kernel",       [BY_STRANGER] = " from outside",
    [BY_POLICY] = " by the job's policy", [BY_USER] = " by its user",
    [BY_LIMIT] = " by a limit",           [BY_PLATFORM] = " by the platform",
    [BY_CONFLICT] = " by a conflict",
};

const char *words_end(char out[WORDS_MAX], const struct ending *end)
{
    char signal[24];
    const char *reason = end->reason && *end->reason ? end->reason : NULL;
    const char *more = end->oom ? ", out of memory" : "";
    if (end->lost)
        snprintf(out, WORDS_MAX, "was lost%s%s", reason ? ": " : "", reason ? reason : "");
    else if (end->exited)
        snprintf(out, WORDS_MAX, "exited with %d%s%s%s", end->code, more, reason ? ": " : "",
                 reason ? reason : "");
    else if (end->signal)
        snprintf(out, WORDS_MAX, "killed (%s%s%s%s%s)", words_signal(signal, end->signal),
                 end->by < END_BY_N && who[end->by] ? who[end->by] : "", more, reason ? ": " : "",
                 reason ? reason : "");
    else
        snprintf(out, WORDS_MAX, "did not start: %s", reason ? reason : "no reason was given");
    return out;
}
