/* A text applied again to the job that lives: suspend may differ, all else is refused. */
#ifndef CTL_UPDATE_H
#define CTL_UPDATE_H

#include "ctl/core.h"
#include "depend/array.h"

/* The live job that a text applied again is about: of that owner, project and name, the newest.
 * NULL: none. */
struct live_job *update_target(struct ctl *, const char *owner, const struct job_spec *);
/* Brings it to what the text says, in the open turn: 1 changed, 0 the same already, -1: it differs
 * in more than suspend, err names what. */
struct update {
    const char *owner; /* by whom */
    const struct job_spec *wanted;
    bool dry_run; /* only say what would be */
};
int update_job(struct ctl *, struct live_job *, const struct update *, struct err *);
/* The same of arrays. */
struct live_array *update_array_target(struct ctl *, const char *owner, const struct job_spec *);
int update_array(struct ctl *, struct live_array *, const struct update *, struct err *);

#endif
