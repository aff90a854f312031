/* What is to happen when: a heap by time, first in first out within one time. */
#ifndef ENGINE_SIM_DUE_H
#define ENGINE_SIM_DUE_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum due_what { DUE_START, DUE_END, DUE_RELEASE, DUE_NODE };
struct due {
    uint64_t at_ms, order; /* order is given by due_add */
    enum due_what what;
    uint32_t at;   /* which task of the crew; DUE_NODE: up or not; DUE_RELEASE: which node */
    uint32_t turn; /* of the task: a later turn makes this one void */
    uint64_t crew; /* DUE_NODE: which node */
};
struct dues {
    VEC(struct due) heap;
    uint64_t added;
};
void dues_fini(struct dues *);
void due_add(struct dues *, struct due);
const struct due *due_first(const struct dues *); /* NULL: none */
struct due due_take(struct dues *);               /* the first; there must be one */

#endif
