/* Reading objects: one, or a list. Private to this folder. */
#ifndef API_K8S_READ_H
#define API_K8S_READ_H

#include "api/k8s/request.h"

void kube_get(struct kube *);
void kube_list(struct kube *);
/* The named object, in the arena of the request; NULL: there is none (nothing is answered). */
struct text_node *kube_find(struct kube *, const struct kube_resource *, const char *name);

#endif
