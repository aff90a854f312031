/* Continuous backup: a whole copy of the records now and then, and between them, every few seconds,
 * what was committed since, to a directory or a store. Written by children (deliver.h), so that a
 * target that is slow, full or gone holds up nothing: it is said, tried again, and caught up with.
 */
#ifndef SHIP_SHIPPER_H
#define SHIP_SHIPPER_H

#include "base/arena.h"
#include "ship/config.h"
#include "ship/target.h"
#include "text/tree.h"

struct shipper;
struct shipper *shipper_create(const struct shipper_config *);
/* {to, endpoint, state, chain, segment, shipped: {event, number, at_ms}, lacks: {events, seconds},
 * error, hint}. state: "looking" "copying" "following" "failing". Without `shipped` nothing is
 * there. Of NULL nothing is put. */
void shipper_put(const struct shipper *, struct arena *, struct text_node *map, const char *key);
/* What was committed last goes there too, when that does not take long; the loop runs meanwhile.
 * Nothing is committed any more. */
void shipper_finish(struct shipper *);
void shipper_destroy(struct shipper *); /* NULL-safe; before core and store go */

#endif
