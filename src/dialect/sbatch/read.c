/* A batch script becomes a canonical job.
 *
 * Role: one role for each component of the job, one task for each of its nodes. A task has what the
 * component holds on a node and runs `muster-step`, which starts tasks of srun there; the first
 * task of the first role runs the script as well, and its end is the job's.
 *
 * Inputs: the text. Effects: problems in the report; the job in the arena.
 *
 * Caveats: the script and what is said of its files travel in job->config, because the program that
 * runs it reads that; what SLURM_* variables are made of is kept in job->extra. */
#include "dialect/sbatch/convention.h"

#include "dialect/sbatch/batch.h"
#include "dialect/sbatch/script.h"
#include "dialect/sbatch/values.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* ---- fates ---- */

/* What the row itself says is enough for these. */
static void tell_fates(const struct sb_reader *r)
{
    for (size_t i = 0; i < r->n_parts; i++) {
        for (enum sb_id id = 0; id < SB_ID_N; id++) {
            const struct sb_part *part = &r->parts[i];
            bool again = i > 0 && sb_options[id].kept &&
                         part->at[id].place.offset == r->parts[i - 1].at[id].place.offset;
            if (!sb_has(part, id) || again || id == SBO_BEGIN)
                continue;
            if (sb_options[id].fate == SB_REFUSED)
                report_hint(r->report, sb_fail(r, part, id, "cannot be had"), "%s",
                            sb_options[id].doc);
            else if (sb_options[id].fate == SB_WARNED)
                report_hint(r->report, sb_warn(r, part, id, "has no effect"), "%s",
                            sb_options[id].doc);
        }
    }
}

/* ---- roles ---- */

static const char *role_name(const struct sb_reader *r, size_t part)
{
    return part ? arena_printf(r->arena, "%s%zu", SBATCH_ROLE, part) : SBATCH_ROLE;
}

static void make_role(const struct sb_reader *r, size_t part, const struct sb_shape *shape,
                      struct role *role)
{
    role_init(role);
    role->name = role_name(r, part);
    role->place = (struct place){ .line = 1, .col = 1 };
    role->replicas = role->min = shape->nodes;
    role->resources.cpu_milli = shape->cpu * 1000;
    role->resources.gpu_milli = shape->gpu * 1000;
    role->resources.memory = shape->memory;
    role->resources.disk = shape->disk;
    role->resources.custom = shape->custom;
    if (shape->gpu_type) {
        role->resources.gpu_types.at = ARENA_ARRAY(r->arena, 1, const char *);
        role->resources.gpu_types.at[role->resources.gpu_types.n++] = shape->gpu_type;
    }
    role->ports = ARENA_NEW(r->arena, struct port_request);
    batch_role(role, part == 0);
}

/* Roles of several nodes are spread. */
static void spread(const struct sb_reader *r)
{
    struct words *words = &r->job->placing.spread;
    words->at = ARENA_ARRAY(r->arena, r->n_parts, const char *);
    for (size_t i = 0; i < r->job->n_roles; i++)
        if (r->job->roles[i].replicas > 1)
            words->at[words->n++] = r->job->roles[i].name;
}

/* ---- what the variables are made of ---- */

static const struct {
    enum sb_id id;
    const char *variable;
} told[] = {
    { SBO_CPUS_PER_TASK, "SLURM_CPUS_PER_TASK" },
    { SBO_CPUS_PER_GPU, "SLURM_CPUS_PER_GPU" },
    { SBO_GPUS, "SLURM_GPUS" },
    { SBO_GPUS_PER_NODE, "SLURM_GPUS_PER_NODE" },
    { SBO_GPUS_PER_TASK, "SLURM_GPUS_PER_TASK" },
    { SBO_NTASKS_PER_NODE, "SLURM_NTASKS_PER_NODE" },
    { SBO_NTASKS_PER_GPU, "SLURM_NTASKS_PER_GPU" },
    { SBO_DISTRIBUTION, "SLURM_DISTRIBUTION" },
    { SBO_OVERCOMMIT, "SLURM_OVERCOMMIT" },
};

static void keep_megabytes(const struct sb_reader *r, const struct sb_part *part, enum sb_id id,
                           const char *name, struct text_node *env)
{
    uint64_t bytes;
    if (sb_has(part, id) && sb_memory(sb_text(part, id), &bytes) && bytes)
        text_str(r->arena, env, name,
                 arena_printf(r->arena, "%llu", (unsigned long long)(bytes >> 20)));
}

