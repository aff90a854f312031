/* The exit specification of the Kubernetes releases (v1.x) as a table, and how an end gets its
 * code.
 *
 * Inputs: how an attempt ended, as the agent reports it, with the last lines of its output.
 * Effects: none.
 *
 * Source: the published job exit specification of v1.x, patterns included; the sentences are ours.
 * Deviations: a port taken from outside (253) is of class conflict, so that its retries back off;
 * 200, 201 and 210, which FrameworkController reserves for containers, hold for the task's own exit
 * code; out of disk space by its own doing is not tried again. */
#include "dialect/openpai/openpai.h"

#include "dialect/openpai/ends.h"
#include "dialect/openpai/v1.h"
#include "dialect/openpai/v2.h"
#include "job/device_error.h"

#include <signal.h>
#include <strings.h>

enum { EXIT_EVICTED = -1000, EXIT_OTHER = 255 };

#define ROW(code_, phrase_, type_, class_, text_)                                                  \
    {                                                                                              \
        .code = (code_), .phrase = (phrase_), .type = (type_), .class = END_##class_,              \
        .text = (text_)                                                                            \
    }
#define PLATFORM "PLATFORM_FAILURE"
#define USER     "USER_FAILURE"
#define UNKNOWN  "UNKNOWN_FAILURE"

/* Ascending by code. Class: always platform, back-off conflict, to max unknown, never user, stopped
 * or success. */
