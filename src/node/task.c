/* The life of an attempt: waiting, starting (forked, program not running yet), running, ending (its
 * program is gone, what it left behind is being killed), over.
 *
 * What belongs to the task is found in three ways: the descendants of its main process; orphans,
 * which the kernel hands to the keeper (a child subreaper), by the attempt's mark in their
 * environment or by their session; the members of its cgroup. The end is reported only when all of
 * these are empty, so that nothing of an ended attempt still runs. */
#include "node/task.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "job/signals.h"
#include "node/environment.h"
#include "node/gpu_lock.h"
#include "node/image_root.h"
#include "node/pin.h"
#include "node/ports.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SETTLE_FIRST_MS   1u
#define SETTLE_SLOWEST_MS 50u
#define STEP_KILL_MS      1000u  /* Slurm kills all of a step one after the other, in less */
#define SETTLE_GIVE_UP_MS 30000u /* what survives SIGKILL so long hangs in the kernel */
#define WATCH_MS          1000u
#define WAITING           2u /* processes that stand for one with a namespace of its own */
#define ATTEMPT_COOKIE    "MUSTER_ATTEMPT_COOKIE"

enum phase { PHASE_WAITING, PHASE_STARTING, PHASE_RUNNING, PHASE_ENDING, PHASE_OVER };
enum timer_kind { TIMER_LIMIT, TIMER_STOP, TIMER_SETTLE, TIMER_WATCH, TIMERS };

struct task {
    struct site *site;
    struct batch *batch;
    const struct launch_task *what;
    struct task_sink sink;
    enum phase phase;
    const char *mark; /* "MUSTER_ATTEMPT_COOKIE=..." */
    const char *work_dir;
    struct stage stage;
    struct view view; /* its own, with a /dev/shm or an image; else that of the site holds */
    struct confine confine;
    struct root root;
    bool in_image; /* with root, and a layer of its own */
    struct secret_files secret_files;
    struct cgroup cgroup;
    struct pin pin;
    struct held_ports ports;
    struct gpu_locks gpus;
    struct output *output;
    struct input *input; /* NULL: its stdin is empty */
    const char *log_dir;
    pid_t pid;
    int pidfd, status;
    uv_poll_t pid_poll, status_poll;
    uv_timer_t timers[TIMERS];
    int handles;
    bool polls, doomed, prepared;
    bool failed; /* failure says why the program did not start */
    struct stage_failure failure;
    bool stopped, killed;
    enum end_origin stop_why;
    enum end_cause stop_cause;
    char stop_remark[160];
    bool told_death;
    int wait_status;
    uint64_t memory_peak, oom_before, settle_since, wakeup;
};

/* ---- making and freeing ---- */

static const char *make_work_dir(const struct site *site, struct batch *batch,
                                 const struct launch_task *what)
{
    if (batch->launch.work_dir)
        return batch->launch.work_dir;
    return arena_printf(batch->arena, "%s/work/%s.%u", site->user_dir, what->role, what->ref.index);
}

static void on_output_grew(void *arg)
{
    struct task *task = arg;
    task->sink.grew(task->sink.arg, task);
}

static void on_output_closed(void *arg)
{
    (void)arg; /* a program may close its output and go on */
}

static void open_output(struct task *task)
{
    const struct launch *launch = &task->batch->launch;
    char name[LOG_DIR_MAX];
    log_dir_name(name, task->what->role, task->what->ref.index, task->what->attempt);
    task->log_dir = arena_printf(task->batch->arena, "%s/%s", task->site->dir, name);
    struct err err;
    struct logfile *log = logfile_create(task->log_dir, launch->log_head, launch->log_tail, &err);
    if (!log) {
        log_error("log.failed", "%s", err.what);
        return;
    }
    struct output_sink sink = { .grew = on_output_grew, .closed = on_output_closed, .arg = task };
    task->output = output_create(task->site->loop, log, task->site->scratch, sink);
    if (task->site->secrets)
        output_mask(task->output, secrets_masks(task->site->secrets));
}

static const char *secrets_dir(const struct task *task)
{
    return arena_printf(task->batch->arena, "%s/secrets/%s.%u", task->site->user_dir,
                        task->what->role, task->what->ref.index);
}

