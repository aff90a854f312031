/* The body of a request. Private to this folder. */
#ifndef API_K8S_BODY_H
#define API_K8S_BODY_H

#include "api/k8s/request.h"

/* k->body of the request; false: answered. A body may be left out by DELETE only. */
bool kube_read_body(struct kube *, const char *method);

#endif
