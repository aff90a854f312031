/* Where a launch lies at the server: a directory for each node of each generation of a job. Only
 * the path is made here. */
#include "job/launch.h"

#include "base/mem.h"

char *launch_dir(const char *runs_dir, uint64_t number, uint32_t generation, const char *node)
{
    return mem_printf("%s/%llu/g%u/%s", runs_dir, (unsigned long long)number, generation, node);
}