/* What the launch says, and the secrets that are variables. */
static struct pairs own_env(struct task *task)
{
    const struct launch_task *what = task->what;
    struct arena *arena = task->batch->arena;
    struct pairs own = { .n = 0 };
    if (what->n_secrets == 0)
        return what->env;
    task->batch->secret = true;
    for (size_t i = 0; i < what->env.n; i++)
        pairs_put(&own, arena, what->env.at[i].name, what->env.at[i].value);
    secrets_put_env(task->site->secrets, what, arena, &own);
    pairs_set(&own, arena, SECRETS_VARIABLE, secrets_dir(task));
    return own;
}

/* image: that it runs in, once that is known. */
static void prepare_stage(struct task *task, const struct image_config *image,
                          const struct cdi_edits *edits)
{
    struct batch *batch = task->batch;
    const struct launch_task *what = task->what;
    const char *id = arena_printf(batch->arena, "%s.%s.%u.%u", task->site->cookie, what->role,
                                  what->ref.index, what->attempt);
    task->mark = arena_printf(batch->arena, ATTEMPT_COOKIE "=%s", id);
    const struct pairs own = own_env(task);
    struct environment environment = {
        .own = &own,
        .secret = what->n_secrets > 0,
        .cookie = task->site->cookie,
        .attempt = id,
        .launch_socket = task->site->launch_socket,
        .programs = task->site->programs,
        .work_dir = task->work_dir,
        .python = batch->launch.python && !what->image
                      ? arena_printf(batch->arena, "%s/py", task->site->user_dir)
                      : NULL,
        .base = batch->launch.python,
        .own_dir = task->site->user_dir,
        .before = batch->last_env,
        .tty = what->tty,
        .account = task->site->confine.account,
        .image = image,
        .devices = edits ? &edits->env : NULL,
        .client = image ? task->site->client : NULL,
    };
    char **argv = ARENA_ARRAY(batch->arena, what->argv.n + 1, char *);
    for (size_t i = 0; i < what->argv.n; i++)
        argv[i] = arena_strdup(batch->arena, what->argv.at[i]);
    batch->last_env = environment_make(batch->arena, &environment);
    task->stage = (struct stage){
        .argv = argv,
        .shell = what->run,
        .env = batch->last_env,
        .work_dir = task->work_dir,
        .view = &task->site->view,
        .cgroup = &task->cgroup,
        .confine = &task->confine,
        .image = what->image,
        .no_core = what->n_secrets > 0,
        /* Who runs as the agent and is not root could have every device in other ways. */
        .devices = { .own = task->site->confine.sandbox && geteuid() == 0,
                     .gpus = what->gpus,
                     .n_gpus = what->gpu_hold ? what->n_gpus : 0,
                     .parts = what->parts },
    };
}

struct task *task_create(struct site *site, struct batch *batch, const struct launch_task *what,
                         struct task_sink sink)
{
    struct task *task = mem_new(sizeof *task);
    batch_hold(batch);
    task->site = site;
    task->batch = batch;
    task->what = what;
    task->sink = sink;
    task->pidfd = task->status = -1;
    task->view = VIEW_INIT;
    task->confine = site->confine;
    task->confine.root_inside = what->image != NULL;
    task->work_dir = make_work_dir(site, batch, what);
    for (size_t i = 0; i < TIMERS; i++) {
        uv_timer_init(site->loop, &task->timers[i]);
        task->timers[i].data = task;
        task->handles++;
    }
    open_output(task);
    prepare_stage(task, NULL, NULL);
    return task;
}

static void drop_view(struct task *task)
{
    task->stage.view = &task->site->view;
    secret_files_close(&task->secret_files);
    task->confine.user_ns = NULL;
    if (task->in_image)
        image_root_remove(task->site, task->what, &task->view);
    view_fini(&task->view);
    task->in_image = false;
}

static void free_if_done(struct task *task)
{
    if (!task->doomed || task->handles > 0)
        return;
    batch_drop(task->batch);
    free(task);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct task *task = handle->data;
    task->handles--;
    free_if_done(task);
}

static void close_polls(struct task *task)
{
    if (!task->polls)
        return;
    task->polls = false;
    uv_close((uv_handle_t *)&task->pid_poll, on_handle_closed);
    uv_close((uv_handle_t *)&task->status_poll, on_handle_closed);
    close(task->pidfd);
    close(task->status);
    task->pidfd = task->status = -1;
}

