/* The core's own state and the steps its files share (internal to ctl/). Each file owns one verb:
 *   submit.c command.c   commands            facts.c       what agents and engines report
 *   events.c             state changes       settle.c      what follows from a job's state
 *   pass.c planning.c    who starts where    act.c         engine calls
 *   load.c recover.c     rows to memory      tick.c  time  turn.c  commit, answer, act */
#ifndef CTL_CORE_H
#define CTL_CORE_H

#include "access/job_access.h"
#include "ctl/contents.h"
#include "ctl/core_clock.h"
#include "ctl/counters.h"
#include "ctl/ctl.h"
#include "ctl/slice_counts.h"
#include "ctl/tape_scope.h"
#include "live/live.h"
#include "live/reason.h"
#include "queue/queues.h"
#include "secret/token.h"
#include "source/storage.h"

struct answer { /* a command whose caller waits for the end of the turn */
    ctl_done *done;
    void *arg;
    struct arena *arena; /* of tree, made and report */
    struct err err;
    bool writes; /* fails when the commit fails */
    bool has_report;
    struct report report;
    struct text_node *tree;
    struct ctl_result made; /* with all of its texts in the arena */
    uint64_t job;
};

struct ack {
    struct generation generation;
    const char *node; /* in the arena of facts */
    uint64_t seq;
};

struct deadline {
    uint64_t at_ms, job;
}; /* a job is looked at then */

struct ctl {
    struct ctl_config config;
    unsigned char key[TOKEN_LEN]; /* agents' tokens are derived from it */
    char *admin;                  /* the server's own user */
    struct cluster *cluster;
    struct live *live;
    struct arena *scratch;         /* of one round of a turn */
    struct arena *hearing;         /* texts of facts and acks */
    VEC(struct engine_fact) facts; /* kept until they are committed */
    size_t applied;                /* facts that are part of the open transaction */
    VEC(struct ack) acks;
    VEC(struct answer) answers, held; /* held: until it is known what the disk has */
    VEC(uint64_t) touched;            /* jobs changed in the open transaction */
    VEC(uint64_t) wanting;            /* jobs with unplaced tasks, and some that had */
    VEC(struct deadline) deadlines;   /* base/heap.h */
    struct map *possible;             /* shapes that fit the empty cluster */
    VEC(uint64_t) held_back;          /* jobs whose launches wait for room in the engine */
    VEC(uint64_t) doomed;             /* numbers of jobs whose directories go after the commit */
    struct nodes *nodes;              /* these five: node_work.h */
    struct closed_devices *closed_devices;
    struct left_devices *left_devices;
    struct known_machines *machines;
    struct strangers *strangers;
    struct images *images;
    struct slices slices;
    uint64_t last_id, last_event, wake_at, expire_at, idle_since, retry_at, relaunch_at,
        replan_at; /* a port that was found taken may be tried again */
    bool plan_due, in_turn, unwritten, no_room, board_touched,
        own_touched; /* of jobs with an allocation of their own something changed */
    struct declarations *declarations; /* of the catalogue: catalogue_work.h */
    struct arrays *arrays;             /* those whose members live */
    struct dependencies *dependencies; /* who waits for which job */
    struct documents *documents;
    struct queues *queues;
    struct packing *packing;
    struct run_times *run_times;
    struct accounts *accounts;
    struct secrets *secrets;
    uint32_t noted; /* version of the queues for which live_running() is up to date */
    struct counters counters;
    struct rdzv_table *rdzv_table;
    struct ctl_watch watch;
    struct job_access access;
    char *address; /* by TCP; NULL: none */
    struct core_clock clock;
    unsigned depth;  /* of inputs inside inputs, while a tape is told of them */
    uint32_t passes; /* plans made in the outermost */
    uint64_t latched_ms, latched_us, created_ms;
};

