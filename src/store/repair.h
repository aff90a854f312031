/* What was done to the records while no server had them (recover.h). */
#ifndef STORE_REPAIR_H
#define STORE_REPAIR_H

#include <stdint.h>

struct store;
struct store_repair {
    enum { STORE_AS_IT_WAS, STORE_RECOVERED, STORE_RESTORED } how;
    uint64_t event; /* the last that was left of them, or that the copy had */
};
/* Said once: it is forgotten with the next commit. */
struct store_repair store_take_repair(struct store *);

#endif
