/* What the steps of a job hold of its nodes: cores and devices, so that steps side by side do not
 * get the same ones. Pure. */
#ifndef STEP_CLAIMS_H
#define STEP_CLAIMS_H

#include "wire/step.h"

#include <stdbool.h>

#define CLAIMS_GPUS_MAX 64u /* of a node */

struct claims_node { /* of one node */
    uint32_t cpus;   /* 0: not counted */
    uint32_t gpus;
    uint32_t cpus_held;
    uint64_t gpus_held; /* bit i: device i */
};
struct claims {
    struct arena *arena;
    struct claims_node *rooms;
    size_t n;
};

/* room: "4/2x3;1/0": cores and devices of a node, times nodes, by component. false: it is not of
 * that form. */
bool claims_init(struct claims *, struct arena *, const char *room);
/* More than a node has is what it has. false: not free now; nothing is held then. grant's lists are
 * in arena, one for each share, and are NULL for one that claims no device. */
bool claims_take(struct claims *, struct arena *, const struct step_claim *, struct step_grant *);
void claims_free(struct claims *, const struct step_claim *, const struct step_grant *);

#endif
