/* In which ways tasks can be run on this node, each tried for real. */
#ifndef NODE_RUNTIME_PROBE_H
#define NODE_RUNTIME_PROBE_H

/* muster-node runtimes DIR tries all: a line for each, "NAME works" or "NAME no REASON"; behind
 * "works" the words RUNTIME_PROBE_ONE_USER and RUNTIME_PROBE_SHARES_PIDS where that is so. 0. */
#define RUNTIME_PROBE_ONE_USER    "one-user"
#define RUNTIME_PROBE_SHARES_PIDS "shares-pids"
int runtime_probe_all(const char *dir);
/* The same in less time: of those behind the first that runs images only whether they are there. */
int runtime_probe_first(const char *dir);

#endif
