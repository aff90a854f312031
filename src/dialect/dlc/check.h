/* Rules between the fields of a CreateJob body. Internal to this folder. */
#ifndef DIALECT_DLC_CHECK_H
#define DIALECT_DLC_CHECK_H

#include "base/report.h"

struct dlc_create;
/* Rules between fields. */
void dlc_check(const struct dlc_create *, struct report *);

/* Quantities of ResourceConfig: "4" cores, "4Gi". False when it is none. */
bool dlc_memory(const char *text, uint64_t *bytes);

#endif
