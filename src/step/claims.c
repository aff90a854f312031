/* A node's cores are a number, its devices a set of bits. All shares of a claim are held or none:
 * they are looked at first, and nothing changes before they are held. */
#include "step/claims.h"

#include "base/scan.h"

#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 65536 };

bool claims_init(struct claims *c, struct arena *arena, const char *room)
{
    *c = (struct claims){ .arena = arena,
                          .rooms = ARENA_ARRAY(arena, NODES_MAX, struct claims_node) };
    for (const char *at = room; *at; at += *at == ';') {
        char *end;
        unsigned long part[3] = { 0 };
        static const char behind[3] = { '/', 'x', '\0' };
        for (size_t i = 0; i < 3; i++) {
            if (*at < '0' || *at > '9')
                return false;
            part[i] = strtoul(at, &end, 10);
            at = end;
            if (behind[i] && *at++ != behind[i])
                return false;
        }
        if ((*at && *at != ';') || part[2] > NODES_MAX - c->n)
            return false;
        for (unsigned long i = 0; i < part[2]; i++)
            c->rooms[c->n++] =
                (struct claims_node){ .cpus = part[0] > UINT32_MAX ? UINT32_MAX : (uint32_t)part[0],
                                      .gpus = part[1] > CLAIMS_GPUS_MAX ? CLAIMS_GPUS_MAX
                                                                        : (uint32_t)part[1] };
    }
    return c->n > 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static struct claims_node *room_of(struct claims *c, const struct step_share *share)
{
    return share->node < c->n ? &c->rooms[share->node] : NULL;
}

static bool fits(struct claims *c, const struct step_share *share)
{
    const struct claims_node *room = room_of(c, share);
    if (!room)
        return true; /* srun knows nodes that this one does not: nothing is counted there */
    uint32_t gpus = room->gpus - (uint32_t)__builtin_popcountll(room->gpus_held);
    bool cpus = !room->cpus || least(share->cpus, room->cpus) <= room->cpus - room->cpus_held;
    return cpus && least(share->gpus, room->gpus) <= gpus;
}

static void hold(struct claims *c, struct arena *arena, const struct step_share *share,
                 struct step_gpus *out)
{
    struct claims_node *room = room_of(c, share);
    *out = (struct step_gpus){ .n = 0 };
    if (!room)
        return;
    room->cpus_held += room->cpus ? least(share->cpus, room->cpus) : 0;
    uint32_t wanted = least(share->gpus, room->gpus);
    out->at = wanted ? ARENA_ARRAY(arena, wanted, uint32_t) : NULL;
    for (uint32_t i = 0; i < room->gpus && out->n < wanted; i++)
        if (!(room->gpus_held >> i & 1)) {
            room->gpus_held |= UINT64_C(1) << i;
            out->at[out->n++] = i;
        }
}

bool claims_take(struct claims *c, struct arena *arena, const struct step_claim *claim,
                 struct step_grant *grant)
{
    for (size_t i = 0; i < claim->n; i++)
        if (!fits(c, &claim->shares[i]))
            return false;
    grant->gpus = ARENA_ARRAY(arena, claim->n, struct step_gpus);
    grant->n = claim->n;
    for (size_t i = 0; i < claim->n; i++)
        hold(c, arena, &claim->shares[i], &grant->gpus[i]);
    return true;
}

void claims_free(struct claims *c, const struct step_claim *claim, const struct step_grant *grant)
{
    for (size_t i = 0; i < claim->n; i++) {
        struct claims_node *room = room_of(c, &claim->shares[i]);
        if (!room)
            continue;
        room->cpus_held -= room->cpus ? least(claim->shares[i].cpus, room->cpus) : 0;
        for (size_t k = 0; k < grant->gpus[i].n; k++)
            room->gpus_held &= ~(UINT64_C(1) << grant->gpus[i].at[k]);
    }
}
