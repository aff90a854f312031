/* Small documents that a façade keeps with the core and the core does not look into: templates,
 * options of data sets, tags of jobs, jobs as their clients left them, ConfigMaps. A row of
 * `object` each, of a kind with a point in its name, so that they never meet the core's own. What
 * is kept for a job (OBJECT_OF_JOB, project: its id as text) goes with it. */
#ifndef CTL_OBJECTS_H
#define CTL_OBJECTS_H

#include "ctl/ctl.h"

/* Kinds that are known to go with the job (store/db.h names them): "job.tag" (name is the key, spec
 * {value}; lists filter by them), "job.note", "job.signal", "job.document". */
#define OBJECT_OF_JOB "job."
#define OBJECT_MAX    (2u << 20)

#define OBJECT_SECRET "k8s.secrets" /* its data are secrets, NAME/KEY (secret/secrets.h) */

struct ctl_object {
    const char *kind, *project, *name;
    const struct text_node *spec; /* a map; NULL: remove it */
};
/* What becomes of the job that the first of them is kept for, in the same step. */
enum object_effect { OBJECT_HOLD_NOT = 0, OBJECT_HOLD, OBJECT_LET_GO };
/* All or none of them. A row belongs to who first put it: others than admins may not change it
 * (ERR_DENIED; those of a job: who may write the job). ERR_TOO_LARGE. Answer {n}. */
struct ctl_objects {
    const char *by;
    bool create; /* ERR_CONFLICT when one is there */
    const struct ctl_object *at;
    size_t n;
    /* Each change is an event (of the job, else of none: "object.put", "object.removed") for those
     * who follow, and its number the version of the row. Else a version counts changes, and
     * removing what is not there is no error. */
    bool told;
    enum object_effect hold; /* ERR_CONFLICT when the job has ended */
};
void ctl_objects_put(struct ctl *, const struct ctl_objects *, ctl_done *, void *arg);

/* One of them, in the caller's arena. */
struct object_view {
    const char *project, *name;
    const char *owner; /* NULL: nobody in particular */
    uint64_t version, created_ms, changed_ms;
    const struct text_node *spec; /* the document */
};
struct object_list { /* by project and name */
    struct object_view *at;
    size_t n;
};
/* project NULL: of all. */
struct object_list ctl_objects_view(struct ctl *, struct arena *, const char *kind,
                                    const char *project);
/* NULL: there is none. */
const struct object_view *ctl_object_view(struct ctl *, struct arena *, const struct ctl_object *);

#endif
