/* Admission: one table of what jobs may ask and this server does not do, each with the reason and
 * what to do instead; and whether the cluster is large enough at all. Pure. */
#include "admit/admit.h"

#include "admit/declare.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "image/reference.h"
#include "job/checker.h"
#include "job/gpu.h"
#include "sched/wait_words.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX 512

typedef bool asks(const struct job_spec *);

static bool any_role(const struct job_spec *job, bool (*test)(const struct role *))
{
    for (size_t i = 0; i < job->n_roles; i++)
        if (test(&job->roles[i]))
            return true;
    return false;
}

static bool role_after(const struct role *r)
{
    return r->after.n > 0;
}
static bool role_run_as(const struct role *r)
{
    return r->run_as != NULL;
}
static bool role_image(const struct role *r)
{
    return r->image != NULL;
}
static bool role_stdin(const struct role *r)
{
    return r->open_stdin;
}
static bool asks_git(const struct job_spec *j)
{
    return j->inputs.code.git != NULL;
}
static bool asks_tolerations(const struct job_spec *j)
{
    return j->placing.tolerations.n > 0;
}
static bool asks_other_engine(const struct job_spec *j)
{
    const char *const known[] = { "local", "machines", ENGINE_ALLOCATOR };
    for (size_t i = 0; j->placing.engine && i < ARRAY_LEN(known); i++)
        if (strcmp(j->placing.engine, known[i]) == 0)
            return false;
    return j->placing.engine != NULL;
}
static bool asks_check(const struct job_spec *j)
{
    return j->health.check_before_start;
}
static bool asks_hang(const struct job_spec *j)
{
    return j->health.hang_after_ms.has;
}
static bool asks_fault(const struct job_spec *j)
{
    return j->health.on_fault != NULL;
}
static bool asks_data(const struct job_spec *j)
{
    return j->inputs.n_data > 0;
}
static bool asks_code_path(const struct job_spec *j)
{
    return j->inputs.code.path != NULL;
}
static bool asks_image(const struct job_spec *j)
{
    return any_role(j, role_image);
}
static bool asks_notify(const struct job_spec *j)
{
    return j->notify.n > 0;
}
static bool asks_framework(const struct job_spec *j)
{
    return j->framework && strcmp(j->framework, "none") != 0 && j->conventions.n == 0;
}
static bool asks_auth(const struct job_spec *j)
{
    return j->inputs.registry_auth || j->inputs.n_logins > 0;
}

static const struct {
    const char *path;
    asks *asked;
    bool (*role)(const struct role *); /* instead of asked: of a role, whose name the path gets */
    unsigned unless;                   /* engine capabilities that make it fine */
    enum severity severity;
    const char *what, *hint;
    enum remedy_id remedy; /* of the row that has no hint */
    bool on_host;          /* it is so only where tasks run without their image */
} rows[] = {
    { .path = "after",
      .role = role_after,
      .severity = SEVERITY_ERROR,
      .what = "after: roles of a job start together here",
      .hint = "wait for the peer inside the command" },
    { .path = "run_as",
      .role = role_run_as,
      .severity = SEVERITY_ERROR,
      .what = "run_as: tasks run as the account of the job's owner",
      .hint = "leave it out" },
    { .path = "stdin",
      .role = role_stdin,
      .unless = ENGINE_STDIN | ENGINE_NUMBERS,
      .severity = SEVERITY_ERROR,
      .what = "stdin: this engine gives tasks an empty stdin",
      .hint = "leave it out" },
    { .path = "inputs.code.git",
      .asked = asks_git,
      .severity = SEVERITY_ERROR,
      .what = "inputs.code.git: this server does not clone",
      .hint = "clone it yourself and give dir:" },
    { .path = "inputs.data",
      .asked = asks_data,
      .unless = ENGINE_MOUNTS,
      .severity = SEVERITY_ERROR,
      .what = "inputs.data: this engine mounts nothing",
      .hint = "read the data by its own path" },
    { .path = "inputs.code.path",
      .asked = asks_code_path,
      .unless = ENGINE_MOUNTS,
      .severity = SEVERITY_ERROR,
      .what = "inputs.code.path: this engine mounts nothing",
      .hint = "leave it out: the code lies in the working directory" },
    { .path = "place.tolerations",
      .asked = asks_tolerations,
      .severity = SEVERITY_ERROR,
      .what = "place.tolerations: nodes have no taints here",
      .hint = "leave it out" },
    { .path = "place.engine",
      .asked = asks_other_engine,
      .unless = ENGINE_NUMBERS,
      .severity = SEVERITY_ERROR,
      .what = "place.engine: no engine has this name",
      .hint = "local, machines or slurm" },
    { .path = "health.check",
      .asked = asks_check,
      .severity = SEVERITY_ERROR,
      .what = "health.check: nodes are not checked before a start",
      .hint = "launcher: {node_check: true} checks them before the ranks start" },
    { .path = "health.hang_after",
      .asked = asks_hang,
      .severity = SEVERITY_ERROR,
      .what = "health.hang_after: hanging is not noticed here",
      .hint = "limits.run_time bounds the whole job" },
    { .path = "health.on_fault",
      .asked = asks_fault,
      .severity = SEVERITY_ERROR,
      .what = "health.on_fault: faults follow retry only",
      .hint = "say it under retry" },
    { .path = "framework",
      .asked = asks_framework,
      .severity = SEVERITY_ERROR,
      .what = "framework: no environment follows from it alone",
      .hint = "conventions: [openpai-v1]" },
    { .path = "roles.*.image",
      .asked = asks_image,
      .unless = ENGINE_CONTAINERS,
      .severity = SEVERITY_WARNING,
      .on_host = true,
      .what = "is not used, tasks run on the host",
      .remedy = REMEDY_RUNTIMES,
      .hint = "" },
    { .path = "inputs.registry_auth",
      .asked = asks_auth,
      .unless = ENGINE_CONTAINERS,
      .severity = SEVERITY_WARNING,
      .on_host = true,
      .what = "registry credentials are kept and not used, as no image is",
      .hint = "" },
    { .path = "notify",
      .asked = asks_notify,
      .severity = SEVERITY_WARNING,
      .what = "notify: nobody is told by this server",
      .hint = "the verb wait of the command line ends when the job does" },
};

