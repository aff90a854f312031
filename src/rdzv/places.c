/* The places of a round. A place outlives its member, which is why it has the name of the node; the
 * counts of states are what the next step is decided by. */
#include "rdzv/places.h"

#include "base/mem.h"

#include <stdlib.h>

void places_make(struct places *places, size_t n, enum place_state state)
{
    free(places->at);
    *places = (struct places){ .at = mem_new(n * sizeof *places->at), .n = n };
    for (size_t i = 0; i < n; i++)
        places->at[i].state = state;
    places->states[state] = (uint32_t)n;
}

void places_fini(struct places *places)
{
    free(places->at);
}

struct place *places_find(const struct places *places, uint64_t member)
{
    for (size_t i = 0; i < places->n; i++)
        if (places->at[i].member == member)
            return &places->at[i];
    return NULL;
}

uint32_t places_rank(const struct places *places, const struct place *place)
{
    return (uint32_t)(place - places->at);
}

void places_set(struct places *places, struct place *place, enum place_state state)
{
    places->states[place->state]--;
    places->states[state]++;
    place->state = state;
}
