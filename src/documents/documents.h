/* Small documents that a façade keeps at the server and the server does not look into: templates,
 * options of data sets, tags of jobs, jobs as their clients left them, ConfigMaps. A row of
 * `object` each, of a kind with a point in its name, so that they never meet the server's own. What
 * is kept for a job (DOCUMENT_OF_JOB, project: its id as text) goes with it. It writes into the
 * open transaction and knows no core. */
#ifndef DOCUMENTS_DOCUMENTS_H
#define DOCUMENTS_DOCUMENTS_H

#include "base/err.h"
#include "text/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct accounts;
struct job_row;
struct store;

/* What the server does for its documents. */
struct documents_server {
    void *arg;
    uint64_t (*date)(const void *arg); /* wall clock */
    /* The job's row, texts in arena. 0, or -1: there is none. */
    int (*row)(void *arg, struct arena *, uint64_t job, struct job_row *);
    /* The changes were found to be allowed and right (0, or -1 with err): what counts; in a replay
     * what counted then. */
    int (*checked)(void *arg, int rc, struct err *err);
    /* Holds the job for that user, or lets it go. -1: ERR_CONFLICT when it has ended. */
    int (*hold)(void *arg, uint64_t job, const char *by, bool hold, struct err *err);
    /* An event of that type (job 0: of none); its sequence number. body may be NULL. */
    uint64_t (*event)(void *arg, uint64_t job, const char *type, struct text_node *body);
    /* An event of the job in a sentence. */
    void (*say)(void *arg, uint64_t job, const char *type, const char *text);
    /* What kubectl keeps as a Secret of that owner is another: all names in it. */
    void (*secret)(void *arg, const char *owner, const char *all);
};
struct documents_config { /* all of it outlives the documents */
    struct store *store;
    struct accounts *accounts; /* rights, and the audit record of what is kept for jobs */
    struct documents_server server;
};
struct documents;
struct documents *documents_create(const struct documents_config *);
void documents_destroy(struct documents *); /* NULL-safe */

/* Kinds that are known to go with the job (store/db.h names them): "job.tag" (name is the key, spec
 * {value}; lists filter by them), "job.note", "job.signal", "job.document". */
#define DOCUMENT_OF_JOB "job."
#define DOCUMENT_MAX    (2u << 20)

#define DOCUMENT_SECRET "k8s.secrets" /* its data are secrets, NAME/KEY (secret/secrets.h) */

struct document {
    const char *kind, *project, *name;
    const struct text_node *spec; /* a map; NULL: remove it */
};
/* What becomes of the job that the first of them is kept for, in the same step. */
enum document_effect { DOCUMENT_HOLD_NOT = 0, DOCUMENT_HOLD, DOCUMENT_LET_GO };
/* All or none of them. A row belongs to who first put it: others than admins may not change it
 * (ERR_DENIED; those of a job: who may write the job). ERR_TOO_LARGE. */
struct document_changes {
    const char *by;
    bool create; /* ERR_CONFLICT when one is there */
    const struct document *at;
    size_t n;
    /* Each change is an event (of the job, else of none: "object.put", "object.removed") for those
     * who follow, and its number the version of the row. Else a version counts changes, and
     * removing what is not there is no error. */
    bool told;
    enum document_effect hold; /* ERR_CONFLICT when the job has ended */
};
/* 0, or -1. *job: which they are kept for; 0: none. */
int documents_put(struct documents *, struct arena *, const struct document_changes *,
                  uint64_t *job, struct err *err);

/* One of them, in the caller's arena. */
struct document_view {
    const char *project, *name;
    const char *owner; /* NULL: nobody in particular */
    uint64_t version, created_ms, changed_ms;
    const struct text_node *spec; /* the document */
};
struct document_list { /* by project and name */
    struct document_view *at;
    size_t n;
};
/* project NULL: of all. */
struct document_list documents_list(const struct documents *, struct arena *, const char *kind,
                                    const char *project);
/* NULL: there is none. */
const struct document_view *document_find(const struct documents *, struct arena *,
                                          const struct document *);

#endif
