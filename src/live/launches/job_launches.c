/* A placed job turned into what agents are told. Repeating a launch is harmless (same node,
 * generation and seq), so after a restart everything that has not reported its start is launched
 * again, from the same rows to the same launches. */
#include "live/launches/job_launches.h"

#include "dialect/place_cache.h"
#include "image/jobs/images.h"
#include "image/jobs/user_dirs.h"
#include "inventory/task_devices.h"
#include "live/launches/launch_files.h"
#include "live/row_json.h"
#include "secret/secrets.h"
#include "secret/token.h"
#include "source/archive.h"
#include "wire/message.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#include <sodium.h>
#include <string.h>
#include <unistd.h>

struct job_launches {
    struct arena *arena; /* in which all of it lies */
    struct live_job *job;
    struct job_place place;
    struct site site;
    struct site_record notes;
    const struct account *here; /* whose its files on this machine are; NULL: the server's own */
    const char *dir;            /* of the launch that is being made, as its tasks reach it */
    struct host_name *hosts;
    size_t n_hosts;
    struct hosts_text *hosts_text, *hosts_end; /* as agents are sent them: first and last part */
    uint32_t named_tasks;                      /* the first so many have their hosts there */
    const char *named; /* the node whose agent was last sent the hosts; NULL: none */
    const char *filed; /* the last node where the files lie; NULL: none */
};

/* ---- hosts ---- */

