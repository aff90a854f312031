/* Frames to actions, facts to frames. The agent asks nothing back: a launch is complete, and
 * everything it reports is repeated until it is acknowledged, so that the server may come and go.
 * It leaves by returning; the keeper, its parent, ends whatever is left. */
#include "node/agent.h"

#include "base/log.h"
#include "base/mem.h"
#include "node/attach.h"
#include "node/conf.h"
#include "node/gateway.h"
#include "node/log_sender.h"
#include "node/outbox.h"
#include "node/output.h"
#include "node/rebase.h"
#include "node/relay.h"
#include "node/shells.h"
#include "node/task_set.h"
#include "node/uplink.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CODE_ROOM ((uint64_t)8 << 30)
#define FILES_MAX 32u         /* of a launch */
#define LOG_ROOM  (64u << 10) /* news of logs are left out when more than this waits to be sent */

/* How it leaves when its logs are sent: RELEASED says that nothing is left here, so it waits for
 * the logs; then the agent waits for RELEASE. Each wait has the engine's bound. */
enum leave_step { LEAVE_NOT, LEAVE_SENDS_LOGS, LEAVE_SAID };

struct agent {
    uv_loop_t loop;
    uv_check_t check;
    struct conf conf;
    struct account account; /* what conf says of it */
    struct site site;
    struct task_set *set;
    struct outbox *outbox;
    struct uplink *link;
    struct shells *shells;
    struct attach *attach;
    struct log_sender *sender; /* NULL: the server reads the logs here */
    enum leave_step leave_step;
    struct wire_fact last; /* RELEASED, while it waits for the logs */
    uv_signal_t term;      /* with conf.outlive_term */
    uv_timer_t leave_timer;
    struct relay *relay;     /* NULL: its socket could not be made */
    char *socket;            /* of the relay */
    struct gateway *gateway; /* NULL: the server is on this machine; or it could not be made */
    char *server;            /* that, for tasks */
    char *no_gateway;        /* why it could not */
    char *programs, *program, *client;
    char *code; /* path of site.code */
    char *code_tree;
    char *images; /* of site.images_dir */
    char *shared; /* directory of the code, which this machine sees too; NULL: it does not */
    struct batch *coming; /* files of the next launch; NULL: none came */
    bool welcome;         /* the server has said what it has */
    bool leaving;
};

/* The loop ends when nothing is open any more. */
static void leave(struct agent *agent)
{
    if (agent->leaving)
        return;
    agent->leaving = true;
    if (agent->conf.outlive_term)
        uv_close((uv_handle_t *)&agent->term, NULL);
    uv_close((uv_handle_t *)&agent->check, NULL);
    uv_close((uv_handle_t *)&agent->leave_timer, NULL);
    log_sender_destroy(TAKE(agent->sender));
    relay_destroy(TAKE(agent->relay));
    gateway_destroy(TAKE(agent->gateway));
    shells_destroy(TAKE(agent->shells));
    attach_destroy(TAKE(agent->attach));
    task_set_destroy(TAKE(agent->set));
    uplink_destroy(TAKE(agent->link));
}

/* ---- up ---- */

static void expect_facts(void *arg, size_t n)
{
    struct agent *agent = arg;
    outbox_reserve(agent->outbox, n);
}

static void report(struct agent *agent, const struct wire_fact *fact)
{
    uint64_t seq = outbox_add(agent->outbox, fact);
    if (!agent->welcome)
        return;
    outbox_write(agent->outbox, seq - 1, uplink_out(agent->link));
    uplink_flush(agent->link);
}

static void replicate(struct agent *agent, struct task_ref place, uint32_t attempt, uint64_t end)
{
    const struct task *task = agent->sender ? task_set_task(agent->set, place, attempt) : NULL;
    if (!task)
        return;
    struct task_log log = task_log(task);
    struct log_source source = { .task = place,
                                 .attempt = attempt,
                                 .role = log.role,
                                 .dir = log.dir,
                                 .head = log.head,
                                 .tail = log.tail };
    log_sender_grew(agent->sender, &source, end);
}

