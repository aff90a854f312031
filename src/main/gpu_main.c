/* The only process that loads the driver's library, because a broken driver may hang or crash it.
 * It answers on stdout in lines and ends with whoever asked. */
#include "main/gpu_main.h"

#include "base/file.h"
#include "gpu/lines.h"
#include "gpu/nvml.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int gpu_main(int argc, char **argv)
{
    struct gpu_report report;
    struct arena *arena = arena_create();
    AUTO_BUF struct buf lines = BUF_INIT(1u << 20);
    (void)argc;
    (void)argv;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    gpu_nvml_read(arena, &report);
    gpu_lines_put(&report, &lines);
    int rc = file_write_all(STDOUT_FILENO, buf_str(&lines), lines.len);
    arena_destroy(arena);
    return rc == 0 ? 0 : 1;
}
