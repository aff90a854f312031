/* The bytes of one layer, from where they come to who unpacks them: counted and hashed once, and
 * kept in a file for as long as it is not the layer's turn. */
#ifndef NODE_FETCH_STREAM_H
#define NODE_FETCH_STREAM_H

#include "base/err.h"
#include "image/document.h"

#include <stdbool.h>
#include <stdint.h>

struct stream;
/* in: read from, not waited for, and closed. dir: where it may keep a file until its bytes have
 * been handed on. */
struct stream *stream_create(const struct image_blob *, int in, const char *dir);
void stream_destroy(struct stream *); /* NULL-safe */

/* It is the layer's turn: from now on all goes to `to`, which stays the caller's and does not wait.
 * -1: to nobody, it is only hashed. */
void stream_lead(struct stream *, int to);

/* What poll() should look for; -1: at nothing. */
int stream_reads(const struct stream *);  /* to be readable */
int stream_writes(const struct stream *); /* to be writable */
/* After poll(): as much as goes without waiting, in bounds. *moved: bytes. ERR_UNAVAILABLE: more
 * came than the layer has; ERR_SYSTEM, ERR_FULL. */
int stream_move(struct stream *, uint64_t *moved, struct err *err);

uint64_t stream_bytes(const struct stream *); /* that came */
bool stream_ended(const struct stream *);     /* all came, or its writer is gone */
bool stream_passed(const struct stream *);    /* and all went to its end */
/* After its end: is it what the blob's name and size say? ERR_UNAVAILABLE. */
int stream_check(const struct stream *, struct err *err);

#endif
