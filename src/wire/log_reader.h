/* Reads an attempt's log directory (wire/record.h) from a logical offset on, while it may still
 * grow. */
#ifndef WIRE_LOG_READER_H
#define WIRE_LOG_READER_H

#include "wire/record.h"

/* Of the segments in dir: where the last one starts that starts at or before offset (*at), and the
 * first that starts after it (*next); UINT64_MAX: there is none. */
void segments_find(const char *dir, uint64_t offset, uint64_t *at, uint64_t *next);

struct log_reader;
struct log_reader *log_reader_create(const char *dir,
                                     uint64_t offset); /* the directory need not exist yet */
void log_reader_destroy(struct log_reader *);
void log_reader_seek(struct log_reader *, uint64_t offset); /* of a record's start */

struct log_item {
    uint64_t gap; /* > 0: so many bytes were dropped; no record */
    struct record record;
    const unsigned char *data; /* record.len bytes; until the next call */
    uint64_t end;              /* logical offset after it */
};
/* 1: *item is the next one; 0: nothing more now; -1: the log is broken at this place (skipped to
 * the next segment). */
int log_reader_next(struct log_reader *, struct log_item *item);

#endif
