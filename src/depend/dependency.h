/* Waiting for other jobs: names become numbers when a job is submitted; from then on it stands
 * aside until the one it waits for has ended. Only that end looks at it again. They know the store
 * and not the core, and answer with what is the case; wording.h has the sentences. */
#ifndef DEPEND_DEPENDENCY_H
#define DEPEND_DEPENDENCY_H

#include "depend/array.h"

/* What the core knows. */
struct dependencies_core {
    void *arg;
    /* The row of a job in memory, as it is in this turn; NULL: it is not there. */
    const struct job_row *(*live)(const void *arg, uint64_t id);
    /* The job that is called so, whoever's it is; 0: there is none. */
    uint64_t (*find)(void *arg, const char *name);
    bool (*may_read)(void *arg, const char *owner, const struct job_row *);
    /* Jobs and arrays (not their members) of that owner (NULL: of anyone) that are called so and
     * have not ended. */
    void (*unended)(void *arg, const char *owner, const char *name,
                    void (*each)(void *each_arg, const struct job_row *), void *each_arg);
};
struct dependencies_config {
    struct store *store;
    const struct arrays *arrays;
    struct dependencies_core core;
};
struct dependencies;
struct dependencies *dependencies_create(const struct dependencies_config *);
void dependencies_destroy(struct dependencies *);

/* ---- at submission ---- */
/* What can never come true. */
enum depend_fault {
    DEPEND_NO_NAME,     /* there is no job of that name, or the owner may not read it */
    DEPEND_NO_NUMBER,   /* the same of a number */
    DEPEND_NO_INDEX,    /* match: the job that waits is no array */
    DEPEND_NO_ARRAY,    /* match: the other one is none */
    DEPEND_OTHER_INDEX, /* match: both are, and their indices differ */
    DEPEND_BOTH_ENDS,   /* one job is to end well and badly */
    DEPEND_TOO_MANY,    /* more than JOB_AFTER_MAX */
};
struct depend_problem {
    const struct depend_problem *next; /* in their order */
    enum depend_fault fault;
    size_t at;                 /* position in spec->after */
    const char *name;          /* NO_NAME */
    uint64_t number;           /* of the other one, else */
    struct job_array own, its; /* OTHER_INDEX */
};
/* Numbers for names, in spec, and of match `every` one for each. What is wrong with it, in arena;
 * NULL: nothing. */
const struct depend_problem *depend_resolve(const struct dependencies *, struct arena *,
                                            const char *owner, struct job_spec *);

/* ---- those that wait ---- */
struct depend_job { /* as the core has it */
    const struct job_row *row;
    const struct job_spec *spec;
    const struct words *met; /* positions of those in spec->after that have ended as wished */
};
enum depend_kind {
    DEPEND_MET,       /* all have ended as wished */
    DEPEND_TO_END,    /* one has still to end */
    DEPEND_GONE,      /* one is in no record any more */
    DEPEND_OTHERWISE, /* one has ended, and not as wished */
};
struct depend_answer {
    enum depend_kind kind;
    uint64_t number;              /* of the one that it is about */
    const char *ended;            /* as the spec wishes it: "any" "well" "badly" */
    struct job_row row;           /* TO_END OTHERWISE: its row, texts in arena or its own */
    uint32_t counts[JOB_STATE_N]; /* of its members */
};
/* Of those that are not met the first; one that never will be decides at once. */
struct depend_answer depend_look(const struct dependencies *, struct arena *,
                                 const struct depend_job *);
bool depend_never(const struct depend_answer *); /* the job never can run */
/* Those that have ended as wished, by their positions: they need not be looked at again. In arena.
 */
struct words depend_met(const struct dependencies *, struct arena *, const struct depend_job *);

void depend_ask(struct dependencies *, uint64_t job); /* it is to be looked at */
/* It is looked at again when that one has ended. */
void depend_wait(struct dependencies *, uint64_t job, const struct depend_answer *);
void depend_ended(struct dependencies *,
                  uint64_t id); /* a job or an array: who waits for it is due */
/* The next that is to be looked at. false: none is. */
bool depend_take(struct dependencies *, uint64_t *job);

#endif
