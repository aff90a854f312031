/* The file that torch's @record writes when the script raises. */
#ifndef LAUNCH_ERROR_FILE_H
#define LAUNCH_ERROR_FILE_H

#include "base/arena.h"

#include <stdint.h>

struct error_file {
    const char *message;   /* "ValueError: boom on rank 1" */
    const char *callstack; /* py_callstack, or "" */
    uint64_t at_s;         /* 0: not said */
};
/* 0; -1 when there is none, or it cannot be read as one (at most 1 MiB is looked at; both the
 * nested and the plain form of "message" are taken). */
int error_file_read(const char *path, struct arena *, struct error_file *);

#endif
