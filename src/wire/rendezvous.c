/* Bodies of the frames between launchers and their leader: each message is written and read by a
 * pair of functions in the same order of fields. Encoders keep every bound by themselves (long
 * texts are cut at a character, deaths beyond the first ones become `more`), so what was written
 * can always be read; decoders accept nothing else: flags 0 or 1, enums in range, counts bounded,
 * nothing left over at the end. */
#include "wire/rendezvous.h"

#include "base/little.h"
#include "base/scan.h"

#include <string.h>

#define TEXT_MIN     4u /* bytes of the shortest text */
#define LENGTH_BYTES 4u
#define PLACE_MIN    (8u + 3 * 4 + 2 * TEXT_MIN + 2)
#define DEATH_MIN    (5u * 4 + 4 + 2 * 8 + 3 * TEXT_MIN)
#define VICTIM_MIN   (DEATH_MIN + TEXT_MIN + 4)

/* ---- frames ---- */

int rdzv_next(const void *data, size_t len, struct rdzv_frame_in *frame, size_t *used)
{
    const unsigned char *at = data;
    if (len < LENGTH_BYTES)
        return 0;
    size_t rest = (size_t)little_get(at, LENGTH_BYTES);
    if (rest < WIRE_HEAD - LENGTH_BYTES || rest > WIRE_MAX_FRAME)
        return -1;
    if (len > LENGTH_BYTES && (at[4] < RDZV_FRAME_JOIN || at[4] >= RDZV_FRAME_N))
        return -1;
    if (len - LENGTH_BYTES < rest)
        return 0;
    *frame = (struct rdzv_frame_in){
        .kind = (enum rdzv_frame)at[4],
        .body = at + WIRE_HEAD,
        .len = LENGTH_BYTES + rest - WIRE_HEAD,
    };
    *used = LENGTH_BYTES + rest;
    return 1;
}

/* The numbers of the two lists of kinds do not meet; only the byte in the frame matters here. */
static size_t begin(struct buf *out, enum rdzv_frame kind)
{
    return wire_begin(out, (enum wire_kind)kind, 0);
}

static struct wire_reader reader(const struct rdzv_frame_in *frame)
{
    return (struct wire_reader){ .at = frame->body, .end = frame->body + frame->len };
}

static int finish(const struct wire_reader *from)
{
    return from->bad || from->at != from->end ? -1 : 0;
}

/* ---- small parts ---- */

static void put_text(struct buf *out, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    if (n > RDZV_TEXT_MAX) {
        size_t whole = scan_utf8_prefix(text, RDZV_TEXT_MAX);
        /* Text that is no UTF-8 anyway is cut where the bound is. */
        n = whole + 4 > RDZV_TEXT_MAX ? whole : RDZV_TEXT_MAX;
    }
    wire_put_bytes(out, text, n);
}

static const char *get_text(struct wire_reader *from, struct arena *arena)
{
    const char *text = wire_get_str(from, arena);
    if (!text || strlen(text) > RDZV_TEXT_MAX)
        from->bad = true;
    return from->bad ? "" : text;
}

static bool get_flag(struct wire_reader *from)
{
    uint8_t value = wire_get_u8(from);
    if (value > 1)
        from->bad = true;
    return value == 1;
}

static void put_port(struct buf *out, uint16_t port)
{
    wire_put_u8(out, (uint8_t)(port & 0xff));
    wire_put_u8(out, (uint8_t)(port >> 8));
}

static uint16_t get_port(struct wire_reader *from)
{
    unsigned low = wire_get_u8(from);
    return (uint16_t)(low | (unsigned)wire_get_u8(from) << 8);
}

/* An enum value from 1 to most. */
static int get_enum(struct wire_reader *from, int most)
{
    int value = wire_get_u8(from);
    if (value < 1 || value > most)
        from->bad = true;
    return from->bad ? 1 : value;
}

static uint32_t get_count(struct wire_reader *from, size_t element, uint32_t most)
{
    uint32_t n = wire_get_count(from, element);
    if (n > most)
        from->bad = true;
    return from->bad ? 0 : n;
}

static uint32_t get_ranks(struct wire_reader *from)
{
    uint32_t ranks = wire_get_u32(from);
    if (ranks > RDZV_MAX_RANKS)
        from->bad = true;
    return ranks;
}

