/* What a job was submitted with, and how its tasks are reached. Private to api/openpai/. */
#ifndef API_OPENPAI_CONFIG_H
#define API_OPENPAI_CONFIG_H

#include "api/openpai/request.h"

void pai_job_config(struct pai *);
void pai_job_ssh(struct pai *);

#endif
