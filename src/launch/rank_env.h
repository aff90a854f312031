/* The environment and command of one rank: exactly torchrun's, plus dlrover's under that name. */
#ifndef LAUNCH_RANK_ENV_H
#define LAUNCH_RANK_ENV_H

#include "base/arena.h"
#include "launch/settings.h"

struct rank_place {
    const struct rdzv_round *round;
    uint32_t local_rank;
    const char *error_file;
    uint32_t own_restarts; /* of this launcher */
};
/* NULL-terminated lists in the arena; the launcher's own environment goes first. */
char **rank_env_make(struct arena *, const struct settings *, const struct rank_place *);
/* "${local_rank}" in the arguments becomes the rank's, as with torchrun. */
char **rank_argv_make(struct arena *, const struct settings *, uint32_t local_rank);
/* torchrun's rule: several ranks and nothing set means one OpenMP thread each. */
bool rank_env_limits_omp(const struct settings *);
void rank_env_warn_omp(void); /* on stderr, in torchrun's words */

#endif
