/* What a server is, as far as it decides about jobs that are submitted, and what it is asked. */
#ifndef SUBMISSION_CANDIDATE_SERVER_H
#define SUBMISSION_CANDIDATE_SERVER_H

#include "base/err.h"
#include "base/report.h"
#include "job/runtime.h"

struct accounts;
struct job_spec;
struct launch_server;
struct map;
struct queues;

struct candidate_server {                 /* all of it holds while one is looked at */
    const struct launch_server *launches; /* its storage, dialects, nodes and addresses */
    const struct queues *queues;
    const struct accounts *accounts;
    struct map *possible; /* shapes that fit the empty cluster: those that are found are added */
    unsigned caps;        /* of its engine */
    bool machines;        /* it has some: they do not see its disk */
    bool replays;         /* nothing is looked at outside, and nothing kept */
    enum job_runtime runtime; /* of jobs that name an image and no runtime; SERVER is as HOST */
    const struct runtime_checks *runtimes; /* of this machine; NULL: all work */
    const char *place_engine;              /* of jobs that name none; NULL: any */
    const char *no_allocations;            /* why no nodes can be asked for; NULL: as caps say */
    const char *no_users_allocations;      /* the same for jobs of other accounts */
    void *arg;
    /* What was found outside, or who may what, came to rc (0, or -1 with err): what counts; in a
     * replay what counted then. */
    int (*outside)(void *arg, int rc, struct err *err);
    int (*right)(void *arg, int rc, struct err *err);
    /* Numbers for names of other jobs, as depend_work_resolve(); 0 or -1. */
    int (*others)(void *arg, const char *owner, struct job_spec *, struct report *);
    /* Are the secrets that it names there? 0 or -1. */
    int (*secrets)(void *arg, const char *owner, const struct job_spec *, struct report *);
};

#endif
