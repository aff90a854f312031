/* Images that come to machines for jobs that wait: which were asked for where, and for which job
 * what their hosts say is. */
#ifndef ENGINE_MACHINES_IMAGES_H
#define ENGINE_MACHINES_IMAGES_H

#include "engine/engine.h"
#include "link/hosts.h"

struct machines_image { /* for a job that waits */
    uint64_t job;
    const char *node, *name; /* name: with its digest */
    uint64_t limit;          /* bytes of all images there */
    struct words keep;       /* digests of images that jobs ahead want */
    const char *auth;        /* credentials as docker login writes them; NULL: none */
};
struct machine_images;
/* hosts outlive it; the sink is read when there is something to tell. */
struct machine_images *machine_images_create(struct hosts *, const struct engine_sink *);
void machine_images_destroy(struct machine_images *); /* NULL-safe */

/* false: its machine cannot be asked; machine_images_tell_lost says so later. */
bool machine_images_fetch(struct machine_images *, const struct machines_image *);
void machine_images_drop(struct machine_images *, uint64_t job);
void machine_images_hear(struct machine_images *, const char *node,
                         const struct wire_host_image_report *);
/* The machine is not connected any more: its host has given up what it was asked for. */
void machine_images_lose(struct machine_images *, const char *node);
void machine_images_tell_lost(struct machine_images *); /* from the loop */

#endif
