/* What is wrong with a CreateJob body, at its paths. Internal to this folder. */
#ifndef DIALECT_DLC_PROBLEMS_H
#define DIALECT_DLC_PROBLEMS_H

#include "base/report.h"
#include "text/tree.h"

struct dlc_create;
struct place dlc_place(const struct dlc_create *, const char *path);
/* The value at the path, NULL when it was not written. */
const struct text_node *dlc_node(const struct dlc_create *, const char *path);
struct problem *dlc_error(const struct dlc_create *, struct report *, const char *path,
                          const char *fmt, ...) __attribute__((format(printf, 4, 5)));
struct problem *dlc_warn(const struct dlc_create *, struct report *, const char *path,
                         const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* near, unless NULL, is certain to be what the value of the problem was meant to be. */
void dlc_fix(const struct dlc_create *, struct report *, struct problem *, const char *near);
/* Given and not empty: no null, false, "", {}, []. */
bool dlc_given(const struct text_node *);

#endif
