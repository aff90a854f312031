/* The environment that DLC promises the tasks of each kind of job.
 *
 * Role: facts of a placed job -> variables. One row per framework; the names that the system sets
 * are reserved, a value of the job's own is not used (as scripts of DLC see it).
 *
 * Inputs: the canonical job, its placement. Effects: variables added to out, in the arena.
 *
 * Source: the vendor's page of common variables; TF_CONFIG, MPI and ports from its open-source
 * operator. Caveats: addresses stand where DLC has names of services, so that nothing has to be
 * resolved; DLC_PEERS bytes bound the lists that grow with the job. */
#include "dialect/dlc/env.h"

#include "base/buf.h"
#include "base/mem.h"
#include "dialect/dlc/dlc.h"
#include "dialect/dlc/extra.h"
#include "dialect/dlc/mpi.h"
#include "dialect/dlc/types.h"
#include "dialect/place_cache.h"

#include <string.h>

enum { LIST_MAX = 120000 }; /* of one variable; the kernel takes 131072 */

struct writer {
    struct arena *arena;
    const struct job_spec *job;
    const struct job_place *place;
    const struct task_place *task;
    uint32_t flat;
    struct pairs *out;
};

/* ---- names ---- */

const char *dlc_job_id(char out[DLC_JOB_ID_TEXT], uint64_t id)
{
    char number[JOB_ID_TEXT];
    (void)snprintf(out, DLC_JOB_ID_TEXT, "dlc%s", job_id_format(number, id));
    return out;
}

const char *dlc_pod_name(struct arena *arena, const struct job_spec *job,
                         const struct job_place *place, uint32_t flat)
{
    char id[DLC_JOB_ID_TEXT];
    const struct task_place *task = &place->tasks[flat];
    return arena_printf(arena, "%s-%s-%u", dlc_job_id(id, place->id), job->roles[task->role].name,
                        task->index);
}

static bool is_set(const struct job_spec *job, const char *key)
{
    return text_flag(text_get(job->extra, DLC_EXTRA), key);
}

/* Names of PyTorch's workers are services that createSvcForAllWorkers asks for. */
const char *dlc_host(struct arena *arena, const struct dialect_task *task)
{
    const struct job_spec *job = task->job;
    bool pytorch = job->framework && strcmp(job->framework, "pytorch") == 0;
    if (pytorch && task->flat > 0 && !is_set(job, "createSvcForAllWorkers"))
        return NULL;
    return dlc_pod_name(arena, job, task->place, task->flat);
}

/* ---- values ---- */

static void put(struct writer *w, const char *name, const char *value)
{
    pairs_set(w->out, w->arena, name, value);
}

