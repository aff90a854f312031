/* The life of one round's ranks on this node: started, told one by one as they end, and when the
 * last has ended (by itself or because of ranks_stop) everything they left is killed; then the
 * round is gone.
 *
 * Ends are learned from one descriptor per process in an epoll set of their own: its ready list is
 * in the order in which the kernel ended them, which a look over all children is not. SIGCHLD tells
 * about adopted orphans, and about everything where the kernel has no such descriptors.
 *
 * The sink is only called from the loop, never from inside ranks_start or ranks_stop; it may call
 * ranks_stop from `ended`, and anything from `gone`. */
#include "launch/ranks.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "launch/exit_gate.h"
#include "launch/guard.h"
#include "launch/rank_bind.h"
#include "launch/rank_env.h"
#include "launch/rank_judge.h"
#include "launch/rank_oom.h"
#include "launch/rank_spawn.h"
#include "launch/stray_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SETTLE_FIRST_MS   1u
#define SETTLE_SLOWEST_MS 50u
#define SETTLE_GIVE_UP_MS 30000u /* what survives SIGKILL so long hangs in the kernel */
#define ORPHAN_MS         2000u  /* a dead child that nobody took by then is an orphan's */
#define ORPHANS_MAX       64u
#define READY_MAX         64
#define LOOKS_HIDDEN      4u
#define DESTROY_MS        2000u
#define GATE_REPORTS      UINT32_MAX /* in the epoll set, where ranks have their numbers */

struct rank {
    pid_t pid; /* 0: never started */
    int pidfd; /* -1: none */
    bool ended, stopped;
    uint64_t wakeup; /* in which its end was seen */
    int status;
    const char *error_file;
    const char *refused; /* why it was never started */
    int refused_code;
};
enum rank_timer { TIMER_TICK, TIMER_GRACE, TIMER_ORPHANS, TIMERS };

struct ranks {
    uv_loop_t *loop;
    const struct settings *settings;
    struct streams *streams;
    struct warm_interpreter *warm;
    const char *cookie;
    struct ranks_sink sink;
    const cpu_set_t *cpus;
    struct arena *lasting, *arena; /* arena: of the round */

    struct rank *at;
    uint32_t n, first_rank;
    uint32_t *order; /* local ranks as they ended */
    uint32_t n_ended, n_told;
    bool open;     /* gone was not told yet */
    bool stopping; /* ranks_stop was called */
    bool owed;     /* it was called when nothing was open */
    bool was_warm, warned;
    uint64_t sent; /* signals we sent, a bit each */
    uint64_t wakeups;
    uint64_t oom_seen, settle_since;
    VEC(pid_t) killed; /* of what was left */
    unsigned looks_hidden;

    int dev_null, ready;   /* ready: the epoll set */
    struct exit_gate gate; /* of PROGRAM_RUN_PATH */
    int failures[2];
    pid_t orphans[ORPHANS_MAX]; /* dead children at the last look */
    size_t n_orphans;
    uv_poll_t poll;
    uv_signal_t child;
    uv_timer_t timers[TIMERS];
    int handles;
    bool doomed;
};

static void on_tick(uv_timer_t *timer);
static void on_ready(uv_poll_t *poll, int status, int events);
static void on_child(uv_signal_t *handle, int number);

/* ---- making ---- */

struct ranks *ranks_create(uv_loop_t *loop, const struct settings *settings,
                           struct streams *streams, struct warm_interpreter *warm,
                           const char *cookie, struct ranks_sink sink)
{
    struct ranks *ranks = mem_new(sizeof *ranks);
    *ranks = (struct ranks){ .loop = loop,
                             .settings = settings,
                             .streams = streams,
                             .warm = warm,
                             .sink = sink,
                             .lasting = arena_create(),
                             .arena = arena_create(),
                             .failures = { -1, -1 },
                             .gate = EXIT_GATE_NONE };
    ranks->cookie = arena_strdup(ranks->lasting, cookie);
    ranks->cpus = rank_bind_make(ranks->lasting, settings->binding, settings->ranks, "");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    ranks->dev_null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ranks->ready = epoll_create1(EPOLL_CLOEXEC);
    if (ranks->ready < 0 || ranks->dev_null < 0)
        BUG("no descriptor left: %s", strerror(errno));
    uv_poll_init(loop, &ranks->poll, ranks->ready);
    uv_poll_start(&ranks->poll, UV_READABLE, on_ready);
    uv_signal_init(loop, &ranks->child);
    uv_signal_start(&ranks->child, on_child, SIGCHLD);
    ranks->poll.data = ranks->child.data = ranks;
    for (size_t i = 0; i < TIMERS; i++) {
        uv_timer_init(loop, &ranks->timers[i]);
        ranks->timers[i].data = ranks;
    }
    ranks->handles = TIMERS + 2;
    return ranks;
}

