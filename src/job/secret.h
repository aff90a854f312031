/* Secrets that tasks get, by the names that their server keeps them under: as variables, or as
 * files in memory. A job says names, never values. */
#ifndef JOB_SECRET_H
#define JOB_SECRET_H

#include "base/report.h"

#include <stdbool.h>
#include <stddef.h>

#define SECRET_NAME_MAX  253 /* bytes of a name, of both parts of one with a "/" */
#define SECRET_VALUE_MAX (1u << 20)
#define SECRET_LIST_MAX  64   /* of one list of a job */
#define SECRET_ALL       "/*" /* behind a name: each of its members */
#define SECRETS_VARIABLE                                                                           \
    "MUSTER_SECRETS" /* the directory of files that have no path of their own */

/* "hf-token", or "db/password": the member of a set of them. Two parts of letters, digits, . _ - at
 * most; none is "." or "..". */
bool secret_name_ok(const char *name);
/* "db/ *" (without the blank)? *len: of "db". */
bool secret_is_set(const char *name, size_t *len);

struct job_secret {
    const char *name; /* or that of a set, with SECRET_ALL */
    /* The variable that has the value; of a set: what stands in front of each member's name, "" for
     * nothing. NULL: none. */
    const char *env;
    /* The file that has it, absolute; of a set: the directory with a file for each member. NULL,
     * where env is too: its name in the directory of $MUSTER_SECRETS. */
    const char *file;
    bool optional; /* a task starts without it */
    struct place place;
};
struct job_secrets {
    struct job_secret *at;
    size_t n;
};

#endif
