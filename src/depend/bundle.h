/* Jobs that first start together. */
#ifndef DEPEND_BUNDLE_H
#define DEPEND_BUNDLE_H

#include "ctl/core.h"

bool bundle_has_peers(const struct job_spec *);
/* The gangs of this job and those of others that it starts with, sorted, as one text in arena;
 * NULL: it starts by itself. */
const char *bundle_key(struct arena *, const struct job_spec *);
/* The same of a job that stands aside; NULL also when it has started once, is to wait longer, or
 * its record has not been read. */
const char *bundle_key_now(const struct ctl *, struct arena *, const struct live_job *);
/* How many waiting jobs have this key, the job itself included, when all gangs are there; 0: why
 * says which one it waits for. */
uint32_t bundle_ready(struct ctl *, struct live_job *, const char *key, struct draft *why);

#endif
