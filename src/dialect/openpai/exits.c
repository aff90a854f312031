/* The exit specification of OpenPAI v0.13 as a table, and the words for states.
 *
 * Inputs: how an attempt ended, as the agent reports it. Effects: none.
 *
 * Source: the published job exit specification of that release; the sentences are ours. Two rows
 * deviate: a port taken from outside (-7103) is of class conflict, so that its retries back off,
 * and 124 is ours, for the run time limit that v1 has not. */
#include "dialect/openpai/openpai.h"

#include "dialect/openpai/ends.h"
#include "dialect/openpai/v1.h"

#include <signal.h>

enum { EXIT_UNKNOWN = 255, EXIT_ABNORMAL = 256, EXIT_FALLBACK = -8000 };

#define ROW(code_, phrase_, causer_, type_, class_, text_)                                         \
    {                                                                                              \
        .code = (code_), .phrase = (phrase_), .causer = (causer_), .type = (type_),                \
        .class = END_##class_, .text = (text_)                                                     \
    }

/* Ascending by code. Class: ALWAYS_RETRY platform, ALWAYS_BACKOFF_RETRY conflict, RETRY_TO_MAX
 * unknown, NEVER_RETRY user, stopped or success. */
static const struct openpai_exit exits[] = {
    ROW(-8000, "CONTAINER_UNKNOWN_YARN_EXIT_STATUS", "UNKNOWN", "UNKNOWN_FAILURE", UNKNOWN,
        "it ended and nobody can say how"),
    ROW(-7400, "TASK_STOPPED_ON_APP_COMPLETION", "USER_STOP", "USER_STOP", STOPPED,
        "it was stopped because the job was over"),
    ROW(-7353, "APP_AM_DIAGNOSTICS_DESERIALIZATION_FAILED", "PAI_YARN", "PLATFORM_FAILURE",
        PLATFORM, "what was known of its end could not be read"),
    ROW(-7352, "APP_AM_DIAGNOSTICS_LOST", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM,
        "what was known of its end was lost"),
    ROW(-7351, "APP_STOP_FRAMEWORK_REQUESTED", "USER_STOP", "USER_STOP", STOPPED,
        "it was stopped on request"),
    ROW(-7350, "APP_RM_RESYNC_LOST", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM,
        "the job was lost when the server came back"),
    ROW(-7303, "APP_KILLED_UNEXPECTEDLY", "UNKNOWN", "PLATFORM_FAILURE", PLATFORM,
        "the job was killed from outside"),
    ROW(-7302, "APP_SUBMISSION_UNKNOWN_EXCEPTION", "UNKNOWN", "UNKNOWN_FAILURE", UNKNOWN,
        "the job could not be handed over, the reason is not known"),
    ROW(-7301, "APP_SUBMISSION_IO_EXCEPTION", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM,
        "the job could not be handed over"),
    ROW(-7300, "APP_SUBMISSION_YARN_EXCEPTION", "USER_SUBMISSION", "USER_FAILURE", USER,
        "the job was not accepted, its virtual cluster may be wrong"),
    ROW(-7252, "AM_GANG_ALLOCATION_TIMEOUT", "RESOURCE_ALLOCATION_TIMEOUT",
        "RESOURCE_ALLOCATION_TIMEOUT", CONFLICT, "not all tasks got their resources in time"),
    ROW(-7251, "AM_NON_TRANSIENT_EXCEPTION", "USER_SUBMISSION", "USER_FAILURE", USER,
        "it cannot be started as the job describes it"),
    ROW(-7250, "AM_UNKNOWN_EXCEPTION", "PAI_LAUNCHER", "PLATFORM_FAILURE", PLATFORM,
        "the job's master failed"),
    ROW(-7203, "AM_RM_HEARTBEAT_SHUTDOWN_REQUESTED", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM,
        "the job's master was told to leave"),
    ROW(-7202, "AM_RM_HEARTBEAT_UNKNOWN_EXCEPTION", "UNKNOWN", "PLATFORM_FAILURE", PLATFORM,
        "the job's master lost the server, the reason is not known"),
    ROW(-7201, "AM_RM_HEARTBEAT_IO_EXCEPTION", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM,
        "the job's master lost the server"),
    ROW(-7200, "AM_RM_HEARTBEAT_YARN_EXCEPTION", "USER_SUBMISSION", "USER_FAILURE", USER,
        "the job asks for something that does not exist"),
    ROW(-7154, "CONTAINER_AGENT_EXPIRED", "PAI_OS", "PLATFORM_FAILURE", PLATFORM,
        "its node was silent for too long"),
    ROW(-7153, "CONTAINER_MIGRATE_TASK_REQUESTED", "USER_RETRY", "USER_FAILURE", PLATFORM,
        "it was moved on request"),
    ROW(-7152, "CONTAINER_RM_RESYNC_EXCEEDED", "PAI_YARN", "PLATFORM_FAILURE", USER,
        "it was one too many after the server came back"),
    ROW(-7151, "CONTAINER_RM_RESYNC_LOST", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM,
        "it was lost when the server came back"),
    ROW(-7150, "CONTAINER_NM_LAUNCH_FAILED", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM,
        "its node could not start it"),
    ROW(-7126, "CONTAINER_EXTERNAL_UTILIZATION_SPIKED", "PAI_OS", "PLATFORM_FAILURE", PLATFORM,
        "its node was too busy with other work"),
    ROW(-7125, "CONTAINER_KILLED_ON_APP_COMPLETION", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM,
        "it was killed because its job was over for the server"),
    ROW(-7124, "CONTAINER_KILLED_BY_RM", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM,
        "the server killed it"),
    ROW(-7123, "CONTAINER_KILLED_BY_AM", "PAI_LAUNCHER", "PLATFORM_FAILURE", PLATFORM,
        "the job's master killed it"),
    ROW(-7122, "CONTAINER_RUNTIME_PHYSICAL_MEMORY_EXCEEDED", "PAI_RUNTIME", "PLATFORM_FAILURE",
        USER, "it used more memory than its limit"),
    ROW(-7121, "CONTAINER_RUNTIME_VIRTUAL_MEMORY_EXCEEDED", "PAI_RUNTIME", "PLATFORM_FAILURE", USER,
        "it used more virtual memory than its limit"),
    ROW(-7120, "CONTAINER_PREEMPTED", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM,
        "its resources went to a job that comes first"),
    ROW(-7113, "CONTAINER_ABORTED_ON_AM_RESTART", "RESOURCE_ALLOCATION_TIMEOUT",
        "RESOURCE_ALLOCATION_TIMEOUT", CONFLICT,
        "it was given up while the job waited for resources"),
    ROW(-7112, "CONTAINER_EXPIRED", "RESOURCE_ALLOCATION_TIMEOUT", "RESOURCE_ALLOCATION_TIMEOUT",
        CONFLICT, "it waited too long for the other tasks"),
    ROW(-7111, "CONTAINER_NODE_LOST", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM,
        "its node or agent went away, nobody saw its end"),
    ROW(-7110, "CONTAINER_ABORTED", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM, "it was given up"),
    ROW(-7103, "CONTAINER_PORT_CONFLICT", "PAI_YARN", "PLATFORM_FAILURE", CONFLICT,
        "a port it was given is in use by another program"),
    ROW(-7102, "CONTAINER_NODE_DISKS_FAILED", "PAI_OS", "PLATFORM_FAILURE", PLATFORM,
        "its node has no disk space left or a broken disk"),
    ROW(-7101, "CONTAINER_NOT_AVAILABLE_EXIT_STATUS", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM,
        "its node could not make its process"),
    ROW(-7100, "CONTAINER_INVALID_EXIT_STATUS", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM,
        "its node could not prepare it"),
    ROW(0, "SUCCEEDED", "USER_CONTAINER", "USER_SUCCESS", SUCCESS, "it ended with 0"),
    ROW(124, "CONTAINER_RUN_TIME_EXCEEDED", "USER_CONTAINER", "USER_FAILURE", USER,
        "it ran into a limit of its job"),
    ROW(130, "CONTAINER_KILLED_BY_SIGINT", "PAI_OS", "PLATFORM_FAILURE", PLATFORM,
        "it was interrupted from outside (SIGINT)"),
    ROW(132, "CONTAINER_KILLED_BY_SIGILL", "USER_CONTAINER", "USER_FAILURE", USER,
        "it executed an illegal instruction (SIGILL)"),
    ROW(134, "CONTAINER_KILLED_BY_SIGABRT", "UNKNOWN", "UNKNOWN_FAILURE", UNKNOWN,
        "it aborted (SIGABRT)"),
    ROW(135, "CONTAINER_KILLED_BY_SIGBUS", "USER_CONTAINER", "USER_FAILURE", USER,
        "it used memory that is not there (SIGBUS)"),
    ROW(136, "CONTAINER_KILLED_BY_SIGFPE", "USER_CONTAINER", "USER_FAILURE", USER,
        "its arithmetic failed (SIGFPE)"),
    ROW(137, "CONTAINER_KILLED_BY_SIGKILL", "PAI_OS", "PLATFORM_FAILURE", PLATFORM,
        "it was killed from outside (SIGKILL)"),
    ROW(139, "CONTAINER_KILLED_BY_SIGSEGV", "USER_CONTAINER", "USER_FAILURE", USER,
        "it used memory that is not its own (SIGSEGV)"),
    ROW(141, "CONTAINER_KILLED_BY_SIGPIPE", "USER_CONTAINER", "USER_FAILURE", USER,
        "it wrote to a closed pipe (SIGPIPE)"),
    ROW(143, "CONTAINER_KILLED_BY_SIGTERM", "PAI_OS", "PLATFORM_FAILURE", PLATFORM,
        "it was asked to end from outside (SIGTERM)"),
    ROW(154, "CONTAINER_EXIT_CODE_FILE_LOST", "PAI_YARN", "PLATFORM_FAILURE", PLATFORM,
        "its exit code was lost"),
    ROW(193, "CONTAINER_DOCKER_RUN_FAILED", "PAI_DOCKER", "PLATFORM_FAILURE", PLATFORM,
        "its container could not be started"),
    ROW(196, "CONTAINER_OOM_KILLED_BY_DOCKER", "USER_CONTAINER", "USER_FAILURE", USER,
        "it used more memory than it asked for and was killed; ask for more memoryMB or use less"),
    ROW(198, "CONTAINER_OOD_KILLED_BY_DISKCLEANER", "USER_CONTAINER", "USER_FAILURE", USER,
        "it used too much disk space and was killed"),
    ROW(255, "CONTAINER_RUNTIME_UNKNOWN_FAILURE", "UNKNOWN", "UNKNOWN_FAILURE", UNKNOWN,
        "it failed by itself, its output may say why"),
    ROW(256, "CONTAINER_RUNTIME_EXIT_ABNORMALLY", "PAI_RUNTIME", "PLATFORM_FAILURE", UNKNOWN,
        "it ended in a way that is not known"),
};
enum { EXITS_N = sizeof exits / sizeof exits[0] };

