/* The credential of a job's programs: a text that names job and generation and proves itself by the
 * server's key, so that nothing is stored and a restart of the server keeps it. Private to ctl/. */
#ifndef CTL_JOB_TOKEN_H
#define CTL_JOB_TOKEN_H

#include "ctl/core.h"

/* "mj.ID.GENERATION.HEX" */
#define JOB_TOKEN_TEXT (3 + JOB_ID_TEXT + 11 + 2 * TOKEN_LEN + 1)
void job_token_make(const struct ctl *, const struct live_job *, char out[JOB_TOKEN_TEXT]);
/* Does that generation live? The job, NULL: it has ended, or there is another generation. */
struct live_job *job_token_lives(const struct ctl *, struct generation);

#endif
