/* Which resources there are. Private to this folder. */
#ifndef API_K8S_DISCOVERY_H
#define API_K8S_DISCOVERY_H

#include "api/k8s/request.h"

unsigned kube_verb(const char *word); /* 0: there is none of that name */
void kube_put_verbs(struct arena *, struct text_node *parent, unsigned verbs);
/* false: the path is none of these. */
bool kube_discover(struct kube *, const struct words *path);

#endif