void task_destroy(struct task *task)
{
    if (!task)
        return;
    close_polls(task);
    for (size_t i = 0; i < TIMERS; i++)
        uv_close((uv_handle_t *)&task->timers[i], on_handle_closed);
    output_destroy(task->output);
    input_destroy(task->input);
    cgroup_remove(&task->cgroup);
    drop_view(task);
    free((char *)(uintptr_t)task->stage.code.at);
    task->stage.code.at = NULL;
    task->doomed = true;
    free_if_done(task);
}

/* ---- what belongs to it ---- */

/* One that is just ending shows no mark; until it has ended it may hold a device's memory. */
static bool is_of(const struct task *task, pid_t orphan)
{
    return proc_environ_has(orphan, task->mark) || getsid(orphan) == task->pid ||
           (task->phase == PHASE_ENDING && proc_is_leaving(orphan));
}

/* Of a task with a process namespace: the process outside, or the first inside. */
static bool only_waits(const struct task *task, pid_t pid)
{
    return task->stage.own_pids && task->phase == PHASE_RUNNING &&
           (pid == task->pid || proc_is_child(pid, task->pid));
}

/* Each once, however it was found: a handler would run twice. to_end: with those that only wait. */
static void collect(const struct task *task, bool to_end, struct proc_list *out)
{
    if (task->phase < PHASE_ENDING && task->pid > 0) {
        out->at[out->n++] = task->pid;
        proc_descendants(task->pid, out);
    }
    struct proc_list orphans = { .n = 0 };
    proc_children(task->site->keeper, &orphans);
    pid_t self = getpid();
    for (size_t i = 0; i < orphans.n && out->n < PROC_LIST_MAX; i++) {
        pid_t pid = orphans.at[i];
        if (pid == self || !is_of(task, pid))
            continue;
        out->at[out->n++] = pid;
        proc_descendants(pid, out);
    }
    cgroup_members(&task->cgroup, out);
    proc_each_once(out);
    size_t n = 0;
    for (size_t i = 0; i < out->n; i++)
        if (to_end || !only_waits(task, out->at[i]))
            out->at[n++] = out->at[i];
    out->n = n;
}

/* How many there were before. The group is killed too: it has those that are born meanwhile. */
static size_t signal_all(const struct task *task, int number)
{
    struct proc_list all = { .n = 0 };
    collect(task, number == SIGKILL, &all);
    if (number == SIGKILL)
        cgroup_kill(&task->cgroup);
    for (size_t i = 0; i < all.n; i++)
        (void)kill(all.at[i], number);
    return all.n;
}

size_t task_signal(const struct task *task, int number)
{
    struct proc_list all = { .n = 0 };
    size_t heard = 0;
    if (task->phase != PHASE_RUNNING || !signal_word(number))
        return 0;
    collect(task, false, &all);
    for (size_t i = 0; i < all.n; i++)
        if (!signal_is_a_request(number) || proc_catches(all.at[i], number))
            heard += kill(all.at[i], number) == 0;
    return heard;
}

/* ---- the end ---- */

static const struct task_end *fill(const struct task *task, struct task_end *end, char *tail)
{
    end->ending.memory_peak = task->memory_peak;
    end->ending.tail = task->output ? output_tail(task->output, tail) : "";
    if (!end->remark)
        end->remark = "";
    return end;
}

static void leave(struct task *task, bool hold)
{
    task->phase = PHASE_OVER;
    for (size_t i = 0; i < TIMERS; i++)
        uv_timer_stop(&task->timers[i]);
    close_polls(task);
    input_destroy(TAKE(task->input));
    pin_give(&task->pin);
    ports_give(&task->ports);
    gpu_locks_give(&task->gpus);
    task->stage.ended = true;
    if (hold)
        return; /* for exec */
    cgroup_remove(&task->cgroup);
    drop_view(task);
}

struct task_end task_fault(const struct err *err)
{
    return (struct task_end){ .ending = ending_of_fault(err), .remark = err->what };
}

void task_refuse(struct task *task, const struct task_end *why)
{
    char tail[ENDING_TAIL_MAX + 1];
    struct task_end end = *why;
    leave(task, false);
    if (task->output)
        output_finish(task->output);
    task->sink.refused(task->sink.arg, task, fill(task, &end, tail));
}

/* Killed by the kernel for want of memory? The group's own count is sure; without a group the
 * machine's count has to do. */
static bool out_of_memory(const struct task *task, bool killed)
{
    if (cgroup_has(&task->cgroup, CGROUP_MEMORY))
        return cgroup_oom_kills(&task->cgroup) > 0;
    return killed && cgroup_machine_oom_kills() > task->oom_before;
}

