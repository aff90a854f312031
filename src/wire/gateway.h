/* Where programs of a job on another machine reach its server: MUSTER_SERVER names this socket in
 * the directory of their agent (node/gateway.h), and so says that the server is elsewhere. */
#ifndef WIRE_GATEWAY_H
#define WIRE_GATEWAY_H

#include <stddef.h>

#define GATEWAY_SOCKET "http.sock" /* mode 0600 */

/* Bytes that the path of a host's directory may have, so that programs of all its runs can connect
 * to that socket. */
size_t gateway_dir_most(const char *node);

#endif
