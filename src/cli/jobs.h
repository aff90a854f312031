/* Paths of a job named by the user, and its view. */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include "cli/cmd.h"

/* "/v1/jobs/JOB" + rest; the job's name escaped. */
void jobs_path(struct buf *path, const char *job, const char *rest);
/* The view with the given query ("?tasks=1"); NULL with err. */
struct text_node *jobs_view(struct cli *, const char *job, const char *query, struct err *err);

#endif
