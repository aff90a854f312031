/* How tasks that name an image are run, and with whose credentials it is fetched. */
#ifndef JOB_RUNTIME_H
#define JOB_RUNTIME_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum job_runtime {
    RUNTIME_SERVER, /* as the server's setting says */
    RUNTIME_AUTO,   /* in the image, by the first runtime that works */
    RUNTIME_HOST,   /* not in the image */
    RUNTIME_BWRAP,
    RUNTIME_PODMAN,
    RUNTIME_DOCKER,
    RUNTIME_N
};
const char *runtime_word(enum job_runtime); /* "host", as a job says it */
/* RUNTIME_SERVER: there is no such word, or it is that one. */
enum job_runtime runtime_named(const char *word);

/* What a machine says of a way to run images. */
struct runtime_check {
    enum job_runtime runtime;
    bool works;
    bool one_user;   /* in an image there is no other user than root */
    const char *why; /* it does not work, and what would help; or what tasks lack; else "" */
};
struct runtime_checks { /* in the order in which they are tried */
    struct runtime_check at[RUNTIME_N];
    size_t n;
};
/* Of those that run images, the one for a job that asks for this; RUNTIME_SERVER: there is none. */
enum job_runtime runtime_choose(const struct runtime_checks *, enum job_runtime asked);
/* Why there is none, each by its name: "bwrap: ...; ...". */
void runtime_reasons(const struct runtime_checks *, enum job_runtime asked, struct buf *out);

/* Credentials that stood in the submitted text. They are kept apart from the job, so that no form
 * of it has them: no field, no row, no listing. */
struct registry_login {
    const char *server; /* NULL, "": that of image */
    const char *image;
    const char *user, *password; /* or */
    const char *auth;            /* both, as docker login writes them */
};

#endif
