/* What becomes of an image that tasks run in, as told by whoever asks its registry or fetches it.
 */
#ifndef JOB_IMAGE_PROGRESS_H
#define JOB_IMAGE_PROGRESS_H

#include <stdint.h>

enum image_step {
    IMAGE_STEP_NONE,
    IMAGE_PINNED,  /* its registry says which image the name stands for */
    IMAGE_FETCHES, /* bytes of total are on the node; total 0: not known */
    IMAGE_READY,   /* it is on the node: bytes were fetched for it, 0: it was there */
    IMAGE_FAILED,  /* problem says why it cannot be had */
    /* The same of one that is fetched for a job that waits (image/jobs/early_images.h). */
    IMAGE_EARLY_FETCHES,
    IMAGE_EARLY_READY,
    IMAGE_EARLY_FAILED,
    IMAGE_STEP_N
};
struct image_progress {
    enum image_step step;
    const char *name;   /* as it was asked for */
    const char *digest; /* SHA-256 of its manifest, hex; "": not known */
    uint64_t bytes, total, took_ms;
    const char *problem; /* FAILED; else "" */
};

#endif
