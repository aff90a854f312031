/* The server process: reads its settings, opens the records, wires core, engine, agents' link and
 * HTTP to one loop, and ends cleanly on SIGTERM, SIGINT, request or idleness. Jobs go on under
 * their agents whatever happens to it.
 *
 * Order matters at both ends: agents' facts may come as soon as the link exists, so its sink goes
 * through this file until the core is there; HTTP comes last, when everything can be answered. */
#include "main/server_main.h"

#include "api/api.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/interpreter.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/socket_path.h"
#include "base/turn_meter.h"
#include "cli/state_dir.h"
#include "ctl/account.h"
#include "ctl/clock.h"
#include "http/certificate.h"
#include "http/server.h"
#include "main/account_settings.h"
#include "main/core_config.h"
#include "main/descriptors.h"
#include "main/gpu_watch.h"
#include "main/gpus.h"
#include "main/image_asks.h"
#include "main/machines.h"
#include "main/nodes.h"
#include "main/pilots.h"
#include "main/server_files.h"
#include "main/wire.h"
#include "replay/recorder.h"
#include "ship/shipper.h"
#include "store/disk.h"
#include "store/find.h"
#include "store/pages.h"
#include "store/seal.h"
#include "text/json.h"
#include "text/remedies.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define BODY_MAX         (4u << 20)
#define OUTCOME_MAX      4096u /* less than what a pipe takes at once */
#define IDLE_TIMEOUT     75    /* seconds a silent client may stay */
#define STRANGER_TIMEOUT 10    /* seconds for one over TCP that has shown no credential */
#define PORT_TRIES       100
/* Between two segments of a continuous backup. */
#define BACKUP_LEAST_MS  100u
#define BACKUP_MOST_MS   3600000u
/* How long a server stays without work that nobody asked for. */
#define ON_DEMAND_IDLE   "1h"
#define SHARED_LISTEN    "0.0.0.0:6878" /* of one that is found by a home that machines share */
/* An answer that says "the server ends" leaves before the server does. */
#define LAST_WORDS_MS    30

struct server {
    struct arena *arena;
    struct config config;
    struct server_files files;
    struct descriptors descriptors;
    const char *version, *address, *host;
    const char *public_socket; /* NULL: none */
    const char *node_program;
    const char *no_allocations; /* find_slurm() */
    struct certificate certificate;
    uint64_t started_ms, started_up_ms, idle_exit_ms;
    struct clock_start clock;
    const char *boot;
    struct node_list nodes;
    uv_loop_t loop;
    uv_idle_t soon;
    bool ticks_soon;           /* the core wants to be ticked by it, */
    uint64_t turns, tick_turn; /* in that turn of the loop or later */
    uv_prepare_t prepare, sleep;
    struct turn_meter *meter;
    uv_check_t check;
    uv_timer_t tick, idle, last;
    uv_signal_t term, interrupt;
    struct store *store;
    struct link_hub *link;
    struct engine *engine;
    struct engine *machines; /* a part of it, for other machines */
    struct packer_config packer;
    struct pilot_nodes *pilots; /* allocations of Slurm */
    struct fencer *fencer;      /* NULL: there is no command */
    struct ctl *ctl;
    struct image_asks *image_asks; /* NULL: no images are run here */
    struct runtime_checks runtimes;
    struct gpu_watch *gpus;       /* NULL: the machine's devices are not given out */
    struct recorder *recorder;    /* NULL: nothing is recorded */
    struct shipper *shipper;      /* NULL: there is no continuous backup */
    struct engine_sink sink;      /* the core's */
    struct agents *agents;        /* NULL: none of other machines */
    struct api_setting *settings; /* as they are shown */
    struct api *api;
    struct http_server *http;
    bool loop_ready, ending;
    bool detached, on_demand, had_no_work;
};

/* ---- news from below ---- */

static void on_fact(void *arg, const struct engine_fact *fact)
{
    struct server *s = arg;
    if (s->sink.fact)
        s->sink.fact(s->sink.arg, fact);
}

static void on_tick(uv_timer_t *timer)
{
    struct server *s = timer->data;
    ctl_tick(s->ctl);
}

static uint64_t wall(void *arg)
{
    (void)arg;
    return clock_wall_ms();
}

static uint64_t mono(void *arg)
{
    (void)arg;
    return clock_mono_us();
}

/* A timer that is due at once would go off again before the loop has looked at anything else. An
 * idle handle is called before the loop sleeps, so a tick that is asked for after a round of I/O is
 * put off until the next one. The log of the records is written back in a turn of its own, before
 * the next tick. */
static void on_soon(uv_idle_t *soon)
{
    struct server *s = soon->data;
    if (s->ticks_soon && s->turns < s->tick_turn)
        return;
    if (store_behind(s->store)) {
        TURN_WORK(s->meter, "checkpoint", 0);
        store_write_back(s->store);
        return;
    }
    uv_idle_stop(soon);
    if (s->ticks_soon) {
        s->ticks_soon = false;
        ctl_tick(s->ctl);
    }
}

