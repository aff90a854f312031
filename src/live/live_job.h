/* One job that has not ended, in memory: its tasks, agents and what only this process knows of it.
 * live.h has the table of them, and the functions that change what is counted. */
#ifndef LIVE_LIVE_JOB_H
#define LIVE_LIVE_JOB_H

#include "base/hash_index.h"
#include "base/map.h"
#include "base/vec.h"
#include "job/completion.h"
#include "job/image_progress.h"
#include "job/place.h"
#include "live/phase.h"
#include "sched/plan.h"
#include "store/store.h"

#define LIVE_REASON_MAX SENTENCE_MAX

struct live_agent {
    const char *node;
    enum agent_state state;
    uint32_t launch_seq; /* the last launch meant for it */
    uint32_t since;      /* the first of them; 0: not known, it comes from its row */
    uint64_t last_seq;   /* its facts applied so far */
    unsigned char token_hash[32];
    bool launched; /* the engine was told of it, or may have been before a restart */
    bool unheard;  /* since a restart: nothing was launched there, and it has not joined */
    bool changed;  /* row to be written at the end of the turn */
    uint64_t
        silent_ms; /* since when it is not heard, by the core's clock; 0: it is, or never was */
};

/* The end of an attempt that counts as a death (deaths.c). */
struct live_death {
    uint32_t order;  /* in which they were heard, from 1; 0: none */
    uint32_t flat;   /* its task */
    uint64_t wakeup; /* of its agent; 0: not known */
    uint64_t at_ms;  /* when it was heard */
    enum end_class class;
    bool of_peer;     /* it says that another was gone */
    const char *text; /* "worker/2 on n2 exited with 1", in places */
};

struct live_task {
    enum task_state state;
    enum attempt_state attempt_state; /* ATTEMPT_NONE: none in this generation */
    enum task_phase phase;            /* changed by live_set_phase() alone once it is loaded */
    uint32_t attempt;                 /* current or last of the job's whole life */
    uint32_t seq;                     /* launch that carries the attempt */
    struct retry_counts used;
    const char *failed_on; /* node of the last failure; NULL: none */
    uint32_t failed_times; /* in a row there */
    uint64_t not_before_ms, placed_ms, started_ms, log_end;
    uint64_t began_ms; /* started_ms by the clock that is decided by */
    uint32_t pid;
    bool taken;       /* the cluster counts its place */
    bool gave;        /* its place to others, before the job's end */
    bool turned;      /* this attempt is ended for another one that costs no retry */
    bool end_asked;   /* the engine was told to end this attempt alone */
    bool unstartable; /* its launcher found that the program cannot start: again would not help */
    bool left;        /* its machine is silent, and those that it works with go on without it */
    struct live_death death;
    struct task_place place;
    const struct task_place *last; /* PHASE_ASSIGNED: the place before, in places; NULL: none */
};

/* Why the last plan let it wait, as far as views ask and as two plans may differ. */
struct live_why {
    enum wait_why why;
    uint64_t need, best, short_by, total;
    uint64_t of; /* as in struct wait_reason */
};

/* How often the scheduler found no place for the job, or for what is left of it, for one reason;
 * only this process knows. */
struct live_refusal {
    uint64_t first_ms, last_ms;
    uint32_t count; /* looks less than a second apart count as one */
};

enum stop_level { STOP_NONE, STOP_ASKED, STOP_FORCED };

