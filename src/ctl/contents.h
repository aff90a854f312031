/* What the core hands out to those who answer of it: records, live state, rights, and the few
 * questions that only the core can answer. Nothing here changes what anybody sees; a job's spec is
 * read where it is not there yet. All of it is the core's own and holds until its next turn. */
#ifndef CTL_CONTENTS_H
#define CTL_CONTENTS_H

#include <stdbool.h>
#include <stdint.h>

struct accounts;
struct arena;
struct arrays;
struct closed_devices;
struct cluster;
struct counters;
struct ctl;
struct depend_answer;
struct dialects;
struct images;
struct job_row;
struct job_spec;
struct live;
struct live_job;
struct nodes;
struct queues;
struct run_times;
struct sched_more;
struct sched_snapshot;
struct store;

/* To be read. */
struct contents {
    struct ctl *ctl;     /* for the questions below */
    struct store *store; /* a reader prepares statements, and begins no turn */
    const struct dialects *dialects;
    const struct accounts *accounts;
    const struct live *live;
    const struct arrays *arrays;
    const struct cluster *cluster;
    const struct nodes *nodes;
    const struct closed_devices *closed_devices;
    const struct queues *queues;
    const struct run_times *run_times;
    const struct counters *counters;
    const struct images *images;
    const char *state_dir;
    const char *runs_dir; /* of launches (job/launch.h) */
    const char *python;   /* interpreter of tasks for which none was chosen; NULL: none */
    uint64_t last_id;     /* of a job */
};
struct contents ctl_contents(struct ctl *); /* core.c */

/* The job's row as stored, texts in arena; a lean one has no spec and no site. 0 or -1. load.c */
int core_row(struct ctl *, struct arena *, uint64_t id, struct job_row *);
int core_lean_row(struct ctl *, struct arena *, uint64_t id, struct job_row *);
/* The canonical job, decoded when needed. NULL: its row cannot be read. load.c */
const struct job_spec *core_spec(struct ctl *, struct live_job *);
/* The tasks of a running job that want a place now, in arena; false: none. planning.c */
bool planning_left(const struct ctl *, struct arena *, const struct live_job *,
                   struct sched_more *);
/* A snapshot to ask something of: nothing is ended and nobody is told anything. Jobs that cannot be
 * read are not in it. pass.c */
void pass_ask(struct ctl *, struct arena *, struct sched_snapshot *);
/* Queue and user by position into the job, when the tree changed since. charges.c */
void charges_locate(struct ctl *, struct live_job *);
/* The position of a user in a queue, made when it is new. charges.c */
uint32_t charges_user(struct ctl *, uint32_t queue, const char *owner);
/* Does a queued job still wait for others, or never can run? Then why; texts in arena.
 * depend_work.c */
bool depend_work_blocks(struct ctl *, struct arena *, struct live_job *, struct depend_answer *);
/* The same of a job that is not there yet; its names are numbers (depend_work_resolve). */
bool depend_work_would_block(const struct ctl *, struct arena *, const struct job_spec *,
                             struct depend_answer *);

#endif