static bool host_text(const char *name)
{
    return *name &&
           name[strspn(
               name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")] == '\0';
}

static void add_host(struct job_launches *l, const char *address, const char *name)
{
    if (name && host_text(name))
        l->hosts[l->n_hosts++] = (struct host_name){ .address = address, .name = name };
}

/* role-index, role-index.job where the job's name can be one, and what each of the job's
 * conventions calls the task. */
static void name_task(struct job_launches *l, const struct launch_server *server,
                      const struct live_job *job, uint32_t flat)
{
    const struct task_place *place = &l->place.tasks[flat];
    const struct dialect_task task = {
        .job = job->spec, .place = &l->place, .flat = flat, .site = &l->site
    };
    if (!*place->address)
        return;
    const char *name =
        arena_printf(l->arena, "%s-%u", job->spec->roles[place->role].name, place->index);
    add_host(l, place->address, name);
    add_host(l, place->address, arena_printf(l->arena, "%s.%s", name, job->row.name));
    for (size_t i = 0; i < job->spec->conventions.n; i++)
        add_host(l, place->address, dialect_host(server->dialects, l->arena, &task, i));
}

/* All agents are sent the same: what was named since is written once. */
static void write_hosts(struct job_launches *l, size_t from)
{
    AUTO_BUF struct buf text = BUF_INIT(WIRE_MAX_FRAME);
    for (size_t i = from; i < l->n_hosts; i++)
        wire_put_host(&text, &l->hosts[i]);
    if (text.len == 0)
        return;
    struct hosts_text *part = ARENA_NEW(l->arena, struct hosts_text);
    char *at = arena_alloc(l->arena, text.len);
    memcpy(at, text.data, text.len);
    *part = (struct hosts_text){ .at = at, .len = text.len };
    if (l->hosts_end)
        l->hosts_end->next = part;
    else
        l->hosts_text = part;
    l->hosts_end = part;
}

void job_launches_name(struct job_launches *l, const struct launch_server *server, uint32_t n)
{
    size_t from = l->n_hosts;
    for (uint32_t i = 0; i < n && l->named_tasks < l->job->row.tasks; i++)
        name_task(l, server, l->job, l->named_tasks++);
    write_hosts(l, from);
}

/* ---- what all launches have alike ---- */

/* All its tasks, where they are; devices of those that are launched are added by make_task. */
static struct job_place whole_place(const struct live_job *job, struct arena *arena)
{
    struct job_place place = { .id = job->row.id,
                               .number = job->row.number,
                               .array = live_array_number(job),
                               .array_index = job->row.index,
                               .generation = job->row.generation,
                               .owner = job->row.owner,
                               .tasks = ARENA_ARRAY(arena, job->row.tasks, struct task_place),
                               .n = job->row.tasks,
                               .once = place_cache_create(arena) };
    for (uint32_t flat = 0; flat < job->row.tasks; flat++)
        place.tasks[flat] = job->tasks[flat].place;
    return place;
}

struct job_launches *job_launches_create(struct arena *arena, const struct launch_server *server,
                                         struct live_job *job, const char *site)
{
    struct job_launches *l = ARENA_NEW(arena, struct job_launches);
    *l = (struct job_launches){ .arena = arena, .job = job };
    row_json_read_site(arena, site, &l->notes);
    /* Nodes of an allocation have directories of their own. */
    l->here = job->notes.alone ? NULL : l->notes.account;
    l->site = (struct site){ .owner = job->row.owner,
                             .fs_uri = server->fs_uri,
                             .work_dir = l->notes.code_dir ? NULL : l->notes.work_dir,
                             .program = server->program,
                             .state_dir = server->state_dir };
    l->place = whole_place(job, arena);
    size_t names = 2 + job->spec->conventions.n;
    l->hosts = ARENA_ARRAY(arena, names * job->row.tasks, struct host_name);
    return l;
}

/* Kept for all launches (dialect/place_cache.h). */
void job_launches_make_files(struct job_launches *l, const struct launch_server *server)
{
    const struct dialect_task task = { .job = l->job->spec, .place = &l->place, .site = &l->site };
    size_t n;
    dialect_files(server->dialects, l->arena, &task, &n);
}

/* ---- what is left out ---- */

/* Found by one task of each role: it is the same for all of them. */
static const char *const *left_out(const struct launch_server *server, const struct live_job *job,
                                   struct arena *arena)
{
    const struct job_place place = whole_place(job, arena);
    const struct site site = { .owner = job->row.owner, .fs_uri = server->fs_uri };
    for (uint32_t flat = 0, role = UINT32_MAX; flat < place.n; flat++) {
        struct pairs env = { .n = 0 };
        const struct dialect_task task = {
            .job = job->spec, .place = &place, .flat = flat, .site = &site
        };
        if (place.tasks[flat].role != role)
            dialect_env(server->dialects, arena, &task, &env);
        role = place.tasks[flat].role;
    }
    return place_left_out(&place);
}

const char *launch_left_out(const struct launch_server *server, const struct live_job *job,
                            struct arena *arena)
{
    AUTO_BUF struct buf text = BUF_INIT(1024);
    for (const char *const *name = left_out(server, job, arena); *name; name++)
        buf_addf(&text, "%s%s", text.len ? ", " : "", *name);
    if (!text.len)
        return NULL;
    buf_puts(&text, " left out of the environment of its tasks: longer than a program can be "
                    "given");
    return arena_strdup(arena, buf_str(&text));
}

/* ---- one task ---- */

const char *launch_address(const struct launch_server *server, struct arena *arena,
                           const struct account *account)
{
    const char *socket =
        !account || account->ids.uid == geteuid() ? server->socket : server->public_socket;
    return socket ? arena_printf(arena, "unix:%s", socket) : server->address;
}

static void task_ports(struct arena *arena, const struct task_place *place,
                       struct launch_task *task)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < place->n_ports; i++)
        n += place->ports[i].count;
    task->ports = ARENA_ARRAY(arena, n, uint32_t);
    for (uint32_t i = 0; i < place->n_ports; i++)
        for (uint32_t k = 0; k < place->ports[i].count; k++)
            task->ports[task->n_ports++] = place->ports[i].numbers[k];
}

/* What the driver says now of the task's devices. */
static struct task_devices add_devices(struct job_launches *l, const struct launch_server *server,
                                       const struct task_place *place, uint32_t flat)
{
    struct task_devices devices = devices_of_task(server->cluster, l->arena, place);
    struct task_place *named = &l->place.tasks[flat];
    named->gpus = devices.numbers;
    named->gpu_names = devices.names;
    named->gpus_declared = devices.hold == GPU_GRANT_NONE;
    return devices;
}