static void on_wake(void *arg, uint64_t at_ms)
{
    struct server *s = arg;
    uint64_t now = (uint64_t)(s->clock.base_ms + (int64_t)clock_mono_ms());
    uv_timer_stop(&s->tick);
    if (at_ms == 0)
        return;
    if (at_ms <= now) {
        s->tick_turn = s->ticks_soon ? s->tick_turn : s->turns + 1;
        s->ticks_soon = true;
        uv_idle_start(&s->soon, on_soon);
        return;
    }
    uv_update_time(&s->loop);
    uv_timer_start(&s->tick, on_tick, at_ms - now, 0);
}

static void on_look(void *arg)
{
    gpu_watch_look(((struct server *)arg)->gpus);
}

/* The end of a turn: after the round of I/O, and before the loop sleeps for what timers did. */
static void on_check(uv_check_t *check)
{
    struct server *s = check->data;
    ctl_turn(s->ctl);
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct server *s = prepare->data;
    ctl_turn(s->ctl);
    if (store_behind(s->store))
        uv_idle_start(&s->soon, on_soon);
}

static void on_sleep(uv_prepare_t *prepare)
{
    struct server *s = prepare->data;
    turn_meter_end(s->meter);
    s->turns++;
}

/* ---- ending ---- */

static void on_last(uv_timer_t *timer)
{
    struct server *s = timer->data;
    uv_stop(&s->loop);
}

static void end(struct server *s, const char *why)
{
    if (s->ending)
        return;
    s->ending = true;
    log_info("server.ending", "reason=\"%s\"", why);
    ctl_audit_end(s->ctl, why);
    uv_update_time(&s->loop);
    uv_timer_start(&s->last, on_last, LAST_WORDS_MS, 0);
}

static void on_signal(uv_signal_t *signal, int number)
{
    end(signal->data, number == SIGTERM ? "SIGTERM" : "SIGINT");
}

static void on_stop(void *arg)
{
    end(arg, "asked to");
}

static void on_idle(uv_timer_t *timer)
{
    struct server *s = timer->data;
    uint64_t since, now = ctl_now(s->ctl);
    s->had_no_work =
        ctl_idle_since(s->ctl, &since) && now >= since && now - since >= s->idle_exit_ms;
    if (s->had_no_work)
        end(s, "no work");
}

/* ---- settings to values ---- */

/* Peers of its tasks are on other machines, too: loopback addresses lead nowhere there. Ports are
 * counted for the host, whatever the addresses of its nodes are. */
static void share_address(struct server *s)
{
    const char *known = agents_host(s->arena, s->config.at[SETTING_AGENTS].text);
    for (size_t i = 0; known && i < s->nodes.n; i++)
        s->nodes.at[i].address = known;
}

static int read_nodes(struct server *s, struct err *err)
{
    const struct setting_value *nodes = &s->config.at[SETTING_NODES];
    bool soft = false;
    struct node_spec machine = wire_machine(s->arena, s->files.dir, &soft);
    if (nodes->tree && nodes->tree->kind == TEXT_LIST)
        return nodes_read(s->arena, nodes->tree, machine.host, &s->nodes, err);
    if (*nodes->text)
        return nodes_parse(s->arena, nodes->text, machine.host, &s->nodes, err);
    s->nodes.at = ARENA_ARRAY(s->arena, 1, struct node_spec);
    s->nodes.at[0] = machine;
    s->nodes.n = 1;
    config_settle(&s->config, SETTING_NODES, "this machine");
    if (soft)
        log_info("nodes.soft",
                 "node=%s cpus_offered=%llu note=\"more than the machine has: tasks share them\"",
                 machine.name, (unsigned long long)machine.cpu_milli / 1000);
    return 0;
}

static void settle(struct server *s)
{
    struct config *c = &s->config;
    config_settle(c, SETTING_STATE_DIR, s->files.dir);
    if (!*c->at[SETTING_FS_URI].text)
        config_settle(c, SETTING_FS_URI, arena_printf(s->arena, "file://%s", s->files.fs));
    if (!*c->at[SETTING_USERS_DIR].text)
        config_settle(c, SETTING_USERS_DIR, arena_printf(s->arena, "%s.users", s->files.dir));
    if (s->on_demand && strcmp(c->at[SETTING_IDLE_EXIT].from, "default") == 0)
        config_settle(c, SETTING_IDLE_EXIT, ON_DEMAND_IDLE);
    if (strcmp(c->at[SETTING_LISTEN].from, "default") == 0 && server_files_are_shared(&s->files))
        config_settle(c, SETTING_LISTEN, SHARED_LISTEN);
    if (!*c->at[SETTING_PYTHON].text) {
        const char *python = interpreter_in_path(s->arena, getenv("PATH"), "python3");
        config_settle(c, SETTING_PYTHON, python ? python : "none");
    }
}

