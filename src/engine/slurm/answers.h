/* What Slurm's commands print, read: pure. The forms are those of 22.05, with options that 20.11
 * has too; nothing is read that people may have translated. */
#ifndef ENGINE_SLURM_ANSWERS_H
#define ENGINE_SLURM_ANSWERS_H

#include "base/arena.h"
#include "base/err.h"
#include "job/words.h"

#include <stdbool.h>
#include <stdint.h>

/* What is asked of squeue: no letter in it means something to a shell, since a prefix may hand it
 * to one. The reason is last, because it may have any. */
#define SLURM_SQUEUE_FORMAT "%i@%T@%L@%S@%D@%P@%N@%U@%j@%r"
#define SLURM_SINFO_FORMAT  "%P@%c@%m@%a@%l@%D@%G@%N"

/* Slurm's states, as far as they differ for whoever holds an allocation. LOST: over because of a
 * node; TIMEOUT: at its limit. */
enum slurm_state {
    SLURM_UNKNOWN, /* a word of another version */
    SLURM_PENDING,
    SLURM_RUNNING,
    SLURM_STOPPED,    /* suspended: its processes stand still */
    SLURM_COMPLETING, /* is being ended */
    SLURM_DONE,
    SLURM_CANCELLED,
    SLURM_FAILED,
    SLURM_TIMEOUT,
    SLURM_PREEMPTED,
    SLURM_LOST
};
bool slurm_state_is_over(enum slurm_state);
struct slurm_job { /* a line of squeue */
    const char *id, *name, *partition, *reason;
    enum slurm_state state;
    const char *state_word;   /* as Slurm says it */
    bool has_left, has_start; /* the next two are known */
    uint64_t left_ms;         /* of its time limit */
    uint64_t start_ms;        /* wall clock: it started, or is expected to */
    uint32_t n_nodes;
    uint32_t uid;      /* whose it is */
    const char *nodes; /* "n[1-4,7]"; "": none yet */
};
struct slurm_jobs {
    struct slurm_job *at;
    size_t n;
};
/* Lines that are not of the form are left out: another job's name may have anything in it. */
void slurm_read_jobs(struct arena *, const char *text, struct slurm_jobs *);
struct slurm_search {
    const char *id, *name;
    const uint32_t *uid;
};
/* The first of that name and id; NULL: there is none. A number alone may be another job's by now:
 * Slurm gives out again what a controller that was killed forgot. id "": any; then it is uid's job,
 * where that is not NULL, because names are anybody's to take. */
const struct slurm_job *slurm_find_job(const struct slurm_jobs *, const struct slurm_search *);
/* "--parsable": the id, without the name of a cluster. -1: it is no answer of sbatch. */
int slurm_read_submitted(struct arena *, const char *text, const char **id, struct err *);

bool slurm_read_span(const char *text, uint64_t *ms); /* "1-02:03:04" "9:40"; UNLIMITED: false */

/* What a command that failed said on stderr. DOWN: Slurm cannot be asked, which says nothing of
 * anything. FULL: it takes no more jobs for now, by a limit on those that are submitted.
 * UNKNOWN_JOB: it knows no such job (any more). */
enum slurm_problem {
    SLURM_PROBLEM_OTHER,
    SLURM_PROBLEM_DOWN,
    SLURM_PROBLEM_FULL,
    SLURM_PROBLEM_DENIED,
    SLURM_PROBLEM_REQUEST, /* what was asked for cannot be had here: partition, account, sizes */
    SLURM_PROBLEM_UNKNOWN_JOB
};
enum slurm_problem slurm_read_problem(const char *text);
/* The same as an error: the limit that is reached, or the last line that says something, without
 * the name of the command. */
int slurm_set_problem(const char *command, const char *text, struct err *err);

#endif