static bool from_outside(int number)
{
    return number == SIGKILL || number == SIGTERM || number == SIGINT || number == SIGHUP;
}

static bool is_killed(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) == 128 + SIGKILL : WTERMSIG(status) == SIGKILL;
}

static struct task_end stopped(const struct task *task, struct ending ending)
{
    ending.by = task->stop_why;
    ending.cause = task->stop_cause;
    return (struct task_end){ .ending = ending, .remark = task->stop_remark };
}

static struct task_end judge(const struct task *task)
{
    int status = task->wait_status;
    struct ending ending = { .exited = WIFEXITED(status), .by = BY_ITSELF };
    ending.code = ending.exited ? WEXITSTATUS(status) : 0;
    ending.signal = ending.exited ? 0 : WTERMSIG(status);
    bool killed = is_killed(status);
    bool well = ending.exited && ending.code == 0;
    ending.oom = !well && !task->killed && out_of_memory(task, killed);
    if (task->stopped)
        return stopped(task, ending);
    if (ending.oom && killed) {
        ending.by = BY_KERNEL;
    } else if (!ending.exited && from_outside(ending.signal)) {
        bool all = task->site->in_allocation && ending.signal == SIGTERM;
        ending.by = all ? BY_PLATFORM : BY_STRANGER;
    }
    return (struct task_end){ .ending = ending,
                              .remark = ending.by == BY_PLATFORM ? TASK_ALLOCATION_ENDS : NULL };
}

static void finish(struct task *task)
{
    uint64_t peak = cgroup_memory_peak(&task->cgroup);
    if (peak > task->memory_peak)
        task->memory_peak = peak;
    if (task->output)
        output_finish(task->output);
    char tail[ENDING_TAIL_MAX + 1];
    struct task_end end = judge(task);
    leave(task, task->what->hold_failed && !(end.ending.exited && end.ending.code == 0));
    if (task->failed)
        end = task->stopped ? stopped(task, (struct ending){ 0 })
                            : (struct task_end){ .ending.by = task->failure.by,
                                                 .ending.cause = task->failure.cause,
                                                 .remark = task->failure.reason };
    const struct task_end *told = fill(task, &end, tail);
    (task->failed ? task->sink.refused : task->sink.ended)(task->sink.arg, task, told);
}

/* The end is told later, and who died first is not to depend on that. */
static void tell_death(struct task *task)
{
    if (task->told_death || task->failed || task->stopped)
        return;
    char tail[ENDING_TAIL_MAX + 1];
    struct task_end end = judge(task);
    task->told_death = true;
    task->sink.died(task->sink.arg, task, fill(task, &end, tail));
}

/* Was it killed as all of a step of Slurm is? Whoever would tell that does not live to. */
static bool may_end_with_step(const struct task *task, uint64_t waited)
{
    return waited < STEP_KILL_MS && task->site->in_allocation && !task->stopped && !task->killed &&
           is_killed(task->wait_status);
}

static void on_settle(uv_timer_t *timer)
{
    struct task *task = timer->data;
    uint64_t waited = clock_mono_ms() - task->settle_since;
    bool gone = signal_all(task, SIGKILL) == 0;
    if (gone ? !may_end_with_step(task, waited) : waited > SETTLE_GIVE_UP_MS) {
        if (!gone && task->output)
            output_say(task->output, "processes of this task do not end, even by SIGKILL");
        finish(task);
        return;
    }
    tell_death(task);
    uint64_t next = waited < SETTLE_FIRST_MS ? SETTLE_FIRST_MS : waited;
    uv_timer_start(timer, on_settle, next < SETTLE_SLOWEST_MS ? next : SETTLE_SLOWEST_MS, 0);
}

static void on_status(uv_poll_t *poll, int status, int events);

/* Has the main process ended? Then everything else of the task is ended, and the end is told. */
static bool reap(struct task *task)
{
    struct rusage used;
    if (wait4(task->pid, &task->wait_status, WNOHANG, &used) != task->pid)
        return false;
    if (task->phase == PHASE_STARTING)
        on_status(&task->status_poll, 0, UV_READABLE);
    uint64_t peak = (uint64_t)used.ru_maxrss * 1024u;
    task->memory_peak = peak > task->memory_peak ? peak : task->memory_peak;
    task->phase = PHASE_ENDING;
    uv_poll_stop(&task->pid_poll);
    uv_timer_stop(&task->timers[TIMER_LIMIT]);
    uv_timer_stop(&task->timers[TIMER_STOP]);
    uv_timer_stop(&task->timers[TIMER_WATCH]);
    task->settle_since = clock_mono_ms();
    task->wakeup = task->site->wakeups;
    on_settle(&task->timers[TIMER_SETTLE]);
    return true;
}

