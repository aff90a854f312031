/* Explanations as JSON. */
#ifndef API_EXPLAIN_JSON_H
#define API_EXPLAIN_JSON_H

#include "api/view_rows.h"

extern const struct view_row explain_rows[]; /* of a struct explain_view */

/* Of a struct away_list. */
#define EARLY_IMAGES_DOC                                                                           \
    "[{image, node, step: waiting fetching ready failed, bytes, total, problem}]: of a job that "  \
    "waits, images that come before it starts to that node, or to the server's machine"
#define AWAY_DOC                                                                                   \
    "[{node, since, since_ms, why, tried, tasks, left}]: machines that cannot be reached and "     \
    "have tasks of it; tried: a fence that failed; left: the others go on without them, else the " \
    "job waits"
void explain_put_away(struct arena *, struct text_node *map, const char *name, const void *member);

#endif
