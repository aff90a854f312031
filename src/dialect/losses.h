/* What a job loses on the way into another format. */
#ifndef DIALECT_LOSSES_H
#define DIALECT_LOSSES_H

#include "dialect/dialect.h"

/* Has every role this variable with this value? Then a format that has one environment for the
 * whole job can say it. */
bool dialect_everywhere(const struct job_spec *, const struct pair *env);

/* dialect_write(), then reads what was written and compares it with the shaped job: a warning for
 * each canonical field that is not the same any more, a note for what every job of that format has,
 * unless the writer has spoken of the field itself. So warnings of report are losses, all of them.
 * A text that its own dialect refuses is an error: then nobody knows what would be lost. NULL then.
 * Everything in arena. */
struct text_node *dialect_convert(struct arena *, const struct dialect *, const struct job_spec *,
                                  const struct site *, struct report *);

/* Commands of a converted job that use variables which tasks found in the job as it was, and find
 * no more: a warning each. Both are placed somewhere. */
void dialect_variables_lost(const struct dialects *, struct arena *, const struct dialect_task *was,
                            const struct dialect_task *is, struct report *);

#endif
