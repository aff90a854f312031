/* A canonical job as a batch script: the way back of read.c.
 *
 * Role: a job that came as a script is that script. Any other one gets a script: a component for
 * each role, a node for each of its tasks (or for each group that shares one), and a line of srun
 * that runs its command there. Its roles become what the reader makes of these lines, so that what
 * is lost is found by reading it (dialect/losses.h); what a role has besides is told here. */
#include "dialect/sbatch/convention.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/shell_word.h"
#include "dialect/roles.h"
#include "dialect/sbatch/batch.h"

#include <inttypes.h>
#include <string.h>

enum { SCRIPT_MAX = 4 << 20 };
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

struct writer {
    struct arena *arena;
    const struct job_spec *job;
    struct report *report;
    struct buf *out;
};

/* ---- option lines ---- */

static void option(const struct writer *w, const char *name, const char *value)
{
    buf_addf(w->out, "#SBATCH --%s=", name);
    bool plain = value[strcspn(value, " \t\"'\\#")] == '\0';
    if (!plain)
        buf_putc(w->out, '"');
    for (const char *c = value; *c; c++) {
        if (*c == '"' || *c == '\\')
            buf_putc(w->out, '\\');
        buf_putc(w->out, *c == '\n' ? ' ' : *c);
    }
    buf_puts(w->out, plain ? "\n" : "\"\n");
}

static void option_number(const struct writer *w, const char *name, uint64_t n)
{
    option(w, name, arena_printf(w->arena, "%llu", (unsigned long long)n));
}

static void write_after(const struct writer *w)
{
    AUTO_BUF struct buf text = BUF_INIT(SCRIPT_MAX);
    for (size_t i = 0; i < w->job->n_after; i++) {
        const struct job_dependency *after = &w->job->after[i];
        const char *kind = after->match && strcmp(after->match, "index") == 0   ? "aftercorr"
                           : after->ended && strcmp(after->ended, "any") == 0   ? "afterany"
                           : after->ended && strcmp(after->ended, "badly") == 0 ? "afternotok"
                                                                                : "afterok";
        const bool own = !after->job_name || strcmp(after->job_name, w->job->name) == 0;
        if (after->job)
            buf_addf(&text, "%s%s:%llu", text.len ? "," : "", kind, (unsigned long long)after->job);
        else if (own && job_after_every(after) && strcmp(kind, "afterany") == 0)
            buf_addf(&text, "%ssingleton", text.len ? "," : "");
    }
    if (text.len)
        option(w, "dependency", buf_str(&text));
}

static void write_jobwide(const struct writer *w)
{
    const struct job_spec *job = w->job;
    char range[JOB_ARRAY_TEXT];
    const uint32_t at_once = job->array.at_once;
    option(w, "job-name", job->name);
    if (job->project)
        option(w, "account", job->project);
    if (job->queue)
        option(w, "partition", job->queue);
    if (job->description && !strchr(job->description, '\n'))
        option(w, "comment", job->description);
    if (job->limits.run_time_ms.has)
        option_number(w, "time", (job->limits.run_time_ms.value + 59999) / 60000);
    if (job->suspend)
        buf_puts(w->out, "#SBATCH --hold\n");
    if (job->priority < 5)
        option(w, "nice", "100");
    if (job->array.count)
        option(w, "array",
               arena_printf(w->arena, at_once ? "%s%%%u" : "%s",
                            job_array_range(range, &job->array), at_once));
    write_after(w);
    if (job->retry.platform.kind == COUNT_NEVER)
        buf_puts(w->out, "#SBATCH --no-requeue\n");
    if (job->placing.avoid.n)
        option(w, "exclude", words_joined(w->arena, &job->placing.avoid, ","));
    if (job->placing.nodes.n)
        option(w, "nodelist", words_joined(w->arena, &job->placing.nodes, ","));
}

static void write_mounts(const struct writer *w)
{
    AUTO_BUF struct buf text = BUF_INIT(SCRIPT_MAX);
    for (size_t i = 0; i < w->job->inputs.n_data; i++) {
        const struct mount *m = &w->job->inputs.data[i];
        buf_addf(&text, "%s%s:%s%s", i ? "," : "", m->from, m->at, m->read_only ? ":ro" : "");
    }
    if (text.len)
        option(w, "container-mounts", buf_str(&text));
}

/* Nodes of a role, and its tasks on one. */
static uint32_t nodes_of(const struct role *role)
{
    return job_groups(role);
}

static uint32_t each_of(const struct role *role)
{
    return role->per_group ? role->per_group : 1;
}

