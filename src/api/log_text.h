/* Log records as plain text: lines with the task's name before them, whole lines only where several
 * tasks mix. */
#ifndef API_LOG_TEXT_H
#define API_LOG_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "wire/log_reader.h"

#include <stdbool.h>

struct log_text {
    bool names;     /* put "worker/0  " before each line */
    bool mid_line;  /* the last piece did not end its line */
    char last[256]; /* task of the last piece */
};
void log_text_add(struct log_text *, const char *task, const char *data, size_t len,
                  struct buf *out);
void log_text_gap(struct log_text *, const char *task, uint64_t bytes, struct buf *out);

/* Logical offset of the record in which the last `lines` lines begin, and how many bytes of its
 * output come before them; reads the log to its end. stream 0: all of it. */
struct log_tail {
    enum record_stream stream;
    uint64_t lines;
    uint64_t offset; /* found */
    size_t skip;
};
void log_tail_find(struct log_reader *, struct log_tail *);

const char *log_base64(struct arena *, const unsigned char *data, size_t len);

#endif
