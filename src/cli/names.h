/* Roles, tasks and files as people name them on the command line. */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct task_name {
    const char *role;
    bool has_index;
    uint32_t index;
};
/* "worker" or "worker/1"; in arena. */
int names_task(struct arena *, const char *text, struct task_name *, struct err *err);

/* A job file: "-" is stdin; directories, missing files and more than 4 MiB are refused with what to
 * do. Malloc'ed. */
int names_read_job_file(const char *path, char **text, size_t *len, struct err *err);

/* A file or directory that has to be there: what is missing is the caller's slip. A URL is not
 * looked at. */
int names_need(const char *path, struct err *err);

#endif
