/* The machines' side of the contract. What is said to agents goes through the link, what is to live
 * on a machine through its host; an end is a fact only when the host says so or a person did. The
 * directory of a run that is over goes a while later, when the fact has long been committed: a run
 * of which no records know whether it began must not be lost sight of before. */
#include "engine/machines/machines.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "engine/machines/images.h"
#include "engine/machines/remote_launch.h"
#include "engine/machines/staging.h"
#include "job/gpu.h"
#include "job/gpu_model.h"
#include "job/node_spec.h"
#include "link/hosts.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#define TIDY_MS  5000u
#define LEAVE_MS 86400000u /* a server that is away for a night loses nothing */
#define KEY_SIZE 320

struct launched_task {
    struct task_ref ref;
    uint32_t attempt;
};
struct machine_run {
    struct generation generation;
    char *node;
    const char *gone; /* to be told from the loop, and why; NULL: nothing is */
    bool over;        /* told */
    unsigned ticks;   /* of tidying, since then */
    uint32_t noted;   /* the last launch whose tasks are among these */
    bool told;        /* its host was; or it began under an earlier server */
    bool waits;       /* for its code, to be started with these: */
    unsigned char token[HOST_TOKEN];
    bool sandbox;
    char code[HOST_CODE + 1];        /* "": none */
    VEC(struct launched_task) tasks; /* while it waits */
};

struct machine {
    struct arena *arena;
    const char *address; /* what its peers call it; "": as its host connects */
    struct pairs labels; /* beside those that its host says */
    const char *engine, *host, *gpu_type, *account;
    uint64_t lasts_ms, for_job;
    uint32_t of_nodes;
    struct machine_bounds bounds;
    struct arena *said;    /* NULL: it has not come */
    struct node_spec spec; /* as it was told last, in said */
    char *store_dir;       /* NULL: its host has not said what images take there */
    struct machine_store store;
};

struct machines {
    struct engine base; /* first */
    struct arena *reports;
    struct link_hub *link;
    struct hosts *hosts;
    struct machine_images *images;
    struct staging *staging;
    struct string_map *runs;     /* of struct machine_run, by key_of() */
    struct string_map *machines; /* of struct machine, by node */
    uint64_t leave_ms;
    bool allocates;
    uv_timer_t later, tidy;
    unsigned handles;
};

static struct machines *machines_of(struct engine *e)
{
    return (struct machines *)(void *)e;
}

static const char *key_of(char out[KEY_SIZE], struct generation g, const char *node)
{
    snprintf(out, KEY_SIZE, "%llu.%u.%s", (unsigned long long)g.job, g.number, node);
    return out;
}

static struct machine_run *find(const struct machines *m, struct generation g, const char *node)
{
    char key[KEY_SIZE];
    return string_map_get(m->runs, key_of(key, g, node));
}

static struct machine_run *add(struct machines *m, struct generation g, const char *node)
{
    char key[KEY_SIZE];
    struct machine_run *run = mem_new(sizeof *run);
    run->generation = g;
    run->node = mem_strdup(node);
    string_map_set(m->runs, key_of(key, g, node), run);
    return run;
}

static void free_machine(void *value)
{
    struct machine *machine = value;
    free(machine->store_dir);
    arena_destroy(machine->arena);
    if (machine->said)
        arena_destroy(machine->said);
    free(machine);
}

static void free_run(void *value)
{
    struct machine_run *run = value;
    sodium_memzero(run->token, sizeof run->token);
    vec_fini(&run->tasks);
    free(run->node);
    free(run);
}

static bool is_of(const struct machine_run *run, struct generation g)
{
    return run->generation.job == g.job && run->generation.number == g.number;
}

static bool has_runs(const struct machines *m, struct generation g)
{
    size_t cursor = 0;
    const char *key;
    void *value;
    while (string_map_next(m->runs, &cursor, &key, &value))
        if (is_of(value, g))
            return true;
    return false;
}

