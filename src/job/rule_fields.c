/* Field tables of the rules of a job: limits, retry, health. They decode, encode, document and
 * describe; rules between their fields are in check.c. */
#include "job/job_fields.h"

#include "job/job.h"

const struct field_word scope_words[] = {
    { "job", RETRY_SCOPE_JOB }, { "role", RETRY_SCOPE_ROLE }, { "task", RETRY_SCOPE_TASK }, { 0 }
};
static const struct field_word hold_words[] = {
    { "always", 0 }, { "success", 1 }, { "failure", 2 }, { 0 }
};
static const struct field_word check_words[] = { { "never", false },
                                                 { "before_start", true },
                                                 { 0 } };
static const struct field_word fault_words[] = {
    { "restart", 0 }, { "replace_node", 1 }, { "stop", 2 }, { "ignore", 3 }, { 0 }
};

const struct field limits_fields[] = {
    FIELD(MAYBE_DURATION, "run_time", struct limits, run_time_ms, .min = 1,
          .doc = "longest run time of the job; then it is stopped and has failed"),
    FIELD(MAYBE_DURATION, "pending", struct limits, pending_ms, .min = 1,
          .doc = "longest wait in the queue; then the job has failed"),
    FIELD(DURATION, "grace", struct limits, grace_ms, .def = 10000, .max = 86400000,
          .doc = "time between SIGTERM and SIGKILL when a task is ended"),
    FIELD(DURATION, "hold", struct limits, hold_ms,
          .doc =
              "resources are kept so long after the end, for a look around; those of ended tasks "
              "go to others of the job that still wait for room"),
    FIELD(WORD, "hold_when", struct limits, hold_when, .words = hold_words, .def_text = "always",
          .doc = "which ends are held"),
    FIELD(MAYBE_DURATION, "keep", struct limits, keep_ms,
          .doc = "the job's record is kept so long after the end; left out: the server's "
                 "setting, 30 days"),
    FIELD_END,
};

#define CLASS(key, member, ...)                                                                    \
    FIELD(COUNT, key, struct retry, member, .counts = FIELD_NEVER | FIELD_FOR_EVER, __VA_ARGS__)
const struct field retry_fields[] = {
    FIELD(ENUM, "scope", struct retry, scope, .words = scope_words, .def = RETRY_SCOPE_TASK,
          .doc = "what starts anew: the whole job, the role, or the task"),
    CLASS("platform", platform, .def = 3,
          .doc = "retries after an end that was the platform's doing (node or agent lost)"),
    CLASS("conflict", conflict, .def_text = "always",
          .doc = "retries after a task could not get what it needs (a port taken); with back-off"),
    CLASS("unknown", unknown, .def_text = "never",
          .doc = "retries after a failure that may pass (exit code not 0, a signal)"),
    CLASS("user", user, .def_text = "never",
          .doc = "retries after a failure that is sure to come again (out of memory, no such "
                 "command)"),
    CLASS("success", success, .def_text = "never",
          .doc = "starts anew after a success (a service)"),
    FIELD(BOOL, "platform_counted", struct retry, platform_counted,
          .doc = "platform and unknown share one counter, each against its own limit"),
    FIELD(U32, "per_node", struct retry, per_node, .max = 1000000,
          .doc = "failures of one task on one node after which the job avoids that node, where it "
                 "can; more nodes than `platform` retries fail the job; 0: never"),
    FIELD(DURATION, "backoff", struct retry, backoff_ms, .def = 1000, .max = 86400000,
          .doc = "first wait after a conflict, doubled each time"),
    FIELD(DURATION, "backoff_max", struct retry, backoff_max_ms, .def = 60000, .max = 86400000,
          .doc = "longest wait after a conflict"),
    FIELD_END,
};

const struct field health_fields[] = {
    FIELD(ENUM, "check", struct health, check_before_start, .flags = FIELD_REFUSED,
          .words = check_words, .doc = "check the nodes before the first task starts"),
    FIELD(MAYBE_DURATION, "hang_after", struct health, hang_after_ms, .flags = FIELD_REFUSED,
          .min = 1000, .doc = "a task that gives no sign of life for so long is taken for hung"),
    FIELD(DURATION, "silent_after", struct health, silent_after_ms, .def = 3000, .max = 86400000,
          .doc = "elastic roles go on without a machine that says nothing for so long, with fewer "
                 "nodes or with a spare; less than 3s is not noticed sooner; 0: they wait for it"),
    FIELD(WORD, "on_fault", struct health, on_fault, .flags = FIELD_REFUSED, .words = fault_words,
          .doc = "what to do about a faulty node or a hung task"),
    FIELD(BOOL, "debug_hold", struct health, debug_hold,
          .doc = "keep directory and view of a failed task, for `muster exec`"),
    FIELD_END,
};
