/* Which images the names in a job stand for, and how fetching them goes. A name stands for one
 * image from its first answer on: in every generation and on every node. */
#ifndef IMAGE_JOBS_IMAGES_H
#define IMAGE_JOBS_IMAGES_H

#include "engine/engine.h"
#include "live/live.h"

struct account;
struct cluster;
struct image_wish;
struct store;

#define IMAGES_PACKED "images-packed" /* below the state directory, by their digests */

struct image_question { /* what registries are asked of a job (images_config.ask) */
    uint64_t job;
    struct words names;            /* without digests; to pack: with them */
    bool pack;                     /* makes a file of each in IMAGES_PACKED: READY */
    const struct account *account; /* whose configuration and rights; NULL: the server's own */
    const char *auth;              /* its credentials, as docker login writes them; NULL: none */
};

/* What the server tells of itself when asked, and does for the images of its jobs. */
struct images_server {
    void *arg;
    uint64_t (*now)(const void *arg); /* milliseconds, by which is decided */
    bool (*replays)(const void *arg); /* a recording: what is asked is answered by it */
    /* The job's spec, decoded when needed. NULL: its row cannot be read. */
    const struct job_spec *(*spec)(void *arg, struct live_job *);
    /* Its row as stored, texts in arena; 0, or -1. */
    int (*row)(void *arg, struct arena *, uint64_t id, struct job_row *);
    void (*touch)(void *arg, struct live_job *); /* it is looked at in this turn */
    void (*keep)(void *arg, struct live_job *);  /* its notes have changed: its row is written */
    /* An event of type "image" of the job, with that body. */
    void (*event)(void *arg, const struct live_job *, struct text_node *body);
};
struct images_config {
    struct store *store;
    struct live *live;
    struct cluster *cluster;
    struct arena *scratch; /* of the server's turn */
    const char *state_dir, *users_dir;
    uint64_t size; /* bytes of images that a node keeps for an account */
    /* As ctl/config.h says of ask_images, fetch_early and drop_early; each may be NULL. */
    void (*ask)(void *arg, const struct image_question *);
    void *ask_arg;
    void (*fetch_early)(void *arg, const struct image_wish *);
    void (*drop_early)(void *arg, uint64_t job);
    void *early_arg;
    struct images_server server;
};
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
