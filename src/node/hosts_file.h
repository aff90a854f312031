/* The text of the /etc/hosts that tasks see. */
#ifndef NODE_HOSTS_FILE_H
#define NODE_HOSTS_FILE_H

#include "base/buf.h"
#include "job/launch.h"

#include <stddef.h>

/* What the node's own file says, then the names of the launch, then a line for each of their IPv4
 * addresses as IPv6 sockets show it. */
void hosts_file_write(struct buf *, const char *own, size_t len, const struct launch *);

#endif
