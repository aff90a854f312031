/* A shell on another machine over one ssh connection, which reads steps from its standard input:
 * what is in a step, values and secrets too, is in no list of processes at either end. */
#ifndef CLI_SSH_H
#define CLI_SSH_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define SSH_WORDS_MAX 64

/* "ssh -J gate" as words: blanks part them; '...', "..." and \ hold them together. Nothing else of
 * a shell is known, and none is run. NULL-terminated in the arena, with room for `more` words. */
char **ssh_words(struct arena *, const char *text, size_t more, size_t *n, struct err *err);

struct ssh_config {
    const char *command; /* "ssh -J gate" */
    const char *to;      /* "gpu2", "me@gpu2"; does not begin with "-" */
    bool ask;            /* passwords and host keys may be asked for on the terminal */
    unsigned connect_s;
    unsigned idle_s; /* a step that says nothing for so long has failed */
};
struct ssh;
/* Connected, and the shell there answers. NULL with err: which of the ways to fail, and what to do.
 */
struct ssh *ssh_open(struct arena *, const struct ssh_config *, struct err *err);
void ssh_close(struct ssh *); /* NULL-safe; the connection ends */

struct ssh_data { /* goes when the step says "go" */
    int fd;
    uint64_t size;
};
/* Has the shell there do a step, and adds the lines it answers to out (apart by newlines). *status
 * is its exit status. A step that says nothing for too long, or a connection that ends: -1. */
int ssh_step(struct ssh *, const char *step, const struct ssh_data *data, struct buf *out,
             int *status, struct err *err);
/* The value behind "KEY " in such lines, in the arena; NULL: there is none. The first of them. */
const char *ssh_value(struct arena *, const struct buf *lines, const char *key);

/* What is to be done where ssh said this; "" where nobody knows. Only a hint hangs on it. */
const char *ssh_hint(const char *said);

#endif
