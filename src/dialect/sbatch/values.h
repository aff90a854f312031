/* Values as Slurm writes them; each function reads the whole text or nothing. Internal to this
 * folder. */
#ifndef DIALECT_SBATCH_VALUES_H
#define DIALECT_SBATCH_VALUES_H

#include "base/arena.h"
#include "job/array.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool sb_memory(const char *text, uint64_t *bytes);
bool sb_count(const char *text, uint64_t *n); /* "4", "1k" */
bool sb_range(const char *text, uint64_t *min, uint64_t *max);
struct sb_gres {
    const char *name, *type; /* type NULL: any */
    uint64_t count;
};
#define SB_GRES_MAX 16u
/* The entries of "gpu:a100:2,shard:1"; SIZE_MAX: it is no such list. */
size_t sb_gres(struct arena *, const char *text, struct sb_gres out[SB_GRES_MAX]);
/* "a100:4", "4" of --gpus and its kin. */
bool sb_gpus(struct arena *, const char *text, struct sb_gres *out);
struct sb_signal {
    int number;
    uint32_t seconds;
    bool batch; /* only to the script's shell */
};
bool sb_signal(const char *text, struct sb_signal *out);
/* "0-15:4%2,20": what the indices have in common. false: they have no equal steps, or it is no
 * array (*form). */
bool sb_array(const char *text, struct job_array *out, bool *form);

#endif
