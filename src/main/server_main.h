/* The server process. */
#ifndef MAIN_SERVER_MAIN_H
#define MAIN_SERVER_MAIN_H

#include "base/arena.h"
#include "base/err.h"

struct text_node;

/* Runs the server in the foreground until it is asked to end; flags as config_load takes them. 0,
 * or -1 with err. When MUSTER_READY_FD names a descriptor, a line is written there as soon as the
 * server answers: "ok". */
int server_main(const char *version, const char *const *flags, struct err *err);
/* The settings a server started now would have: [{name, value, from, doc}] in arena. */
struct text_node *server_settings(struct arena *, const char *const *flags, struct err *err);

#endif
