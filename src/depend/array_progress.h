/* What `live` of an array's row keeps: what is still to be done for its members. */
#ifndef DEPEND_ARRAY_PROGRESS_H
#define DEPEND_ARRAY_PROGRESS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* What all members of an array can be told to do. */
enum array_command { ARRAY_STOP, ARRAY_STOP_NOW, ARRAY_SUSPEND, ARRAY_RESUME };

struct array_progress {
    uint32_t left;    /* members whose rows are not written yet: the last ones */
    const char *live; /* `live` of these rows, or NULL */
    const char *text; /* why those jobs wait at first */
    bool commanded;   /* all members are given this command, ... */
    enum array_command command;
    const char *by; /* its owner's */
    uint32_t told;  /* ... so many of them have it */
};
/* As one line of JSON; NULL: nothing is left. */
const char *array_progress_print(struct arena *, const struct array_progress *);
/* Missing or foreign members leave zero; text may be NULL. Texts are in arena. */
void array_progress_read(struct arena *, const char *text, struct array_progress *);

#endif
