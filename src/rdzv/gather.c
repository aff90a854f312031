/* From one state to the next: called after every event, decides by the state alone who forms the
 * next world and when. It reads no clock; the time is handed in, and so is when to look again. */
#include "rdzv/gather.h"

#include "base/scan.h"
#include "rdzv/deadline.h"
#include "rdzv/node_check.h"
#include "rdzv/rounds.h"
#include "rdzv/state.h"
#include "rdzv/world.h"

#include <stdlib.h>

static int by_seniority(const void *a, const void *b)
{
    const struct member *const *x = a;
    const struct member *const *y = b;
    return (*x)->senior < (*y)->senior ? -1 : (*x)->senior > (*y)->senior;
}

/* Those of the last round first, in their order, then by arrival. */
static struct member **choose(struct rdzv *rdzv, uint32_t n)
{
    struct member **all =
        ARENA_ARRAY(rdzv->orders.memory, rdzv->members.parts[PART_WAITING], struct member *);
    size_t found = 0;
    for (size_t i = 0; i < rdzv->members.all.n; i++)
        if (rdzv->members.all.at[i]->part == PART_WAITING)
            all[found++] = rdzv->members.all.at[i];
    qsort(all, found, sizeof *all, by_seniority);
    return n <= found ? all : NULL;
}

static void form(struct rdzv *rdzv, uint32_t n, uint64_t now_us)
{
    struct member **chosen = choose(rdzv, n);
    if (!chosen)
        return;
    bool check = false;
    for (uint32_t i = 0; i < n; i++)
        check = check || (rdzv->settings.check && !chosen[i]->checked);
    if (check)
        node_check_begin(rdzv, chosen, n, now_us);
    else
        rounds_start(rdzv, chosen, n);
}

static void too_few(struct rdzv *rdzv, uint64_t now_us)
{
    uint32_t here = rdzv->members.parts[PART_WAITING];
    uint32_t least = world_least(&rdzv->settings);
    bool known = rdzv->expected != UINT32_MAX;
    char waited[FMT_MAX];
    const char *left = here == 1 ? "node is left" : "nodes are left";
    if (rdzv->held)
        return;
    if (rdzv->barrier_passed)
        rounds_over(rdzv, RDZV_END_FAILED,
                    "%s; %u %s beside those that are done, and a round needs %u", rdzv->cause, here,
                    left, least);
    else if (rdzv->stopped[0] && !known)
        rounds_over(rdzv, RDZV_END_STOPPED, "%s; %u %s, and a round needs %u", rdzv->stopped, here,
                    left, least);
    else if (known && rdzv->expected + rdzv->later < least)
        rounds_over(rdzv, RDZV_END_LOST, "only %u nodes can take part, and a round needs %u",
                    rdzv->expected + rdzv->later, least);
    else if (now_us >= deadline_after(rdzv->gather_us, rdzv->settings.join_ms))
        rounds_over(rdzv, rdzv->has_round ? RDZV_END_LOST : RDZV_END_TIMEOUT,
                    "%u of at least %u nodes were there after %s%s%s", here, least,
                    fmt_duration(waited, rdzv->settings.join_ms), rdzv->has_round ? ": " : "",
                    rdzv->has_round ? rdzv->cause : "");
}

static void step_gather(struct rdzv *rdzv, uint64_t now_us)
{
    if (!rdzv->settled || !rdzv->gathering || rdzv->members.parts[PART_BUSY] > 0)
        return;
    uint32_t here = rdzv->members.parts[PART_WAITING];
    uint32_t n = world_largest(&rdzv->settings, here);
    if (n < world_least(&rdzv->settings)) {
        too_few(rdzv, now_us);
        return;
    }
    bool full = n == world_largest(&rdzv->settings, UINT32_MAX);
    bool late = now_us >= deadline_after(rdzv->last_join_us, rdzv->settings.last_call_ms) ||
                now_us >= deadline_after(rdzv->gather_us, rdzv->settings.join_ms);
    if (full || here >= rdzv->expected || rdzv->has_round || late)
        form(rdzv, n, now_us);
}

