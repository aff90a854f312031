/* One trial: the whole core with a disk, agents, clients and a clock that are all simulated, driven
 * by one seed. The same seed gives the same trial, step by step, in any process.
 *
 * A step is one of
 *   a submission, a command on a job, a restart, a drained node, declared queues
 *   an agent does one thing; a fact reaches the server; an agent dies; a connection breaks, and the
 *   agent is silent or comes again; a node goes down or comes up; a machine is silent with all that
 *   it runs, also all of them at once and while the disk fails, leaves, comes, or comes with more;
 *   launches are refused
 *   time passes; the wall clock jumps, forward or back; the machine is started anew, and its wall
 *   clock may say anything then
 *   the server dies now, or at some write, sync, answer, launch, stop or acknowledgement to come,
 *   also while it starts; with the process alone or with the power; or it ends in order
 *   the disk fails for a while, writes half, is full; the end mark lies on it too, and is older,
 *   torn or gone after a loss of power
 *   a program of a job shows its token
 *
 * Then quiet times follow: no faults any more, until everything has come to its end.
 *
 * What must hold, looked at after each step (s), after each start of a server (r), at the end (e):
 *   s  nothing of agents.h and clients.h is wrong
 *   s  what nodes have given is what live tasks hold, each of them, and no more than the node has
 *   s  what a job counts of its tasks is what they are; a task's phase, its state and its attempt
 *      say the same; no phase follows one that it may not follow
 *   s  each agent that lives is of the current generation of a job that holds places
 *   s  who is silent is known, and who is heard; a silence goes on from where it began; agents that
 *      a server that was started anew has not heard are known for that until they join
 *   s  each waiting job has a reason; a stopped one does not wait or run
 *   s  a token is good for the generation that lives, and for no other
 *   s  limits end what is over them and nothing before, whatever the wall clock was set to; the
 *      clock that is decided by never goes back from event to event
 *   r  events that were seen are there as they were seen, and none of their numbers is another's
 *   r  acknowledged jobs have their number; deleted ones are gone; stopped ones are stopped
 *   r  the clock goes on from where it was
 *   r  the state loaded is the state before, when the server had nothing to do when it died
 *   e  every submission was answered, every job has ended with a reason; one job a submission, and
 *      of an array every member
 *   e  nothing is held, no agent lives, no fact waits for an acknowledgement
 *   e  every attempt ended as its agent saw it; retries keep to their budgets
 *   e  no event was refused by a transition table */
#ifndef CTL_TEST_FAULTS_TRIAL_H
#define CTL_TEST_FAULTS_TRIAL_H

#include "base/buf.h"
#include "ctl/test/faults/agents.h"
#include "ctl/test/faults/clients.h"
#include "ctl/test/faults/coverage.h"
#include "ctl/test/faults/hooks.h"

#define TRIAL_STEPS 200u /* before quiet times */
#define TRIAL_PATH  96
#define TRIAL_WRONG 1200

struct seen_event {
    uint64_t seq, job, hash;
};
struct bench { /* what trials of one process share */
    char dir[TRIAL_PATH];
    struct disk disk;
    struct disk_image empty; /* a database without a job */
    struct hooks hooks;
    struct coverage coverage;
};
struct trial {
    struct bench *bench;
    uint64_t seed, now_ms, mono_us, due_us /* when it wakes */, begun_ms, idle_ms;
    uint64_t steady_ms;   /* of the last event that was seen */
    unsigned boot, based; /* of the machine; that base_ms is of */
    int64_t base_ms;
    char boot_id[24];
    struct dice dice;
    struct crash crash;
    struct agents agents;
    struct clients clients;
    struct store *store;
    struct ctl *ctl;
    struct buf before; /* the state when the server died, to be found again; "": not known */
    VEC(struct seen_event) seen;
    bool trace, faulty, wakes;
    size_t waiting; /* submissions, a round of quiet times ago */
    unsigned steps, starts, deaths;
    uint64_t digest; /* of what happened: the same for the same seed */
    char state_dir[TRIAL_PATH + 16], db[TRIAL_PATH + 32], runs[TRIAL_PATH + 32],
        key[TRIAL_PATH + 16];
    char wrong[TRIAL_WRONG]; /* "": nothing yet */
};

void bench_init(struct bench *);
void bench_fini(struct bench *);
/* Runs one seed. true: nothing was wrong. */
bool trial_run(struct trial *, struct bench *, uint64_t seed, bool trace);
void trial_fini(struct trial *);

/* ---- among the files of a trial ---- */
__attribute__((format(printf, 2, 3))) void trial_wrong(struct trial *, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void trial_say(struct trial *, const char *fmt, ...);
/* server.c: the life of the core. false: it did not start, for a reason that is part of the trial.
 */
bool server_open(struct trial *);
void server_die(struct trial *, bool power); /* it is dead already, or dies now */
void server_end(struct trial *);             /* in order */
void server_turn(struct trial *);            /* a turn, a tick if it is time */
/* steps.c */
void steps_run(struct trial *); /* all of them */
void steps_quiet(struct trial *);
/* checks.c */
void check_step(struct trial *);
void check_silence(struct trial *); /* check_silence.c; of a core at rest */
void check_start(struct trial *);
void check_end(struct trial *);
void check_state(struct trial *, struct buf *out); /* the live state as text */

#endif
