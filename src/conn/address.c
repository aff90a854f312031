/* Texts to socket addresses and back. A path that is too long for a Unix socket's name goes through
 * /proc/self/fd of its directory, which is short whatever the directory is called. */
#include "conn/address.h"

#include "base/err.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

bool address_numeric(struct address *out, const char *addr, uint16_t port)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    *out = (struct address){ .at = { .ss_family = AF_UNSPEC } };
    if (inet_pton(AF_INET, addr, &v4.sin_addr) == 1) {
        memcpy(&out->at, &v4, sizeof v4);
        out->len = sizeof v4;
        return true;
    }
    if (strcmp(addr, "*") != 0 && inet_pton(AF_INET6, addr, &v6.sin6_addr) != 1)
        return false;
    memcpy(&out->at, &v6, sizeof v6); /* "*": the address is all zero, for both families */
    out->len = sizeof v6;
    return true;
}

struct address address_any_v4(uint16_t port)
{
    struct sockaddr_in all = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct address out = { .len = sizeof all };
    memcpy(&out.at, &all, sizeof all);
    return out;
}

void address_of_end(int fd, bool remote, char out[ADDRESS_MAX])
{
    struct sockaddr_storage name = { .ss_family = AF_UNSPEC };
    socklen_t len = sizeof name;
    struct sockaddr *at = (struct sockaddr *)&name;
    out[0] = '\0';
    if ((remote ? getpeername(fd, at, &len) : getsockname(fd, at, &len)) != 0)
        return;
    if (name.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&name;
        (void)inet_ntop(AF_INET, &v4->sin_addr, out, ADDRESS_MAX);
    } else if (name.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&name;
        if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
            (void)inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], out, ADDRESS_MAX);
        else
            (void)inet_ntop(AF_INET6, &v6->sin6_addr, out, ADDRESS_MAX);
    }
}

uint16_t address_port(int fd)
{
    struct sockaddr_in6 address = { 0 }; /* the port of both families is at the same place */
    socklen_t len = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        BUG("a socket without a name");
    return ntohs(address.sin6_port);
}

static int use_path(int fd, const char *path,
                    int (*use)(int fd, const struct sockaddr *, socklen_t))
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    AUTO_FREE char *copy = mem_strdup(path);
    AUTO_CLOSE int above = -1;
    int n = snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (n >= (int)sizeof address.sun_path) {
        char *name = strrchr(copy, '/');
        if (!name)
            return ENAMETOOLONG;
        *name++ = '\0';
        above = open(copy, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (above < 0)
            return errno;
        n = snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", above, name);
        if (n >= (int)sizeof address.sun_path)
            return ENAMETOOLONG;
    }
    return use(fd, (const struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
}

int address_connect_path(int fd, const char *path)
{
    return use_path(fd, path, connect);
}

int address_bind_path(int fd, const char *path)
{
    return use_path(fd, path, bind);
}