/* No more connections than there can be. */
static int divide_descriptors(struct server *s, struct err *err)
{
    if (descriptors_open(&s->descriptors, err) < 0)
        return -1;
    uint64_t most = s->descriptors.connections;
    if (config_number(&s->config, SETTING_MAX_CONNECTIONS) <= most)
        return 0;
    const char *text = arena_printf(s->arena, "%llu", (unsigned long long)most);
    config_settle(&s->config, SETTING_MAX_CONNECTIONS, text);
    log_info("server.files", "limit=%llu max_connections=%s agents=%u",
             (unsigned long long)s->descriptors.limit, text, s->descriptors.agents);
    return 0;
}

/* Before anything is copied from the records: what an older server left in clear is sealed here. */
static int open_seal(struct server *s, struct err *err)
{
    const char *path = s->config.at[SETTING_SEAL_KEY].text;
    bool needed = store_has_sealed(s->store), fits = true;
    if (!*path)
        path = server_files_seal_key(s->arena, &s->files, needed, err);
    if (!path)
        return -1;
    config_settle(&s->config, SETTING_SEAL_KEY, path);
    struct seal *seal = seal_open(path, needed, err);
    if (!seal || store_use_seal(s->store, seal, &fits, err))
        return -1;
    if (fits)
        return 0;
    if (store_change_seal(s->store, err))
        return err_in(err, "%s", path);
    log_warn("seal.key", "file=%s note=\"what another key sealed cannot be read\"", path);
    return 0;
}

/* Declared nodes have numbers only. */
static void find_gpus(struct server *s)
{
    if (!s->nodes.at[0].declared)
        gpus_find(s->arena, s->store, s->files.gpus, &s->nodes.at[0]);
}

/* The clock that is decided by goes on from where the records have it. */
static int resume_clock(struct server *s, struct err *err)
{
    AUTO_FREE char *boot = NULL;
    size_t len = 0;
    if (file_read("/proc/sys/kernel/random/boot_id", 4096, &boot, &len, err) < 0)
        return -1;
    s->boot = arena_strndup(s->arena, boot, strcspn(boot, "\n"));
    return clock_resume(s->store, s->boot, clock_wall_ms(), clock_mono_ms(), &s->clock, err);
}

static int open_records(struct server *s, struct err *err)
{
    struct job_counts counts;
    s->store = store_open(s->files.db, err);
    if (s->store)
        store_counts(s->store, &counts, NULL); /* now, while nobody waits */
    if (s->store && store_kept_copy(s->store))
        log_info("records.migrated",
                 "version=%d copy=%s note=\"of before; remove it when all is well\"", STORE_VERSION,
                 store_kept_copy(s->store));
    if (s->store)
        return open_seal(s, err) < 0 ? -1 : resume_clock(s, err);
    uint64_t other = err->code == ERR_CONFLICT ? server_files_other(&s->files) : 0;
    if (!other)
        return -1;
    err_set(err, ERR_CONFLICT, "another server (pid %llu) uses %s", (unsigned long long)other,
            s->files.dir);
    err_remedy(err, REMEDY_SERVER_STATUS);
    return err_remedy(err, REMEDY_SERVER_STOP);
}

/* ---- making the parts ---- */

static void loop_open(struct server *s)
{
    uv_loop_init(&s->loop);
    s->loop_ready = true;
    uv_timer_init(&s->loop, &s->tick);
    uv_timer_init(&s->loop, &s->idle);
    uv_timer_init(&s->loop, &s->last);
    uv_idle_init(&s->loop, &s->soon);
    uv_signal_init(&s->loop, &s->term);
    uv_signal_init(&s->loop, &s->interrupt);
    uv_check_init(&s->loop, &s->check);
    uv_prepare_init(&s->loop, &s->prepare);
    uv_prepare_init(&s->loop, &s->sleep);
    uv_prepare_start(&s->sleep, on_sleep); /* the first: libuv calls it last */
    s->meter = turn_meter_create(NULL);
    s->tick.data = s->idle.data = s->last.data = s->soon.data = s;
    s->term.data = s->interrupt.data = s->check.data = s->prepare.data = s->sleep.data = s;
}

static const char *own_program(struct arena *arena)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self);
    return n > 0 && n < (ssize_t)sizeof self ? arena_strndup(arena, self, (size_t)n) : NULL;
}

/* All settings, for a recording's header: queues of the file with all that it says. */
static void describe(struct server *s, struct recorder_config *config)
{
    const struct text_node *queues = config_queues(&s->config);
    AUTO_BUF struct buf json = BUF_INIT(16u << 20);
    for (size_t i = 0; i < SETTING_N; i++)
        pairs_set(&config->settings, s->arena, setting_key((enum setting)i), s->config.at[i].text);
    if (!queues)
        return;
    json_print(queues, 0, &json);
    pairs_set(&config->trees, s->arena, setting_key(SETTING_QUEUES), buf_str(&json));
}

