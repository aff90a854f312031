/* Host names without the C library's name service (a static program has none): numeric addresses,
 * /etc/hosts, then the `getent` program as a child with a deadline. */
#ifndef LAUNCH_RESOLVE_H
#define LAUNCH_RESOLVE_H

#include "base/err.h"

#define RESOLVE_MAX 64 /* fits every numeric address, with a scope */

/* The numeric address of name; IPv4 first when it has both. Waits at most 5 s (a name server that
 * does not answer): ERR_TIMEOUT. ERR_NOT_FOUND: nobody knows the name. */
int resolve_host(const char *name, char out[RESOLVE_MAX], struct err *err);

#endif
