/* Pods of jobs, and their events. Private to this folder. */
#ifndef API_K8S_PODS_H
#define API_K8S_PODS_H

#include "api/k8s/request.h"

int pods_each(struct kube *, struct kube_selection *, struct kube_sink *);
int pod_events_each(struct kube *, struct kube_selection *, struct kube_sink *);

#endif
