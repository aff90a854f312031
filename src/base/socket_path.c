/* What sockaddr_un has room for. Paths that are checked here are those that programs of others are
 * to connect to; what binds and connects by itself may go around (conn/address.c). */
#include "base/socket_path.h"

#include <string.h>
#include <sys/un.h>

_Static_assert(SOCKET_PATH_MAX + 1 == sizeof((struct sockaddr_un *)NULL)->sun_path,
               "the end of the text is part of it");

int socket_path_check(const char *path, struct err *err)
{
    size_t len = strlen(path);
    if (len <= SOCKET_PATH_MAX)
        return 0;
    return err_set(err, ERR_INPUT, "the path of a socket has %zu bytes, and at most %u can be: %s",
                   len, SOCKET_PATH_MAX, path);
}
