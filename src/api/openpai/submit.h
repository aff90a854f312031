/* Submitting a job. Private to api/openpai/. */
#ifndef API_OPENPAI_SUBMIT_H
#define API_OPENPAI_SUBMIT_H

#include "api/openpai/request.h"

void pai_job_submit(struct pai *);
void pai_job_put(struct pai *);

#endif
