/* Which transitions of job/state.h and live/phase.h a simulation went through: pairs of (state,
 * event) of jobs and tasks, of (state, next state) of attempts, agents and phases of tasks. A
 * transition counts when the commit that holds it went well; one of phases, which are in no record,
 * when it is made. Test code. */
#ifndef CTL_TEST_FAULTS_COVERAGE_H
#define CTL_TEST_FAULTS_COVERAGE_H

#include "job/state.h"
#include "live/phase.h"
#include "store/store.h"

#include <stdint.h>

enum table { TABLE_JOB, TABLE_TASK, TABLE_ATTEMPT, TABLE_AGENT, TABLE_PHASE, TABLE_N };
#define PAIRS_MAX 16
struct coverage {
    uint64_t pairs[TABLE_N][PAIRS_MAX][PAIRS_MAX];
};

struct transitions; /* of the open transaction, and the last states of attempts and agents */
struct transitions *transitions_create(void);
void transitions_destroy(struct transitions *);
void transitions_clear(struct transitions *); /* another seed */
void transition_seen(struct transitions *, enum table, unsigned from, unsigned event);
void transition_attempt(struct transitions *, const struct attempt_row *);
void transition_agent(struct transitions *, const struct agent_row *);
void transitions_committed(struct transitions *, struct coverage *);
void transitions_undone(struct transitions *);
/* A server has begun: the last states are those of the records. */
void transitions_load(struct transitions *, struct store *);

void transition_phase(struct coverage *, enum task_phase from, enum task_phase to);
void coverage_add(struct coverage *, const struct coverage *more);
/* Prints the share of the legal pairs that was reached, table by table, and what was not. false: a
 * table is below `percent`, or a pair was reached that is listed as one that cannot be. */
bool coverage_print(const struct coverage *, unsigned percent);

#endif
