/* Odd values as hooks of field rows. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_FATES_H
#define DIALECT_ELASTICJOB_FATES_H

#include "job/fate.h"

/* A map of texts (struct pairs) whose values may be lists and maps, taken as their JSON. */
extern const struct field_hooks fate_texts;
/* bool: true, false, also yes, no, t, y and the like in any case, in quotes or not. */
extern const struct field_hooks fate_bool;
/* const char *: Always, OnFailure, Never; all, none, "0:3,1:2". */
extern const struct field_hooks fate_restart, fate_critical;
extern const struct field_hooks fate_affinity;
extern const struct field_chars fate_object_name, fate_resource_name;

#endif