static void on_leave_timer(uv_timer_t *timer);

/* The next stage of leaving, with what is left of the time for it. */
static void part(struct agent *agent, enum leave_step stage)
{
    agent->leave_step = stage;
    uv_timer_stop(&agent->leave_timer);
    if (agent->conf.leave_ms > 0)
        uv_timer_start(&agent->leave_timer, on_leave_timer, agent->conf.leave_ms, 0);
    if (stage == LEAVE_SAID)
        report(agent, &agent->last);
}

static void on_leave_timer(uv_timer_t *timer)
{
    struct agent *agent = timer->data;
    log_warn("agent.leaves", "job=%" PRIu64 " generation=%u note=\"%s not acknowledged\"",
             agent->conf.generation.job, agent->conf.generation.number,
             agent->leave_step == LEAVE_SAID ? "its last fact is" : "logs are");
    if (agent->leave_step == LEAVE_SAID)
        leave(agent);
    else
        part(agent, LEAVE_SAID);
}

static void on_logs_kept(void *arg)
{
    struct agent *agent = arg;
    if (agent->leave_step == LEAVE_SENDS_LOGS)
        part(agent, LEAVE_SAID);
}

static void send_fact(void *arg, const struct wire_fact *fact)
{
    struct agent *agent = arg;
    attach_go_on(agent->attach); /* the last output and the end of a task, while it is known here */
    if (fact->kind == WIRE_FACT_RELEASED && agent->sender) {
        agent->last = *fact;
        part(agent, log_sender_is_done(agent->sender) ? LEAVE_SAID : LEAVE_SENDS_LOGS);
        return;
    }
    report(agent, fact);
    replicate(agent, fact->task, fact->attempt, fact->log_end);
    if (agent->sender && (fact->kind == WIRE_FACT_ENDED || fact->kind == WIRE_FACT_REFUSED))
        log_sender_close(agent->sender, fact->task, fact->attempt);
}

/* Everything is to end, and every task has: what else runs here goes too, and then there is nothing
 * left to report. */
static void on_all_over(void *arg)
{
    struct agent *agent = arg;
    shells_end_all(agent->shells);
}

static void send_log(void *arg, const struct wire_log *log)
{
    struct agent *agent = arg;
    attach_go_on(agent->attach);
    replicate(agent, log->task, log->attempt, log->end);
    if (!agent->welcome || uplink_out(agent->link)->len > LOG_ROOM)
        return;
    wire_put(uplink_out(agent->link), 0, log);
    uplink_flush(agent->link);
}

static void send_want(void *arg, const struct wire_code_request *want)
{
    struct agent *agent = arg;
    if (!agent->welcome)
        return;
    wire_put(uplink_out(agent->link), 0, want);
    uplink_flush(agent->link);
}

static void on_connected(void *arg, struct buf *out)
{
    struct agent *agent = arg;
    struct wire_hello hello = {
        .version = WIRE_VERSION,
        .generation = agent->conf.generation,
        .node = agent->conf.node,
        .agent_pid = (uint32_t)getpid(),
        .launch_seq = task_set_applied(agent->set),
        .first_seq = outbox_first(agent->outbox),
        .launch_form = WIRE_LAUNCH_FORM,
    };
    wire_put(out, 0, &hello);
}

/* ---- down ---- */

static int take_welcome(struct agent *agent, const struct wire_frame *frame)
{
    agent->welcome = true;
    outbox_ack(agent->outbox, frame->seq);
    outbox_write(agent->outbox, frame->seq, uplink_out(agent->link));
    uplink_flush(agent->link);
    if (agent->sender)
        log_sender_up(agent->sender);
    task_set_tell_logs(agent->set);
    task_set_want_again(agent->set);
    relay_up(agent->relay);
    return 0;
}

static struct batch *make_batch(void)
{
    struct batch *batch = mem_new(sizeof *batch);
    batch->arena = arena_create();
    batch_hold(batch);
    return batch;
}

