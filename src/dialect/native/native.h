/* muster's own format: the direct image of the canonical job, and the conventions that go with it.
 */
#ifndef DIALECT_NATIVE_NATIVE_H
#define DIALECT_NATIVE_NATIVE_H

#include "dialect/dialect.h"

extern const struct dialect native_dialect;
extern const struct convention native_convention;  /* MUSTER_* */
extern const struct convention pytorch_convention; /* MASTER_ADDR ... and PET_* for torchrun */
/* Nothing but the command of that name. */
extern const struct convention torchrun_convention, dlrover_convention;

#endif
