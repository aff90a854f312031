/* Which images the names in a job stand for, and how fetching them goes. A name stands for one
 * image from its first answer on: in every generation and on every node. */
#ifndef IMAGE_JOBS_IMAGES_H
#define IMAGE_JOBS_IMAGES_H

#include "engine/engine.h"
#include "image/jobs/images_server.h"

#define IMAGES_PACKED "images-packed" /* below the state directory, by their digests */

struct images;
struct images *images_create(const struct images_config *);
void images_destroy(struct images *); /* NULL-safe */

/* Asks for those that nobody has asked for yet; after a commit. */
void images_ask(struct images *, struct live_job *);
/* Why launches of the job wait; NULL: they do not. Asks where nobody has. */
const char *images_wait(struct images *, struct live_job *);
void images_answer(struct images *, const struct engine_fact *); /* of who was asked */
void images_hear(struct images *, struct live_job *, const struct engine_fact *); /* of an agent */
/* As tasks of the role are told: by its digest where that is known; NULL: they run on the host. */
const char *images_of_launch(const struct live_job *, struct arena *, const struct role *);
/* How they are run, and the credentials that the agent pulls with. */
void images_add_to_launch(const struct images *, const struct live_job *, struct arena *,
                          struct launch *);
/* The path of an image that was packed for that live job, in arena; else NULL. */
const char *images_packed(const struct images *, struct arena *, uint64_t job, const char *digest);
/* Those of the job whose digests are known, as tasks are told; in scratch. */
struct words images_pinned(const struct images *, const struct live_job *);
/* An event of the job about the image of a fact. */
void images_event(struct images *, const struct live_job *, const struct engine_fact *,
                  const char *text);
/* The name in the job of an image that a fact names; NULL: it is none of its images. */
const char *images_name(const struct live_job *, const char *said);
struct image_progress *images_copy(struct arena *,
                                   const struct image_progress *); /* of NULL: NULL */

#endif
