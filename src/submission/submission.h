/* What somebody submits: a text, what they say beside it, and who they are. */
#ifndef SUBMISSION_SUBMISSION_H
#define SUBMISSION_SUBMISSION_H

#include "base/err.h"
#include "base/pairs.h"
#include "job/job.h"
#include "text/tree.h"

#include <stdbool.h>
#include <stdint.h>

struct account;

struct submission {
    const char *owner;
    const struct account *account; /* of the owner; NULL: the server's own (choose_account) */
    const struct err *refused;     /* why the owner has none: so is the submission; NULL */
    const char *text;
    size_t len;
    const char *from, *name, *queue;
    struct pairs env;
    struct words sets;
    const char *python, *python_from; /* PYTHON_BY_OPTION or the variable that led to it; or NULL */
    const char *file;                 /* name shown in problems; NULL "-" */
    const char *code_dir;             /* --code, absolute */
    const char *work_dir;             /* submitter's directory */
    const char *key;                  /* idempotency key or NULL */
    bool wait_for_nodes;              /* --wait: queue although larger than the cluster */
    bool unique;     /* ERR_CONFLICT when this owner has a job of that name, also an ended one */
    bool apply;      /* a live job of this owner, project and name is updated: suspend only */
    bool dry_run;    /* store nothing; explain_view.h says what the job would do */
    bool replace;    /* with like: that job, which has to wait, makes way in the same turn */
    uint64_t parent; /* number of the job whose program asks; 0: none does */
    uint64_t like;   /* text NULL: submit that job's original again with its overrides */
};

/* Two that say the same have the same; of the interpreter only what somebody named counts. */
#define SUBMISSION_HASH 32
void submission_hash(const struct submission *, unsigned char out[SUBMISSION_HASH]);
/* Did the submitter name the interpreter? Else a shell had it by chance. */
bool submission_names_python(const struct submission *);
/* A list of what was said beside the text, in arena; of variables the names alone. */
struct text_node *submission_differs(const struct submission *, struct arena *);

#endif
