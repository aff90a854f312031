/* Changing objects. Private to this folder. */
#ifndef API_K8S_WRITE_H
#define API_K8S_WRITE_H

#include "api/k8s/request.h"

void kube_create(struct kube *);
void kube_update(struct kube *);
void kube_patch(struct kube *);
void kube_delete(struct kube *);
void kube_delete_all(struct kube *);

#endif
