/* Who died first. Of those that have a cause of their own: on one node that is the order in which
 * the kernel told its launcher, and what one wake-up of the launcher saw is a tie; between nodes it
 * is the order in which the leader heard of them, for times of two machines are never compared.
 * Deaths are of the last round that ended; a new round forgets them. */
#include "rdzv/deaths.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MAX (4 * RDZV_MAX_DEATHS)

void deaths_init(struct deaths *deaths)
{
    *deaths = (struct deaths){ .memory = arena_create() };
}

void deaths_fini(struct deaths *deaths)
{
    vec_fini(&deaths->all);
    arena_destroy(deaths->memory);
}

void deaths_clear(struct deaths *deaths)
{
    vec_clear(&deaths->all);
    arena_reset(deaths->memory);
}

bool deaths_guilty(const struct rdzv_deaths *deaths)
{
    for (size_t i = 0; i < deaths->n; i++)
        if (!deaths->at[i].victim && (deaths->at[i].code != 0 || deaths->at[i].signal != 0))
            return true;
    return false;
}

static bool known(const struct deaths *deaths, uint32_t group_rank, const struct rdzv_death *death)
{
    for (size_t i = 0; i < deaths->all.n; i++) {
        const struct rdzv_victim *old = &deaths->all.at[i].what;
        if (old->group_rank == group_rank && old->death.local_rank == death->local_rank)
            return true;
    }
    return false;
}

void deaths_add(struct deaths *deaths, const struct rdzv_deaths *told, uint32_t group_rank,
                const char *node)
{
    struct arena *memory = deaths->memory;
    for (size_t i = 0; i < told->n && deaths->all.n < KEPT_MAX; i++) {
        const struct rdzv_death *death = &told->at[i];
        /* A report that was sent again after a broken connection tells nothing new. */
        if (known(deaths, group_rank, death))
            continue;
        struct victim *slot = vec_add(&deaths->all);
        *slot = (struct victim){ .order = deaths->all.n };
        slot->what = (struct rdzv_victim){ .death = *death, .group_rank = group_rank };
        slot->what.node = arena_strdup(memory, node);
        slot->what.death.message = arena_strdup(memory, death->message ? death->message : "");
        slot->what.death.error_file =
            arena_strdup(memory, death->error_file ? death->error_file : "");
        slot->what.death.tail = arena_strdup(memory, death->tail ? death->tail : "");
    }
}

/* ---- who was first ---- */

static bool of_one_wakeup(const struct rdzv_victim *a, const struct rdzv_victim *b)
{
    return a->group_rank == b->group_rank && a->death.wakeup != 0 &&
           a->death.wakeup == b->death.wakeup;
}

/* Died of something of its own, or of another rank's end, or because it was told to. */
static int weight(const struct rdzv_death *death)
{
    return death->victim ? 3 : death->stopped ? 2 : death->of_peer ? 1 : 0;
}

/* A cause of its own goes before an error that speaks of another's end: who is gone for the others
 * may take a while yet to end for the kernel. Else in the order in which they were told. */
static const struct victim *first_of_all(const struct deaths *deaths)
{
    const struct victim *first = NULL;
    for (size_t i = 0; i < deaths->all.n; i++) {
        const struct victim *it = &deaths->all.at[i];
        int x = weight(&it->what.death), y = first ? weight(&first->what.death) : 0;
        if (!first || x < y || (x == y && it->order < first->order))
            first = it;
    }
    return first;
}

/* Could this one have been first as well? */
static bool tied(const struct victim *it, const struct victim *first)
{
    return it != first && of_one_wakeup(&it->what, &first->what) &&
           weight(&it->what.death) == weight(&first->what.death);
}

static int by_rank_told(const void *a, const void *b)
{
    const struct victim *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* The first one, those that may have been first too, then others by order, victims last. */
static void sort_deaths(struct deaths *deaths)
{
    const struct victim *first = first_of_all(deaths);
    for (size_t i = 0; i < deaths->all.n; i++) {
        struct victim *it = &deaths->all.at[i];
        it->rank = it == first ? 0 : tied(it, first) ? 1 : it->what.death.victim ? 3 : 2;
    }
    if (deaths->all.n > 1)
        qsort(deaths->all.at, deaths->all.n, sizeof *deaths->all.at, by_rank_told);
}

void deaths_tell(struct deaths *deaths, struct rdzv_end *end)
{
    size_t n = deaths->all.n;
    if (n == 0)
        return;
    sort_deaths(deaths);
    end->n_deaths = n < RDZV_MAX_DEATHS ? n : RDZV_MAX_DEATHS;
    struct rdzv_victim *told = ARENA_ARRAY(deaths->memory, end->n_deaths, struct rdzv_victim);
    for (size_t i = 0; i < end->n_deaths; i++) {
        told[i] = deaths->all.at[i].what;
        bool tie = deaths->all.at[i].rank == 1;
        end->undecided = end->undecided || tie;
        if (tie) /* which is how the others see it */
            told[i].death.age_us = told[0].death.age_us;
    }
    end->deaths = told;
}

/* ---- in words ---- */

static void describe(const struct rdzv_victim *who, struct buf *out)
{
    const struct rdzv_death *death = &who->death;
    buf_addf(out, "rank %u on %s ", death->rank, who->node);
    if (death->spared) {
        buf_puts(out, "could not be started");
    } else if (death->signal) {
        const char *name = death->signal < 256 ? sigabbrev_np((int)death->signal) : NULL;
        buf_addf(out, "was killed (%s%s%s)", name ? "SIG" : "signal", name ? name : "",
                 death->oom ? ", out of memory" : "");
    } else {
        buf_addf(out, "exited with %d%s", (int)death->code, death->oom ? " (out of memory)" : "");
    }
}

const struct rdzv_victim *deaths_first(const struct deaths *deaths)
{
    const struct victim *first = first_of_all(deaths);
    return first ? &first->what : NULL;
}

void deaths_cause(const struct deaths *deaths, const char *fallback, char *out, size_t size)
{
    AUTO_BUF struct buf text = BUF_INIT(1u << 16);
    const struct victim *first = first_of_all(deaths);
    size_t ties = 0, more = 0;
    if (!first) {
        (void)snprintf(out, size, "%s", fallback);
        return;
    }
    describe(&first->what, &text);
    for (size_t i = 0; i < deaths->all.n; i++) {
        const struct victim *it = &deaths->all.at[i];
        if (!tied(it, first))
            continue;
        ties++;
        more += text.len > size / 2;
        if (text.len > size / 2)
            continue;
        buf_puts(&text, " and ");
        describe(&it->what, &text);
    }
    if (more)
        buf_addf(&text, " and %zu more", more);
    if (ties)
        buf_puts(&text, ", at the same moment");
    (void)snprintf(out, size, "%s", buf_str(&text));
}