static void keep_part(const struct sb_reader *r, struct text_node *parts,
                      const struct sb_part *part, const struct sb_shape *shape)
{
    struct text_node *map = text_map(r->arena, parts, NULL);
    if (shape->tasks)
        text_int(r->arena, map, "tasks", shape->tasks);
    if (shape->cpus_per_task)
        text_int(r->arena, map, "cpus_per_task", shape->cpus_per_task);
    struct text_node *env = text_map(r->arena, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(told); i++)
        if (sb_has(part, told[i].id))
            text_str(r->arena, env, told[i].variable,
                     told[i].id == SBO_OVERCOMMIT ? "1" : sb_text(part, told[i].id));
    keep_megabytes(r, part, SBO_MEM, "SLURM_MEM_PER_NODE", env);
    keep_megabytes(r, part, SBO_MEM_PER_CPU, "SLURM_MEM_PER_CPU", env);
    keep_megabytes(r, part, SBO_MEM_PER_GPU, "SLURM_MEM_PER_GPU", env);
    if (env->count)
        text_share(r->arena, map, "env", env);
}

static void check_distribution(const struct sb_reader *r, const struct sb_part *part)
{
    const char *text = sb_text(part, SBO_DISTRIBUTION);
    if (text && strncmp(text, "block", 5) != 0 && strncmp(text, "cyclic", 6) != 0 &&
        strncmp(text, "plane", 5) != 0 && text[0] != '*')
        report_hint(r->report, sb_fail(r, part, SBO_DISTRIBUTION, "is no order that srun knows"),
                    "block, cyclic or plane=N");
}

/* ---- the job ---- */

static struct words one_word(struct arena *a, const char *word)
{
    struct words words = { .at = ARENA_ARRAY(a, 1, const char *), .n = 1 };
    words.at[0] = word;
    return words;
}

static void make_job(struct sb_reader *r)
{
    struct job_spec *job = r->job = job_new(r->arena);
    struct text_node *parts;
    r->config = batch_job(r->arena, job, text_map(r->arena, NULL, NULL), &parts);
    job->roles = ARENA_ARRAY(r->arena, r->n_parts, struct role);
    job->n_roles = r->n_parts;
    for (size_t i = 0; i < r->n_parts; i++) {
        struct sb_shape shape;
        sb_shape(r, &r->parts[i], &shape);
        check_distribution(r, &r->parts[i]);
        make_role(r, i, &shape, &job->roles[i]);
        keep_part(r, parts, &r->parts[i], &shape);
    }
    spread(r);
    job->conventions = one_word(r->arena, BATCH_CONVENTION);
    sb_jobwide(r);
    batch_set_script(r->arena, r->config, r->text);
}

/* ---- bounds of the canonical job ---- */

static const struct {
    const char *path; /* of the job, or the beginning of it */
    enum sb_id id;
} sources[] = {
    { "name", SBO_JOB_NAME },
    { "project", SBO_ACCOUNT },
    { "queue", SBO_PARTITION },
    { "description", SBO_COMMENT },
    { "labels", SBO_QOS },
    { "limits", SBO_TIME },
    { "place.nodes", SBO_NODELIST },
    { "place.avoid", SBO_EXCLUDE },
    { "inputs", SBO_CONTAINER_MOUNTS },
    { "array", SBO_ARRAY },
    { "after", SBO_DEPENDENCY },
    { "config", SBO_OUTPUT },
    { "roles", SBO_GRES },
};

/* A value may be right for Slurm and too long, or of other characters, for the job's field. */
static void check_bounds(const struct sb_reader *r)
{
    struct report problems;
    report_init(&problems, r->arena);
    if (job_decode(r->arena, job_encode(r->arena, r->job), &problems))
        return;
    for (size_t i = 0; i < problems.n; i++) {
        const struct problem *p = &problems.at[i];
        enum sb_id id = SBO_JOB_NAME;
        for (size_t k = 0; k < ARRAY_LEN(sources); k++)
            if (strncmp(p->path, sources[k].path, strlen(sources[k].path)) == 0)
                id = sources[k].id;
        if (p->severity == SEVERITY_ERROR)
            report_hint(r->report, sb_fail(r, &r->parts[0], id, "cannot be kept: %s", p->what),
                        "%s", p->hint);
    }
}

struct job_spec *sb_read(struct arena *arena, const struct text_node *root, const struct site *site,
                         struct report *report)
{
    struct sb_reader r = { .arena = arena, .report = report, .site = site };
    if (root->kind != TEXT_STR) {
        report_hint(report, report_error(report, root->place, "", "is no batch script"),
                    "a script with #! in its first line");
        return NULL;
    }
    r.text = root->str;
    struct sb_words words = sb_lines(arena, r.text, report);
    sb_parse(&r, &words); /* what is wrong with one option says nothing of the others */
    tell_fates(&r);
    make_job(&r);
    if (report_ok(report))
        check_bounds(&r);
    return report_ok(report) ? r.job : NULL;
}
