/* Paths of a job named by the user, and its view. */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include "cli/cmd.h"

/* "/v1/jobs/JOB" + rest; the job's name escaped. */
void jobs_path(struct buf *path, const char *job, const char *rest);
/* What people type for the job of a view: "12"; "12[3]" of a member of an array. */
const char *jobs_label(struct arena *, const struct text_node *view);
/* Its name, of an array with the indices of its members: "sweep[0-99]". */
const char *jobs_name(struct arena *, const struct text_node *view);
/* What an entry of its early_images says, without the image's name; NULL: nothing yet. */
const char *jobs_early_image(struct arena *, const struct text_node *entry);
/* The view with the given query ("?tasks=1"); NULL with err. */
struct text_node *jobs_view(struct cli *, const char *job, const char *query, struct err *err);

#endif