static uint32_t at_most(size_t n, uint32_t most)
{
    return n > most ? most : (uint32_t)n;
}

/* ---- deaths ---- */

static void put_death(struct buf *out, const struct rdzv_death *death)
{
    wire_put_u32(out, death->rank);
    wire_put_u32(out, death->local_rank);
    wire_put_u32(out, death->pid);
    wire_put_u32(out, (uint32_t)death->code);
    wire_put_u32(out, death->signal);
    wire_put_u8(out, death->oom);
    wire_put_u8(out, death->victim);
    wire_put_u8(out, death->at_exit);
    wire_put_u8(out, death->spared);
    wire_put_u64(out, death->age_us);
    wire_put_u64(out, death->at_s);
    put_text(out, death->message);
    put_text(out, death->error_file);
    put_text(out, death->tail);
}

static struct rdzv_death get_death(struct wire_reader *from, struct arena *arena)
{
    struct rdzv_death death = { .rank = wire_get_u32(from) };
    death.local_rank = wire_get_u32(from);
    death.pid = wire_get_u32(from);
    death.code = (int32_t)wire_get_u32(from);
    death.signal = wire_get_u32(from);
    death.oom = get_flag(from);
    death.victim = get_flag(from);
    death.at_exit = get_flag(from);
    death.spared = get_flag(from);
    death.age_us = wire_get_u64(from);
    death.at_s = wire_get_u64(from);
    death.message = get_text(from, arena);
    death.error_file = get_text(from, arena);
    death.tail = get_text(from, arena);
    return death;
}

static void put_deaths(struct buf *out, const struct rdzv_deaths *deaths)
{
    uint32_t n = at_most(deaths->n, RDZV_MAX_DEATHS);
    uint64_t more = (uint64_t)deaths->more + (deaths->n - n);
    wire_put_u32(out, n);
    for (uint32_t i = 0; i < n; i++)
        put_death(out, &deaths->at[i]);
    wire_put_u32(out, more > UINT32_MAX ? UINT32_MAX : (uint32_t)more);
}

/* What came with a later version stands at the end of a message to the leader, so that a leader
 * reads launchers of an older one, which say nothing of it. */
static void put_more_of_deaths(struct buf *out, const struct rdzv_deaths *deaths)
{
    uint32_t n = at_most(deaths->n, RDZV_MAX_DEATHS);
    for (uint32_t i = 0; i < n; i++) {
        wire_put_u8(out, deaths->at[i].stopped);
        wire_put_u8(out, deaths->at[i].of_peer);
        wire_put_u64(out, deaths->at[i].wakeup);
    }
}

static void get_more_of_deaths(struct wire_reader *from, const struct rdzv_deaths *deaths)
{
    struct rdzv_death *at = (struct rdzv_death *)(uintptr_t)deaths->at;
    if (from->bad || from->at == from->end)
        return;
    for (size_t i = 0; i < deaths->n; i++) {
        at[i].stopped = get_flag(from);
        at[i].of_peer = get_flag(from);
        at[i].wakeup = wire_get_u64(from);
    }
}

static struct rdzv_deaths get_deaths(struct wire_reader *from, struct arena *arena)
{
    uint32_t n = get_count(from, DEATH_MIN, RDZV_MAX_DEATHS);
    struct rdzv_death *at = ARENA_ARRAY(arena, n, struct rdzv_death);
    for (uint32_t i = 0; i < n; i++)
        at[i] = get_death(from, arena);
    return (struct rdzv_deaths){ .at = at, .n = n, .more = wire_get_u32(from) };
}

/* ---- member to leader ---- */

static void put_terms(struct buf *out, const struct rdzv_terms *terms)
{
    wire_put_u32(out, terms->min);
    wire_put_u32(out, terms->max);
    wire_put_u32(out, terms->node_unit);
    wire_put_u32(out, terms->max_restarts);
    wire_put_u64(out, terms->last_call_ms);
    wire_put_u64(out, terms->join_ms);
    wire_put_u64(out, terms->exit_barrier_ms);
    wire_put_u8(out, terms->check);
    wire_put_u8(out, terms->check_bandwidth);
    wire_put_u8(out, terms->exclude_straggler);
}

