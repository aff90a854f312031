/* Options of a submission as values of fields. What is Slurm's way of writing a value is read here
 * and nowhere else. Pure. */
#include "cli/job_opts.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define AFTER_MAX   256
#define TEXT_LENGTH 65536

struct making {
    struct arena *arena;
    const struct job_opts_ask *ask;
    const char **at;
    size_t n;
    struct err *err;
};
enum { SETS_MAX = 24 };

__attribute__((format(printf, 2, 3))) static void add(struct making *m, const char *fmt, ...)
{
    char text[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    m->at[m->n++] = arena_strdup(m->arena, text);
}

static int wrong(struct err *err, const char *option, const char *value, const char *what,
                 const char *hint)
{
    err_set(err, ERR_INPUT, "--%s: \"%.80s\" is %s", option, value, what);
    return err_hint(err, "%s", hint);
}

/* ---- times, as muster and as Slurm write them ---- */

/* "M:S", "H:M:S", "D-H", "D-H:M", "D-H:M:S" in seconds. */
static bool slurm_time(const char *text, uint64_t *seconds)
{
    static const uint64_t worth[] = { 3600, 60, 1 };
    uint64_t days = 0, part[3] = { 0 };
    const char *dash = strchr(text, '-'), *at = dash ? dash + 1 : text;
    char digits[12];
    size_t n = 0;
    snprintf(digits, sizeof digits, "%.*s", dash ? (int)(dash - text) : 0, text);
    if (dash && (dash - text > 6 || !scan_u64(digits, 0, 100000, &days)))
        return false;
    for (bool more = true; more; n++) {
        size_t len = strcspn(at, ":");
        snprintf(digits, sizeof digits, "%.*s", (int)len, at);
        if (n == ARRAY_LEN(part) || len > 8 || !scan_u64(digits, 0, 100000000, &part[n]))
            return false;
        more = at[len] == ':';
        at += len + more;
    }
    size_t first = dash || n == 3 ? 0 : 1;
    *seconds = days * 86400;
    for (size_t i = 0; i < n && first + i < ARRAY_LEN(worth); i++)
        *seconds += part[i] * worth[first + i];
    return true;
}

static int add_time(struct making *m)
{
    const char *text = m->ask->opts->time;
    uint64_t ms = 0, seconds = 0;
    if (!text)
        return 0;
    if (scan_u64(text, 0, UINT64_MAX, &seconds)) /* here seconds, in Slurm minutes */
        return wrong(m->err, "time", text, "a number without its unit",
                     "for example 30m, 90s or 2h");
    if (strpbrk(text, ":-") ? slurm_time(text, &seconds) : scan_duration(text, &ms))
        ms += seconds * 1000;
    if (ms == 0)
        return wrong(m->err, "time", text, "no run time",
                     "for example 90s, 15m, 2h or 1h30m; or H:MM:SS, D-HH:MM:SS");
    add(m, "limits.run_time=%llums", (unsigned long long)ms);
    return 0;
}

/* ---- jobs to wait for ---- */

static int add_one_after(struct making *m, struct buf *out, const char *job, const char *how)
{
    uint64_t number;
    bool is_number = scan_u64(job, 1, INT64_MAX, &number);
    for (const char *c = job; *c && !is_number; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._~-[]", *c))
            return wrong(m->err, "after", job, "neither the number nor the name of a job",
                         "the number that \"muster ls\" shows");
    if (!*job)
        return wrong(m->err, "after", job, "no job", "--after 12,13");
    buf_addf(out, is_number ? "%s{job: %s%s}" : "%s{job: \"%s\"%s}", out->len > 1 ? ", " : "", job,
             how);
    return 0;
}

/* The parts of text between any of the characters. */
static struct words parts(struct arena *a, const char *text, const char *between)
{
    const char **at = ARENA_ARRAY(a, AFTER_MAX, const char *);
    size_t n = 0;
    for (; n < AFTER_MAX; text++) {
        size_t len = strcspn(text, between);
        at[n++] = arena_strndup(a, text, len);
        text += len;
        if (!*text)
            break;
    }
    return (struct words){ .at = at, .n = n };
}

/* afterok:12:13 */
static int add_dependency(struct making *m, struct buf *out, const char *text)
{
    static const struct {
        const char *word, *how;
    } kinds[] = { { "afterok", "" },
                  { "afterany", ", ended: any" },
                  { "afternotok", ", ended: badly" },
                  { "aftercorr", ", match: index" } };
    struct words jobs = parts(m->arena, text, ":");
    if (strcmp(text, "singleton") == 0) {
        buf_addf(out, "%s{match: every, ended: any}", out->len > 1 ? ", " : "");
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].word, jobs.at[0]) != 0)
            continue;
        if (jobs.n < 2)
            break;
        for (size_t k = 1; k < jobs.n; k++)
            if (add_one_after(m, out, jobs.at[k], kinds[i].how) < 0)
                return -1;
        return 0;
    }
    return wrong(m->err, "dependency", text, "no dependency that muster has",
                 "afterok:JOB, afterany:JOB, afternotok:JOB, aftercorr:JOB or singleton");
}

