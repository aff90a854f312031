/* The answer of GetJob, and what is found in it: pure. Internal to this folder. */
#ifndef CLI_DLC_ANSWER_H
#define CLI_DLC_ANSWER_H

#include "base/arena.h"
#include "text/tree.h"

/* The answer of GetJob from the server's view of a job (tasks, spec, origin, timeline). */
struct text_node *dlc_answer_job(struct arena *, const struct text_node *view);
/* The same tree with the keys of its maps in order. */
struct text_node *dlc_answer_sorted(struct arena *, const struct text_node *);
/* The API's word for a state of muster's; the state itself when it has none. */
const char *dlc_answer_status(const char *state);
/* One element of its Pods by PodId, "worker/0" or "worker-0"; NULL when there is none. */
const struct text_node *dlc_answer_pod(const struct text_node *job, const char *pod);
/* "2026-01-02T03:04:05.678Z" without the fraction; NULL stays NULL. In arena. */
const char *dlc_answer_time(struct arena *, const char *time);

#endif
