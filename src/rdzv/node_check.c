/* The node check before a round of new members: up to two orders per node, then a verdict. The
 * second order is left out when the first one found nothing to look into. */
#include "rdzv/node_check.h"

#include "base/mem.h"
#include "rdzv/deadline.h"
#include "rdzv/rounds.h"
#include "rdzv/state.h"
#include "rdzv/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 330000u /* a check takes at most 300 s (launch/check.h), plus the way */
#define NOTES_MAX 8u      /* n bad nodes told to n members would be n * n messages */

bool node_check_has(const struct rdzv *rdzv, uint64_t member)
{
    return rdzv->phase == RDZV_CHECK && check_answers_find(&rdzv->check, member) < rdzv->check.n;
}

static void order_one(struct rdzv *rdzv, size_t self)
{
    const struct check_answers *check = &rdzv->check;
    size_t n = 0;
    uint32_t index = 0;
    for (size_t i = 0; i < check->n; i++)
        n += check->group[i] == check->group[self];
    struct rdzv_peer *peers = ARENA_ARRAY(rdzv->orders.memory, n, struct rdzv_peer);
    for (size_t i = 0, at = 0; i < check->n; i++) {
        if (check->group[i] != check->group[self])
            continue;
        const struct member *member = members_find(&rdzv->members, check->members[i]);
        if (i == self)
            index = (uint32_t)at;
        peers[at].addr = arena_strdup(rdzv->orders.memory, member ? member->addr : "");
        peers[at++].port = member ? member->check_port : 0;
    }
    struct rdzv_order order = { .to = check->members[self], .kind = RDZV_ORDER_CHECK };
    order.check = (struct rdzv_check){
        .term = rdzv->term,
        .check = rdzv->check_number,
        .round = (uint32_t)check->round,
        .index = index,
        .peers = peers,
        .n = n,
        .bandwidth = rdzv->settings.check_bandwidth,
    };
    orders_put(&rdzv->orders, &order);
}

static void order_all(struct rdzv *rdzv, int round, uint64_t now_us)
{
    struct check_answers *check = &rdzv->check;
    rdzv->check_number++;
    check_answers_await(check, round, deadline_after(now_us, ANSWER_MS));
    for (size_t i = 0; i < check->n; i++)
        if (!check->answered[i])
            order_one(rdzv, i);
}

void node_check_begin(struct rdzv *rdzv, struct member *const *chosen, size_t n, uint64_t now_us)
{
    struct check_answers *check = &rdzv->check;
    check_answers_clear(check);
    check_answers_make(check, n);
    for (size_t i = 0; i < n; i++) {
        check->members[i] = chosen[i]->id;
        size_t k = 0;
        while (rdzv->limits.share_nodes && strcmp(chosen[k]->node, chosen[i]->node) != 0)
            k++;
        check->nodes[i].host = rdzv->limits.share_nodes ? k + 1 : 0;
    }
    rdzv->phase = RDZV_CHECK;
    order_all(rdzv, 0, now_us);
}

void node_check_repeat(struct rdzv *rdzv, uint64_t member)
{
    size_t i = check_answers_find(&rdzv->check, member);
    if (i < rdzv->check.n && !rdzv->check.answered[i])
        order_one(rdzv, i);
}

void node_check_answer(struct rdzv *rdzv, const struct member *member,
                       const struct rdzv_check_report *checked)
{
    struct check_answers *check = &rdzv->check;
    size_t i = check_answers_find(check, member->id);
    if (rdzv->phase != RDZV_CHECK || checked->check != rdzv->check_number ||
        checked->term > rdzv->term || i == check->n || check->answered[i])
        return;
    check_answers_put(check, i, checked);
    bool ok = checked->result == RDZV_CHECK_OK;
    orders_news(&rdzv->orders, RDZV_NOTICE_CHECK, member->id, rdzv->round, "%s: %s%s%s",
                member->node, checked->figures, ok ? "" : "; failed: ", ok ? "" : checked->why);
}

/* ---- the verdict ---- */

/* The check is no longer the rendezvous's: leaving the phase drops what is there. */
struct verdicts {
    struct check_answers check;
    enum pairing_verdict *out;
    uint64_t median_us;
    uint32_t gone;
    unsigned noted;
    const char *text; /* of the last one that is out */
};

static double least_ms(const struct pairing_node *node)
{
    uint64_t least = UINT64_MAX;
    for (int round = 0; round < 2; round++)
        if (node->ran[round] && node->ok[round] && node->took_us[round] < least)
            least = node->took_us[round];
    return (double)least / 1000.0;
}

static const char *straggler_text(struct rdzv *rdzv, const struct verdicts *judged, size_t i)
{
    const struct check_answers *check = &judged->check;
    return arena_printf(
        rdzv->orders.memory, "is a straggler%s: %.0f ms where %s %.0f ms (%.400s)",
        rdzv->settings.exclude_straggler ? " and left out (--exclude-straggler)" : "",
        least_ms(&check->nodes[i]),
        pairing_hosts(check->nodes, check->n, judged->out) == 2 ? "the other one takes"
                                                                : "the median is",
        (double)judged->median_us / 1000.0, check->said[i].figures);
}

