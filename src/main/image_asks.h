/* Asks registries which images names stand for, for the core: `muster-node image-digest` as a child
 * with the rights of the job's account, some at a time. It has the pulls for jobs that wait, too
 * (early_pulls.h), and hands those of other machines to their engine. */
#ifndef MAIN_IMAGE_ASKS_H
#define MAIN_IMAGE_ASKS_H

#include "image/jobs/images.h"
#include "main/image_stores.h"

#include <uv.h>

struct ctl_config;
struct image_asks;
/* program: muster-node; NULL: there is none. dir: where images would be kept, or beside that. NULL:
 * this machine runs no images, *checks say why, in arena. The sink, of the core, is set by
 * image_asks_begin before the first question. */
struct image_asks *image_asks_create(uv_loop_t *, const char *program, const char *dir,
                                     struct arena *, struct runtime_checks *checks);
void image_asks_destroy(struct image_asks *); /* NULL-safe; what is asked is not answered */
void image_asks_begin(struct image_asks *, struct engine_sink, struct engine *machines);
/* The core asks by it from now on; before the core is made. */
void image_asks_join(struct image_asks *, struct ctl_config *);
/* Each name is answered once by a fact, from the loop. */
void image_asks_ask(struct image_asks *, const struct image_question *);

#endif
