/* Bodies of the frames between launchers and their leader, as tables of their members. Writers keep
 * every bound by themselves (long texts are cut at a character, deaths beyond the first ones become
 * `more`), so what was written can always be read. */
#include "wire/rendezvous.h"

#include <string.h>

#define TEXT(st, member, doc)       ROW(TEXT, st, member, doc, .max = RDZV_TEXT_MAX)
#define TERM(st)                    ROW(U64, st, term, "counts leaders")
#define ENUM(st, member, last, ...) ROW(U8, st, member, __VA_ARGS__, .min = 1, .max = last)

/* ---- deaths ---- */

static const struct codec_row death_rows[] = {
    ROW(U32, struct rdzv_death, rank, "of the round"),
    ROW(U32, struct rdzv_death, local_rank, "on its node"),
    ROW(U32, struct rdzv_death, pid, "process"),
    ROW(U32, struct rdzv_death, code, "exit code, when signal is 0"),
    ROW(U32, struct rdzv_death, signal, "that it died of; 0: it exited"),
    ROW(FLAG, struct rdzv_death, oom, "killed for memory"),
    ROW(FLAG, struct rdzv_death, victim, "ended because of another"),
    ROW(FLAG, struct rdzv_death, at_exit, "aborted while its interpreter shut down"),
    ROW(FLAG, struct rdzv_death, spared, "never started a program"),
    ROW(U64, struct rdzv_death, age_us, "how long ago when it was sent"),
    ROW(U64, struct rdzv_death, at_s, "wall clock of its node"),
    TEXT(struct rdzv_death, message, "exception of its error file"),
    TEXT(struct rdzv_death, error_file, "path"),
    TEXT(struct rdzv_death, tail, "last lines of its stderr"),
    ROW_END,
};
/* Deaths beyond the first ones are counted here. */
static void put_more(struct buf *out, const void *member, const void *before)
{
    const struct rdzv_deaths *deaths = member;
    uint64_t left = deaths->n > RDZV_MAX_DEATHS ? deaths->n - RDZV_MAX_DEATHS : 0;
    uint64_t more = deaths->more + left;
    (void)before;
    wire_put_u32(out, more > UINT32_MAX ? UINT32_MAX : (uint32_t)more);
}

static void get_more(const struct codec_source *in, void *member, const void *before)
{
    (void)before;
    ((struct rdzv_deaths *)member)->more = wire_get_u32(in->from);
}

static const struct codec_hooks more_hooks = {
    .put = put_more, .get = get_more, .least = 4, .bytes = "u32"
};
static const struct codec_row deaths_rows[] = {
    ROW_MANY(LIST, struct rdzv_deaths, at, n, "the first ones", .table = death_rows,
             .max = RDZV_MAX_DEATHS),
    ROW_SAME(CUSTOM, "more", "not told", .hooks = &more_hooks),
    ROW_END,
};
/* What came with a later version stands at the end of a message to the leader, so that a leader
 * reads launchers of an older one, which say nothing of it. */
static const struct codec_row more_rows[] = {
    ROW(FLAG, struct rdzv_death, stopped, "it had been told to end"),
    ROW(FLAG, struct rdzv_death, of_peer, "it says that another had gone"),
    ROW(U64, struct rdzv_death, wakeup, "of its launcher, in which its end was seen; 0: not known"),
    ROW_END,
};
#define DEATHS(st) ROW(STRUCT, st, deaths, "", .table = deaths_rows)
#define MORE_OF_DEATHS(st)                                                                         \
    ROW_MANY(EACH, st, deaths.at, deaths.n, "", .table = more_rows, .max = RDZV_MAX_DEATHS,        \
             .flags = CODEC_LATER)

/* ---- member to leader ---- */