static int make_recorder(struct server *s, struct err *err)
{
    struct recorder_config config = { .dir = s->config.at[SETTING_RECORD].text,
                                      .max = config_number(&s->config, SETTING_RECORD_MAX),
                                      .version = s->version };
    if (!*config.dir)
        return 0;
    if (config.max < RECORDER_LEAST) {
        err_set(err, ERR_INPUT, "record_max is less than 1Mi");
        return err_hint(err, "write 512Mi");
    }
    describe(s, &config);
    s->recorder = recorder_create(&config, s->store, err);
    return s->recorder ? 0 : err_in(err, "--record");
}

static int make_shipper(struct server *s, struct err *err)
{
    struct shipper_config config = {
        .loop = &s->loop,
        .ctl = s->ctl,
        .store = s->store,
        .program = own_program(s->arena),
        .place = { .where = s->config.at[SETTING_BACKUP_TO].text,
                   .endpoint = s->config.at[SETTING_BACKUP_ENDPOINT].text,
                   .region = s->config.at[SETTING_BACKUP_REGION].text },
        .state_dir = s->files.dir,
        .version = s->version,
        .seal_key = s->config.at[SETTING_SEAL_KEY].text,
        .every_ms = config_number(&s->config, SETTING_BACKUP_EVERY),
        .base_ms = config_number(&s->config, SETTING_BACKUP_BASE),
        .keep = config_number(&s->config, SETTING_BACKUP_KEEP)
    };
    if (!*config.place.where)
        return 0;
    if (target_check(&config.place, err) < 0)
        return err_in(err, "backup_to");
    if (config.every_ms < BACKUP_LEAST_MS || config.every_ms > BACKUP_MOST_MS) {
        err_set(err, ERR_INPUT, "backup_every is %s", s->config.at[SETTING_BACKUP_EVERY].text);
        return err_hint(err, "write 100ms to 1h");
    }
    config.pages = store_pages_begin(s->store, err);
    s->shipper = config.pages ? shipper_create(&config) : NULL;
    return s->shipper ? 0 : err_in(err, "backup_to");
}

static void make_fencer(struct server *s)
{
    const struct fencer_config config = { .loop = &s->loop,
                                          .ctl = s->ctl,
                                          .machines = s->machines,
                                          .command = s->config.at[SETTING_FENCE].text,
                                          .after_ms =
                                              config_number(&s->config, SETTING_FENCE_AFTER) };
    if (*config.command)
        s->fencer = fencer_create(&config);
}

static int on_need_agents(void *arg, struct err *err);
static void on_leave_agents(void *arg);

/* Also where no port is open for their nodes: what they run is not lost. */
static int make_pilots(struct server *s, struct err *err)
{
    const struct pilot_nodes_config config = {
        .loop = &s->loop,
        .link = s->link,
        .ctl = s->ctl,
        .machines = s->machines,
        .sink = { .fact = on_fact, .arg = s },
        .agents = &s->agents,
        .open_agents = on_need_agents,
        .leave_agents = on_leave_agents,
        .open_arg = s,
        .prefix = s->no_allocations ? "" : s->config.at[SETTING_SLURM_PREFIX].text,
        .own = ctl_own_user(s->ctl),
        .program = own_program(s->arena),
        .node_program = s->node_program,
        .state_dir = s->files.dir
    };
    s->pilots = pilot_nodes_create(&config, err);
    return s->pilots ? 0 : -1;
}

static void on_allocate(void *arg)
{
    struct server *s = arg;
    if (s->pilots)
        pilot_nodes_look(s->pilots);
}

