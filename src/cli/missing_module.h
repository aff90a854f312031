/* A program that ended because its Python has no such module: which Python that was, which others
 * of this machine have the module, and the line to type. The same of a program that is not found
 * and lies beside a Python here (accelerate). */
#ifndef CLI_MISSING_MODULE_H
#define CLI_MISSING_MODULE_H

#include "base/buf.h"
#include "cli/cmd.h"

/* The module that Python says it lacks at the end of what a program wrote, in arena; NULL: it says
 * nothing of the kind. */
const char *missing_module_name(struct arena *, const char *output);
/* Adds the lines for a failed job (view with tasks) that `muster run` followed; none when no module
 * was missing. Asks Pythons that lie here, each with a deadline. */
void missing_module_print(struct cli *, const struct text_node *job, struct buf *out);

#endif
