/* States of jobs, tasks, attempts and agents, the events that move them, and the transition tables.
 */
#ifndef JOB_STATE_H
#define JOB_STATE_H

#include <stdbool.h>

#define JOB_STATES(X)                                                                              \
    X(SUSPENDED, "suspended")                                                                      \
    X(QUEUED, "queued")                                                                            \
    X(STARTING, "starting") /* has its resources, not all tasks run yet */                         \
    X(RUNNING, "running")                                                                          \
    X(RESTARTING, "restarting") /* some task or the whole job is on its way to another attempt */  \
    X(STOPPING, "stopping")     /* outcome decided; tasks are being ended */                       \
    X(SUCCEEDED, "succeeded")                                                                      \
    X(FAILED, "failed")                                                                            \
    X(STOPPED, "stopped")

#define JOB_EVENTS(X)                                                                              \
    X(SUBMITTED, "submitted") /* -> queued */                                                      \
    X(HELD, "held")           /* submitted with suspend -> suspended */                            \
    X(RESUMED, "resumed")                                                                          \
    X(ALLOCATED, "allocated")   /* a generation begins; body: placement */                         \
    X(STARTED, "started")       /* every task of the gang runs */                                  \
    X(TASK_RETRY, "task_retry") /* a task goes into another attempt; its event says so */          \
    X(RECOVERED, "recovered")   /* all tasks run again */                                          \
    X(CLOSING, "closing")       /* outcome decided (body: outcome, reason), tasks being ended */   \
    X(RESTART, "restart")       /* the generation is being ended to start the job anew */          \
    X(REQUEUED, "requeued")     /* resources freed, waits again (after restart, eviction) */       \
    X(PAUSED, "paused")         /* resources freed after suspend */                                \
    X(SUCCEED, "succeeded")     /* resources freed, final */                                       \
    X(FAIL, "failed")                                                                              \
    X(STOP, "stopped")

#define TASK_STATES(X)                                                                             \
    X(WAITING, "waiting")                                                                          \
    X(STARTING, "starting")                                                                        \
    X(RUNNING, "running") X(SUCCEEDED, "succeeded") X(FAILED, "failed") X(STOPPED, "stopped")

/* Events that concern one task; body of ended: exit code, signal, by, reason, oom. */
#define TASK_EVENTS(X)                                                                             \
    X(PLACED, "placed") /* an attempt was given a node */                                          \
    X(STARTED, "started")                                                                          \
    X(RETRY, "retry")       /* the attempt ended, another follows */                               \
    X(SUCCEED, "succeeded") /* final */                                                            \
    X(FAIL, "failed")                                                                              \
    X(STOP, "stopped")                                                                             \
    X(RESET, "reset") /* a new generation begins: waiting again */

#define ATTEMPT_STATES(X)                                                                          \
    X(STARTING, "starting")                                                                        \
    X(RUNNING, "running")                                                                          \
    X(SUCCEEDED, "succeeded") X(FAILED, "failed") X(STOPPED, "stopped") X(LOST, "lost")

#define AGENT_STATES(X)                                                                            \
    X(EXPECTED, "expected") X(JOINED, "joined") X(SILENT, "silent") X(GONE, "gone")

#define STATE_ENUM_(prefix, id, word) prefix##_##id,
#define JOB_ENUM_(id, word)           JOB_##id,
enum job_state { JOB_NONE, JOB_STATES(JOB_ENUM_) JOB_STATE_N };
#undef JOB_ENUM_
#define JOB_ENUM_(id, word) JOB_EV_##id,
enum job_event { JOB_EV_NONE, JOB_EVENTS(JOB_ENUM_) JOB_EV_N };
#undef JOB_ENUM_
#define JOB_ENUM_(id, word) TASK_##id,
enum task_state { TASK_NONE, TASK_STATES(JOB_ENUM_) TASK_STATE_N };
#undef JOB_ENUM_
#define JOB_ENUM_(id, word) TASK_EV_##id,
enum task_event { TASK_EV_NONE, TASK_EVENTS(JOB_ENUM_) TASK_EV_N };
#undef JOB_ENUM_
#define JOB_ENUM_(id, word) ATTEMPT_##id,
enum attempt_state { ATTEMPT_NONE, ATTEMPT_STATES(JOB_ENUM_) ATTEMPT_STATE_N };
#undef JOB_ENUM_
#define JOB_ENUM_(id, word) AGENT_##id,
enum agent_state { AGENT_NONE, AGENT_STATES(JOB_ENUM_) AGENT_STATE_N };
#undef JOB_ENUM_
#undef STATE_ENUM_

/* The next state, or *_NONE when the pair is not in the table: the event is refused and recorded,
 * never guessed. From JOB_NONE only SUBMITTED and HELD are in the table; from TASK_NONE none (tasks
 * are created TASK_WAITING). */
enum job_state job_next_state(enum job_state from, enum job_event event);
enum task_state task_next_state(enum task_state from, enum task_event event);
enum attempt_state attempt_next_state(enum attempt_state from,
                                      enum attempt_state to); /* to, or ATTEMPT_NONE */
enum agent_state agent_next_state(enum agent_state from,
                                  enum agent_state to); /* to, or AGENT_NONE */

const char *job_state_word(enum job_state);
const char *job_event_word(enum job_event);
const char *task_state_word(enum task_state);
const char *task_event_word(enum task_event);
const char *attempt_state_word(enum attempt_state);
const char *agent_state_word(enum agent_state);
enum job_state job_state_parse(const char *word); /* *_NONE when unknown */
enum job_event job_event_parse(const char *word);
enum task_state task_state_parse(const char *word);
enum task_event task_event_parse(const char *word);
enum attempt_state attempt_state_parse(const char *word);
enum agent_state agent_state_parse(const char *word);

bool job_state_final(enum job_state);
bool task_state_final(enum task_state);
bool attempt_state_final(enum attempt_state);
bool job_state_holds(enum job_state); /* has resources: starting running restarting stopping */

/* What a closing job will become once its tasks are gone. */
#define JOB_OUTCOMES(X)                                                                            \
    X(SUCCEEDED, "succeeded", SUCCEED)                                                             \
    X(FAILED, "failed", FAIL)                                                                      \
    X(STOPPED, "stopped", STOP)                                                                    \
    X(REQUEUED, "requeued", REQUEUED)                                                              \
    X(SUSPENDED, "suspended", PAUSED)
#define JOB_ENUM_(id, word, event) OUTCOME_##id,
enum job_outcome { OUTCOME_NONE, JOB_OUTCOMES(JOB_ENUM_) OUTCOME_N };
#undef JOB_ENUM_
const char *job_outcome_word(enum job_outcome);
enum job_outcome job_outcome_parse(const char *word);
enum job_event job_outcome_event(enum job_outcome);

#endif