static int add_after(struct making *m)
{
    const struct job_opts *o = m->ask->opts;
    AUTO_BUF struct buf out = BUF_INIT(TEXT_LENGTH);
    struct words none = { .n = 0 };
    struct words after = o->after ? parts(m->arena, o->after, ",") : none;
    struct words slurm = o->dependency ? parts(m->arena, o->dependency, ",") : none;
    buf_putc(&out, '[');
    for (size_t i = 0; i < after.n; i++)
        if (add_one_after(m, &out, after.at[i], "") < 0)
            return -1;
    for (size_t i = 0; i < slurm.n; i++)
        if (add_dependency(m, &out, slurm.at[i]) < 0)
            return -1;
    if (after.n + slurm.n)
        m->at[m->n++] = arena_printf(m->arena, "after=%s]", buf_str(&out));
    return 0;
}

/* ---- the rest of the job ---- */

static int add_array(struct making *m)
{
    const char *text = m->ask->opts->array;
    if (!text)
        return 0;
    if (strchr(text, ','))
        return wrong(m->err, "array", text, "a list of indices, and muster has ranges only",
                     "0-99, 0-99:2 (every second), 0-99%8 (8 at a time)");
    if (!isdigit((unsigned char)*text) || text[strspn(text, "0123456789-:%")])
        return wrong(m->err, "array", text, "no range of indices",
                     "100, 0-99, 0-99:2 (every second), 0-99%8 (8 at a time)");
    add(m, "array=%s", text);
    return 0;
}

static int add_rules(struct making *m)
{
    const struct job_opts *o = m->ask->opts;
    uint64_t n;
    if (o->priority && !scan_u64(o->priority, 1, 9, &n))
        return wrong(m->err, "priority", o->priority, "no priority", "1 to 9, 9 comes first");
    if (o->priority)
        add(m, "priority=%s", o->priority);
    if (o->engine)
        add(m, "place.engine=%s", o->engine);
    if (o->runtime && runtime_named(o->runtime) == RUNTIME_SERVER)
        return wrong(m->err, "runtime", o->runtime, "no runtime",
                     "auto, host, bwrap, podman or docker");
    if (o->runtime)
        add(m, "runtime=%s", o->runtime);
    if (o->retry && strcmp(o->retry, "always") != 0 && strcmp(o->retry, "never") != 0 &&
        !scan_u64(o->retry, 0, 1000000, &n))
        return wrong(m->err, "retry", o->retry, "no number of retries",
                     "a number, always or never");
    if (o->retry)
        add(m, "retry.unknown=%s", strcmp(o->retry, "0") == 0 ? "never" : o->retry);
    if (o->requeue)
        add(m, "retry.platform=always");
    return 0;
}

/* ---- what belongs to a role ---- */

/* A field of the only role of the job; where there are several it has to be named with its role.
 * A job that was not read here has one, else its server asks which. */
static int add_of_role(struct making *m, const char *option, const char *field, const char *value)
{
    const struct job_spec *job = m->ask->job;
    if (!value)
        return 0;
    if (!job || job->n_roles == 1) {
        add(m, "%s=%s", field, value);
        return 0;
    }
    err_set(m->err, ERR_INPUT, "--%s: %.80s has %zu roles, which of them is not said", option,
            m->ask->file ? m->ask->file : "the job", job->n_roles);
    return err_hint(m->err, "--set roles.%s.%s=%s", job->n_roles ? job->roles[0].name : "NAME",
                    field, value);
}

/* A job that says itself which of its tasks have one keeps it so. */
static int add_stdin(struct making *m)
{
    const struct job_opts *o = m->ask->opts;
    const struct job_spec *job = m->ask->job;
    if (!o->open_stdin && !o->tty)
        return 0;
    for (size_t i = 0; job && i < job->n_roles; i++)
        if (job->roles[i].open_stdin)
            return 0;
    if (add_of_role(m, "stdin", "stdin", "true") < 0)
        return -1;
    return add_of_role(m, "tty", "tty", o->tty ? "true" : NULL);
}

