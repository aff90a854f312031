/* The deaths of the ranks of one round: told by their launchers, put in order, said in words. */
#ifndef RDZV_DEATHS_H
#define RDZV_DEATHS_H

#include "base/arena.h"
#include "base/vec.h"
#include "job/rendezvous.h"

struct victim {
    struct rdzv_victim what;
    size_t order; /* in which they were told, from 1 */
    int rank;     /* the first, a tie with it, another, a victim: while they are sorted */
};
struct deaths {
    struct arena *memory; /* their texts */
    VEC(struct victim) all;
};
void deaths_init(struct deaths *);
void deaths_fini(struct deaths *);
void deaths_clear(struct deaths *);

/* Of the member at that group rank, on that node. */
void deaths_add(struct deaths *, const struct rdzv_deaths *, uint32_t group_rank, const char *node);
bool deaths_guilty(const struct rdzv_deaths *); /* one that is not a victim */
/* Sorted, bounded; the list lives until they are cleared. */
void deaths_tell(struct deaths *, struct rdzv_end *);
const struct rdzv_victim *deaths_first(const struct deaths *); /* NULL: nobody died */
/* "rank 3 on n2 was killed (SIGKILL)" of the first one, with those of a tie; or fallback. */
void deaths_cause(const struct deaths *, const char *fallback, char *out, size_t size);

#endif