static void on_pid(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    (void)reap(poll->data);
}

/* ---- stopping ---- */

static void on_grace_over(uv_timer_t *timer)
{
    struct task *task = timer->data;
    task->killed = true;
    (void)signal_all(task, SIGKILL);
}

void task_stop(struct task *task, const struct task_stop *stop)
{
    if (task->phase >= PHASE_ENDING)
        return;
    if (task->phase == PHASE_WAITING) {
        char tail[ENDING_TAIL_MAX + 1];
        struct task_end end = { .ending.by = stop->why, .remark = TASK_UNSTARTED };
        leave(task, false);
        task->sink.ended(task->sink.arg, task, fill(task, &end, tail));
        return;
    }
    task->site->wakeups++; /* a look of its own: who was seen before was earlier */
    if (!task->stopped && reap(task))
        return; /* it was faster */
    bool first = !task->stopped;
    if (first) {
        task->stopped = true;
        task->stop_why = stop->why;
        task->stop_cause = stop->cause;
        snprintf(task->stop_remark, sizeof task->stop_remark, "%s", stop->remark);
    }
    if (stop->now) {
        on_grace_over(&task->timers[TIMER_STOP]);
    } else if (first) {
        if (!stop->told)
            (void)signal_all(task, SIGTERM);
        uv_timer_start(&task->timers[TIMER_STOP], on_grace_over, task->batch->launch.grace_ms, 0);
    }
}

static void on_limit(uv_timer_t *timer)
{
    struct task *task = timer->data;
    char time[FMT_MAX], remark[160];
    snprintf(remark, sizeof remark, "ran longer than its limit of %s",
             fmt_duration(time, task->what->run_time_ms));
    task_stop(task, &(struct task_stop){ .why = BY_LIMIT, .remark = remark });
}

/* Without a cgroup: look, and end it. */
static void on_watch(uv_timer_t *timer)
{
    struct task *task = timer->data;
    struct proc_list all = { .n = 0 };
    uint64_t bytes = 0;
    collect(task, false, &all);
    for (size_t i = 0; i < all.n; i++)
        bytes += proc_memory(all.at[i]);
    if (bytes > task->memory_peak)
        task->memory_peak = bytes;
    if (bytes <= task->what->memory)
        return;
    char used[FMT_MAX], limit[FMT_MAX], remark[160];
    snprintf(remark, sizeof remark, "uses %s of memory, its limit is %s", fmt_bytes(used, bytes),
             fmt_bytes(limit, task->what->memory));
    task_stop(task, &(struct task_stop){
                        .now = true, .why = BY_LIMIT, .cause = CAUSE_MEMORY, .remark = remark });
}

/* ---- starting ---- */

/* In its view: the files of its secrets. */
static int fill_secrets(struct task *task, struct err *err)
{
    struct secret_files *files = &task->secret_files;
    if (files->n == 0)
        return 0;
    int rc = secret_files_open(files, task->view.root, err);
    return rc ? rc : secret_files_write(files, task->site->secrets, task->what, err);
}

static void on_status(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct task *task = poll->data;
    struct err err;
    int outcome = stage_outcome(task->status, task->in_image ? &task->view : NULL, &task->failure);
    if (outcome < 0 || task->phase != PHASE_STARTING)
        return;
    if (task->in_image && task->view.mount_ns >= 0) {
        if (fill_secrets(task, &err) != 0) /* what was set anew meanwhile */
            log_error("secrets.renew", "%s", err.what);
        task->stage.view = &task->view;
        task->stage.root = NULL;
        task->stage.libraries = false;   /* for who enters later they are known */
        task->stage.devices.own = false; /* they are in it */
        task->confine.user_ns = task->view.user_ns >= 0 ? &task->view.user_ns : NULL;
    }
    uv_poll_stop(poll);
    if (outcome == 1) {
        task->failed = true; /* told when the process is gone */
        return;
    }
    task->phase = PHASE_RUNNING;
    if (task->what->run_time_ms > 0)
        uv_timer_start(&task->timers[TIMER_LIMIT], on_limit, task->what->run_time_ms, 0);
    if (task->what->memory > 0 && !cgroup_has(&task->cgroup, CGROUP_MEMORY))
        uv_timer_start(&task->timers[TIMER_WATCH], on_watch, WATCH_MS, WATCH_MS);
    task->sink.started(task->sink.arg, task);
}

