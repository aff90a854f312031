/* Random traces: members that behave as launchers do, with slow and broken connections, deaths,
 * losses, newcomers, changes of the leader and stale messages; after every order the promises of
 * the rendezvous are checked, and every trace must come to an end. What was reached is counted: in
 * which phase which input came, what became of phases, and of the places of a round. MUSTER_SEED=n
 * runs one seed, MUSTER_TRACES=n that many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rdzv/state.h"

#include "base/mem.h"
#include "base/scan.h"
#include "rdzv/rdzv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAYERS 9
#define EVENTS  160
#define TRACES  4000
#define LEAST   95 /* percent of what can be, that is reached */

enum said { SAID_JOIN, SAID_REPORT, SAID_CHECKED };
struct message {
    enum said kind;
    struct rdzv_join join;
    struct rdzv_report report;
    struct rdzv_check_report checked;
    struct rdzv_death death;
};
struct heard { /* what a player keeps of an order on its way */
    enum rdzv_order_kind kind;
    uint64_t term;
    uint32_t round, group_rank, restarts, check, nodes;
    uint64_t world_id;
};
struct player {
    bool here, over; /* over: told END or REFUSED */
    uint64_t id;
    uint32_t node_rank, ranks, spent;
    uint64_t term, round_term;
    bool has_round, running, done;
    uint32_t round, group_rank, restarts, nodes;
    uint64_t world_id;
    VEC(struct message) out;
    VEC(struct heard) in;
    bool cut;    /* the connection broke: joins again with what it holds */
    bool linked; /* the leader heard it on this connection: its orders arrive here */
};
struct world {
    uint64_t chance, seed;
    struct rdzv *rdzv;
    struct rdzv_settings settings;
    struct rdzv_limits limits;
    uint64_t now_us, next_id;
    struct player players[PLAYERS];
    /* what was promised */
    bool began;
    uint32_t last_round, last_restarts;
    unsigned failures; /* told since the last round began */
    uint64_t batch[PLAYERS];
    size_t batch_n, batch_seen;
    uint64_t runs[PLAYERS]; /* ids placed in the last round and not released since; 0: none */
};

/* ---- what was reached ---- */

enum input {
    INPUT_JOIN,
    INPUT_REPORT,
    INPUT_CHECKED,
    INPUT_LEAVE,
    INPUT_BEAT,
    INPUT_LOST,
    INPUT_WITHOUT,
    INPUT_EXPECT,
    INPUT_TICK,
    INPUT_N
};
#define PHASES (RDZV_OVER + 1)

static struct reached {
    unsigned long inputs[PHASES][INPUT_N];            /* in which phase what was heard */
    unsigned long phases[PHASES][PHASES];             /* what became of it, an input later */
    unsigned long places[PLACE_STATES][PLACE_STATES]; /* of a round's places, one by one */
} reached;

struct before {
    enum rdzv_phase phase;
    uint64_t round_term;
    uint32_t round;
    size_t n_places;
    enum place_state states[PLAYERS];
};

static struct before note_before(const struct rdzv *rdzv)
{
    struct before before = { .phase = rdzv->phase,
                             .round_term = rdzv->round_term,
                             .round = rdzv->round,
                             .n_places = rdzv->has_round ? rdzv->places.n : 0 };
    for (size_t i = 0; i < before.n_places && i < PLAYERS; i++)
        before.states[i] = rdzv->places.at[i].state;
    return before;
}

static void note_after(const struct before *before, enum input input, const struct rdzv *rdzv)
{
    bool same = rdzv->has_round && rdzv->round == before->round &&
                rdzv->round_term == before->round_term && rdzv->places.n == before->n_places;
    reached.inputs[before->phase][input]++;
    reached.phases[before->phase][rdzv->phase]++;
    for (size_t i = 0; same && i < before->n_places; i++)
        if (rdzv->places.at[i].state != before->states[i])
            reached.places[before->states[i]][rdzv->places.at[i].state]++;
}

