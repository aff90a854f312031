/* The events of a rendezvous. Each one changes what is known of its member, then gather_progress
 * moves the rendezvous as far as the state allows; what is to be said goes out at the end. */
#include "rdzv/rdzv.h"

#include "base/mem.h"
#include "rdzv/admission.h"
#include "rdzv/claims.h"
#include "rdzv/gather.h"
#include "rdzv/node_check.h"
#include "rdzv/rounds.h"
#include "rdzv/state.h"
#include "rdzv/welcome.h"
#include "rdzv/world.h"

#include <stdlib.h>

struct rdzv *rdzv_create(const struct rdzv_limits *limits, struct rdzv_sink sink)
{
    struct rdzv *rdzv = mem_new(sizeof *rdzv);
    rdzv->limits = *limits;
    rdzv->phase = RDZV_GATHER;
    rdzv->term = 1;
    rdzv->expected = UINT32_MAX;
    members_init(&rdzv->members, limits->silence_ms, limits->stop_ms);
    deaths_init(&rdzv->deaths);
    orders_init(&rdzv->orders, sink);
    return rdzv;
}

void rdzv_destroy(struct rdzv *rdzv)
{
    if (!rdzv)
        return;
    members_fini(&rdzv->members);
    check_answers_clear(&rdzv->check);
    deaths_fini(&rdzv->deaths);
    orders_fini(&rdzv->orders);
    vec_fini(&rdzv->barred);
    vec_fini(&rdzv->ended);
    places_fini(&rdzv->places);
    free(rdzv->run_id);
    free(rdzv);
}

static void move_on(struct rdzv *rdzv, uint64_t now_us)
{
    gather_progress(rdzv, now_us);
    welcome_waiting(rdzv, now_us);
    orders_close(&rdzv->orders);
}

/* Who took part and missed the end (its connection broke) is told it again. */
static void answer_late(struct rdzv *rdzv, const struct rdzv_join *join)
{
    uint64_t member = join->member;
    for (size_t i = 0; i < rdzv->ended.n; i++)
        if (rdzv->ended.at[i] == member) {
            orders_end(&rdzv->orders, member, &rdzv->end);
            return;
        }
    /* One that need not take part: the others have done it without it. */
    if (rdzv->end.kind == RDZV_END_DONE &&
        (join->settings.min < join->settings.max || rdzv->limits.surplus)) {
        orders_end(&rdzv->orders, member, &rdzv->end);
        return;
    }
    orders_refuse(&rdzv->orders, member, RDZV_REFUSED_OVER, "the job has ended: %s",
                  rdzv->end.text);
}

static void take_in(struct rdzv *rdzv, const struct rdzv_join *join, uint64_t now_us)
{
    bool known = members_find(&rdzv->members, join->member) != NULL;
    struct member *member = admission_admit(rdzv, join, now_us);
    if (!member)
        return;
    claims_learn(rdzv, join, now_us);
    uint32_t round;
    bool stop = claims_settle(rdzv, member, join, now_us, &round);
    if (!known)
        orders_news(&rdzv->orders, RDZV_NOTICE_JOINED, member->id, rdzv->round,
                    "%s joined with %u ranks", member->node, member->ranks);
    if (!known)
        rdzv->last_join_us = now_us;
    if (!rdzv->gathering && rdzv->phase == RDZV_GATHER)
        state_gather(rdzv, now_us);
    welcome_describe(rdzv);
    welcome_send(rdzv, member);
    if (stop)
        orders_stop(&rdzv->orders, member->id, rdzv->term, round,
                    rdzv->phase == RDZV_STOPPING ? rdzv->cause : "the others are past that round");
    if (known && node_check_has(rdzv, member->id))
        node_check_repeat(rdzv, member->id);
}

void rdzv_join(struct rdzv *rdzv, const struct rdzv_join *join, uint64_t now_us)
{
    orders_open(&rdzv->orders);
    if (rdzv->phase == RDZV_OVER)
        answer_late(rdzv, join);
    else
        take_in(rdzv, join, now_us);
    move_on(rdzv, now_us);
}

