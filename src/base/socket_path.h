/* Paths of Unix sockets: the system takes short ones only, and its own error does not say so. */
#ifndef BASE_SOCKET_PATH_H
#define BASE_SOCKET_PATH_H

#include "base/err.h"

#define SOCKET_PATH_MAX 107u /* bytes, of sockaddr_un */

/* 0, or -1 where no program could connect to it: its length, the limit, the path. What to do is the
 * caller's to say. */
int socket_path_check(const char *path, struct err *err);

#endif
