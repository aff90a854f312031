/* The images that tasks of an agent run in: each pulled once, whatever the number of its tasks, and
 * kept from being removed for as long as the agent lives. */
#ifndef NODE_IMAGES_H
#define NODE_IMAGES_H

#include "image/document.h"
#include "job/image_progress.h"
#include "node/fetch.h"
#include "node/site.h"

#include <stdbool.h>

struct images_sink {
    void (*settled)(void *arg);                             /* none is on its way any more */
    void (*say)(void *arg, const char *text);               /* how it goes, a line */
    void (*news)(void *arg, const struct image_progress *); /* for the server; only in the call */
    void (*want)(void *arg,
                 const struct wire_code_request *); /* of the server, as fetch.h has it */
    void *arg;
};
struct image {
    const char *name; /* as the job says it */
    bool coming, ready;
    struct err problem;                /* when it is neither */
    char digest[IMAGE_DIGEST_LEN + 1]; /* what the name stood for; "": not known */
    const char *tree;                  /* its file system; when ready */
    const struct image_config *config; /* when ready */
};

struct images *images_create(struct site *, struct images_sink);
void images_destroy(struct images *); /* NULL-safe */
/* Those of the launch's tasks that are not there yet; one that could not be had is tried again. */
void images_fetch(struct images *, const struct launch *);
/* Packed ones are asked of the server, one at a time: a piece has come; the connection is a new
 * one; false: nothing else is asked over it now, so they may be. */
void images_piece(struct images *, const struct wire_piece *);
void images_want_again(struct images *);
void images_hold(struct images *, bool hold);
bool images_busy(const struct images *);
void images_stop(struct images *); /* what comes is not waited for: it is a failure now */
const struct image *images_find(const struct images *, const char *name); /* NULL: never asked */

#endif
