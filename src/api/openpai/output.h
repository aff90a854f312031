/* The output of tasks. Private to api/openpai/. */
#ifndef API_OPENPAI_OUTPUT_H
#define API_OPENPAI_OUTPUT_H

#include "api/openpai/request.h"

void pai_task_logs(struct pai *);
void pai_log_file(struct pai *);

#endif