/* "image "a/b" is not used ...", naming the first. */
static const char *image_text(const struct job_spec *job, const char *what, char out[TEXT_MAX])
{
    const char *first = NULL;
    for (size_t i = 0; i < job->n_roles && !first; i++)
        first = job->roles[i].image;
    snprintf(out, TEXT_MAX, "image \"%.160s\" %s", first ? first : "", what);
    return out;
}

/* The path of what the row is about, in arena; NULL: the job does not ask it. */
static const char *asked_path(size_t row, const struct job_spec *job, struct arena *a)
{
    if (!rows[row].role)
        return rows[row].asked(job) ? rows[row].path : NULL;
    for (size_t i = 0; i < job->n_roles; i++)
        if (rows[row].role(&job->roles[i]))
            return arena_printf(a, "roles.%s.%s", job->roles[i].name, rows[row].path);
    return NULL;
}

int admit_features(unsigned engine_caps, enum job_runtime got, const struct job_spec *job,
                   const struct text_node *root, struct report *report)
{
    const struct checker source = { .job = job, .root = root, .report = report };
    size_t before = report->errors;
    char text[TEXT_MAX];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool left_out = (engine_caps & rows[i].unless) || (rows[i].on_host && got > RUNTIME_HOST);
        const char *path = left_out ? NULL : asked_path(i, job, report->arena);
        if (!path)
            continue;
        bool error = rows[i].severity == SEVERITY_ERROR;
        const char *what =
            rows[i].asked == asks_image ? image_text(job, rows[i].what, text) : rows[i].what;
        struct problem *p = report_add(report, rows[i].severity,
                                       error ? check_place(&source, path) : (struct place){ 0 },
                                       path, what, rows[i].hint);
        if (rows[i].remedy)
            report_remedy(report, p, rows[i].remedy, "");
    }
    return report->errors > before ? -1 : 0;
}

static void check_images(const struct job_spec *job, struct report *report)
{
    struct image_ref ref;
    struct err err;
    for (size_t i = 0; i < job->n_roles; i++) {
        const struct role *role = &job->roles[i];
        if (!role->image || image_ref_parse(role->image, &ref, &err) == 0)
            continue;
        report_add(report, SEVERITY_ERROR, (struct place){ 0 },
                   arena_printf(report->arena, "roles.%s.image", role->name), err.what, err.hint);
    }
}

int admit_anywhere(const struct job_spec *job, const struct text_node *root, struct report *report)
{
    const unsigned all = ENGINE_MOUNTS | ENGINE_STDIN | ENGINE_CONTAINERS;
    struct report found;
    report_init(&found, report->arena);
    if (admit_features(all, RUNTIME_AUTO, job, root, &found) == 0)
        return 0;
    for (size_t i = 0; i < found.n; i++)
        if (found.at[i].severity == SEVERITY_ERROR)
            report_add(report, SEVERITY_ERROR, found.at[i].place, found.at[i].path,
                       found.at[i].what, found.at[i].hint);
    return -1;
}

bool admit_names_image(const struct job_spec *job)
{
    return any_role(job, role_image);
}