static struct rdzv_terms get_terms(struct wire_reader *from)
{
    struct rdzv_terms terms = { .min = wire_get_u32(from) };
    terms.max = wire_get_u32(from);
    terms.node_unit = wire_get_u32(from);
    terms.max_restarts = wire_get_u32(from);
    terms.last_call_ms = wire_get_u64(from);
    terms.join_ms = wire_get_u64(from);
    terms.exit_barrier_ms = wire_get_u64(from);
    terms.check = get_flag(from);
    terms.check_bandwidth = get_flag(from);
    terms.exclude_straggler = get_flag(from);
    return terms;
}

static void put_claim(struct buf *out, const struct rdzv_claim *claim)
{
    wire_put_u64(out, claim->term);
    wire_put_u32(out, claim->round);
    wire_put_u32(out, claim->group_rank);
    wire_put_u32(out, claim->restarts);
    wire_put_u8(out, claim->running);
    wire_put_u8(out, claim->done);
    wire_put_u64(out, claim->world_id);
    wire_put_u32(out, claim->nodes);
}

static struct rdzv_claim get_claim(struct wire_reader *from)
{
    struct rdzv_claim claim = { .term = wire_get_u64(from) };
    claim.round = wire_get_u32(from);
    claim.group_rank = wire_get_u32(from);
    claim.restarts = wire_get_u32(from);
    claim.running = get_flag(from);
    claim.done = get_flag(from);
    claim.world_id = wire_get_u64(from);
    claim.nodes = wire_get_u32(from);
    return claim;
}

void rdzv_put_join(struct buf *out, const struct rdzv_join *join)
{
    size_t mark = begin(out, RDZV_FRAME_JOIN);
    wire_put_u64(out, join->member);
    put_text(out, join->run_id);
    put_text(out, join->node);
    put_text(out, join->addr);
    wire_put_u32(out, join->node_rank);
    wire_put_u32(out, join->ranks);
    put_port(out, join->store_port);
    put_port(out, join->lead_port);
    put_port(out, join->check_port);
    wire_put_u32(out, join->spent);
    put_terms(out, &join->terms);
    put_claim(out, &join->claim);
    put_deaths(out, &join->deaths);
    put_more_of_deaths(out, &join->deaths);
    if (join->role)
        put_text(out, join->role);
    wire_end(out, mark);
}

int rdzv_get_join(const struct rdzv_frame_in *frame, struct arena *arena, struct rdzv_join *out)
{
    struct wire_reader from = reader(frame);
    struct rdzv_join join = { .member = wire_get_u64(&from) };
    join.run_id = get_text(&from, arena);
    join.node = get_text(&from, arena);
    join.addr = get_text(&from, arena);
    join.node_rank = wire_get_u32(&from);
    join.ranks = get_ranks(&from);
    join.store_port = get_port(&from);
    join.lead_port = get_port(&from);
    join.check_port = get_port(&from);
    join.spent = wire_get_u32(&from);
    join.terms = get_terms(&from);
    join.claim = get_claim(&from);
    join.deaths = get_deaths(&from, arena);
    get_more_of_deaths(&from, &join.deaths);
    if (!from.bad && from.at != from.end) /* an older launcher says none */
        join.role = get_text(&from, arena);
    if (finish(&from) != 0)
        return -1;
    *out = join;
    return 0;
}

void rdzv_put_report(struct buf *out, const struct rdzv_report *report)
{
    size_t mark = begin(out, RDZV_FRAME_REPORT);
    wire_put_u64(out, report->term);
    wire_put_u32(out, report->round);
    wire_put_u8(out, (uint8_t)report->outcome);
    wire_put_u8(out, report->final);
    put_deaths(out, &report->deaths);
    put_more_of_deaths(out, &report->deaths);
    wire_end(out, mark);
}

int rdzv_get_report(const struct rdzv_frame_in *frame, struct arena *arena, struct rdzv_report *out)
{
    struct wire_reader from = reader(frame);
    struct rdzv_report report = { .term = wire_get_u64(&from) };
    report.round = wire_get_u32(&from);
    report.outcome = (enum rdzv_outcome)get_enum(&from, RDZV_DONE);
    report.final = get_flag(&from);
    report.deaths = get_deaths(&from, arena);
    get_more_of_deaths(&from, &report.deaths);
    if (finish(&from) != 0)
        return -1;
    *out = report;
    return 0;
}