/* Its directory may go, and another of the generation may come. */
static void forget(struct machines *m, struct machine_run *run)
{
    char key[KEY_SIZE];
    hosts_clean(m->hosts, run->generation, run->node);
    struct generation g = run->generation;
    string_map_remove(m->runs, key_of(key, g, run->node));
    free_run(run);
    if (!has_runs(m, g))
        staging_drop(m->staging, g);
}

/* ---- facts ---- */

static void tell(const struct machines *m, const struct engine_fact *fact)
{
    m->base.sink.fact(m->base.sink.arg, fact);
}

static void on_tidy(uv_timer_t *timer);

static void end_run(struct machines *m, struct machine_run *run, const char *reason)
{
    const struct engine_fact fact = {
        .kind = FACT_AGENT_GONE, .generation = run->generation, .node = run->node, .reason = reason
    };
    if (run->over)
        return;
    run->over = true;
    run->gone = NULL;
    link_forget(m->link, run->generation, run->node);
    if (!uv_is_active((uv_handle_t *)&m->tidy))
        uv_timer_start(&m->tidy, on_tidy, TIDY_MS, TIDY_MS);
    tell(m, &fact);
}

static void on_tidy(uv_timer_t *timer)
{
    struct machines *m = timer->data;
    VEC(struct machine_run *) old = { .n = 0 };
    size_t cursor = 0, waiting = 0;
    const char *key;
    void *value;
    while (string_map_next(m->runs, &cursor, &key, &value)) {
        struct machine_run *run = value;
        if (run->over && run->ticks++)
            vec_push(&old, run);
        else
            waiting += run->over;
    }
    for (size_t i = 0; i < old.n; i++)
        forget(m, old.at[i]);
    vec_fini(&old);
    if (!waiting)
        uv_timer_stop(timer);
}

static void on_later(uv_timer_t *timer)
{
    struct machines *m = timer->data;
    machine_images_tell_lost(m->images);
    size_t cursor = 0;
    const char *key;
    void *value;
    while (string_map_next(m->runs, &cursor, &key, &value)) {
        struct machine_run *run = value;
        if (run->gone)
            end_run(m, run, run->gone);
    }
}

static void tell_later(struct machines *m, struct machine_run *run, const char *reason)
{
    run->gone = reason;
    uv_timer_start(&m->later, on_later, 0, 0);
}

/* What was asked for by that name fits, whatever the driver says. */
static const char *model_of(struct arena *arena, const char *model, const char *called)
{
    if (!*called || gpu_model_is(model, called))
        return arena_strdup(arena, model);
    return *model ? arena_printf(arena, "%s" GPU_MODELS_APART "%s", model, called)
                  : arena_strdup(arena, called);
}

/* What its driver says stays for as long as the engine: the core reads it. */
static struct gpu_report *report_of(struct machines *m, const struct machine *machine,
                                    const struct wire_host_hello *hello)
{
    struct gpu_report *report = ARENA_NEW(m->reports, struct gpu_report);
    *report =
        (struct gpu_report){ .driver = "",
                             .error = arena_strdup(m->reports, hello->device_error),
                             .at = ARENA_ARRAY(m->reports, hello->n_devices, struct gpu_device),
                             .n = hello->n_devices };
    for (uint32_t i = 0; i < hello->n_devices; i++) {
        const struct wire_host_device *from = &hello->devices[i];
        report->at[i] =
            (struct gpu_device){ .number = i,
                                 .minor = from->minor,
                                 .model = model_of(m->reports, from->model, machine->gpu_type),
                                 .uuid = arena_strdup(m->reports, from->uuid),
                                 .pci = arena_strdup(m->reports, from->pci),
                                 .memory = from->memory,
                                 .error = arena_strdup(m->reports, from->error) };
    }
    gpu_offer(m->reports, report, NULL);
    return report;
}

/* Shares of queues go by what the cluster has: another account's host does not say how much that
 * is. */
static void keep_bounds(const struct machine_bounds *bounds, struct wire_host_hello *hello)
{
    if (bounds->cpu_milli && hello->cpu_milli > bounds->cpu_milli)
        hello->cpu_milli = bounds->cpu_milli;
    if (bounds->memory && hello->memory > bounds->memory)
        hello->memory = bounds->memory;
    if (hello->n_devices > bounds->gpus)
        hello->n_devices = bounds->gpus;
}

