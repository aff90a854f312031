/* The life of one round: begun, ended by a failure or a change, done; and the end of all. Effects:
 * orders to members, places in the world, budgets that are charged. */
#include "rdzv/rounds.h"

#include "base/hash.h"
#include "rdzv/deadline.h"
#include "rdzv/state.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- begin ---- */

static int by_node_rank(const void *a, const void *b)
{
    const struct member *const *x = a;
    const struct member *const *y = b;
    return (*x)->node_rank < (*y)->node_rank ? -1 : (*x)->node_rank > (*y)->node_rank;
}

/* Group ranks: who asked for a node rank gets that one where the world has no gaps below it; the
 * others fill what is left in the order they came with. */
static struct member **seat(struct rdzv *rdzv, struct member *const *chosen, size_t n)
{
    struct member **asked = ARENA_ARRAY(rdzv->orders.memory, n, struct member *);
    struct member **others = ARENA_ARRAY(rdzv->orders.memory, n, struct member *);
    struct member **seats = ARENA_ARRAY(rdzv->orders.memory, n, struct member *);
    size_t n_asked = 0;
    size_t n_others = 0;
    for (size_t i = 0; i < n; i++)
        if (chosen[i]->node_rank != RDZV_ANY_RANK)
            asked[n_asked++] = chosen[i];
        else
            others[n_others++] = chosen[i];
    qsort(asked, n_asked, sizeof *asked, by_node_rank);
    for (size_t i = 0, a = 0, o = 0; i < n; i++)
        seats[i] =
            a < n_asked && (asked[a]->node_rank <= i || o == n_others) ? asked[a++] : others[o++];
    return seats;
}

static uint32_t make_places(struct rdzv *rdzv, struct member *const *seats, size_t n,
                            struct rdzv_place *told)
{
    uint32_t world = 0;
    for (size_t i = 0; i < rdzv->members.all.n; i++)
        rdzv->members.all.at[i]->place = NULL;
    places_make(&rdzv->places, n, PLACE_RUNNING);
    for (size_t i = 0; i < n; i++) {
        struct member *member = seats[i];
        struct place *place = &rdzv->places.at[i];
        place->member = member->id;
        (void)snprintf(place->node, sizeof place->node, "%s", member->node);
        member->place = place;
        member->senior = i;
        members_part(&rdzv->members, member, PART_IN_ROUND);
        told[i] = (struct rdzv_place){
            .member = member->id,
            .node_rank = member->node_rank != RDZV_ANY_RANK ? member->node_rank : (uint32_t)i,
            .ranks = member->ranks,
            .first_rank = world,
            .node = arena_strdup(rdzv->orders.memory, member->node),
            .addr = arena_strdup(rdzv->orders.memory, member->addr),
            .lead_port = member->lead_port,
        };
        world += member->ranks;
    }
    return world;
}

/* The ranks of one --role, counted in the order of group ranks. */
struct role {
    const char *name;
    uint32_t ranks;
};

/* roles: room for n, one is filled for each different name. Fills first[i], the place of seat i's
 * first rank in its role, and of[i], that role. */
static void count_roles(struct member *const *seats, size_t n, struct role *roles, uint32_t *first,
                        const struct role **of)
{
    size_t n_roles = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < n_roles && strcmp(roles[k].name, seats[i]->role) != 0)
            k++;
        if (k == n_roles)
            roles[n_roles++].name = seats[i]->role;
        first[i] = roles[k].ranks;
        roles[k].ranks += seats[i]->ranks;
        of[i] = &roles[k];
    }
}

