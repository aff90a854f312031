/* Who died first. Each death carries its age when its message was sent, so the moment is the
 * receipt minus the age: clocks of different nodes are never compared, only the way of the message
 * adds to the error. Deaths are of the last round that ended; a new round forgets them. */
#include "rdzv/machine.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MAX     (4 * RDZV_MAX_DEATHS)
#define EPOCH        (UINT64_C(1) << 62)
#define UNDECIDED_US 1000u

void deaths_clear(struct rdzv *rdzv)
{
    vec_clear(&rdzv->deaths);
    arena_reset(rdzv->deaths_memory);
}

bool deaths_guilty(const struct rdzv_deaths *deaths)
{
    for (size_t i = 0; i < deaths->n; i++)
        if (!deaths->at[i].victim && (deaths->at[i].code != 0 || deaths->at[i].signal != 0))
            return true;
    return false;
}

/* Where one more goes: a new slot, or that of the latest when all are taken; NULL: it is later. */
static struct victim *slot_for(struct rdzv *rdzv, uint64_t at_us)
{
    if (rdzv->deaths.n < KEPT_MAX)
        return vec_add(&rdzv->deaths);
    struct victim *latest = &rdzv->deaths.at[0];
    for (size_t i = 1; i < rdzv->deaths.n; i++)
        if (rdzv->deaths.at[i].at_us > latest->at_us)
            latest = &rdzv->deaths.at[i];
    return latest->at_us > at_us ? latest : NULL;
}

static bool known(const struct rdzv *rdzv, uint32_t group_rank, const struct rdzv_death *death)
{
    for (size_t i = 0; i < rdzv->deaths.n; i++) {
        const struct rdzv_victim *old = &rdzv->deaths.at[i].what;
        if (old->group_rank == group_rank && old->death.local_rank == death->local_rank)
            return true;
    }
    return false;
}

void deaths_add(struct rdzv *rdzv, const struct rdzv_deaths *deaths, const struct place *place,
                uint64_t now_us)
{
    uint32_t group_rank = (uint32_t)(place - rdzv->places);
    for (size_t i = 0; i < deaths->n; i++) {
        const struct rdzv_death *death = &deaths->at[i];
        uint64_t age = death->age_us > EPOCH ? EPOCH : death->age_us;
        uint64_t at_us = EPOCH + now_us - age;
        /* A report that was sent again after a broken connection tells nothing new. */
        struct victim *slot = known(rdzv, group_rank, death) ? NULL : slot_for(rdzv, at_us);
        if (!slot)
            continue;
        *slot = (struct victim){ .at_us = at_us };
        slot->what = (struct rdzv_victim){ .death = *death, .group_rank = group_rank };
        struct arena *memory = rdzv->deaths_memory;
        slot->what.node = arena_strdup(memory, place->node);
        slot->what.death.message = arena_strdup(memory, death->message ? death->message : "");
        slot->what.death.error_file =
            arena_strdup(memory, death->error_file ? death->error_file : "");
        slot->what.death.tail = arena_strdup(memory, death->tail ? death->tail : "");
    }
}

static int guilty_first(const void *a, const void *b)
{
    const struct victim *x = a;
    const struct victim *y = b;
    if (x->what.death.victim != y->what.death.victim)
        return x->what.death.victim ? 1 : -1;
    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    if (x->what.group_rank != y->what.group_rank)
        return x->what.group_rank < y->what.group_rank ? -1 : 1;
    return x->what.death.local_rank < y->what.death.local_rank   ? -1
           : x->what.death.local_rank > y->what.death.local_rank ? 1
                                                                 : 0;
}

void deaths_tell(struct rdzv *rdzv, struct rdzv_end *end)
{
    size_t n = rdzv->deaths.n;
    if (n == 0)
        return;
    qsort(rdzv->deaths.at, n, sizeof *rdzv->deaths.at, guilty_first);
    const struct victim *at = rdzv->deaths.at;
    end->undecided = n > 1 && !at[1].what.death.victim &&
                     at[0].what.group_rank != at[1].what.group_rank &&
                     at[1].at_us - at[0].at_us <= UNDECIDED_US;
    end->n_deaths = n < RDZV_MAX_DEATHS ? n : RDZV_MAX_DEATHS;
    struct rdzv_victim *told = ARENA_ARRAY(rdzv->deaths_memory, end->n_deaths, struct rdzv_victim);
    for (size_t i = 0; i < end->n_deaths; i++)
        told[i] = at[i].what;
    end->deaths = told;
}

static void describe(const struct rdzv_victim *who, char out[SENTENCE])
{
    const struct rdzv_death *death = &who->death;
    if (death->spared) {
        (void)snprintf(out, SENTENCE, "rank %u on %s could not be started", death->rank, who->node);
    } else if (death->signal) {
        const char *name = death->signal < 256 ? sigabbrev_np((int)death->signal) : NULL;
        (void)snprintf(out, SENTENCE, "rank %u on %s was killed (%s%s%s)", death->rank, who->node,
                       name ? "SIG" : "signal", name ? name : "",
                       death->oom ? ", out of memory" : "");
    } else {
        (void)snprintf(out, SENTENCE, "rank %u on %s exited with %d%s", death->rank, who->node,
                       (int)death->code, death->oom ? " (out of memory)" : "");
    }
}

void deaths_cause(struct rdzv *rdzv, const char *fallback, char out[SENTENCE])
{
    const struct victim *guilty = NULL;
    for (size_t i = 0; i < rdzv->deaths.n; i++)
        if (!guilty || guilty_first(&rdzv->deaths.at[i], guilty) < 0)
            guilty = &rdzv->deaths.at[i];
    if (guilty)
        describe(&guilty->what, out);
    else
        (void)snprintf(out, SENTENCE, "%s", fallback);
}
