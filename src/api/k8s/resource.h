/* A resource: the objects of one kind, and what is done with them. Private to this folder. */
#ifndef API_K8S_RESOURCE_H
#define API_K8S_RESOURCE_H

#include "api/k8s/table.h"
#include "base/vec.h"
#include "ctl/ctl.h"

#define KUBE_GROUP      "elastic.iml.github.io"
#define KUBE_GROUP_PODS "scheduling.sigs.k8s.io"

enum kube_verb {
    KUBE_GET = 1,
    KUBE_LIST = 2,
    KUBE_WATCH = 4,
    KUBE_CREATE = 8,
    KUBE_UPDATE = 16,
    KUBE_PATCH = 32,
    KUBE_DELETE = 64,
    KUBE_COLLECTION = 128,
    KUBE_READ = KUBE_GET | KUBE_LIST | KUBE_WATCH,
    KUBE_ALL = 255
};

struct field;
struct kube;
struct string_map;
struct kube_rest { /* of a job: its tasks from that one, whose objects are still to be made */
    uint64_t job;
    uint32_t first;
};
struct kube_rests {
    VEC(struct kube_rest) at;
};
struct kube_selection {             /* which objects */
    const struct kube_resource *of; /* NULL: that of the request */
    const char *ns, *name;          /* NULL: all */
    const char *about;              /* of events: name of what they are about; NULL: all */
    uint64_t job;                   /* of this job only; 0: of all */
    uint64_t before;                /* jobs older than this one; 0: all */
    uint64_t page;                  /* an earlier page told of this and newer ones; 0: of none */
    struct string_map *seen;        /* names that were told of; NULL: of this walk only */
    bool brief;                     /* of a job metadata and phase are enough */
    size_t limit;                   /* jobs at most; 0: all */
    uint64_t until_us;              /* clock_mono_us() after which the rest is left; 0: never */
    uint32_t first;                 /* of `job`: objects of its tasks from that one */
    struct kube_rests *rests;       /* out: of large jobs; NULL: all of them at once */
    uint64_t next;                  /* out: where the rest begins; 0: there is none */
    size_t told;                    /* out: jobs before that */
    bool gone;                      /* also a job that is not shown any more */
};
/* Takes one object; it holds during the call. */
struct kube_sink {
    void (*put)(struct kube_sink *, const struct text_node *object, uint64_t version);
};

struct kube_resource {
    const char *group, *version, *plural, *singular, *kind, *brief;
    bool namespaced, all; /* all: of the category of that name */
    bool of_jobs;         /* its objects are of jobs and change with their events */
    bool is_job;          /* one for each job, as long as the job is there */
    bool core;            /* one of Kubernetes' own: takes strategic patches */
    bool implied;         /* one is found by any name: making it is no error */
    const char *wakes;    /* of no job: events after which they may be others, with what they begin,
                             a blank between; NULL: all */
    unsigned verbs;
    const struct table_column *columns;
    table_cells *cells;
    const char *doc;            /* one sentence, for explain */
    const char *instead;        /* said when a verb is not there; may be NULL */
    const struct field *fields; /* what it has; of a dialect's kind what is added to its table */
    int (*each)(struct kube *, struct kube_selection *, struct kube_sink *);
    /* Each answers. object is what the client sent, with name and namespace. */
    void (*create)(struct kube *, struct text_node *object);
    void (*change)(struct kube *, const struct text_node *old, struct text_node *object);
    /* Commands it; done is called once. */
    void (*remove)(struct kube *, const struct text_node *object, ctl_done *done, void *arg);
};
/* The table of them all (resources.c). */
const struct kube_resource *kube_resources(size_t *n);
const struct kube_resource *kube_resource(const char *group, const char *version,
                                          const char *plural);
const char *kube_version(struct arena *, const struct kube_resource *); /* "v1", "group/v1" */

#endif
