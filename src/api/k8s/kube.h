/* One request of a Kubernetes client, and the table of resources it may be about. Private to this
 * folder. */
#ifndef API_K8S_KUBE_H
#define API_K8S_KUBE_H

#include "answer/job_list.h"
#include "api/facade.h"
#include "api/k8s/selector.h"
#include "api/k8s/shape.h"
#include "api/k8s/table.h"
#include "base/pairs.h"
#include "base/vec.h"
#include "documents/documents.h"

#define KUBE_GROUP       "elastic.iml.github.io"
#define KUBE_GROUP_PODS  "scheduling.sigs.k8s.io"
#define KUBE_DIALECT     "elasticjob"
#define KUBE_DOCUMENT    "job.document" /* a job as its client left it: objects of that kind */
#define KUBE_LAST        "kubectl.kubernetes.io/last-applied-configuration"
#define KUBE_NAME_MAX    253
#define KUBE_MANAGED_MAX 16

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
enum kube_validation { VALIDATE_IGNORE, VALIDATE_WARN, VALIDATE_STRICT };

struct field;
struct kube;
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
const struct kube_resource *kube_resources(size_t *n);
const struct kube_resource *kube_resource(const char *group, const char *version,
                                          const char *plural);
const char *kube_version(struct arena *, const struct kube_resource *); /* "v1", "group/v1" */

struct kube {
    struct call *call;
    struct arena *arena;   /* of the request */
    struct arena *scratch; /* of one object */
    struct ctl *ctl;
    const struct kube_resource *of;
    const char *ns, *name, *sub; /* NULL: none is named */
    struct selector selector;
    enum kube_validation validation;
    enum table_include include;
    bool table, dry_run, applied, pruned;
    const char *manager;
    struct text_node *body; /* what is written, or DeleteOptions */
    void *pending;          /* of a command on its way */
    uint64_t job;           /* that the command is about */
    uint64_t subject;       /* job of the object in hand; 0: it is of none */
    bool gone;              /* the object in hand is not there any more */
    unsigned status;        /* of the good answer */
};

/* ---- kube.c ---- */
void kube_free(struct kube *);
/* k->body of the request; false: answered. A body may be left out by DELETE only. */
bool kube_read_body(struct kube *, const char *method);

/* ---- answer.c ---- */
struct kube_status {
    unsigned code;
    const char *reason, *message;
    const struct report *causes; /* its errors, NULL: none */
};
void kube_answer(struct kube *, unsigned status, const struct text_node *);
void kube_text(struct kube *, unsigned status, const char *type, const struct buf *);
void kube_fail(struct kube *, const struct kube_status *);
void kube_bad(struct kube *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kube_problem(struct kube *, const struct err *, const struct report *);
void kube_not_found(struct kube *);
void kube_conflict(struct kube *);
void kube_exists(struct kube *, const char *name);
void kube_invalid(struct kube *, const char *name, const struct kube_fault *);
void kube_refused(struct kube *, const char *name, const struct report *);
void kube_success(struct kube *, const struct text_node *object);
void kube_warn(struct kube *, const char *text); /* a Warning header */
void kube_warnings(struct kube *, const struct report *);
struct text_node *kube_status_tree(struct arena *, const struct kube_status *);
/* One object: as it is, or as a Table of one row. */
void kube_show(struct kube *, unsigned status, const struct text_node *object);

/* ---- objects ---- */
const char *kube_name(struct arena *,
                      const char *name); /* with characters that are allowed there */
const char *kube_key(struct arena *, const char *ns, const char *name);      /* "ns/name" */
const char *kube_in(const struct text_node *, const char *a, const char *b); /* "" when absent */
const char *kube_uid(struct arena *, const char *kind, uint64_t owner, const char *name);
uint64_t kube_uid_job(const struct text_node *object); /* 0: no job's */
struct text_node *kube_part(struct arena *, struct text_node *map, const char *key);
const char *kube_printed(struct arena *, const struct text_node *); /* as JSON */
void kube_drop(struct text_node *map, const char *key);
/* The object with these metadata in front; labels and annotations come from metadata. */
struct kube_meta {
    const char *name, *ns, *uid;
    uint64_t version, created_ms, deleted_ms, generation;
    const struct text_node *from;             /* labels, annotations, managedFields; may be NULL */
    const struct pairs *labels, *annotations; /* where there is no such document; may be NULL */
};
struct text_node *kube_object(struct arena *, const struct kube_resource *,
                              const struct kube_meta *);
void kube_owner(struct arena *, struct text_node *object, const char *name, const char *uid);

/* ---- jobs.c: the jobs as they are shown there ---- */
struct kube_job {
    const struct listed_job *listed;
    uint64_t id;
    const char *name, *ns, *uid;
    bool shown; /* false: it was stopped */
};
typedef int kube_job_fn(struct kube *, const struct kube_job *, void *arg);
/* Of each name the newest; fn returns -1 to end it. */
int kube_each_job(struct kube *, struct kube_selection *, kube_job_fn *, void *arg);
int jobs_each(struct kube *, struct kube_selection *, struct kube_sink *);

/* ---- job_write.c ---- */
void jobs_create(struct kube *, struct text_node *object);
void jobs_change(struct kube *, const struct text_node *old, struct text_node *object);
void jobs_remove(struct kube *, const struct text_node *object, ctl_done *done, void *arg);

/* ---- pods.c, cluster.c, kept_objects.c ---- */
int pods_each(struct kube *, struct kube_selection *, struct kube_sink *);
int pod_events_each(struct kube *, struct kube_selection *, struct kube_sink *);
void pods_log(struct kube *);
int nodes_each(struct kube *, struct kube_selection *, struct kube_sink *);
int namespaces_each(struct kube *, struct kube_selection *, struct kube_sink *);
void namespaces_create(struct kube *, struct text_node *object);
void namespaces_remove(struct kube *, const struct text_node *object, ctl_done *done, void *arg);
int none_each(struct kube *, struct kube_selection *, struct kube_sink *);
void plans_create(struct kube *, struct text_node *object);
int things_each(struct kube *, struct kube_selection *, struct kube_sink *);
void things_create(struct kube *, struct text_node *object);
void things_change(struct kube *, const struct text_node *old, struct text_node *object);
void things_remove(struct kube *, const struct text_node *object, ctl_done *done, void *arg);

/* ---- read.c, write.c, watch.c ---- */
void kube_get(struct kube *);
void kube_list(struct kube *);
void kube_watch(struct kube *);
void kube_create(struct kube *);
void kube_update(struct kube *);
void kube_patch(struct kube *);
void kube_delete(struct kube *);
void kube_delete_all(struct kube *);
/* The named object, in the arena of the request; NULL: there is none (nothing is answered). */
struct text_node *kube_find(struct kube *, const struct kube_resource *, const char *name);

/* ---- discovery.c, openapi.c, openapi_v2.c, review.c: false when the path is none of theirs ----
 */
unsigned kube_verb(const char *word); /* 0: there is none of that name */
void kube_put_verbs(struct arena *, struct text_node *parent, unsigned verbs);
bool kube_discover(struct kube *, const struct words *path);
bool kube_review(struct kube *, const struct words *path);
bool kube_openapi(struct kube *, const struct words *path);
/* Of those resources whose group and version it is, of NULL all; in the words of OpenAPI 3. */
struct text_node *kube_openapi_tree(struct kube *, const struct kube_resource *like);
/* The same document as version 2 has it, in the protobuf of gnostic: all that kubectl takes. */
void kube_openapi_v2(const struct text_node *tree, struct buf *out);

#endif
