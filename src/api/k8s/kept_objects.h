/* Objects that are only kept. Private to this folder. */
#ifndef API_K8S_KEPT_OBJECTS_H
#define API_K8S_KEPT_OBJECTS_H

#include "api/k8s/request.h"

int things_each(struct kube *, struct kube_selection *, struct kube_sink *);
void things_create(struct kube *, struct text_node *object);
void things_change(struct kube *, const struct text_node *old, struct text_node *object);
void things_remove(struct kube *, const struct text_node *object, ctl_done *done, void *arg);

#endif
