/* The transition tables of jobs, tasks, attempts and agents, and the words of their states and
 * events. Pure. A pair that is not in a table is *_NONE: the event is refused and recorded, never
 * guessed. */
#include "job/state.h"

#include <stdint.h>
#include <string.h>

/* ---- words ---- */

#define WORD_OF(prefix, id, word)     [prefix##_##id] = (word),
#define JOB_WORD(id, word)            WORD_OF(JOB, id, word)
#define JOB_EV_WORD(id, word)         WORD_OF(JOB_EV, id, word)
#define TASK_WORD(id, word)           WORD_OF(TASK, id, word)
#define TASK_EV_WORD(id, word)        WORD_OF(TASK_EV, id, word)
#define ATTEMPT_WORD(id, word)        WORD_OF(ATTEMPT, id, word)
#define AGENT_WORD(id, word)          WORD_OF(AGENT, id, word)
#define OUTCOME_WORD(id, word, event) [OUTCOME_##id] = (word),

static const char *const job_words[JOB_STATE_N] = { "none", JOB_STATES(JOB_WORD) };
static const char *const job_ev_words[JOB_EV_N] = { "none", JOB_EVENTS(JOB_EV_WORD) };
static const char *const task_words[TASK_STATE_N] = { "none", TASK_STATES(TASK_WORD) };
static const char *const task_ev_words[TASK_EV_N] = { "none", TASK_EVENTS(TASK_EV_WORD) };
static const char *const attempt_words[ATTEMPT_STATE_N] = { "none", ATTEMPT_STATES(ATTEMPT_WORD) };
static const char *const agent_words[AGENT_STATE_N] = { "none", AGENT_STATES(AGENT_WORD) };
static const char *const outcome_words[OUTCOME_N] = { "none", JOB_OUTCOMES(OUTCOME_WORD) };

static const char *word_at(const char *const *words, unsigned n, unsigned value)
{
    return value < n ? words[value] : words[0];
}

