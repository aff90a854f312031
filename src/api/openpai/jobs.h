/* The list of jobs. Private to api/openpai/. */
#ifndef API_OPENPAI_JOBS_H
#define API_OPENPAI_JOBS_H

#include "api/openpai/request.h"

void pai_jobs(struct pai *);

#endif
