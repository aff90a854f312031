/* Addresses of sockets: numeric ones of both families, paths of Unix sockets of any length. */
#ifndef CONN_ADDRESS_H
#define CONN_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDRESS_MAX 46 /* INET6_ADDRSTRLEN */

struct address {
    struct sockaddr_storage at;
    socklen_t len;
};
/* false: it is none. "*" is every address of this machine, for listening; see address_any_v4. */
bool address_numeric(struct address *, const char *addr, uint16_t port);
struct address address_any_v4(uint16_t port); /* "*" of a machine without IPv6 */

/* The numeric address of an end of a connected socket; "" where it has none. IPv4 over IPv6 is
 * written as IPv4. */
void address_of_end(int fd, bool remote, char out[ADDRESS_MAX]);
uint16_t address_port(int fd); /* of this end of a socket of either family */

/* connect() and bind() of a Unix socket. Its name holds 107 bytes; longer paths are reached through
 * a descriptor of their directory. 0 or errno. */
int address_connect_path(int fd, const char *path);
int address_bind_path(int fd, const char *path);

#endif
