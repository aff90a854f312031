/* The places of a round by group rank: whose each is, and in which state. */
#ifndef RDZV_PLACES_H
#define RDZV_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum place_state {
    PLACE_LEFT,   /* joined again, lost, gone: no part of the round any more */
    PLACE_ABSENT, /* named by a claim, has not come to this leader yet */
    PLACE_RUNNING,
    PLACE_DONE,
    PLACE_DONE_GONE, /* was done, then left: needs nothing more */
    PLACE_STOPPING,  /* was told STOP, has not joined again */
    PLACE_STATES
};
struct place {
    uint64_t member; /* 0: not known yet */
    enum place_state state;
    bool finished;  /* all its ranks ended with 0 */
    bool failed;    /* its member pays for that, unless a loss explains it */
    bool spent_all; /* ... and said that nothing is left to pay with */
    char node[128]; /* for deaths that are told after the member is gone */
};
struct places {
    struct place *at;
    size_t n;
    uint32_t states[PLACE_STATES]; /* how many are in each */
};
/* n new ones in that state; those of before are gone, and pointers to them. */
void places_make(struct places *, size_t n, enum place_state);
void places_fini(struct places *);
struct place *places_find(const struct places *, uint64_t member); /* NULL: it has none */
uint32_t places_rank(const struct places *, const struct place *);
void places_set(struct places *, struct place *, enum place_state);

#endif
