/* What goes into a parked interpreter, as anonymous files: nothing is written to a disk. */
#ifndef LAUNCH_WARM_PACK_H
#define LAUNCH_WARM_PACK_H

#include <stddef.h>

/* A descriptor, or -1. */
int warm_pack_bytes(const void *data, size_t len);
/* cwd and environment, each ended by NUL. A descriptor, or -1. */
int warm_pack_request(const char *cwd, char *const *env);
/* Sends text and descriptors as one message. 0 or -1. */
int warm_send(int fd, const void *text, size_t len, const int *fds, size_t n_fds);

#endif
