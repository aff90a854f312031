/* A pilot: an allocation of Slurm that one server holds and whose nodes become nodes of it: of any
 * job, or of the one that it was asked for (`job`). What is known of it, its row, and what follows
 * from what Slurm says: no I/O, no clock. */
#ifndef ENGINE_SLURM_PILOT_H
#define ENGINE_SLURM_PILOT_H

#include "base/vec.h"
#include "engine/slurm/again.h"
#include "engine/slurm/answers.h"
#include "job/account.h"
#include "text/tree.h"

#define PILOT_NODES_MAX 1024u
#define PILOT_FLAGS_MAX 64u
#define PILOT_FLAG_MAX  1000u /* letters of one */

/* SUBMITTING: Slurm has not said its id. ENDING: it is being given back. OVER: Slurm has ended it,
 * and nothing of it answers. Words of rows and answers. */
#define PILOT_STATES(X)                                                                            \
    X(SUBMITTING, "submitting")                                                                    \
    X(PENDING, "pending")                                                                          \
    X(RUNNING, "running")                                                                          \
    X(ENDING, "ending")                                                                            \
    X(OVER, "over")
#define PILOT_ENUM(id, word) PILOT_##id,
enum pilot_state { PILOT_STATES(PILOT_ENUM) PILOT_STATE_N };
#undef PILOT_ENUM
const char *pilot_state_word(enum pilot_state);

/* Why there is none (any more), where it was not given back. FAILED: its script ended, and no node
 * has joined. */
#define PILOT_ENDS(X)                                                                              \
    X(NONE, "")                                                                                    \
    X(REFUSED, "refused")                                                                          \
    X(CANCELLED, "cancelled")                                                                      \
    X(FAILED, "failed")                                                                            \
    X(LOST, "lost")
#define PILOT_END_ENUM(id, word) PILOT_END_##id,
enum pilot_end { PILOT_ENDS(PILOT_END_ENUM) PILOT_END_N };
#undef PILOT_END_ENUM

struct pilot_ask { /* what was asked for */
    uint32_t nodes;
    uint32_t least;        /* so many will do; 0: all */
    const char *partition; /* "": the default one */
    uint64_t time_ms;      /* 0: as the partition has it */
    uint32_t cpus, gpus;   /* of each node; cpus 0: whole nodes */
    const char *gpu_type;  /* as Slurm calls it; "": any */
    uint64_t memory;       /* of each, bytes; 0: as Slurm gives it */
    uint64_t idle_ms;      /* given back after so long without a task; 0: kept */
    struct words flags;    /* for sbatch, as they were given */
};
/* -1: a bound, named; or a flag that would take from muster what it rests on. */
int pilot_check_ask(const struct pilot_ask *, struct err *);

struct pilot_host { /* a node of it that has joined */
    char *slurm;    /* its name there */
    char *name;     /* here */
    unsigned char token_hash[32];
    bool gone;
    struct again again; /* in no row */
};
struct pilot {
    char *name, *nonce, *by;
    struct arena *arena; /* of ask, account */
    struct pilot_ask ask;
    const struct account *account; /* whose it is in Slurm, and whose its hosts are; NULL: the
                                    * server's own */
    unsigned char join_hash[32];
    uint64_t at_ms;           /* wall clock: when it was asked for */
    uint64_t job, job_number; /* whose own it is; 0: any job's */
    uint64_t grace_ms;        /* of that job */
    enum pilot_state state;
    enum pilot_end end;
    bool given_back;            /* by this server */
    char *id;                   /* of Slurm; "": not known */
    char *partition;            /* where it is */
    char *nodes;                /* "n[1-4]", while Slurm has given it some */
    char *reason;               /* Slurm's: why it waits; why it is over */
    uint64_t start_ms, ends_ms; /* wall clock, expected or so; 0: not known */
    VEC(struct pilot_host) hosts;
    unsigned absent;  /* answers in a row without it */
    uint64_t full_ms; /* wall clock: Slurm took no more jobs then; 0: it did not say so */
    bool submitted;   /* sbatch was started, by this server or an earlier one */
    bool hears_again; /* its batch script starts nodes again; those of older servers did not */
};
/* nonce: makes its name in Slurm no other's. */
struct pilot *pilot_create(const char *name, const char *nonce, const char *by,
                           const struct pilot_ask *);
void pilot_destroy(struct pilot *);    /* NULL-safe */
#define PILOT_JOB_NAME "muster-pilot-" /* with the nonce: its name in Slurm */

/* As a row, and back; NULL: it cannot be read. */
struct text_node *pilot_row(struct arena *, const struct pilot *);
struct pilot *pilot_of_row(const char *name, const struct text_node *);

/* Slurm takes no more jobs now: it is submitted again (`submitted` is false then) after some
 * seconds in which Slurm does not know it. */
void pilot_hear_full(struct pilot *, const char *why, uint64_t now_ms);
struct pilot_world { /* what is known beside Slurm's answer */
    uint64_t now_ms; /* wall clock */
    size_t reached;  /* its hosts that are connected */
};
/* Slurm was asked and answered; job NULL: it does not know that one. true: what the row says has
 * changed. Whoever cannot be asked is not heard. */
bool pilot_hear(struct pilot *, const struct slurm_job *job, const struct pilot_world *);
/* Is a node of that name (Slurm's) one of it now? */
bool pilot_has_node(const struct pilot *, const char *node);
uint32_t pilot_count_nodes(const struct pilot *); /* now */
/* Has joined before; NULL. */
struct pilot_host *pilot_find_host(const struct pilot *, const char *slurm_name);
/* Joins under that name, or does so again. */
void pilot_add_host(struct pilot *, const char *slurm_name, const char *name,
                    const unsigned char token_hash[32]);
/* As if it had never joined. */
void pilot_drop_host(struct pilot *, const char *slurm_name);
/* Milliseconds that it still has; false: it has no end that is known. */
bool pilot_left(const struct pilot *, uint64_t now_ms, uint64_t *ms);
void pilot_set_reason(struct pilot *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What is to be done about a job's own allocation. latest: the one that was asked for last; NULL:
 * none. */
enum pilot_step {
    PILOT_STEP_NONE,
    PILOT_STEP_ASK,   /* for a new one */
    PILOT_STEP_GIVE,  /* it back: the job has ended */
    PILOT_STEP_MOVE,  /* it back, since nodes of it are lost: its job needs another one */
    PILOT_STEP_STOP,  /* the job: somebody cancelled its allocation */
    PILOT_STEP_REFUSE /* the job: it gets none */
};
struct pilot_need {
    bool wanted; /* the job is to have one */
    bool lacks;  /* what it has is not enough for it */
    bool ran;    /* its tasks have had a place before */
};
enum pilot_step pilot_next_step(const struct pilot *latest, struct pilot_need, uint64_t now_ms);
/* Why its job waits, for people. */
void pilot_say_waiting(const struct pilot *, char *out, size_t size);

/* Words for sbatch, ends with NULL; in arena. */
const char **pilot_sbatch(struct arena *, const struct pilot *);

#endif
