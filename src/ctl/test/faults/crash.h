/* The death of the simulated server. The code under test cannot be stopped in the middle of a
 * function, so a server that dies runs on as a ghost until its turn returns: from the moment of its
 * death nothing it does has an effect any more. The disk takes no write, the engine no call, and
 * clients hear no answer. Whatever has an effect asks crash_point() before and after it. */
#ifndef CTL_TEST_FAULTS_CRASH_H
#define CTL_TEST_FAULTS_CRASH_H

#include <stdbool.h>

struct crash {
    bool dead;
    unsigned in; /* dies at that many points from now; 0: lives on */
};

/* One moment at which a server may die. true: it is dead, what follows must have no effect. */
static inline bool crash_point(struct crash *crash)
{
    if (crash->in && --crash->in == 0)
        crash->dead = true;
    return crash->dead;
}

#endif
