/* Blocking sockets with time limits, for the node check. */
#ifndef LAUNCH_CHECK_SOCKET_H
#define LAUNCH_CHECK_SOCKET_H

#include <stddef.h>
#include <stdint.h>

/* Of each send and receive from now on. */
void check_limit(int fd, uint64_t ms);
/* All of it: 0; -1: errno says why (ECONNRESET: the other end closed, EAGAIN: too late). */
int check_send(int fd, const void *data, size_t len);
int check_recv(int fd, void *data, size_t len);
/* errno in words. */
const char *check_errno(void);

#endif
