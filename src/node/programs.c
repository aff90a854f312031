/* The same names as the installation has (main/meson.build). A link is made under another name and
 * renamed, so that a task that starts one meanwhile finds the former one. */
#include "node/programs.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <unistd.h>

static const char *const names[] = { "launch/dlrover-run", "launch/muster-launch",
                                     "torchrun/torchrun",  "slurm/muster-step",
                                     "slurm/srun",         "slurm/scontrol",
                                     "slurm/sbatch",       "slurm/squeue",
                                     "slurm/scancel" };

static int make_link(const char *dir, const char *name, const char *program, struct err *err)
{
    AUTO_FREE char *path = file_join(dir, name);
    AUTO_FREE char *fresh = mem_printf("%s.new", path);
    (void)unlink(fresh);
    if (symlink(program, fresh) != 0 || rename(fresh, path) != 0)
        return err_sys(err, "%s", path);
    return 0;
}

int programs_make(const char *dir, const char *program, struct err *err)
{
    static const char *const folders[] = { "launch", "torchrun", "slurm" };
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        AUTO_FREE char *folder = file_join(dir, folders[i]);
        if (file_mkdirs(folder, 0755, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (make_link(dir, names[i], program, err) != 0)
            return -1;
    return 0;
}
