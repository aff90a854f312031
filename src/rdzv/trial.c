/* The node check before a round of new members: up to two orders per node, then a verdict. The
 * second order is left out when the first one found nothing to look into. */
#include "rdzv/machine.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 330000u /* a check takes at most 300 s (launch/check.h), plus the way */

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

void trial_drop(struct rdzv *rdzv)
{
    struct trial *trial = &rdzv->trial;
    free(trial->members);
    free(trial->nodes);
    free(trial->group);
    free(trial->answered);
    *trial = (struct trial){ 0 };
}

static void order_one(struct rdzv *rdzv, size_t self)
{
    const struct trial *trial = &rdzv->trial;
    size_t n = 0;
    uint32_t index = 0;
    for (size_t i = 0; i < trial->n; i++)
        n += trial->group[i] == trial->group[self];
    const char **addrs = ARENA_ARRAY(rdzv->memory, n, const char *);
    uint16_t *ports = ARENA_ARRAY(rdzv->memory, n, uint16_t);
    for (size_t i = 0, at = 0; i < trial->n; i++) {
        if (trial->group[i] != trial->group[self])
            continue;
        const struct member *member = members_find(rdzv, trial->members[i]);
        if (i == self)
            index = (uint32_t)at;
        addrs[at] = arena_strdup(rdzv->memory, member ? member->addr : "");
        ports[at++] = member ? member->check_port : 0;
    }
    struct rdzv_order order = { .to = trial->members[self], .kind = RDZV_ORDER_CHECK };
    order.check = (struct rdzv_check){
        .term = rdzv->term,
        .check = rdzv->check,
        .round = (uint32_t)trial->round,
        .index = index,
        .addrs = addrs,
        .ports = ports,
        .n = n,
        .bandwidth = rdzv->terms.check_bandwidth,
    };
    orders_put(rdzv, &order);
}

static void order_all(struct rdzv *rdzv, int round, uint64_t now_us)
{
    struct trial *trial = &rdzv->trial;
    rdzv->check++;
    trial->round = round;
    trial->missing = trial->n;
    trial->until_us = machine_after(now_us, ANSWER_MS);
    memset(trial->answered, 0, trial->n * sizeof *trial->answered);
    pairing_make(trial->nodes, trial->n, round, trial->group);
    for (size_t i = 0; i < trial->n; i++)
        order_one(rdzv, i);
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
    for (size_t i = 0; i < n; i++)
        trial->members[i] = chosen[i]->id;
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
                  const struct rdzv_checked *checked)
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
    node->self_bad = node->self_bad || checked->result == RDZV_CHECK_SELF_BAD;
    bool ok = checked->result == RDZV_CHECK_OK;
    orders_news(rdzv, RDZV_NEWS_CHECK, member->id, "%s: %s%s%s", member->node, checked->figures,
                ok ? "" : "; failed: ", ok ? "" : checked->why);
}

static bool look_again(const struct trial *trial)
{
    if (trial->round > 0 || trial->n < 2)
        return false;
    AUTO_FREE enum pairing_verdict *out = mem_new(trial->n * sizeof *out);
    bool again = false;
    pairing_judge(trial->nodes, trial->n, out);
    for (size_t i = 0; i < trial->n; i++)
        again = again || out[i] != PAIRING_GOOD || !trial->nodes[i].ok[0];
    return again;
}

static void exclude(struct rdzv *rdzv, struct member *member, const char *why)
{
    struct rdzv_end end = { .term = rdzv->term, .kind = RDZV_END_CHECK };
    end.text = arena_printf(rdzv->memory, "%s %s", member->node, why);
    orders_news(rdzv, RDZV_NEWS_CHECK, member->id, "%s", end.text);
    orders_end(rdzv, member->id, &end);
    vec_push(&rdzv->barred, member->id);
    members_remove(rdzv, member);
}

/* Acts on one verdict; true: the node is out. */
static bool apply(struct rdzv *rdzv, struct member *member, enum pairing_verdict verdict)
{
    member->checked = true;
    switch (verdict) {
    case PAIRING_GOOD: return false;
    case PAIRING_STRAGGLER:
        if (rdzv->terms.exclude_straggler) {
            exclude(rdzv, member,
                    "is a straggler: it takes more than twice the median of the node check");
            return true;
        }
        orders_news(rdzv, RDZV_NEWS_CHECK, member->id,
                    "%s is a straggler: it takes more than twice the median of the node check",
                    member->node);
        return false;
    case PAIRING_FAULTY: exclude(rdzv, member, "failed the node check"); return true;
    case PAIRING_SUSPECT:
        exclude(rdzv, member,
                "failed the node check together with its partners: too few nodes to tell which "
                "one is at fault");
        return true;
    }
    return false;
}

static void verdict(struct rdzv *rdzv, uint64_t now_us)
{
    struct trial trial = rdzv->trial; /* ours now: leaving the phase drops the machine's */
    rdzv->trial = (struct trial){ 0 };
    AUTO_FREE enum pairing_verdict *out = mem_new(trial.n * sizeof *out);
    pairing_judge(trial.nodes, trial.n, out);
    uint64_t gathered_us = rdzv->last_join_us;
    uint32_t before = rdzv->parts[PART_WAITING];
    uint32_t gone = 0;
    for (size_t i = 0; i < trial.n; i++) {
        struct member *member = members_find(rdzv, trial.members[i]);
        if (member)
            gone += apply(rdzv, member, out[i]);
    }
    gather_open(rdzv, now_us);
    rdzv->last_join_us = gathered_us; /* the last call is not held twice */
    bool more_to_come = rdzv->expected != UINT32_MAX && rdzv->expected > before;
    if (gone > 0 && !more_to_come &&
        gather_world(rdzv, rdzv->parts[PART_WAITING]) < gather_least(rdzv))
        rounds_over(rdzv, RDZV_END_CHECK,
                    "%u of %zu nodes failed the node check: %u are left, and "
                    "a round needs %u",
                    gone, trial.n, rdzv->parts[PART_WAITING], gather_least(rdzv));
    free(trial.members);
    free(trial.nodes);
    free(trial.group);
    free(trial.answered);
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
        }
    trial->missing = 0;
}
