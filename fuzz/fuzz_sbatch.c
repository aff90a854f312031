/* Fuzz target: any text as a batch script of Slurm, its options and its way back to a script; and
 * as a list of hosts. */
#include "base/hostlist.h"
#include "dialect/sbatch/sbatch.h"

#include "fuzz/dialect.h"

#include <string.h>

static bool any(const struct job_spec *job)
{
    (void)job;
    return true;
}

static const struct fuzz_dialect target = { .dialect = &sbatch_dialect,
                                            .convention = &sbatch_convention,
                                            .text_max = 1 << 16,
                                            .variable = "SLURM_JOB_ID",
                                            .returns = any };

/* What was read is written, and reads back as the same names. */
static void check_hosts(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(16u << 20);
    struct err err;
    const char **names, **again;
    size_t n, m;
    if (hostlist_read(arena, arena_strndup(arena, (const char *)data, size), &names, &n, &err) ==
            0 &&
        n > 0) {
        hostlist_write(&out, names, n);
        if (hostlist_read(arena, buf_str(&out), &again, &m, &err) != 0 || m != n)
            BUG("\"%s\" does not read back", buf_str(&out));
        for (size_t i = 0; i < n; i++)
            if (strcmp(names[i], again[i]) != 0)
                BUG("%s comes back as %s", names[i], again[i]);
    }
    arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 256)
        check_hosts(data, size);
    return fuzz_dialect(&target, data, size);
}