static void put_number(struct writer *w, const char *name, uint64_t n)
{
    pairs_setf(w->out, w->arena, name, "%llu", (unsigned long long)n);
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

/* The first port of a label, 0 when the task has none. */
static uint32_t port_of(const struct task_place *task, const char *label)
{
    for (uint32_t i = 0; i < task->n_ports; i++)
        if (task->ports[i].count > 0 && strcmp(task->ports[i].label, label) == 0)
            return task->ports[i].numbers[0];
    return 0;
}

static uint32_t devices(const struct writer *w)
{
    uint64_t asked = w->job->roles[w->task->role].resources.gpu_milli / 1000;
    return w->task->n_gpus ? w->task->n_gpus : (uint32_t)asked;
}

/* ---- frameworks ---- */

static void put_master(struct writer *w)
{
    const struct task_place *master = &w->place->tasks[0];
    uint32_t port = port_of(master, DLC_LABEL_MASTER);
    put(w, "MASTER_ADDR", text_or_empty(master->address));
    put_number(w, "MASTER_PORT", port ? port : DLC_PYTORCH_PORT);
}

static void put_world(struct writer *w)
{
    put_number(w, "WORLD_SIZE", w->place->n);
    put_number(w, "RANK", w->flat);
}

/* "10000;10001;...": the ports of customPortList and customPortNumPerWorker. */
static void put_custom(struct writer *w)
{
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    size_t len = strlen(DLC_LABEL_CUSTOM);
    for (uint32_t i = 0; i < w->task->n_ports; i++) {
        const struct placed_port *port = &w->task->ports[i];
        if (strncmp(port->label, DLC_LABEL_CUSTOM, len) != 0)
            continue;
        for (uint32_t k = 0; k < port->count; k++)
            buf_addf(&text, "%s%u", text.len ? ";" : "", port->numbers[k]);
    }
    if (text.len)
        put(w, "CUSTOM_PORTS", buf_str(&text));
}

static void pytorch(struct writer *w)
{
    char id[DLC_JOB_ID_TEXT];
    uint32_t ranks = devices(w);
    put_master(w);
    put_world(w);
    put_number(w, "NPROC_PER_NODE", ranks ? ranks : 1);
    put(w, "PYTHONUNBUFFERED", "1");
    put_number(w, "PET_NNODES", w->place->n);
    put_number(w, "PET_NODE_RANK", w->flat);
    put_number(w, "PET_NPROC_PER_NODE", ranks ? ranks : 1);
    put(w, "PET_MASTER_ADDR", text_or_empty(w->place->tasks[0].address));
    put(w, "PET_MASTER_PORT", pairs_get(w->out, "MASTER_PORT"));
    if (is_set(w->job, "createSvcForAllWorkers"))
        put(w, "JOB_NAME", dlc_job_id(id, w->place->id));
    put_custom(w);
}

static void ranked(struct writer *w)
{
    put_master(w);
    put_world(w);
    put(w, "PYTHONUNBUFFERED", "1");
}

static void elasticbatch(struct writer *w)
{
    put_world(w);
}

static bool in_cluster(const char *role)
{
    return strcmp(role, "evaluator") != 0;
}

static void add_hosts(const struct writer *w, uint32_t role, struct buf *out)
{
    bool any = false;
    for (uint32_t t = 0; t < w->place->n && !out->overflow; t++) {
        const struct task_place *task = &w->place->tasks[t];
        if (task->role != role)
            continue;
        buf_addf(out, "%s\"%s:%u\"", any ? "," : "", text_or_empty(task->address),
                 port_of(task, DLC_LABEL_TF));
        any = true;
    }
}

/* Names of roles have no characters that JSON would escape. NULL: too long. */
static const void *make_cluster(struct arena *arena, const void *arg)
{
    const struct writer *w = arg;
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    bool any = false;
    buf_puts(&text, "{\"cluster\":{");
    for (uint32_t r = 0; r < w->job->n_roles; r++) {
        if (!in_cluster(w->job->roles[r].name))
            continue;
        buf_addf(&text, "%s\"%s\":[", any ? "," : "", w->job->roles[r].name);
        add_hosts(w, r, &text);
        buf_putc(&text, ']');
        any = true;
    }
    buf_putc(&text, '}');
    return text.overflow ? NULL : arena_strdup(arena, buf_str(&text));
}

static void tensorflow(struct writer *w)
{
    const char *cluster = place_cache_get(w->place, w->arena, "dlc.cluster", make_cluster, w);
    if (cluster)
        pairs_setf(w->out, w->arena, "TF_CONFIG",
                   "%s,\"task\":{\"type\":\"%s\",\"index\":%u},\"environment\":\"cloud\"}", cluster,
                   w->job->roles[w->task->role].name, w->task->index);
    else
        place_leave_out(w->place, "TF_CONFIG");
}

/* What mpirun is told on the launcher of a job with workers: whom it may start on, and by what. Its
 * daemons keep their state in TMPDIR: see mpi.c. */
static void mpi(struct writer *w)
{
    static const struct pair launcher[] = {
        { .name = "OMPI_MCA_plm_rsh_agent", .value = DLC_MPI_AGENT }, /* OpenMPI up to 4 */
        { .name = "OMPI_MCA_orte_default_hostfile", .value = DLC_MPI_HOSTS },
        { .name = "PRTE_MCA_plm_ssh_agent", .value = DLC_MPI_AGENT }, /* OpenMPI 5 */
        { .name = "PRTE_MCA_prte_default_hostfile", .value = DLC_MPI_HOSTS },
        { .name = "I_MPI_HYDRA_BOOTSTRAP_EXEC", .value = DLC_MPI_AGENT },
        { .name = "I_MPI_HYDRA_HOST_FILE", .value = DLC_MPI_HOSTS },
        { .name = "HYDRA_LAUNCHER_EXEC", .value = DLC_MPI_AGENT },
        { .name = "HYDRA_HOST_FILE", .value = DLC_MPI_HOSTS },
    };
    if (w->place->n < 2)
        return;
    put(w, "TMPDIR", DLC_MPI_TMP);
    for (size_t i = 0; w->flat == 0 && i < ARRAY_LEN(launcher); i++)
        put(w, launcher[i].name, launcher[i].value);
}

static void ray(struct writer *w)
{
    put_master(w);
    put_number(w, "RAY_DASHBOARD_PORT", port_of(&w->place->tasks[0], DLC_DASHBOARD_PORT));
}

/* env NULL: by another convention of the job. reserved: a name that ends with * stands for all that
 * begin so. */
static const struct {
    const char *framework;
    void (*env)(struct writer *);
    const char *reserved[9];
} rows[] = {
    { "pytorch",
      pytorch,
      { "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "NPROC_PER_NODE", "JOB_NAME",
        "CUSTOM_PORTS" } },
    { "xgboost", ranked, { "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK" } },
    { "oneflow", ranked, { "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK" } },
    { "elasticbatch", elasticbatch, { "WORLD_SIZE", "RANK" } },
    { "tensorflow", tensorflow, { "TF_CONFIG" } },
    { "mpi", mpi, { "OMPI_MCA_plm_rsh_agent", "OMPI_MCA_orte_default_hostfile" } },
    { "ray", ray, { "MASTER_ADDR", "MASTER_PORT", "RAY_ADDRESS", "RAY_DASHBOARD_PORT" } },
    { "slurm", NULL, { "SLURM_*" } },
};

bool dlc_env_reserved(const struct dlc_type *type, const char *name)
{
    for (size_t i = 0; type->framework && i < ARRAY_LEN(rows); i++) {
        if (strcmp(rows[i].framework, type->framework) != 0)
            continue;
        for (const char *const *r = rows[i].reserved; *r; r++) {
            size_t len = strcspn(*r, "*");
            if ((*r)[len] ? strncmp(*r, name, len) == 0 : strcmp(*r, name) == 0)
                return true;
        }
    }
    return false;
}

void dlc_environment(struct arena *arena, const struct job_spec *job, const struct job_place *place,
                     uint32_t flat, const struct site *site, struct pairs *out)
{
    struct writer w = { .arena = arena,
                        .job = job,
                        .place = place,
                        .task = &place->tasks[flat],
                        .flat = flat,
                        .out = out };
    (void)site;
    for (size_t i = 0; job->framework && i < ARRAY_LEN(rows); i++)
        if (rows[i].env && strcmp(rows[i].framework, job->framework) == 0)
            rows[i].env(&w);
}
