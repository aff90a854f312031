/* A port is free when a program could listen on it on all interfaces now. SO_REUSEADDR is set as
 * servers set it: connections of an earlier attempt that linger in TIME_WAIT take nothing away, a
 * listener of any program does.
 *
 * Between a task's start and its first listen() that look finds nothing, and another server of this
 * machine may just have given a task the same port. So each port is held by a Unix socket with a
 * name of the abstract kind: such names belong to a network namespace, as ports do, and need no
 * file that all users could write to. */
#include "node/ports.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HELD_MAX 256u /* of one task: each costs a descriptor of the agent */

static bool is_listened_on(uint32_t port)
{
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false; /* no IPv4 here: nobody can have taken it */
    struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
    return bind(fd, (const struct sockaddr *)&any, sizeof any) != 0 || listen(fd, 1) != 0;
}

/* false: another task has it. Where no socket can be made the port is not held, and *fd is -1. */
static bool hold(uint32_t port, int *fd)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int len = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "muster/port/%u", port);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    *fd = -1;
    AUTO_CLOSE int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s < 0)
        return true;
    if (bind(s, (const struct sockaddr *)&name, size) != 0)
        return errno != EADDRINUSE;
    *fd = mem_give_fd(&s);
    return true;
}

enum port_state ports_take(struct held_ports *own, const uint32_t *ports, size_t n, uint32_t *which)
{
    *own = (struct held_ports){ .held = n > 0 ? mem_new((n < HELD_MAX ? n : HELD_MAX) * sizeof(int))
                                              : NULL };
    for (size_t i = 0; i < n; i++) {
        enum port_state taken = PORT_FREE;
        int fd = -1;
        if (i < HELD_MAX && !hold(ports[i], &fd))
            taken = PORT_OF_A_TASK;
        else if (is_listened_on(ports[i]))
            taken = PORT_LISTENED_ON;
        if (fd >= 0)
            own->held[own->n++] = fd;
        if (taken != PORT_FREE) {
            *which = ports[i];
            ports_give(own);
            return taken;
        }
    }
    return PORT_FREE;
}

void ports_give(struct held_ports *own)
{
    for (size_t i = 0; i < own->n; i++)
        close(own->held[i]);
    free(TAKE(own->held));
    own->n = 0;
}