uint64_t core_mono_us(const struct ctl *);      /* core_now() is in ctl/core_clock.h */
uint64_t core_stopwatch_us(const struct ctl *); /* for what is measured, never decided by */
void core_wake(struct ctl *, uint64_t at_ms);   /* ctl_tick not later than that */
void core_touch(struct ctl *, struct live_job *);
/* Does it want places? Then the next plan looks for some. */
void core_wants(struct ctl *, struct live_job *);
/* What its row says of where it was submitted (row_json_read_site). 0 or -1. load.c */
int core_site(struct ctl *, struct arena *, uint64_t id, const char **site);
/* ctl_tick looks at the job not later than that; 0: never mind. deadlines.c */
void core_deadline(struct ctl *, const struct live_job *, uint64_t at_ms);
uint64_t deadlines_first(const struct ctl *); /* when; 0: none */
uint64_t deadlines_take(struct ctl *);        /* whose; there must be one */

/* Where URIs lead, for a submitter at work_dir. */
struct storage core_storage(const struct ctl *, const char *work_dir);

/* ---- events.c: the only places that change a state ---- */
/* Moves the job, writes its row and the event. NULL: it keeps the reason that it has; body: a map
 * in scratch or NULL. false: not in the table; recorded and nothing else done. */
bool event_job(struct ctl *, struct live_job *, enum job_event, const struct reason *,
               struct text_node *body);
/* The same for a job whose row is about to be written: only the event is. */
bool event_new_job(struct ctl *, struct live_job *, enum job_event, const struct reason *,
                   struct text_node *body);
/* The same for a job that moves along with a task, whose event says so: the job gets none. */
bool event_job_along(struct ctl *, struct live_job *, enum job_event, const struct reason *);
/* Moves a task in memory and counts it; the row and the event are written by event_task_row and
 * event_task_note. */
bool event_task(struct ctl *, struct live_job *, uint32_t flat, enum task_event);
void event_task_row(struct ctl *, struct live_job *, uint32_t flat);
void event_task_note(struct ctl *, struct live_job *, uint32_t flat, const char *type,
                     const struct reason *, struct text_node *body);
/* An event that changes no state. */
void event_job_note(struct ctl *, const struct live_job *, const char *type, const struct reason *);
void event_say(struct live_job *, const struct reason *); /* only the reason in memory changes */
struct attempt_end { /* an attempt that ended, or whose program is gone */
    uint32_t flat;
    const struct ending *ending;
    const char *remark; /* of others on it: an agent, an engine; NULL or "": none */
    uint64_t at_ms, wakeup;
};
/* Writes the row of the current attempt; NULL while it lives. */
void event_attempt_row(struct ctl *, struct live_job *, uint32_t flat, const struct attempt_end *);
void event_job_row(struct ctl *, struct live_job *);
/* A queued job, new here or to its queue: it waits for its turn, for other jobs or its array. */
void event_queued(struct ctl *, struct live_job *);
/* The row of an array and an event of that type. */
void event_array(struct ctl *, const struct job_row *, const char *type, const struct sentence *,
                 struct text_node *body);
/* What a launcher told. */
struct launcher_event;
void event_note(struct ctl *, const struct launcher_event *, const char *type);
void event_server(struct ctl *, const char *type, const char *text); /* of no job */
/* One of a front end's; job 0: of none. Its sequence number. */
uint64_t event_plain(struct ctl *, uint64_t job, const char *type, struct text_node *body);

/* ---- facts.c ---- */
void facts_hear(struct ctl *, const struct engine_fact *); /* copies */
void facts_apply(struct ctl *);                            /* all that were heard since */
void facts_committed(struct ctl *);                        /* acknowledges and forgets */
void facts_drop_agent(struct ctl *, struct live_job *, struct live_agent *); /* and its row */

