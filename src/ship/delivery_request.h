/* What the child of deliver.h is told, and what it says. */
#ifndef SHIP_DELIVERY_REQUEST_H
#define SHIP_DELIVERY_REQUEST_H

#include "api/child.h"
#include "ship/config.h"
#include "store/backup.h"

struct delivery_request {
    const char *what; /* as deliver.h has it */
    uint64_t chain, number;
    const struct store_reach *ends; /* of the records that input has; NULL: there are none */
    int input;                      /* a descriptor; < 0: none. Not taken */
    uint64_t limit_ms;
};
/* NULL: it could not be started. */
struct child *delivery_request_start(const struct shipper_config *, const struct delivery_request *,
                                     child_done *, void *arg, struct err *);
/* The answer, in arena. NULL: it failed; anew as in deliver.h. */
const struct text_node *delivery_request_answer(const struct shipper_config *, struct arena *,
                                                const struct child_end *, bool *anew, struct err *);

#endif