#define SAY(world, input, call)                                                                    \
    do {                                                                                           \
        const struct before before_it = note_before((world)->rdzv);                                \
        call;                                                                                      \
        note_after(&before_it, input, (world)->rdzv);                                              \
    } while (0)

static uint64_t draw(struct world *world, uint64_t below)
{
    world->chance ^= world->chance << 13;
    world->chance ^= world->chance >> 7;
    world->chance ^= world->chance << 17;
    return world->chance % below;
}

#define HOLDS(world, what)                                                                         \
    do {                                                                                           \
        if (!(what))                                                                               \
            fail_msg("seed %llu: %s", (unsigned long long)(world)->seed, #what);                   \
    } while (0)

static struct player *player_of(struct world *world, uint64_t id)
{
    for (size_t i = 0; i < PLAYERS; i++)
        if (world->players[i].id == id && world->players[i].here)
            return &world->players[i];
    return NULL;
}

static void release(struct world *world, uint64_t id)
{
    for (size_t i = 0; i < PLAYERS; i++)
        if (world->runs[i] == id)
            world->runs[i] = 0;
}

/* ---- promises ---- */

static void check_round(struct world *world, uint64_t to, const struct rdzv_round *round)
{
    bool first = !world->began || round->round != world->last_round;
    uint32_t rank = 0;
    HOLDS(world, round->n_places >= world->settings.min && round->n_places <= world->settings.max);
    HOLDS(world, round->n_places % world->settings.node_unit == 0 && round->n_places <= PLAYERS);
    HOLDS(world, round->group_rank < round->n_places);
    HOLDS(world, round->nodes == round->n_places); /* few enough to be told all */
    HOLDS(world, round->places[round->group_rank].member == to && round->own.member == to);
    for (size_t i = 0; i < round->n_places; i++) {
        HOLDS(world, round->places[i].first_rank == rank);
        rank += round->places[i].ranks;
        for (size_t k = 0; k < i; k++)
            HOLDS(world, round->places[i].member != round->places[k].member);
        if (!first)
            HOLDS(world, world->batch[i] == round->places[i].member);
    }
    HOLDS(world, round->world == rank);
    if (first) {
        HOLDS(world, !world->began || round->round > world->last_round);
        HOLDS(world, world->batch_seen == world->batch_n);
        if (world->began) {
            uint32_t more = round->restarts - world->last_restarts;
            HOLDS(world, more == 0 || (more == 1 && world->failures > 0));
        }
        for (size_t i = 0; i < round->n_places; i++) {
            world->batch[i] = round->places[i].member;
            const struct member *member = members_find(&world->rdzv->members, world->batch[i]);
            HOLDS(world, !member || member->spent <= world->settings.max_restarts);
            for (size_t k = 0; k < PLAYERS; k++)
                HOLDS(world, world->runs[k] != world->batch[i]);
        }
        memset(world->runs, 0, sizeof world->runs);
        memcpy(world->runs, world->batch, round->n_places * sizeof *world->runs);
        world->batch_n = round->n_places;
        world->batch_seen = 0;
        world->began = true;
        world->last_round = round->round;
        world->last_restarts = round->restarts;
        world->failures = 0;
    }
    world->batch_seen++;
    HOLDS(world, world->batch_seen <= world->batch_n);
}

static void on_order(void *arg, const struct rdzv_order *order)
{
    struct world *world = arg;
    struct heard heard = { .kind = order->kind };
    switch (order->kind) {
    case RDZV_ORDER_WELCOME: heard.term = order->welcome.term; break;
    case RDZV_ORDER_ROUND:
        check_round(world, order->to, &order->round);
        heard.term = order->round.term;
        heard.round = order->round.round;
        heard.group_rank = order->round.group_rank;
        heard.restarts = order->round.restarts;
        heard.nodes = order->round.nodes;
        heard.world_id = order->round.world_id;
        break;
    case RDZV_ORDER_CHECK:
        HOLDS(world, order->check.index < order->check.n && order->check.n <= 3);
        heard.term = order->check.term;
        heard.check = order->check.check;
        break;
    case RDZV_ORDER_STOP:
        heard.term = order->stop.term;
        heard.round = order->stop.round;
        release(world, order->to);
        break;
    case RDZV_ORDER_END:
        HOLDS(world, order->end.text && order->end.text[0]);
        HOLDS(world, order->end.n_deaths <= RDZV_MAX_DEATHS);
        release(world, order->to);
        break;
    case RDZV_ORDER_REFUSED: HOLDS(world, order->refused.text && order->refused.text[0]); break;
    case RDZV_ORDER_NOTE: HOLDS(world, order->note.text && order->note.text[0]); return;
    }
    struct player *player = player_of(world, order->to);
    if (player && player->linked)
        vec_push(&player->in, heard);
}

static void on_news(void *arg, const struct rdzv_notice *news)
{
    struct world *world = arg;
    HOLDS(world, news->text && news->text[0]);
    if (news->kind != RDZV_NOTICE_LOST)
        return;
    release(world, news->member);
    struct player *player = player_of(world, news->member);
    if (player) { /* the leader closes what it takes for lost */
        player->cut = true;
        player->linked = false;
        vec_clear(&player->in);
        vec_clear(&player->out);
    }
}

/* ---- players ---- */

static void say_join(struct world *world, struct player *player, bool died)
{
    struct message message = { .kind = SAID_JOIN };
    message.join = (struct rdzv_join){
        .member = player->id,
        .run_id = "run",
        .node = "n",
        .addr = "127.0.0.1",
        .node_rank = player->node_rank,
        .ranks = player->ranks,
        .store_port = 1,
        .spent = player->spent,
        .settings = world->settings,
    };
    message.join.claim.term = player->term;
    if (player->has_round) {
        message.join.claim = (struct rdzv_claim){
            .term = player->term,
            .round = player->round,
            .group_rank = player->group_rank,
            .restarts = player->restarts,
            .running = player->running,
            .done = player->done,
            .world_id = player->world_id,
            .nodes = player->nodes,
        };
    }
    message.death = (struct rdzv_death){ .code = 1, .victim = !died, .message = "" };
    message.join.deaths.n = died || (player->has_round && draw(world, 3) == 0 && !player->running);
    vec_push(&player->out, message);
}

static void say_report(struct world *world, struct player *player, enum rdzv_outcome outcome)
{
    struct message message = { .kind = SAID_REPORT };
    message.report = (struct rdzv_report){
        .term = draw(world, 2) ? player->term : player->round_term,
        .round = player->round,
        .outcome = outcome,
        .final = outcome == RDZV_FAILED && draw(world, 20) == 0,
        .deaths = { .n = outcome == RDZV_FAILED },
    };
    message.death = (struct rdzv_death){ .code = 7, .age_us = draw(world, 5000) };
    message.death.spared = draw(world, 40) == 0;
    vec_push(&player->out, message);
}

static void born(struct world *world, struct player *player)
{
    vec_clear(&player->in);
    vec_clear(&player->out);
    void *in = player->in.at;
    void *out = player->out.at;
    size_t in_cap = player->in.cap;
    size_t out_cap = player->out.cap;
    uint32_t rank = player->node_rank;
    *player = (struct player){ .here = true, .id = world->next_id++, .node_rank = rank };
    player->in.at = in;
    player->out.at = out;
    player->in.cap = in_cap;
    player->out.cap = out_cap;
    player->ranks = 1 + (uint32_t)draw(world, 4);
    say_join(world, player, false);
}

static void dies(struct world *world, struct player *player)
{
    player->here = false;
    release(world, player->id);
    vec_clear(&player->in);
    vec_clear(&player->out);
    if (!player->cut && draw(world, 3)) /* else silence tells */
        SAY(world, INPUT_LOST, rdzv_lost(world->rdzv, player->id, "it was killed", world->now_us));
}

static void fails(struct world *world, struct player *player)
{
    if (!player->running)
        return;
    player->running = false;
    player->spent++;
    say_report(world, player, RDZV_FAILED);
    say_join(world, player, false);
}

static void finishes(struct world *world, struct player *player)
{
    if (!player->running)
        return;
    player->running = false;
    player->done = true;
    say_report(world, player, RDZV_DONE);
}

static void receive(struct world *world, struct player *player)
{
    if (player->in.n == 0)
        return;
    struct heard heard = player->in.at[0];
    vec_remove(&player->in, 0);
    if (heard.kind == RDZV_ORDER_END || heard.kind == RDZV_ORDER_REFUSED) {
        player->over = true;
        player->running = player->done = false;
        return;
    }
    HOLDS(world, heard.term >= player->term);
    player->term = heard.term;
    if (heard.kind == RDZV_ORDER_ROUND) {
        HOLDS(world, !player->running);
        player->done = false;
        player->running = player->has_round = true;
        player->round_term = heard.term;
        player->round = heard.round;
        player->group_rank = heard.group_rank;
        player->restarts = heard.restarts;
        player->nodes = heard.nodes;
        player->world_id = heard.world_id;
    } else if (heard.kind == RDZV_ORDER_STOP) {
        if (heard.round != player->round || (!player->running && !player->done))
            return;
        if (player->running)
            player->done = false;
        player->running = false;
        say_join(world, player, false);
        player->done = false;
    } else if (heard.kind == RDZV_ORDER_CHECK) {
        struct message message = { .kind = SAID_CHECKED };
        message.checked = (struct rdzv_check_report){
            .term = heard.term,
            .check = heard.check,
            .result = draw(world, 8) ? RDZV_CHECK_OK : (enum rdzv_check_result)(1 + draw(world, 3)),
            .took_us = 1000 + draw(world, 1500),
            .figures = "",
            .why = "",
        };
        vec_push(&player->out, message);
    }
}

static void deliver(struct world *world, struct player *player)
{
    if (player->cut || player->out.n == 0)
        return;
    struct message message = player->out.at[0];
    vec_remove(&player->out, 0);
    switch (message.kind) {
    case SAID_JOIN:
        player->linked = true;
        message.join.deaths.at = &message.death;
        if (!message.join.claim.running) /* by its own word nothing runs there */
            release(world, player->id);
        if (deaths_guilty(&message.join.deaths))
            world->failures++;
        SAY(world, INPUT_JOIN, rdzv_join(world->rdzv, &message.join, world->now_us));
        break;
    case SAID_REPORT:
        message.report.deaths.at = &message.death;
        if (message.report.outcome == RDZV_FAILED && message.report.round == world->last_round)
            world->failures++;
        SAY(world, INPUT_REPORT,
            rdzv_report(world->rdzv, player->id, &message.report, world->now_us));
        break;
    case SAID_CHECKED:
        SAY(world, INPUT_CHECKED,
            rdzv_checked(world->rdzv, player->id, &message.checked, world->now_us));
        break;
    }
}

static void reconnect(struct world *world, struct player *player)
{
    if (!player->cut || player->over)
        return;
    player->cut = false;
    vec_clear(&player->out); /* what it said into the broken connection is gone */
    say_join(world, player, false);
}

static void drop_connection(struct world *world, struct player *player)
{
    player->cut = true;
    player->linked = false;
    vec_clear(&player->in);
    vec_clear(&player->out);
    if (draw(world, 2))
        SAY(world, INPUT_LOST, rdzv_lost(world->rdzv, player->id, "reset", world->now_us));
}

static void leaves(struct world *world, struct player *player)
{
    struct rdzv_leave leave = { .why = draw(world, 2) ? RDZV_LEAVES_STOPPED : RDZV_LEAVES_FAILED,
                                .text = "SIGTERM" };
    uint64_t id = player->id;
    player->here = false;
    vec_clear(&player->in);
    vec_clear(&player->out);
    release(world, id);
    if (!player->cut)
        SAY(world, INPUT_LEAVE, rdzv_leave(world->rdzv, id, &leave, world->now_us));
}

static void stale(struct world *world, struct player *player)
{
    struct rdzv_death death = { .code = 1 };
    struct rdzv_report report = {
        .term = 1 + draw(world, 3),
        .round = world->last_round > 0 ? (uint32_t)draw(world, world->last_round) : 77,
        .outcome = draw(world, 2) ? RDZV_FAILED : RDZV_DONE,
        .final = true,
        .deaths = { .at = &death, .n = 1 },
    };
    if (rdzv_phase(world->rdzv) == RDZV_RUN && rdzv_round_number(world->rdzv) > report.round) {
        SAY(world, INPUT_REPORT, rdzv_report(world->rdzv, player->id, &report, world->now_us));
        HOLDS(world, rdzv_phase(world->rdzv) != RDZV_STOPPING || world->batch_n == 0 ||
                         !world->rdzv->final);
    }
}

/* What becomes known from elsewhere: how many can take part, who will not come. */
static void hear_of_others(struct world *world)
{
    uint32_t n = (uint32_t)draw(world, PLAYERS + 1);
    if (draw(world, 2))
        SAY(world, INPUT_WITHOUT, rdzv_without(world->rdzv, n, "it led", world->now_us));
    else
        SAY(world, INPUT_EXPECT,
            rdzv_expect(world->rdzv, n < PLAYERS ? PLAYERS : UINT32_MAX, 0, world->now_us));
}

static void lead(struct world *world)
{
    struct rdzv_sink sink = { .order = on_order, .news = on_news, .arg = world };
    world->rdzv = rdzv_create(&world->limits, sink);
}

/* Orders that the dead leader sent to some and not to others are lost with it. */
static void new_leader(struct world *world)
{
    if (rdzv_phase(world->rdzv) == RDZV_OVER)
        return;
    rdzv_destroy(world->rdzv);
    lead(world);
    memset(world->runs, 0, sizeof world->runs);
    for (size_t i = 0; i < PLAYERS; i++) {
        struct player *player = &world->players[i];
        vec_clear(&player->in);
        vec_clear(&player->out);
        if (!player->here || player->over)
            continue;
        player->cut = true;
        player->linked = false;
        if (player->running || player->done)
            world->runs[i] = player->id;
    }
    world->batch_n = world->batch_seen = 0;
    world->failures = 0;
    /* Who knows the newest round may never come: numbers are then used again, in a newer term. */
    world->began = false;
    world->last_round = 0;
}

static void pass_time(struct world *world, uint64_t most_us)
{
    world->now_us += draw(world, most_us) + 1;
    for (size_t i = 0; i < PLAYERS; i++)
        if (world->players[i].here && !world->players[i].cut && draw(world, 10))
            SAY(world, INPUT_BEAT, rdzv_beat(world->rdzv, world->players[i].id, world->now_us));
    SAY(world, INPUT_TICK, (void)rdzv_tick(world->rdzv, world->now_us));
}

static void something(struct world *world)
{
    struct player *player = &world->players[draw(world, PLAYERS)];
    uint64_t what = draw(world, 102);
    if (!player->here || player->over) {
        if (what < 30 && rdzv_phase(world->rdzv) != RDZV_OVER)
            born(world, player);
        else
            pass_time(world, 200000);
        return;
    }
    if (what < 35)
        deliver(world, player);
    else if (what < 65)
        receive(world, player);
    else if (what < 80)
        pass_time(world, 400000);
    else if (what < 84)
        fails(world, player);
    else if (what < 87)
        finishes(world, player);
    else if (what < 89)
        dies(world, player);
    else if (what < 91)
        drop_connection(world, player);
    else if (what < 95)
        reconnect(world, player);
    else if (what < 96)
        leaves(world, player);
    else if (what < 97)
        new_leader(world);
    else if (what < 100)
        stale(world, player);
    else
        hear_of_others(world);
}

static void all_told(struct world *world)
{
    for (unsigned i = 0; i < 50; i++)
        for (size_t k = 0; k < PLAYERS; k++) {
            reconnect(world, &world->players[k]);
            deliver(world, &world->players[k]);
            receive(world, &world->players[k]);
        }
    for (size_t k = 0; k < PLAYERS; k++) /* everybody alive was told */
        HOLDS(world, !world->players[k].here || world->players[k].over);
}

/* No more accidents: everything is delivered, ranks come to their end, time goes on. */
static void wind_up(struct world *world)
{
    for (unsigned step = 0; step < 4000; step++) {
        bool moved = false;
        for (size_t i = 0; i < PLAYERS; i++) {
            struct player *player = &world->players[i];
            if (!player->here || player->over)
                continue;
            moved = moved || player->out.n > 0 || player->in.n > 0 || player->cut;
            reconnect(world, player);
            deliver(world, player);
            receive(world, player);
            SAY(world, INPUT_BEAT, rdzv_beat(world->rdzv, player->id, world->now_us));
        }
        uint64_t due = 0;
        SAY(world, INPUT_TICK, due = rdzv_tick(world->rdzv, world->now_us));
        if (rdzv_phase(world->rdzv) == RDZV_OVER)
            break;
        if (moved)
            continue;
        if (rdzv_phase(world->rdzv) == RDZV_RUN)
            for (size_t i = 0; i < PLAYERS; i++)
                if (world->players[i].here && !world->players[i].over)
                    finishes(world, &world->players[i]);
        if (!world->rdzv->settled)
            return;
        uint64_t forward = world->now_us + 200000;
        world->now_us = due < forward && due > world->now_us ? due : forward;
    }
    HOLDS(world, rdzv_phase(world->rdzv) == RDZV_OVER);
    HOLDS(world, rdzv_tick(world->rdzv, world->now_us) == UINT64_MAX);
    all_told(world);
}

static void run_trace(uint64_t seed)
{
    struct world world = { .seed = seed, .chance = seed * 0x9e3779b97f4a7c15u + 1, .next_id = 1 };
    world.now_us = 1000 + draw(&world, 1000000);
    world.settings = (struct rdzv_settings){
        .max_restarts = (uint32_t)draw(&world, 5),
        .node_unit = 1 + (uint32_t)draw(&world, 2),
        .last_call_ms = draw(&world, 800),
        .join_ms = 2000 + draw(&world, 8000),
        .exit_barrier_ms = draw(&world, 3000),
        .check = draw(&world, 4) == 0,
        .exclude_straggler = draw(&world, 2),
    };
    world.settings.max = world.settings.node_unit * (1 + (uint32_t)draw(&world, 4));
    world.settings.min = 1 + (uint32_t)draw(&world, world.settings.max);
    world.limits = (struct rdzv_limits){
        .beat_ms = 1000,
        .silence_ms = draw(&world, 4) ? 2500 : 0,
        .resume_ms = 1000 + (uint32_t)draw(&world, 2000),
        .stop_ms = draw(&world, 2) ? 0 : 3000,
    };
    bool ranked = draw(&world, 3) == 0;
    for (uint32_t i = 0; i < PLAYERS; i++)
        world.players[i].node_rank = ranked && i < world.settings.max ? i : RDZV_ANY_RANK;
    lead(&world);
    if (draw(&world, 3) == 0)
        SAY(&world, INPUT_EXPECT, rdzv_expect(world.rdzv, PLAYERS, 0, world.now_us));
    for (size_t i = 0; i < 2 + draw(&world, PLAYERS - 2); i++)
        born(&world, &world.players[i]);
    unsigned events = EVENTS / 4 + (unsigned)draw(&world, EVENTS * 2);
    for (unsigned i = 0; i < events; i++)
        something(&world);
    /* The dead that nobody noticed: without beats only a broken connection tells. */
    for (size_t i = 0; i < world.rdzv->members.all.n; i++) {
        uint64_t id = world.rdzv->members.all.at[i]->id;
        if (!player_of(&world, id) || player_of(&world, id)->cut) {
            SAY(&world, INPUT_LOST, rdzv_lost(world.rdzv, id, "reset", world.now_us));
            i = (size_t)-1;
        }
    }
    wind_up(&world);
    rdzv_destroy(world.rdzv);
    for (size_t i = 0; i < PLAYERS; i++) {
        vec_fini(&world.players[i].in);
        vec_fini(&world.players[i].out);
    }
}

/* Of any phase but the last, which none leaves, an input may lead to any: one that ends a round may
 * begin the next one as well. */
static bool can_lead(unsigned from, unsigned to)
{
    return from != RDZV_OVER || to == RDZV_OVER;
}

/* Who said that its ranks are done runs none any more, so what a claim may do to a place that is
 * done (DONE to RUNNING) is not here. */
static bool can_become(unsigned from, unsigned to)
{
    static const bool can[PLACE_STATES][PLACE_STATES] = {
        [PLACE_ABSENT] = { [PLACE_LEFT] = true,
                           [PLACE_RUNNING] = true,
                           [PLACE_DONE] = true,
                           [PLACE_STOPPING] = true },
        [PLACE_RUNNING] = { [PLACE_LEFT] = true, [PLACE_DONE] = true, [PLACE_STOPPING] = true },
        [PLACE_DONE] = { [PLACE_DONE_GONE] = true, [PLACE_STOPPING] = true },
        [PLACE_DONE_GONE] = { [PLACE_DONE] = true },
        [PLACE_STOPPING] = { [PLACE_LEFT] = true },
    };
    return can[from][to];
}

static bool can_hear(unsigned phase, unsigned input)
{
    (void)phase; /* what comes late or never should is ignored, and has to be */
    (void)input;
    return true;
}

struct table {
    const char *name;
    const unsigned long *at;
    unsigned from, to;
    bool (*legal)(unsigned from, unsigned to);
};

static void check_table(const struct table *table)
{
    unsigned legal = 0, found = 0;
    for (unsigned from = 0; from < table->from; from++)
        for (unsigned to = 0; to < table->to; to++) {
            unsigned long times = table->at[from * table->to + to];
            bool may = table->legal(from, to);
            if (times && !may)
                fail_msg("%s: from %u to %u was reached and cannot be", table->name, from, to);
            legal += may;
            found += may && times;
            if (may && !times)
                printf("  %s: %u, %u not reached\n", table->name, from, to);
        }
    printf("%s: %u of %u reached\n", table->name, found, legal);
    if (100 * found < LEAST * legal)
        fail_msg("%s: less than %d percent", table->name, LEAST);
}

static void check_reached(void)
{
    const struct table tables[] = {
        { "phase, input", *reached.inputs, PHASES, INPUT_N, can_hear },
        { "phase to phase", *reached.phases, PHASES, PHASES, can_lead },
        { "place to place", *reached.places, PLACE_STATES, PLACE_STATES, can_become },
    };
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        check_table(&tables[i]);
}

static uint64_t number_of(const char *name, uint64_t fallback)
{
    uint64_t value = fallback;
    const char *text = getenv(name);
    if (text && !scan_u64(text, 1, UINT64_MAX, &value))
        fail_msg("%s=%s is no number", name, text);
    return value;
}

static void test_traces(void **state)
{
    (void)state;
    uint64_t one = number_of("MUSTER_SEED", 0);
    uint64_t traces = number_of("MUSTER_TRACES", TRACES);
    if (one) {
        run_trace(one);
        return;
    }
    for (uint64_t seed = 1; seed <= traces; seed++)
        run_trace(seed);
    if (traces >= TRACES)
        check_reached();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_traces) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
