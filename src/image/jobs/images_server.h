/* What the images of jobs need of the server that they are part of: what it tells of itself, what
 * it asks registries, and what it does for them. */
#ifndef IMAGE_JOBS_IMAGES_SERVER_H
#define IMAGE_JOBS_IMAGES_SERVER_H

#include "live/live.h"

struct account;
struct cluster;
struct image_wish;
struct store;

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

#endif