static struct launch_task make_task(struct job_launches *l, const struct launch_server *server,
                                    const struct live_job *job, struct arena *arena, uint32_t flat)
{
    const struct task_place *place = &job->tasks[flat].place;
    const struct task_devices devices = add_devices(l, server, place, flat);
    const struct role *role = &job->spec->roles[place->role];
    const struct job_spec *spec = job->spec;
    struct launch_task task = {
        .ref = { .role = (uint16_t)place->role, .index = place->index },
        .role = role->name,
        .attempt = job->tasks[flat].attempt,
        .image = images_of_launch(job, arena, role),
        .run = role->run,
        .argv = role->python ? job_entry(arena, role) : role->argv,
        .gpus = devices.minors,
        .n_gpus = place->n_gpus,
        .parts = devices.parts,
        .gpu_hold = devices.hold,
        .cpu_milli = role->resources.cpu_milli,
        .memory = role->resources.memory,
        .shm = role->resources.shm,
        .gpu_milli = role->resources.gpu_milli,
        .cores = spec->placing.pin_cpus ? (uint32_t)((role->resources.cpu_milli + 999) / 1000) : 0,
        .pids = server->task_pids,
        .hold_failed = spec->health.debug_hold || spec->limits.hold_ms > 0,
        .open_stdin = role->open_stdin,
        .tty = role->tty,
    };
    struct dialect_task as_placed = {
        .job = spec, .place = &l->place, .flat = flat, .site = &l->site
    };
    dialect_env(server->dialects, arena, &as_placed, &task.env);
    const struct task_host host = { .dialects = server->dialects,
                                    .server = launch_address(server, arena, l->here),
                                    .torchrun = server->torchrun,
                                    .gpu_memory = devices.memory,
                                    .gpu_mps =
                                        devices_mps(server->gpu_mps, arena, l->notes.account) };
    task_env(&host, arena, &as_placed, &task.env);
    token_put_own(server->key, job, arena, &task.env);
    if (spec->config)
        pairs_setf(&task.env, arena, "MUSTER_CONFIG", "%s/%s", l->dir, LAUNCH_CONFIG);
    task_ports(arena, place, &task);
    return task;
}

/* ---- one launch ---- */

/* The server's own may lie where only the server's user comes. */
static const char *usual_python(const struct launch_server *server, const struct account *account)
{
    const char *python = server->python;
    AS_FS_USER(account_files(account));
    return !account || !python || file_can_read(python) ? python : "/usr/bin/python3";
}

/* Code that came as an archive is unpacked for each agent, in a directory of the account's. */
static void add_archive(struct job_launches *l, const struct launch_server *server,
                        const struct live_job *job, struct arena *arena, struct launch *launch)
{
    const char *archive = job->spec->inputs.code.archive;
    if (!archive)
        return;
    launch->archive = archive_path(server->state_dir, arena, archive);
    launch->work_dir = l->site.work_dir = arena_printf(arena, "%s/code", launch->user_dir);
}

/* Hosts are long: an agent that was sent some keeps them when a launch has none. It is sent them
 * with the first launch of a round, and with the last, because it passes over launches that it had
 * from a round before. */
static void add_hosts(struct job_launches *l, const struct launch_share *share,
                      struct launch *launch)
{
    const char *node = share->due->node;
    if (!share->last && l->named && strcmp(l->named, node) == 0)
        return;
    launch->hosts = l->hosts;
    launch->n_hosts = l->n_hosts;
    launch->hosts_text = l->hosts_text;
    l->named = node;
}

static struct launch begin(struct job_launches *l, const struct launch_server *server,
                           const struct live_job *job, const struct launch_share *share,
                           struct arena *arena)
{
    const struct launch_due *due = share->due;
    const unsigned long long number = job->row.number;
    const struct inputs *inputs = &job->spec->inputs;
    const struct account *here = l->here;
    const struct user_dirs dirs = { server->state_dir, server->users_dir };
    AUTO_FREE char *dir = launch_dir(server->runs_dir, number, job->row.generation, due->node);
    const char *own = arena_strdup(arena, dir);
    return (struct launch){
        .generation = { .job = job->row.id, .number = job->row.generation },
        .seq = due->seq,
        .node = due->node,
        .job_name = job->row.name,
        .job_number = number,
        .dir = own,
        .user_dir = here ? arena_printf(arena, "%s/jobs/%llu/g%u/%s", server->users_dir, number,
                                        job->row.generation, due->node)
                         : own,
        .account = l->notes.account,
        .sandbox = server->sandbox,
        .work_dir = l->site.work_dir,
        .code_dir = inputs->code.path ? NULL : l->notes.code_dir,
        .code_limit = inputs->code.limit,
        .output_dir = l->notes.output_dir,
        .python =
            inputs->interpreter ? inputs->interpreter : usual_python(server, l->notes.account),
        .pip = inputs->python,
        .packages = here ? arena_printf(arena, "%s/packages/%u", server->users_dir, here->ids.uid)
                         : arena_printf(arena, "%s/packages", server->state_dir),
        .images = user_dirs_images(&dirs, arena, here),
        .images_size = server->images_size,
        .requirements = inputs->requirements,
        .grace_ms = job->spec->limits.grace_ms,
        .log_head = server->log_head,
        .log_tail = server->log_tail,
        .tasks = ARENA_ARRAY(arena, share->n, struct launch_task),
        .n_tasks = share->n,
    };
}