static void make_cgroup(struct task *task)
{
    const struct launch_task *what = task->what;
    uint32_t waiting = what->pids > 0 && task->stage.own_pids ? WAITING : 0;
    struct cgroup_limits limits = { .cpu_milli = what->cpu_milli,
                                    .memory = what->memory,
                                    .pids = proc_pids_most(what->pids + waiting),
                                    .devices =
                                        task->stage.devices.own ? &task->stage.devices : NULL };
    if (limits.cpu_milli + limits.memory + limits.pids == 0 && !limits.devices)
        return;
    const char *id = strchr(task->mark, '=') + 1;
    cgroup_make(&task->site->cgroups, id, &limits, &task->cgroup);
    if (task->site->told_no_cgroup)
        return;
    if (limits.memory > 0 && !cgroup_has(&task->cgroup, CGROUP_MEMORY))
        output_say(task->output, "no cgroup here: the memory of tasks is watched each second, "
                                 "their cpu and process limits are not enforced");
    else if (limits.cpu_milli > 0 && !cgroup_has(&task->cgroup, CGROUP_CPU))
        output_say(task->output,
                   "no cgroup of cpu here: tasks may use more cores than they asked for");
    else
        return;
    task->site->told_no_cgroup = true;
}

/* In the task's own process, in the root that it has just made: the program finds them there. */
static int fill_in_root(void *arg, struct err *err)
{
    struct task *task = arg;
    task->view.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return task->view.root < 0 ? err_sys(err, "its root") : fill_secrets(task, err);
}

static int make_own_view(struct task *task, const struct task_mounts *own, struct err *err)
{
    if (view_own(&task->site->view, &task->batch->launch, own, &task->view, err) != 0)
        return -1;
    task->stage.view = &task->view;
    return 0;
}

static void say_no_shm(struct task *task, const struct err *why)
{
    char size[FMT_MAX];
    if (!task->site->told_no_shm)
        output_say(task->output, "/dev/shm is the machine's, not one of %s for each task: %s",
                   fmt_size(size, task->what->shm), why->what);
    task->site->told_no_shm = true;
}

/* It starts without a /dev/shm of its own where there can be none, but not without its secrets. */
static int make_places(struct task *task, struct err *err)
{
    struct task_mounts own = { .shm = task->what->shm,
                               .memory = task->secret_files.n ? &task->secret_files.dirs : NULL };
    struct err why;
    if (task->in_image || (own.shm == 0 && !own.memory))
        return 0;
    if (make_own_view(task, &own, &why) == 0)
        return fill_secrets(task, err);
    bool shm = own.shm > 0;
    own.shm = 0;
    *err = why;
    if (own.memory && (!shm || make_own_view(task, &own, err) != 0)) {
        err_in(err, "secrets as files, in memory that only the task sees");
        return err_hint(err, "hand them over as variables: secrets: [{name: ..., env: ...}]");
    }
    say_no_shm(task, &why);
    return fill_secrets(task, err);
}

static void bind_cores(struct task *task)
{
    struct err err;
    if (task->what->cores == 0)
        return;
    if (pin_take(&task->pin, task->what->cores, &err) == 0)
        task->stage.cpus = &task->pin.set;
    else
        output_say(task->output, "not bound to cores: %s", err.what);
}

static int open_terminal(struct task *task, struct stage_ends *ends, struct err *err)
{
    int master = stage_terminal(&ends->in, err);
    if (master < 0)
        return -1;
    int writing = fcntl(master, F_DUPFD_CLOEXEC, 3);
    ends->tty = true;
    ends->out = fcntl(ends->in, F_DUPFD_CLOEXEC, 3);
    ends->err = fcntl(ends->in, F_DUPFD_CLOEXEC, 3);
    output_open_terminal(task->output, master);
    if (writing < 0 || ends->out < 0 || ends->err < 0)
        return err_sys(err, "a terminal");
    task->input = input_create(task->site->loop, writing, true);
    return 0;
}

