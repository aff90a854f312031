/* What the images of jobs are made of: where they ask, and the jobs whose images come early.
 * Private to image/jobs. */
#ifndef IMAGE_JOBS_HANDLE_H
#define IMAGE_JOBS_HANDLE_H

#include "base/vec.h"
#include "image/jobs/images_server.h"

struct images {
    struct images_config config;
    struct {                /* early_images.c: jobs */
        VEC(uint64_t) next; /* whose turn it is, in order, of the last pass */
        VEC(uint64_t) open; /* whose images were asked for, and are not all there */
    } early;
};
uint64_t images_now(const struct images *);
/* Its spec, decoded when needed; NULL: its row cannot be read. */
const struct job_spec *images_spec(const struct images *, struct live_job *);
/* Its row as stored, texts in scratch; 0, or -1. */
int images_row(const struct images *, const struct live_job *, struct job_row *);
void images_touch(const struct images *, struct live_job *);
bool images_replay(const struct images *);

#endif
