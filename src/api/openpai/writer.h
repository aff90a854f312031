/* Members of an answer: into a tree, or of lists of thousands straight into text. The same either
 * way. */
#ifndef API_OPENPAI_WRITER_H
#define API_OPENPAI_WRITER_H

#include "base/buf.h"
#include "job/words.h"
#include "text/tree.h"

struct pai_writer {
    struct arena *a;
    struct text_node *tree; /* a map in a; NULL: text */
    struct buf *text;       /* a map whose "{" stands there */
    bool more;              /* and a member of it */
};
void pai_write_text(struct pai_writer *, const char *key, const char *text); /* NULL: null */
void pai_write_int(struct pai_writer *, const char *key, int64_t value);
void pai_write_ms(struct pai_writer *, const char *key, uint64_t ms); /* 0: null */
void pai_write_words(struct pai_writer *, const char *key, const struct words *);
/* A map inside, which is ended before another member follows. */
struct pai_writer pai_write_map(struct pai_writer *, const char *key);
void pai_write_end(struct pai_writer *);

#endif
