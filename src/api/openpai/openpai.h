/* OpenPAI's rest-server as its clients know it: v1 (JSON and nested forms, releases v0.1 to v0.17)
 * and v2 (v1.x) under /rest-server/api/v{1,2} and /api/v{1,2}, and the log files that its answers
 * point to. Which operations there are, and what differs: doc/api-openpai.md. */
#ifndef API_OPENPAI_OPENPAI_H
#define API_OPENPAI_OPENPAI_H

#include "api/facade.h"

extern const struct facade openpai_facade;

/* The setting (on, off) by which any user reads any job, and reads of version 1 need no token. */
#define OPENPAI_OPEN_READS "openpai_open_reads"

#endif
