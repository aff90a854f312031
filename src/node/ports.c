/* A port is free when a program could listen on it on all interfaces now. SO_REUSEADDR is set as
 * servers set it: connections of an earlier attempt that linger in TIME_WAIT take nothing away, a
 * listener of any program does. */
#include "node/ports.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static bool port_free(uint32_t port)
{
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true; /* no IPv4 here: nobody can have taken it */
    struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
    return bind(fd, (const struct sockaddr *)&any, sizeof any) == 0 && listen(fd, 1) == 0;
}

uint32_t ports_taken(const uint32_t *ports, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!port_free(ports[i]))
            return ports[i];
    return 0;
}
