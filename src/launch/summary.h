/* The end of a failed run on one screen of stderr: who was first, why, and what next; the others as
 * victims; equal tails folded. */
#ifndef LAUNCH_SUMMARY_H
#define LAUNCH_SUMMARY_H

#include "base/buf.h"
#include "launch/settings.h"

/* colour: bold and red where they help. */
void summary_print(const struct settings *, const struct rdzv_end *, bool colour, struct buf *out);

#endif
