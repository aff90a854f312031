/* Exit classes of DLRover's master as a table, and the phase words of ElasticJobs and pods.
 *
 * Inputs: how an attempt ended, as the agent reports it. Effects: none.
 *
 * Two things follow the intent instead of the letter: a kill from outside is the platform's doing
 * and has a limit of its own (there it had none, and used up the budget of real failures), and a
 * lost node is told apart from a failure of the program. */
#include "dialect/elasticjob/words.h"

#include "dialect/elasticjob/extra.h"

#include <signal.h>

enum { CODE_OOM = 247, CODE_HARDWARE_INFOROM = 14, CODE_GPU = 201, CODE_RESIDUE = 202 };
#define EXIT_KILLED (128 + SIGKILL)
#define EXIT_TERM   (128 + SIGTERM)
#define EXIT_ABORT  (128 + SIGABRT)

#define ROW(code_, phrase_, class_, unless_, text_)                                                \
    {                                                                                              \
        .code = (code_), .phrase = (phrase_), .class = END_##class_,                               \
        .unless_always = END_##unless_, .text = (text_)                                            \
    }
/* class: when failed workers are always relaunched (AllreduceStrategy, restartPolicy Always). */
static const struct ej_exit exits[] = {
    ROW(0, "Succeeded", SUCCESS, SUCCESS, "it ended with 0"),
    ROW(1, "Error", UNKNOWN, USER, "it failed by itself, its output may say why"),
    ROW(CODE_HARDWARE_INFOROM, "HardwareError", UNKNOWN, UNKNOWN,
        "it says that a GPU's inforom is corrupt"),
    ROW(EXIT_ABORT, "Error", UNKNOWN, USER, "it aborted (SIGABRT)"),
    ROW(EXIT_KILLED, "Deleted", PLATFORM, PLATFORM, "it was killed from outside (SIGKILL)"),
    ROW(EXIT_TERM, "Deleted", PLATFORM, PLATFORM, "it was asked to end from outside (SIGTERM)"),
    ROW(CODE_GPU, "HardwareError", UNKNOWN, UNKNOWN, "it says that the GPU driver failed"),
    ROW(CODE_RESIDUE, "HardwareError", UNKNOWN, UNKNOWN,
        "it says that something was left on its node"),
    ROW(CODE_OOM, "OOMKilled", USER, UNKNOWN, "it used more memory than it asked for"),
    ROW(EJ_EXIT_OTHER, "UnknownError", UNKNOWN, UNKNOWN,
        "it failed by itself, its output may say why"),
};
enum { EXITS_N = sizeof exits / sizeof exits[0] };

const struct ej_exit *ej_exits(size_t *n)
{
    *n = EXITS_N;
    return exits;
}

static const struct ej_exit *row_of(int code)
{
    size_t i = 0;
    while (i < EXITS_N - 1 && exits[i].code != code)
        i++;
    return &exits[i];
}

/* Out of memory is final for all-reduce; with parameter servers it is tried again. */
static enum end_class class_of(const struct job_spec *job, const struct ej_exit *row)
{
    if (row->code != CODE_OOM)
        return ej_extra_flag(job, "relaunchAlways") ? row->class : row->unless_always;
    const char *strategy = ej_extra_text(job, "strategy");
    bool servers = strategy && strcmp(strategy, "ParameterServerStrategy") == 0;
    return servers ? row->unless_always : row->class;
}

static struct end_words by_row(const struct job_spec *job, const struct ej_exit *row, int code)
{
    return (struct end_words){
        .class = class_of(job, row), .code = code, .phrase = row->phrase, .text = row->text
    };
}

struct end_words ej_classify(const struct job_spec *job, const struct ending *e)
{
    int code = e->exited ? e->code : e->signal > 0 ? 128 + e->signal : -1;
    if (e->by == BY_USER || e->by == BY_POLICY)
        return (struct end_words){ END_STOPPED, code, "Released",
                                   e->by == BY_USER ? "it was stopped on request"
                                                    : "it was stopped because the job was over" };
    if (e->by == BY_CONFLICT)
        return (struct end_words){ END_CONFLICT, code, "PortConflict",
                                   "it could not get what it needs, a port for example" };
    if (e->lost || e->by == BY_PLATFORM)
        return (struct end_words){ END_PLATFORM, code, "NoHeartBeat",
                                   "its node or agent was lost" };
    if (e->oom || e->by == BY_KERNEL)
        return by_row(job, row_of(CODE_OOM), code < 0 ? CODE_OOM : code);
    if (e->by == BY_LIMIT)
        return (struct end_words){ END_USER, code, "OverLimit", "it went over one of its limits" };
    if (e->exited || e->signal > 0)
        return by_row(job, row_of(code), code);
    return (struct end_words){ END_USER, code, "Error", "it could not be started" };
}

/* ---- states ---- */

/* As there, the phase is that of the master's pod: the server runs, so it is Running also while all
 * workers wait. */
const char *ej_job_word(enum job_state state, bool any_task_running)
{
    (void)any_task_running;
    switch (state) {
    case JOB_SUSPENDED: return "Suspended";
    case JOB_RESTARTING: return "Restarting";
    case JOB_SUCCEEDED: return "Succeeded";
    case JOB_FAILED: return "Failed";
    case JOB_STOPPED: return "Stopped";
    default: return "Running";
    }
}

const char *ej_task_word(enum task_state state)
{
    switch (state) {
    case TASK_RUNNING: return "Running";
    case TASK_SUCCEEDED: return "Succeeded";
    case TASK_FAILED: return "Failed";
    case TASK_STOPPED: return "Deleted";
    default: return "Pending";
    }
}
