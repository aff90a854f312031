/* What a job loses on the way into another format. */
#ifndef DIALECT_LOSSES_H
#define DIALECT_LOSSES_H

#include "dialect/dialect.h"

/* Has every role this variable with this value? Then a format that has one environment for the
 * whole job can say it. */
bool dialect_everywhere(const struct job_spec *, const struct pair *env);

/* Reads what a dialect wrote back and compares: a warning for each canonical field that is not the
 * same any more, unless the writer has said so itself. A text that its own dialect refuses is an
 * error: then nobody knows what would be lost. 0, or -1. Everything in arena. */
int dialect_losses(struct arena *, const struct dialect *, const struct job_spec *,
                   const struct text_node *written, const struct site *, struct report *);

#endif
