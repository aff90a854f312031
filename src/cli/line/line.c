/* Which launcher's line it is: each reader is asked, in an order in which the first that takes it
 * is right. A line of no launcher is a plain command. */
#include "cli/line/line.h"

#include "base/mem.h"
#include "cli/line/accelerate.h"
#include "cli/line/deepspeed.h"
#include "cli/line/mpirun.h"
#include "cli/line/srun.h"
#include "cli/line/torch_launch.h"
#include "cli/line/torchrun.h"
#include "cli/line/wrappers.h"

int line_read(struct arena *a, int argc, char **argv, const struct line_request *asked,
              struct line_job *out, struct err *err)
{
    static line_reader_fn *const readers[] = { line_torchrun,  line_torch_launch, line_accelerate,
                                               line_deepspeed, line_horovodrun,   line_mpirun,
                                               line_srun };
    *out = (struct line_job){ .said = { .at = ARENA_ARRAY(a, LINE_SAID_MAX, const char *) } };
    struct line_reader r = {
        .arena = a, .asked = asked, .argc = argc, .argv = argv, .out = out, .read = line_read
    };
    line_wrappers(&r);
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        int rc = readers[i](&r, err);
        if (rc != 0)
            return rc < 0 ? -1 : 0;
    }
    line_keep(&r, (const char *const *)r.argv, (size_t)r.argc);
    line_starts(&r, 0);
    return 0;
}
