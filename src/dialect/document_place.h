/* A place in a document by its path, for problems that are found after decoding. */
#ifndef DIALECT_DOCUMENT_PLACE_H
#define DIALECT_DOCUMENT_PLACE_H

#include "base/report.h"
#include "text/tree.h"

struct document_place {
    const struct text_node *node; /* NULL: not written */
    struct place place;           /* of the deepest part that is written */
    const char *path;             /* "taskRoles.worker.commands[1]"; "" at the root */
};

struct document_place document_place_root(const struct text_node *);
/* The member, or the element, of what is there; the result's path is in arena. */
struct document_place document_place_in(struct arena *, struct document_place, const char *key);
struct document_place document_place_item(struct arena *, struct document_place, size_t index);
/* "PATH what"; the caller may add a hint. */
struct problem *document_place_fail(struct report *, struct document_place, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
struct problem *document_place_warn(struct report *, struct document_place, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