void rdzv_put_checked(struct buf *out, const struct rdzv_checked *checked)
{
    size_t mark = begin(out, RDZV_FRAME_CHECKED);
    wire_put_u64(out, checked->term);
    wire_put_u32(out, checked->check);
    wire_put_u8(out, (uint8_t)checked->result);
    wire_put_u64(out, checked->took_us);
    put_text(out, checked->figures);
    put_text(out, checked->why);
    wire_end(out, mark);
}

int rdzv_get_checked(const struct rdzv_frame_in *frame, struct arena *arena,
                     struct rdzv_checked *out)
{
    struct wire_reader from = reader(frame);
    struct rdzv_checked checked = { .term = wire_get_u64(&from) };
    checked.check = wire_get_u32(&from);
    checked.result = (enum rdzv_check_result)get_enum(&from, RDZV_CHECK_PAIR_BAD);
    checked.took_us = wire_get_u64(&from);
    checked.figures = get_text(&from, arena);
    checked.why = get_text(&from, arena);
    if (finish(&from) != 0)
        return -1;
    *out = checked;
    return 0;
}

void rdzv_put_leave(struct buf *out, const struct rdzv_leave *leave)
{
    size_t mark = begin(out, RDZV_FRAME_LEAVE);
    wire_put_u8(out, (uint8_t)leave->why);
    put_text(out, leave->text);
    wire_end(out, mark);
}

int rdzv_get_leave(const struct rdzv_frame_in *frame, struct arena *arena, struct rdzv_leave *out)
{
    struct wire_reader from = reader(frame);
    struct rdzv_leave leave = { .why = (enum rdzv_leaving)get_enum(&from, RDZV_LEAVES_FAILED) };
    leave.text = get_text(&from, arena);
    if (finish(&from) != 0)
        return -1;
    *out = leave;
    return 0;
}

void rdzv_put_plain(struct buf *out, enum rdzv_frame kind)
{
    wire_end(out, begin(out, kind));
}

void rdzv_put_event(struct buf *out, const char *type, const char *text)
{
    size_t mark = begin(out, RDZV_FRAME_EVENT);
    put_text(out, type);
    put_text(out, text);
    wire_end(out, mark);
}

int rdzv_get_event(const struct rdzv_frame_in *frame, struct arena *arena, const char **type,
                   const char **text)
{
    struct wire_reader from = reader(frame);
    const char *first = get_text(&from, arena);
    const char *second = get_text(&from, arena);
    if (finish(&from) != 0)
        return -1;
    *type = first;
    *text = second;
    return 0;
}

/* ---- leader to member ---- */

void rdzv_put_welcome(struct buf *out, const struct rdzv_welcome *welcome)
{
    size_t mark = begin(out, RDZV_FRAME_WELCOME);
    wire_put_u64(out, welcome->term);
    wire_put_u32(out, welcome->beat_ms);
    put_text(out, welcome->waiting);
    wire_end(out, mark);
}

int rdzv_get_welcome(const struct rdzv_frame_in *frame, struct arena *arena,
                     struct rdzv_welcome *out)
{
    struct wire_reader from = reader(frame);
    struct rdzv_welcome welcome = { .term = wire_get_u64(&from) };
    welcome.beat_ms = wire_get_u32(&from);
    welcome.waiting = get_text(&from, arena);
    if (finish(&from) != 0)
        return -1;
    *out = welcome;
    return 0;
}

static void put_place(struct buf *out, const struct rdzv_place *place)
{
    wire_put_u64(out, place->member);
    wire_put_u32(out, place->node_rank);
    wire_put_u32(out, place->ranks);
    wire_put_u32(out, place->first_rank);
    put_text(out, place->node);
    put_text(out, place->addr);
    put_port(out, place->lead_port);
}

static struct rdzv_place get_place(struct wire_reader *from, struct arena *arena)
{
    struct rdzv_place place = { .member = wire_get_u64(from) };
    place.node_rank = wire_get_u32(from);
    place.ranks = get_ranks(from);
    place.first_rank = wire_get_u32(from);
    place.node = get_text(from, arena);
    place.addr = get_text(from, arena);
    place.lead_port = get_port(from);
    return place;
}

