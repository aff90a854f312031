/* Images of the jobs that start next come into the stores of this machine and of others while they
 * wait in the queue: of a few jobs, on each machine one image at a time, after those that tasks
 * wait for. Their tasks would fetch them otherwise, with the same credentials, so a failure is told
 * and changes nothing. Memory only: the next server begins anew. */
#ifndef IMAGE_JOBS_EARLY_IMAGES_H
#define IMAGE_JOBS_EARLY_IMAGES_H

#include "image/jobs/images.h"

#define EARLY_JOBS     4u  /* whose images come at once, or lie there and are kept */
#define EARLY_LOOK     32u /* a job behind so many others is not one of the next */
#define EARLY_MACHINES 4u  /* beside this one that a job's images come to: the idlest */

struct account;
struct wait_reason;

struct image_wish { /* what is fetched early (images_config.fetch_early) */
    uint64_t job;
    const char *name;              /* with its digest */
    const char *node;              /* the machine that it comes to; "": this one */
    const char *store;             /* of this one: a directory that the account may write */
    uint64_t limit;                /* bytes of it */
    struct words keep;             /* digests of images that jobs ahead want */
    const struct account *account; /* as in image_question */
    const char *auth;
};

/* In a pass: it begins; a job waits, and why. */
void early_images_begin(struct images *);
void early_images_note(struct images *, const struct live_job *, const struct wait_reason *);
/* A job joins a line, and no pass is made for that. */
void early_images_join(struct images *, const struct live_job *);
/* After a pass or a commit: what is wanted and known is asked for, what nobody wants is not. */
void early_images_go_on(struct images *);
void early_images_hear(struct images *, const struct engine_fact *);

#endif
