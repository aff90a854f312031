/* How a job ended, for whoever followed it. */
#ifndef CLI_SUMMARY_H
#define CLI_SUMMARY_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/remedy.h"
#include "text/tree.h"

#include <stdbool.h>

/* job: the view with its tasks; here: where its lines to type are typed. Failure: who was first,
 * its last lines, what to do next; output directory otherwise. */
void summary_print(struct arena *, const struct refused *here, const struct text_node *job,
                   struct buf *out);
/* The attempt that failed first, with its task's name; NULL when none failed. */
const struct text_node *summary_first_failure(const struct text_node *job, const char **task);
/* Exit code of the first failing task (128 + signal), or absent when there is none. */
int summary_exit_code(const struct text_node *job, int absent);

#endif