void rdzv_put_round(struct buf *out, const struct rdzv_round *round)
{
    uint32_t n = at_most(round->n_places, RDZV_HEIRS);
    size_t mark = begin(out, RDZV_FRAME_ROUND);
    wire_put_u64(out, round->term);
    wire_put_u64(out, round->world_id);
    wire_put_u32(out, round->round);
    wire_put_u32(out, round->group_rank);
    wire_put_u32(out, round->restarts);
    wire_put_u32(out, round->world);
    wire_put_u32(out, round->nodes);
    put_place(out, &round->own);
    wire_put_u32(out, n);
    for (uint32_t i = 0; i < n; i++)
        put_place(out, &round->places[i]);
    put_text(out, round->store_addr);
    put_port(out, round->store_port);
    put_text(out, round->cause);
    if (round->role_first != round->own.first_rank || round->role_world != round->world) {
        wire_put_u32(out, round->role_first);
        wire_put_u32(out, round->role_world);
    }
    wire_end(out, mark);
}

int rdzv_get_round(const struct rdzv_frame_in *frame, struct arena *arena, struct rdzv_round *out)
{
    struct wire_reader from = reader(frame);
    struct rdzv_round round = { .term = wire_get_u64(&from) };
    round.world_id = wire_get_u64(&from);
    round.round = wire_get_u32(&from);
    round.group_rank = wire_get_u32(&from);
    round.restarts = wire_get_u32(&from);
    round.world = wire_get_u32(&from);
    round.nodes = wire_get_u32(&from);
    round.own = get_place(&from, arena);
    round.n_places = get_count(&from, PLACE_MIN, RDZV_HEIRS);
    struct rdzv_place *places = ARENA_ARRAY(arena, round.n_places, struct rdzv_place);
    for (size_t i = 0; i < round.n_places && !from.bad; i++)
        places[i] = get_place(&from, arena);
    round.places = places;
    round.store_addr = get_text(&from, arena);
    round.store_port = get_port(&from);
    round.cause = get_text(&from, arena);
    round.role_first = round.own.first_rank;
    round.role_world = round.world;
    if (!from.bad && from.at != from.end) { /* not all have one role */
        round.role_first = wire_get_u32(&from);
        round.role_world = wire_get_u32(&from);
        /* Only said where it differs: one frame has one form. */
        if (round.role_first == round.own.first_rank && round.role_world == round.world)
            return -1;
    }
    if (finish(&from) != 0 || round.nodes > RDZV_MAX_MEMBERS || round.group_rank >= round.nodes ||
        round.n_places == 0)
        return -1;
    *out = round;
    return 0;
}

void rdzv_put_check(struct buf *out, const struct rdzv_check *check)
{
    uint32_t n = at_most(check->n, RDZV_MAX_MEMBERS);
    size_t mark = begin(out, RDZV_FRAME_CHECK);
    wire_put_u64(out, check->term);
    wire_put_u32(out, check->check);
    wire_put_u32(out, check->round);
    wire_put_u32(out, check->index);
    wire_put_u32(out, n);
    for (uint32_t i = 0; i < n; i++) {
        put_text(out, check->peers[i].addr);
        put_port(out, check->peers[i].port);
    }
    wire_put_u8(out, check->bandwidth);
    wire_end(out, mark);
}

int rdzv_get_check(const struct rdzv_frame_in *frame, struct arena *arena, struct rdzv_check *out)
{
    struct wire_reader from = reader(frame);
    struct rdzv_check check = { .term = wire_get_u64(&from) };
    check.check = wire_get_u32(&from);
    check.round = wire_get_u32(&from);
    check.index = wire_get_u32(&from);
    check.n = get_count(&from, TEXT_MIN + 2, RDZV_MAX_MEMBERS);
    struct rdzv_peer *peers = ARENA_ARRAY(arena, check.n, struct rdzv_peer);
    for (size_t i = 0; i < check.n; i++) {
        peers[i].addr = get_text(&from, arena);
        peers[i].port = get_port(&from);
    }
    check.peers = peers;
    check.bandwidth = get_flag(&from);
    if (finish(&from) != 0 || check.index >= check.n)
        return -1;
    *out = check;
    return 0;
}

void rdzv_put_stop(struct buf *out, const struct rdzv_stop *stop)
{
    size_t mark = begin(out, RDZV_FRAME_STOP);
    wire_put_u64(out, stop->term);
    wire_put_u32(out, stop->round);
    put_text(out, stop->cause);
    wire_end(out, mark);
}

