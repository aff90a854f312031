/* The host of a machine: starts agents there for a server that it connects to, and knows which of
 * them live. */
#ifndef NODE_HOST_H
#define NODE_HOST_H

/* Runs until it is told to end (SIGTERM), or its directory is removed; keepers go on, and the next
 * host of the directory finds them. SIGHUP: the machine and its labels are looked at anew. dir:
 * absolute, with a host.conf. The exit status; 0 also when a host of that directory runs already.
 */
int host_run(const char *dir);

#endif
