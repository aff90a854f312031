/* Arrays whose members live: what they have in common, how their members stand, and who of them is
 * next when only so many run at a time. They know the store and not the core: what they write goes
 * into the open transaction, and whoever owns that says when it was committed or failed. */
#ifndef DEPEND_ARRAY_H
#define DEPEND_ARRAY_H

#include "base/vec.h"
#include "depend/array_progress.h"
#include "job/job.h"
#include "store/store.h"

struct live_array {
    struct arena *arena; /* texts of row, spec */
    struct job_row row;  /* its reason: the first failure of a member, "" before */
    struct job_spec *spec;
    struct array_progress notes;  /* of its row */
    const void *first;            /* the core's: what it made of notes.live, in arena, or NULL */
    uint32_t counts[JOB_STATE_N]; /* members; one that is not written yet as it will be */
    unsigned char *members;       /* by position: what array.c knows of each that is in memory */
    uint32_t slots;               /* members that have one of the at_once */
    uint32_t aside;               /* members that wait for one */
    uint32_t next;                /* no member aside is at a position before it */
    bool touched;
    bool unfinished; /* is in the list of arrays that go on (members.h) */
};

/* What became of an array. */
struct array_event {
    const char *type;
    const struct job_row *failed; /* a member; NULL: the array itself is in another state */
};

/* What the core does for them. Ids are of members, which are in memory. */
struct arrays_core {
    void *arg;
    uint64_t (*now)(const void *arg);  /* what is decided by */
    uint64_t (*date)(const void *arg); /* what people read */
    /* Its row is to be written with the event, which is put into words there. Those of a member
     * that failed, while its reason is "", and of its own end become the reason of its row. */
    void (*record)(void *arg, struct live_array *, const struct array_event *);
    /* It has its slot: it waits for places like other jobs. */
    void (*join)(void *arg, uint64_t id);
    /* The row of one of its members was written: it enters as a job, its first event says so. */
    void (*enter)(void *arg, struct live_array *, struct job_row *);
    void (*command)(void *arg, uint64_t id, const char *by, enum array_command);
    void (*ended)(void *arg, uint64_t array); /* who waits for it is to be looked at */
};
struct arrays_config {
    struct store *store;
    uint64_t keep_ms; /* rows of those that ended are kept so long; 0: for ever */
    struct arrays_core core;
};
struct arrays;
struct arrays *arrays_create(const struct arrays_config *);
void arrays_destroy(struct arrays *);
const struct arrays_config *arrays_config(const struct arrays *);
struct live_array *array_find(const struct arrays *, uint64_t id); /* NULL: not live */
/* One after the other, from a cursor of 0. */
bool array_next(const struct arrays *, size_t *cursor, struct live_array **);
/* The newest of that name; NULL: none. */
struct live_array *array_named(const struct arrays *, const char *name);

/* A new entry from its row, before its members. NULL: its row makes no sense. */
struct live_array *array_open(struct arrays *, const struct job_row *);
void array_touch(struct arrays *, struct live_array *);
/* Writes its row, with an event or (NULL) alone. */
void array_record(struct arrays *, struct live_array *, const struct array_event *);

/* ---- members, by their rows; those of no array change nothing ---- */
/* One came to memory (its row is counted) or leaves it. */
void array_joined(struct arrays *, const struct job_row *);
void array_left(struct arrays *, const struct job_row *);
/* Its state was another one; JOB_NONE: it is new. */
void array_moved(struct arrays *, const struct job_row *, enum job_state from);
/* Of a queued member: has it to wait for a slot? Then it was set aside: in no list that the
 * scheduler walks. */
bool array_hold(struct arrays *, const struct job_row *);
/* So many of its array run at a time, and it waits for a slot; 0: it does not. */
uint32_t array_bound(const struct arrays *, const struct job_row *);
/* Members whose rows are written, and the state that the others will have. */
uint32_t array_written(const struct live_array *);
enum job_state array_first_state(const struct live_array *);
/* Is the array on its way to be stopped or suspended? None of it starts then. */
bool array_is_held(const struct live_array *);
bool array_holds(const struct arrays *, const struct job_row *member); /* false: of no array */

/* ---- the turn ---- */
/* What follows for the arrays touched: slots given, their own state and its event. false: nothing.
 */
bool arrays_settle(struct arrays *);
void arrays_committed(struct arrays *); /* those that ended leave memory, after their members */
void arrays_undone(
    struct arrays *); /* counted anew from their rows, after their members came back */
/* Those whose members are not all written or told, in the order in which they go on. */
size_t arrays_unfinished(const struct arrays *);
struct live_array *arrays_unfinished_at(const struct arrays *, size_t i); /* NULL: it is gone */
struct live_array *arrays_take_unfinished(struct arrays *); /* the first; NULL as above */
void array_put_off(struct arrays *, struct live_array *);   /* among them, if it has to be */

/* ---- reading ---- */
/* Number of a member's array; 0: it is of none. */
uint64_t array_number(const struct job_row *);
/* Counts of any array, live or ended. */
void array_counts(const struct arrays *, const struct job_row *array, uint32_t counts[JOB_STATE_N]);

#endif
