/* Fetches images for jobs that wait, for the core: `muster-node image-early` as a child with the
 * rights of the job's account, one at a time. */
#ifndef MAIN_EARLY_PULLS_H
#define MAIN_EARLY_PULLS_H

#include "image/jobs/early_images.h"

#include <uv.h>

struct early_pulls;
struct early_pulls *early_pulls_create(uv_loop_t *, const char *program); /* muster-node */
void early_pulls_destroy(struct early_pulls *); /* NULL-safe; what comes is ended and not told */
void early_pulls_begin(struct early_pulls *, struct engine_sink); /* before the first wish */
/* Facts tell how it goes, from the loop. Jobs of one account that want the same image with the same
 * credentials have one pull. */
void early_pulls_add(struct early_pulls *, const struct image_wish *);
/* That job wants none any more: what comes for it alone is ended. */
void early_pulls_drop(struct early_pulls *, uint64_t job);
/* A question as `muster-node image-digest` reads it, malloc'ed; auth is in it. */
char *early_pulls_print(const char *name, const struct account *, const char *auth, size_t *len);

#endif