static int take_file(struct agent *agent, const struct wire_frame *frame)
{
    struct batch *batch = agent->coming ? agent->coming : make_batch();
    struct launch *launch = &batch->launch;
    agent->coming = batch;
    if (!launch->files)
        launch->files = ARENA_ARRAY(batch->arena, FILES_MAX, struct launch_file);
    if (launch->n_files == FILES_MAX ||
        wire_get(frame, batch->arena, &launch->files[launch->n_files]) != 0)
        return -1;
    launch->n_files++;
    return 0;
}

/* What is installed lies beside the code of all agents of the machine. */
static void take_home(const struct agent *agent, struct batch *batch)
{
    const char *cache = agent->conf.cache, *slash = strrchr(cache, '/');
    const struct rebase_target to = {
        .dir = agent->site.dir,
        .code = agent->shared,
        .packages =
            slash ? arena_printf(batch->arena, "%.*s/packages", (int)(slash - cache), cache) : NULL,
        .server = agent->server,
    };
    rebase_launch(&batch->launch, batch->arena, &to);
}

static int take_launch(struct agent *agent, const struct wire_frame *frame)
{
    struct batch *batch = agent->coming ? TAKE(agent->coming) : make_batch();
    struct launch_file *files = batch->launch.files;
    size_t n_files = batch->launch.n_files;
    int rc = wire_get(frame, batch->arena, &batch->launch);
    batch->launch.files = files;
    batch->launch.n_files = n_files;
    if (rc == 0 && (batch->launch.generation.job != agent->conf.generation.job ||
                    batch->launch.generation.number != agent->conf.generation.number))
        rc = -1; /* not for us */
    if (rc == 0) {
        if (agent->conf.send_logs)
            take_home(agent, batch);
        batch->launch.dir = arena_strdup(batch->arena, agent->site.dir);
        batch->launch.user_dir = agent->site.user_dir;
        batch->launch.account = agent->site.confine.account;
        batch->launch.archive = agent->code            ? agent->code
                                : *agent->conf.archive ? agent->conf.archive
                                                       : NULL;
        batch->launch.sandbox = agent->site.confine.sandbox;
        if (agent->code && batch->launch.work_dir) /* the server's is on another disk */
            batch->launch.work_dir = agent->code_tree;
        task_set_launch(agent->set, batch);
    }
    batch_drop(batch);
    return rc;
}

static int take_stop(struct agent *agent, const struct wire_frame *frame)
{
    struct wire_stop stop;
    if (wire_get(frame, NULL, &stop) != 0)
        return -1;
    task_set_stop(agent->set, &stop);
    return 0;
}

static int take_ack(struct agent *agent, const struct wire_frame *frame)
{
    outbox_ack(agent->outbox, frame->seq);
    return 0;
}

static int take_release(struct agent *agent, const struct wire_frame *frame)
{
    (void)frame;
    leave(agent);
    return 0;
}

static int take_ping(struct agent *agent, const struct wire_frame *frame)
{
    wire_put_plain(uplink_out(agent->link), WIRE_PONG, frame->seq);
    uplink_flush(agent->link);
    return 0;
}

static int take_log_kept(struct agent *agent, const struct wire_frame *frame)
{
    struct wire_log_kept_ack kept;
    if (wire_get(frame, NULL, &kept) != 0)
        return -1;
    if (agent->sender)
        log_sender_kept(agent->sender, &kept);
    return 0;
}

static int take_nothing(struct agent *agent, const struct wire_frame *frame)
{
    (void)agent;
    (void)frame;
    return 0;
}

static int take_exec(struct agent *agent, const struct wire_frame *frame)
{
    struct arena *arena = arena_create();
    struct wire_exec exec;
    int rc = wire_get(frame, arena, &exec);
    if (rc == 0)
        shells_open(agent->shells, &exec, task_set_stage(agent->set, exec.task, exec.attempt));
    arena_destroy(arena);
    return rc;
}

static int take_attach(struct agent *agent, const struct wire_frame *frame)
{
    struct wire_attach attach;
    if (wire_get(frame, NULL, &attach) != 0)
        return -1;
    attach_open(agent->attach, &attach);
    return 0;
}

