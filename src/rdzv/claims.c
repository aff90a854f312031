/* A leader that begins anew (a survivor, a restarted server) learns from its members what runs, and
 * goes on from there. The newest round that anybody holds is taken over; who holds an older one is
 * told to stop it. While the round runs under this leader the same claims tell a broken connection
 * from a member that lost its ranks. */
#include "rdzv/claims.h"

#include "rdzv/deadline.h"
#include "rdzv/rounds.h"
#include "rdzv/state.h"

#include <stdio.h>

/* Numbers so large that nobody could count on are no claim, nor is one without a round. */
static bool believable(const struct rdzv_claim *claim)
{
    return claim->term > 0 && claim->term < UINT64_MAX / 2 && claim->round < UINT32_MAX / 2 &&
           claim->nodes > 0;
}

bool claims_current(const struct rdzv *rdzv, uint64_t term, uint32_t round)
{
    /* Its members may speak of the term it began in or of a later leader's. An older term does no
     * harm: whoever has a place here has joined this leader, so it cannot mean another round. */
    return rdzv->has_round && (rdzv->phase == RDZV_RUN || rdzv->phase == RDZV_STOPPING) &&
           round == rdzv->round && term <= rdzv->term;
}

/* Two leaders that did not know of each other may both have begun a round of this number. */
static bool same_world(const struct rdzv *rdzv, const struct rdzv_claim *claim)
{
    return claim->nodes == rdzv->places.n && claim->world_id == rdzv->world_id;
}

static bool can_take_over(const struct rdzv *rdzv, const struct rdzv_join *join)
{
    const struct rdzv_claim *claim = &join->claim;
    if (claim->nodes == 0 || claim->nodes > RDZV_MAX_MEMBERS || claim->group_rank >= claim->nodes)
        return false;
    if (!rdzv->has_round)
        return rdzv->phase == RDZV_GATHER || rdzv->phase == RDZV_CHECK;
    return rdzv->resuming && (claim->round > rdzv->round ||
                              (claim->round == rdzv->round && claim->term > rdzv->round_term &&
                               !same_world(rdzv, claim)));
}

/* Who was taken for running the older round is told to end it. */
static void drop_older(struct rdzv *rdzv, uint64_t now_us)
{
    for (size_t i = 0; i < rdzv->members.all.n; i++) {
        struct member *member = rdzv->members.all.at[i];
        if (member->part != PART_IN_ROUND)
            continue;
        members_part(&rdzv->members, member, PART_BUSY);
        members_stop_by(&rdzv->members, member, now_us);
        if (member->place->state != PLACE_STOPPING)
            orders_stop(&rdzv->orders, member->id, rdzv->term, rdzv->round, "a newer round runs");
    }
}

static void take_over(struct rdzv *rdzv, const struct rdzv_join *join, uint64_t now_us)
{
    const struct rdzv_claim *claim = &join->claim;
    drop_older(rdzv, now_us);
    check_answers_clear(&rdzv->check);
    rdzv->world_id = claim->world_id;
    places_make(&rdzv->places, claim->nodes, PLACE_ABSENT);
    for (size_t i = 0; i < rdzv->places.n; i++) { /* whose it is, its member's own claim will say */
        struct place *place = &rdzv->places.at[i];
        (void)snprintf(place->node, sizeof place->node, "node %zu", i);
    }
    rdzv->has_round = rdzv->resuming = true;
    rdzv->round = claim->round;
    rdzv->round_term = claim->term;
    if (claim->restarts > rdzv->restarts)
        rdzv->restarts = claim->restarts;
    rdzv->resume_us = deadline_after(now_us, rdzv->limits.resume_ms);
    rdzv->by_failure = rdzv->final = rdzv->has_done = rdzv->barrier_passed = false;
    rdzv->gathering = false;
    rdzv->loss[0] = '\0';
    deaths_clear(&rdzv->deaths);
    rdzv->phase = RDZV_RUN;
    for (size_t i = 0; i < rdzv->members.all.n; i++)
        rdzv->members.all.at[i]->place = NULL;
    if (!claim->running && !claim->done)
        rounds_stop(rdzv, deaths_guilty(&join->deaths), "the leader changed while it was stopped",
                    now_us);
}

void claims_learn(struct rdzv *rdzv, const struct rdzv_join *join, uint64_t now_us)
{
    const struct rdzv_claim *claim = &join->claim;
    if (claim->term >= UINT64_MAX / 2)
        return;
    bool foreign = !rdzv->has_round || (believable(claim) && claim->round >= rdzv->next_round);
    if (claim->term > rdzv->term || (claim->term == rdzv->term && foreign))
        rdzv->term = claim->term + 1;
    if (!believable(claim))
        return;
    const struct member *member = members_find(&rdzv->members, join->member);
    /* One that was told to stop its round, for a newer one, answers that: its claim is of the round
     * that was dropped, whatever term it has heard of since. */
    bool dropped = member && member->part == PART_BUSY;
    bool take = !dropped && can_take_over(rdzv, join);
    if (claim->round >= rdzv->next_round)
        rdzv->next_round = claim->round + 1;
    if (take)
        take_over(rdzv, join, now_us);
}