static const char *fault_text(struct rdzv *rdzv, const struct verdicts *judged, size_t i)
{
    const struct check_answers *check = &judged->check;
    const struct pairing_node *node = &check->nodes[i];
    const char *how = "";
    if (judged->out[i] == PAIRING_SUSPECT)
        how = check->n <= 3 ? " together with its partners, and so few nodes cannot tell which "
                              "one is at fault"
                            : " with every partner, and all of those failed too";
    else if (!node->self_bad[0] && !node->self_bad[1])
        how = " with every partner, and those passed with others";
    return arena_printf(rdzv->orders.memory, "failed the node check%s: %.1024s%s%.512s%s", how,
                        check->said[i].why, check->said[i].figures[0] ? " (" : "",
                        check->said[i].figures, check->said[i].figures[0] ? ")" : "");
}

/* Everybody in the check hears of it: without a server there is no other place to read it. */
static void tell_all(struct rdzv *rdzv, struct verdicts *judged, uint64_t about, const char *text)
{
    orders_news(&rdzv->orders, RDZV_NOTICE_CHECK, about, rdzv->round, "%s", text);
    if (judged->noted++ >= NOTES_MAX)
        return;
    struct rdzv_order order = { .kind = RDZV_ORDER_NOTE };
    order.note = (struct rdzv_finding){ .term = rdzv->term, .about = about, .text = text };
    for (size_t i = 0; i < judged->check.n; i++) {
        order.to = judged->check.members[i];
        if (members_find(&rdzv->members, order.to))
            orders_put(&rdzv->orders, &order);
    }
}

static void exclude(struct rdzv *rdzv, struct member *member, const char *text)
{
    struct rdzv_end end = { .term = rdzv->term, .kind = RDZV_END_CHECK, .text = text };
    orders_end(&rdzv->orders, member->id, &end);
    vec_push(&rdzv->barred, member->id);
    members_remove(&rdzv->members, member);
}

static void apply(struct rdzv *rdzv, struct verdicts *judged, size_t i)
{
    enum pairing_verdict verdict = judged->out[i];
    struct member *member = members_find(&rdzv->members, judged->check.members[i]);
    if (member)
        member->checked = true;
    if (!member || verdict == PAIRING_GOOD)
        return;
    const char *text = verdict == PAIRING_STRAGGLER ? straggler_text(rdzv, judged, i)
                                                    : fault_text(rdzv, judged, i);
    uint64_t id = member->id;
    text = arena_printf(rdzv->orders.memory, "%s %s", member->node, text);
    if (verdict != PAIRING_STRAGGLER || rdzv->settings.exclude_straggler) {
        exclude(rdzv, member, text);
        judged->gone++;
        judged->text = text;
    }
    tell_all(rdzv, judged, id, text);
}

/* The others do not wait for somebody in its place: who comes later is let in by a new round. Too
 * few are left, and nobody is known to come: that is the end. */
static void go_on(struct rdzv *rdzv, const struct verdicts *judged, uint32_t before)
{
    uint32_t left = rdzv->members.parts[PART_WAITING];
    bool more_to_come = rdzv->expected != UINT32_MAX && rdzv->expected > before;
    if (judged->gone == 0)
        return;
    rdzv->last_join_us = 0;
    if (more_to_come || world_largest(&rdzv->settings, left) >= world_least(&rdzv->settings))
        return;
    rounds_over(rdzv, RDZV_END_CHECK,
                "%u of %zu nodes failed the node check; %u %s left, and a round needs %u. %s%s",
                judged->gone, judged->check.n, left, left == 1 ? "is" : "are",
                world_least(&rdzv->settings), judged->gone > 1 ? "One of them: " : "",
                judged->text);
}

static void verdict(struct rdzv *rdzv, uint64_t now_us)
{
    struct verdicts judged = { .check = rdzv->check };
    uint64_t gathered_us = rdzv->last_join_us;
    uint32_t before = rdzv->members.parts[PART_WAITING];
    rdzv->check = (struct check_answers){ 0 };
    judged.out = mem_new(judged.check.n * sizeof *judged.out);
    judged.median_us = pairing_judge(judged.check.nodes, judged.check.n, judged.out);
    for (size_t i = 0; i < judged.check.n; i++)
        apply(rdzv, &judged, i);
    state_gather(rdzv, now_us);
    rdzv->last_join_us = gathered_us; /* the last call is not held twice */
    go_on(rdzv, &judged, before);
    free(judged.out);
    check_answers_clear(&judged.check);
}

void node_check_progress(struct rdzv *rdzv, uint64_t now_us)
{
    uint32_t here = rdzv->members.parts[PART_WAITING];
    if (world_largest(&rdzv->settings, here) > rdzv->check.n) {
        check_answers_clear(&rdzv->check); /* a larger world: check that one */
        state_gather(rdzv, now_us);
        return;
    }
    if (rdzv->check.missing > 0)
        return;
    if (check_answers_unclear(&rdzv->check))
        order_all(rdzv, 1, now_us);
    else
        verdict(rdzv, now_us);
}

void node_check_expire(struct rdzv *rdzv, uint64_t now_us)
{
    char why[64];
    if (rdzv->phase != RDZV_CHECK || now_us < rdzv->check.until_us)
        return;
    (void)snprintf(why, sizeof why, "no answer within %u s", ANSWER_MS / 1000u);
    check_answers_miss(&rdzv->check, why);
}
