/* What jobs point to by name: workspaces, quotas, virtual clusters, instance types, data sets, code
 * sources, images. One noun with kinds; a document declares one:
 *
 *   kind: dataset
 *   name: d-digits
 *   uri: nas://share/digits
 *   path: /mnt/digits
 *
 * Pure. Kinds and their meaning: PAI-DLC and its AIWorkspace, OpenPAI's virtual clusters. */
#ifndef JOB_CATALOGUE_H
#define JOB_CATALOGUE_H

#include "base/pairs.h"
#include "base/report.h"
#include "job/job.h"
#include "job/portion.h"
#include "text/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* value; word; its plural; shown */
#define ENTRY_KINDS(X)                                                                             \
    X(WORKSPACE, "workspace", "workspaces", "workspace")                                           \
    X(QUOTA, "quota", "quotas", "quota")                                                           \
    X(VIRTUAL_CLUSTER, "virtual_cluster", "virtual_clusters", "virtual cluster")                   \
    X(INSTANCE_TYPE, "instance_type", "instance_types", "instance type")                           \
    X(DATASET, "dataset", "datasets", "data set")                                                  \
    X(CODE_SOURCE, "code_source", "code_sources", "code source")                                   \
    X(IMAGE, "image", "images", "image")
enum entry_kind {
#define ENTRY_KIND(value, word, plural, shown) ENTRY_##value,
    ENTRY_KINDS(ENTRY_KIND)
#undef ENTRY_KIND
        ENTRY_KIND_N
};
/* Their plurals in one literal, a blank before each. */
#define ENTRY_PLURAL(value, word, plural, shown) " " plural
#define ENTRY_PLURALS                            ENTRY_KINDS(ENTRY_PLURAL)

#define ENTRY_NAME_MAX 200

struct entry {
    enum entry_kind kind;
    const char *name, *description;
    const char *owner; /* data set, code source, image: who declared it; NULL: the server's user */
    uint64_t cpu_milli, memory, gpu_milli; /* instance type; memory in bytes */
    const char *queue;                     /* workspace: of its jobs that name none */
    /* ---- quota, virtual cluster: a queue (doc/queues.md) ---- */
    const char *parent;                        /* the queue it is part of; NULL: the cluster */
    struct portions guaranteed, maximum, user; /* of the parent's; user: of its own maximum */
    struct amounts cells;                      /* what is guaranteed, in nodes, racks ... */
    const char *strategy;                      /* NULL: backfill */
    uint32_t weight;                           /* 0: 1 */
    bool keeps;                                /* what others borrowed of it is not taken back */
    uint64_t user_cpu_milli, user_gpu_milli;   /* most of one user; 0: any */
    const char *gpu_type;                      /* of an instance type; NULL without GPUs */
    const char *uri;     /* data set, code source: where the server finds it; image: its address */
    const char *path;    /* data set, code source: where tasks find it; NULL: the job says */
    const char *at;      /* code source: branch, tag or commit; NULL: as it lies */
    bool read_only;      /* data set */
    struct pairs labels; /* image */
};

const char *entry_word(enum entry_kind);   /* "code_source" */
const char *entry_plural(enum entry_kind); /* "code_sources" */
const char *entry_shown(enum entry_kind);  /* "code source" */
/* From its word or plural, also with '-' or nothing for '_' ("codesources"). */
bool entry_kind_parse(const char *word, enum entry_kind *);

/* Is every document of the text such a declaration? root: one document or a list of them. */
bool entries_detect(const struct text_node *root);
/* All of them, strictly; 0, or -1 with report. */
int entries_decode(struct arena *, const struct text_node *root, struct entry **, size_t *n,
                   struct report *);
/* The queues of a settings file: names, or maps of a quota's fields. As entries_decode(). */
int entries_decode_queues(struct arena *, const struct text_node *list, struct entry **, size_t *n,
                          struct report *);
struct text_node *entry_encode(struct arena *, struct text_node *parent, const struct entry *);
/* A text of such documents, YAML or JSON, and who declares them. */
struct declaration {
    const char *owner, *text;
    size_t len;
};

/* ---- what a server knows ---- */

struct catalogue;
struct catalogue *catalogue_create(void);
/* Another one that says the same. */
struct catalogue *catalogue_copy(const struct catalogue *);
void catalogue_destroy(struct catalogue *); /* NULL-safe */
/* Copies; one of that kind and name is replaced. */
void catalogue_put(struct catalogue *, const struct entry *);
/* These take NULL for an empty catalogue. */
const struct entry *catalogue_find(const struct catalogue *, enum entry_kind, const char *name);
/* The name of that kind that name is likely to be a slip of; NULL when none is near. */
const char *catalogue_near(const struct catalogue *, enum entry_kind, const char *name);
/* In the order of their names. */
const struct entry **catalogue_list(const struct catalogue *, struct arena *, enum entry_kind,
                                    size_t *n);

#endif
