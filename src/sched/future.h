/* The cluster as time goes on: when a job fits, what is kept for it from then on, and what may
 * start until then without being in its way. */
#ifndef SCHED_FUTURE_H
#define SCHED_FUTURE_H

#include "sched/held_places.h"

#define FUTURE_NEVER UINT64_MAX

struct future;

/* What a job holds, and when it ends at the latest. An end that is due and has not come is taken
 * for the next millisecond. */
struct future_release {
    uint64_t at_ms; /* FUTURE_NEVER: no end is known */
    uint64_t job;
    struct held_places held;
};
struct future_ask {
    uint64_t job;
    const struct job_spec *spec;
    uint64_t lasts_ms; /* it runs at most so long; FUTURE_NEVER: no end is known */
    uint64_t from_ms;  /* future_earliest(): not before; 0: from now on */
};
enum future_why {
    FUTURE_FITS,
    FUTURE_NO_ROOM, /* not even when everything that has an end has ended */
    FUTURE_PROMISED /* only in the way of what is promised to others */
};
struct promise {
    uint64_t job;
    const struct job_spec *spec;
    uint64_t at_ms, ends_ms; /* holds the places from .. until; FUTURE_NEVER: no end is known */
    struct task_place *places;
    uint32_t n_places;
    uint64_t after_job;  /* the last that has to end for it; 0: it could start now */
    uint32_t n_ends;     /* jobs on the same hosts that end until then */
    enum future_why why; /* FUTURE_FITS, or nothing above but the job is set */
};

/* releases: of everything that runs. They and the cluster are read at the first question, not
 * before and not after; from then on the future learns only from future_admit() and future_end()
 * what starts and ends. The held places have to stay where they are. All promises live in the
 * arena. */
struct future *future_create(const struct cluster *, uint64_t now_ms,
                             const struct future_release *releases, size_t n, struct arena *);
void future_destroy(struct future *); /* NULL-safe */

/* The earliest time from which the job fits until it ends, when nothing else starts but what was
 * promised. false: never, and why. */
bool future_earliest(struct future *, const struct future_ask *, struct promise *);
/* The same for one given time (not before now): does an earlier promise still hold? */
bool future_holds(struct future *, const struct future_ask *, uint64_t at_ms, struct promise *);

/* From now on every question leaves the places alone while they are promised. false, and nothing is
 * kept: they are not free then, or another promise needs them. An earlier promise of which the
 * places are known is renewed so. */
bool future_reserve(struct future *, const struct promise *);
/* Takes it back: so that a job may be asked for anew, and better, beside the promises of others. */
void future_forget(struct future *, uint64_t job);
size_t future_promised(const struct future *); /* how many */
/* Is something promised on the node, or on another of its host? */
bool future_closed(const struct future *, uint32_t node);

/* May these jobs start now on their places and end at their times, without delaying any promise?
 * Together: one may be fine alone and not beside the others. */
bool future_allows(struct future *, const struct future_release *starts, size_t n);
/* One more that runs from now on. Asked before the first question it is only written down: the
 * given cluster holds it then. false, and nothing changed: it is in the way of a promise. */
bool future_admit(struct future *, const struct future_release *);
/* The job, given or admitted, is being ended: gone by then, if not sooner. */
void future_end(struct future *, uint64_t job, uint64_t at_ms);

struct future_work { /* what the questions so far have cost */
    uint64_t clones, counts, moves /* jobs taken or given */, tries /* placings of the whole job */;
};
struct future_work future_work(const struct future *);

#endif
