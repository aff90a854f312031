/* Where a request comes from, so that what is counted by it (wrong passwords: api/limits.c) is no
 * other user's. Programs of one machine all have its address, so for them the kernel is asked whose
 * the other end is: /proc/net/tcp has the owner of each socket. Over IPv6 all count as one. */
#include "http/exchange.h"
#include "http/request.h"
#include "http/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 512
#define HEX(n)     "%" #n "[0-9A-F]"
/* sl local_address rem_address st tx:rx tr:when retrnsmt uid */
#define COLUMNS    "%*s " HEX(8) ":" HEX(4) " %*8[0-9A-F]:" HEX(4) " " HEX(2) " %*s %*s %*s %10[0-9]"
#define CONNECTED  "01"

/* The other end's socket is the one that this end's peer address names. false: it is not here, or
 * was closed: the kernel says then that it is root's. */
static bool find_owner(const struct sockaddr_in *peer, uint16_t port, unsigned *uid)
{
    char line[LINE_BYTES];
    bool found = false;
    FILE *file = fopen("/proc/net/tcp", "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        char address[9], from[5], to[5], state[3], owner[11];
        if (sscanf(line, COLUMNS, address, from, to, state, owner) != 5)
            continue;
        found = strcmp(state, CONNECTED) == 0 &&
                strtoul(address, NULL, 16) == peer->sin_addr.s_addr &&
                strtoul(from, NULL, 16) == ntohs(peer->sin_port) && strtoul(to, NULL, 16) == port;
        *uid = (unsigned)strtoul(owner, NULL, 10);
    }
    if (file)
        fclose(file);
    return found;
}

void http_source(const struct http_request *r, char out[HTTP_SOURCE])
{
    unsigned uid;
    char text[INET_ADDRSTRLEN] = "";
    uint32_t peer_uid;
    if (http_peer_uid(r, &peer_uid)) {
        snprintf(out, HTTP_SOURCE, "uid %u", (unsigned)peer_uid);
        return;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr_in *peer = info ? (const void *)info->client_addr : NULL;
    if (!peer || peer->sin_family != AF_INET)
        snprintf(out, HTTP_SOURCE, "elsewhere");
    else if (find_owner(peer, http_server_port(r->server), &uid))
        snprintf(out, HTTP_SOURCE, "uid %u", uid);
    else
        snprintf(out, HTTP_SOURCE, "%s", inet_ntop(AF_INET, &peer->sin_addr, text, sizeof text));
}
