/* What is alike for all tasks of a placed job, or for many of them: made by the first task that
 * asks, kept for the others. A job has up to 65,536 tasks: what each made anew would take time by
 * their square. Pure. */
#ifndef DIALECT_PLACE_CACHE_H
#define DIALECT_PLACE_CACHE_H

#include "base/arena.h"
#include "job/place.h"

/* For place->once, where a job has more than one task to ask for; lives in the arena, as long as
 * the tasks and roles that the place has. */
struct place_cache *place_cache_create(struct arena *);

/* What make() gives (NULL too) for that key (a literal, or in the arena), in arena or where it was
 * kept. It depends on nothing but arg, which is the same for all that ask by the key. */
typedef const void *place_cache_make(struct arena *, const void *arg);
const void *place_cache_get(const struct job_place *, struct arena *, const char *key,
                            place_cache_make *, const void *arg);

/* Tasks do without that variable (a literal): it would be longer than a program can be given. */
void place_leave_out(const struct job_place *, const char *name);
/* Those, in the order in which they were found; NULL ends the list. */
const char *const *place_left_out(const struct job_place *);

#endif
