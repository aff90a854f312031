/* Watching objects. Private to this folder. */
#ifndef API_K8S_WATCH_H
#define API_K8S_WATCH_H

#include "api/k8s/request.h"

void kube_watch(struct kube *);

#endif
