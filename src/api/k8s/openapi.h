/* The schemas of the resources. Private to this folder. */
#ifndef API_K8S_OPENAPI_H
#define API_K8S_OPENAPI_H

#include "api/k8s/request.h"

/* false: the path is none of these. */
bool kube_openapi(struct kube *, const struct words *path);
/* Of those resources whose group and version it is, of NULL all; in the words of OpenAPI 3. */
struct text_node *kube_openapi_tree(struct kube *, const struct kube_resource *like);

#endif