static const struct openpai_exit exits[] = {
    ROW(-8000, "UnknownFailure", UNKNOWN, UNKNOWN, "it ended and nobody can say how"),
    ROW(-1300, "InitContainerDockerOOMKilled", PLATFORM, PLATFORM,
        "its preparation used more memory than it has"),
    ROW(-1205, "ContainerGpuDeviceNotFound", PLATFORM, PLATFORM, "a GPU it was given is not there"),
    ROW(-1204, "ContainerDockerStartUnknownError", UNKNOWN, UNKNOWN,
        "its container could not be started"),
    ROW(-1203, "ContainerDockerStartCmdNotFound", PLATFORM, USER,
        "the command of its container was not found"),
    ROW(-1202, "ContainerDockerStartCmdPermissionDenied", PLATFORM, USER,
        "the command of its container may not be run"),
    ROW(-1201, "ContainerDockerCreationError", UNKNOWN, UNKNOWN, "its container could not be made"),
    ROW(-1200, "UserContainerDockerOOMKilled", USER, USER,
        "it used more memory than it asked for and was killed; ask for more memoryMB or use less"),
    ROW(-1100, "PodCreationForbidden", USER, USER, "the cluster would not have it"),
    ROW(-1006, "PodNodeAdmissionUnexpectedError", PLATFORM, PLATFORM,
        "its node refused it, the reason is not known"),
    ROW(-1005, "PodNodeAdmissionForbidden", USER, USER, "its node refused it"),
    ROW(-1004, "PodDeadlineExceeded", "USER_STOP", USER, "it ran into a limit of its job"),
    ROW(-1003, "PodPreemptedForCriticalPod", PLATFORM, PLATFORM,
        "its resources went to something that comes first"),
    ROW(-1002, "PodScheduledToInsufficientResourceNode", PLATFORM, PLATFORM,
        "its node had less than it was taken for"),
    ROW(-1001, "PodNodeLost", PLATFORM, PLATFORM,
        "its node or agent went away, nobody saw its end"),
    ROW(-1000, "PodEvicted", PLATFORM, PLATFORM, "its node is out of disk space"),
    ROW(-310, "PodCreationUnknownError", UNKNOWN, UNKNOWN,
        "it could not be made, the reason is not known"),
    ROW(-300, "PodFailedWithoutFailedContainer", UNKNOWN, UNKNOWN,
        "it failed although nothing in it did"),
    ROW(-230, "DeleteTaskRequested", "USER_STOP", STOPPED, "it was one too many"),
    ROW(-220, "FrameworkAttemptCompletion", "USER_STOP", STOPPED,
        "it was stopped because the job was over"),
    ROW(-210, "StopFrameworkRequested", "USER_STOP", STOPPED, "it was stopped on request"),
    ROW(-200, "PodSpecPermanentError", USER, USER, "it cannot be started as the job describes it"),
    ROW(-120, "PodCreationTransientError", PLATFORM, PLATFORM, "its node could not start it"),
    ROW(-111, "PodCreationTimeout", PLATFORM, PLATFORM, "it did not come into being in time"),
    ROW(-110, "ConfigMapCreationTimeout", PLATFORM, PLATFORM,
        "the job did not come into being in time"),
    ROW(-101, "PodExternalDeleted", PLATFORM, PLATFORM, "it was removed from outside"),
    ROW(-100, "ConfigMapExternalDeleted", PLATFORM, PLATFORM, "the job was removed from outside"),
    ROW(0, "Succeeded", "USER_SUCCESS", SUCCESS, "it ended with 0"),
    ROW(128, "ContainerMayFailDueToGpuDeviceEccError", PLATFORM, UNKNOWN,
        "it failed, maybe because of a memory error of a GPU"),
    ROW(130, "ContainerSigIntReceived", PLATFORM, PLATFORM,
        "it was interrupted from outside (SIGINT)"),
    ROW(131, "ContainerSigQuitReceived", PLATFORM, PLATFORM,
        "it was told to quit from outside (SIGQUIT)"),
    ROW(132, "ContainerSigIllReceived", USER, USER, "it executed an illegal instruction (SIGILL)"),
    ROW(134, "ContainerSigAbrtReceived", UNKNOWN, UNKNOWN, "it aborted (SIGABRT)"),
    ROW(135, "ContainerSigBusReceived", USER, USER, "it used memory that is not there (SIGBUS)"),
    ROW(136, "ContainerSigFpeReceived", USER, USER, "its arithmetic failed (SIGFPE)"),
    ROW(137, "ContainerSigKillReceived", PLATFORM, PLATFORM,
        "it was killed from outside (SIGKILL)"),
    ROW(139, "ContainerSigSegvReceived", UNKNOWN, UNKNOWN,
        "it used memory that is not its own (SIGSEGV)"),
    ROW(141, "ContainerSigPipeReceived", USER, USER, "it wrote to a closed pipe (SIGPIPE)"),
    ROW(143, "ContainerSigTermReceived", PLATFORM, PLATFORM,
        "it was asked to end from outside (SIGTERM)"),
    ROW(200, "ContainerTransientFailed", PLATFORM, PLATFORM,
        "it says itself that it may be tried again"),
    ROW(201, "ContainerTransientConflictFailed", "RESOURCE_ALLOCATION_TIMEOUT", CONFLICT,
        "it says itself that something it needs was taken"),
    ROW(210, "ContainerPermanentFailed", USER, USER, "it says itself that it would fail again"),
    ROW(220, "UserCommandExitWithError", USER, USER, "its command was not found"),
    ROW(221, "ContainerTensorflowOOMKilled", USER, USER, "TensorFlow ran out of memory"),
    ROW(222, "ContainerMPISegvFault", USER, USER, "a rank of MPI used memory that is not its own"),
    ROW(223, "ContainerCudaUncorrectableECCError", PLATFORM, PLATFORM,
        "the memory of its GPU is broken"),
    ROW(224, "ContainerCudaVersionMismatch", USER, USER,
        "the driver of the GPU is older than its CUDA needs"),
    ROW(225, "ContainerCudaDnnVersionMismatch", USER, USER, "its cuDNN is another than it needs"),
    ROW(226, "ContainerCudaOOMKilled", USER, USER, "the GPU ran out of memory"),
    ROW(228, "ContainerIncorrectParameterError", USER, USER, "it was given a wrong parameter"),
    ROW(229, "ContainerIncorrectDataModelError", USER, USER,
        "its data or model is not what it expects"),
    ROW(230, "ContainerInvalidSavePath", USER, USER, "it cannot read what it saved"),
    ROW(231, "ContainerSyntaxError", USER, USER, "its program has an error"),
    ROW(232, "ContainerImportError", USER, USER, "a module it imports is not there"),
    ROW(233, "ContainerIndexOutOfRange", USER, USER, "an index was out of range"),
    ROW(234, "ContainerSigvFault", USER, USER, "a program of it used memory that is not its own"),
    ROW(235, "ContainerEngineCoreDump", USER, USER, "a program of it dumped core"),
    ROW(249, "PAIRuntimeSSHBarrierTimeout", PLATFORM, USER, "its peers could not be reached"),
    ROW(250, "FrameworkBarrierTransientFailed", PLATFORM, PLATFORM,
        "it could not learn of its peers"),
    ROW(251, "JobGangAllocationTimeout", "RESOURCE_ALLOCATION_TIMEOUT", CONFLICT,
        "not all tasks got their resources in time"),
    ROW(252, "FrameworkBarrierPermanentFailed", PLATFORM, USER, "it cannot learn of its peers"),
    ROW(253, "ContainerPortConflict", PLATFORM, CONFLICT,
        "a port it was given is in use by another program"),
    ROW(254, "ContainerImageNotFound", USER, USER, "its image does not exist"),
    ROW(255, "PAIRuntimeUnknownFailed", UNKNOWN, UNKNOWN,
        "it failed by itself, its output may say why"),
    ROW(256, "PAIRuntimeExitAbnormally", PLATFORM, UNKNOWN, "it ended in a way that is not known"),
};
enum { EXITS_N = sizeof exits / sizeof exits[0] };

