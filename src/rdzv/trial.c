/* The node check before a round of new members: up to two orders per node, then a verdict. The
 * second order is left out when the first one found nothing to look into. */
#include "rdzv/machine.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 330000u /* a check takes at most 300 s (launch/check.h), plus the way */
#define NOTES_MAX 8u      /* n bad nodes told to n members would be n * n messages */

static size_t index_of(const struct trial *trial, uint64_t member)
{
    size_t i = 0;
    while (i < trial->n && trial->members[i] != member)
        i++;
    return i;
}

bool trial_has(const struct rdzv *rdzv, uint64_t member)
{
    return rdzv->phase == RDZV_CHECK && index_of(&rdzv->trial, member) < rdzv->trial.n;
}

static void trial_free(struct trial *trial)
{
    free(trial->members);
    free(trial->nodes);
    free(trial->group);
    free(trial->answered);
    free(trial->said);
    arena_destroy(trial->memory);
    *trial = (struct trial){ 0 };
}

void trial_drop(struct rdzv *rdzv)
{
    trial_free(&rdzv->trial);
}

static void order_one(struct rdzv *rdzv, size_t self)
{
    const struct trial *trial = &rdzv->trial;
    size_t n = 0;
    uint32_t index = 0;
    for (size_t i = 0; i < trial->n; i++)
        n += trial->group[i] == trial->group[self];
    struct rdzv_peer *peers = ARENA_ARRAY(rdzv->memory, n, struct rdzv_peer);
    for (size_t i = 0, at = 0; i < trial->n; i++) {
        if (trial->group[i] != trial->group[self])
            continue;
        const struct member *member = members_find(rdzv, trial->members[i]);
        if (i == self)
            index = (uint32_t)at;
        peers[at].addr = arena_strdup(rdzv->memory, member ? member->addr : "");
        peers[at++].port = member ? member->check_port : 0;
    }
    struct rdzv_order order = { .to = trial->members[self], .kind = RDZV_ORDER_CHECK };
    order.check = (struct rdzv_check){
        .term = rdzv->term,
        .check = rdzv->check,
        .round = (uint32_t)trial->round,
        .index = index,
        .peers = peers,
        .n = n,
        .bandwidth = rdzv->settings.check_bandwidth,
    };
    orders_put(rdzv, &order);
}

static void order_all(struct rdzv *rdzv, int round, uint64_t now_us)
{
    struct trial *trial = &rdzv->trial;
    rdzv->check++;
    trial->round = round;
    trial->missing = 0;
    trial->until_us = machine_after(now_us, ANSWER_MS);
    pairing_make(trial->nodes, trial->n, round, trial->group);
    for (size_t i = 0; i < trial->n; i++) {
        trial->answered[i] = trial->group[i] == PAIRING_OUT;
        trial->missing += !trial->answered[i];
        if (!trial->answered[i])
            order_one(rdzv, i);
    }
}

void trial_begin(struct rdzv *rdzv, struct member *const *chosen, size_t n, uint64_t now_us)
{
    trial_drop(rdzv);
    struct trial *trial = &rdzv->trial;
    trial->n = n;
    trial->members = mem_new(n * sizeof *trial->members);
    trial->nodes = mem_new(n * sizeof *trial->nodes);
    trial->group = mem_new(n * sizeof *trial->group);
    trial->answered = mem_new(n * sizeof *trial->answered);
    trial->said = mem_new(n * sizeof *trial->said);
    trial->memory = arena_create();
    for (size_t i = 0; i < n; i++) {
        trial->members[i] = chosen[i]->id;
        trial->said[i] = (struct trial_report){ .figures = "", .why = "" };
        size_t k = 0;
        while (rdzv->limits.share_nodes && strcmp(chosen[k]->node, chosen[i]->node) != 0)
            k++;
        trial->nodes[i].host = rdzv->limits.share_nodes ? k + 1 : 0;
    }
    rdzv->phase = RDZV_CHECK;
    order_all(rdzv, 0, now_us);
}

void trial_again(struct rdzv *rdzv, uint64_t member)
{
    size_t i = index_of(&rdzv->trial, member);
    if (i < rdzv->trial.n && !rdzv->trial.answered[i])
        order_one(rdzv, i);
}

