/* What is said of a pilot, and what of it is typed. */
#ifndef CLI_PILOT_TEXT_H
#define CLI_PILOT_TEXT_H

#include "base/arena.h"
#include "base/err.h"
#include "text/tree.h"

/* Why it waits, with when it is expected; why it ends or is over; "": nothing is to be said. */
const char *pilot_note(struct arena *, const struct text_node *pilot, uint64_t now_ms);
/* "30m", "never" (0); NULL: a default. ERR_INPUT. */
int pilot_idle(const char *text, uint64_t *ms, struct err *err);

#endif
