/* Which of a job's tasks died first: what its reason, its record and the hint after it name.
 *
 * A cause of its own goes before an error that speaks of another's end, because who is gone for the
 * others may take a while yet to end for the kernel. Of equals, on one node the order is the
 * kernel's, as the node's agent saw it, and what one wake-up of the agent saw is a tie; of
 * different nodes it is the order in which their deaths were heard here, for no two clocks are
 * compared. Who was told to end does not count, nor do roles whose failures never decide.
 *
 * The first is kept in the notes, because the failure that decides may come much later, and after a
 * restart of the server; the order of the others only lives here. */
#include "live/deaths.h"

#include "base/mem.h"
#include "job/peer_error.h"
#include "job/rendezvous.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define CLAUSE_MAX 199u /* of the sentence about it, so that there is room for who else */

static bool counts(const struct live_job *job, const struct death *death)
{
    const struct live_task *task = &job->tasks[death->flat];
    enum end_origin by = death->ending->by;
    return death->class != END_SUCCESS && death->class != END_STOPPED && by != BY_USER &&
           by != BY_POLICY && job->spec->roles[task->place.role].done.failed.kind != COUNT_NEVER;
}

static bool of_peer(const struct ending *ending)
{
    return (ending->exited || ending->signal == SIGABRT) && ending->tail &&
           peer_error_in(ending->tail);
}

static bool same_moment(const struct live_job *job, uint32_t a, uint32_t b)
{
    return job->tasks[a].death.wakeup && job->tasks[a].death.wakeup == job->tasks[b].death.wakeup &&
           strcmp(job->tasks[a].place.node, job->tasks[b].place.node) == 0;
}

static void name_first(struct live_job *job, uint32_t flat)
{
    struct live_column *notes = &job->notes;
    char name[160];
    notes->first.at = ARENA_ARRAY(job->places, 1, const char *);
    notes->first.at[0] = arena_strdup(job->places, live_task_name(name, job, flat));
    notes->first.n = 1;
    job->first = flat;
}

static void put_first(struct live_job *job, uint32_t flat)
{
    name_first(job, flat);
    job->notes.first_text = job->tasks[flat].death.text;
    job->notes.first_class = job->tasks[flat].death.class;
}

/* It may have been the first as well. */
static void name_too(struct live_job *job, uint32_t flat)
{
    struct words *first = &job->notes.first;
    char name[160];
    const char **wider = ARENA_ARRAY(job->places, first->n + 1, const char *);
    memcpy(wider, first->at, first->n * sizeof *wider);
    wider[first->n++] = arena_strdup(job->places, live_task_name(name, job, flat));
    first->at = wider;
}

/* Where does one more stand? true: what is first has changed. */
static bool enter(struct live_job *job, uint32_t flat)
{
    const struct live_death *death = &job->tasks[flat].death;
    if (job->notes.first.n == 0) {
        put_first(job, flat);
        return true;
    }
    const struct live_death *first = &job->tasks[job->first].death;
    if (death->of_peer == first->of_peer) {
        bool tie = first->order && same_moment(job, flat, job->first);
        if (tie)
            name_too(job, flat);
        return tie;
    }
    if (death->of_peer || !first->order)
        return false;
    put_first(job, flat);
    return true;
}

static int by_order(const void *a, const void *b)
{
    const struct live_death *x = *(const struct live_death *const *)a;
    const struct live_death *y = *(const struct live_death *const *)b;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* What was known of one of them has changed, or it does not count any more. */
static void find_anew(struct live_job *job)
{
    struct arena *arena = arena_create();
    const struct live_death **dead = ARENA_ARRAY(arena, job->row.tasks, const struct live_death *);
    size_t n = 0;
    for (uint32_t i = 0; i < job->row.tasks; i++)
        if (job->tasks[i].death.order)
            dead[n++] = &job->tasks[i].death;
    if (n > 1)
        qsort(dead, n, sizeof *dead, by_order);
    bool loaded = job->notes.first.n && !job->tasks[job->first].death.order &&
                  job->tasks[job->first].state == TASK_FAILED; /* before this server began */
    if (!loaded)
        job->notes.first = (struct words){ 0 };
    for (size_t i = 0; i < n; i++)
        (void)enter(job, dead[i]->flat);
    arena_destroy(arena);
}

bool death_add(struct live_job *job, uint64_t now_ms, const struct death *death)
{
    struct live_death *at = &job->tasks[death->flat].death;
    bool known = at->order != 0, peer = of_peer(death->ending);
    if (!counts(job, death) || job->notes.first_is_root)
        return false;
    const char *before = job->notes.first.n ? job->notes.first_text : NULL;
    bool moves = known && at->of_peer != peer;
    at->flat = death->flat;
    at->class = death->class;
    at->of_peer = peer;
    at->text = arena_strndup(job->places, death->text, strnlen(death->text, CLAUSE_MAX));
    if (known && job->notes.first.n && job->first == death->flat) {
        job->notes.first_text = at->text;
        job->notes.first_class = at->class;
    }
    if (known && !moves)
        return false;
    if (moves) {
        find_anew(job);
        return job->notes.first_text != before;
    }
    at->order = ++job->deaths;
    at->at_ms = now_ms;
    at->wakeup = death->wakeup;
    return enter(job, death->flat);
}

uint64_t deaths_wait(const struct live_job *job)
{
    const struct live_death *first = &job->tasks[job->first].death;
    if (!job->notes.first.n || !first->order || !first->of_peer)
        return 0;
    for (uint32_t i = 0; i < job->row.tasks; i++)
        if (live_attempt(&job->tasks[i]))
            return first->at_ms + PEER_ERROR_WAIT_MS;
    return 0;
}

void death_forget(struct live_job *job, uint32_t flat)
{
    struct live_death *death = &job->tasks[flat].death;
    bool counted = death->order != 0;
    *death = (struct live_death){ 0 };
    if (counted)
        find_anew(job);
}

void deaths_name_root(struct live_job *job, uint32_t flat, const char *clause)
{
    char name[160];
    name_first(job, flat);
    job->notes.first_is_root = true;
    job->notes.first_text = arena_printf(job->places, "%.100s: %.*s",
                                         live_task_name(name, job, flat), (int)CLAUSE_MAX, clause);
}

void deaths_begin(struct live_job *job)
{
    for (uint32_t i = 0; job->deaths > 0 && i < job->row.tasks; i++)
        job->tasks[i].death = (struct live_death){ 0 };
    job->deaths = 0;
    job->notes.first = (struct words){ 0 };
    job->notes.first_text = NULL;
    job->notes.first_decides = job->notes.first_is_root = false;
}

void deaths_load(struct live_job *job)
{
    uint32_t flat = job->notes.first.n && job->tasks ? live_task_named(job, job->notes.first.at[0])
                                                     : UINT32_MAX;
    if (flat == UINT32_MAX)
        job->notes.first = (struct words){ 0 };
    else
        job->first = flat;
}