void trial_answer(struct rdzv *rdzv, const struct member *member,
                  const struct rdzv_check_report *checked)
{
    struct trial *trial = &rdzv->trial;
    size_t i = index_of(trial, member->id);
    if (rdzv->phase != RDZV_CHECK || checked->check != rdzv->check || checked->term > rdzv->term ||
        i == trial->n || trial->answered[i])
        return;
    trial->answered[i] = true;
    trial->missing--;
    struct pairing_node *node = &trial->nodes[i];
    node->ran[trial->round] = true;
    node->ok[trial->round] = checked->result == RDZV_CHECK_OK;
    node->took_us[trial->round] = checked->took_us;
    node->self_bad[trial->round] = checked->result == RDZV_CHECK_SELF_BAD;
    bool ok = checked->result == RDZV_CHECK_OK;
    trial->said[i].figures = arena_strdup(trial->memory, checked->figures);
    if (!ok)
        trial->said[i].why = arena_strdup(trial->memory, checked->why);
    orders_news(rdzv, RDZV_NOTICE_CHECK, member->id, "%s: %s%s%s", member->node, checked->figures,
                ok ? "" : "; failed: ", ok ? "" : checked->why);
}

/* Worth another look with other partners. A fault of its own is plain at once. */
static bool look_again(const struct trial *trial)
{
    if (trial->round > 0 || trial->n < 2)
        return false;
    AUTO_FREE enum pairing_verdict *out = mem_new(trial->n * sizeof *out);
    bool again = false;
    size_t left = 0; /* could be partners in a second round */
    pairing_judge(trial->nodes, trial->n, out);
    for (size_t i = 0; i < trial->n; i++)
        left += !trial->nodes[i].self_bad[0];
    for (size_t i = 0; i < trial->n; i++)
        again = again || out[i] == PAIRING_STRAGGLER ||
                (left > 1 && !trial->nodes[i].ok[0] && !trial->nodes[i].self_bad[0]);
    return again;
}

/* ---- the verdict ---- */