static void write_resources(const struct writer *w, const struct role *role)
{
    const struct resources *res = &role->resources;
    uint64_t each = each_of(role), gpus = res->gpu_milli / 1000 * each;
    option_number(w, "nodes", nodes_of(role));
    option_number(w, "ntasks-per-node", each);
    if (res->cpu_milli)
        option_number(w, "cpus-per-task", (res->cpu_milli + 999) / 1000);
    if (res->memory)
        option(w, "mem",
               arena_printf(w->arena, "%" PRIu64 "K", (res->memory + 1023) / 1024 * each));
    if (res->disk)
        option(w, "tmp", arena_printf(w->arena, "%" PRIu64 "K", (res->disk + 1023) / 1024 * each));
    if (gpus && res->gpu_types.n)
        option(w, "gpus-per-node",
               arena_printf(w->arena, "%s:%llu", res->gpu_types.at[0], (unsigned long long)gpus));
    else if (gpus)
        option_number(w, "gpus-per-node", gpus);
}

/* ---- commands ---- */

static struct words command_of(const struct writer *w, const struct role *role)
{
    struct words words = { .at = ARENA_ARRAY(w->arena, 3, const char *) };
    if (role->python)
        return job_entry(w->arena, role);
    if (!role->run)
        return role->argv;
    words.at[words.n++] = "bash";
    words.at[words.n++] = "-c";
    words.at[words.n++] = role->run;
    return words;
}

/* May the variable stand in front of srun, whose command line everybody can read? Not what srun
 * would be found by or take for its options, what is each node's own, nor what bash keeps. */
static bool stands_before(const char *name)
{
    static const char *const kept[] = { "PATH",
                                        "UID",
                                        "EUID",
                                        "PPID",
                                        "SHELLOPTS",
                                        "BASHOPTS",
                                        "GROUPS",
                                        "DIRSTACK",
                                        "BASH_VERSINFO",
                                        "FUNCNAME",
                                        "BASHPID",
                                        "HOSTNAME",
                                        "VIRTUAL_ENV",
                                        "CUDA_VISIBLE_DEVICES",
                                        "NVIDIA_VISIBLE_DEVICES",
                                        "ROCR_VISIBLE_DEVICES",
                                        "GPU_DEVICE_ORDINAL",
                                        "ZE_AFFINITY_MASK" };
    static const char *const fronts[] = { "SLURM", "SRUN", "MUSTER_" };
    size_t first = strspn(name, "0123456789");
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        if (strcmp(name, kept[i]) == 0)
            return false;
    for (size_t i = 0; i < ARRAY_LEN(fronts); i++)
        if (strncmp(name, fronts[i], strlen(fronts[i])) == 0)
            return false;
    return *name && !first && !name[strspn(name, LETTERS)];
}

static void write_variables(const struct writer *w, const struct role *role)
{
    for (size_t k = 0; k < role->env.n; k++) {
        if (!stands_before(role->env.at[k].name))
            continue;
        buf_addf(w->out, "%s=", role->env.at[k].name);
        shell_word(w->out, role->env.at[k].value);
        buf_putc(w->out, ' ');
    }
}

static void write_other_variables(const struct writer *w, const struct role *role)
{
    bool begun = false;
    for (size_t k = 0; k < role->env.n; k++) {
        const struct pair *one = &role->env.at[k];
        if (stands_before(one->name))
            continue;
        buf_puts(w->out, begun ? " " : " env ");
        shell_word(w->out, arena_printf(w->arena, "%s=%s", one->name, one->value));
        begun = true;
    }
}

static void write_command(const struct writer *w, size_t i)
{
    const struct role *role = &w->job->roles[i];
    struct words words = command_of(w, role);
    write_variables(w, role);
    buf_puts(w->out, "srun");
    if (w->job->n_roles > 1)
        buf_addf(w->out, " --het-group=%zu", i);
    if (role->resources.gpu_milli >= 1000 && each_of(role) > 1)
        buf_addf(w->out, " --gpus-per-task=%llu",
                 (unsigned long long)role->resources.gpu_milli / 1000);
    write_other_variables(w, role);
    for (size_t k = 0; k < words.n; k++) {
        buf_putc(w->out, ' ');
        shell_word(w->out, words.at[k]);
    }
}

/* Roles whose end nobody waits for are ended with the script. */
static void write_commands(const struct writer *w)
{
    const struct job_spec *job = w->job;
    if (job->n_roles == 1) {
        write_command(w, 0);
        buf_putc(w->out, '\n');
        return;
    }
    buf_puts(w->out, "wanted=\n");
    for (size_t i = 0; i < job->n_roles; i++) {
        write_command(w, i);
        bool waited = job->roles[i].done.succeeded.kind != COUNT_NEVER;
        buf_puts(w->out, waited ? " &\nwanted=\"$wanted $!\"\n" : " &\n");
    }
    buf_puts(w->out, "code=0\nfor one in $wanted; do wait \"$one\" || code=$?; done\nexit $code\n");
}

