/* How long the directory of a host may be: asked where it is chosen, before anything runs in it,
 * and by the host of one that was chosen before. */
#include "wire/gateway.h"

#include "base/socket_path.h"

#include <string.h>

/* As the runs of a host are named (node/host_runs.h), with room for 99 starts of a job. */
#define LONGEST_RUN "/runs/9223372036854775807.99."

size_t gateway_dir_most(const char *node)
{
    size_t below = strlen(LONGEST_RUN) + strlen(node) + strlen("/" GATEWAY_SOCKET);
    return below < SOCKET_PATH_MAX ? SOCKET_PATH_MAX - below : 0;
}
