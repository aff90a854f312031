/* What the tests of this folder share: a text parsed into a tree and a report, and random trees. */
#ifndef TEXT_TEST_SAMPLE_H
#define TEXT_TEST_SAMPLE_H

#include "base/dice.h"
#include "text/tree.h"

#include <stddef.h>

struct sample {
    struct arena *arena;
    struct report report;
    struct text_node *root;
};

typedef struct text_node *parser(struct arena *, const char *src, size_t len, struct report *);

/* Starts anew: what the sample had before is freed. */
void sample_parse(struct sample *, parser *, const char *src, size_t len);
void sample_fini(struct sample *);

/* One bad text and the one error it gives. col 0: no place. */
struct bad_text {
    const char *src;
    unsigned line, col;
    const char *what; /* part of the message */
};
/* Fails the running test unless src gives exactly one error, that one, and no tree. */
void sample_expect_bad(struct sample *, parser *, const struct bad_text *);

/* A tree of all kinds, at most depth deep, from dice that go on. */
struct text_node *sample_tree(struct arena *, struct dice *, int depth);

#endif
