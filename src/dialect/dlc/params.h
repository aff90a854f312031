/* A parameter file as a CreateJob body, with what its paths are called there. Internal to this
 * folder. */
#ifndef DIALECT_DLC_PARAMS_H
#define DIALECT_DLC_PARAMS_H

#include "base/report.h"
#include "text/tree.h"

struct dlc_names;
bool dlc_is_params(const struct text_node *root);
struct text_node *dlc_params_tree(struct arena *, const struct text_node *root, struct report *,
                                  struct dlc_names **);
/* Problems of the body, in the file's words. */
void dlc_params_report(const struct dlc_names *, const struct report *from, struct report *into);

#endif
