/* Arrays of the core: what is done to their members is done by it. */
#ifndef CTL_ARRAY_WORK_H
#define CTL_ARRAY_WORK_H

#include "ctl/array.h"
#include "ctl/ctl.h"

struct arrays *core_arrays(struct ctl *); /* makes them; inside ctl/ */
/* The next slice of what is to be written and told (members.h). */
void array_work_go_on(struct ctl *);
/* A command for all of its members; not one that deletes. */
void array_work_command(struct ctl *, struct live_array *, const char *owner, enum ctl_verb);

#endif