void rdzv_report(struct rdzv *rdzv, uint64_t id, const struct rdzv_report *report, uint64_t now_us)
{
    orders_open(&rdzv->orders);
    struct member *member = members_find(&rdzv->members, id);
    if (member)
        members_heard(&rdzv->members, member, now_us);
    if (member && member->part == PART_IN_ROUND &&
        claims_current(rdzv, report->term, report->round)) {
        enum place_state state = member->place->state;
        if (report->outcome == RDZV_FAILED && (state == PLACE_RUNNING || state == PLACE_STOPPING))
            rounds_failed(rdzv, member, &report->deaths, report->final, now_us);
        else if (report->outcome == RDZV_DONE)
            rounds_done(rdzv, member->place, now_us);
    }
    move_on(rdzv, now_us);
}

void rdzv_checked(struct rdzv *rdzv, uint64_t id, const struct rdzv_check_report *checked,
                  uint64_t now_us)
{
    orders_open(&rdzv->orders);
    struct member *member = members_find(&rdzv->members, id);
    if (member) {
        members_heard(&rdzv->members, member, now_us);
        node_check_answer(rdzv, member, checked);
    }
    move_on(rdzv, now_us);
}

/* Out of the table; its part ends. */
static void remove_member(struct rdzv *rdzv, struct member *member, const char *cause,
                          uint64_t now_us)
{
    uint64_t id = member->id;
    struct place *place = member->part == PART_IN_ROUND ? member->place : NULL;
    bool checked = node_check_has(rdzv, id);
    members_remove(&rdzv->members, member);
    if (place && (rdzv->phase == RDZV_RUN || rdzv->phase == RDZV_STOPPING))
        rounds_leave(rdzv, place, cause, now_us);
    if (checked) {
        check_answers_clear(&rdzv->check);
        state_gather(rdzv, now_us);
    }
}

static void lose_absent(struct rdzv *rdzv, struct place *place, const char *why, uint64_t now_us)
{
    char cause[SENTENCE];
    (void)snprintf(cause, sizeof cause, "%s is lost: %s", place->node, why);
    orders_news(&rdzv->orders, RDZV_NOTICE_LOST, place->member, rdzv->round, "%s", cause);
    rounds_lost(rdzv, place, cause);
    rounds_leave(rdzv, place, cause, now_us);
}

static void lose(struct rdzv *rdzv, uint64_t id, const char *why, uint64_t now_us)
{
    struct member *member = members_find(&rdzv->members, id);
    char cause[SENTENCE];
    if (member) {
        (void)snprintf(cause, sizeof cause, "%s is lost: %s", member->node, why);
        orders_news(&rdzv->orders, RDZV_NOTICE_LOST, id, rdzv->round, "%s", cause);
        if (member->part == PART_IN_ROUND)
            rounds_lost(rdzv, member->place, cause);
        remove_member(rdzv, member, cause, now_us);
        return;
    }
    struct place *place = rdzv->resuming ? places_find(&rdzv->places, id) : NULL;
    if (place && place->state == PLACE_ABSENT)
        lose_absent(rdzv, place, why, now_us);
}

void rdzv_lost(struct rdzv *rdzv, uint64_t id, const char *why, uint64_t now_us)
{
    orders_open(&rdzv->orders);
    lose(rdzv, id, why, now_us);
    move_on(rdzv, now_us);
}

void rdzv_without(struct rdzv *rdzv, uint32_t group_rank, const char *why, uint64_t now_us)
{
    orders_open(&rdzv->orders);
    if (rdzv->resuming && group_rank < rdzv->places.n &&
        rdzv->places.at[group_rank].state == PLACE_ABSENT)
        lose_absent(rdzv, &rdzv->places.at[group_rank], why, now_us);
    move_on(rdzv, now_us);
}

