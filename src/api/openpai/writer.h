/* Members of an answer: into a tree, or of lists of thousands straight into text. The same either
 * way. */
#ifndef API_OPENPAI_OUT_H
#define API_OPENPAI_OUT_H

#include "base/buf.h"
#include "job/words.h"
#include "text/tree.h"

struct pai_writer {
    struct arena *a;
    struct text_node *tree; /* a map in a; NULL: text */
    struct buf *text;       /* a map whose "{" stands there */
    bool more;              /* and a member of it */
};
void pai_out_text(struct pai_writer *, const char *key, const char *text); /* NULL: null */
void pai_out_int(struct pai_writer *, const char *key, int64_t value);
void pai_out_ms(struct pai_writer *, const char *key, uint64_t ms); /* 0: null */
void pai_out_words(struct pai_writer *, const char *key, const struct words *);
/* A map inside, which is ended before another member follows. */
struct pai_writer pai_out_map(struct pai_writer *, const char *key);
void pai_out_end(struct pai_writer *);

#endif