struct trial_verdicts { /* the trial is no longer the machine's: leaving the phase drops it there */
    struct trial trial;
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

static const char *straggler_text(struct rdzv *rdzv, const struct trial_verdicts *judged, size_t i)
{
    const struct trial *trial = &judged->trial;
    return arena_printf(
        rdzv->memory, "is a straggler%s: %.0f ms where %s %.0f ms (%.400s)",
        rdzv->settings.exclude_straggler ? " and left out (--exclude-straggler)" : "",
        least_ms(&trial->nodes[i]),
        pairing_hosts(trial->nodes, trial->n, judged->out) == 2 ? "the other one takes"
                                                                : "the median is",
        (double)judged->median_us / 1000.0, trial->said[i].figures);
}

static const char *fault_text(struct rdzv *rdzv, const struct trial_verdicts *judged, size_t i)
{
    const struct trial *trial = &judged->trial;
    const struct pairing_node *node = &trial->nodes[i];
    const char *how = "";
    if (judged->out[i] == PAIRING_SUSPECT)
        how = trial->n <= 3 ? " together with its partners, and so few nodes cannot tell which "
                              "one is at fault"
                            : " with every partner, and all of those failed too";
    else if (!node->self_bad[0] && !node->self_bad[1])
        how = " with every partner, and those passed with others";
    return arena_printf(rdzv->memory, "failed the node check%s: %.1024s%s%.512s%s", how,
                        trial->said[i].why, trial->said[i].figures[0] ? " (" : "",
                        trial->said[i].figures, trial->said[i].figures[0] ? ")" : "");
}

/* Everybody in the trial hears of it: without a server there is no other place to read it. */
static void tell_all(struct rdzv *rdzv, struct trial_verdicts *judged, uint64_t about,
                     const char *text)
{
    orders_news(rdzv, RDZV_NOTICE_CHECK, about, "%s", text);
    if (judged->noted++ >= NOTES_MAX)
        return;
    for (size_t i = 0; i < judged->trial.n; i++)
        if (members_find(rdzv, judged->trial.members[i]))
            orders_note(rdzv, judged->trial.members[i], about, text);
}

static void exclude(struct rdzv *rdzv, struct member *member, const char *text)
{
    struct rdzv_end end = { .term = rdzv->term, .kind = RDZV_END_CHECK, .text = text };
    orders_end(rdzv, member->id, &end);
    vec_push(&rdzv->barred, member->id);
    members_remove(rdzv, member);
}

static void apply(struct rdzv *rdzv, struct trial_verdicts *judged, size_t i)
{
    enum pairing_verdict verdict = judged->out[i];
    struct member *member = members_find(rdzv, judged->trial.members[i]);
    if (member)
        member->checked = true;
    if (!member || verdict == PAIRING_GOOD)
        return;
    const char *text = verdict == PAIRING_STRAGGLER ? straggler_text(rdzv, judged, i)
                                                    : fault_text(rdzv, judged, i);
    uint64_t id = member->id;
    text = arena_printf(rdzv->memory, "%s %s", member->node, text);
    if (verdict != PAIRING_STRAGGLER || rdzv->settings.exclude_straggler) {
        exclude(rdzv, member, text);
        judged->gone++;
        judged->text = text;
    }
    tell_all(rdzv, judged, id, text);
}

/* The others do not wait for somebody in its place: who comes later is let in by a new round. Too
 * few are left, and nobody is known to come: that is the end. */
static void go_on(struct rdzv *rdzv, const struct trial_verdicts *judged, uint32_t before)
{
    uint32_t left = rdzv->parts[PART_WAITING];
    bool more_to_come = rdzv->expected != UINT32_MAX && rdzv->expected > before;
    if (judged->gone == 0)
        return;
    rdzv->last_join_us = 0;
    if (more_to_come || gather_world(rdzv, left) >= gather_least(rdzv))
        return;
    rounds_over(rdzv, RDZV_END_CHECK,
                "%u of %zu nodes failed the node check; %u %s left, and a round needs %u. %s%s",
                judged->gone, judged->trial.n, left, left == 1 ? "is" : "are", gather_least(rdzv),
                judged->gone > 1 ? "One of them: " : "", judged->text);
}

static void verdict(struct rdzv *rdzv, uint64_t now_us)
{
    struct trial_verdicts judged = { .trial = rdzv->trial };
    uint64_t gathered_us = rdzv->last_join_us;
    uint32_t before = rdzv->parts[PART_WAITING];
    rdzv->trial = (struct trial){ 0 };
    judged.out = mem_new(judged.trial.n * sizeof *judged.out);
    judged.median_us = pairing_judge(judged.trial.nodes, judged.trial.n, judged.out);
    for (size_t i = 0; i < judged.trial.n; i++)
        apply(rdzv, &judged, i);
    gather_open(rdzv, now_us);
    rdzv->last_join_us = gathered_us; /* the last call is not held twice */
    go_on(rdzv, &judged, before);
    free(judged.out);
    trial_free(&judged.trial);
}

void trial_progress(struct rdzv *rdzv, uint64_t now_us)
{
    if (gather_world(rdzv, rdzv->parts[PART_WAITING]) > rdzv->trial.n) {
        trial_drop(rdzv); /* a larger world: check that one */
        gather_open(rdzv, now_us);
        return;
    }
    if (rdzv->trial.missing > 0)
        return;
    if (look_again(&rdzv->trial))
        order_all(rdzv, 1, now_us);
    else
        verdict(rdzv, now_us);
}

void trial_expire(struct rdzv *rdzv, uint64_t now_us)
{
    struct trial *trial = &rdzv->trial;
    if (rdzv->phase != RDZV_CHECK || now_us < trial->until_us)
        return;
    for (size_t i = 0; i < trial->n; i++)
        if (!trial->answered[i]) {
            trial->answered[i] = true;
            trial->nodes[i].ran[trial->round] = true;
            trial->nodes[i].ok[trial->round] = false;
            trial->nodes[i].self_bad[trial->round] = true;
            trial->said[i].why =
                arena_printf(trial->memory, "no answer within %u s", ANSWER_MS / 1000u);
        }
    trial->missing = 0;
}
