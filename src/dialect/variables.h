/* The variables that tasks find in their environment: one list, which doc/environment.md and
 * `muster check --env` are made from. Those of other systems' dialects stand on their pages. */
#ifndef DIALECT_VARIABLES_H
#define DIALECT_VARIABLES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum variable_scope {
    VARIABLE_EVERY,    /* every task */
    VARIABLE_SHARE,    /* ... with a share of a device */
    VARIABLE_ARRAY,    /* ... of a member of an array */
    VARIABLE_LAUNCHER, /* ... that muster's launcher is promised to */
    VARIABLE_NATIVE,   /* the convention of muster's own format */
    VARIABLE_PYTORCH,  /* the convention pytorch */
    VARIABLE_STARTED,  /* every task, made when it starts */
    VARIABLE_OF_N
};
struct variable {
    const char *name; /* NULL ends the list; LABEL in it stands for the label of a port */
    enum variable_scope of;
    const char *doc;
};
extern const struct variable variables[];

/* Markdown: doc/environment.md. */
void variables_page(struct buf *);

#endif
