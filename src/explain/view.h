/* Why a job waits, until when, and what would change that, in structs. What is zero, NULL or false
 * is not known. All lists lie in the arena that was asked with; texts that are not made for the
 * answer are the core's own and hold until its next turn. */
#ifndef EXPLAIN_VIEW_H
#define EXPLAIN_VIEW_H

#include "base/pairs.h"
#include "inventory/away_view.h"
#include "job/job.h"
#include "job/state.h"
#include "job/unfit.h"
#include "sched/quota.h"

struct ctl;
struct pod_words;

struct other_job {    /* another one than is asked about */
    uint64_t number;  /* 0: not the reader's to know */
    const char *name; /* NULL: it is gone */
};
struct other_list {
    struct other_job *at;
    size_t n;
};
struct job_end {
    struct other_job job;
    uint64_t at_ms;
    bool assumed; /* it has no limit of run time */
    bool waits;
};
struct end_list {
    struct job_end *at;
    size_t n;
};
struct job_delay { /* of a promise */
    struct other_job job;
    uint64_t before_ms, after_ms; /* after 0: it goes */
};
struct delay_list {
    struct job_delay *at;
    size_t n;
};
struct rank_view {
    bool claims, sure;
    int64_t priority, asked_priority;
    uint64_t promised_ms, load, usage, age_ms; /* promised 0: nothing is */
};
struct unfit_view { /* on how many nodes the job's next task finds what in the way */
    struct unfits unfits;
    const char *role;             /* of that task */
    const struct pod_words *pods; /* of its format, when that has pods */
};
struct share_view {           /* of a queue, or of the job's user there */
    const char *queue, *user; /* one of them */
    struct vector used;
    struct vector guaranteed; /* zero: nothing */
    struct vector maximum;    /* UINT64_MAX: no bound */
};
struct share_list { /* its queue, those above, its user */
    struct share_view *at;
    size_t n;
};
/* Would the limit be exceeded if the job held all that it asks for? As PAI-DLC diagnoses it. */
enum limit_check_kind { CHECK_QUEUE, CHECK_ABOVE, CHECK_USER, LIMIT_CHECKS };
struct limit_check {
    bool exceeded, cpu, memory, gpu; /* which of what it asks for */
    struct vector used;
    struct vector limit; /* UINT64_MAX: no bound */
    const char *queue;   /* CHECK_ABOVE: whose limit it is; NULL: there is no queue above */
};
struct checks_view {
    struct limit_check limits[LIMIT_CHECKS];
    bool blocked; /* by jobs before it, as the strategy of its queue has it */
    enum queue_strategy strategy;
    uint32_t ahead;
};
struct estimates_view {
    uint64_t by_limit_ms; /* when each job runs to its limit of run time */
    bool learnt;          /* the rest is known: as long as jobs like each ran before */
    uint64_t at_ms, earliest_ms, latest_ms;
    uint32_t known, jobs; /* of so many jobs that matter a run time was learnt */
};
struct run_time_view { /* how long it runs itself */
    struct opt_u64 limit_ms;
    uint32_t jobs; /* that it is learnt of; 0: it is not */
    bool of_queue; /* those of its queue, else of its owner and name */
    uint64_t median_ms, low_ms, high_ms;
};

/* Changes that can start a waiting job, with their words in answers. */
#define CHANGES(X)                                                                                 \
    X(RUN_TIME, "run_time")                                                                        \
    X(PRIORITY, "priority")                                                                        \
    X(TOPOLOGY, "topology")                                                                        \
    X(LABELS, "labels")                                                                            \
    X(NODES, "nodes")                                                                              \
    X(APART, "apart")                                                                              \
    X(QUEUE, "queue")                                                                              \
    X(GPU_TYPE, "gpu_type")                                                                        \
    X(REPLICAS, "replicas")                                                                        \
    X(MIN, "min")                                                                                  \
    X(GANG, "gang")                                                                                \
    X(CPU, "cpu")                                                                                  \
    X(MEMORY, "memory")                                                                            \
    X(GPU, "gpu")                                                                                  \
    X(RESUME, "resume")
enum change_kind {
#define CHANGE_ENUM(id, word) CHANGE_##id,
    CHANGES(CHANGE_ENUM) CHANGE_N
#undef CHANGE_ENUM
};
const char *way_word(enum change_kind);
struct change_view {
    enum change_kind kind;
    const char *set;     /* the change as what-if takes it: "replicas=2"; NULL: CHANGE_RESUME */
    struct words sets;   /* the same as --set takes it */
    bool at_once;        /* CHANGE_RESUME: it would start, and not only join the queue */
    uint64_t gpu_milli;  /* that it would have, on these places */
    struct pairs places; /* task: node */
};
struct change_list { /* smallest change first */
    struct change_view *at;
    size_t n;
};

struct explain_view {
    uint64_t job; /* id; 0: it is not there yet */
    enum job_state state;
    const char *name, *queue, *reason, *why, *resource, *role, *node, *level, *domain;
    const char *file; /* of a job that is not there yet; may be NULL */
    uint64_t array;
    bool has_index;
    int64_t index;
    uint64_t number, need, best, short_by, total, ahead, ahead_elsewhere, until_ms, expected_ms,
        not_before_ms, not_later_ms, n_ends;
    bool would_start, promised, at_least, ahead_known;
    struct other_list ahead_jobs;
    const struct other_job *blocker;
    const struct rank_view *rank;
    struct end_list ends;
    struct delay_list delays;
    struct away_list away;                /* machines that cannot be reached and have tasks of it */
    const struct text_node *early_images; /* fetched while it waits; NULL: none */
    struct words changes;                 /* what-if, as --set takes them */
    bool in_its_place;                    /* the changed job would replace this one */
    const char *never;              /* why it never fits the nodes that there are; NULL: it may */
    struct pairs places;            /* task: node */
    const struct unfit_view *unfit; /* these NULL: nothing is known, or to be said */
    const struct checks_view *checks;
    const struct estimates_view *estimates;
    const struct run_time_view *run_time;
    struct share_list quota;
    struct change_list ways;
};

/* Why a job waits, until when, what would change it; with changes: what they would do together. */
struct explain_ask {
    struct arena *arena;
    const char *owner; /* who asks */
    uint64_t job;
    struct words changes; /* "replicas=2", as --set takes them or in short */
};
int explain_job(struct ctl *, const struct explain_ask *, struct explain_view *, struct err *);
/* The same of a job that would be submitted now. */
struct draft_job {
    struct arena *arena;
    const char *owner;
    const struct job_spec *spec; /* of a dry run's answer */
    const char *file;            /* for commands; NULL: "FILE" */
    bool with_ways;              /* also what else would start it now */
};
void explain_newcomer(struct ctl *, const struct draft_job *, struct explain_view *);

#endif