static void on_closed(uv_handle_t *handle)
{
    struct ranks *ranks = handle->data;
    if (--ranks->handles > 0)
        return;
    (void)close(ranks->ready);
    (void)close(ranks->dev_null);
    vec_fini(&ranks->killed);
    arena_destroy(ranks->arena);
    arena_destroy(ranks->lasting);
    free(ranks);
}

static void close_pipes(struct ranks *ranks)
{
    exit_gate_close(&ranks->gate);
    for (int i = 0; i < 2; i++)
        if (ranks->failures[i] >= 0)
            (void)close(ranks->failures[i]);
    ranks->failures[0] = ranks->failures[1] = -1;
}

/* ---- what ended ---- */

static void note_end(struct ranks *ranks, uint32_t local_rank)
{
    ranks->at[local_rank].ended = true;
    ranks->at[local_rank].stopped = ranks->stopping;
    ranks->at[local_rank].wakeup = ranks->wakeups;
    ranks->order[ranks->n_ended++] = local_rank;
    exit_gate_arrive(&ranks->gate, local_rank);
}

/* Taken out by name: a process that was forked meanwhile may hold the descriptor a while longer. */
static void stop_watching(struct ranks *ranks, struct rank *rank)
{
    if (rank->pidfd < 0)
        return;
    (void)epoll_ctl(ranks->ready, EPOLL_CTL_DEL, rank->pidfd, NULL);
    (void)close(rank->pidfd);
    rank->pidfd = -1;
}

