/* States of jobs and pods, and exit codes, as DLC says them.
 *
 * Inputs: states, how an attempt ended. Effects: none.
 *
 * Source: the API's list of states (2021 to 2026), its page on exit codes, and for which codes are
 * worth another attempt the vendor's open-source operator; the sentences are ours. */
#include "dialect/dlc/words.h"

#include "base/mem.h"
#include "dialect/dlc/dlc.h"

#include <signal.h>
#include <stddef.h>

#define HELD_WELL  "SucceededReserving"
#define HELD_BADLY "FailedReserving"

/* The first row of a state is its word; the two that follow it are held_word()'s. */
static const struct dlc_status statuses[] = {
    { "Created", JOB_NONE, false, "accepted, not yet looked at; queued at once here" },
    { "Creating", JOB_NONE, false, "being made; queued at once here" },
    { "Queuing", JOB_QUEUED, false, "waits for resources" },
    { "Queuing", JOB_SUSPENDED, false, "held until it is resumed" },
    { "Dequeued", JOB_NONE, false, "left the queue; placed at the same time here" },
    { "Bidding", JOB_NONE, false, "waits for its bid to win; queued here" },
    { "EnvPreparing", JOB_STARTING, false, "placed, its tasks are being started" },
    { "SanityChecking", JOB_NONE, false, "nodes are being checked; not done here" },
    { "Running", JOB_RUNNING, false, "its tasks run" },
    { "Restarting", JOB_RESTARTING, false, "a task or the whole job is started anew" },
    { "Stopping", JOB_STOPPING, false, "its end is decided, tasks are being ended" },
    { HELD_WELL, JOB_STOPPING, false, "ended well, resources are still held" },
    { HELD_BADLY, JOB_STOPPING, false, "failed, resources are still held" },
    { "Succeeded", JOB_SUCCEEDED, true, "ended well" },
    { "Failed", JOB_FAILED, true, "failed" },
    { "Stopped", JOB_STOPPED, true, "stopped on request" },
    { "Deleted", JOB_NONE, true, "a deleted job is not found here" },
    { "SubmitFailed", JOB_NONE, true, "what is refused is no job here" },
};

const struct dlc_status *dlc_statuses(size_t *n)
{
    *n = ARRAY_LEN(statuses);
    return statuses;
}

const char *dlc_job_word(enum job_state state, bool any_task_running)
{
    (void)any_task_running;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (statuses[i].state == state)
            return statuses[i].word;
    return "Created";
}

const char *dlc_held_word(enum job_outcome outcome)
{
    if (outcome == OUTCOME_SUCCEEDED)
        return HELD_WELL;
    return outcome == OUTCOME_FAILED ? HELD_BADLY : dlc_job_word(JOB_STOPPING, false);
}

const char *dlc_task_word(enum task_state state)
{
    switch (state) {
    case TASK_RUNNING: return "Running";
    case TASK_SUCCEEDED: return "Succeeded";
    case TASK_FAILED: return "Failed";
    case TASK_STOPPED: return "Stopped";
    default: return "Pending";
    }
}

/* ---- ends ---- */

enum {
    EXIT_RUN_TIME = 124,
    EXIT_KILLED = 137,
    EXIT_OTHER = 256, /* no exit code: the row of all that have none of their own */
    EXIT_LOST = -1,
    EXIT_NOT_STARTED = -2,
    EXIT_CONFLICT = -3,
    EXIT_STOPPED = -4,
    EXIT_OVER = -5,
    EXIT_OOM = -6,
};

#define ROW(code_, phrase_, class_, text_)                                                         \
    {                                                                                              \
        .code = (code_), .phrase = (phrase_), .class = END_##class_, .text = (text_)               \
    }