const struct openpai_exit *openpai_exits(size_t *n)
{
    *n = EXITS_N;
    return exits;
}

static const struct openpai_exit *listed(int code)
{
    return openpai_exit_listed(exits, EXITS_N, code);
}

const struct openpai_exit *openpai_exit_find(int code)
{
    const struct openpai_exit *row = listed(code);
    return row ? row : listed(code > 0 ? EXIT_ABNORMAL : EXIT_FALLBACK);
}

/* 128 + a signal that has a row of its own; every other end by itself is 255. The codes above 143
 * of the table are given by the platform only: a program that happens to exit with 193 or 196 is an
 * ordinary failure. */
static int own_code(const struct ending *e)
{
    int code = e->exited ? e->code : SIGNALS_FROM + e->signal;
    if (code == 0)
        return 0;
    bool by_signal = code > SIGNALS_FROM && code <= SIGNALS_FROM + SIGTERM;
    return by_signal && listed(code) ? code : EXIT_UNKNOWN;
}

static const struct openpai_ends ends = { .stopped = -7351,
                                          .completed = -7400,
                                          .port = -7103,
                                          .oom = 196,
                                          .time = 124,
                                          .node_lost = -7111,
                                          .node_full = -7102,
                                          .launch = -7150,
                                          .wrong = -7251,
                                          .unknown = EXIT_FALLBACK,
                                          .own = own_code };

struct end_words v1_classify(const struct job_spec *job, const struct ending *ending)
{
    (void)job;
    const struct openpai_exit *row = openpai_exit_find(openpai_end_code(&ends, ending));
    return (struct end_words){
        .class = row->class, .code = row->code, .phrase = row->phrase, .text = row->text
    };
}

/* RUNNING only while a task runs: that a job says so while its tasks wait for GPUs was a standing
 * complaint. */
const char *v1_job_word(enum job_state state, bool any_task_running)
{
    switch (state) {
    case JOB_SUCCEEDED: return "SUCCEEDED";
    case JOB_FAILED: return "FAILED";
    case JOB_STOPPED: return "STOPPED";
    default: return any_task_running ? "RUNNING" : "WAITING";
    }
}

const char *v1_task_word(enum task_state state)
{
    switch (state) {
    case TASK_RUNNING: return "RUNNING";
    case TASK_SUCCEEDED: return "SUCCEEDED";
    case TASK_FAILED: return "FAILED";
    case TASK_STOPPED: return "STOPPED";
    default: return "WAITING";
    }
}