/* ---- settle.c ---- */
/* An attempt ended: its state, its task's next state, retry or not. */
void settle_attempt(struct ctl *, struct live_job *, const struct attempt_end *);
/* Its program is gone: when it fails for good, that is when it died. */
void settle_death(struct ctl *, struct live_job *, const struct attempt_end *);
/* What follows from the job's state now: running, recovered, verdict, restart, end. Idempotent. */
void settle_job(struct ctl *, struct live_job *);
/* Running or recovered, when its gang is up. */
void settle_running(struct ctl *, struct live_job *);
/* Decides the outcome; the job ends once nothing of it is left. */
void settle_close(struct ctl *, struct live_job *, enum job_outcome, enum end_origin,
                  const struct reason *);
/* The generation is ended to begin anew, when the job has a retry of that class left (counted) or
 * in any case. false: none is left, nothing was done. */
bool settle_restart(struct ctl *, struct live_job *, enum end_class, bool counted,
                    const struct reason *);
/* Its places are wanted by another job: it is ended and waits again, at no cost in retries. */
void settle_evict(struct ctl *, struct live_job *, uint64_t by, const struct reason *);
/* This attempt is ended and followed by another that costs no retry. */
void settle_turn(struct ctl *, struct live_job *, uint32_t flat);
/* A job that holds nothing: final at once. */
void settle_end(struct ctl *, struct live_job *, enum job_event, const struct reason *);

/* ---- planning.c ---- */
void planning_run(struct ctl *);
void planning_join(struct ctl *, struct live_job *); /* it waits from now on */
/* Gives one task its place in the current generation: rows, agent, launch due. */
void planning_place(struct ctl *, struct live_job *, uint32_t flat, uint32_t seq);

/* ---- act.c ---- */
void act_job(struct ctl *, struct live_job *); /* engine calls; only after a commit */

/* ---- stats.c ---- */
void counters_plan(struct ctl *, uint64_t us); /* a plan took so long */

/* ---- load.c ---- */
/* The canonical job of one that was just submitted, from the tree that its row is made of. */
void load_spec(struct live_job *, const struct text_node *tree);
void load_forget(struct ctl *, struct live_job *); /* gives its places back and frees it */
/* Jobs and arrays that have not ended; launches made before are made again a little later. */
int load_jobs(struct ctl *, struct err *);
void load_touched(struct ctl *); /* the jobs that the failed commit touched, as their rows say */

/* ---- command.c ---- */
/* Suspends or resumes a live job for its owner. */
int command_suspend(struct ctl *, struct live_job *, const char *owner, bool suspend, struct err *);
/* Of one member of an array; whether it is refused nobody asks. */
void command_member(struct ctl *, struct live_job *, const char *owner, enum ctl_verb);

/* ---- array_work.c ---- */
struct live_array;
struct arrays *core_arrays(struct ctl *);             /* makes them */
struct dependencies *core_dependencies(struct ctl *); /* after them: they ask arrays */
/* The next slice of rows of members and of what they are told (depend/members.h). */
void array_work_go_on(struct ctl *);
/* A command for all members of an array; not one that deletes. */
void array_work_command(struct ctl *, struct live_array *, const char *owner, enum ctl_verb);

/* ---- launch.c ---- */
struct launch_server;
/* Tells the engine of each attempt that it does not know, a launch per node and seq, in order. */
void launch_due(struct ctl *, struct live_job *);
void launch_drop(struct ctl *, struct live_job *); /* those under way are not made any more */
/* An event names the variables that tasks, as placed, do without (dialect/place_cache.h). */
void launch_say_left_out(struct ctl *, const struct live_job *);
/* Those that the engine had no room for are tried again. */
void launch_held_back(struct ctl *);
/* What all launches of this server say (live/launches/launch_server.h); until its next turn. */
struct launch_server core_launch_server(const struct ctl *);

/* ---- turn.c ---- */
/* A new answer with an arena of its own; the pointer holds until the next one is made. */
struct answer *turn_answer(struct ctl *, ctl_done *, void *arg);
bool turn_idle(const struct ctl *); /* nothing to commit, answer or act on */

#endif
