/* Random yards, every plan judged. */
#ifndef SCHED_TEST_GAME_H
#define SCHED_TEST_GAME_H

#include <stdint.h>

/* Plays the yard of this seed to its end; the number of its steps. What all plans were is added to
 * *digest, which may be NULL. */
uint64_t game_play(uint64_t seed, uint64_t *digest);

#endif
