/* PAI-DLC jobs (API 2020-12-03): the body of CreateJob in JSON, and the parameter file of the `dlc`
 * command; the environment, states and exit codes that their tasks and users rely on. What is
 * honoured and what differs: doc/dialect-dlc.md. */
#ifndef DIALECT_DLC_DLC_H
#define DIALECT_DLC_DLC_H

#include "dialect/dialect.h"

extern const struct dialect dlc_dialect;
extern const struct convention dlc_convention;

/* The queue of jobs on public resources: those with EcsSpec and without ResourceId. */
#define DLC_RUN_MINUTES    1800 /* of a job that does not say: what the console has */
#define DLC_PUBLIC_QUEUE   "public"
/* The port of a RayJob's head where its page is. */
#define DLC_DASHBOARD_PORT "dashboard"
/* What every server's catalogue has for such jobs: instance types, that queue, the images of the
 * page. */
const struct entry *dlc_shipped(struct arena *, size_t *n);

/* The CreateJob body that a text means: root itself, or made of the lines of a parameter file,
 * whose problems go to report. What the fields say is not looked at: that is dlc_dialect.read. */
struct text_node *dlc_body(struct arena *, struct text_node *root, struct report *);

/* Status of a job: every word of the API, and the canonical state that is said with it. */
struct dlc_status {
    const char *word;
    enum job_state state; /* JOB_NONE: nothing here has it */
    bool final;
    const char *when; /* one phrase */
};
const struct dlc_status *dlc_statuses(size_t *n);

/* "dlc0abc...": how the API and the tasks call a job. 17 bytes. */
#define DLC_JOB_ID_TEXT (JOB_ID_TEXT + 3)
const char *dlc_job_id(char out[DLC_JOB_ID_TEXT], uint64_t id);
/* "<job id>-master-0": the name of a task as a pod and as a host. In the arena. */
const char *dlc_pod_name(struct arena *, const struct job_spec *, const struct job_place *,
                         uint32_t flat);

#endif