static int take_signal(struct agent *agent, const struct wire_frame *frame)
{
    struct wire_signal ask;
    if (wire_get(frame, NULL, &ask) != 0)
        return -1;
    struct wire_signalled_report said = { ask.number, task_set_signal(agent->set, &ask) };
    wire_put(uplink_out(agent->link), 0, &said);
    uplink_flush(agent->link);
    return 0;
}

static int take_input(struct agent *agent, const struct wire_frame *frame)
{
    struct wire_data data;
    if (wire_get(frame, NULL, &data) != 0)
        return -1;
    shells_input(agent->shells, &data);
    attach_input(agent->attach, &data);
    return 0;
}

static int take_reached(struct agent *agent, const struct wire_frame *frame)
{
    struct wire_reached_report reached;
    if (wire_get(frame, NULL, &reached) != 0)
        return -1;
    shells_reached(agent->shells, &reached);
    return 0;
}

static int take_exit(struct agent *agent, const struct wire_frame *frame)
{
    struct wire_data data;
    if (wire_get(frame, NULL, &data) != 0)
        return -1;
    shells_end(agent->shells, data.channel);
    attach_leave(agent->attach, data.channel);
    return 0;
}

static int take_resize(struct agent *agent, const struct wire_frame *frame)
{
    struct wire_resize resize;
    if (wire_get(frame, NULL, &resize) != 0)
        return -1;
    shells_resize(agent->shells, &resize);
    attach_resize(agent->attach, &resize);
    return 0;
}

static int take_piece(struct agent *agent, const struct wire_frame *frame)
{
    struct wire_piece piece;
    if (wire_get(frame, NULL, &piece) != 0)
        return -1;
    task_set_piece(agent->set, &piece);
    return 0;
}

static int take_secrets(struct agent *agent, const struct wire_frame *frame)
{
    struct arena *arena = arena_create();
    struct wire_secrets secrets;
    int rc = wire_get(frame, arena, &secrets);
    if (rc == 0 && secrets_take(agent->site.secrets, secrets.at, secrets.n))
        task_set_renew_secrets(agent->set);
    arena_destroy(arena);
    return rc;
}

static int take_launcher_data(struct agent *agent, const struct wire_frame *frame)
{
    struct wire_data data;
    if (wire_get(frame, NULL, &data) != 0)
        return -1;
    relay_data(agent->relay, &data);
    return 0;
}

static int take_launcher_close(struct agent *agent, const struct wire_frame *frame)
{
    struct wire_data data;
    if (wire_get(frame, NULL, &data) != 0)
        return -1;
    relay_close(agent->relay, data.channel);
    return 0;
}

static int on_frame(void *arg, const struct wire_frame *frame)
{
    static int (*const takers[WIRE_KIND_N])(struct agent *, const struct wire_frame *) = {
        [WIRE_WELCOME] = take_welcome,
        [WIRE_LAUNCH] = take_launch,
        [WIRE_STOP] = take_stop,
        [WIRE_ACK] = take_ack,
        [WIRE_RELEASE] = take_release,
        [WIRE_PING] = take_ping,
        [WIRE_EXEC] = take_exec,
        [WIRE_STDIN] = take_input,
        [WIRE_REACHED] = take_reached,
        [WIRE_RESIZE] = take_resize,
        [WIRE_EXIT] = take_exit,
        [WIRE_PONG] = take_nothing,
        [WIRE_LAUNCHER_DATA] = take_launcher_data,
        [WIRE_LAUNCHER_CLOSE] = take_launcher_close,
        [WIRE_SIGNAL] = take_signal,
        [WIRE_ATTACH] = take_attach,
        [WIRE_LOG_KEPT] = take_log_kept,
        [WIRE_PIECE] = take_piece,
        [WIRE_FILE] = take_file,
        [WIRE_SECRETS] = take_secrets,
    };
    struct agent *agent = arg;
    return takers[frame->kind] ? takers[frame->kind](agent, frame) : -1;
}

