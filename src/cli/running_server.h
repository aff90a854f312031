/* The server that there is, of this user: its settings, its end, and what one said of its start. */
#ifndef CLI_RUNNING_SERVER_H
#define CLI_RUNNING_SERVER_H

#include "base/pairs.h"
#include "cli/cmd.h"

/* The settings that the server that runs does not have yet; -1 when it cannot be asked. */
int server_count_new(struct cli *, const struct pairs *given, struct err *err);
/* What it said of its start that failed ("": nothing), as err; -1. */
int server_start_why(struct cli *, const char *said, const char *log_path, struct err *err);
/* Of the server that runs, by key; "" where it cannot be asked. */
const char *server_setting(struct cli *, const char *key);
/* Ends the server and waits until it is gone. */
int server_end(struct cli *, struct err *err);

#endif
