/* Secrets in the life of a job: are those that it names there, what its tasks get, and what follows
 * when one is set anew. Values are read from the sealed rows for each launch and kept nowhere else.
 */
#ifndef SECRET_SECRETS_H
#define SECRET_SECRETS_H

#include "base/report.h"
#include "job/launch.h"
#include "secret/secret_changes.h"

struct accounts;
struct dialects;
struct engine;
struct live;
struct live_job;
struct text_node;

/* What the server tells its secrets when asked. */
struct secrets_server {
    void *arg;
    /* The job's spec, decoded when needed. NULL: its row cannot be read. */
    const struct job_spec *(*spec)(void *arg, struct live_job *);
    /* The data of a Secret that kubectl left in that namespace, in arena: a map of texts in base64;
     * NULL: that owner has none of the name. */
    const struct text_node *(*kube_data)(void *arg, struct arena *, const char *owner,
                                         const char *project, const char *name);
};
struct secrets_config {
    struct accounts *accounts; /* who keep them (account/vault.h) */
    const struct dialects *dialects;
    struct engine *engine; /* whose agents are told */
    struct live *live;
    struct secrets_server server;
};
struct secrets *secrets_create(const struct secrets_config *);
void secrets_destroy(struct secrets *); /* NULL-safe */

/* Of a job that is submitted: those that are not there for its owner are refused in report, with
 * names that are near. 0, or -1. */
int secrets_check(struct secrets *, const char *owner, const struct job_spec *, struct report *);
bool secrets_any(const struct job_spec *); /* does it name one? */
/* What the tasks of the launch get, and the values: in arena, until secrets_wipe(). That they got
 * them is written with the next commit. ERR_INPUT: one is not there any more, or cannot be what it
 * is to be. */
int secrets_add(struct secrets *, struct live_job *, struct arena *, struct launch *, struct err *);
void secrets_wipe(struct launch *);
/* An agent has joined: what was set anew meanwhile it does not have. */
void secrets_tell(struct secrets *, struct live_job *, const char *node);
/* One was set, in the open transaction. owner or project is NULL; name may be a whole set. */
void secrets_changed(struct secrets *, const char *owner, const char *project, const char *name);

/* ---- the turn's part ---- */
void secrets_record(struct secrets *);    /* writes who got which */
void secrets_committed(struct secrets *); /* tells agents what was set anew */
void secrets_undone(struct secrets *);    /* nothing was; also where nobody is to be told */

#endif