/* Nodes of one boot at one address have the same ports, whatever they are called: it is that of the
 * one that came first. */
static const char *host_of(const struct machines *m, const struct machine *machine,
                           const struct node_spec *spec, const char *boot)
{
    const char *node, *id, *its_boot;
    void *value;
    size_t cursor = 0;
    while (string_map_next(m->machines, &cursor, &node, &value)) {
        const struct machine *other = value;
        if (other == machine || !other->said)
            continue;
        hosts_ids(m->hosts, node, &id, &its_boot);
        if (*boot && strcmp(its_boot, boot) == 0 && strcmp(other->spec.address, spec->address) == 0)
            return other->spec.host;
    }
    return machine->host ? machine->host : spec->name;
}

static struct node_spec spec_of(struct machines *m, const struct machine *machine,
                                const char *address, const struct wire_host_hello *hello,
                                struct arena *arena)
{
    struct gpu_report *report = report_of(m, machine, hello);
    struct node_spec spec = { .name = arena_strdup(arena, hello->node),
                              .address = arena_strdup(arena, *machine->address ? machine->address
                                                                               : address),
                              .cpu_milli = hello->cpu_milli,
                              .memory = hello->memory,
                              .disk = hello->disk,
                              .gpus = report->n_slots,
                              .gpu_type = gpu_models(report, arena),
                              .report = report,
                              .engine = machine->engine,
                              .lasts_ms = machine->lasts_ms,
                              .for_job = machine->for_job,
                              .of_nodes = machine->of_nodes,
                              .early_images = hello->does & HOST_IMAGES,
                              .machine = true };
    spec.host = arena_strdup(arena, host_of(m, machine, &spec, hello->boot));
    for (size_t i = 0; i < hello->labels.n; i++)
        pairs_set(&spec.labels, arena, hello->labels.at[i].name, hello->labels.at[i].value);
    for (size_t i = 0; i < machine->labels.n; i++)
        pairs_set(&spec.labels, arena, machine->labels.at[i].name, machine->labels.at[i].value);
    return spec;
}

static void on_up(void *arg, const char *node, const char *address,
                  const struct wire_host_hello *hello)
{
    struct machines *m = arg;
    struct machine *machine = string_map_get(m->machines, node);
    if (!machine)
        return;
    if (machine->said)
        arena_destroy(machine->said);
    machine->said = arena_create();
    struct wire_host_hello bounded = *hello;
    if (machine->account)
        keep_bounds(&machine->bounds, &bounded);
    machine->spec = spec_of(m, machine, address, &bounded, machine->said);
    tell(m, &(struct engine_fact){ .kind = FACT_NODE_UP, .node = node, .spec = &machine->spec });
}

static void on_down(void *arg, const char *node, const char *why)
{
    struct machines *m = arg;
    struct machine *machine = string_map_get(m->machines, node);
    char reason[256];
    if (machine)
        free(TAKE(machine->store_dir));
    machine_images_lose(m->images, node);
    uv_timer_start(&m->later, on_later, 0, 0);
    snprintf(reason, sizeof reason, "the machine cannot be reached: %s", why);
    tell(m, &(struct engine_fact){ .kind = FACT_NODE_DOWN, .node = node, .reason = reason });
}

static void on_ended(void *arg, struct generation g, const char *node, const char *reason)
{
    struct machines *m = arg;
    struct machine_run *run = find(m, g, node);
    if (run)
        end_run(m, run, reason);
}

static void on_image(void *arg, const char *node, const struct wire_host_image_report *news)
{
    machine_images_hear(((struct machines *)arg)->images, node, news);
}

static void on_store(void *arg, const char *node, const struct wire_host_store_report *said)
{
    struct machine *machine = string_map_get(((struct machines *)arg)->machines, node);
    if (!machine)
        return;
    free(machine->store_dir);
    machine->store_dir = mem_strdup(said->dir);
    machine->store = (struct machine_store){
        .dir = machine->store_dir, .images = said->images, .bytes = said->bytes, .free = said->free
    };
}