/* What `live` of the job's row keeps. */
struct live_column {
    struct retry_counts used;
    uint64_t
        hold_until_ms; /* resources are kept until then although the outcome is decided; 0: no */
    uint64_t pending_until_ms; /* fails when it has not begun by then; 0: no */
    uint64_t resumed_ms;       /* last resumed; 0: never was suspended */
    uint64_t began_ms;         /* `started` of the row by the clock that is decided by */
    bool dates_differ;         /* from that: then it is kept */
    struct words avoid;        /* nodes on which its tasks failed too often */
    struct pairs lives;     /* of this generation: nodes on which agents were lost, and how many */
    enum end_origin end_by; /* who ends it, while an outcome is decided */
    bool force;             /* SIGKILL at once */
    bool drop;              /* its records go when it has ended */
    bool has_after;         /* waits for other jobs */
    bool has_peers;         /* first starts together with other jobs */
    bool claims;            /* others were ended so that it can start */
    bool placing;           /* not all of its places are recorded: nothing is started yet */
    bool idle;              /* runs on capacity that its queue is not sure of */
    bool own;               /* has, or waits for, an allocation of its own (allocations.h) */
    uint64_t rest_ms; /* until then the nodes of it that are up wait for the rest; 0: none is up */
    bool alone;       /* runs nowhere else: its nodes are to be its account's */
    uint32_t partly_up;       /* it runs with so many tasks, as it has said; 0: with all of them */
    uint64_t promised_ms;     /* the time it was first told to start by; 0: none */
    enum job_runtime runtime; /* that its images got; SERVER: it names none, or is of before */
    uint64_t shape;           /* job_shape() of its spec; 0: not known */
    uint64_t code;            /* archive_mark() of the archive it names; 0: none */
    bool counted;             /* it has ended, and its tasks as in: */
    struct role_tally ended;
    struct words met;       /* positions of those in after that have ended as wished */
    struct words first;     /* who died first in this generation: "worker/1"; several, when nothing
                             * tells which of them it was */
    const char *first_text; /* a clause about it; NULL: none died */
    enum end_class first_class;
    bool first_decides;  /* the job ends because of it, and its reason says so */
    bool first_is_root;  /* launchers have said which it was: ends of tasks change nothing */
    struct pairs images; /* digests that names of images stand for in this job (images.c) */
};

struct early_image {       /* one that is fetched while the job waits (early_images.c) */
    const char *name;      /* as the job says it */
    const char *node;      /* the machine that it comes to; "": this one */
    enum image_step step;  /* IMAGE_STEP_NONE: its turn has not come */
    uint64_t bytes, total; /* total 0: not known */
    const char *problem;   /* when it failed */
};

struct live_job {
    struct arena *arena;   /* texts of row, spec */
    struct arena *places;  /* of the current generation; NULL before the first */
    struct job_row row;    /* spec, site, live are NULL: read when needed */
    char *reason, *called; /* row.reason points here; shorter than LIVE_REASON_MAX */
    struct job_spec *spec; /* NULL until needed */
    struct live_column notes;
    struct arena *launching; /* launches under way (launch.c), `round` lies in it; NULL: none */
    struct round *round;
    struct live_task *tasks; /* NULL before the first allocation */
    /* Counts of tasks, changed by live_set_*() and live_count_tasks() alone. */
    struct role_tally *tally;      /* per role, of this generation */
    uint32_t *up;                  /* per role: tasks that run or have ended in this generation */
    uint32_t *taken;               /* per role: tasks with .taken */
    uint32_t *phases;              /* by phase: live_in_phase() */
    uint32_t turned;               /* tasks with .turned */
    VEC(struct live_agent) agents; /* changed by live_add_agent() and its like alone */
    struct hash_index agents_by_node;
    uint32_t silent;                     /* agents with .silent_ms */
    VEC(struct live_agent) forgotten;    /* never told, and gone because its generation ends */
    uint32_t on_board;                   /* entries of its board */
    uint32_t launch_seq;                 /* highest of this generation */
    uint32_t queue_at, user_at, located; /* charges_locate() */
    uint32_t active;                     /* position among the active ones, from 1; 0: is none */
    uint32_t peers; /* jobs it starts together with, itself included, as the last pass found */
    uint32_t apart; /* position among those asked one by one, from 1; 0: is none */
    enum stop_level stop_sent;
    struct line *line;   /* in which it waits; NULL: in none */
    bool waits;          /* is in the waiting list */
    bool wanting;        /* is in the list of those that want places */
    bool touched;        /* is in the turn's list */
    bool later;          /* is in the list of the next tick */
    bool ending;         /* the end of an agent is applied in slices: nothing is decided before */
    bool cut_off;        /* it was loaded while it was placing */
    bool fails_now;      /* a task failed for good in this turn */
    bool images_asked;   /* their registries, by this process */
    bool images_packing; /* were asked to be packed for its machines, by this process */
    struct words images_packed; /* digests of those that are */
    uint32_t images_open;       /* of them still to answer: launches wait */
    uint64_t images_said_ms;    /* the last event of how far one is */
    struct early_image *early;  /* n_early of them; 0: none was asked for */
    uint32_t n_early, early_of; /* early_of: the generation before which it waits */
    uint64_t won_ms;            /* since when enough tasks have ended well; 0: they have not */
    uint64_t expected_ms;       /* it starts by then as far as is known now; 0: not known */
    struct live_why why;
    struct live_refusal refusal; /* for that reason */
    uint32_t first;              /* flat position of the first in notes.first */
    uint32_t deaths;             /* of this generation, so far */
};

#endif
