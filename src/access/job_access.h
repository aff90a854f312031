/* What is asked when somebody wants into a job that runs, or a program of it wants something of the
 * server: the jobs that live, who may what, and the engine that knows the way. Nothing of it waits
 * for a turn; what was done or refused is audited. */
#ifndef ACCESS_JOB_ACCESS_H
#define ACCESS_JOB_ACCESS_H

struct accounts;
struct arrays;
struct engine;
struct job_spec;
struct live;
struct live_job;

struct job_access { /* all of it outlives this */
    struct engine *engine;
    const struct live *live;
    const struct arrays *arrays;
    struct accounts *accounts;
    const unsigned char *key; /* TOKEN_LEN (secret/token.h) */
    void *arg;
    /* The job's spec, decoded when needed. NULL: its row cannot be read. */
    const struct job_spec *(*spec)(void *arg, struct live_job *);
};

#endif
