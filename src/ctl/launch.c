/* A placed job turned into what agents are told: complete shares of a generation, environment and
 * names included. Repeating a launch is harmless (same node, generation and seq), so after a
 * restart everything that has not reported its start is launched again. */
#include "ctl/core.h"
#include "image/jobs/images.h"
#include "inventory/left_devices.h"
#include "inventory/task_devices.h"
#include "live/row_json.h"
#include "rdzv/jobs/launcher_events.h"
#include "secret/secrets.h"
#include "source/archive.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "ctl/slices.h"
#include "dialect/place_cache.h"
#include "image/jobs/user_dirs.h"
#include "text/json.h"
#include "wire/message.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAX   8 /* of one convention */
#define CONFIG_FILE "config.json"
#define CONFIG_MAX  (16u << 20)

/* ---- identity ---- */

static char *user_dir(const struct ctl *ctl, const struct live_job *job, const char *node)
{
    return mem_printf("%s/jobs/%llu/g%u/%s", ctl->config.users_dir,
                      (unsigned long long)job->row.number, job->row.generation, node);
}

static struct user_dirs dirs_of(const struct ctl *ctl)
{
    return (struct user_dirs){ ctl->config.state_dir, ctl->config.users_dir };
}

/* What the tasks make lies where their account can reach it, apart from the server's own. */
static int make_user_dir(const struct ctl *ctl, const struct account *account,
                         const struct launch *launch, struct err *err)
{
    char number[24], uid[16];
    const struct user_dirs dirs = dirs_of(ctl);
    if (!account)
        return 0;
    AUTO_FREE char *jobs = file_join(ctl->config.users_dir, "jobs");
    AUTO_FREE char *packages = file_join(ctl->config.users_dir, "packages");
    snprintf(number, sizeof number, "%llu", (unsigned long long)launch->job_number);
    snprintf(uid, sizeof uid, "%u", account->ids.uid);
    if (file_mkdirs(ctl->config.users_dir, 0711, err) < 0 ||
        user_dirs_give(jobs, number, account, err) < 0 ||
        user_dirs_give(packages, uid, account, err) < 0 ||
        user_dirs_make_images(&dirs, account, err) < 0)
        return -1;
    AS_FS_USER(&account->ids);
    if (file_mkdirs(launch->user_dir, 0700, err) == 0)
        return 0;
    err_in(err, "for jobs of %s", account->name);
    return err_hint(err, "every directory above it has to let others through; the setting "
                         "users_dir names another place");
}

/* ---- one round of launches of one job ---- */

struct due {
    const char *node;
    uint32_t seq, flat;
};

struct round {
    struct arena *arena; /* of the round, which lies in it */
    uint32_t generation;
    struct job_place place;
    struct site site;
    struct site_record notes;
    const struct account *here; /* whose its files on this machine are; NULL: the server's own */
    const char *dir;            /* of the launch that is being made, as its tasks reach it */
    struct host_name *hosts;
    size_t n_hosts;
    struct hosts_text *hosts_text, *hosts_end; /* as agents are sent them: first and last part */
    uint32_t named_tasks;                      /* the first so many have their hosts there */
    struct due *due;    /* by node, then in the order in which its agent takes launches */
    size_t n, next;     /* next: the first of which the engine was not told yet */
    size_t coming;      /* agents that are still to be started for it */
    const char *named;  /* the node whose agent was last sent the hosts; NULL: none */
    const char *filed;  /* the last node where the files lie; NULL: none */
    bool made_files;    /* their texts */
    bool numbers, late; /* late: some launches wait */
};

static int by_launch(const void *a, const void *b)
{
    const struct due *x = a, *y = b;
    int order = x->node == y->node ? 0 : strcmp(x->node, y->node);
    if (order == 0)
        order = (x->seq > y->seq) - (x->seq < y->seq);
    return order ? order : (x->flat > y->flat) - (x->flat < y->flat);
}

