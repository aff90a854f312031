/* The native dialect: YAML or JSON whose tree is the job itself, so that reading and writing are
 * the job's own field tables. */
#include "dialect/native/native.h"

#include "dialect/native/native_env.h"

/* Marks of other formats that also have a name or resources. */
static bool foreign(const struct text_node *root)
{
    static const char *const marks[] = { "apiVersion", "kind",    "protocolVersion",
                                         "taskRoles",  "jobName", "JobSpecs",
                                         NULL };
    for (const char *const *mark = marks; *mark; mark++)
        if (text_get(root, *mark))
            return true;
    return false;
}

static int native_detect(const struct text_node *root)
{
    static const struct {
        const char *key;
        int sure;
    } marks[] = {
        { "muster", 100 }, { "roles", 80 }, { "run", 70 }, { "argv", 60 }, { "name", 20 }
    };
    if (!root || root->kind != TEXT_MAP)
        return 0;
    if (text_get(root, "muster"))
        return 100;
    if (foreign(root))
        return 0;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (text_get(root, marks[i].key))
            return marks[i].sure;
    return 0;
}

static struct job_spec *native_read(struct arena *arena, const struct text_node *root,
                                    const struct site *site, struct report *report)
{
    struct job_spec *job = job_decode(arena, root, report);
    if (!job)
        return NULL;
    const char **directories[] = { &job->output, &job->inputs.code.dir,
                                   &job->inputs.registry_auth };
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++)
        if (*directories[i])
            *directories[i] = dialect_substitute(arena, *directories[i], job->name, site);
    return job;
}

static struct text_node *native_write(struct arena *arena, const struct job_spec *job,
                                      struct report *report)
{
    (void)report; /* everything can be said here */
    return job_encode(arena, job);
}

/* The secret rows of the field tables. */
static const char *const secrets[] = { "env.*", "roles.*.env.*", NULL };

const struct dialect native_dialect = {
    .name = "native",
    .title = "muster",
    .looks_for = "roles, or name and run",
    .detect = native_detect,
    .read = native_read,
    .write = native_write,
    .yaml = true,
    .secrets = secrets,
};

/* ---- ends ---- */

static struct end_words native_classify(const struct job_spec *job, const struct ending *ending)
{
    (void)job;
    int code = ending->exited ? ending->code : ending->signal > 0 ? 128 + ending->signal : -1;
    if (ending->by == BY_USER || ending->by == BY_POLICY)
        return (struct end_words){ END_STOPPED, code, "stopped", "it was ended on request" };
    if (ending->by == BY_CONFLICT)
        return (struct end_words){ END_CONFLICT, code, "conflict",
                                   "it could not get what it needs, a port for example" };
    if (ending->lost || ending->by == BY_PLATFORM)
        return (struct end_words){ END_PLATFORM, code, "lost", "its node or agent was lost" };
    if (ending->oom || ending->by == BY_KERNEL)
        return (struct end_words){ END_USER, code, "out of memory",
                                   "it used more memory than it asked for" };
    if (ending->by == BY_LIMIT)
        return (struct end_words){ END_USER, code, "over a limit",
                                   "it went over one of its limits" };
    if (ending->exited && ending->code == 0)
        return (struct end_words){ END_SUCCESS, 0, "succeeded", "it ended with 0" };
    if (ending->exited && (ending->code == 126 || ending->code == 127))
        return (struct end_words){ END_USER, code, "cannot start",
                                   "its command was not found or cannot be run" };
    if (ending->exited)
        return (struct end_words){ END_UNKNOWN, code, "failed", "it exited with an error" };
    if (ending->signal > 0)
        return (struct end_words){ END_UNKNOWN, code, "killed", "it was ended by a signal" };
    return (struct end_words){ END_USER, code, "cannot start", "it could not be started" };
}

static const char *native_job_word(enum job_state state, bool any_task_running)
{
    (void)any_task_running;
    return job_state_word(state);
}

const struct convention native_convention = {
    .name = "native",
    .env = native_env,
    .classify = native_classify,
    .job_word = native_job_word,
    .task_word = task_state_word,
};

const struct convention pytorch_convention = {
    .name = "pytorch",
    .env = pytorch_env,
};

const struct convention torchrun_convention = { .name = "torchrun",
                                                .launchers = LAUNCHER_TORCHRUN };

const struct convention dlrover_convention = { .name = "dlrover", .launchers = LAUNCHER_DLROVER };