/* Below 0: ends that no program chose; what is shown for them is in end_code(). */
/* Exit codes as users of DLC read them. */
struct dlc_exit {
    int code;
    const char *phrase;
    enum end_class class;
    const char *text; /* one sentence for people */
};
static const struct dlc_exit exits[] = {
    ROW(EXIT_OOM, "OOMKilled", USER, "it used more memory than it asked for and was killed"),
    ROW(EXIT_OVER, "JobEnded", STOPPED, "it was stopped because the job was over"),
    ROW(EXIT_STOPPED, "StoppedByUser", STOPPED, "it was stopped on request"),
    ROW(EXIT_CONFLICT, "PortConflict", CONFLICT,
        "a port it was given is in use by another program"),
    ROW(EXIT_NOT_STARTED, "CreateFailed", PLATFORM, "its node could not start it"),
    ROW(EXIT_LOST, "NodeLost", PLATFORM, "its node or agent went away, nobody saw its end"),
    ROW(0, "Completed", SUCCESS, "it ended with 0"),
    ROW(1, "Error", USER, "its program failed"),
    ROW(2, "Error", USER, "the shell or the program was used wrongly"),
    ROW(124, "DeadlineExceeded", USER, "it ran into a limit of its job"),
    ROW(126, "CannotRun", USER, "its command cannot be executed"),
    ROW(127, "CannotRun", USER, "its command was not found"),
    ROW(128, "Error", USER, "it ended with an exit code that is none"),
    ROW(130, "Interrupted", PLATFORM, "it was interrupted from outside (SIGINT)"),
    ROW(137, "Killed", PLATFORM, "it was killed from outside (SIGKILL)"),
    ROW(138, "PleaseRetry", UNKNOWN, "it asked to be started anew (exit code 138)"),
    ROW(139, "SegmentationFault", USER, "it used memory that is not its own (SIGSEGV)"),
    ROW(143, "Terminated", PLATFORM, "it was asked to end from outside (SIGTERM)"),
    ROW(245, "NcclTimeout", UNKNOWN, "communication between devices timed out (NCCL)"),
    ROW(255, "RemoteShell", UNKNOWN, "a remote shell or a connection failed (MPI)"),
    ROW(EXIT_OTHER, "Error", USER, "it failed by itself, its output may say why"),
};

static const struct dlc_exit *row_of(int code)
{
    for (size_t i = 0; i < ARRAY_LEN(exits); i++)
        if (exits[i].code == code)
            return &exits[i];
    return &exits[ARRAY_LEN(exits) - 1];
}

static int own_code(const struct ending *e)
{
    if (e->exited)
        return e->code;
    return e->signal > 0 ? 128 + e->signal : -1;
}

static const struct dlc_exit *find(const struct ending *e)
{
    switch (e->by) {
    case BY_USER: return row_of(EXIT_STOPPED);
    case BY_POLICY: return row_of(EXIT_OVER);
    case BY_CONFLICT: return row_of(EXIT_CONFLICT);
    case BY_LIMIT: return row_of(e->oom ? EXIT_OOM : EXIT_RUN_TIME);
    case BY_PLATFORM: return row_of(e->lost ? EXIT_LOST : EXIT_NOT_STARTED);
    case BY_KERNEL: return row_of(EXIT_OOM);
    default: break;
    }
    if (e->lost)
        return row_of(EXIT_LOST);
    int code = own_code(e);
    if (e->oom && code == EXIT_KILLED)
        return row_of(EXIT_OOM);
    return code >= 0 ? row_of(code) : row_of(126);
}

/* The code that is shown: what the program ended with, else what a shell would say. */
static int end_code(const struct ending *e, const struct dlc_exit *row)
{
    int code = own_code(e);
    if (code >= 0)
        return code;
    return row->code > 0 ? row->code : EXIT_KILLED;
}

struct end_words dlc_classify(const struct job_spec *job, const struct ending *ending)
{
    (void)job;
    const struct dlc_exit *row = find(ending);
    return (struct end_words){
        .class = row->class, .code = end_code(ending, row), .phrase = row->phrase, .text = row->text
    };
}
