/* Who may come in: the settings of the first member hold for all, a run id and a node rank are one
 * member's, and who failed the node check stays out. */
#include "rdzv/admission.h"

#include "base/mem.h"
#include "rdzv/state.h"

#include <stdlib.h>
#include <string.h>

static bool sane(const struct rdzv_settings *settings)
{
    uint32_t unit = settings->node_unit ? settings->node_unit : 1;
    return settings->min >= 1 && settings->min <= settings->max &&
           settings->max <= RDZV_MAX_MEMBERS &&
           settings->max - settings->max % unit >= settings->min;
}

static bool same_settings(const struct rdzv_settings *a, const struct rdzv_settings *b)
{
    return a->min == b->min && a->max == b->max && a->node_unit == b->node_unit &&
           a->check == b->check;
}

static bool settings_fit(struct rdzv *rdzv, const struct rdzv_join *join)
{
    const struct rdzv_settings *theirs = &join->settings;
    const struct rdzv_settings *ours = &rdzv->settings;
    if (join->ranks == 0 || join->ranks > RDZV_MAX_RANKS || join->member == 0) {
        orders_refuse(&rdzv->orders, join->member, RDZV_REFUSED_SETTINGS,
                      "%u ranks: 1 to %u can take part", join->ranks, RDZV_MAX_RANKS);
        return false;
    }
    if (!sane(theirs)) {
        orders_refuse(&rdzv->orders, join->member, RDZV_REFUSED_SETTINGS,
                      "no world can have %u to %u nodes in multiples of %u: change --nnodes or "
                      "--node-unit (at most %u nodes)",
                      theirs->min, theirs->max, theirs->node_unit, RDZV_MAX_MEMBERS);
        return false;
    }
    if (rdzv->settled && !same_settings(theirs, ours)) {
        orders_refuse(&rdzv->orders, join->member, RDZV_REFUSED_SETTINGS,
                      "it wants nodes %u to %u, unit %u, check %s; the first one that came wants "
                      "%u to %u, unit %u, check %s: start all with the same flags",
                      theirs->min, theirs->max, theirs->node_unit, theirs->check ? "on" : "off",
                      ours->min, ours->max, ours->node_unit, ours->check ? "on" : "off");
        return false;
    }
    return true;
}

static bool rank_free(struct rdzv *rdzv, const struct rdzv_join *join)
{
    if (join->node_rank == RDZV_ANY_RANK)
        return true;
    if (join->node_rank >= join->settings.max) {
        orders_refuse(&rdzv->orders, join->member, RDZV_REFUSED_RANK,
                      "node rank %u is not below the %u nodes there may be: give 0 to %u",
                      join->node_rank, join->settings.max, join->settings.max - 1);
        return false;
    }
    const struct member *holder = members_ranked(&rdzv->members, join->node_rank);
    if (!holder || holder->id == join->member)
        return true;
    orders_refuse(&rdzv->orders, join->member, RDZV_REFUSED_RANK,
                  "node rank %u is taken by %s, which is alive: give each node its own",
                  join->node_rank, holder->node);
    return false;
}

static bool welcome_here(struct rdzv *rdzv, const struct rdzv_join *join)
{
    for (size_t i = 0; i < rdzv->barred.n; i++)
        if (rdzv->barred.at[i] == join->member) {
            orders_refuse(&rdzv->orders, join->member, RDZV_REFUSED_OVER,
                          "this node failed the node check: have it repaired, or use another");
            return false;
        }
    if (rdzv->settled && strcmp(rdzv->run_id, join->run_id) != 0) {
        orders_refuse(&rdzv->orders, join->member, RDZV_REFUSED_RUN,
                      "this rendezvous is of the run %s, not of %s: use another endpoint, or the "
                      "same --rdzv-id",
                      rdzv->run_id, join->run_id);
        return false;
    }
    if (rdzv->members.all.n >= RDZV_MAX_MEMBERS && !members_find(&rdzv->members, join->member)) {
        orders_refuse(&rdzv->orders, join->member, RDZV_REFUSED_FULL,
                      "%u nodes have come, the most there "
                      "can be",
                      RDZV_MAX_MEMBERS);
        return false;
    }
    return settings_fit(rdzv, join) && rank_free(rdzv, join);
}

static struct member *add(struct rdzv *rdzv, uint64_t id)
{
    struct member *member = members_add(&rdzv->members, id);
    member->place = places_find(&rdzv->places, id);
    if (member->place)
        member->senior = places_rank(&rdzv->places, member->place);
    return member;
}

static void set_text(char **at, const char *text)
{
    if (*at && strcmp(*at, text) == 0)
        return;
    free(*at);
    *at = mem_strdup(text);
}

struct member *admission_admit(struct rdzv *rdzv, const struct rdzv_join *join, uint64_t now_us)
{
    if (!welcome_here(rdzv, join))
        return NULL;
    if (!rdzv->settled) {
        rdzv->settled = true;
        rdzv->settings = join->settings;
        if (rdzv->settings.node_unit == 0)
            rdzv->settings.node_unit = 1;
        set_text(&rdzv->run_id, join->run_id);
    }
    struct member *member = members_find(&rdzv->members, join->member);
    if (!member) {
        member = add(rdzv, join->member);
        /* Later on the leader counts: not every failure a launcher sees is its own. For the same
         * reason what it counted before never ends the job by itself. */
        member->spent =
            join->spent < rdzv->settings.max_restarts ? join->spent : rdzv->settings.max_restarts;
    }
    members_rank(&rdzv->members, member, join->node_rank);
    set_text(&member->node, join->node);
    set_text(&member->addr, join->addr);
    set_text(&member->role, join->role ? join->role : RDZV_ROLE);
    member->ranks = join->ranks;
    member->store_port = join->store_port;
    member->lead_port = join->lead_port;
    member->check_port = join->check_port;
    members_heard(&rdzv->members, member, now_us);
    return member;
}
