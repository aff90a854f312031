/* The launches of one generation of a live job, from where its tasks are placed: complete shares of
 * it, a node each, environment and names included. What all of them say alike is made once. When
 * which of them is handed to the engine is the core's to decide. */
#ifndef LIVE_LAUNCHES_JOB_LAUNCHES_H
#define LIVE_LAUNCHES_JOB_LAUNCHES_H

#include "base/err.h"
#include "job/launch.h"
#include "live/launches/launch_server.h"

struct live_job;

struct launch_due { /* a task that is to be launched */
    const char *node;
    uint32_t seq, flat;
};
struct launch_share { /* of those, which one launch tells an agent of */
    const struct launch_due *due;
    size_t n;  /* at least 1, of one node and one seq */
    bool last; /* of its node, among all that are due now */
};

/* In the arena, for the job's places as they are now; site: the column of its row. The job outlives
 * it. */
struct job_launches;
struct job_launches *job_launches_create(struct arena *, const struct launch_server *,
                                         struct live_job *, const char *site);
/* Names the hosts of the next n tasks, in order: all tasks are to be named before a launch. */
void job_launches_name(struct job_launches *, const struct launch_server *, uint32_t n);
/* Makes the texts of files that all launches have; else the first that needs them does. */
void job_launches_make_files(struct job_launches *, const struct launch_server *);

/* A launch for that share: directories and files of it are made on this machine. *out, in arena, is
 * there on errors too; it has to be wiped. 0 or -1. */
int job_launch_make(struct job_launches *, const struct launch_server *,
                    const struct launch_share *, struct arena *, struct launch *out,
                    struct err *err);
void job_launch_wipe(struct launch *, struct arena *); /* secrets and tokens in it, and in arena */
/* For an engine that runs nothing: which tasks, where, and what they hold. In arena. */
struct launch job_launch_numbers(const struct live_job *, const struct launch_share *,
                                 struct arena *);

/* The variables that tasks, as placed, do without because they would be longer than a program can
 * be given: a sentence in arena; NULL: there are none. */
const char *launch_left_out(const struct launch_server *, const struct live_job *, struct arena *);

#endif