static const struct codec_row settings_rows[] = {
    ROW(U32, struct rdzv_settings, min, "nodes"),
    ROW(U32, struct rdzv_settings, max, "nodes"),
    ROW(U32, struct rdzv_settings, node_unit, "the world is a multiple of it"),
    ROW(U32, struct rdzv_settings, max_restarts, "failures that each member may have"),
    ROW(U64, struct rdzv_settings, last_call_ms, "wait for more once min is there"),
    ROW(U64, struct rdzv_settings, join_ms, "no round within this: it failed"),
    ROW(U64, struct rdzv_settings, exit_barrier_ms, "wait at the end for the others"),
    ROW(FLAG, struct rdzv_settings, check, "node check before a round of new membership"),
    ROW(FLAG, struct rdzv_settings, check_bandwidth, "with a measurement of bandwidth"),
    ROW(FLAG, struct rdzv_settings, exclude_straggler, "leave slow nodes out"),
    ROW_END,
};
static const struct codec_row claim_rows[] = {
    ROW(U64, struct rdzv_claim, term, "highest it was told; 0: none"),
    ROW(U32, struct rdzv_claim, round, "its last"),
    ROW(U32, struct rdzv_claim, group_rank, "of it"),
    ROW(U32, struct rdzv_claim, restarts, "of the job"),
    ROW(FLAG, struct rdzv_claim, running, "its ranks of that round run"),
    ROW(FLAG, struct rdzv_claim, done, "or have all ended with 0"),
    ROW(U64, struct rdzv_claim, world_id, "of that round"),
    ROW(U32, struct rdzv_claim, nodes, "in that round"),
    ROW_END,
};
static const struct codec_row join_rows[] = {
    ROW(U64, struct rdzv_join, member, "random, for the launcher's life"),
    TEXT(struct rdzv_join, run_id, "of the job"),
    TEXT(struct rdzv_join, node, "name for people"),
    TEXT(struct rdzv_join, addr, "where the others reach this node"),
    ROW(U32, struct rdzv_join, node_rank, "asked for; 4294967295: any"),
    ROW(U32, struct rdzv_join, ranks, "it runs", .max = RDZV_MAX_RANKS),
    ROW(U16, struct rdzv_join, store_port, "a fresh store listens there"),
    ROW(U16, struct rdzv_join, lead_port, "where it would lead; 0: never"),
    ROW(U16, struct rdzv_join, check_port, "listens for node checks; 0: none"),
    ROW(U32, struct rdzv_join, spent, "failures of its ranks so far"),
    ROW(STRUCT, struct rdzv_join, settings, "", .table = settings_rows),
    ROW(STRUCT, struct rdzv_join, claim, "", .table = claim_rows),
    DEATHS(struct rdzv_join),
    MORE_OF_DEATHS(struct rdzv_join),
    ROW(TEXT, struct rdzv_join, role, "of its ranks", .max = RDZV_TEXT_MAX, .flags = CODEC_TAIL),
    ROW_END,
};
static const struct codec_row report_rows[] = {
    TERM(struct rdzv_report),
    ROW(U32, struct rdzv_report, round, "of the ranks"),
    ENUM(struct rdzv_report, outcome, RDZV_DONE, "1 a rank died, 2 all ended with 0"),
    ROW(FLAG, struct rdzv_report, final, "a restart would not help"),
    DEATHS(struct rdzv_report),
    MORE_OF_DEATHS(struct rdzv_report),
    ROW_END,
};
static const struct codec_row checked_rows[] = {
    TERM(struct rdzv_check_report),
    ROW(U32, struct rdzv_check_report, check, "which order this answers"),
    ENUM(struct rdzv_check_report, result, RDZV_CHECK_PAIR_BAD,
         "1 good, 2 it is bad, 3 its group is"),
    ROW(U64, struct rdzv_check_report, took_us, "what is compared between nodes"),
    TEXT(struct rdzv_check_report, figures, "for people"),
    TEXT(struct rdzv_check_report, why, "of a bad one"),
    ROW_END,
};
static const struct codec_row leave_rows[] = {
    ENUM(struct rdzv_leave, why, RDZV_LEAVES_FAILED, "1 a signal, 2 it failed"),
    TEXT(struct rdzv_leave, text, "for people"),
    ROW_END,
};
static const struct codec_row event_rows[] = {
    TEXT(struct rdzv_event, type, "of the event"),
    TEXT(struct rdzv_event, text, "of the event"),
    ROW_END,
};

/* ---- leader to member ---- */

static const struct codec_row welcome_rows[] = {
    TERM(struct rdzv_welcome),
    ROW(U32, struct rdzv_welcome, beat_ms, "say BEAT so often"),
    TEXT(struct rdzv_welcome, waiting, "what is waited for, for people"),
    ROW_END,
};
static const struct codec_row place_rows[] = {
    ROW(U64, struct rdzv_place, member, "who"),
    ROW(U32, struct rdzv_place, node_rank, "in the world"),
    ROW(U32, struct rdzv_place, ranks, "it runs", .max = RDZV_MAX_RANKS),
    ROW(U32, struct rdzv_place, first_rank, "of these"),
    TEXT(struct rdzv_place, node, "name for people"),
    TEXT(struct rdzv_place, addr, "where the others reach it"),
    ROW(U16, struct rdzv_place, lead_port, "where it would lead; 0: never"),
    ROW_END,
};
static const struct codec_row role_rows[] = {
    ROW(U32, struct rdzv_round, role_first, "place of its first rank among those of its role"),
    ROW(U32, struct rdzv_round, role_world, "ranks of its role"),
    ROW_END,
};