static int make_core(struct server *s, struct err *err)
{
    struct ctl_config config = { .store = s->store,
                                 .engine = s->engine,
                                 .state_dir = s->files.dir,
                                 .program = own_program(s->arena),
                                 .socket = s->files.socket,
                                 .public_socket = s->public_socket,
                                 .runs_dir = s->files.runs,
                                 .nodes = s->nodes.at,
                                 .n_nodes = s->nodes.n,
                                 .now = wall,
                                 .mono = mono,
                                 .base_ms = s->clock.base_ms,
                                 .has_base = true,
                                 .boot = s->boot,
                                 .wake = on_wake,
                                 .wake_arg = s,
                                 .look = on_look,
                                 .look_arg = s,
                                 .allocate = on_allocate,
                                 .allocate_arg = s,
                                 .meter = s->meter };
    if (core_config(s->arena, &s->config, &config, err) < 0 || make_recorder(s, err) < 0)
        return -1;
    const char *node = wire_node_program(s->arena, err);
    s->image_asks = image_asks_create(&s->loop, node, s->files.dir, s->arena, &s->runtimes);
    config.runtimes = &s->runtimes;
    if (s->image_asks)
        image_asks_join(s->image_asks, &config);
    config.no_allocations = s->no_allocations;
    config.no_users_allocations =
        pilot_nodes_none_of_users(s->arena, s->config.at[SETTING_SLURM_PREFIX].text);
    config.tape = s->recorder ? recorder_tape(s->recorder) : NULL;
    s->ctl = ctl_create(&config, err);
    if (!s->ctl)
        return -1;
    if (s->recorder)
        recorder_attach(s->recorder, s->ctl, &config);
    s->sink = ctl_sink(s->ctl);
    if (s->image_asks)
        image_asks_begin(s->image_asks, s->sink, s->machines);
    if (machines_load(s->machines, s->ctl, err) < 0 || make_pilots(s, err) < 0)
        return -1;
    if (ctl_recover(s->ctl, err) < 0)
        return -1;
    machines_begin(s->machines);
    pilot_nodes_begin(s->pilots);
    make_fencer(s);
    if (s->clock.rebooted)
        clock_tell_reboot(s->ctl, s->clock.away_ms);
    ctl_tell_mended(s->ctl);
    return make_shipper(s, err);
}

/* Made or read at the first TLS hello, or when somebody asks what to trust. */
static int open_certificate(struct server *s, struct err *err)
{
    const char *chain = s->config.at[SETTING_TLS_CERT].text;
    const char *key = s->config.at[SETTING_TLS_KEY].text;
    if (s->certificate.chain)
        return 0;
    return *chain ? certificate_read(chain, key, &s->certificate, err)
                  : certificate_open(s->files.dir, s->host, &s->certificate, err);
}

static int on_certificate(void *arg, struct http_certificate *certificate, struct err *err)
{
    struct server *s = arg;
    if (open_certificate(s, err) < 0)
        return -1;
    *certificate =
        (struct http_certificate){ .chain = s->certificate.chain, .key = s->certificate.key };
    return 0;
}

static const char *on_authority(void *arg, struct err *err)
{
    struct server *s = arg;
    return open_certificate(s, err) < 0 ? NULL : s->certificate.authority;
}

/* Files that were named are read at once: a mistake shows when the server starts. */
static int check_certificate(struct server *s, struct err *err)
{
    bool chain = *s->config.at[SETTING_TLS_CERT].text, key = *s->config.at[SETTING_TLS_KEY].text;
    if (chain == key)
        return chain ? open_certificate(s, err) : 0;
    err_set(err, ERR_INPUT, "%s is set without %s", chain ? "tls_cert" : "tls_key",
            chain ? "tls_key" : "tls_cert");
    return err_hint(err, "both, or none: the server makes its own");
}

/* "127.0.0.1:6878"; "none" leaves host NULL. */
static int read_listen(struct server *s, struct http_config *config, struct err *err)
{
    const char *text = s->config.at[SETTING_LISTEN].text, *colon = strrchr(text, ':');
    uint64_t port;
    if (strcmp(text, "none") == 0)
        return 0;
    if (!colon || colon == text || !scan_u64(colon + 1, 0, 65535, &port)) {
        err_set(err, ERR_INPUT, "listen is \"%.80s\"", text);
        return err_hint(err, "write 127.0.0.1:6878, or none");
    }
    config->host = arena_strndup(s->arena, text, (size_t)(colon - text));
    config->port = (uint16_t)port;
    config->port_tries = port ? PORT_TRIES : 0;
    return 0;
}

static void put_parts(void *arg, struct arena *a, struct text_node *map)
{
    const struct server *s = arg;
    shipper_put(s->shipper, a, map, "backup");
    agents_put(s->agents, a, map);
}

static void put_where(void *arg, struct arena *a, struct text_node *map)
{
    agents_put_where(((struct server *)arg)->agents, a, map);
}

