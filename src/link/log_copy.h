/* The server's copy of one attempt's log, on its disk, where readers look (wire/record.h): the same
 * segments as at the node, with the same names and the same bytes. */
#ifndef LINK_LOG_COPY_H
#define LINK_LOG_COPY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_copy;
/* What lies in dir, which need not exist, is gone on with: the copy ends behind its last whole
 * record, and what follows that one is cut off. NULL: it cannot be read. */
struct log_copy *log_copy_open(const char *dir, struct err *);
void log_copy_destroy(struct log_copy *); /* NULL-safe */
uint64_t log_copy_end(const struct log_copy *);

struct log_copy_piece {
    uint64_t segment, from, offset; /* as in LOG_BYTES */
    const unsigned char *at;
    size_t len;
    uint64_t head, tail; /* the cap; both 0: none */
};
/* Whole records of one segment, no longer than a segment, at offsets that go together. */
bool log_copy_accepts(const struct log_copy_piece *);
enum log_copy_result {
    LOG_COPY_HAS,    /* written, or there already */
    LOG_COPY_LACKS,  /* it does not follow what is there */
    LOG_COPY_FAILED, /* the disk did not take it; nothing changed, err says why */
};
enum log_copy_result log_copy_add(struct log_copy *, const struct log_copy_piece *, struct err *);
/* What is missing up to end will not come: readers see a hole of that size. */
int log_copy_close(struct log_copy *, uint64_t end, struct err *);

#endif
