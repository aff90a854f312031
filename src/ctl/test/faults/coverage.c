/* Transitions that were reached, and those that can be. The second are the tables of job/state.h
 * and live/phase.h less a list of pairs out of reach, each with its reason. */
#include "ctl/test/faults/coverage.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

#include <stdio.h>
#include <string.h>

struct seen {
    enum table table;
    unsigned from, to;
    uint64_t key; /* of the attempt or the agent; 0: from is known */
};
struct transitions {
    VEC(struct seen) open; /* in order */
    struct map *last;      /* state + 1 of attempts and agents */
};

struct transitions *transitions_create(void)
{
    struct transitions *t = mem_new(sizeof *t);
    t->last = map_create();
    return t;
}

void transitions_destroy(struct transitions *t)
{
    if (!t)
        return;
    vec_fini(&t->open);
    map_destroy(t->last);
    free(t);
}

void transitions_clear(struct transitions *t)
{
    vec_clear(&t->open);
    map_destroy(t->last);
    t->last = map_create();
}

void transition_seen(struct transitions *t, enum table table, unsigned from, unsigned event)
{
    vec_push(&t->open, ((struct seen){ .table = table, .from = from, .to = event }));
}

static uint64_t attempt_key(const struct attempt_row *row)
{
    uint64_t task = hash_u64(hash_u64(row->job) + row->ref.role);
    return hash_u64(hash_u64(task + row->ref.index) + row->attempt) | 1;
}

static uint64_t agent_key(const struct agent_row *row)
{
    uint64_t key = hash_u64(hash_u64(row->job) + row->generation);
    for (const char *c = row->node; *c; c++)
        key = hash_u64(key + (unsigned char)*c);
    return key | 1;
}

void transition_attempt(struct transitions *t, const struct attempt_row *row)
{
    vec_push(&t->open,
             ((struct seen){ .table = TABLE_ATTEMPT, .to = row->state, .key = attempt_key(row) }));
}

void transition_agent(struct transitions *t, const struct agent_row *row)
{
    vec_push(&t->open,
             ((struct seen){ .table = TABLE_AGENT, .to = row->state, .key = agent_key(row) }));
}

/* A row that says the same state again moves nothing; an agent that is gone may come anew, and one
 * that goes in the turn in which it was expected has never been in a row. */
static bool follow(struct transitions *t, struct seen *seen)
{
    if (seen->key == 0)
        return true;
    seen->from = (unsigned)(uintptr_t)map_get(t->last, seen->key);
    if (seen->table == TABLE_AGENT && seen->to == AGENT_GONE) {
        map_remove(t->last, seen->key);
        return seen->from != AGENT_NONE;
    }
    map_set(t->last, seen->key, (void *)(uintptr_t)seen->to);
    return seen->from != seen->to;
}

void transitions_committed(struct transitions *t, struct coverage *coverage)
{
    for (size_t i = 0; i < t->open.n; i++) {
        struct seen *seen = &t->open.at[i];
        if (!follow(t, seen))
            continue;
        if (seen->table == TABLE_AGENT && seen->from == AGENT_EXPECTED &&
            seen->to == AGENT_SILENT) { /* it joined in the same turn */
            coverage->pairs[TABLE_AGENT][AGENT_EXPECTED][AGENT_JOINED]++;
            seen->from = AGENT_JOINED;
        }
        coverage->pairs[seen->table][seen->from][seen->to]++;
    }
    vec_clear(&t->open);
}

void transitions_undone(struct transitions *t)
{
    vec_clear(&t->open);
}

static void load_job(struct transitions *t, struct store *store, struct arena *arena, uint64_t job)
{
    struct attempt_row *attempts;
    struct agent_row *agents;
    size_t n = 0;
    if (store_attempts(store, arena, job, &attempts, &n, NULL) == 0)
        for (size_t i = 0; i < n; i++)
            map_set(t->last, attempt_key(&attempts[i]), (void *)(uintptr_t)attempts[i].state);
    if (store_agents(store, arena, job, &agents, &n, NULL) == 0)
        for (size_t i = 0; i < n; i++)
            map_set(t->last, agent_key(&agents[i]), (void *)(uintptr_t)agents[i].state);
}

void transitions_load(struct transitions *t, struct store *store)
{
    struct arena *arena = arena_create();
    struct job_row *rows;
    size_t n = 0;
    transitions_clear(t);
    if (store_live_jobs(store, arena, &rows, &n, NULL) == 0)
        for (size_t i = 0; i < n; i++)
            load_job(t, store, arena, rows[i].id);
    arena_destroy(arena);
}

