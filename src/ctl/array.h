/* Arrays whose members live: what they have in common, how their members stand, and who of them is
 * next when only so many run at a time. A member that has no slot is queued and set aside: it is in
 * no list that the scheduler walks. (Internal to ctl/.) */
#ifndef CTL_ARRAY_H
#define CTL_ARRAY_H

#include "ctl/core.h"
#include "ctl/notes.h"

struct live_array {
    struct arena *arena; /* texts of row, spec */
    struct job_row row;  /* its reason: the first failure of a member, "" before */
    struct job_spec *spec;
    struct array_notes notes;     /* of its row */
    struct live_notes first;      /* notes of a member that is not written yet */
    uint32_t counts[JOB_STATE_N]; /* members; one that is not written yet as it will be */
    uint32_t slots;               /* members that have one of the at_once */
    uint32_t aside;               /* members that wait for one */
    uint32_t next;                /* no member aside is at a position before it */
    bool touched;
    bool later; /* is in the list of arrays that go on (slices.h) */
};

struct arrays *arrays_create(void);
void arrays_destroy(struct arrays *);
struct live_array *array_find(const struct ctl *, uint64_t id); /* NULL: not live */
/* The newest of that name; NULL: none. */
struct live_array *array_named(const struct ctl *, const char *name);

/* A new entry from its row, before its members. NULL: its row makes no sense. */
struct live_array *array_open(struct ctl *, const struct job_row *);
void array_touch(struct ctl *, struct live_array *);
/* Writes its row and an event of that type; type NULL: the row alone. */
void array_record(struct ctl *, struct live_array *, const char *type, const struct sentence *,
                  struct text_node *body);
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
/* ---- members.c ---- */
/* A command for every member that lives; what one of them refuses (it is ending) does not keep the
 * others. As many as a slice has now, the others with the next ticks. */
void members_command(struct ctl *, struct live_array *, const char *owner, enum ctl_verb);
/* The next slice of the arrays whose members are not all written or told. */
void members_go_on(struct ctl *);
/* The array is among those, if it has to be. */
void members_later(struct ctl *, struct live_array *);
/* Members whose rows are written, and the state that the others will have. */
uint32_t members_written(const struct live_array *);
enum job_state members_first_state(const struct live_array *);
/* Is the array on its way to be stopped or suspended? None of it starts then. */
bool members_are_held(const struct live_array *);
bool members_held(const struct ctl *, const struct live_job *member); /* false: of no array */
/* A member whose row is not written yet: by its number its id, or 0; by its id the row as it will
 * be, texts of the array's. */
uint64_t members_find_coming(const struct ctl *, uint64_t number);
bool members_coming(const struct ctl *, uint64_t id, struct job_row *);

/* ---- command.c, update.c ---- */
/* Of one member; whether it is refused nobody asks. */
void command_member(struct ctl *, struct live_job *, const char *owner, enum ctl_verb);
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