static void step_run(struct rdzv *rdzv, uint64_t now_us)
{
    const uint32_t *states = rdzv->places.states;
    if (rdzv->resuming && states[PLACE_ABSENT] == 0)
        rdzv->resuming = false;
    if (states[PLACE_DONE] + states[PLACE_DONE_GONE] == rdzv->places.n) {
        rounds_over(rdzv, RDZV_END_DONE, "all ranks on %zu nodes ended with 0", rdzv->places.n);
        return;
    }
    /* A newcomer is let in when that makes a larger world; near the end (somebody is done) it is
     * not worth a restart of the others. */
    uint32_t running = states[PLACE_RUNNING];
    if (rdzv->resuming || running != rdzv->places.n || rdzv->members.parts[PART_WAITING] == 0 ||
        world_largest(&rdzv->settings, running + rdzv->members.parts[PART_WAITING]) <= running)
        return;
    const char *name = "a node";
    for (size_t i = 0; i < rdzv->members.all.n; i++)
        if (rdzv->members.all.at[i]->part == PART_WAITING)
            name = rdzv->members.all.at[i]->node;
    char cause[SENTENCE];
    (void)snprintf(cause, sizeof cause, "%s joined", name);
    rounds_stop(rdzv, false, cause, now_us);
}

static void step_stopping(struct rdzv *rdzv, uint64_t now_us)
{
    if (rdzv->resuming && rdzv->places.states[PLACE_ABSENT] == 0)
        rdzv->resuming = false;
    if (rdzv->places.states[PLACE_STOPPING] + rdzv->places.states[PLACE_ABSENT] > 0)
        return;
    size_t finished = 0;
    for (size_t i = 0; i < rdzv->places.n; i++)
        finished += rdzv->places.at[i].finished;
    rounds_settle(rdzv);
    if (rdzv->final) {
        rounds_over(rdzv, RDZV_END_FAILED, "%s; %s", rdzv->cause, rdzv->final_why);
        return;
    }
    if (finished == rdzv->places.n) {
        rounds_over(rdzv, RDZV_END_DONE, "all ranks on %zu nodes ended with 0", rdzv->places.n);
        return;
    }
    state_gather(rdzv, now_us);
}

void gather_progress(struct rdzv *rdzv, uint64_t now_us)
{
    enum rdzv_phase before;
    do {
        before = rdzv->phase;
        switch (before) {
        case RDZV_GATHER: step_gather(rdzv, now_us); break;
        case RDZV_CHECK: node_check_progress(rdzv, now_us); break;
        case RDZV_RUN: step_run(rdzv, now_us); break;
        case RDZV_STOPPING: step_stopping(rdzv, now_us); break;
        case RDZV_OVER: break;
        }
    } while (rdzv->phase != before);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t gather_due(const struct rdzv *rdzv)
{
    uint64_t due = UINT64_MAX;
    if (rdzv->phase == RDZV_GATHER && rdzv->gathering && rdzv->members.parts[PART_BUSY] == 0) {
        due = rdzv->held ? UINT64_MAX : deadline_after(rdzv->gather_us, rdzv->settings.join_ms);
        if (world_largest(&rdzv->settings, rdzv->members.parts[PART_WAITING]) >=
            world_least(&rdzv->settings))
            due = sooner(due, deadline_after(rdzv->last_join_us, rdzv->settings.last_call_ms));
    }
    if (rdzv->phase == RDZV_CHECK)
        due = rdzv->check.until_us;
    if (rdzv->resuming && !rdzv->held)
        due = sooner(due, rdzv->resume_us);
    if (rdzv->phase == RDZV_RUN && rdzv->places.states[PLACE_DONE])
        due = sooner(due, deadline_after(rdzv->first_done_us, rdzv->settings.exit_barrier_ms));
    return due;
}
