/* The output of a pod. Private to this folder. */
#ifndef API_K8S_LOG_H
#define API_K8S_LOG_H

#include "api/k8s/request.h"

void pods_log(struct kube *);

#endif