static struct api *make_api(struct server *s, struct err *err)
{
    struct api_setting *rows = s->settings = ARENA_ARRAY(s->arena, SETTING_N, struct api_setting);
    for (size_t i = 0; i < SETTING_N; i++)
        rows[i] = (struct api_setting){ .name = setting_key((enum setting)i),
                                        .value = s->config.at[i].text,
                                        .from = s->config.at[i].from,
                                        .doc = setting_doc((enum setting)i) };
    size_t n_facades;
    const struct facade *const *facades = wire_facades(&n_facades);
    struct api_config config = { .loop = &s->loop,
                                 .ctl = s->ctl,
                                 .link = s->link,
                                 .token = s->files.token,
                                 .version = s->version,
                                 .state_dir = s->files.dir,
                                 .socket_path = s->files.socket,
                                 .program = own_program(s->arena),
                                 .started_ms = s->started_ms,
                                 .meter = s->meter,
                                 .started_up_ms = s->started_up_ms,
                                 .settings = rows,
                                 .n_settings = SETTING_N,
                                 .submit_rate = config_number(&s->config, SETTING_SUBMIT_RATE),
                                 .list_rate = config_number(&s->config, SETTING_LIST_RATE),
                                 .log_rate = config_number(&s->config, SETTING_LOG_RATE),
                                 .code_size = config_number(&s->config, SETTING_CODE_SIZE),
                                 .code_files = config_number(&s->config, SETTING_CODE_FILES),
                                 .store_quota = config_number(&s->config, SETTING_STORE_QUOTA),
                                 .facades = facades,
                                 .n_facades = n_facades,
                                 .authority = on_authority,
                                 .authority_arg = s,
                                 .image_stores = image_stores_of(s->arena, &s->config, s->machines),
                                 .put_parts = put_parts,
                                 .put_parts_arg = s,
                                 .stop = on_stop,
                                 .stop_arg = s };
    if (strcmp(s->config.at[SETTING_AGENTS].text, "none") != 0) {
        config.machines = machines_served(s->machines);
        config.machines.put_where = put_where;
        config.machines.where_arg = s;
    }
    if (!s->no_allocations)
        config.pilots = pilot_nodes_served(s->pilots);
    return api_create(&config, err);
}

/* A server that runs the jobs of other accounts is asked by them where they can reach it. */
static int find_public_socket(struct server *s, struct err *err)
{
    const char *path = s->config.at[SETTING_PUBLIC_SOCKET].text;
    const char *users = s->config.at[SETTING_USERS_DIR].text;
    bool others = geteuid() == 0 && config_choice(&s->config, SETTING_SHARED_ACCOUNT) == 0;
    if (*path || !others)
        s->public_socket = *path && others && strcmp(path, "none") != 0 ? path : NULL;
    else
        s->public_socket = arena_printf(s->arena, "%s/sock", users);
    if (s->public_socket && socket_path_check(s->public_socket, err) < 0)
        return err_hint(err, *path
                                 ? "--public-socket PATH: a shorter one, or none"
                                 : "--users-dir DIR: a shorter one; or --public-socket none: jobs "
                                   "of other accounts cannot ask the server then");
    if (s->public_socket && !*path && file_mkdirs(users, 0711, err) < 0)
        return -1;
    config_settle(&s->config, SETTING_PUBLIC_SOCKET, s->public_socket ? s->public_socket : "none");
    return 0;
}

static int make_http(struct server *s, struct err *err)
{
    struct http_config config = { .loop = &s->loop,
                                  .socket_path = s->files.socket,
                                  .public_path = s->public_socket,
                                  .max_body = BODY_MAX,
                                  .max_connections =
                                      (unsigned)config_number(&s->config, SETTING_MAX_CONNECTIONS),
                                  .idle_timeout_s = IDLE_TIMEOUT,
                                  .stranger_timeout_s = STRANGER_TIMEOUT,
                                  .files = s->descriptors.bound,
                                  .spared = api_spares,
                                  .handle = api_handle,
                                  .refused = api_refused,
                                  .certificate = on_certificate,
                                  .certificate_arg = s };
    if (read_listen(s, &config, err) < 0 || check_certificate(s, err) < 0)
        return -1;
    s->host = config.host;
    s->api = make_api(s, err);
    if (!s->api)
        return -1;
    config.arg = s->api;
    s->http = http_server_create(&config, err);
    if (!s->http)
        return -1;
    s->address =
        config.host ? arena_printf(s->arena, "http://%s:%u", config.host, http_server_port(s->http))
                    : "";
    api_set_server(s->api, s->http, s->address);
    ctl_set_address(s->ctl, s->address);
    return 0;
}

/* Also where no port is open for machines: what runs on those that are known is not lost. */
static void add_machines(struct server *s)
{
    s->packer = (struct packer_config){ .loop = &s->loop, .program = own_program(s->arena) };
    const struct machines_config config = { .loop = &s->loop,
                                            .link = s->link,
                                            .packer = packer_of(&s->packer),
                                            .notes =
                                                arena_printf(s->arena, "%s/markers", s->files.dir),
                                            .allocates = !s->no_allocations };
    s->engine = machines_beside(s->engine, &config, &s->machines);
}

static void take_caller(void *arg, int fd, const char *address)
{
    http_server_take(arg, fd, address);
}

static void say_agents(struct server *s)
{
    s->settings[SETTING_AGENTS].value = agents_address(s->agents); /* also for nodes of Slurm */
}

/* Where no setting says one, the port that was opened for nodes of Slurm is opened again; needed:
 * now it is the first time. */
static int open_agents(struct server *s, bool needed, struct err *err)
{
    struct agents_config config = { .where = s->config.at[SETTING_AGENTS].text,
                                    .state_dir = s->files.dir,
                                    .hub = s->link,
                                    .ctl = s->ctl,
                                    .most = s->descriptors.agents,
                                    .caller = take_caller,
                                    .caller_arg = s->http };
    if (strcmp(config.where, "none") != 0)
        return agents_open(&config, &s->agents, err);
    int rc = agents_open_kept(&config, needed, &s->agents, err);
    say_agents(s);
    return rc;
}