void machines_fetch_image(struct engine *e, const struct machines_image *wanted)
{
    struct machines *m = machines_of(e);
    if (!machine_images_fetch(m->images, wanted))
        uv_timer_start(&m->later, on_later, 0, 0);
}

void machines_drop_images(struct engine *e, uint64_t job)
{
    machine_images_drop(machines_of(e)->images, job);
}

/* ---- calls ---- */

/* Of a generation, beside the launch directories of its nodes. */
static char *code_folder(const char *dir)
{
    const char *slash = strrchr(dir, '/');
    return mem_printf("%.*s/.code", slash ? (int)(slash - dir) : 0, dir);
}

static void tell_host(struct machines *m, struct machine_run *run)
{
    const char *path = staging_path(m->staging, run->generation);
    if (path && !*run->code) {
        snprintf(run->code, sizeof run->code, "%s", strrchr(path, '/') + 1);
        link_stage_code(m->link, run->generation, run->node, path);
    }
    run->waits = false;
    run->told = true;
    hosts_start(m->hosts,
                &(struct hosts_start){ .generation = run->generation,
                                       .node = run->node,
                                       .token = run->token,
                                       .sandbox = run->sandbox,
                                       .leave_ms = m->leave_ms,
                                       .code = run->code,
                                       .marker = staging_marker(m->staging, run->generation) });
    sodium_memzero(run->token, sizeof run->token);
    vec_clear(&run->tasks);
}

static void refuse_tasks(const struct machines *m, const struct machine_run *run,
                         const struct err *why)
{
    bool own = why->code == ERR_TOO_LARGE || why->code == ERR_INPUT;
    for (size_t i = 0; i < run->tasks.n; i++) {
        struct engine_fact fact = {
            .kind = FACT_REFUSED,
            .generation = run->generation,
            .node = run->node,
            .task = run->tasks.at[i].ref,
            .attempt = run->tasks.at[i].attempt,
            .ending = { .by = own ? BY_ITSELF : BY_PLATFORM,
                        .cause = why->code == ERR_FULL ? CAUSE_NODE_FULL : CAUSE_NONE },
            .remark = why->what,
        };
        tell(m, &fact);
    }
}

static void on_staged(void *arg, struct generation g, const struct err *problem)
{
    struct machines *m = arg;
    size_t cursor = 0;
    const char *key;
    void *value;
    while (string_map_next(m->runs, &cursor, &key, &value)) {
        struct machine_run *run = value;
        if (!is_of(run, g) || !run->waits || run->over)
            continue;
        if (!problem) {
            tell_host(m, run);
            continue;
        }
        refuse_tasks(m, run, problem);
        end_run(m, run, problem->what);
    }
}

static void note_tasks(struct machine_run *run, const struct launch *launch)
{
    if (launch->seq <= run->noted)
        return;
    run->noted = launch->seq;
    for (size_t i = 0; i < launch->n_tasks; i++) {
        const struct launch_task *task = &launch->tasks[i];
        *vec_add(&run->tasks) = (struct launched_task){ task->ref, task->attempt };
    }
}

/* 1: its code is there, or it has none; 0: it is being packed; -1. */
static int get_code(struct machines *m, struct machine_run *run, const struct launch *launch,
                    const struct remote_code *code, struct err *err)
{
    const struct machines_pack pack = { .dir = code->dir,
                                        .under = code->under,
                                        .account = launch->account,
                                        .bytes = launch->code_limit };
    AUTO_FREE char *folder = code_folder(launch->dir);
    const char *path;
    snprintf(run->code, sizeof run->code, "%s", code->hash ? code->hash : "");
    return code->dir ? staging_get(m->staging, run->generation, &pack, folder, &path, err) : 1;
}