static void refuse_image(const struct runtime_checks *checks, enum job_runtime asked,
                         bool elsewhere, const struct job_spec *job, struct report *report)
{
    char text[TEXT_MAX];
    AUTO_BUF struct buf why = BUF_INIT(TEXT_MAX);
    buf_puts(&why,
             elsewhere ? "cannot be run on the server's own machine: " : "cannot be run here: ");
    runtime_reasons(checks, asked, &why);
    if (elsewhere) {
        report_warn(report, (struct place){ 0 }, "roles.*.image", "%s",
                    image_text(job, buf_str(&why), text));
        return;
    }
    struct problem *p = report_add(report, SEVERITY_ERROR, (struct place){ 0 }, "roles.*.image",
                                   image_text(job, buf_str(&why), text),
                                   "runtime: host runs it on the host, without the image");
    report_remedy(report, p, REMEDY_ON_HOST, "");
}

int admit_image(const struct runtime_checks *checks, enum job_runtime asked, bool elsewhere,
                const struct job_spec *job, struct report *report)
{
    size_t before = report->errors;
    check_images(job, report);
    if (checks)
        refuse_image(checks, asked, elsewhere, job, report);
    if (job->inputs.python.n > 0 || job->inputs.requirements)
        report_add(report, SEVERITY_ERROR, (struct place){ 0 }, "inputs.python",
                   "packages are not installed into images",
                   "put them into the image, or let the command install them");
    return report->errors > before ? -1 : 0;
}

int admit_topology(const struct cluster *cluster, const struct job_spec *job, struct report *report)
{
    const struct placing *p = &job->placing;
    char text[TEXT_MAX];
    if (!p->within || cluster_has_level(cluster, p->within))
        return 0;
    snprintf(text, sizeof text, "place.topology: this server knows no level \"%.80s\"%s", p->within,
             p->within_required ? "" : ", tasks go where they fit");
    report_add(report, p->within_required ? SEVERITY_ERROR : SEVERITY_WARNING, (struct place){ 0 },
               "place.topology", text,
               "\"node\" is always one; the setting topology: [zone, rack] makes labels of nodes "
               "levels");
    return p->within_required ? -1 : 0;
}

/* What to type for a job that is larger than the cluster: only what then fits. */
static void add_ways_out(const struct cluster *cluster, const struct job_spec *job,
                         const struct wait_reason *reason, struct report *report, struct problem *p)
{
    struct arena *arena = arena_create();
    const char *set = declare_smaller(arena, cluster, job, reason);
    const char *nodes = declare_nodes(arena, cluster, job);
    if (set)
        report_remedy(report, p, REMEDY_SMALLER, set);
    if (nodes)
        report_remedy(report, p, REMEDY_PRETEND, nodes);
    report_remedy(report, p, REMEDY_WAIT_FOR_NODES, "");
    arena_destroy(arena);
}

/* "; gpus of vm: the driver cannot be asked": of what is short nobody knows how much there is. */
static const char *unknown_gpus(const struct cluster *cluster, struct arena *arena,
                                const struct wait_reason *reason)
{
    static const char gpu[] = "gpu";
    if (!reason->resource || strncmp(reason->resource, gpu, sizeof gpu - 1) != 0)
        return "";
    for (uint32_t i = 0; i < cluster_count(cluster); i++) {
        const struct node_spec *spec = cluster_node(cluster, i).spec;
        if (spec->report && *spec->report->error)
            return arena_printf(arena, "; gpus of %.80s: %.200s", spec->name, spec->report->error);
    }
    return "";
}

bool admit_asks_nodes(unsigned engine_caps, const struct job_spec *spec)
{
    return (engine_caps & ENGINE_ALLOCATES) && spec->placing.engine &&
           strcmp(spec->placing.engine, ENGINE_ALLOCATOR) == 0;
}

int admit_size(const struct cluster *cluster, const struct job_spec *job, struct report *report)
{
    struct wait_reason reason = { 0 };
    struct arena *arena = arena_create();
    int rc = sched_possible(cluster, job, arena, &reason);
    if (rc) {
        struct problem *p =
            report_error(report, (struct place){ 0 }, "resources", "cannot run here: %.300s%s",
                         wait_text(arena, &reason), unknown_gpus(cluster, arena, &reason));
        add_ways_out(cluster, job, &reason, report, p);
    }
    arena_destroy(arena);
    return rc;
}

void admit_warn_size(const struct cluster *cluster, const struct job_spec *job,
                     struct report *report)
{
    struct wait_reason reason = { 0 };
    struct arena *arena = arena_create();
    if (sched_possible(cluster, job, arena, &reason)) {
        struct problem *p =
            report_warn(report, (struct place){ 0 }, "resources",
                        "waits until there are nodes for it: %.300s", wait_text(arena, &reason));
        report_remedy(report, p, REMEDY_LIST_NODES, "");
    }
    arena_destroy(arena);
}