const struct openpai_exit *openpai_v2_exits(size_t *n)
{
    *n = EXITS_N;
    return exits;
}

static const struct openpai_exit *listed(int code)
{
    return openpai_exit_listed(exits, EXITS_N, code);
}

/* ---- what the output says ---- */

/* The first row whose texts stand in the output, the second behind the first, in any case of
 * letters; exit 0: any code. */
static const struct pattern {
    int code, exit;
    const char *text, *then;
} patterns[] = {
    { .code = 220, .exit = 127, .text = "command not found" },
    { .code = 221, .text = "tensorflow", .then = "ResourceExhaustedError" },
    { .code = 221, .text = "ran out of memory trying to allocate" },
    { .code = 222, .text = "Signal code: Address not mapped" },
    { .code = 224, .text = "cuda driver version is insufficient for cuda runtime version" },
    { .code = 225, .text = "dropout supported only in cudnn v" },
    { .code = 228, .text = "unknown option" },
    { .code = 228, .text = "got multiple values for keyword argument" },
    { .code = 228, .text = "bad argument #2 to " },
    { .code = 228, .text = "invalid argument:" },
    { .code = 229, .text = "perhaps your file is in a different file format" },
    { .code = 229, .text = "filenotfounderror: [errno 2] no such file or directory" },
    { .code = 229, .text = "unicodeencodeerror:" },
    { .code = 229, .text = "unicodedecodeerror" },
    { .code = 229, .text = "eoferror: ran out of input" },
    { .code = 229, .text = "oserror:", .then = "input/output error" },
    { .code = 230, .text = "ValueError: Restore called with invalid save path" },
    { .code = 231, .text = "syntaxerror: invalid syntax" },
    { .code = 231, .text = "unpicklingerror" },
    { .code = 231, .text = "attributeerror:", .then = "has no attribute" },
    { .code = 231, .text = "nameerror: name", .then = "is not defined" },
    { .code = 232, .text = "importerror:" },
    { .code = 232,
      .text = "modulenotfounderror:" }, /* its subclass, that Python prints since 3.6 */
    { .code = 233, .text = "indexerror:", .then = "index out of range" },
    { .code = 234, .text = "segmentation fault" },
    { .code = 235, .text = "core dumped" },
};

static const char *find(const char *text, const char *what)
{
    for (size_t n = strlen(what); *text; text++)
        if (strncasecmp(text, what, n) == 0)
            return text + n;
    return NULL;
}

static int writer_code(const struct ending *e)
{
    const char *tail = e->tail ? e->tail : "";
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        const struct pattern *p = &patterns[i];
        if (p->exit && !(e->exited && e->code == p->exit))
            continue;
        const char *behind = find(tail, p->text);
        if (behind && (!p->then || find(behind, p->then)))
            return p->code;
    }
    return 0;
}

/* ---- how it ended ---- */

/* Codes of errors of devices, where the specification has one. */
static const int device_codes[DEVICE_ERROR_N] = {
    [DEVICE_ERROR_ECC] = 223, [DEVICE_ERROR_MEMORY] = 226
};

/* A signal that has a row, then the codes reserved for containers, then what the output says. */
static int own_code(const struct ending *e)
{
    int device = device_codes[device_error_of(e)],
        code = e->exited ? e->code : SIGNALS_FROM + e->signal;
    if (code == 0)
        return 0;
    bool by_signal = code >= SIGNALS_FROM && code <= SIGNALS_FROM + SIGTERM;
    bool reserved = e->exited && (code == 200 || code == 201 || code == 210);
    if ((by_signal || reserved) && listed(code))
        return code;
    if (device)
        return device;
    int said = writer_code(e);
    return said ? said : EXIT_OTHER;
}

static const struct openpai_ends ends = { .stopped = -210,
                                          .completed = -220,
                                          .port = 253,
                                          .oom = -1200,
                                          .time = -1004,
                                          .node_lost = -1001,
                                          .node_full = EXIT_EVICTED,
                                          .launch = -120,
                                          .wrong = -200,
                                          .unknown = -8000,
                                          .own = own_code };

struct end_words v2_classify(const struct job_spec *job, const struct ending *ending)
{
    (void)job;
    const struct openpai_exit *row = listed(openpai_end_code(&ends, ending));
    return (struct end_words){
        .class = row->class, .code = row->code, .phrase = row->phrase, .text = row->text
    };
}

const char *v2_job_word(enum job_state state, bool any_task_running)
{
    return state == JOB_STOPPING ? "STOPPING" : v1_job_word(state, any_task_running);
}
