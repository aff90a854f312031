/* States and ends as Slurm's commands call them, and the dialect and its convention as main
 * registers them. Pure; the states are those of squeue and sacct. */
#include "dialect/sbatch/convention.h"

#include "dialect/sbatch/batch.h"
#include "dialect/sbatch/sbatch.h"

#include <signal.h>

const char *sb_job_word(enum job_state state, bool any_task_running)
{
    switch (state) {
    case JOB_SUSPENDED:
    case JOB_QUEUED: return "PENDING";
    case JOB_STARTING: return any_task_running ? "RUNNING" : "CONFIGURING";
    case JOB_RUNNING: return "RUNNING";
    case JOB_RESTARTING: return "REQUEUED";
    case JOB_STOPPING: return "COMPLETING";
    case JOB_SUCCEEDED: return "COMPLETED";
    case JOB_FAILED: return "FAILED";
    case JOB_STOPPED: return "CANCELLED";
    default: return "PENDING";
    }
}

const char *sb_task_word(enum task_state state)
{
    switch (state) {
    case TASK_RUNNING: return "RUNNING";
    case TASK_SUCCEEDED: return "COMPLETED";
    case TASK_FAILED: return "FAILED";
    case TASK_STOPPED: return "CANCELLED";
    default: return "PENDING";
    }
}

struct end_words sb_classify(const struct job_spec *job, const struct ending *e)
{
    (void)job;
    int code = e->exited ? e->code : e->signal > 0 ? 128 + e->signal : -1;
    if (e->by == BY_USER || e->by == BY_POLICY)
        return (struct end_words){ END_STOPPED, code, "CANCELLED", "it was cancelled" };
    if (e->by == BY_CONFLICT)
        return (struct end_words){ END_CONFLICT, code, "BOOT_FAIL",
                                   "it could not get what it needs, a port for example" };
    if (e->lost || e->by == BY_PLATFORM)
        return (struct end_words){ END_PLATFORM, code, "NODE_FAIL", "its node was lost" };
    if (e->oom || e->by == BY_KERNEL)
        return (struct end_words){ END_USER, code, "OUT_OF_MEMORY",
                                   "it used more memory than it asked for" };
    if (e->by == BY_LIMIT)
        return (struct end_words){ END_USER, code, "TIMEOUT", "its time limit was reached" };
    if (e->exited && e->code == 0)
        return (struct end_words){ END_SUCCESS, 0, "COMPLETED", "the script ended with 0" };
    if (e->exited)
        return (struct end_words){ END_USER, code, "FAILED", "the script ended with an error" };
    return (struct end_words){ END_USER, code, "FAILED", "the script was ended by a signal" };
}

/* ---- as main registers them ---- */

static int detect(const struct text_node *root)
{
    return root && root->kind == TEXT_STR && root->script ? 100 : 0;
}

const struct dialect sbatch_dialect = {
    .name = "sbatch",
    .title = "Slurm batch script",
    .looks_for = "#! in its first line and #SBATCH lines",
    .detect = detect,
    .read = sb_read,
    .shape = sb_reshape,
    .write = sb_write,
    .script = true,
    .queues = true,
};

const struct convention sbatch_convention = {
    .name = BATCH_CONVENTION,
    .launchers = LAUNCHER_SLURM,
    .env = sb_env,
    .classify = sb_classify,
    .job_word = sb_job_word,
    .task_word = sb_task_word,
    .host = sb_host,
};
