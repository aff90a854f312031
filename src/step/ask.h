/* One question to the server of the job, over the Unix socket that its programs have for it: the
 * server's own, or on another machine the agent's. Waits for the answer; meant for programs that
 * ask once and end. */
#ifndef STEP_ASK_H
#define STEP_ASK_H

#include "base/buf.h"
#include "text/tree.h"

#include <stdbool.h>

struct ask {
    const char *method, *path; /* with the query */
    const char *body;          /* NULL: none */
    size_t len;
    unsigned *status; /* of HTTP, 0 without an answer: nothing is printed then; NULL: not wanted */
};
/* The answer, in arena; NULL: there is none or it is a refusal, which was printed as an error of
 * the program `name` unless the status is wanted. */
const struct text_node *ask_server(const char *name, struct arena *, const struct ask *);
/* The server is on another machine: paths of this one mean nothing to it. */
bool ask_is_elsewhere(void);

/* Appends ?key=value, or &key=value, escaped; value NULL: nothing. */
void ask_query(struct buf *path, const char *key, const char *value);
void ask_escape(struct buf *path, const char *text);
/* Prints an error of the program, and what to do about it unless that is "". 1. */
int ask_fail(const char *name, const char *what, const char *value, const char *hint);

#endif