/* The place that its claim names and nobody else has: known from now on. */
static void find_place(struct rdzv *rdzv, struct member *member, const struct rdzv_claim *claim)
{
    if (member->place || claim->group_rank >= rdzv->places.n ||
        rdzv->places.at[claim->group_rank].member != 0)
        return;
    member->place = &rdzv->places.at[claim->group_rank];
    member->place->member = member->id;
    member->senior = claim->group_rank;
}

/* It still holds its place: true when that settled it. */
static bool keep_place(struct rdzv *rdzv, struct member *member, const struct rdzv_claim *claim,
                       uint64_t now_us, bool *stop)
{
    struct place *place = member->place;
    if (place->state == PLACE_LEFT)
        return false;
    if (rdzv->phase == RDZV_RUN && claim->done) {
        rounds_done(rdzv, place, now_us);
    } else if (rdzv->phase == RDZV_RUN && claim->running && place->state != PLACE_DONE_GONE) {
        place->finished = false;
        places_set(&rdzv->places, place, PLACE_RUNNING);
    } else if (rdzv->phase == RDZV_STOPPING && claim->running && !claim->done) {
        if (place->state == PLACE_DONE_GONE)
            return false;
        places_set(&rdzv->places, place, PLACE_STOPPING);
        members_stop_by(&rdzv->members, member, now_us);
        *stop = true;
    } else {
        return false;
    }
    (void)snprintf(place->node, sizeof place->node, "%s", member->node);
    members_part(&rdzv->members, member, PART_IN_ROUND);
    return true;
}

/* Nothing of its place is left; what that means for the round. */
static void give_place_up(struct rdzv *rdzv, struct member *member, const struct rdzv_join *join,
                          bool holds, uint64_t now_us)
{
    struct place *place = member->place;
    enum place_state before = place->state;
    char cause[SENTENCE];
    (void)snprintf(place->node, sizeof place->node, "%s", member->node);
    if (holds && join->claim.done)
        place->finished = true;
    bool failed = (before == PLACE_RUNNING || before == PLACE_ABSENT) && holds &&
                  rdzv->phase == RDZV_RUN && deaths_guilty(&join->deaths);
    if (failed) /* its report was lost with the connection */
        rounds_failed(rdzv, member, &join->deaths, false, now_us);
    else if (holds || before == PLACE_STOPPING)
        deaths_add(&rdzv->deaths, &join->deaths, places_rank(&rdzv->places, place), place->node);
    (void)snprintf(cause, sizeof cause, "%s came back without its ranks", member->node);
    rounds_leave(rdzv, place, cause, now_us);
}

bool claims_settle(struct rdzv *rdzv, struct member *member, const struct rdzv_join *join,
                   uint64_t now_us, uint32_t *round)
{
    const struct rdzv_claim *claim = &join->claim;
    bool open = rdzv->phase == RDZV_RUN || rdzv->phase == RDZV_STOPPING;
    bool holds = believable(claim) && claims_current(rdzv, claim->term, claim->round) &&
                 same_world(rdzv, claim);
    bool stop = false;
    *round = claim->round;
    member->checked =
        member->checked || believable(claim); /* before that round, or it would not be */
    if (open && holds)
        find_place(rdzv, member, claim);
    if (open && member->place && holds && keep_place(rdzv, member, claim, now_us, &stop))
        return stop;
    if (open && member->place)
        give_place_up(rdzv, member, join, holds, now_us);
    if (believable(claim) && claim->running && !claim->done) {
        members_part(&rdzv->members, member, PART_BUSY);
        members_stop_by(&rdzv->members, member, now_us);
        return true;
    }
    members_part(&rdzv->members, member, PART_WAITING);
    return false;
}

void claims_resumed(struct rdzv *rdzv, uint64_t now_us)
{
    char cause[SENTENCE];
    rdzv->resuming = false;
    (void)snprintf(cause, sizeof cause, "%u node%s did not come back after the leader changed",
                   rdzv->places.states[PLACE_ABSENT],
                   rdzv->places.states[PLACE_ABSENT] == 1 ? "" : "s");
    for (size_t i = 0; i < rdzv->places.n; i++)
        if (rdzv->places.at[i].state == PLACE_ABSENT) {
            rounds_lost(rdzv, &rdzv->places.at[i], cause);
            rounds_leave(rdzv, &rdzv->places.at[i], cause, now_us);
        }
}