static int open_input(struct task *task, struct stage_ends *ends, struct err *err)
{
    int pair[2];
    if (!task->what->open_stdin)
        return 0;
    if (pipe2(pair, O_CLOEXEC) != 0)
        return err_sys(err, "pipe");
    ends->in = pair[0];
    task->input = input_create(task->site->loop, pair[1], false);
    return 0;
}

static int open_ends(struct task *task, struct stage_ends *ends, struct err *err)
{
    if (task->what->tty)
        return open_terminal(task, ends, err);
    if (open_input(task, ends, err) != 0)
        return -1;
    if (output_open(task->output, RECORD_STDOUT, &ends->out, err) != 0)
        return -1;
    return output_open(task->output, RECORD_STDERR, &ends->err, err);
}

static void watch_start(struct task *task)
{
    (void)fcntl(task->status, F_SETFL, O_NONBLOCK);
    task->pid_poll.data = task->status_poll.data = task;
    if (uv_poll_init(task->site->loop, &task->pid_poll, task->pidfd) != 0 ||
        uv_poll_init(task->site->loop, &task->status_poll, task->status) != 0)
        BUG("a process cannot be polled");
    task->handles += 2;
    task->polls = true;
    uv_poll_start(&task->pid_poll, UV_READABLE, on_pid);
    uv_poll_start(&task->status_poll, UV_READABLE, on_status);
}

static int launch_process(struct task *task, struct err *err)
{
    struct stage_ends ends = { .in = -1, .out = -1, .err = -1 };
    int rc = open_ends(task, &ends, err);
    if (rc == 0) {
        task->oom_before = cgroup_machine_oom_kills();
        stage_give_ends(&task->stage, &ends);
        task->pid = stage_start(&task->stage, &ends, &task->status, err);
        rc = task->pid < 0 ? -1 : 0;
    }
    if (ends.in >= 0)
        close(ends.in);
    if (ends.out >= 0)
        close(ends.out);
    if (ends.err >= 0)
        close(ends.err);
    if (rc != 0)
        return -1;
    task->pidfd = (int)syscall(SYS_pidfd_open, task->pid, 0);
    if (task->pidfd < 0) {
        err_sys(err, "pidfd_open");
        (void)kill(task->pid, SIGKILL);
        (void)waitpid(task->pid, NULL, 0);
        close(task->status);
        return -1;
    }
    task->phase = PHASE_STARTING;
    watch_start(task);
    return 0;
}

static int make_own_dir(const struct task *task, struct err *err)
{
    AS_FS_USER(account_files(task->batch->launch.account));
    return file_mkdirs(task->work_dir, 0755, err);
}

/* What it starts in, its environment and its root are known only with the image. */
static int enter_image(struct task *task, struct err *err)
{
    const struct launch *launch = &task->batch->launch;
    const struct image *image = images_find(task->site->images, task->what->image);
    const char *own = task->work_dir;
    if (!image)
        BUG("nobody asked for image %s", task->what->image);
    if (!image->ready) {
        *err = image->problem;
        return -1;
    }
    task->work_dir = image_work_dir(launch, image, own);
    bool fresh = task->work_dir == own && !launch->work_dir;
    if (fresh && make_own_dir(task, err) != 0)
        return err_in(err, "the working directory");
    const struct cdi_edits *edits = device_spec_find(task->batch->arena, NULL, task->what);
    prepare_stage(task, image->config, edits);
    const struct image_root r = { .site = task->site,
                                  .launch = launch,
                                  .task = task->what,
                                  .image = image,
                                  .work_dir = task->work_dir,
                                  .own_dir = fresh ? own : NULL,
                                  .memory = task->secret_files.n ? &task->secret_files.dirs : NULL,
                                  .edits = edits };
    task->in_image = true;
    task->stage.fill = task->secret_files.n ? fill_in_root : NULL;
    task->stage.fill_arg = task;
    if (image_root_make(&r, task->batch->arena, &task->root, err) != 0)
        return -1;
    image_root_stage(&r, &task->root, &task->stage);
    return 0;
}

/* Its directory and its code, as the machine's other programs see them too. */
static int prepare_on_host(struct task *task, struct err *err)
{
    const struct launch *launch = &task->batch->launch;
    if (!launch->work_dir && make_own_dir(task, err) != 0)
        return err_in(err, "the working directory");
    return view_stage_code(&task->site->view, launch, task->work_dir, &task->stage.code, err);
}

