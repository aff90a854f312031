/* Variables that a submission gives its tasks: --export, --env-file, --env, the later wins. */
#ifndef CLI_JOB_ENV_H
#define CLI_JOB_ENV_H

#include "base/opt.h"
#include "base/pairs.h"
#include "cli/cmd.h"

struct job_env {
    const char *export;    /* "all", "none", "NAME,NAME=VALUE"; NULL: none */
    struct opt_list files; /* of NAME=VALUE lines */
    struct opt_list env;   /* NAME=VALUE, or NAME: as it is here */
};
/* In cli->arena. Messages name variables, never values. */
int job_env_read(struct cli *, const struct job_env *, struct pairs *out, struct err *err);

#endif
