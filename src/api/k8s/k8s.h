/* The Kubernetes API, as much of it as kubectl needs for ElasticJobs: doc/api-kubectl.md. */
#ifndef API_K8S_K8S_H
#define API_K8S_K8S_H

#include "api/facade.h"

extern const struct facade k8s_facade;

#endif
