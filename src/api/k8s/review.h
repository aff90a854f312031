/* What who asks may do. Private to this folder. */
#ifndef API_K8S_REVIEW_H
#define API_K8S_REVIEW_H

#include "api/k8s/request.h"

/* false: the path is none of these. */
bool kube_review(struct kube *, const struct words *path);

#endif
