/* Lists of jobs as people search them: any order, any page, by what the rows and the jobs
 * themselves say. Slower than store_list (which is an index range): at most the narrow rows of all
 * jobs of the time window are looked at; what jobs say is found in the rows of `facet`. */
#ifndef STORE_FIND_H
#define STORE_FIND_H

#include "base/pairs.h"
#include "job/words.h"
#include "store/store.h"

#define FACET_TEXT_MAX 2000 /* bytes of what a job says that are kept for searching */

enum job_order {
    JOBS_BY_ID,
    JOBS_BY_NAME,
    JOBS_BY_STATE,
    JOBS_BY_END,
    JOBS_BY_PRIORITY,
    JOBS_BY_TYPE
};

/* What a job says: "type" (its front end's word, else its framework, else ""), "capacity",
 * "access", "spot", and by a part of their beginning "run" and "image" of its roles and its
 * "description". */
struct job_value {
    const char *facet, *value;
    bool missing; /* instead: when the job does not say it */
};
struct job_text {
    const char *facet, *has; /* whatever the case of its letters */
};
struct job_query {
    const char *reader;                  /* jobs of this user and of these projects; NULL: of all */
    const struct words *projects;        /* may be NULL */
    uint32_t states;                     /* bit 1 << state; 0: all */
    const char *owner, *queue, *dialect; /* NULL: any */
    const char *queue_not;               /* NULL: none is left out */
    struct words in;                     /* projects, any of; none: any */
    const char *name_has;                /* a part of the name, whatever the case of its letters */
    const char *reason_has;              /* the same of the reason */
    struct job_text texts[4];            /* all of them; facet NULL: none */
    struct words ids;                    /* 13 characters each, any of */
    uint64_t since_ms, until_ms;         /* submitted not before, and before; 0: any */
    struct pairs labels; /* each a label of the job or a tag put on it later ("job.tag") */
    struct job_values {  /* any one of them; all such groups */
        const struct job_value *at;
        size_t n;
    } values[3];
    enum job_order order;
    bool ascending;
    uint64_t offset, limit;
};
struct job_page {
    struct job_row *rows; /* of the page, complete: spec and site too */
    size_t n;
    uint64_t total; /* on all pages */
};
int store_find_jobs(struct store *, struct arena *, const struct job_query *, struct job_page *,
                    struct err *);

/* ---- how many there are ---- */
/* Counted at the first question that no turn is open at, then kept with each row that is written;
 * members, not their arrays. */
int store_counts(struct store *, struct job_counts *, struct err *);
/* Of the members of an array that are there. */
int store_member_counts(struct store *, const struct job_row *array, struct job_counts *,
                        struct err *);
struct task_counts {
    uint64_t running, succeeded, failed;
};
/* Of a job's tasks as they are stored; of an array, of the tasks of all its members. */
int store_task_counts(struct store *, const struct job_row *, struct task_counts *, struct err *);

#endif