int rdzv_get_stop(const struct rdzv_frame_in *frame, struct arena *arena, struct rdzv_stop *out)
{
    struct wire_reader from = reader(frame);
    struct rdzv_stop stop = { .term = wire_get_u64(&from) };
    stop.round = wire_get_u32(&from);
    stop.cause = get_text(&from, arena);
    if (finish(&from) != 0)
        return -1;
    *out = stop;
    return 0;
}

void rdzv_put_end(struct buf *out, const struct rdzv_end *end)
{
    uint32_t n = at_most(end->n_deaths, RDZV_MAX_DEATHS);
    size_t mark = begin(out, RDZV_FRAME_END);
    wire_put_u64(out, end->term);
    wire_put_u8(out, (uint8_t)end->kind);
    put_text(out, end->text);
    wire_put_u32(out, n);
    for (uint32_t i = 0; i < n; i++) {
        put_death(out, &end->deaths[i].death);
        put_text(out, end->deaths[i].node);
        wire_put_u32(out, end->deaths[i].group_rank);
    }
    wire_put_u8(out, end->undecided);
    wire_end(out, mark);
}

int rdzv_get_end(const struct rdzv_frame_in *frame, struct arena *arena, struct rdzv_end *out)
{
    struct wire_reader from = reader(frame);
    struct rdzv_end end = { .term = wire_get_u64(&from) };
    end.kind = (enum rdzv_end_kind)get_enum(&from, RDZV_END_STOPPED);
    end.text = get_text(&from, arena);
    end.n_deaths = get_count(&from, VICTIM_MIN, RDZV_MAX_DEATHS);
    struct rdzv_victim *deaths = ARENA_ARRAY(arena, end.n_deaths, struct rdzv_victim);
    for (size_t i = 0; i < end.n_deaths; i++) {
        deaths[i].death = get_death(&from, arena);
        deaths[i].node = get_text(&from, arena);
        deaths[i].group_rank = wire_get_u32(&from);
    }
    end.deaths = deaths;
    end.undecided = get_flag(&from);
    if (finish(&from) != 0)
        return -1;
    *out = end;
    return 0;
}

void rdzv_put_refused(struct buf *out, const struct rdzv_refused *refused)
{
    size_t mark = begin(out, RDZV_FRAME_REFUSED);
    wire_put_u8(out, (uint8_t)refused->why);
    put_text(out, refused->text);
    wire_end(out, mark);
}

int rdzv_get_refused(const struct rdzv_frame_in *frame, struct arena *arena,
                     struct rdzv_refused *out)
{
    struct wire_reader from = reader(frame);
    struct rdzv_refused refused = { .why = (enum rdzv_refusal)get_enum(&from, RDZV_REFUSED_OVER) };
    refused.text = get_text(&from, arena);
    if (finish(&from) != 0)
        return -1;
    *out = refused;
    return 0;
}

void rdzv_put_note(struct buf *out, const struct rdzv_note *note)
{
    size_t mark = begin(out, RDZV_FRAME_NOTE);
    wire_put_u64(out, note->term);
    wire_put_u64(out, note->about);
    put_text(out, note->text);
    wire_end(out, mark);
}

int rdzv_get_note(const struct rdzv_frame_in *frame, struct arena *arena, struct rdzv_note *out)
{
    struct wire_reader from = reader(frame);
    struct rdzv_note note = { .term = wire_get_u64(&from) };
    note.about = wire_get_u64(&from);
    note.text = get_text(&from, arena);
    if (finish(&from) != 0)
        return -1;
    *out = note;
    return 0;
}

void rdzv_put_moved(struct buf *out, enum rdzv_frame kind, const struct rdzv_moved *moved)
{
    size_t mark = begin(out, kind);
    wire_put_u64(out, moved->term);
    put_text(out, moved->addr);
    put_port(out, moved->port);
    wire_end(out, mark);
}

int rdzv_get_moved(const struct rdzv_frame_in *frame, struct arena *arena, struct rdzv_moved *out)
{
    struct wire_reader from = reader(frame);
    struct rdzv_moved moved = { .term = wire_get_u64(&from) };
    moved.addr = get_text(&from, arena);
    moved.port = get_port(&from);
    if (finish(&from) != 0)
        return -1;
    *out = moved;
    return 0;
}