void rounds_start(struct rdzv *rdzv, struct member *const *chosen, size_t n)
{
    struct member **seats = seat(rdzv, chosen, n);
    uint32_t *role_first = ARENA_ARRAY(rdzv->orders.memory, n, uint32_t);
    const struct role **role = ARENA_ARRAY(rdzv->orders.memory, n, const struct role *);
    count_roles(seats, n, ARENA_ARRAY(rdzv->orders.memory, n, struct role), role_first, role);
    struct rdzv_place *told = ARENA_ARRAY(rdzv->orders.memory, n, struct rdzv_place);
    uint32_t world = make_places(rdzv, seats, n, told);
    if (rdzv->by_failure)
        rdzv->restarts++;
    if (!rdzv->has_round)
        (void)snprintf(rdzv->cause, sizeof rdzv->cause, "first");
    rdzv->round = rdzv->next_round++;
    rdzv->has_round = true;
    rdzv->round_term = rdzv->term;
    rdzv->by_failure = rdzv->has_done = rdzv->barrier_passed = rdzv->gathering = false;
    rdzv->said_who = false;
    rdzv->stopped[0] = rdzv->loss[0] = '\0';
    rdzv->world_id = hash_u64(rdzv->term) ^ rdzv->round;
    for (size_t i = 0; i < n; i++)
        rdzv->world_id = hash_u64(rdzv->world_id ^ seats[i]->id);
    deaths_clear(&rdzv->deaths);
    rdzv->phase = RDZV_RUN;
    struct rdzv_order order = { .kind = RDZV_ORDER_ROUND };
    order.round = (struct rdzv_round){
        .term = rdzv->term,
        .world_id = rdzv->world_id,
        .round = rdzv->round,
        .restarts = rdzv->restarts,
        .world = world,
        .nodes = (uint32_t)n,
        .places = told,
        .n_places = n < RDZV_HEIRS ? n : RDZV_HEIRS,
        .store_addr = told[0].addr,
        .store_port = seats[0]->store_port,
        .cause = arena_strdup(rdzv->orders.memory, rdzv->cause),
    };
    for (size_t i = 0; i < n; i++) {
        order.to = seats[i]->id;
        order.round.group_rank = (uint32_t)i;
        order.round.own = told[i];
        order.round.role_first = role_first[i];
        order.round.role_world = role[i]->ranks;
        orders_put(&rdzv->orders, &order);
    }
    orders_news(&rdzv->orders, RDZV_NOTICE_ROUND, 0, rdzv->round,
                "round %u: %zu nodes, %u ranks (%s)", rdzv->round, n, world, rdzv->cause);
}

/* ---- end of one ---- */

void rounds_stop(struct rdzv *rdzv, bool by_failure, const char *cause, uint64_t now_us)
{
    if (rdzv->phase != RDZV_RUN)
        return;
    rdzv->phase = RDZV_STOPPING;
    rdzv->by_failure = by_failure;
    (void)snprintf(rdzv->cause, sizeof rdzv->cause, "%s", cause);
    for (size_t i = 0; i < rdzv->places.n; i++) {
        struct place *place = &rdzv->places.at[i];
        if (place->state != PLACE_RUNNING && place->state != PLACE_DONE)
            continue;
        places_set(&rdzv->places, place, PLACE_STOPPING);
        orders_stop(&rdzv->orders, place->member, rdzv->term, rdzv->round, rdzv->cause);
        struct member *member = members_find(&rdzv->members, place->member);
        if (member)
            members_stop_by(&rdzv->members, member, now_us);
    }
}

static bool any_spared(const struct rdzv_deaths *deaths)
{
    for (size_t i = 0; i < deaths->n; i++)
        if (deaths->at[i].spared)
            return true;
    return false;
}

static void say_who(struct rdzv *rdzv, uint64_t member, const char *cause)
{
    if (!rdzv->said_who)
        orders_news(&rdzv->orders, RDZV_NOTICE_FAILED, member, rdzv->round, "%s", cause);
    rdzv->said_who = true;
}

void rounds_failed(struct rdzv *rdzv, struct member *member, const struct rdzv_deaths *deaths,
                   bool final, uint64_t now_us)
{
    /* Ranks that die while a round is being stopped for another reason (a newcomer, a loss) die of
     * that: nobody's budget pays for it. */
    bool pays = rdzv->phase == RDZV_RUN || rdzv->by_failure;
    bool spared = any_spared(deaths);
    char fallback[SENTENCE];
    char cause[SENTENCE];
    deaths_add(&rdzv->deaths, deaths, places_rank(&rdzv->places, member->place),
               member->place->node);
    (void)snprintf(fallback, sizeof fallback, "a rank on %s failed", member->node);
    deaths_cause(&rdzv->deaths, fallback, cause, sizeof cause);
    const struct rdzv_victim *first = deaths_first(&rdzv->deaths);
    /* An error of a collective speaks of another's end, which is about to be told. */
    if (!first || !first->death.of_peer)
        say_who(rdzv, first ? rdzv->places.at[first->group_rank].member : member->id, cause);
    if (pays && !spared) {
        member->place->failed = true;
        member->place->spent_all = member->place->spent_all || final;
    }
    if (!rdzv->final && spared) {
        rdzv->final = true;
        (void)snprintf(rdzv->final_why, sizeof rdzv->final_why,
                       "no restart was spent: starting it again would not help");
    }
    rounds_stop(rdzv, true, cause, now_us);
}

void rounds_lost(struct rdzv *rdzv, const struct place *place, const char *cause)
{
    bool worked = place->state == PLACE_RUNNING || place->state == PLACE_STOPPING ||
                  place->state == PLACE_ABSENT;
    if (worked && (rdzv->phase == RDZV_RUN || rdzv->phase == RDZV_STOPPING) && !rdzv->loss[0])
        (void)snprintf(rdzv->loss, sizeof rdzv->loss, "%s", cause);
}