void rdzv_leave(struct rdzv *rdzv, uint64_t id, const struct rdzv_leave *leave, uint64_t now_us)
{
    orders_open(&rdzv->orders);
    struct member *member = members_find(&rdzv->members, id);
    if (member) {
        const char *text = leave->text ? leave->text : "";
        char cause[SENTENCE];
        (void)snprintf(cause, sizeof cause, "%s %s%s%s", member->node,
                       leave->why == RDZV_LEAVES_STOPPED ? "was stopped" : "gave up",
                       text[0] ? ": " : "", text);
        enum place_state state = member->part == PART_IN_ROUND ? member->place->state : PLACE_LEFT;
        if (leave->why == RDZV_LEAVES_STOPPED &&
            (state == PLACE_RUNNING || state == PLACE_STOPPING))
            (void)snprintf(rdzv->stopped, sizeof rdzv->stopped, "%s", cause);
        orders_news(&rdzv->orders, RDZV_NOTICE_LOST, id, rdzv->round, "%s", cause);
        remove_member(rdzv, member, cause, now_us);
    }
    move_on(rdzv, now_us);
}

void rdzv_beat(struct rdzv *rdzv, uint64_t id, uint64_t now_us)
{
    struct member *member = members_find(&rdzv->members, id);
    if (member)
        members_heard(&rdzv->members, member, now_us);
}

void rdzv_expect(struct rdzv *rdzv, uint32_t members, uint32_t later, uint64_t now_us)
{
    orders_open(&rdzv->orders);
    rdzv->expected = members;
    rdzv->later = later;
    move_on(rdzv, now_us);
}

void rdzv_hold(struct rdzv *rdzv, bool held, uint64_t now_us)
{
    if (rdzv->held == held)
        return;
    orders_open(&rdzv->orders);
    rdzv->held = held;
    if (!held && rdzv->gathering)
        rdzv->gather_us = now_us; /* they have the time to come */
    move_on(rdzv, now_us);
}

uint64_t rdzv_tick(struct rdzv *rdzv, uint64_t now_us)
{
    if (rdzv->phase == RDZV_OVER)
        return UINT64_MAX;
    orders_open(&rdzv->orders);
    const char *why;
    struct member *expired;
    while (rdzv->phase != RDZV_OVER &&
           (expired = members_expired(&rdzv->members, now_us, &why)) != NULL)
        lose(rdzv, expired->id, why, now_us);
    if (rdzv->resuming && !rdzv->held && now_us >= rdzv->resume_us)
        claims_resumed(rdzv, now_us);
    node_check_expire(rdzv, now_us);
    rounds_barrier(rdzv, now_us);
    move_on(rdzv, now_us);
    if (rdzv->phase == RDZV_OVER)
        return UINT64_MAX;
    uint64_t due = gather_due(rdzv);
    if (rdzv->members.scan_us < due)
        due = rdzv->members.scan_us;
    uint64_t waiting = welcome_due(rdzv);
    return waiting < due ? waiting : due;
}

enum rdzv_phase rdzv_phase(const struct rdzv *rdzv)
{
    return rdzv->phase;
}

bool rdzv_root(struct rdzv *rdzv, uint64_t *member, const char **text)
{
    const struct rdzv_victim *first = deaths_first(&rdzv->deaths);
    if (rdzv->phase != RDZV_OVER || rdzv->end.kind != RDZV_END_FAILED || !first)
        return false;
    *member = rdzv->places.at[first->group_rank].member;
    *text = rdzv->cause;
    return true;
}

uint32_t rdzv_least(const struct rdzv *rdzv)
{
    return rdzv->settled ? world_least(&rdzv->settings) : 0;
}

uint64_t rdzv_term(const struct rdzv *rdzv)
{
    return rdzv->term;
}

uint32_t rdzv_round_number(const struct rdzv *rdzv)
{
    return rdzv->round;
}