void transition_phase(struct coverage *coverage, enum task_phase from, enum task_phase to)
{
    coverage->pairs[TABLE_PHASE][from][to]++;
}

void coverage_add(struct coverage *to, const struct coverage *more)
{
    for (unsigned t = 0; t < TABLE_N; t++)
        for (unsigned i = 0; i < PAIRS_MAX; i++)
            for (unsigned k = 0; k < PAIRS_MAX; k++)
                to->pairs[t][i][k] += more->pairs[t][i][k];
}

/* ---- what can be ---- */

struct unreachable { /* legal by the table, and no path of the core leads there */
    enum table table;
    unsigned from, to;
    const char *why;
};
static const struct unreachable unreachable[] = {
    { TABLE_JOB, JOB_STOPPING, JOB_EV_REQUEUED,
      "a generation that is ended to begin anew is restarting, never stopping" },
    { TABLE_TASK, TASK_WAITING, TASK_EV_FAIL,
      "what fails is an attempt, and a task that waits has none" },
    { TABLE_TASK, TASK_STARTING, TASK_EV_RESET,
      "a generation begins when every task of the last one has ended" },
    { TABLE_TASK, TASK_RUNNING, TASK_EV_RESET,
      "a generation begins when every task of the last one has ended" },
};

static const char *why_not(enum table table, unsigned from, unsigned to)
{
    for (size_t i = 0; i < ARRAY_LEN(unreachable); i++)
        if (unreachable[i].table == table && unreachable[i].from == from && unreachable[i].to == to)
            return unreachable[i].why;
    return NULL;
}

static bool legal(enum table table, unsigned from, unsigned to)
{
    switch (table) {
    case TABLE_JOB: return job_next_state((enum job_state)from, (enum job_event)to) != JOB_NONE;
    case TABLE_TASK:
        return task_next_state((enum task_state)from, (enum task_event)to) != TASK_NONE;
    case TABLE_ATTEMPT:
        return attempt_next_state((enum attempt_state)from, (enum attempt_state)to) != ATTEMPT_NONE;
    case TABLE_PHASE: return from < PHASE_N && to < PHASE_N && phase_may(from, to);
    case TABLE_AGENT:
    default: return agent_next_state((enum agent_state)from, (enum agent_state)to) != AGENT_NONE;
    }
}

static const char *from_word(enum table table, unsigned from)
{
    switch (table) {
    case TABLE_JOB: return job_state_word((enum job_state)from);
    case TABLE_TASK: return task_state_word((enum task_state)from);
    case TABLE_ATTEMPT: return attempt_state_word((enum attempt_state)from);
    case TABLE_PHASE: return phase_word((enum task_phase)from);
    case TABLE_AGENT:
    default: return agent_state_word((enum agent_state)from);
    }
}

static const char *to_word(enum table table, unsigned to)
{
    switch (table) {
    case TABLE_JOB: return job_event_word((enum job_event)to);
    case TABLE_TASK: return task_event_word((enum task_event)to);
    default: return from_word(table, to);
    }
}

static const char *const names[TABLE_N] = { "job", "task", "attempt", "agent", "phase" };

struct share {
    unsigned legal, reached, listed, wrong;
};

static void look_at_pair(const struct coverage *c, enum table table, unsigned from, unsigned to,
                         struct share *share)
{
    const char *why = why_not(table, from, to);
    uint64_t times = c->pairs[table][from][to];
    bool may = legal(table, from, to);
    const char *problem = times && !may  ? "reached, and not in the table"
                          : times && why ? "reached, and listed as one that cannot be"
                                         : NULL;
    share->wrong += problem != NULL;
    share->listed += may && why;
    share->legal += may && !why;
    share->reached += may && !why && times;
    if (problem)
        printf("  %s %s, %s: %s\n", names[table], from_word(table, from), to_word(table, to),
               problem);
    else if (may && !times)
        printf("  %s %s, %s: not reached%s%s\n", names[table], from_word(table, from),
               to_word(table, to), why ? ": " : "", why ? why : "");
}

bool coverage_print(const struct coverage *c, unsigned percent)
{
    bool enough = true;
    for (unsigned t = 0; t < TABLE_N; t++) {
        struct share share = { 0 };
        for (unsigned from = 0; from < PAIRS_MAX; from++)
            for (unsigned to = 0; to < PAIRS_MAX; to++)
                look_at_pair(c, (enum table)t, from, to, &share);
        printf("%s: %u of %u legal pairs reached, %u more cannot be\n", names[t], share.reached,
               share.legal, share.listed);
        enough = enough && share.wrong == 0 && 100 * share.reached >= percent * share.legal;
    }
    return enough;
}