/* 0 (the *_NONE of every enum) when no word fits; "none" is no word of a state. */
static unsigned word_find(const char *const *words, unsigned n, const char *word)
{
    for (unsigned i = 1; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return 0;
}

#define WORDS_BOTH_WAYS(name, type, words, count)                                                  \
    const char *name##_word(type value)                                                            \
    {                                                                                              \
        return word_at(words, count, (unsigned)value);                                             \
    }                                                                                              \
    type name##_parse(const char *word)                                                            \
    {                                                                                              \
        return (type)word_find(words, count, word);                                                \
    }

WORDS_BOTH_WAYS(job_state, enum job_state, job_words, JOB_STATE_N)
WORDS_BOTH_WAYS(job_event, enum job_event, job_ev_words, JOB_EV_N)
WORDS_BOTH_WAYS(task_state, enum task_state, task_words, TASK_STATE_N)
WORDS_BOTH_WAYS(task_event, enum task_event, task_ev_words, TASK_EV_N)
WORDS_BOTH_WAYS(attempt_state, enum attempt_state, attempt_words, ATTEMPT_STATE_N)
WORDS_BOTH_WAYS(agent_state, enum agent_state, agent_words, AGENT_STATE_N)
WORDS_BOTH_WAYS(job_outcome, enum job_outcome, outcome_words, OUTCOME_N)

/* ---- transitions ---- */

/* A whole-job restart waits in restarting while the old generation's tasks are ended, then goes
 * back to queued: an allocation belongs to one generation. A stopping job may change its mind about
 * the outcome (a stop while it is being evicted). */
static const uint8_t job_next[JOB_STATE_N][JOB_EV_N] = {
    [JOB_NONE] = { [JOB_EV_SUBMITTED] = JOB_QUEUED, [JOB_EV_HELD] = JOB_SUSPENDED },
    [JOB_SUSPENDED] = { [JOB_EV_RESUMED] = JOB_QUEUED, [JOB_EV_STOP] = JOB_STOPPED },
    [JOB_QUEUED] = { [JOB_EV_ALLOCATED] = JOB_STARTING,
                     [JOB_EV_PAUSED] = JOB_SUSPENDED,
                     [JOB_EV_FAIL] = JOB_FAILED,
                     [JOB_EV_STOP] = JOB_STOPPED },
    [JOB_STARTING] = { [JOB_EV_STARTED] = JOB_RUNNING,
                       [JOB_EV_TASK_RETRY] = JOB_RESTARTING,
                       [JOB_EV_RESTART] = JOB_RESTARTING,
                       [JOB_EV_CLOSING] = JOB_STOPPING },
    [JOB_RUNNING] = { [JOB_EV_TASK_RETRY] = JOB_RESTARTING,
                      [JOB_EV_RESTART] = JOB_RESTARTING,
                      [JOB_EV_CLOSING] = JOB_STOPPING },
    [JOB_RESTARTING] = { [JOB_EV_TASK_RETRY] = JOB_RESTARTING,
                         [JOB_EV_RECOVERED] = JOB_RUNNING,
                         [JOB_EV_RESTART] = JOB_RESTARTING,
                         [JOB_EV_REQUEUED] = JOB_QUEUED,
                         [JOB_EV_CLOSING] = JOB_STOPPING },
    [JOB_STOPPING] = { [JOB_EV_CLOSING] = JOB_STOPPING,
                       [JOB_EV_REQUEUED] = JOB_QUEUED,
                       [JOB_EV_PAUSED] = JOB_SUSPENDED,
                       [JOB_EV_SUCCEED] = JOB_SUCCEEDED,
                       [JOB_EV_FAIL] = JOB_FAILED,
                       [JOB_EV_STOP] = JOB_STOPPED },
};

/* A final task leaves its state only when a new generation begins, in which all tasks wait. */
static const uint8_t task_next[TASK_STATE_N][TASK_EV_N] = {
    [TASK_WAITING] = { [TASK_EV_PLACED] = TASK_STARTING,
                       [TASK_EV_FAIL] = TASK_FAILED,
                       [TASK_EV_STOP] = TASK_STOPPED },
    [TASK_STARTING] = { [TASK_EV_STARTED] = TASK_RUNNING,
                        [TASK_EV_RETRY] = TASK_WAITING,
                        [TASK_EV_SUCCEED] = TASK_SUCCEEDED,
                        [TASK_EV_FAIL] = TASK_FAILED,
                        [TASK_EV_STOP] = TASK_STOPPED,
                        [TASK_EV_RESET] = TASK_WAITING },
    [TASK_RUNNING] = { [TASK_EV_RETRY] = TASK_WAITING,
                       [TASK_EV_SUCCEED] = TASK_SUCCEEDED,
                       [TASK_EV_FAIL] = TASK_FAILED,
                       [TASK_EV_STOP] = TASK_STOPPED,
                       [TASK_EV_RESET] = TASK_WAITING },
    [TASK_SUCCEEDED] = { [TASK_EV_RESET] = TASK_WAITING },
    [TASK_FAILED] = { [TASK_EV_RESET] = TASK_WAITING },
    [TASK_STOPPED] = { [TASK_EV_RESET] = TASK_WAITING },
};

#define BIT(state) (1u << (state))
#define ATTEMPT_ENDS                                                                               \
    (BIT(ATTEMPT_SUCCEEDED) | BIT(ATTEMPT_FAILED) | BIT(ATTEMPT_STOPPED) | BIT(ATTEMPT_LOST))
static const unsigned attempt_next[ATTEMPT_STATE_N] = {
    [ATTEMPT_NONE] = BIT(ATTEMPT_STARTING),
    [ATTEMPT_STARTING] = BIT(ATTEMPT_RUNNING) | ATTEMPT_ENDS,
    [ATTEMPT_RUNNING] = ATTEMPT_ENDS,
};
static const unsigned agent_next[AGENT_STATE_N] = {
    [AGENT_NONE] = BIT(AGENT_EXPECTED),
    [AGENT_EXPECTED] = BIT(AGENT_JOINED) | BIT(AGENT_GONE),
    [AGENT_JOINED] = BIT(AGENT_SILENT) | BIT(AGENT_GONE),
    [AGENT_SILENT] = BIT(AGENT_JOINED) | BIT(AGENT_GONE),
};

enum job_state job_next_state(enum job_state from, enum job_event event)
{
    bool known = from < JOB_STATE_N && event < JOB_EV_N;
    return known ? (enum job_state)job_next[from][event] : JOB_NONE;
}

enum task_state task_next_state(enum task_state from, enum task_event event)
{
    bool known = from < TASK_STATE_N && event < TASK_EV_N;
    return known ? (enum task_state)task_next[from][event] : TASK_NONE;
}

enum attempt_state attempt_next_state(enum attempt_state from, enum attempt_state to)
{
    bool known = from < ATTEMPT_STATE_N && to < ATTEMPT_STATE_N;
    return known && (attempt_next[from] & BIT(to)) ? to : ATTEMPT_NONE;
}

enum agent_state agent_next_state(enum agent_state from, enum agent_state to)
{
    bool known = from < AGENT_STATE_N && to < AGENT_STATE_N;
    return known && (agent_next[from] & BIT(to)) ? to : AGENT_NONE;
}

/* ---- questions ---- */

bool job_state_final(enum job_state state)
{
    return state == JOB_SUCCEEDED || state == JOB_FAILED || state == JOB_STOPPED;
}

bool task_state_final(enum task_state state)
{
    return state == TASK_SUCCEEDED || state == TASK_FAILED || state == TASK_STOPPED;
}

bool attempt_state_final(enum attempt_state state)
{
    return state < ATTEMPT_STATE_N && (ATTEMPT_ENDS & BIT(state));
}

bool job_state_holds(enum job_state state)
{
    return state == JOB_STARTING || state == JOB_RUNNING || state == JOB_RESTARTING ||
           state == JOB_STOPPING;
}

enum job_event job_outcome_event(enum job_outcome outcome)
{
#define OUTCOME_EVENT(id, word, event) [OUTCOME_##id] = JOB_EV_##event,
    static const uint8_t events[OUTCOME_N] = { JOB_EV_NONE, JOB_OUTCOMES(OUTCOME_EVENT) };
#undef OUTCOME_EVENT
    return outcome < OUTCOME_N ? (enum job_event)events[outcome] : JOB_EV_NONE;
}