/* Takes one rank's end when it has come. */
static void reap(struct ranks *ranks, uint32_t local_rank)
{
    struct rank *rank = &ranks->at[local_rank];
    siginfo_t info = { .si_pid = 0 };
    if (rank->ended || rank->pid <= 0)
        return;
    int looked = waitid(P_PID, (id_t)rank->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    if (looked == 0 && info.si_pid == 0)
        return;
    if (ranks->stopping)
        (void)kill(-rank->pid, SIGKILL); /* its group, while the number is surely still its own */
    if (waitpid(rank->pid, &rank->status, WNOHANG) != rank->pid)
        rank->status = SIGKILL; /* somebody else took it: how it ended is not known */
    stop_watching(ranks, rank);
    note_end(ranks, local_rank);
}

static void collect(struct ranks *ranks)
{
    struct epoll_event ready[READY_MAX];
    int n;
    ranks->wakeups++;
    do {
        uint32_t before = ranks->n_ended;
        n = epoll_wait(ranks->ready, ready, READY_MAX, 0);
        for (int i = 0; i < n; i++)
            if (ready[i].data.u32 == GATE_REPORTS)
                exit_gate_read(&ranks->gate);
            else
                reap(ranks, ready[i].data.u32);
        if (ranks->n_ended == before)
            return;
    } while (n == READY_MAX);
}

/* ---- what is told ---- */

static void read_failures(struct ranks *ranks)
{
    struct rank_failure failure;
    while (ranks->failures[0] >= 0 &&
           read(ranks->failures[0], &failure, sizeof failure) == (ssize_t)sizeof failure) {
        if (failure.local_rank >= ranks->n)
            continue;
        struct rank *rank = &ranks->at[failure.local_rank];
        const char *name = ranks->settings->kind == PROGRAM_BARE ? ranks->settings->script
                                                                 : ranks->settings->python;
        rank->refused = rank_exec_failure(ranks->arena, name, failure.number, &rank->refused_code);
    }
}

static bool killed_for_memory(struct ranks *ranks, const struct rdzv_death *death)
{
    if (death->signal != SIGKILL || death->victim)
        return false;
    if (rank_oom_kills() <= ranks->oom_seen)
        return false;
    ranks->oom_seen++;
    return true;
}

static struct rdzv_death describe(struct ranks *ranks, uint32_t local_rank)
{
    const struct rank *rank = &ranks->at[local_rank];
    struct rdzv_death death = {
        .rank = ranks->first_rank + local_rank,
        .local_rank = local_rank,
        .pid = (uint32_t)rank->pid,
        .at_s = clock_wall_ms() / 1000u,
        .message = "",
        .error_file = rank->error_file ? rank->error_file : "",
        .tail = "",
    };
    if (rank->refused) {
        death.code = rank->refused_code;
        death.spared = true;
        death.message = rank->refused;
        return death;
    }
    if (WIFSIGNALED(rank->status))
        death.signal = (uint32_t)WTERMSIG(rank->status);
    else
        death.code = WEXITSTATUS(rank->status);
    uint32_t by = death.signal > 0 ? death.signal : (uint32_t)death.code - 128u;
    death.stopped = rank->stopped;
    death.wakeup = rank->wakeup;
    death.victim = rank->stopped && by < 64 && (ranks->sent >> by & 1u);
    death.oom = killed_for_memory(ranks, &death);
    char tail[STREAMS_TAIL_MAX];
    death.tail = arena_strdup(ranks->arena, streams_tail(ranks->streams, local_rank, tail));
    rank_judge(ranks->arena, ranks->settings, &death);
    return death;
}

static void tell(struct ranks *ranks)
{
    while (ranks->n_told < ranks->n_ended && !ranks->doomed) {
        uint32_t local_rank = ranks->order[ranks->n_told++];
        if (ranks->at[local_rank].pid > 0) {
            streams_finish(ranks->streams, local_rank);
            if (WIFEXITED(ranks->at[local_rank].status))
                read_failures(ranks);
        }
        struct rdzv_death death = describe(ranks, local_rank);
        bool more = ranks->n_told < ranks->n_ended &&
                    ranks->at[ranks->order[ranks->n_told]].wakeup == death.wakeup;
        ranks->sink.ended(ranks->sink.arg, &death, more);
    }
}

/* ---- what is left ---- */

static bool of_round(const struct ranks *ranks, pid_t session)
{
    for (uint32_t i = 0; i < ranks->n; i++)
        if (session > 0 && ranks->at[i].pid == session)
            return true;
    return false;
}

/* A rank of this round, or what warm holds ready for the next one. */
static bool is_known(const struct ranks *ranks, pid_t pid)
{
    for (uint32_t i = 0; i < ranks->n; i++)
        if (ranks->at[i].pid == pid && !ranks->at[i].ended)
            return true;
    return warm_owns(ranks->warm, pid);
}

static bool was_killed(const struct ranks *ranks, pid_t pid)
{
    for (size_t i = 0; i < ranks->killed.n; i++)
        if (ranks->killed.at[i] == pid)
            return true;
    return false;
}

/* Is this child of ours something that ranks left? */
static enum stray_process_mark mark_of(const struct ranks *ranks, const struct stray_child *child)
{
    if (child->leaving || was_killed(ranks, child->pid) || of_round(ranks, child->session))
        return STRAY_OURS;
    return leftover_mark(child->pid, ranks->cookie);
}

/* SIGKILL to every orphan of the round. true when that was none, and none can be hidden. What they
 * leave in turn comes to us when they are gone, so the caller repeats. A child that shows no
 * environment is in the middle of exec, or a daemon that is just ending and has children of its
 * own: it is looked at again, a few times. */
static bool kill_left(struct ranks *ranks)
{
    AUTO_FREE struct stray_child *children = mem_new(STRAY_CHILDREN_MAX * sizeof *children);
    size_t n = stray_children(children), found = 0, hidden = 0;
    for (size_t i = 0; i < n; i++) {
        const struct stray_child *child = &children[i];
        if (is_known(ranks, child->pid))
            continue;
        if (child->ended) {
            if (of_round(ranks, child->session) || was_killed(ranks, child->pid))
                (void)waitpid(child->pid, NULL, WNOHANG);
            continue;
        }
        enum stray_process_mark mark = mark_of(ranks, child);
        hidden += mark == STRAY_NOTHING_TO_SEE;
        if (mark != STRAY_OURS)
            continue;
        found++;
        if (kill(child->pid, SIGKILL) == 0 && !was_killed(ranks, child->pid))
            vec_push(&ranks->killed, child->pid);
    }
    ranks->looks_hidden = hidden > 0 && found == 0 ? ranks->looks_hidden + 1 : 0;
    return found == 0 && (hidden == 0 || ranks->looks_hidden > LOOKS_HIDDEN);
}

static void be_gone(struct ranks *ranks)
{
    ranks->open = ranks->owed = false;
    uv_timer_stop(&ranks->timers[TIMER_TICK]);
    uv_timer_stop(&ranks->timers[TIMER_GRACE]);
    close_pipes(ranks);
    ranks->sink.gone(ranks->sink.arg); /* may start the next round */
}

static void settle(struct ranks *ranks)
{
    uint64_t now = clock_mono_ms();
    if (ranks->settle_since == 0)
        ranks->settle_since = now;
    uint64_t waited = now - ranks->settle_since;
    if (kill_left(ranks) || waited > SETTLE_GIVE_UP_MS) {
        be_gone(ranks);
        return;
    }
    uint64_t next = waited < SETTLE_FIRST_MS ? SETTLE_FIRST_MS : waited;
    uv_timer_start(&ranks->timers[TIMER_TICK], on_tick,
                   next < SETTLE_SLOWEST_MS ? next : SETTLE_SLOWEST_MS, 0);
}

static void advance(struct ranks *ranks)
{
    tell(ranks);
    if (ranks->doomed)
        return;
    if (ranks->open && ranks->n_told == ranks->n)
        settle(ranks);
    else if (!ranks->open && ranks->owed)
        be_gone(ranks);
}

static void on_tick(uv_timer_t *timer)
{
    struct ranks *ranks = timer->data;
    collect(ranks);
    advance(ranks);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct ranks *ranks = poll->data;
    uint32_t before = ranks->n_ended;
    collect(ranks);
    if (ranks->n_ended != before)
        advance(ranks);
}

/* Dead children that are neither ranks nor taken by whoever started them, seen twice. */
static void on_orphans(uv_timer_t *timer)
{
    struct ranks *ranks = timer->data;
    AUTO_FREE struct stray_child *children = mem_new(STRAY_CHILDREN_MAX * sizeof *children);
    size_t n = stray_children(children), n_dead = 0;
    pid_t dead[ORPHANS_MAX];
    for (size_t i = 0; i < n && n_dead < ORPHANS_MAX; i++) {
        if (!children[i].ended || is_known(ranks, children[i].pid))
            continue;
        bool seen = false;
        for (size_t k = 0; k < ranks->n_orphans; k++)
            seen = seen || ranks->orphans[k] == children[i].pid;
        if (!seen || waitpid(children[i].pid, NULL, WNOHANG) != children[i].pid)
            dead[n_dead++] = children[i].pid;
    }
    memcpy(ranks->orphans, dead, n_dead * sizeof dead[0]);
    ranks->n_orphans = n_dead;
    if (n_dead > 0)
        uv_timer_start(timer, on_orphans, ORPHAN_MS, 0);
}

static void on_child(uv_signal_t *handle, int number)
{
    (void)number;
    struct ranks *ranks = handle->data;
    uint32_t before = ranks->n_ended;
    collect(ranks);
    for (uint32_t i = 0; ranks->open && i < ranks->n; i++)
        if (ranks->at[i].pidfd < 0)
            reap(ranks, i);
    if (!uv_is_active((uv_handle_t *)&ranks->timers[TIMER_ORPHANS]))
        uv_timer_start(&ranks->timers[TIMER_ORPHANS], on_orphans, ORPHAN_MS, 0);
    if (ranks->n_ended != before)
        advance(ranks);
}

/* ---- starting ---- */

/* What one start needs beside the round itself. */
struct start {
    struct warm_rank *ranks; /* command and streams of each */
    uint32_t opened;
};

static void begin_round(struct ranks *ranks, const struct rdzv_round *round)
{
    const struct rdzv_place *own = &round->own;
    arena_reset(ranks->arena);
    ranks->n = own->ranks;
    ranks->first_rank = own->first_rank;
    ranks->at = ARENA_ARRAY(ranks->arena, own->ranks, struct rank);
    ranks->order = ARENA_ARRAY(ranks->arena, own->ranks, uint32_t);
    for (uint32_t i = 0; i < ranks->n; i++)
        ranks->at[i].pidfd = -1;
    ranks->n_ended = ranks->n_told = 0;
    ranks->stopping = ranks->owed = ranks->was_warm = false;
    ranks->sent = 0;
    ranks->settle_since = 0;
    ranks->looks_hidden = 0;
    vec_clear(&ranks->killed);
    ranks->oom_seen = rank_oom_kills();
}

static void tell_soon(struct ranks *ranks)
{
    uv_timer_start(&ranks->timers[TIMER_TICK], on_tick, 0, 0);
}

/* The program cannot be started: every rank's end is that. */
static int refuse_all(struct ranks *ranks, const char *reason, int code)
{
    for (uint32_t i = 0; i < ranks->n; i++) {
        ranks->at[i].refused = reason;
        ranks->at[i].refused_code = code;
        note_end(ranks, i);
    }
    ranks->open = true;
    tell_soon(ranks);
    return 0;
}

/* What a rank needs of ours. The mark of an outer launcher stays in front: both find what is
 * theirs. */
static char **add_own(struct ranks *ranks, char **env, uint32_t local_rank)
{
    size_t n = 0, at;
    while (env[n])
        n++;
    for (at = 0; at < n; at++)
        if (strncmp(env[at], GUARD_COOKIE "=", strlen(GUARD_COOKIE "=")) == 0)
            break;
    char **list = ARENA_ARRAY(ranks->arena, n + 3, char *);
    memcpy(list, env, n * sizeof *env);
    list[at] = at < n ? arena_printf(ranks->arena, "%s:%s", env[at], ranks->cookie)
                      : arena_printf(ranks->arena, GUARD_COOKIE "=%s", ranks->cookie);
    if (exit_gate_reports(&ranks->gate) >= 0)
        list[at < n ? n : n + 1] =
            arena_strdup(ranks->arena, exit_gate_variable(&ranks->gate, ranks->arena, local_rank));
    return list;
}

static int prepare(struct ranks *ranks, const struct rdzv_round *round, uint32_t own_restarts,
                   struct start *start, struct err *err)
{
    bool run_path = ranks->settings->kind == PROGRAM_RUN_PATH;
    start->ranks = ARENA_ARRAY(ranks->arena, ranks->n, struct warm_rank);
    if (run_path && exit_gate_open(&ranks->gate, ranks->arena, ranks->n, err) != 0)
        return -1;
    streams_round(ranks->streams, ranks->first_rank);
    for (uint32_t i = 0; i < ranks->n; i++) {
        struct rank_ends ends = { .out = -1, .err = -1 };
        if (streams_open(ranks->streams, round->round, i, &ends, err))
            return err_in(err, "output of rank %u", ranks->first_rank + i);
        start->opened++;
        ranks->at[i].error_file = arena_strdup(ranks->arena, ends.error_file);
        struct rank_place place = { .round = round,
                                    .local_rank = i,
                                    .error_file = ends.error_file ? ends.error_file : "",
                                    .own_restarts = own_restarts };
        char **env = rank_env_make(ranks->arena, ranks->settings, &place);
        start->ranks[i] =
            (struct warm_rank){ .argv = rank_argv_make(ranks->arena, ranks->settings, i),
                                .env = add_own(ranks, env, i),
                                .in = run_path ? ranks->dev_null : STDIN_FILENO,
                                .out = ends.out,
                                .err = ends.err };
    }
    return 0;
}

static bool start_warm(struct ranks *ranks, const struct start *start)
{
    if (!ranks->warm || !warm_ready(ranks->warm))
        return false;
    pid_t *pids = ARENA_ARRAY(ranks->arena, ranks->n, pid_t);
    if (warm_fork(ranks->warm, start->ranks, ranks->n, pids))
        return false;
    for (uint32_t i = 0; i < ranks->n; i++) {
        ranks->at[i].pid = pids[i];
        if (ranks->cpus)
            (void)sched_setaffinity(pids[i], sizeof *ranks->cpus, &ranks->cpus[i]);
    }
    ranks->was_warm = true;
    return true;
}

/* Kills what was started of a round that cannot be. */
static void undo(struct ranks *ranks)
{
    for (uint32_t i = 0; i < ranks->n; i++) {
        if (ranks->at[i].pid <= 0)
            continue;
        (void)kill(ranks->at[i].pid, SIGKILL);
        while (waitpid(ranks->at[i].pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        ranks->at[i].pid = 0;
    }
}

static int start_cold(struct ranks *ranks, const struct start *start, const char *program,
                      struct err *err)
{
    int ends[2];
    bool gated = exit_gate_reports(&ranks->gate) >= 0;
    exit_gate_ends(&ranks->gate, ends);
    for (uint32_t i = 0; i < ranks->n; i++) {
        const struct warm_rank *rank = &start->ranks[i];
        struct rank_spawn spawn = { .program = program,
                                    .argv = rank->argv,
                                    .env = rank->env,
                                    .in = rank->in,
                                    .out = rank->out,
                                    .err = rank->err,
                                    .cpus = ranks->cpus ? &ranks->cpus[i] : NULL,
                                    .files = &ranks->settings->files,
                                    .failures = ranks->failures[1],
                                    .local_rank = i,
                                    .keep = ends,
                                    .n_keep = gated ? ARRAY_LEN(ends) : 0 };
        ranks->at[i].pid = rank_spawn(&spawn);
        if (ranks->at[i].pid < 0) {
            (void)err_sys(err, "starting rank %u", ranks->first_rank + i);
            undo(ranks);
            return -1;
        }
    }
    return 0;
}

static void watch(struct ranks *ranks)
{
    struct epoll_event reports = { .events = EPOLLIN, .data = { .u32 = GATE_REPORTS } };
    if (exit_gate_reports(&ranks->gate) >= 0)
        (void)epoll_ctl(ranks->ready, EPOLL_CTL_ADD, exit_gate_reports(&ranks->gate), &reports);
    for (uint32_t i = 0; i < ranks->n; i++) {
        struct rank *rank = &ranks->at[i];
        struct epoll_event event = { .events = EPOLLIN, .data = { .u32 = i } };
        rank->pidfd = (int)syscall(SYS_pidfd_open, rank->pid, 0u);
        if (rank->pidfd >= 0 && epoll_ctl(ranks->ready, EPOLL_CTL_ADD, rank->pidfd, &event) == 0)
            continue;
        if (rank->pidfd >= 0)
            (void)close(rank->pidfd);
        rank->pidfd = -1;
        reap(ranks, i); /* its SIGCHLD may have come already */
    }
}

static void warn_once(struct ranks *ranks)
{
    if (ranks->warned || !rank_env_limits_omp(ranks->settings))
        return;
    ranks->warned = true;
    rank_env_warn_omp();
}

static int start_all(struct ranks *ranks, const struct start *start, struct err *err)
{
    if (start_warm(ranks, start))
        return 0;
    const char *name = start->ranks[0].argv[0];
    const char *program = rank_spawn_find(ranks->arena, name, start->ranks[0].env);
    if (!program) {
        int code, why = errno;
        const char *reason = rank_exec_failure(ranks->arena, name, why, &code);
        return refuse_all(ranks, reason, code);
    }
    if (pipe2(ranks->failures, O_CLOEXEC | O_NONBLOCK) != 0) {
        ranks->failures[0] = ranks->failures[1] = -1;
        return err_sys(err, "a pipe for the start of the ranks");
    }
    int outcome = start_cold(ranks, start, program, err);
    exit_gate_started(&ranks->gate);
    (void)close(ranks->failures[1]);
    ranks->failures[1] = -1;
    return outcome;
}

int ranks_start(struct ranks *ranks, const struct rdzv_round *round, uint32_t own_restarts,
                struct err *err)
{
    if (ranks->open)
        BUG("a round starts before the last one is gone");
    struct start start = { .opened = 0 };
    int code;
    begin_round(ranks, round);
    const char *reason = rank_refusal(ranks->arena, ranks->settings, &code);
    if (reason)
        return refuse_all(ranks, reason, code);
    warn_once(ranks);
    int outcome = prepare(ranks, round, own_restarts, &start, err);
    if (outcome == 0)
        outcome = start_all(ranks, &start, err);
    for (uint32_t i = 0; i < start.opened; i++)
        streams_started(ranks->streams, i);
    if (outcome) {
        close_pipes(ranks);
        ranks->n = 0;
        return -1;
    }
    if (ranks->open)
        return 0; /* refused */
    ranks->open = true;
    watch(ranks);
    if (ranks->n_ended > 0)
        tell_soon(ranks);
    if (ranks->warm)
        warm_watch(ranks->warm, ranks->at[0].pid, start.ranks[0].env);
    return 0;
}

/* ---- stopping ---- */

/* A stopped process takes no signal but SIGKILL until it goes on. */
static bool is_halted(pid_t pid)
{
    siginfo_t info = { .si_pid = 0 };
    return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

static void signal_groups(struct ranks *ranks, int number)
{
    ranks->sent |= UINT64_C(1) << (number % 64);
    for (uint32_t i = 0; i < ranks->n; i++) {
        const struct rank *rank = &ranks->at[i];
        if (rank->ended || rank->pid <= 0)
            continue;
        if (kill(-rank->pid, number) != 0)
            (void)kill(rank->pid, number); /* it has made no group of its own yet */
        if (number != SIGKILL && is_halted(rank->pid))
            (void)kill(-rank->pid, SIGCONT);
    }
}

static void on_grace_over(uv_timer_t *timer)
{
    signal_groups(timer->data, SIGKILL);
}

void ranks_stop(struct ranks *ranks, int number, uint64_t grace_ms)
{
    if (!ranks->open) {
        ranks->owed = true;
        tell_soon(ranks);
        return;
    }
    collect(ranks); /* who was faster ended by itself */
    ranks->stopping = true;
    exit_gate_release(&ranks->gate);
    if (ranks->n_ended == ranks->n) {
        if (!uv_is_active((uv_handle_t *)&ranks->timers[TIMER_TICK]))
            tell_soon(ranks);
        return;
    }
    if (ranks->n_told < ranks->n_ended)
        tell_soon(ranks);
    signal_groups(ranks, number > 0 ? number : SIGTERM);
    uv_timer_t *timer = &ranks->timers[TIMER_GRACE];
    if (!uv_is_active((uv_handle_t *)timer) || uv_timer_get_due_in(timer) > grace_ms)
        uv_timer_start(timer, on_grace_over, grace_ms, 0);
}

/* ---- the rest ---- */

bool ranks_running(const struct ranks *ranks)
{
    return ranks->open;
}

pid_t ranks_pid(const struct ranks *ranks, uint32_t local_rank)
{
    bool live = local_rank < ranks->n && !ranks->at[local_rank].ended;
    return live ? ranks->at[local_rank].pid : 0;
}

bool ranks_were_warm(const struct ranks *ranks)
{
    return ranks->was_warm;
}

/* Waits for the kernel to end what was killed: nothing may outlive the owner. */
static void kill_all(struct ranks *ranks)
{
    uint64_t until = clock_mono_ms() + DESTROY_MS;
    ranks->stopping = true;
    signal_groups(ranks, SIGKILL);
    for (bool left = true; left && clock_mono_ms() < until;) {
        for (uint32_t i = 0; i < ranks->n; i++)
            reap(ranks, i);
        left = !kill_left(ranks) || ranks->n_ended < ranks->n;
        if (left)
            (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

void ranks_destroy(struct ranks *ranks)
{
    if (!ranks || ranks->doomed)
        return;
    if (ranks->open)
        kill_all(ranks);
    ranks->doomed = true;
    close_pipes(ranks);
    uv_close((uv_handle_t *)&ranks->poll, on_closed);
    uv_close((uv_handle_t *)&ranks->child, on_closed);
    for (size_t i = 0; i < TIMERS; i++)
        uv_close((uv_handle_t *)&ranks->timers[i], on_closed);
}
