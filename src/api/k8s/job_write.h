/* What clients do to jobs. Private to this folder. */
#ifndef API_K8S_JOB_WRITE_H
#define API_K8S_JOB_WRITE_H

#include "api/k8s/request.h"

void jobs_create(struct kube *, struct text_node *object);
void jobs_change(struct kube *, const struct text_node *old, struct text_node *object);
void jobs_remove(struct kube *, const struct text_node *object, ctl_done *done, void *arg);

#endif
