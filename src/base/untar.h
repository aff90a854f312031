/* Reads tar archives (ustar, pax, GNU's long names) that strangers made: what is not a plain tree
 * of files, directories and links within it is refused by its name. */
#ifndef BASE_UNTAR_H
#define BASE_UNTAR_H

#include "base/err.h"
#include "base/tar_reader.h"

#include <stdint.h>

#define UNTAR_DEPTH 64u
#define UNTAR_PATH  TAR_PATH

struct untar_limits {
    uint64_t bytes; /* of the stream */
    uint64_t files; /* and directories and links */
};
struct untar_summary {
    uint64_t bytes, files;
};
/* Reads the stream `in` to its end and makes what it has below the empty directory dir (-1: looks
 * only); nothing outside of it is touched, whatever the stream says. ERR_INPUT, ERR_TOO_LARGE for a
 * limit, or ERR_SYSTEM. What is there after a failure is the caller's to remove. */
int untar(int in, int dir, const struct untar_limits *, struct untar_summary *, struct err *);

/* The same for the gzipped tar that fd is open at, if its SHA-256 is hash: sha256sum and gzip of
 * this machine are run, so that SIGCHLD has to be as usual. ERR_CONFLICT: it has another hash. */
int untar_gzipped(int fd, const char *hash, int dir, const struct untar_limits *,
                  struct untar_summary *, struct err *);
/* The same for what may be a plain tar, too, and whose hash the caller has compared. */
int untar_packed(int fd, int dir, const struct untar_limits *, struct untar_summary *,
                 struct err *);

#endif