static void on_lost(void *arg)
{
    struct agent *agent = arg;
    agent->welcome = false;
    batch_drop(TAKE(agent->coming));
    if (agent->sender)
        log_sender_lost(agent->sender);
    relay_lost(agent->relay);
    attach_lost(agent->attach);
    shells_end_all(agent->shells);
}

static void on_writable(void *arg)
{
    struct agent *agent = arg;
    if (agent->sender)
        log_sender_go_on(agent->sender);
    shells_go_on(agent->shells);
    attach_go_on(agent->attach);
    relay_go_on(agent->relay);
}

static void on_refused(void *arg, int status)
{
    struct agent *agent = arg;
    log_warn("agent.refused", "job=%" PRIu64 " generation=%u status=%d", agent->conf.generation.job,
             agent->conf.generation.number, status);
    leave(agent);
}

/* ---- to and fro ---- */

static bool whose_cookie(void *arg, const char *cookie, size_t len, struct task_ref *task,
                         uint32_t *attempt)
{
    const struct agent *agent = arg;
    return task_set_whose(agent->set, cookie, len, task, attempt);
}

static void open_relay(struct agent *agent)
{
    struct err err;
    AS_FS_USER(account_files(agent->site.confine.account)); /* its launchers are to find it */
    agent->relay = relay_create(agent->site.user_dir, agent->link,
                                (struct relay_config){ .cookie_ms = RELAY_COOKIE_MS,
                                                       .masks = secrets_masks(agent->site.secrets),
                                                       .whose = whose_cookie,
                                                       .arg = agent },
                                &err);
    if (!agent->relay) {
        log_error("launcher.socket", "%s", err.what);
        return;
    }
    agent->socket = mem_printf("%s/%s", agent->site.user_dir, RELAY_SOCKET);
    agent->site.launch_socket = agent->socket;
}

static void open_gateway(struct agent *agent)
{
    struct err err;
    if (agent->conf.n_places == 0)
        return;
    AS_FS_USER(account_files(agent->site.confine.account)); /* programs of tasks are to find it */
    agent->gateway = gateway_create(&agent->loop, agent->site.user_dir, agent->site.dir, &err);
    if (agent->gateway) {
        agent->server = mem_printf("unix:%s/%s", agent->site.user_dir, GATEWAY_SOCKET);
    } else {
        log_error("caller.socket", "%s", err.what);
        agent->no_gateway = mem_printf("%s", err.what);
        agent->site.no_server = agent->no_gateway;
    }
}

