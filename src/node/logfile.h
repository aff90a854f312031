/* The writer of one attempt's log: records in segments (wire/record.h), with a cap that drops the
 * middle. */
#ifndef NODE_LOGFILE_H
#define NODE_LOGFILE_H

#include "base/err.h"
#include "wire/record.h"

#include <stddef.h>
#include <stdint.h>

struct logfile;

/* dir is made. Of the log's bytes, head at the front and tail at the end are kept; both 0:
 * everything. */
struct logfile *logfile_create(const char *dir, uint64_t head, uint64_t tail, struct err *);
void logfile_destroy(struct logfile *); /* NULL-safe */

/* Appends one record (len <= RECORD_MAX). Never fails: what the disk does not take is dropped and
 * counted, and one record by muster says how much as soon as there is room again. The record's len
 * is set from len. */
void logfile_add(struct logfile *, const struct record *, const void *bytes, size_t len);
/* A line by muster itself. */
void logfile_say(struct logfile *, const char *text);
/* Nothing more is expected: says what is lost and was not said yet. */
void logfile_finish(struct logfile *);
uint64_t logfile_end(const struct logfile *);  /* the logical offset after the last record */
uint64_t logfile_lost(const struct logfile *); /* bytes dropped by write errors and not yet told */

#endif