/* Where the key file is another than when the agent was started its own copy holds. */
static void add_token(const struct launch_server *server, const struct live_job *job,
                      struct launch *launch)
{
    const struct live_agent *agent = live_agent(job, launch->node);
    unsigned char hash[32];
    token_derive(server->key, job, launch->node, launch->token);
    token_hash(launch->token, hash);
    if (agent && memcmp(hash, agent->token_hash, sizeof hash) != 0)
        sodium_memzero(launch->token, sizeof launch->token);
}

/* Do the files of a launch lie there, by an earlier one? They are the same. */
static bool has_files(const struct job_launches *l, const char *node)
{
    return l->filed && strcmp(l->filed, node) == 0;
}

int job_launch_make(struct job_launches *l, const struct launch_server *server,
                    const struct launch_share *share, struct arena *arena, struct launch *out,
                    struct err *err)
{
    struct live_job *job = l->job;
    const char *node = share->due->node;
    *out = begin(l, server, job, share, arena);
    l->dir = out->user_dir;
    add_archive(l, server, job, arena, out);
    add_hosts(l, share, out);
    add_token(server, job, out);
    for (size_t i = 0; i < share->n; i++)
        out->tasks[i] = make_task(l, server, job, arena, share->due[i].flat);
    images_add_to_launch(server->images, job, arena, out);
    const struct launch_files files = {
        .job = { .job = job->spec, .place = &l->place, .site = &l->site },
        .account = l->here,
        .code_dir = l->notes.code_dir,
        .work_dir = l->notes.work_dir,
        .there = has_files(l, node),
    };
    if (launch_files_make_dirs(server, l->here, out, err) ||
        secrets_add(server->secrets, job, arena, out, err) ||
        launch_files_add(server, &files, arena, out, err))
        return -1;
    l->filed = node;
    return 0;
}

void job_launch_wipe(struct launch *launch, struct arena *arena)
{
    sodium_memzero(launch->token, sizeof launch->token);
    secrets_wipe(launch);
    if (launch->n_secrets)
        arena_wipe(arena);
}

/* ---- of an engine that runs nothing ---- */

struct launch job_launch_numbers(const struct live_job *job, const struct launch_share *share,
                                 struct arena *arena)
{
    const struct launch_due *due = share->due;
    struct launch launch = {
        .generation = { .job = job->row.id, .number = job->row.generation },
        .seq = due->seq,
        .node = due->node,
        .job_name = job->row.name,
        .job_number = job->row.number,
        .grace_ms = job->spec->limits.grace_ms,
        .tasks = ARENA_ARRAY(arena, share->n, struct launch_task),
        .n_tasks = share->n,
    };
    for (size_t i = 0; i < share->n; i++) {
        const struct live_task *task = &job->tasks[due[i].flat];
        const struct role *role = &job->spec->roles[task->place.role];
        launch.tasks[i] = (struct launch_task){
            .ref = { .role = (uint16_t)task->place.role, .index = task->place.index },
            .role = role->name,
            .attempt = task->attempt,
            .gpus = task->place.gpus,
            .n_gpus = task->place.n_gpus,
            .cpu_milli = role->resources.cpu_milli,
            .memory = role->resources.memory,
            .gpu_milli = role->resources.gpu_milli,
        };
    }
    return launch;
}
