/* Which images the names in a job stand for, and how fetching them goes. A name stands for one
 * image from its first answer on: in every generation and on every node. */
#ifndef CTL_IMAGES_H
#define CTL_IMAGES_H

#include "engine/engine.h"
#include "live/live.h"

struct ctl;
struct account;

#define CTL_PACKED_IMAGES "images-packed" /* below the state directory, by their digests */

struct image_question { /* what registries are asked of a job (ctl_config.ask_images) */
    uint64_t job;
    struct words names;            /* without digests; to pack: with them */
    bool pack;                     /* makes a file of each in CTL_PACKED_IMAGES: READY */
    const struct account *account; /* whose configuration and rights; NULL: the server's own */
    const char *auth;              /* its credentials, as docker login writes them; NULL: none */
};

/* Asks for those that nobody has asked for yet; after a commit. */
void images_ask(struct ctl *, struct live_job *);
/* Why launches of the job wait; NULL: they do not. Asks where nobody has. */
const char *images_wait(struct ctl *, struct live_job *);
void images_answer(struct ctl *, const struct engine_fact *); /* of who was asked */
void images_hear(struct ctl *, struct live_job *, const struct engine_fact *); /* of an agent */
/* As tasks of the role are told: by its digest where that is known; NULL: they run on the host. */
const char *images_of_launch(const struct live_job *, struct arena *, const struct role *);
/* How they are run, and the credentials that the agent pulls with. */
void images_add_to_launch(const struct ctl *, const struct live_job *, struct arena *,
                          struct launch *);
/* The path of an image that was packed for that live job, in arena; else NULL. */
const char *ctl_packed_image(struct ctl *, struct arena *, uint64_t job, const char *digest);
/* Those of the job whose digests are known, as tasks are told; in scratch. */
struct words images_pinned(const struct ctl *, const struct live_job *);
/* An event of the job about the image of a fact. */
void images_event(struct ctl *, const struct live_job *, const struct engine_fact *,
                  const char *text);
/* The name in the job of an image that a fact names; NULL: it is none of its images. */
const char *images_name(const struct live_job *, const char *said);
struct image_progress *images_copy(struct arena *,
                                   const struct image_progress *); /* of NULL: NULL */

#endif