static const char *make_script(const struct writer *w)
{
    const struct job_spec *job = w->job;
    buf_puts(w->out, "#!/bin/bash\n");
    write_jobwide(w);
    for (size_t i = 0; i < job->n_roles; i++) {
        if (i)
            buf_puts(w->out, "#SBATCH hetjob\n");
        write_resources(w, &job->roles[i]);
        if (i == 0 && job->roles[i].image)
            option(w, "container-image", job->roles[i].image);
        if (i == 0)
            write_mounts(w);
    }
    buf_putc(w->out, '\n');
    write_commands(w);
    return arena_strdup(w->arena, buf_str(w->out));
}

/* ---- losses of roles ---- */

static void lost(const struct writer *w, const struct role *role, bool said, const char *field)
{
    if (said)
        report_warn(w->report, (struct place){ 0 },
                    arena_printf(w->arena, "roles.%s.%s", role->name, field),
                    "roles.%s.%s cannot be said in a batch script and is left out", role->name,
                    field);
}

/* All components have the image of the first. */
static void tell_image(const struct writer *w, const struct role *role)
{
    const char *first = w->job->roles[0].image;
    bool same = role->image && first && strcmp(role->image, first) == 0;
    lost(w, role, role->image && !same, "image");
    if (!role->image && first)
        report_warn(w->report, (struct place){ 0 },
                    arena_printf(w->arena, "roles.%s.image", role->name),
                    "roles.%s has no image and gets that of roles.%s, as all of a batch script",
                    role->name, w->job->roles[0].name);
}

static void tell_losses(const struct writer *w, const struct role *role)
{
    const struct resources *res = &role->resources;
    bool never = role->done.succeeded.kind == COUNT_NEVER;
    lost(w, role, role->n_ports > 0, "ports");
    lost(w, role, role->min != role->replicas, "replicas.min");
    lost(w, role, role->done.failed.kind != COUNT_NUMBER || role->done.failed.n != 1,
         "done.failed");
    lost(w, role, !never && role->done.succeeded.kind == COUNT_NUMBER, "done.succeeded");
    lost(w, role, role->after.n > 0, "after");
    lost(w, role, role->driver, "driver");
    lost(w, role, role->open_stdin || role->tty, "stdin");
    lost(w, role, job_launcher_set(&role->launcher), "launcher");
    lost(w, role, role->run_as != NULL, "run_as");
    lost(w, role, role->has_restart_scope, "restart");
    lost(w, role, res->cpu_milli % 1000 != 0, "resources.cpu");
    lost(w, role, res->gpu_milli % 1000 != 0, "resources.gpu");
    lost(w, role, res->shm != 0, "resources.shm");
    lost(w, role, res->custom.n > 0, "resources.custom");
    lost(w, role, res->gpu_types.n > 1, "resources.gpu_type");
    lost(w, role, role->secrets.n > 0, "secrets");
    tell_image(w, role);
}

/* ---- shaping and writing ---- */

static struct text_node *as_tree(struct arena *a, const char *script)
{
    struct text_node *root = text_str(a, NULL, NULL, script);
    root->script = true;
    return root;
}

/* The job with the roles that its script gives it, everything else as it is. */
struct job_spec *sb_reshape(struct arena *a, const struct job_spec *job, struct report *report)
{
    AUTO_BUF struct buf out = BUF_INIT(SCRIPT_MAX);
    struct writer w = { .arena = a, .job = job, .report = report, .out = &out };
    const struct site nowhere = { .owner = NULL };
    struct report said;
    struct job_spec *shaped = ARENA_NEW(a, struct job_spec);
    *shaped = *job;
    if (batch_script(job))
        return shaped;
    for (size_t i = 0; i < job->n_roles; i++)
        tell_losses(&w, &job->roles[i]);
    if (job->config)
        report_warn(report, (struct place){ 0 }, "config",
                    "config cannot be said in a batch script and is left out");
    report_init(&said, a);
    const struct job_spec *read = sb_read(a, as_tree(a, make_script(&w)), &nowhere, &said);
    if (!read)
        return shaped; /* writing it says why */
    for (size_t i = 0; i < job->n_roles; i++) {
        const char *path = arena_printf(a, "roles.%s", job->roles[i].name);
        report_note(report, path, "%s is written as a line of srun on %u nodes", path,
                    nodes_of(&job->roles[i]));
    }
    shaped->roles = read->roles;
    shaped->n_roles = read->n_roles;
    shaped->conventions = read->conventions;
    shaped->extra = read->extra;
    shaped->config = read->config;
    shaped->framework = read->framework;
    shaped->server = read->server;
    shaped->placing.spread = read->placing.spread;
    if (job->limits.grace_ms == job_new(a)->limits.grace_ms)
        shaped->limits.grace_ms = read->limits.grace_ms;
    return shaped;
}

struct text_node *sb_write(struct arena *a, const struct job_spec *job, struct report *report)
{
    AUTO_BUF struct buf out = BUF_INIT(SCRIPT_MAX);
    struct writer w = { .arena = a, .job = job, .report = report, .out = &out };
    const char *script = batch_script(job);
    return as_tree(a, script ? script : make_script(&w));
}
