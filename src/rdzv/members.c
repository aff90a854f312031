/* Who is alive, and who may not come in. A member is known from its first JOIN until it is lost,
 * leaves, or was told the end of its own part. */
#include "rdzv/state.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

uint64_t deadline_after(uint64_t us, uint64_t ms)
{
    if (ms > UINT64_MAX / 1000 || us > UINT64_MAX - ms * 1000)
        return UINT64_MAX;
    return us + ms * 1000;
}

struct member *members_find(const struct rdzv *rdzv, uint64_t id)
{
    return map_get(rdzv->by_id, id);
}

void members_part(struct rdzv *rdzv, struct member *member, enum part part)
{
    rdzv->parts[member->part]--;
    rdzv->parts[part]++;
    member->part = part;
    if (part == PART_WAITING)
        member->stop_by_us = UINT64_MAX;
}

void members_heard(struct rdzv *rdzv, struct member *member, uint64_t now_us)
{
    member->heard_us = now_us;
    if (rdzv->limits.silence_ms) {
        uint64_t end = deadline_after(now_us, rdzv->limits.silence_ms);
        if (end < rdzv->scan_us)
            rdzv->scan_us = end;
    }
}

void members_stop_by(struct rdzv *rdzv, struct member *member, uint64_t now_us)
{
    if (!rdzv->limits.stop_ms)
        return;
    member->stop_by_us = deadline_after(now_us, rdzv->limits.stop_ms);
    if (member->stop_by_us < rdzv->scan_us)
        rdzv->scan_us = member->stop_by_us;
}

struct member *members_expired(struct rdzv *rdzv, uint64_t now_us, const char **why)
{
    if (now_us < rdzv->scan_us)
        return NULL;
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < rdzv->members.n; i++) {
        struct member *member = rdzv->members.at[i];
        uint64_t silent = rdzv->limits.silence_ms
                              ? deadline_after(member->heard_us, rdzv->limits.silence_ms)
                              : UINT64_MAX;
        if (silent <= now_us || member->stop_by_us <= now_us) {
            *why = silent <= now_us ? "it fell silent" : "it did not stop its ranks in time";
            return member; /* scan_us stays: the next look finds the next one */
        }
        if (silent < next)
            next = silent;
        if (member->stop_by_us < next)
            next = member->stop_by_us;
    }
    rdzv->scan_us = next;
    return NULL;
}

/* ---- admission ---- */

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
        orders_refuse(rdzv, join->member, RDZV_REFUSED_SETTINGS, "%u ranks: 1 to %u can take part",
                      join->ranks, RDZV_MAX_RANKS);
        return false;
    }
    if (!sane(theirs)) {
        orders_refuse(rdzv, join->member, RDZV_REFUSED_SETTINGS,
                      "no world can have %u to %u nodes in multiples of %u: change --nnodes or "
                      "--node-unit (at most %u nodes)",
                      theirs->min, theirs->max, theirs->node_unit, RDZV_MAX_MEMBERS);
        return false;
    }
    if (rdzv->settled && !same_settings(theirs, ours)) {
        orders_refuse(rdzv, join->member, RDZV_REFUSED_SETTINGS,
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
        orders_refuse(rdzv, join->member, RDZV_REFUSED_RANK,
                      "node rank %u is not below the %u nodes there may be: give 0 to %u",
                      join->node_rank, join->settings.max, join->settings.max - 1);
        return false;
    }
    const struct member *holder = map_get(rdzv->by_rank, (uint64_t)join->node_rank + 1);
    if (!holder || holder->id == join->member)
        return true;
    orders_refuse(rdzv, join->member, RDZV_REFUSED_RANK,
                  "node rank %u is taken by %s, which is alive: give each node its own",
                  join->node_rank, holder->node);
    return false;
}

static bool welcome_here(struct rdzv *rdzv, const struct rdzv_join *join)
{
    for (size_t i = 0; i < rdzv->barred.n; i++)
        if (rdzv->barred.at[i] == join->member) {
            orders_refuse(rdzv, join->member, RDZV_REFUSED_OVER,
                          "this node failed the node check: have it repaired, or use another");
            return false;
        }
    if (rdzv->settled && strcmp(rdzv->run_id, join->run_id) != 0) {
        orders_refuse(rdzv, join->member, RDZV_REFUSED_RUN,
                      "this rendezvous is of the run %s, not of %s: use another endpoint, or the "
                      "same --rdzv-id",
                      rdzv->run_id, join->run_id);
        return false;
    }
    if (rdzv->members.n >= RDZV_MAX_MEMBERS && !members_find(rdzv, join->member)) {
        orders_refuse(rdzv, join->member, RDZV_REFUSED_FULL,
                      "%u nodes have come, the most there "
                      "can be",
                      RDZV_MAX_MEMBERS);
        return false;
    }
    return settings_fit(rdzv, join) && rank_free(rdzv, join);
}

static struct member *create(struct rdzv *rdzv, uint64_t id)
{
    struct member *member = mem_new(sizeof *member);
    member->id = id;
    member->node_rank = RDZV_ANY_RANK;
    member->senior = SENIOR_NEW + rdzv->arrivals++;
    member->stop_by_us = UINT64_MAX;
    member->place = rounds_place(rdzv, id);
    if (member->place)
        member->senior = (uint64_t)(member->place - rdzv->places);
    rdzv->parts[PART_WAITING]++;
    vec_push(&rdzv->members, member);
    map_set(rdzv->by_id, id, member);
    return member;
}

static void set_text(char **at, const char *text)
{
    if (*at && strcmp(*at, text) == 0)
        return;
    free(*at);
    *at = mem_strdup(text);
}

struct member *members_admit(struct rdzv *rdzv, const struct rdzv_join *join, uint64_t now_us)
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
    struct member *member = members_find(rdzv, join->member);
    if (!member) {
        member = create(rdzv, join->member);
        /* Later on the leader counts: not every failure a launcher sees is its own. For the same
         * reason what it counted before never ends the job by itself. */
        member->spent =
            join->spent < rdzv->settings.max_restarts ? join->spent : rdzv->settings.max_restarts;
    }
    if (member->node_rank != join->node_rank) {
        if (member->node_rank != RDZV_ANY_RANK)
            map_remove(rdzv->by_rank, (uint64_t)member->node_rank + 1);
        if (join->node_rank != RDZV_ANY_RANK)
            map_set(rdzv->by_rank, (uint64_t)join->node_rank + 1, member);
        member->node_rank = join->node_rank;
    }
    set_text(&member->node, join->node);
    set_text(&member->addr, join->addr);
    set_text(&member->role, join->role ? join->role : RDZV_ROLE);
    member->ranks = join->ranks;
    member->store_port = join->store_port;
    member->lead_port = join->lead_port;
    member->check_port = join->check_port;
    members_heard(rdzv, member, now_us);
    return member;
}

void members_remove(struct rdzv *rdzv, struct member *member)
{
    rdzv->parts[member->part]--;
    if (member->node_rank != RDZV_ANY_RANK)
        map_remove(rdzv->by_rank, (uint64_t)member->node_rank + 1);
    map_remove(rdzv->by_id, member->id);
    for (size_t i = 0; i < rdzv->members.n; i++)
        if (rdzv->members.at[i] == member) {
            vec_remove(&rdzv->members, i);
            break;
        }
    free(member->node);
    free(member->addr);
    free(member->role);
    free(member);
}
