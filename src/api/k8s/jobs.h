/* The jobs as they are shown there. Private to this folder. */
#ifndef API_K8S_JOBS_H
#define API_K8S_JOBS_H

#include "answer/job_list.h"
#include "api/k8s/request.h"

#define KUBE_DIALECT  "elasticjob"
#define KUBE_DOCUMENT "job.document" /* a job as its client left it: objects of that kind */

struct kube_job {
    const struct listed_job *listed;
    uint64_t id;
    const char *name, *ns, *uid;
    bool shown; /* false: it was stopped */
};
typedef int kube_job_fn(struct kube *, const struct kube_job *, void *arg);
/* Of each name the newest; fn returns -1 to end it. */
int kube_each_job(struct kube *, struct kube_selection *, kube_job_fn *, void *arg);
int jobs_each(struct kube *, struct kube_selection *, struct kube_sink *);

#endif