int task_prepare(struct task *task, struct err *err)
{
    if (task->prepared)
        return 0;
    if (!task->output)
        return err_set(err, ERR_SYSTEM, "its log cannot be written");
    if (secret_files_plan(&task->secret_files, task->batch->arena, task->what, secrets_dir(task),
                          task->site->confine.account, err) != 0)
        return -1;
    if ((task->what->image ? enter_image : prepare_on_host)(task, err) != 0)
        return -1;
    if (!task->stage.shell && task->what->argv.n == 0)
        return err_set(err, ERR_INPUT, "there is no command to run");
    task->prepared = true;
    return 0;
}

static bool take_ports(struct task *task)
{
    uint32_t port = 0;
    char remark[80];
    switch (ports_take(&task->ports, task->what->ports, task->what->n_ports, &port)) {
    case PORT_FREE: return true;
    case PORT_LISTENED_ON:
        snprintf(remark, sizeof remark, "port %u is taken by another program", port);
        break;
    case PORT_OF_A_TASK:
        snprintf(remark, sizeof remark, "port %u is taken by a task of another server", port);
        break;
    }
    task_refuse(task, &(struct task_end){ .ending.by = BY_CONFLICT, .remark = remark });
    return false;
}

static bool take_gpus(struct task *task)
{
    const struct launch_task *what = task->what;
    const struct gpu_ask ask = { .minors = what->gpus,
                                 .parts = what->parts,
                                 .n = what->gpu_hold ? what->n_gpus : 0,
                                 .share = what->gpu_hold == GPU_GRANT_SHARE,
                                 .server = task->site->server };
    uint32_t minor = 0;
    char remark[80];
    if (gpu_locks_take(&task->gpus, &ask, &minor))
        return true;
    snprintf(remark, sizeof remark, "/dev/nvidia%u is held by a task of another server", minor);
    task_refuse(task, &(struct task_end){ .ending.by = BY_CONFLICT, .remark = remark });
    return false;
}

void task_start(struct task *task)
{
    struct err err;
    if (task->phase != PHASE_WAITING)
        return;
    if (!take_ports(task) || !take_gpus(task))
        return;
    if (task_prepare(task, &err) == 0) {
        make_cgroup(task);
        bind_cores(task);
        if (make_places(task, &err) == 0 && launch_process(task, &err) == 0)
            return;
    }
    const struct task_end why = task_fault(&err);
    task_refuse(task, &why);
}

void task_renew_secrets(struct task *task)
{
    struct err err;
    if (task->secret_files.n > 0 && task->secret_files.fd[0] >= 0 && task->phase < PHASE_OVER &&
        secret_files_write(&task->secret_files, task->site->secrets, task->what, &err) != 0)
        log_error("secrets.renew", "role=%s index=%u: %s", task->what->role, task->what->ref.index,
                  err.what);
}

/* ---- questions ---- */

bool task_waits(const struct task *task)
{
    return task->phase == PHASE_WAITING;
}

bool task_has_image(const struct task *task)
{
    return task->what->image != NULL;
}

bool task_is_over(const struct task *task)
{
    return task->phase == PHASE_OVER;
}

struct task_ref task_place(const struct task *task)
{
    return task->what->ref;
}

uint32_t task_attempt(const struct task *task)
{
    return task->what->attempt;
}

const char *task_cookie(const struct task *task)
{
    return task->mark + sizeof ATTEMPT_COOKIE; /* after the = */
}

pid_t task_pid(const struct task *task)
{
    return task->pid;
}

uint64_t task_log_end(const struct task *task)
{
    return task->output ? output_end(task->output) : 0;
}

uint64_t task_wakeup(const struct task *task)
{
    return task->wakeup;
}

const struct stage *task_stage(const struct task *task)
{
    return task->stage.root ? NULL : &task->stage;
}

bool task_keeps_stdin(const struct task *task)
{
    return task->what->open_stdin;
}

struct input *task_input(struct task *task)
{
    return task->input;
}

struct task_log task_log(const struct task *task)
{
    return (struct task_log){ .role = task->what->role,
                              .dir = task->log_dir,
                              .head = task->batch->launch.log_head,
                              .tail = task->batch->launch.log_tail };
}

const char *task_log_dir(struct task *task)
{
    return task->log_dir;
}

uint32_t task_exit_code(const struct task *task)
{
    int status = task->wait_status;
    return (uint32_t)(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

struct output *task_output(struct task *task)
{
    return task->output;
}
