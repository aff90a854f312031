/* Arrays whose members live: what they have in common, how their members stand, and who of them is
 * next when only so many run at a time. A member that has no slot is queued and set aside: it is in
 * no list that the scheduler walks. (Internal to ctl/.) */
#ifndef CTL_ARRAY_H
#define CTL_ARRAY_H

#include "ctl/core.h"

struct live_array {
    struct arena *arena; /* texts of row, spec */
    struct job_row row;  /* its reason: the first failure of a member, "" before */
    struct job_spec *spec;
    uint32_t counts[JOB_STATE_N]; /* members that are there */
    uint32_t slots;               /* members that have one of the at_once */
    uint32_t aside;               /* members that wait for one */
    uint32_t next;                /* no member aside is at a position before it */
    bool touched;
};

struct arrays *arrays_create(void);
void arrays_destroy(struct arrays *);
struct live_array *array_find(const struct ctl *, uint64_t id); /* NULL: not live */
/* The newest of that name; NULL: none. */
struct live_array *array_named(const struct ctl *, const char *name);

/* A new entry from its row, before its members; counted: they are in the store. NULL: its row makes
 * no sense. */
struct live_array *array_open(struct ctl *, const struct job_row *, bool counted);
/* A member came to memory (its row is counted) or leaves it. */
void array_joined(struct ctl *, struct live_job *);
void array_left(struct ctl *, struct live_job *);
/* Its state was another one. */
void array_moved(struct ctl *, struct live_job *, enum job_state from);
/* Of a queued member: has it to wait for a slot? Then it was set aside. */
bool array_hold(struct ctl *, struct live_job *);
/* What follows for the arrays touched: slots given, their own state and its event. false: nothing.
 */
bool arrays_settle(struct ctl *);
void arrays_committed(struct ctl *); /* those that ended leave memory, after their members */
void arrays_undone(struct ctl *); /* counted anew from their rows, after their members came back */

/* Number of a member's array; 0: it is of none. */
uint64_t array_number(const struct job_row *);
/* ---- command.c, update.c ---- */
/* Every member that lives; what one of them refuses (it is ending) does not keep the others. */
void command_members(struct ctl *, struct live_array *, const char *owner, enum ctl_verb);
/* As update_target and update_job of ctl/core.h: the newest array of that name; 1 changed, 0 the
 * same already, -1: err. */
struct live_array *update_array_target(struct ctl *, const char *owner, const struct job_spec *);
struct update;
int update_array(struct ctl *, struct live_array *, const struct update *, struct err *);

/* For what is done to one job only: -1 with err when the row is an array. */
int array_refuse(const struct job_row *, struct err *);
/* Counts of any array, live or ended. */
void array_counts(struct ctl *, const struct job_row *array, uint32_t counts[JOB_STATE_N]);

#endif
