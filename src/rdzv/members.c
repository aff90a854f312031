/* Who is alive. The table keeps the counts of states, and the earliest moment at which anybody's
 * time can run out, so that a look at the clock rarely looks at all. */
#include "rdzv/members.h"

#include "base/mem.h"
#include "job/rendezvous.h"
#include "rdzv/deadline.h"

#include <stdlib.h>

#define SENIOR_NEW ((uint64_t)RDZV_MAX_MEMBERS)

void members_init(struct members *members, uint32_t silence_ms, uint32_t stop_ms)
{
    *members = (struct members){ .silence_ms = silence_ms,
                                 .stop_ms = stop_ms,
                                 .by_id = map_create(),
                                 .by_rank = map_create(),
                                 .scan_us = UINT64_MAX };
}

void members_fini(struct members *members)
{
    while (members->all.n > 0)
        members_remove(members, members->all.at[members->all.n - 1]);
    vec_fini(&members->all);
    map_destroy(members->by_id);
    map_destroy(members->by_rank);
}

struct member *members_find(const struct members *members, uint64_t id)
{
    return map_get(members->by_id, id);
}

void members_part(struct members *members, struct member *member, enum part part)
{
    members->parts[member->part]--;
    members->parts[part]++;
    member->part = part;
    if (part == PART_WAITING)
        member->stop_by_us = UINT64_MAX;
}

void members_heard(struct members *members, struct member *member, uint64_t now_us)
{
    member->heard_us = now_us;
    if (members->silence_ms) {
        uint64_t end = deadline_after(now_us, members->silence_ms);
        if (end < members->scan_us)
            members->scan_us = end;
    }
}

void members_stop_by(struct members *members, struct member *member, uint64_t now_us)
{
    if (!members->stop_ms)
        return;
    member->stop_by_us = deadline_after(now_us, members->stop_ms);
    if (member->stop_by_us < members->scan_us)
        members->scan_us = member->stop_by_us;
}

struct member *members_expired(struct members *members, uint64_t now_us, const char **why)
{
    if (now_us < members->scan_us)
        return NULL;
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < members->all.n; i++) {
        struct member *member = members->all.at[i];
        uint64_t silent = members->silence_ms
                              ? deadline_after(member->heard_us, members->silence_ms)
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
    members->scan_us = next;
    return NULL;
}

struct member *members_ranked(const struct members *members, uint32_t node_rank)
{
    return map_get(members->by_rank, (uint64_t)node_rank + 1);
}

struct member *members_add(struct members *members, uint64_t id)
{
    struct member *member = mem_new(sizeof *member);
    member->id = id;
    member->node_rank = RDZV_ANY_RANK;
    member->senior = SENIOR_NEW + members->arrivals++;
    member->stop_by_us = UINT64_MAX;
    members->parts[PART_WAITING]++;
    vec_push(&members->all, member);
    map_set(members->by_id, id, member);
    return member;
}

void members_rank(struct members *members, struct member *member, uint32_t node_rank)
{
    if (member->node_rank == node_rank)
        return;
    if (member->node_rank != RDZV_ANY_RANK)
        map_remove(members->by_rank, (uint64_t)member->node_rank + 1);
    if (node_rank != RDZV_ANY_RANK)
        map_set(members->by_rank, (uint64_t)node_rank + 1, member);
    member->node_rank = node_rank;
}

void members_remove(struct members *members, struct member *member)
{
    members->parts[member->part]--;
    if (member->node_rank != RDZV_ANY_RANK)
        map_remove(members->by_rank, (uint64_t)member->node_rank + 1);
    map_remove(members->by_id, member->id);
    for (size_t i = 0; i < members->all.n; i++)
        if (members->all.at[i] == member) {
            vec_remove(&members->all, i);
            break;
        }
    free(member->node);
    free(member->addr);
    free(member->role);
    free(member);
}
