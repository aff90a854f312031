/* What other systems' clients keep here and the core does not look into: the document of a job as
 * they changed it (labels, annotations, values without effect), and things that are no jobs
 * (PodGroups, ConfigMaps, claims). Every change is an event, so that those who follow see it; its
 * sequence number is the thing's version. Internal rows of kind "face" and "thing.KIND". */
#ifndef CTL_FACES_H
#define CTL_FACES_H

#include "ctl/ctl.h"

#define FACE_MAX (2u << 20)

/* First and last event of a job; 0, 0: none is kept. */
void ctl_job_events(struct ctl *, uint64_t job, uint64_t *first, uint64_t *last);
uint64_t ctl_last_event(struct ctl *);
/* The user whose server it is. */
const char *ctl_own_user(const struct ctl *);
const struct dialects *ctl_dialects(const struct ctl *);

/* The document, and whether the job is held, in one step; who may write the job. Answer {}. */
enum face_hold { FACE_AS_IT_IS, FACE_HOLD, FACE_LET_GO };
struct ctl_face {
    const char *owner;
    uint64_t job;
    const char *text; /* NULL: as it is */
    enum face_hold hold;
};
void ctl_face_put(struct ctl *, const struct ctl_face *, ctl_done *, void *arg);
const char *ctl_face(struct ctl *, struct arena *, uint64_t job); /* NULL: none was put */

struct ctl_thing {
    const char *owner;
    const char *kind, *project, *name;
    const char *text; /* NULL: forget it */
    bool create;      /* ERR_CONFLICT when it is there; else ERR_NOT_FOUND when it is not */
};
/* Answer {version}. Readers are refused (ERR_DENIED). */
void ctl_thing_put(struct ctl *, const struct ctl_thing *, ctl_done *, void *arg);
/* project NULL: of all; name NULL: all. Rows are in arena. */
int ctl_things(struct ctl *, struct arena *, const struct ctl_thing *, struct object_row **,
               size_t *n, struct err *);

/* For the core: what is kept for a job that is forgotten. */
void faces_drop(struct ctl *, uint64_t job);

#endif