static int on_need_agents(void *arg, struct err *err)
{
    return open_agents(arg, true, err);
}

static void on_leave_agents(void *arg)
{
    struct server *s = arg;
    if (strcmp(s->config.at[SETTING_AGENTS].text, "none") == 0)
        agents_forget(s->agents, s->files.dir);
    say_agents(s);
}

static int make_parts(struct server *s, struct err *err)
{
    const char *node = wire_node_program(s->arena, err);
    struct wire_place place = { .loop = &s->loop,
                                .node_program = node,
                                .socket_path = s->files.socket,
                                .runs_dir = s->files.runs,
                                .agents = s->descriptors.agents };
    if (!node)
        return -1;
    s->node_program = node;
    s->link = link_create(&s->loop, (struct engine_sink){ .fact = on_fact, .arg = s });
    s->no_allocations = pilot_nodes_none(s->arena, s->config.at[SETTING_SLURM_PREFIX].text);
    place.link = s->link;
    s->engine = wire_engine(&place, err);
    if (s->engine)
        add_machines(s);
    if (!s->engine || find_public_socket(s, err) < 0 || make_core(s, err) < 0)
        return -1;
    s->gpus = gpu_watch_create(
        &(struct gpu_watch_config){ .loop = &s->loop,
                                    .ctl = s->ctl,
                                    .node = &s->nodes.at[0],
                                    .socket = s->files.socket,
                                    .known = s->files.gpus,
                                    .bound = config_number(&s->config, SETTING_GPU_MEMORY_BOUND) });
    if (make_http(s, err) < 0)
        return -1;
    return open_agents(s, false, err);
}

/* ---- the whole ---- */

/* By the command line, in the background: "start" when it was asked to, "need" when a job was to
 * run and no server was there. NULL: in the foreground. Not for the jobs' eyes. */
static void read_starter(struct server *s)
{
    const char *by = getenv("MUSTER_STARTED_BY");
    s->detached = by != NULL;
    s->on_demand = by && strcmp(by, "need") == 0;
    unsetenv("MUSTER_STARTED_BY");
}

/* To who waits for this server to start: "ok", or why not, as a document (cli/server_start.c). */
static void say_outcome(struct arena *a, const struct err *failed)
{
    static const struct refused nothing = { .program = "muster" };
    const char *text = getenv("MUSTER_READY_FD");
    uint64_t fd;
    AUTO_BUF struct buf words = BUF_INIT(OUTCOME_MAX);
    if (!text || !scan_u64(text, 3, 1 << 20, &fd))
        return;
    if (failed) {
        struct text_node *map = text_map(a, NULL, NULL);
        text_str(a, map, "what", failed->what);
        remedies_write(a, map, failed->hint, &failed->remedies, &nothing);
        json_print(map, 0, &words);
    } else {
        buf_puts(&words, "ok\n");
    }
    if (words.len && write((int)fd, words.data, words.len) != (ssize_t)words.len)
        log_warn("server.ready", "nobody=waits");
    if (!failed) /* else it ends with this process, when the reason has been said */
        close((int)fd);
    unsetenv("MUSTER_READY_FD");
}

static int announce(struct server *s, struct err *err)
{
    struct server_info info = { .pid = (uint64_t)getpid(),
                                .started_ms = s->started_ms,
                                .version = s->version,
                                .address = s->address,
                                .detached = s->detached };
    struct server_address way = { .port = s->host ? http_server_port(s->http) : 0 };
    if (server_files_announce(&s->files, &info, err) < 0)
        return -1;
    if (server_files_are_shared(&s->files)) {
        way.known = s->host ? agents_host(s->arena, s->address + strlen("http://")) : NULL;
        way.places = agents_places(s->agents, s->arena);
        way.authority = on_authority(s, err);
        if (!way.authority || server_files_share(&s->files, &way, err) < 0)
            return -1;
    }
    log_info("server.started", "pid=%d version=%s address=%s state_dir=%s nodes=%zu", (int)getpid(),
             s->version, *s->address ? s->address : "none", s->files.dir, s->nodes.n);
    say_outcome(s->arena, NULL);
    return 0;
}

static void start_handles(struct server *s)
{
    uv_check_start(&s->check, on_check);
    /* After the HTTP server's own: libuv calls the newest first, so answers of a turn are sent in
     * the same round. */
    uv_prepare_start(&s->prepare, on_prepare);
    uv_signal_start(&s->term, on_signal, SIGTERM);
    uv_signal_start(&s->interrupt, on_signal, SIGINT);
    s->idle_exit_ms = config_number(&s->config, SETTING_IDLE_EXIT);
    if (s->idle_exit_ms == UINT64_MAX)
        return;
    uint64_t often = s->idle_exit_ms / 10;
    often = often < 20 ? 20 : often > 60000 ? 60000 : often;
    uv_timer_start(&s->idle, on_idle, often, often);
}