static bool has_roles(const void *member)
{
    const struct rdzv_round *round = member;
    return round->role_first != round->own.first_rank || round->role_world != round->world;
}

static void one_role(void *member)
{
    struct rdzv_round *round = member;
    round->role_first = round->own.first_rank;
    round->role_world = round->world;
}

static const struct codec_hooks role_hooks = { .says = has_roles, .absent = one_role };

static const struct codec_row round_rows[] = {
    TERM(struct rdzv_round),
    ROW(U64, struct rdzv_round, world_id, "tells worlds of two leaders apart"),
    ROW(U32, struct rdzv_round, round, "from 0"),
    ROW(U32, struct rdzv_round, group_rank, "of the receiver; below nodes"),
    ROW(U32, struct rdzv_round, restarts, "of the job"),
    ROW(U32, struct rdzv_round, world, "ranks in all"),
    ROW(U32, struct rdzv_round, nodes, "in the world", .max = RDZV_MAX_MEMBERS),
    ROW(STRUCT, struct rdzv_round, own, "", .table = place_rows),
    ROW_MANY(LIST, struct rdzv_round, places, n_places, "who would lead next", .table = place_rows,
             .min = 1, .max = RDZV_HEIRS),
    TEXT(struct rdzv_round, store_addr, "of the round's store"),
    ROW(U16, struct rdzv_round, store_port, "of the round's store"),
    TEXT(struct rdzv_round, cause, "why this round"),
    ROW_SAME(STRUCT, "role", "where not all have one role", .table = role_rows,
             .hooks = &role_hooks, .flags = CODEC_TAIL),
    ROW_END,
};
static const struct codec_row peer_rows[] = {
    TEXT(struct rdzv_peer, addr, "of a node of the group"),
    ROW(U16, struct rdzv_peer, port, "where it listens for node checks"),
    ROW_END,
};
static const struct codec_row check_rows[] = {
    TERM(struct rdzv_check),
    ROW(U32, struct rdzv_check, check, "number of this order"),
    ROW(U32, struct rdzv_check, round, "0 or 1 of the check"),
    ROW(U32, struct rdzv_check, index, "of the receiver in the group: 0 serves"),
    ROW_MANY(LIST, struct rdzv_check, peers, n, "the group", .table = peer_rows,
             .max = RDZV_MAX_MEMBERS),
    ROW(FLAG, struct rdzv_check, bandwidth, "measure it too"),
    ROW_END,
};
static const struct codec_row stop_rows[] = {
    TERM(struct rdzv_stop),
    ROW(U32, struct rdzv_stop, round, "whose ranks are to end"),
    TEXT(struct rdzv_stop, cause, "why"),
    ROW_END,
};
static const struct codec_row victim_rows[] = {
    ROW(STRUCT, struct rdzv_victim, death, "", .table = death_rows),
    TEXT(struct rdzv_victim, node, "where"),
    ROW(U32, struct rdzv_victim, group_rank, "of that node"),
    ROW_END,
};
static const struct codec_row end_rows[] = {
    TERM(struct rdzv_end),
    ENUM(struct rdzv_end, kind, RDZV_END_STOPPED,
         "1 done, 2 failed, 3 too few nodes left, 4 never enough, 5 node check, 6 a signal"),
    TEXT(struct rdzv_end, text, "one sentence"),
    ROW_MANY(LIST, struct rdzv_end, deaths, n_deaths, "the guilty one first", .table = victim_rows,
             .max = RDZV_MAX_DEATHS),
    ROW(FLAG, struct rdzv_end, undecided, "nothing tells the first ones apart"),
    ROW_END,
};
static const struct codec_row refused_rows[] = {
    ENUM(struct rdzv_refused, why, RDZV_REFUSED_OVER,
         "1 another run id, 2 token, 3 node rank, 4 settings, 5 full, 6 the job has ended"),
    TEXT(struct rdzv_refused, text, "with what to do"),
    ROW_END,
};
static const struct codec_row note_rows[] = {
    TERM(struct rdzv_finding),
    ROW(U64, struct rdzv_finding, about, "member; 0: nobody in particular"),
    TEXT(struct rdzv_finding, text, "for people"),
    ROW_END,
};
static const struct codec_row moved_rows[] = {
    TERM(struct rdzv_leader_address),
    TEXT(struct rdzv_leader_address, addr, "of the leader"),
    ROW(U16, struct rdzv_leader_address, port, "of the leader"),
    ROW_END,
};

