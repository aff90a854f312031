/* How tasks that name an image are run, and with whose credentials it is fetched. */
#ifndef JOB_RUNTIME_H
#define JOB_RUNTIME_H

enum job_runtime {
    RUNTIME_SERVER, /* as the server's setting says */
    RUNTIME_AUTO,   /* in the image, by the first runtime that works */
    RUNTIME_HOST,   /* not in the image */
    RUNTIME_BWRAP,
    RUNTIME_N
};

/* Credentials that stood in the submitted text. They are kept apart from the job, so that no form
 * of it has them: no field, no row, no listing. */
struct registry_login {
    const char *server; /* NULL, "": that of image */
    const char *image;
    const char *user, *password; /* or */
    const char *auth;            /* both, as docker login writes them */
};

#endif
