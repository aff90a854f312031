/* Nodes, namespaces, and kinds of which there are none. Private to this folder. */
#ifndef API_K8S_CLUSTER_H
#define API_K8S_CLUSTER_H

#include "api/k8s/request.h"

int nodes_each(struct kube *, struct kube_selection *, struct kube_sink *);
int namespaces_each(struct kube *, struct kube_selection *, struct kube_sink *);
void namespaces_create(struct kube *, struct text_node *object);
void namespaces_remove(struct kube *, const struct text_node *object, ctl_done *done, void *arg);
int none_each(struct kube *, struct kube_selection *, struct kube_sink *);
void plans_create(struct kube *, struct text_node *object);

#endif
