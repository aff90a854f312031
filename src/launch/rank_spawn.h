/* One process of one rank, by fork and exec: own session, ends with this process, nothing inherited
 * but the three streams. */
#ifndef LAUNCH_RANK_SPAWN_H
#define LAUNCH_RANK_SPAWN_H

#include "base/arena.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct rank_spawn {
    const char *program; /* path for exec */
    char *const *argv, *const *env;
    int in, out, err;           /* may be the launcher's own 0, 1, 2 */
    const cpu_set_t *cpus;      /* NULL: any */
    const struct rlimit *files; /* RLIMIT_NOFILE; NULL or a rlim_max of 0: as it is */
    int failures;               /* a pipe for struct rank_failure; closed by exec */
    uint32_t local_rank;
    const int *keep; /* descriptors that stay what they are; NULL: none */
    size_t n_keep;
};
struct rank_failure {
    uint32_t local_rank;
    int32_t number; /* errno of exec */
};

/* What exec will be given for argv[0]: itself when it has a slash, else found in the PATH of env as
 * a shell would. NULL and errno: not there (ENOENT) or not to be run (EACCES). */
const char *rank_spawn_find(struct arena *, const char *name, char *const *env);
/* Its pid, or -1 and errno. What fails later is written to failures, and the process exits 127. */
pid_t rank_spawn(const struct rank_spawn *);

#endif
