/* Jobs as plain values, for who prints thousands of them: what answer_list_view and answer_job_view
 * tell of their rows, without a view of each; and parts of what a job says, without all of it. */
#ifndef ANSWER_JOB_LIST_H
#define ANSWER_JOB_LIST_H

#include "ctl/ctl.h"
#include "text/json.h"

struct live_job;

struct listed_job {
    /* What memory knows better is in it; spec, site, live and facets are not. */
    struct job_row row;
    char id[JOB_ID_TEXT];
    uint32_t running; /* tasks that run now */
};
/* What memory and the row know of it together. */
void job_list_fill(struct ctl *, const struct job_row *stored, struct listed_job *out);
/* A canonical text as a tree; may: with the values of variables. */
struct text_node *job_list_spec(struct arena *, const char *text, bool may);
/* Newest first, in arena; texts hold until the next turn. 0, or -1 with err. */
int answer_list(struct ctl *, struct arena *, const struct job_filter *, struct listed_job **,
                size_t *n, struct err *);
/* One, that owner may read; ERR_NOT_FOUND. */
int answer_listed(struct ctl *, struct arena *, uint64_t job, const char *owner,
                  struct listed_job *, struct err *);
/* Why it waits, ends, ended, as owner may be told; "" when nothing is to be said. */
const char *answer_listed_reason(struct ctl *, struct arena *, const struct listed_job *,
                                 const char *owner);

/* The canonical job; values of variables are masked for who may not change it. NULL: its row cannot
 * be read. */
struct text_node *answer_spec_tree(struct ctl *, struct arena *, const struct listed_job *,
                                   const char *owner);
/* What is shown of a job besides, as text and in one look. */
struct documents_ask {
    const char *owner;   /* who asks */
    const char *dialect; /* jobs that came in it say what was sent */
    const char *kind;    /* of the object that may be kept for a job, under the dialect's name */
};
struct job_documents {
    uint64_t last; /* event */
    bool may;      /* who asks may change the job */
    /* at NULL: there is none */
    struct json_span document;  /* spec of that object */
    struct json_span sent;      /* secrets masked for who may not; of any format */
    struct json_span canonical; /* of a job in another dialect, with its secrets */
};
int answer_said(struct ctl *, struct arena *, const struct listed_job *,
                const struct documents_ask *, struct job_documents *);

/* [{image, step, bytes, total, problem}] of those that come while it waits (early_images.h), in
 * arena; NULL: none. */
const struct text_node *listed_early_images(struct arena *, const struct live_job *);

#endif