static void audit_start(struct server *s)
{
    struct pairs settings = { 0 };
    for (size_t i = 0; i < SETTING_N; i++)
        pairs_set(&settings, s->arena, setting_key((enum setting)i), s->config.at[i].text);
    ctl_audit_start(s->ctl, s->version, &settings);
}

/* Nothing may turn the core any more once its parts begin to go. */
static void close_handles(struct server *s)
{
    uv_handle_t *own[] = { (uv_handle_t *)&s->check, (uv_handle_t *)&s->prepare,
                           (uv_handle_t *)&s->sleep, (uv_handle_t *)&s->tick,
                           (uv_handle_t *)&s->idle,  (uv_handle_t *)&s->last,
                           (uv_handle_t *)&s->term,  (uv_handle_t *)&s->interrupt,
                           (uv_handle_t *)&s->soon };
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        uv_close(own[i], NULL);
}

static void server_fini(struct server *s)
{
    if (s->loop_ready)
        close_handles(s);
    gpu_watch_destroy(TAKE(s->gpus));
    image_asks_destroy(TAKE(s->image_asks));
    http_server_destroy(s->http);
    api_destroy(s->api);
    if (s->http)
        server_files_withdraw(&s->files, s->had_no_work);
    s->sink.fact = NULL;
    if (s->shipper)
        shipper_finish(s->shipper);
    shipper_destroy(s->shipper);
    recorder_destroy(s->recorder);
    pilot_nodes_destroy(s->pilots);
    ctl_destroy(s->ctl);
    fencer_destroy(s->fencer);
    if (s->engine)
        s->engine->ops->destroy(s->engine);
    agents_close(s->agents);
    link_destroy(s->link);
    agents_destroy(s->agents);
    store_close(s->store);
    if (s->loop_ready) {
        uv_run(&s->loop, UV_RUN_DEFAULT);
        uv_loop_close(&s->loop);
    }
    turn_meter_destroy(s->meter);
    certificate_fini(&s->certificate);
    arena_destroy(s->arena);
}

static int server_open(struct server *s, const char *const *flags, struct err *err)
{
    if (sodium_init() < 0)
        return err_set(err, ERR_SYSTEM, "libsodium does not start");
    if (config_load(s->arena, flags, &s->config, err) < 0)
        return -1;
    log_set_level((enum log_level)config_number(&s->config, SETTING_LOG_LEVEL));
    mem_hold(64 << 20);
    AUTO_FREE char *dir = state_dir_find(s->config.at[SETTING_STATE_DIR].text, err);
    if (!dir || server_files_open(s->arena, dir, &s->files, err) < 0)
        return -1;
    settle(s);
    if (divide_descriptors(s, err) < 0 || read_nodes(s, err) < 0 || open_records(s, err) < 0)
        return -1;
    share_address(s);
    find_gpus(s);
    loop_open(s);
    if (account_settings_check(&s->config, own_program(s->arena), err) < 0)
        return -1;
    return make_parts(s, err);
}

int server_main(const char *version, const char *const *flags, struct err *err)
{
    struct server *s = mem_new(sizeof *s);
    s->arena = arena_create();
    s->version = version;
    s->started_ms = clock_wall_ms();
    s->started_up_ms = clock_mono_ms();
    read_starter(s);
    signal(SIGPIPE, SIG_IGN);
    int rc = server_open(s, flags, err);
    if (rc == 0) {
        audit_start(s);
        start_handles(s);
    }
    if (rc == 0)
        rc = announce(s, err);
    if (rc == 0) {
        turn_meter_loaded(s->meter);
        uv_run(&s->loop, UV_RUN_DEFAULT);
        log_info("server.ended", "uptime_s=%llu",
                 (unsigned long long)(clock_mono_ms() - s->started_up_ms) / 1000);
    }
    log_flush();
    if (rc < 0)
        say_outcome(s->arena, err);
    server_fini(s);
    free(s);
    return rc;
}

struct text_node *server_settings(struct arena *a, const char *const *flags, struct err *err)
{
    struct config config;
    struct node_list nodes;
    if (config_load(a, flags, &config, err) < 0)
        return NULL;
    const struct setting_value *declared = &config.at[SETTING_NODES];
    if (!declared->tree && *declared->text && nodes_parse(a, declared->text, "", &nodes, err) < 0)
        return NULL;
    AUTO_FREE char *dir = state_dir_find(config.at[SETTING_STATE_DIR].text, err);
    if (!dir)
        return NULL;
    config_settle(&config, SETTING_STATE_DIR, arena_strdup(a, dir));
    return config_tree(a, &config);
}
