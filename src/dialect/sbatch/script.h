/* A batch script as its author wrote it, its options decoded, before it becomes a canonical job.
 * Internal to this folder. */
#ifndef DIALECT_SBATCH_SCRIPT_H
#define DIALECT_SBATCH_SCRIPT_H

#include "dialect/dialect.h"
#include "dialect/sbatch/lines.h"
#include "dialect/sbatch/options.h"

#define SBATCH_PARTS_MAX 64u

/* ---- values ---- */

struct sb_value {
    const char *text; /* NULL: not said; "" for an option without a value */
    struct place place;
};
struct sb_part { /* a component; one where the job is not heterogeneous */
    struct sb_value at[SB_ID_N];
};
struct sb_reader {
    struct arena *arena;
    struct report *report;
    const struct site *site;
    const char *text; /* of the script */
    struct sb_part *parts;
    size_t n_parts;
    struct job_spec *job;
    struct text_node *config; /* our part of it */
};
/* Words to components (parse.c). */
void sb_parse(struct sb_reader *, const struct sb_words *);

/* "--name VALUE what"; the caller may add a hint. */
struct problem *sb_say(const struct sb_reader *, enum severity, const struct sb_part *, enum sb_id,
                       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
#define sb_fail(r, ...) sb_say(r, SEVERITY_ERROR, __VA_ARGS__)
#define sb_warn(r, ...) sb_say(r, SEVERITY_WARNING, __VA_ARGS__)
static inline bool sb_has(const struct sb_part *part, enum sb_id id)
{
    return part->at[id].text != NULL;
}
static inline const char *sb_text(const struct sb_part *part, enum sb_id id)
{
    return part->at[id].text;
}

/* ---- what a component asks for (shape.c) ---- */

struct sb_shape {
    uint32_t nodes;
    uint32_t tasks, per_node; /* tasks 0: not said, one a node; per_node: most on one */
    uint32_t cpus_per_task;   /* 0: not said */
    uint64_t cpu, gpu;        /* of a node; cpu 0: no limit */
    uint64_t memory, disk;    /* bytes of a node; 0: no limit */
    const char *gpu_type;
    struct amounts custom;
};
void sb_shape(const struct sb_reader *, const struct sb_part *, struct sb_shape *out);

/* jobwide.c: what is said of the job as a whole, by its first component */
void sb_jobwide(struct sb_reader *);

#endif
