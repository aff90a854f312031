/* A layer that was unpacked, as it is kept for the next image that has it: the list of its entries,
 * and its files as further names of those that were made of them. */
#ifndef NODE_FETCH_LAYER_RECORD_H
#define NODE_FETCH_LAYER_RECORD_H

#include "base/tar_reader.h"

#include <stdbool.h>
#include <stdint.h>

/* DIR/list    its entries, in their order
 * DIR/1 ...   the files among them, in the same
 * DIR/bytes   of its unpacked stream; there only when all the others are */
struct layer_record;

/* Makes dir. NULL: it cannot be made, so nothing is kept. */
struct layer_record *layer_record_create(const char *dir);
/* The file of that name, which is what the next entry says. */
void layer_record_keep(struct layer_record *, int parent, const char *name);
void layer_record_add(struct layer_record *, const struct tar_entry *);
/* The layer was unpacked to its end, and has so many bytes; 0: it was not. What is of no use is
 * removed. */
void layer_record_finish(struct layer_record *, uint64_t bytes);

/* Of how many bytes the layer in dir is; false: it is not there, or not whole. */
bool layer_record_bytes(const char *dir, uint64_t *bytes);
void layer_record_spoil(const char *dir); /* it is not there any more */
/* To be read from the beginning. NULL: as above. */
struct layer_record *layer_record_open(const char *dir, uint64_t *bytes);
/* As tar_reader_next. ERR_UNAVAILABLE: it is damaged. */
int layer_record_next(struct layer_record *, struct tar_entry *, struct err *);
/* The next file gets that name as well. -1 and errno. */
int layer_record_link(struct layer_record *, int parent, const char *name);
void layer_record_close(struct layer_record *);

#endif
