/* The file that torch's @record writes when the script raises, and the launcher's own one. */
#ifndef LAUNCH_ERROR_FILE_H
#define LAUNCH_ERROR_FILE_H

#include "base/arena.h"
#include "base/err.h"
#include "job/rendezvous.h"

#include <stdint.h>

struct error_file {
    const char *message;   /* "ValueError: boom on rank 1" */
    const char *callstack; /* py_callstack, or "" */
    uint64_t at_s;         /* 0: not said */
};
/* 0; -1 when there is none, or it cannot be read as one (at most 1 MiB is looked at; both the
 * nested and the plain form of "message" are taken). */
int error_file_read(const char *path, struct arena *, struct error_file *);
/* The whole of it as one line of JSON, in the arena; NULL: none. */
const char *error_file_text(const char *path, struct arena *);
/* $TORCHELASTIC_ERROR_FILE of this process, for whoever started it: what the root failure left in
 * its own error file with "errorCode" (its exit code, or the negative signal), as torchrun copies
 * it; without such a file here, the failure in words. Nothing where the variable is not set. */
int error_file_of_end(const struct rdzv_end *, struct err *);
int error_file_of_launcher(const char *message, struct err *); /* an end without a failed rank */

#endif