static int start_run(struct machines *m, const struct launch *launch,
                     const struct remote_code *code, struct err *err)
{
    unsigned char hash[32];
    struct machine_run *run = find(m, launch->generation, launch->node);
    if (run && run->over) { /* of the generation that is committed as gone */
        forget(m, run);
        run = NULL;
    }
    if (sodium_is_zero(launch->token, sizeof launch->token))
        return run ? 0 : err_set(err, ERR_UNAVAILABLE, "the agent on %s is gone", launch->node);
    if (!run)
        run = add(m, launch->generation, launch->node);
    crypto_hash_sha256(hash, launch->token, sizeof launch->token);
    link_expect(m->link, launch->generation, launch->node, hash, 0);
    link_bar(m->link, launch->generation, launch->node,
             hosts_leaves(m->hosts, launch->generation, launch->node));
    link_keep_logs(m->link, launch->generation, launch->node, launch->dir);
    if (run->told)
        return 0;
    memcpy(run->token, launch->token, sizeof run->token);
    run->sandbox = launch->sandbox;
    int got = get_code(m, run, launch, code, err);
    if (got > 0) {
        tell_host(m, run);
    } else if (got == 0) {
        run->waits = true;
        note_tasks(run, launch);
    }
    return got < 0 ? -1 : 0;
}

static int start_there(struct machines *m, const struct launch *launch, struct arena *arena,
                       struct err *err)
{
    struct launch away = *launch;
    struct remote_code code;
    if (remote_launch(&away, arena, &code, err) != 0 || start_run(m, launch, &code, err) != 0)
        return err_in(err, "starting %s on %s", launch->job_name, launch->node);
    return link_launch(m->link, &away, err);
}

/* Nobody's code, secrets or rights come to another account's host. */
static bool runs_as(const struct machines *m, const struct launch *launch)
{
    const struct machine *machine = string_map_get(m->machines, launch->node);
    const char *name = launch->account ? launch->account->name : NULL;
    if (!machine || !machine->account || !name)
        return machine && !machine->account && !name;
    return machine->for_job == launch->generation.job && strcmp(machine->account, name) == 0;
}

static int machines_start(struct engine *e, const struct launch *launch, struct err *err)
{
    struct machines *m = machines_of(e);
    if (!hosts_has(m->hosts, launch->node))
        return err_set(err, ERR_NOT_FOUND, "%s is no machine of this server", launch->node);
    if (!runs_as(m, launch))
        return err_set(err, ERR_CANNOT,
                       "tasks on %s run as the user of its host, which is not as whom %s runs",
                       launch->node, launch->job_name);
    struct arena *arena = arena_create();
    int rc = start_there(m, launch, arena, err);
    arena_destroy(arena);
    return rc;
}

/* Everything of a run. An agent that is not connected is told when it is; one that is to be killed
 * is killed by its host, which can do that without it. */
static void stop_run(struct machines *m, struct machine_run *run, enum stop_how how,
                     enum end_origin why)
{
    if (run->waits || hosts_cancel(m->hosts, run->generation, run->node)) {
        tell_later(m, run,
                   run->waits ? "it was not started: its code was being packed"
                              : "it was not started: its machine could not be reached");
        run->waits = false;
        return;
    }
    link_stop(m->link, run->generation, run->node, NULL, how, why);
    if (how == STOP_NOW && !link_connected(m->link, run->generation, run->node))
        hosts_end(m->hosts, run->generation, run->node);
}

static int machines_stop(struct engine *e, struct generation g, const struct task_ref *task,
                         enum stop_how how, enum end_origin why, struct err *err)
{
    struct machines *m = machines_of(e);
    size_t cursor = 0;
    const char *key;
    void *value;
    (void)err;
    while (string_map_next(m->runs, &cursor, &key, &value)) {
        struct machine_run *run = value;
        if (run->over || run->generation.job != g.job || run->generation.number != g.number)
            continue;
        if (task)
            link_stop(m->link, g, run->node, task, how, why);
        else
            stop_run(m, run, how, why);
    }
    return 0;
}

static void machines_ack(struct engine *e, struct generation g, const char *node, uint64_t seq)
{
    link_ack(machines_of(e)->link, g, node, seq);
}

/* One that began has what it was started with, and may be fetching it. */
static void recover_run(struct machines *m, struct machine_run *run, const struct engine_agent *k)
{
    AUTO_FREE char *folder = code_folder(k->dir);
    const char *path = staging_find(m->staging, k->generation, folder);
    run->told = k->last_seq > 0;
    link_expect(m->link, k->generation, k->node, k->token_hash, k->last_seq);
    link_keep_logs(m->link, k->generation, k->node, k->dir);
    if (path)
        link_stage_code(m->link, k->generation, k->node, path);
}