static bool host_text(const char *name)
{
    return *name &&
           name[strspn(
               name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")] == '\0';
}

static void add_host(struct round *round, const char *address, const char *name)
{
    if (name && host_text(name))
        round->hosts[round->n_hosts++] = (struct host_name){ .address = address, .name = name };
}

/* role-index, role-index.job where the job's name can be one, and what each of the job's
 * conventions calls the task. */
static void name_task(const struct ctl *ctl, const struct live_job *job, struct round *round,
                      uint32_t flat)
{
    const struct task_place *place = &round->place.tasks[flat];
    const struct dialect_task task = {
        .job = job->spec, .place = &round->place, .flat = flat, .site = &round->site
    };
    if (!*place->address)
        return;
    const char *name =
        arena_printf(round->arena, "%s-%u", job->spec->roles[place->role].name, place->index);
    add_host(round, place->address, name);
    add_host(round, place->address, arena_printf(round->arena, "%s.%s", name, job->row.name));
    for (size_t i = 0; i < job->spec->conventions.n; i++)
        add_host(round, place->address, dialect_host(ctl->config.dialects, round->arena, &task, i));
}

/* All agents are sent the same: what was named since is written once. */
static void write_hosts(struct round *round, size_t from)
{
    AUTO_BUF struct buf text = BUF_INIT(WIRE_MAX_FRAME);
    for (size_t i = from; i < round->n_hosts; i++)
        wire_put_host(&text, &round->hosts[i]);
    if (text.len == 0)
        return;
    struct hosts_text *part = ARENA_NEW(round->arena, struct hosts_text);
    char *at = arena_alloc(round->arena, text.len);
    memcpy(at, text.data, text.len);
    *part = (struct hosts_text){ .at = at, .len = text.len };
    if (round->hosts_end)
        round->hosts_end->next = part;
    else
        round->hosts_text = part;
    round->hosts_end = part;
}

/* Of all tasks, a slice at a time. */
static void name_hosts(struct ctl *ctl, const struct live_job *job, struct round *round)
{
    size_t from = round->n_hosts;
    for (; round->named_tasks < job->row.tasks && ctl->slices.hosts > 0; round->named_tasks++) {
        slices_spend(&ctl->slices.hosts, 1);
        if (!round->numbers)
            name_task(ctl, job, round, round->named_tasks);
    }
    write_hosts(round, from);
}

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

static int round_init(struct ctl *ctl, struct live_job *job, struct round *round)
{
    struct job_row row;
    if (core_row(ctl, round->arena, job->row.id, &row))
        return -1;
    row_json_read_site(round->arena, row.site, &round->notes);
    /* Nodes of an allocation have directories of their own. */
    round->here = job->notes.alone ? NULL : round->notes.account;
    round->site = (struct site){ .owner = job->row.owner,
                                 .fs_uri = ctl->config.fs_uri,
                                 .work_dir = round->notes.code_dir ? NULL : round->notes.work_dir,
                                 .program = ctl->config.program,
                                 .state_dir = ctl->config.state_dir };
    round->place = whole_place(job, round->arena);
    size_t names = 2 + job->spec->conventions.n;
    round->hosts = ARENA_ARRAY(round->arena, names * job->row.tasks, struct host_name);
    return 0;
}

/* ---- what is left out ---- */

#define LISTS_SHORT 64 /* lists of so many tasks always fit */

/* Found by one task of each role: it is the same for all of them. */
static const char *const *left_out(const struct ctl *ctl, const struct live_job *job,
                                   struct arena *arena)
{
    const struct job_place place = whole_place(job, arena);
    const struct site site = { .owner = job->row.owner, .fs_uri = ctl->config.fs_uri };
    for (uint32_t flat = 0, role = UINT32_MAX; flat < place.n; flat++) {
        struct pairs env = { .n = 0 };
        const struct dialect_task task = {
            .job = job->spec, .place = &place, .flat = flat, .site = &site
        };
        if (place.tasks[flat].role != role)
            dialect_env(ctl->config.dialects, arena, &task, &env);
        role = place.tasks[flat].role;
    }
    return place_left_out(&place);
}

void launch_say_left_out(struct ctl *ctl, const struct live_job *job)
{
    if (job->row.tasks <= LISTS_SHORT || !ctl->config.dialects)
        return;
    struct arena *arena = arena_create();
    AUTO_BUF struct buf text = BUF_INIT(1024);
    for (const char *const *name = left_out(ctl, job, arena); *name; name++)
        buf_addf(&text, "%s%s", text.len ? ", " : "", *name);
    if (text.len) {
        buf_puts(&text, " left out of the environment of its tasks: longer than a program can be "
                        "given");
        event_note(ctl, &(struct launcher_event){ .job = job->row.id, .text = buf_str(&text) },
                   "environment");
    }
    arena_destroy(arena);
}

/* ---- one task ---- */

const char *launch_server(const struct ctl *ctl, struct arena *arena, const struct account *account)
{
    const char *socket =
        !account || account->ids.uid == geteuid() ? ctl->config.socket : ctl->config.public_socket;
    return socket ? arena_printf(arena, "unix:%s", socket) : ctl->address;
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
static struct task_devices add_devices(const struct ctl *ctl, const struct round *round,
                                       const struct task_place *place, uint32_t flat)
{
    struct task_devices devices = devices_of_task(ctl->cluster, round->arena, place);
    struct task_place *named = &round->place.tasks[flat];
    named->gpus = devices.numbers;
    named->gpu_names = devices.names;
    named->gpus_declared = devices.hold == GPU_GRANT_NONE;
    return devices;
}

static struct launch_task make_task(const struct ctl *ctl, const struct live_job *job,
                                    const struct round *round, struct arena *arena, uint32_t flat)
{
    const struct task_place *place = &job->tasks[flat].place;
    const struct task_devices devices = add_devices(ctl, round, place, flat);
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
        .pids = ctl->config.task_pids,
        .hold_failed = spec->health.debug_hold || spec->limits.hold_ms > 0,
        .open_stdin = role->open_stdin,
        .tty = role->tty,
    };
    struct dialect_task as_placed = {
        .job = spec, .place = &round->place, .flat = flat, .site = &round->site
    };
    dialect_env(ctl->config.dialects, arena, &as_placed, &task.env);
    const struct task_host host = { .dialects = ctl->config.dialects,
                                    .server = launch_server(ctl, arena, round->here),
                                    .torchrun = ctl->config.torchrun,
                                    .gpu_memory = devices.memory,
                                    .gpu_mps = devices_mps(ctl->config.gpu_mps, arena,
                                                           round->notes.account) };
    task_env(&host, arena, &as_placed, &task.env);
    token_put_own(ctl->key, job, arena, &task.env);
    if (spec->config)
        pairs_setf(&task.env, arena, "MUSTER_CONFIG", "%s/%s", round->dir, CONFIG_FILE);
    task_ports(arena, place, &task);
    return task;
}

/* ---- one launch ---- */

static int add_mounts(const struct ctl *ctl, const struct live_job *job, const struct round *round,
                      struct arena *arena, struct launch *launch, struct err *err)
{
    const struct inputs *inputs = &job->spec->inputs;
    const struct storage storage = core_storage(ctl, round->notes.work_dir);
    launch->mounts = ARENA_ARRAY(arena, inputs->n_data + 1 + FILES_MAX, struct bind_mount);
    for (size_t i = 0; i < inputs->n_data; i++) {
        const struct mount *mount = &inputs->data[i];
        const char *from = storage_map(&storage, arena, mount->from, err);
        if (!from)
            return err_in(err, "inputs.data[%zu]", i);
        launch->mounts[launch->n_mounts++] =
            (struct bind_mount){ .from = from, .at = mount->at, .read_only = mount->read_only };
    }
    if (inputs->code.path && round->notes.code_dir)
        launch->mounts[launch->n_mounts++] = (struct bind_mount){ .from = round->notes.code_dir,
                                                                  .at = inputs->code.path,
                                                                  .read_only = true,
                                                                  .is_code = true };
    return 0;
}

/* For whatever user the tasks run as. */
static int make_open_folder(const char *path, struct err *err)
{
    if (file_mkdirs(path, 0700, err) < 0)
        return -1;
    return chmod(path, 01777) == 0 ? 0 : err_sys(err, "%s", path);
}

/* Do the files of a launch lie there, by an earlier one of this round? They are the same. */
static bool has_files(const struct round *round, const char *node)
{
    return round->filed && strcmp(round->filed, node) == 0;
}

static int write_file(const struct dialect_file *file, const char *path, struct err *err)
{
    return file->text ? file_replace(path, file->text, strlen(file->text),
                                     file->program ? 0755 : 0644, err)
                      : make_open_folder(path, err);
}

/* Files of the job's conventions lie beside the launch and are mounted at their places. */
static int add_files(const struct ctl *ctl, const struct live_job *job, const struct round *round,
                     struct arena *arena, struct launch *launch, struct err *err)
{
    const struct dialect_task task = { .job = job->spec,
                                       .place = &round->place,
                                       .site = &round->site };
    size_t n;
    const struct dialect_file *files = dialect_files(ctl->config.dialects, arena, &task, &n);
    if (n > FILES_MAX)
        BUG("a convention with %zu files", n);
    bool there = has_files(round, launch->node);
    if (n > 0 && !there && file_mkdirs(launch->dir, 0700, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const char *name = strrchr(files[i].path, '/') + 1;
        const char *from = arena_printf(arena, "%s/file-%s", launch->dir, name);
        if (!there && write_file(&files[i], from, err) < 0)
            return -1;
        launch->mounts[launch->n_mounts++] = (struct bind_mount){
            .from = from, .at = files[i].path, .read_only = files[i].text != NULL
        };
    }
    return 0;
}

#define LATER_MS 1000ull

#define AGENTS_OF_SLICE 4u /* started in one turn: one takes a millisecond or two to fork */

struct share { /* of a round, for one launch */
    const struct due *due;
    size_t n;
    bool last; /* of its node */
};

static void launch_later(struct ctl *ctl, struct live_job *job, const struct share *share)
{
    uint64_t at = core_now(ctl) + LATER_MS;
    for (size_t i = 0; i < share->n; i++) {
        struct live_task *task = &job->tasks[share->due[i].flat];
        live_set_phase(job, task, phase_told(task->phase) ? PHASE_RELAUNCH_LATER : PHASE_POSTPONED);
    }
    ctl->relaunch_at = ctl->relaunch_at && ctl->relaunch_at < at ? ctl->relaunch_at : at;
    core_wake(ctl, ctl->relaunch_at);
}

/* May the engine know of an agent there, by an earlier launch? */
static bool was_told(const struct live_job *job, const char *node)
{
    for (uint32_t flat = 0; flat < job->row.tasks; flat++)
        if (phase_told(job->tasks[flat].phase) && strcmp(job->tasks[flat].place.node, node) == 0)
            return true;
    return false;
}

static void report_failure(struct ctl *ctl, struct live_job *job, const struct due *due, size_t n,
                           const struct err *err)
{
    struct generation generation = { .job = job->row.id, .number = job->row.generation };
    struct live_agent *agent = live_agent(job, due->node);
    bool unknown = agent && agent->state == AGENT_EXPECTED && agent->last_seq == 0 &&
                   !was_told(job, due->node);
    log_warn("engine.start", "job=%llu node=%s: %s", (unsigned long long)job->row.number, due->node,
             err->what);
    for (size_t i = 0; i < n; i++) {
        const struct live_task *task = &job->tasks[due[i].flat];
        struct engine_fact fact = {
            .kind = FACT_REFUSED,
            .generation = generation,
            .node = due->node,
            .task = { .role = (uint16_t)task->place.role, .index = task->place.index },
            .attempt = task->attempt,
            .ending = { .by = err->code == ERR_INPUT ? BY_ITSELF : BY_PLATFORM,
                        .cause = err->code == ERR_FULL ? CAUSE_NODE_FULL : CAUSE_NONE },
            .remark = err->what,
        };
        facts_hear(ctl, &fact);
    }
    struct engine_fact gone = {
        .kind = FACT_AGENT_GONE, .generation = generation, .node = due->node, .reason = err->what
    };
    if (unknown)
        agent->launched = false;
    if (unknown && due->seq == agent->launch_seq)
        facts_hear(ctl, &gone);
}

/* The engine took the launch, or did not. What was launched before may run: when the launch is
 * repeated and fails, it is made again later, and an agent that is gone is reported by the engine.
 * false: later, and so is what else is due on that node, because agents take launches in order. */
static bool launched(struct ctl *ctl, struct live_job *job, const struct share *share, int rc,
                     struct err *err)
{
    bool failed = taped_outside(ctl, OUTSIDE_LAUNCH, rc, err);
    if (failed && phase_told(job->tasks[share->due->flat].phase)) {
        log_warn("engine.again", "job=%llu node=%s: %s", (unsigned long long)job->row.number,
                 share->due->node, err->what);
        return false;
    }
    if (failed)
        report_failure(ctl, job, share->due, share->n, err);
    for (size_t i = 0; i < share->n; i++)
        live_set_phase(job, &job->tasks[share->due[i].flat],
                       failed ? PHASE_REFUSED : PHASE_LAUNCHED);
    return true;
}

/* The job's own settings lie beside the launch, for the tasks to read. */
static int add_config(const struct job_spec *spec, const struct account *account,
                      const struct launch *launch, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(CONFIG_MAX);
    AUTO_FREE char *path = file_join(launch->user_dir, CONFIG_FILE);
    if (!spec->config)
        return 0;
    json_print(spec->config, 0, &text);
    if (text.overflow)
        return err_set(err, ERR_CANNOT, "config: more than 16 MiB");
    AS_FS_USER(account_files(account));
    if (file_mkdirs(launch->user_dir, 0700, err) < 0)
        return -1;
    return file_replace(path, text.data, text.len, 0600, err);
}

/* The server's own may lie where only the server's user comes. */
static const char *usual_python(const struct ctl *ctl, const struct account *account)
{
    const char *python = ctl->config.python;
    AS_FS_USER(account_files(account));
    return !account || !python || file_can_read(python) ? python : "/usr/bin/python3";
}

/* Code that came as an archive is unpacked for each agent, in a directory of the account's. */
static void add_archive(const struct ctl *ctl, const struct live_job *job, struct round *round,
                        struct arena *arena, struct launch *launch)
{
    const char *archive = job->spec->inputs.code.archive;
    if (!archive)
        return;
    launch->archive = archive_path(ctl->config.state_dir, arena, archive);
    launch->work_dir = round->site.work_dir = arena_printf(arena, "%s/code", launch->user_dir);
}

/* Hosts are long: an agent that was sent some keeps them when a launch has none. It is sent them
 * with the first launch of a round, and with the last, because it passes over launches that it had
 * from a round before. */
static void add_hosts(struct round *round, const struct share *share, struct launch *launch)
{
    const char *node = share->due->node;
    if (!share->last && round->named && strcmp(round->named, node) == 0)
        return;
    launch->hosts = round->hosts;
    launch->n_hosts = round->n_hosts;
    launch->hosts_text = round->hosts_text;
    round->named = node;
}

static void note_told(struct live_agent *agent)
{
    if (!agent)
        return;
    agent->launched = true;
    agent->unheard = false;
}

static bool start(struct ctl *ctl, struct live_job *job, struct round *round,
                  const struct share *share)
{
    const struct due *due = share->due;
    const size_t n = share->n;
    struct arena *arena = arena_create();
    AUTO_FREE char *dir =
        launch_dir(ctl->config.runs_dir, job->row.number, job->row.generation, due->node);
    AUTO_FREE char *theirs = user_dir(ctl, job, due->node);
    const struct inputs *inputs = &job->spec->inputs;
    const struct account *here = round->here;
    const struct user_dirs dirs = dirs_of(ctl);
    struct launch launch = {
        .generation = { .job = job->row.id, .number = job->row.generation },
        .seq = due->seq,
        .node = due->node,
        .job_name = job->row.name,
        .job_number = job->row.number,
        .dir = dir,
        .user_dir = here ? theirs : dir,
        .account = round->notes.account,
        .sandbox = ctl->config.sandbox,
        .work_dir = round->site.work_dir,
        .code_dir = inputs->code.path ? NULL : round->notes.code_dir,
        .code_limit = inputs->code.limit,
        .output_dir = round->notes.output_dir,
        .python =
            inputs->interpreter ? inputs->interpreter : usual_python(ctl, round->notes.account),
        .pip = inputs->python,
        .packages =
            here ? arena_printf(arena, "%s/packages/%u", ctl->config.users_dir, here->ids.uid)
                 : arena_printf(arena, "%s/packages", ctl->config.state_dir),
        .images = user_dirs_images(&dirs, arena, here),
        .images_size = ctl->config.images_size,
        .requirements = inputs->requirements,
        .grace_ms = job->spec->limits.grace_ms,
        .log_head = ctl->config.log_head,
        .log_tail = ctl->config.log_tail,
        .tasks = ARENA_ARRAY(arena, n, struct launch_task),
        .n_tasks = n,
    };
    struct live_agent *agent = live_agent(job, due->node);
    unsigned char hash[32];
    struct err err = { 0 };
    round->dir = launch.user_dir;
    add_archive(ctl, job, round, arena, &launch);
    add_hosts(round, share, &launch);
    token_derive(ctl->key, job, due->node, launch.token);
    token_hash(launch.token, hash);
    if (agent && memcmp(hash, agent->token_hash, sizeof hash) != 0)
        sodium_memzero(
            launch.token,
            sizeof launch.token); /* the key file is another: the agent's own copy holds */
    for (size_t i = 0; i < n; i++)
        launch.tasks[i] = make_task(ctl, job, round, arena, due[i].flat);
    images_add_to_launch(ctl->images, job, arena, &launch);
    note_told(agent);
    int rc = make_user_dir(ctl, here, &launch, &err) ||
                     secrets_add(ctl->secrets, job, arena, &launch, &err) ||
                     add_mounts(ctl, job, round, arena, &launch, &err) ||
                     add_files(ctl, job, round, arena, &launch, &err) ||
                     (!has_files(round, due->node) && add_config(job->spec, here, &launch, &err))
                 ? -1
                 : 0;
    if (rc == 0) {
        round->filed = due->node;
        rc = ctl->config.engine->ops->start(ctl->config.engine, &launch, &err);
    }
    bool taken = launched(ctl, job, share, rc, &err);
    sodium_memzero(launch.token, sizeof launch.token);
    secrets_wipe(&launch);
    if (launch.n_secrets)
        arena_wipe(arena);
    arena_destroy(arena);
    return taken;
}

/* For an engine that runs nothing: which tasks, where, and what they hold. */
static bool start_numbers(struct ctl *ctl, struct live_job *job, struct round *round,
                          const struct share *share)
{
    const struct due *due = share->due;
    const size_t n = share->n;
    struct launch launch = {
        .generation = { .job = job->row.id, .number = job->row.generation },
        .seq = due->seq,
        .node = due->node,
        .job_name = job->row.name,
        .job_number = job->row.number,
        .grace_ms = job->spec->limits.grace_ms,
        .tasks = ARENA_ARRAY(round->arena, n, struct launch_task),
        .n_tasks = n,
    };
    struct live_agent *agent = live_agent(job, due->node);
    struct err err = { 0 };
    for (size_t i = 0; i < n; i++) {
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
    note_told(agent);
    int rc = ctl->config.engine->ops->start(ctl->config.engine, &launch, &err);
    return launched(ctl, job, share, rc, &err);
}

/* Does an earlier launch for that agent wait? The agent takes launches in order, and would pass
 * over it after another one. */
static bool agent_waits(const struct live_job *job, const char *node)
{
    for (uint32_t flat = 0; flat < job->row.tasks; flat++)
        if (phase_postponed(job->tasks[flat].phase) &&
            strcmp(job->tasks[flat].place.node, node) == 0)
            return true;
    return false;
}

/* ---- room in the engine ---- */

/* Places of the round that have no agent yet. Its launches are in order of their nodes. */
static size_t new_agents(const struct live_job *job, const struct round *round)
{
    size_t n = 0;
    for (size_t i = 0; i < round->n; i++) {
        if (i > 0 && strcmp(round->due[i].node, round->due[i - 1].node) == 0)
            continue;
        const struct live_agent *agent = live_agent(job, round->due[i].node);
        n += !agent || !agent->launched;
    }
    return n;
}

/* All of them or none, so that no two jobs wait for each other's; who can never have all is told so
 * by the engine. */
static bool has_room(const struct ctl *ctl, const struct live_job *job, const struct round *round)
{
    const struct engine *engine = ctl->config.engine;
    size_t all, wanted = new_agents(job, round);
    if (!engine->ops->room || wanted == 0)
        return true;
    size_t room = engine->ops->room(engine, &all), coming = ctl->slices.coming;
    return wanted + coming <= room || wanted > all;
}

static void hold_for_room(struct ctl *ctl, struct live_job *job)
{
    for (size_t i = 0; i < ctl->held_back.n; i++)
        if (ctl->held_back.at[i] == job->row.id)
            return;
    vec_push(&ctl->held_back, job->row.id);
    event_say(job, &(struct reason){ .kind = REASON_AGENT_ROOM });
    log_info("launch.waits", "job=%llu note=\"the limit of open files has no room for its agents\"",
             (unsigned long long)job->row.number);
}

/* All of its launches or none: a gang whose devices are taken back begins anew as a whole. Looks
 * (left_devices.c) and answers of registries (images.c) go on with it. */
static bool hold_for_answers(struct ctl *ctl, struct live_job *job)
{
    const char *why = device_check_wait(ctl->left_devices, ctl->scratch, job);
    if (!why)
        why = images_wait(ctl->images, job);
    if (why)
        event_say(job, &(struct reason){ .kind = REASON_SAID, .text = why });
    return why != NULL;
}

void launch_held_back(struct ctl *ctl)
{
    for (size_t i = 0; i < ctl->held_back.n; i++) {
        struct live_job *job = live_find(ctl->live, ctl->held_back.at[i]);
        if (job)
            core_touch(ctl, job);
    }
    vec_clear(&ctl->held_back);
}

/* ---- the round, a slice at a time ---- */

static bool of_one_launch(const struct due *a, const struct due *b)
{
    return a->seq == b->seq && strcmp(a->node, b->node) == 0;
}

/* Kept for all launches (dialect/place_cache.h). */
static void make_files(const struct ctl *ctl, const struct live_job *job, struct round *round)
{
    const struct dialect_task task = { .job = job->spec,
                                       .place = &round->place,
                                       .site = &round->site };
    size_t n;
    round->made_files = true;
    if (!round->numbers)
        dialect_files(ctl->config.dialects, round->arena, &task, &n);
}

/* What names all tasks takes long for many: that is made in turns of its own. false: it goes on
 * with the next tick. */
static bool prepare(struct ctl *ctl, const struct live_job *job, struct round *round)
{
    bool large = job->row.tasks > SLICE_HOSTS * slices_size(ctl);
    if (round->named_tasks < job->row.tasks) {
        name_hosts(ctl, job, round);
        if (large || round->named_tasks < job->row.tasks)
            return false;
    }
    if (large && !round->made_files) {
        make_files(ctl, job, round);
        return false;
    }
    return true;
}

static void find_due(const struct live_job *job, struct round *round)
{
    round->due = ARENA_ARRAY(round->arena, job->row.tasks, struct due);
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        if (live_due(task))
            round->due[round->n++] =
                (struct due){ .node = task->place.node, .seq = task->seq, .flat = flat };
    }
    qsort(round->due, round->n, sizeof *round->due, by_launch);
}

static void round_begin(struct ctl *ctl, struct live_job *job)
{
    const struct engine *engine = ctl->config.engine;
    struct arena *arena = arena_create();
    struct round *round = ARENA_NEW(arena, struct round);
    *round = (struct round){ .arena = arena, .generation = job->row.generation };
    round->numbers = engine->ops->caps(engine) & ENGINE_NUMBERS || taped_replays(ctl);
    find_due(job, round);
    bool held = hold_for_answers(ctl, job), room = round->numbers || has_room(ctl, job, round);
    if (!held && !room)
        hold_for_room(ctl, job);
    if (held || !room || (!round->numbers && round_init(ctl, job, round))) {
        arena_destroy(arena);
        return;
    }
    round->coming = new_agents(job, round);
    ctl->slices.coming += round->coming;
    job->round = round;
    job->launching = arena;
}

void launch_drop(struct ctl *ctl, struct live_job *job)
{
    if (!job->round)
        return;
    if (job->round->coming)
        launch_held_back(ctl); /* what was kept for its agents is free */
    ctl->slices.coming -= job->round->coming;
    job->round = NULL;
    arena_destroy(job->launching);
    job->launching = NULL;
}

/* Of the tasks of the next launch those that are still to be started so: meanwhile some may have
 * ended, or were given another place. */
static struct share next_share(const struct live_job *job, struct round *round)
{
    struct due *due = &round->due[round->next], first = *due;
    struct share share = { .due = due };
    for (; round->next < round->n && of_one_launch(&first, &round->due[round->next]);
         round->next++) {
        const struct due *one = &round->due[round->next];
        const struct live_task *task = &job->tasks[one->flat];
        if (live_due(task) && task->seq == one->seq)
            due[share.n++] = *one;
    }
    share.last = round->next == round->n || strcmp(round->due[round->next].node, first.node) != 0;
    return share;
}

/* Returns what it is worth of a slice: an agent takes longer to start than to be told of a task. */
static uint32_t tell_share(struct ctl *ctl, struct live_job *job, const struct share *share)
{
    struct round *round = job->round;
    const struct live_agent *agent = live_agent(job, share->due->node);
    uint32_t fresh = !agent || !agent->launched;
    if (fresh && round->coming > 0) {
        round->coming--;
        ctl->slices.coming--;
    }
    bool goes =
        !(round->late && agent_waits(job, share->due->node)) &&
        (round->numbers ? start_numbers(ctl, job, round, share) : start(ctl, job, round, share));
    if (!goes) {
        launch_later(ctl, job, share);
        round->late = true;
    }
    return (uint32_t)share->n + fresh * (slices_size(ctl) / AGENTS_OF_SLICE);
}

static bool any_due(const struct live_job *job)
{
    return live_in_phases(job, phase_due) > 0;
}

void launch_due(struct ctl *ctl, struct live_job *job)
{
    if (job->notes.placing || job->ending)
        return;
    if (ctl->facts.n > 0 && any_due(job)) { /* one may say that it was started, its agent lost */
        slices_later(ctl, job);
        return;
    }
    if (job->round && job->round->generation != job->row.generation)
        launch_drop(ctl, job);
    if (!job->round && any_due(job))
        round_begin(ctl, job);
    struct round *round = job->round;
    if (!round)
        return;
    if (!prepare(ctl, job, round)) {
        slices_later(ctl, job);
        return;
    }
    round->late = live_in_phases(job, phase_postponed) > 0;
    /* A refusal is recorded first: an agent takes launches in order, and after its next one would
     * pass over the refused one, which is made again when the server dies before that. */
    while (round->next < round->n && ctl->slices.launches > 0 && ctl->facts.n == 0) {
        const struct share share = next_share(job, round);
        if (share.n > 0)
            slices_spend(&ctl->slices.launches, tell_share(ctl, job, &share));
    }
    if (round->next == round->n)
        launch_drop(ctl, job);
    if (job->round || any_due(job))
        slices_later(ctl, job);
}
