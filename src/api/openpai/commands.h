/* Commands to a job. Private to api/openpai/. */
#ifndef API_OPENPAI_COMMANDS_H
#define API_OPENPAI_COMMANDS_H

#include "api/openpai/request.h"

void pai_job_execute(struct pai *);
void pai_job_delete(struct pai *);
void pai_job_tag(struct pai *);

#endif
