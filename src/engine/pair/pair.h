/* Two engines as one: nodes of this machine, and machines. Each call goes to the engine that has
 * the node; what both are asked, as a stop of a generation, goes to both. */
#ifndef ENGINE_PAIR_PAIR_H
#define ENGINE_PAIR_PAIR_H

#include "engine/engine.h"

struct pair_config {      /* both are its own from here on */
    struct engine *first; /* has every node that the other has not; processes and directories of
                           * this machine are its alone */
    struct engine *other;
    bool (*other_has)(const struct engine *other, const char *node);
};
/* It can what both can. */
struct engine *pair_create(const struct pair_config *);

#endif