/* ---- frames ---- */

struct rdzv_frame_data rdzv_frame_of(const struct wire_frame *frame)
{
    return (struct rdzv_frame_data){ .kind = (enum rdzv_frame)frame->kind,
                                     .body = frame->body,
                                     .len = frame->len };
}

int rdzv_next(const void *data, size_t len, struct rdzv_frame_data *out, size_t *used)
{
    const struct wire_kinds launchers = RDZV_KINDS;
    struct wire_frame frame;
    int rc = wire_next_of(launchers, data, len, &frame, used);
    if (rc == 1)
        *out = rdzv_frame_of(&frame);
    return rc;
}

#define TO_LEADER "launcher to leader"
#define TO_MEMBER "leader to launcher"
#define MESSAGE(id, type, table, check, from, text)                                                \
    [RDZV_FRAME_##id - RDZV_FRAME_JOIN] = { .name = #id,                                           \
                                            .kind = RDZV_FRAME_##id,                               \
                                            .rows = table,                                         \
                                            .size = sizeof(type),                                  \
                                            .good = check,                                         \
                                            .way = from,                                           \
                                            .doc = text }

static bool good_round(const void *message)
{
    const struct rdzv_round *round = message;
    return round->group_rank < round->nodes;
}

static bool good_check(const void *message)
{
    const struct rdzv_check *check = message;
    return check->index < check->n;
}

const struct codec_message rdzv_messages[RDZV_MESSAGES] = {
    MESSAGE(JOIN, struct rdzv_join, join_rows, NULL, TO_LEADER,
            "nothing of it runs, unless its claim says so: it can take part in the next round"),
    MESSAGE(REPORT, struct rdzv_report, report_rows, NULL, TO_LEADER,
            "how its ranks of a round are"),
    MESSAGE(CHECKED, struct rdzv_check_report, checked_rows, NULL, TO_LEADER,
            "what a node check found"),
    MESSAGE(LEAVE, struct rdzv_leave, leave_rows, NULL, TO_LEADER, "it ends"),
    MESSAGE(BEAT, char, NULL, NULL, TO_LEADER, "it is alive"),
    MESSAGE(EVENT, struct rdzv_event, event_rows, NULL, TO_LEADER,
            "for the job's events; inside a job only"),
    MESSAGE(WELCOME, struct rdzv_welcome, welcome_rows, NULL, TO_MEMBER,
            "it has joined; again when waiting changes"),
    MESSAGE(ROUND, struct rdzv_round, round_rows, good_round, TO_MEMBER, "start your ranks"),
    MESSAGE(CHECK, struct rdzv_check, check_rows, good_check, TO_MEMBER,
            "check this node with these, answer with CHECKED"),
    MESSAGE(STOP, struct rdzv_stop, stop_rows, NULL, TO_MEMBER,
            "end your ranks of that round, then JOIN again"),
    MESSAGE(END, struct rdzv_end, end_rows, NULL, TO_MEMBER, "it is over"),
    MESSAGE(REFUSED, struct rdzv_refused, refused_rows, NULL, TO_MEMBER, "it cannot join"),
    MESSAGE(MOVED, struct rdzv_leader_address, moved_rows, NULL, TO_MEMBER,
            "the leader is elsewhere"),
    MESSAGE(LEAD, struct rdzv_leader_address, moved_rows, NULL,
            "leader to the launcher at the original endpoint",
            "it leads this run: step down and send everyone there"),
    MESSAGE(NOTE, struct rdzv_finding, note_rows, NULL, TO_MEMBER,
            "what the node check found, for people"),
};

static const struct codec_message *message_of(enum rdzv_frame kind)
{
    return &rdzv_messages[kind - RDZV_FRAME_JOIN];
}

/* The numbers of the two lists of kinds do not meet; only the byte in the frame matters here. */
void rdzv_put_as(struct buf *out, enum rdzv_frame kind, const void *message)
{
    size_t mark = wire_begin(out, (enum wire_kind)kind, 0);
    if (message)
        codec_put(out, message_of(kind)->rows, message);
    wire_end(out, mark);
}

int rdzv_get_as(const struct rdzv_frame_data *frame, struct arena *arena, enum rdzv_frame kind,
                void *message)
{
    struct wire_reader from = { .at = frame->body, .end = frame->body + frame->len };
    return codec_get_message(from, arena, message_of(kind), message);
}