static bool lives(const void *arg, struct generation g)
{
    return has_runs(arg, g);
}

static int machines_recover(struct engine *e, const struct engine_agent *known, size_t n,
                            struct err *err)
{
    struct machines *m = machines_of(e);
    (void)err;
    for (size_t i = 0; i < n; i++) {
        const struct engine_agent *k = &known[i];
        struct machine_run *run = add(m, k->generation, k->node);
        if (hosts_recover(m->hosts, k, k->last_seq > 0))
            recover_run(m, run, k);
        else
            tell_later(m, run, "its machine is none of this server any more");
    }
    staging_sweep(m->staging, lives, m);
    return 0;
}

static int machines_exec(struct engine *e, const struct engine_exec *exec, struct err *err)
{
    return link_exec(machines_of(e)->link, exec, err);
}

static int machines_attach(struct engine *e, const struct engine_attach *attach, struct err *err)
{
    return link_join(machines_of(e)->link, attach, err);
}

static int machines_signal(struct engine *e, const struct engine_signal *ask, struct err *err)
{
    return link_signal(machines_of(e)->link, ask, err);
}

static void machines_secrets(struct engine *e, const struct engine_secrets *secrets)
{
    link_secrets(machines_of(e)->link, secrets);
}

static void machines_tell_launcher(struct engine *e, struct generation g, const char *node,
                                   uint32_t channel, const void *bytes, size_t len)
{
    struct launcher_end end = { .generation = g, .node = node, .channel = channel };
    link_tell_launcher(machines_of(e)->link, &end, bytes, len);
}

static unsigned machines_caps(const struct engine *e)
{
    const struct machines *m = (const struct machines *)(const void *)e;
    return ENGINE_EXEC | ENGINE_STDIN | ENGINE_HOSTS | ENGINE_MOUNTS | ENGINE_MEMORY_LIMIT |
           ENGINE_CPU_LIMIT | (m->allocates ? ENGINE_ALLOCATES : 0u);
}

static void on_closed(uv_handle_t *handle)
{
    struct machines *m = handle->data;
    if (--m->handles == 0)
        free(m);
}

static void machines_destroy(struct engine *e)
{
    struct machines *m = machines_of(e);
    machine_images_destroy(m->images);
    hosts_destroy(m->hosts);
    staging_destroy(m->staging);
    string_map_destroy_with(m->runs, free_run);
    string_map_destroy_with(m->machines, free_machine);
    arena_destroy(m->reports);
    uv_close((uv_handle_t *)&m->later, on_closed);
    uv_close((uv_handle_t *)&m->tidy, on_closed);
}

static const struct engine_ops machines_ops = {
    .name = "machines",
    .start = machines_start,
    .stop = machines_stop,
    .ack = machines_ack,
    .recover = machines_recover,
    .exec = machines_exec,
    .attach = machines_attach,
    .signal = machines_signal,
    .secrets = machines_secrets,
    .tell_launcher = machines_tell_launcher,
    .caps = machines_caps,
    .destroy = machines_destroy,
};

struct engine *machines_create(const struct machines_config *config)
{
    struct machines *m = mem_new(sizeof *m);
    m->base.ops = &machines_ops;
    m->link = config->link;
    m->leave_ms = config->leave_ms ? config->leave_ms : LEAVE_MS;
    m->allocates = config->allocates;
    m->runs = string_map_create();
    m->staging = staging_create(config->packer, config->notes,
                                (struct staging_sink){ .done = on_staged, .arg = m });
    m->machines = string_map_create();
    m->reports = arena_create();
    m->hosts = hosts_create(config->link, (struct hosts_sink){ .up = on_up,
                                                               .down = on_down,
                                                               .ended = on_ended,
                                                               .image = on_image,
                                                               .store = on_store,
                                                               .arg = m });
    m->images = machine_images_create(m->hosts, &m->base.sink);
    uv_timer_init(config->loop, &m->later);
    uv_timer_init(config->loop, &m->tidy);
    m->later.data = m->tidy.data = m;
    m->handles = 2;
    return &m->base;
}