/* Ranks that talk to a lost node die of that, often before its loss is noticed. So nobody pays
 * before everybody has answered, and nobody pays when a node was lost meanwhile. */
void rounds_settle(struct rdzv *rdzv)
{
    bool failed = rdzv->by_failure || rdzv->final;
    const struct rdzv_victim *first = failed ? deaths_first(&rdzv->deaths) : NULL;
    if (first) { /* an earlier death may have been told later */
        deaths_cause(&rdzv->deaths, rdzv->cause, rdzv->cause, sizeof rdzv->cause);
        say_who(rdzv, rdzv->places.at[first->group_rank].member, rdzv->cause);
    }
    if (rdzv->loss[0] && !rdzv->final) {
        if (rdzv->by_failure)
            (void)snprintf(rdzv->cause, sizeof rdzv->cause, "%s", rdzv->loss);
        rdzv->by_failure = false;
        return;
    }
    for (size_t i = 0; i < rdzv->places.n; i++) {
        const struct place *place = &rdzv->places.at[i];
        struct member *member = members_find(&rdzv->members, place->member);
        if (!place->failed)
            continue;
        if (member)
            member->spent++;
        if (rdzv->final ||
            (!place->spent_all && (!member || member->spent <= rdzv->settings.max_restarts)))
            continue;
        rdzv->final = true;
        (void)snprintf(rdzv->final_why, sizeof rdzv->final_why,
                       "no restart is left (the node may have %u)", rdzv->settings.max_restarts);
    }
}

void rounds_done(struct rdzv *rdzv, struct place *place, uint64_t now_us)
{
    place->finished = true;
    if (rdzv->phase != RDZV_RUN)
        return; /* being stopped: it joins again, or all turn out to be done */
    places_set(&rdzv->places, place, PLACE_DONE);
    if (!rdzv->has_done) {
        rdzv->has_done = true;
        rdzv->first_done_us = now_us;
    }
}

void rounds_leave(struct rdzv *rdzv, struct place *place, const char *cause, uint64_t now_us)
{
    enum place_state before = place->state;
    if (before == PLACE_LEFT || before == PLACE_DONE_GONE)
        return;
    places_set(&rdzv->places, place, before == PLACE_DONE ? PLACE_DONE_GONE : PLACE_LEFT);
    if (before != PLACE_DONE)
        rounds_stop(rdzv, false, cause, now_us);
}

void rounds_barrier(struct rdzv *rdzv, uint64_t now_us)
{
    if (rdzv->phase != RDZV_RUN || !rdzv->places.states[PLACE_DONE] ||
        now_us < deadline_after(rdzv->first_done_us, rdzv->settings.exit_barrier_ms))
        return;
    struct rdzv_end end = { .term = rdzv->term, .kind = RDZV_END_DONE };
    end.text = arena_printf(
        rdzv->orders.memory, "its ranks ended with 0; %u other nodes still ran after %llu ms",
        rdzv->places.states[PLACE_RUNNING], (unsigned long long)rdzv->settings.exit_barrier_ms);
    rdzv->barrier_passed = true;
    for (size_t i = 0; i < rdzv->places.n; i++) {
        struct place *place = &rdzv->places.at[i];
        if (place->state != PLACE_DONE)
            continue;
        places_set(&rdzv->places, place, PLACE_DONE_GONE);
        orders_end(&rdzv->orders, place->member, &end);
        struct member *member = members_find(&rdzv->members, place->member);
        if (member)
            members_remove(&rdzv->members, member);
    }
}

/* ---- end of all ---- */

void rounds_over(struct rdzv *rdzv, enum rdzv_end_kind kind, const char *fmt, ...)
{
    char text[RDZV_TEXT_MAX + 1];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    rdzv->end = (struct rdzv_end){ .term = rdzv->term, .kind = kind };
    if (kind == RDZV_END_DONE)
        deaths_clear(&rdzv->deaths);
    deaths_tell(&rdzv->deaths, &rdzv->end);
    rdzv->end.text = arena_strdup(rdzv->deaths.memory, text);
    check_answers_clear(&rdzv->check);
    rdzv->phase = RDZV_OVER;
    rdzv->resuming = false;
    for (size_t i = 0; i < rdzv->places.n; i++)
        if (rdzv->places.at[i].member != 0)
            vec_push(&rdzv->ended, rdzv->places.at[i].member);
    for (size_t i = 0; i < rdzv->members.all.n; i++) {
        vec_push(&rdzv->ended, rdzv->members.all.at[i]->id);
        orders_end(&rdzv->orders, rdzv->members.all.at[i]->id, &rdzv->end);
    }
    orders_news(&rdzv->orders, RDZV_NOTICE_OVER, 0, rdzv->round, "%s", text);
}
