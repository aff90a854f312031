/* What all objects have. Private to this folder. */
#ifndef API_K8S_OBJECT_H
#define API_K8S_OBJECT_H

#include "api/k8s/resource.h"
#include "base/pairs.h"
#include "text/tree.h"

#define KUBE_NAME_MAX 253

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

#endif