/* ---- machines ---- */

void machines_add(struct engine *e, const struct machine_entry *one)
{
    struct machines *m = machines_of(e);
    struct machine *machine = mem_new(sizeof *machine);
    machine->arena = arena_create();
    machine->address = arena_strdup(machine->arena, one->address);
    for (size_t i = 0; i < one->labels.n; i++)
        pairs_set(&machine->labels, machine->arena, one->labels.at[i].name,
                  one->labels.at[i].value);
    machine->engine = one->engine ? arena_strdup(machine->arena, one->engine) : NULL;
    machine->host = one->host ? arena_strdup(machine->arena, one->host) : NULL;
    machine->gpu_type = arena_strdup(machine->arena, one->gpu_type ? one->gpu_type : "");
    machine->lasts_ms = one->lasts_ms;
    machine->for_job = one->for_job;
    machine->of_nodes = one->of_nodes;
    machine->bounds = one->bounds;
    machine->account = one->account ? arena_strdup(machine->arena, one->account) : NULL;
    struct machine *before = string_map_remove(m->machines, one->node);
    if (before)
        free_machine(before);
    string_map_set(m->machines, one->node, machine);
    hosts_expect(m->hosts, one->node, one->token_hash);
}

void machines_limit(struct engine *e, const char *node, uint64_t lasts_ms)
{
    struct machines *m = machines_of(e);
    struct machine *machine = string_map_get(m->machines, node);
    if (!machine || machine->lasts_ms == lasts_ms)
        return;
    machine->lasts_ms = machine->spec.lasts_ms = lasts_ms;
    if (machine->said && hosts_connected(m->hosts, node))
        tell(m,
             &(struct engine_fact){ .kind = FACT_NODE_UP, .node = node, .spec = &machine->spec });
}

bool machines_have(const struct engine *e, const char *node)
{
    const struct machines *m = (const struct machines *)(const void *)e;
    return hosts_has(m->hosts, node);
}

bool machines_reach(const struct engine *e, const char *node)
{
    const struct machines *m = (const struct machines *)(const void *)e;
    return hosts_connected(m->hosts, node);
}

void machines_ids(const struct engine *e, const char *node, const char **machine, const char **boot)
{
    const struct machines *m = (const struct machines *)(const void *)e;
    hosts_ids(m->hosts, node, machine, boot);
}

bool machines_store(const struct engine *e, const char *node, struct machine_store *out)
{
    const struct machines *m = (const struct machines *)(const void *)e;
    const struct machine *machine = string_map_get(m->machines, node);
    if (!machine || !machine->store_dir)
        return false;
    *out = machine->store;
    return true;
}

void machines_begin(struct engine *e)
{
    struct machines *m = machines_of(e);
    size_t cursor = 0;
    const char *node;
    void *machine;
    while (string_map_next(m->machines, &cursor, &node, &machine))
        if (!hosts_connected(m->hosts, node))
            on_down(m, node, "it has not come back since the server started");
}

static void give_up(struct machines *m, const char *node, const char *reason)
{
    size_t cursor = 0;
    const char *key;
    void *value;
    while (string_map_next(m->runs, &cursor, &key, &value)) {
        struct machine_run *run = value;
        if (!run->over && strcmp(run->node, node) == 0)
            tell_later(m, run, reason);
    }
}

void machines_remove(struct engine *e, const char *node)
{
    struct machines *m = machines_of(e);
    give_up(m, node, "its machine was removed from this server");
    machine_images_lose(m->images, node);
    uv_timer_start(&m->later, on_later, 0, 0);
    hosts_forget(m->hosts, node);
    struct machine *machine = string_map_remove(m->machines, node);
    if (!machine)
        return;
    free_machine(machine);
    tell(m, &(struct engine_fact){ .kind = FACT_NODE_GONE,
                                   .node = node,
                                   .reason = "it was removed from this server" });
}

void machines_fence(struct engine *e, const char *node)
{
    give_up(machines_of(e), node, "its machine was fenced");
}