static int add_nodes(struct making *m)
{
    const char *text = m->ask->opts->nodes;
    uint64_t n;
    if (!text || !scan_u64(text, 1, JOB_MAX_TASKS, &n))
        return 0;
    if (m->ask->of_file && add_of_role(m, "nodes", "replicas", text) < 0)
        return -1;
    if (n > 1 && m->ask->job)
        add(m, "place.spread=[%s]", m->ask->job->roles[0].name);
    return 0;
}

static int check_amounts(const struct command_opts *c, struct err *err)
{
    uint64_t n;
    if (c->cpu && !scan_milli(c->cpu, &n))
        return wrong(err, "cpus", c->cpu, "no number of cores", "4, or 0.5");
    if (c->gpu && !scan_milli(c->gpu, &n))
        return wrong(err, "gpus", c->gpu, "no number of devices", "2, a100:2, or 0.5 of one");
    if (c->memory && scan_u64(c->memory, 0, UINT64_MAX, &n))
        return wrong(err, "mem", c->memory, "a number without its unit",
                     "for example 4096Mi or 4Gi");
    if (c->memory && !scan_size(c->memory, &n))
        return wrong(err, "mem", c->memory, "no size", "for example 4Gi or 512Mi");
    if (c->replicas && !scan_u64(c->replicas, 1, JOB_MAX_TASKS, &n))
        return wrong(err, "replicas", c->replicas, "no number of tasks", "for example 4");
    return 0;
}

static int add_resources(struct making *m)
{
    const struct command_opts *c = m->ask->of_file;
    if (add_of_role(m, "gpus", "resources.gpu_type", m->ask->gpu_type) < 0)
        return -1;
    if (!c)
        return 0;
    return add_of_role(m, "replicas", "replicas", c->replicas) < 0 ||
                   add_of_role(m, "cpus", "resources.cpu", c->cpu) < 0 ||
                   add_of_role(m, "mem", "resources.memory", c->memory) < 0 ||
                   add_of_role(m, "gpus", "resources.gpu", c->gpu) < 0 ||
                   add_of_role(m, "image", "image", c->image) < 0
               ? -1
               : 0;
}

int job_opts_devices(struct arena *a, const struct job_opts *o, struct command_opts *command,
                     const char **type, struct err *err)
{
    const char *text = command->gpu;
    uint64_t n;
    *type = NULL;
    if (o->nodes && !scan_u64(o->nodes, 1, JOB_MAX_TASKS, &n))
        return wrong(err, "nodes", o->nodes, "no number of nodes", "for example 2");
    if (o->gres) {
        bool gpu = strncmp(o->gres, "gpu", 3) == 0 && (o->gres[3] == ':' || !o->gres[3]);
        if (!gpu || strchr(o->gres, ','))
            return wrong(err, "gres", o->gres, "nothing but devices in Slurm's words",
                         "gpu:2 or gpu:a100:2; other resources: --set resources.NAME=N");
        text = o->gres[3] ? o->gres + 4 : "1";
    }
    const char *colon = text ? strrchr(text, ':') : NULL;
    bool word = text && isalpha((unsigned char)*text); /* gpu:a100 is one of them */
    if (colon)
        *type = arena_strndup(a, text, (size_t)(colon - text));
    else if (o->gres && word)
        *type = text;
    command->gpu = colon ? colon + 1 : *type ? "1" : text;
    if (o->nodes && command->replicas && strcmp(o->nodes, command->replicas) != 0) {
        err_set(err, ERR_INPUT, "--nodes %.20s and --replicas %.20s: tasks are one for each node",
                o->nodes, command->replicas);
        return err_hint(err, "give one of them");
    }
    return check_amounts(command, err);
}

int job_opts_sets(struct arena *a, const struct job_opts_ask *ask, struct words *sets,
                  struct err *err)
{
    struct making m = {
        .arena = a, .ask = ask, .at = ARENA_ARRAY(a, SETS_MAX, const char *), .err = err
    };
    if (add_time(&m) < 0 || add_after(&m) < 0 || add_array(&m) < 0 || add_rules(&m) < 0 ||
        add_nodes(&m) < 0 || add_stdin(&m) < 0 || add_resources(&m) < 0)
        return -1;
    *sets = (struct words){ .at = m.at, .n = m.n };
    return 0;
}