/* Launchers lie in folders beside this program, or where its host made them. */
static void find_programs(struct agent *agent)
{
    char self[4096];
    if (*agent->conf.programs) {
        agent->site.programs = agent->conf.programs;
        return;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return;
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    if (!slash)
        return;
    *slash = '\0';
    agent->site.programs = agent->programs = mem_strdup(self);
}

/* After everything that one wait for descriptors has found. */
static void on_waited(uv_check_t *check)
{
    struct agent *agent = check->data;
    agent->site.wakeups++;
}

/* Where the job's code is when it comes over the connection. */
static void find_code(struct agent *agent, const char *dir)
{
    const struct conf *conf = &agent->conf;
    agent->site.code_tree = agent->code_tree = mem_printf("%s/code", agent->site.user_dir);
    agent->shared = rebase_find_shared(conf->shared);
    if (!*conf->code || agent->shared)
        return;
    agent->code = *conf->cache ? mem_printf("%s/%s", conf->cache, conf->code)
                               : mem_printf("%s/archives/%s", dir, conf->code);
    agent->site.code = agent->code;
    agent->site.code_room = conf->cache_size ? conf->cache_size : CODE_ROOM;
}

static void set_up(struct agent *agent, const char *dir, pid_t keeper)
{
    uv_check_init(&agent->loop, &agent->check);
    uv_unref((uv_handle_t *)&agent->check);
    agent->check.data = agent;
    uv_check_start(&agent->check, on_waited);
    agent->site =
        (struct site){ .loop = &agent->loop,
                       .wakeups = 1,
                       .dir = dir,
                       .user_dir = *agent->conf.user_dir ? agent->conf.user_dir : dir,
                       .confine = { .sandbox = agent->conf.sandbox,
                                    .account = conf_account(&agent->conf, &agent->account) },
                       .cookie = agent->conf.cookie,
                       .in_allocation = agent->conf.outlive_term,
                       .server = conf_server(&agent->conf),
                       .keeper = keeper,
                       .view = VIEW_INIT,
                       .secrets = secrets_create(),
                       .scratch = malloc(OUTPUT_SCRATCH) };
    if (!agent->site.scratch)
        BUG("no memory to start with");
    const struct account *account = agent->site.confine.account;
    agent->site.confine.ids =
        ids_find(account ? account->ids.uid : geteuid(), account ? account->name : NULL);
    find_code(agent, dir);
    agent->images =
        *agent->conf.images ? mem_strdup(agent->conf.images) : mem_printf("%s/images", dir);
    agent->site.images_dir = agent->images;
    agent->site.images_room = agent->conf.images_size;
    agent->site.away = agent->conf.send_logs;
    cgroup_find(&agent->site.cgroups);
    agent->outbox = outbox_create();
    agent->set = task_set_create(&agent->site, (struct task_set_sink){ .expect = expect_facts,
                                                                       .fact = send_fact,
                                                                       .all_over = on_all_over,
                                                                       .log = send_log,
                                                                       .want = send_want,
                                                                       .arg = agent });
    agent->link = uplink_create(&agent->loop, dir,
                                (struct uplink_sink){ .connected = on_connected,
                                                      .frame = on_frame,
                                                      .writable = on_writable,
                                                      .lost = on_lost,
                                                      .refused = on_refused,
                                                      .arg = agent });
    uv_timer_init(&agent->loop, &agent->leave_timer);
    agent->leave_timer.data = agent;
    if (agent->conf.send_logs)
        agent->sender = log_sender_create(
            agent->link, (struct log_sender_sink){ .done = on_logs_kept, .arg = agent });
    agent->shells = shells_create(&agent->loop, agent->link);
    agent->attach = attach_create(agent->set, agent->link);
    open_relay(agent);
    open_gateway(agent);
    find_programs(agent);
    agent->site.program = agent->program = site_find_program(agent->site.programs);
    agent->site.client = agent->client = site_find_client(agent->site.programs);
}

static void on_term(uv_signal_t *watch, int number)
{
    struct agent *agent = watch->data;
    (void)number;
    log_warn("allocation.ends", "job=%" PRIu64 " generation=%u", agent->conf.generation.job,
             agent->conf.generation.number);
    if (agent->set)
        task_set_lose(agent->set);
}

int agent_run(const char *dir, pid_t keeper, int session)
{
    struct err err;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a full log is counted, not died of */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != keeper)
        return 1;
    struct agent *agent = mem_new(sizeof *agent);
    if (conf_read(dir, &agent->conf, &err) != 0) {
        log_error("agent.failed", "%s", err.what);
        free(agent);
        return 1;
    }
    if (uv_loop_init(&agent->loop) != 0)
        BUG("no event loop");
    set_up(agent, dir, keeper);
    uplink_take_session(agent->link, session);
    if (agent->conf.outlive_term) {
        uv_signal_init(&agent->loop, &agent->term);
        agent->term.data = agent;
        uv_signal_start(&agent->term, on_term, SIGTERM);
        uv_unref((uv_handle_t *)&agent->term);
    }
    uplink_start(agent->link);
    uv_run(&agent->loop, UV_RUN_DEFAULT);
    bool released = agent->leaving;
    uv_loop_close(&agent->loop);
    outbox_destroy(agent->outbox);
    view_fini(&agent->site.view);
    free(agent->site.scratch);
    secrets_destroy(agent->site.secrets);
    batch_drop(agent->coming);
    free(agent->socket);
    free(agent->no_gateway);
    free(agent->server);
    free(agent->programs);
    free(agent->program);
    free(agent->client);
    free(agent->code);
    free(agent->code_tree);
    free(agent->shared);
    free(agent->images);
    free(agent);
    return released ? 0 : 1;
}
