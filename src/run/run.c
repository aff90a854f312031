/* The keeper of one run: started detached (it outlives this server), found again by pid and start
 * time, watched by pidfd. Its end is reported only when nothing that carries the run's cookie is
 * left.
 *
 * keeper.lock tells whether a keeper lives: it is taken before the keeper is started and inherited
 * by it, so that there is no moment, whenever this server is killed, in which a keeper lives unseen
 * and a second one is started for the same tasks. Where its file was removed, who holds it is found
 * among the processes. */
#include "run/run.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define CONF          "agent.conf"
#define PID           "keeper.pid"
#define SETTLE_MS     5
#define ORDERLY_LOOKS 400u /* SETTLE_MS each: so long a keeper has to end what is below it */
#define END_LOOKS     2000u
#define CONF_MAX      32768u /* bytes of agent.conf */

static const uint64_t pid_file_max = 128;

struct run *run_create(uv_loop_t *loop, struct generation g, const char *node, const char *dir)
{
    struct run *run = mem_new(sizeof *run);
    run->generation = g;
    run->node = mem_strdup(node);
    run->dir = mem_strdup(dir);
    run->pidfd = -1;
    /* Another server of this machine may make a job of the same id: ids begin with the time. */
    run->cookie = mem_printf("%08x.%llu.%u.%s", hash_crc32(dir, strlen(dir)),
                             (unsigned long long)g.job, g.number, node);
    uv_timer_init(loop, &run->settle);
    run->settle.data = run;
    run->handles = 1;
    return run;
}

static void on_closed(uv_handle_t *handle)
{
    struct run *run = handle->data;
    if (--run->handles > 0)
        return;
    if (run->pidfd >= 0)
        close(run->pidfd);
    free(run->node);
    free(run->dir);
    free(run->cookie);
    free(run);
}

void run_destroy(struct run *run)
{
    if (run->handles == 2)
        uv_close((uv_handle_t *)&run->watch, on_closed);
    uv_close((uv_handle_t *)&run->settle, on_closed);
}

/* ---- the lock ---- */

/* The descriptor that holds it; -1: another holds it (errno EWOULDBLOCK), or it cannot be had. */
static int lock_dir(const char *dir, int flags)
{
    AUTO_FREE char *path = file_join(dir, KEEPER_LOCK_NAME);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static int take_lock(const struct run *run)
{
    return lock_dir(run->dir, O_CREAT);
}

/* A keeper was started here, so one may hold a lock whose file is gone or another one's by now.
 * When it cannot be seen, it may. */
static bool is_held_unseen(const char *dir)
{
    AUTO_FREE char *conf = file_join(dir, CONF), *pid = file_join(dir, PID);
    return (access(conf, F_OK) == 0 || access(pid, F_OK) == 0) && sweep_lock(dir, 0) != SWEEP_NONE;
}

/* When there is no descriptor to look with, it may be. */
static bool is_held(const struct run *run)
{
    AUTO_CLOSE int fd = take_lock(run);
    if (fd < 0)
        return errno == EWOULDBLOCK || errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    return is_held_unseen(run->dir);
}

/* ---- the end ---- */

static pid_t start_program(const char *dir, const char *program, const char *verb, int lock,
                           int session);

/* A keeper that is told to ends its agent and everything below, whatever became of its cookie; one
 * that does not is killed, and the nets are under it. */
static void end_holders(const char *dir, unsigned looks)
{
    sweep_lock(dir, looks < ORDERLY_LOOKS ? SIGTERM : SIGKILL);
}

/* What carries no cookie (its environment cleared) is found by its cgroup, which muster-node knows.
 * false: not done yet. */
static bool cleaned(struct run *run)
{
    if (!run->program || run->cleaner < 0)
        return true;
    if (run->cleaner == 0) {
        run->cleaner = start_program(run->dir, run->program, "clean", -1, -1);
        return run->cleaner < 0;
    }
    if (waitpid(run->cleaner, NULL, WNOHANG) == 0)
        return false;
    run->cleaner = -1;
    return true;
}

static void on_settle(uv_timer_t *timer)
{
    struct run *run = timer->data;
    /* While something holds the lock, look again: between fork and exec a process shows no cookie.
     */
    bool held = is_held(run);
    if (held)
        end_holders(run->dir, run->looks++);
    if (held || !run->swept)
        run->swept = sweep_cookie(run->cookie) == SWEEP_NONE && !held;
    if (!run->swept || !cleaned(run))
        return;
    uv_timer_stop(timer);
    run->gone = true;
    run->ended(run);
}

void run_settle(struct run *run)
{
    run->ending = true;
    uv_timer_start(&run->settle, on_settle, 0, SETTLE_MS);
}

static void on_pidfd(uv_poll_t *watch, int status, int events)
{
    struct run *run = watch->data;
    (void)status;
    (void)events;
    siginfo_t info = { 0 };
    uv_poll_stop(watch);
    /* An earlier server's keeper is not our child: how it ended only its agent can have told. */
    bool ours = waitid(P_PIDFD, (id_t)run->pidfd, &info, WEXITED | WNOHANG) == 0;
    bool clean = info.si_pid == run->pid && info.si_code == CLD_EXITED && info.si_status == 0;
    if (!ours && run->released)
        clean = run->released(run);
    if (ours && !clean)
        log_warn("keeper.died", "job=%llu generation=%u node=%s pid=%d",
                 (unsigned long long)run->generation.job, run->generation.number, run->node,
                 (int)run->pid);
    if (!clean) {
        run_settle(run);
        return;
    }
    run->gone = true;
    run->ended(run);
}

static int watch(struct run *run)
{
    run->pidfd = (int)syscall(SYS_pidfd_open, run->pid, 0);
    if (run->pidfd < 0)
        return -1;
    fcntl(run->pidfd, F_SETFD, FD_CLOEXEC);
    uv_poll_init(run->settle.loop, &run->watch, run->pidfd);
    run->watch.data = run;
    run->handles = 2;
    uv_poll_start(&run->watch, UV_READABLE, on_pidfd);
    return 0;
}

/* ---- finding it again ---- */

/* 0: it is not there. */
static pid_t read_pid(const char *dir, uint64_t *started)
{
    AUTO_FREE char *path = file_join(dir, PID);
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    uint64_t pid = 0;
    if (file_read(path, pid_file_max, &text, &len, NULL) < 0)
        return 0;
    char *space = strchr(text, ' ');
    if (!space)
        return 0;
    *space = '\0';
    space[1 + strcspn(space + 1, "\n")] = '\0';
    if (!scan_u64(text, 1, INT32_MAX, &pid) || !scan_u64(space + 1, 0, UINT64_MAX, started))
        return 0;
    return (pid_t)pid;
}

/* That number may be another's by now, or the file was damaged. */
static pid_t read_keeper(const char *dir)
{
    struct process now;
    uint64_t started = 0;
    pid_t pid = read_pid(dir, &started);
    return pid && process_look(pid, &now) && now.started == started ? pid : 0;
}

static bool find_keeper(struct run *run)
{
    run->pid = read_keeper(run->dir);
    if (run->pid && watch(run) == 0)
        return true;
    run->pid = 0;
    return false;
}

/* The lock was held before the file was read: then what the file says is old, and a keeper is on
 * its way to write it anew. */
static void on_coming(uv_timer_t *timer)
{
    struct run *run = timer->data;
    bool held = is_held(run);
    if (!find_keeper(run) && held)
        return;
    run->coming = false;
    uv_timer_stop(timer);
    if (!run->pid)
        run_settle(run);
}

/* A line of agent.conf, key: "\nNAME="; malloc'ed, NULL: there is none. */
static char *read_conf(const char *dir, const char *key)
{
    AUTO_FREE char *path = file_join(dir, CONF);
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    const char *at = file_read(path, CONF_MAX, &text, &len, NULL) < 0 ? NULL : strstr(text, key);
    if (!at)
        return NULL;
    at += strlen(key);
    return mem_strndup(at, strcspn(at, "\n"));
}

/* Its processes carry the mark that was made when it was started; the path of the directory may
 * have been another one then (a link, a directory that moved). */
static void take_cookie(struct run *run)
{
    char *cookie = read_conf(run->dir, "\ncookie=");
    if (!cookie)
        return;
    free(run->cookie);
    run->cookie = cookie;
}

bool run_look(const char *dir, struct run_conf *conf)
{
    AUTO_CLOSE int fd = lock_dir(dir, 0);
    if ((fd >= 0 || errno != EWOULDBLOCK) && !is_held_unseen(dir))
        return false;
    AUTO_FREE char *job = read_conf(dir, "\njob="), *node = read_conf(dir, "\nnode=");
    AUTO_FREE char *token = read_conf(dir, "\ntoken=");
    *conf = (struct run_conf){ .pid = (uint32_t)read_keeper(dir) };
    if (job)
        scan_u64(job, 1, INT64_MAX, &conf->job);
    snprintf(conf->node, sizeof conf->node, "%s", node ? node : "");
    snprintf(conf->token, sizeof conf->token, "%s", token ? token : "");
    return true;
}

/* The keeper, or what it left when it had to be killed. */
static bool anything_lives(const char *dir, const char *cookie, unsigned looks,
                           struct run_conf *conf)
{
    return run_look(dir, conf) ||
           (looks > ORDERLY_LOOKS && cookie && sweep_cookie(cookie) != SWEEP_NONE);
}

int run_end(const char *dir, const char *program, struct err *err)
{
    struct run_conf conf;
    AUTO_FREE char *cookie = read_conf(dir, "\ncookie=");
    unsigned looks = 0;
    for (; looks < END_LOOKS && anything_lives(dir, cookie, looks, &conf); looks++) {
        end_holders(dir, looks);
        (void)nanosleep(&(struct timespec){ .tv_nsec = SETTLE_MS * 1000000 }, NULL);
    }
    if (looks == END_LOOKS)
        return err_set(err, ERR_UNAVAILABLE, "the keeper %u in %s lives on", conf.pid, dir);
    pid_t cleaner = looks > ORDERLY_LOOKS ? start_program(dir, program, "clean", -1, -1) : -1;
    if (cleaner > 0)
        (void)waitpid(cleaner, NULL, 0);
    return 0;
}

int run_adopt(struct run *run)
{
    AUTO_FREE char *path = file_join(run->dir, PID);
    bool held = file_is_dir(run->dir) && is_held(run);
    /* The directory is a copy: the keeper that its files name has the original, whose processes and
     * cgroups are not this run's. */
    if (!held && read_keeper(run->dir)) {
        run->program = NULL;
        run_settle(run);
        return -1;
    }
    take_cookie(run);
    if (find_keeper(run))
        return 1;
    if (held) {
        run->coming = true;
        uv_timer_start(&run->settle, on_coming, SETTLE_MS, SETTLE_MS);
        return 1;
    }
    if (access(path, F_OK) < 0)
        return 0;
    run_settle(run);
    return -1;
}

bool run_lives(const struct run *run)
{
    return run->pid || run->coming || run->ending;
}

/* ---- starting ---- */

static void put_account(struct buf *text, const struct account *account)
{
    buf_addf(text, "user=%s\nhome=%s\nshell=%s\nuid=%u\ngid=%u\ngroups=", account->name,
             account->home, account->shell, account->ids.uid, account->ids.gid);
    for (size_t i = 0; i < account->ids.n_groups; i++)
        buf_addf(text, "%s%u", i ? "," : "", account->ids.groups[i]);
    buf_putc(text, '\n');
}

/* What the agent reads of itself and of its server. */
static int run_write_conf(struct run *run, const struct run_place *place,
                          const struct launch *launch, struct err *err)
{
    AUTO_FREE char *path = file_join(run->dir, CONF);
    AUTO_BUF struct buf text = BUF_INIT(CONF_MAX);
    buf_addf(&text, "%stoken=", place->server);
    buf_add_hex(&text, place->token, 32);
    buf_addf(&text, "\njob=%llu\ngeneration=%u\nnode=%s\ncookie=%s\nsandbox=%s\n",
             (unsigned long long)run->generation.job, run->generation.number, run->node,
             run->cookie, launch->sandbox ? "on" : "off");
    if (place->send_logs)
        buf_addf(&text, "logs=send\nleave_ms=%llu\n", (unsigned long long)place->leave_ms);
    if (place->code)
        buf_addf(&text, "code=%s\n", place->code);
    if (place->cache)
        buf_addf(&text, "cache=%s\n", place->cache);
    if (place->shared)
        buf_addf(&text, "shared=%s\n", place->shared);
    if (place->programs)
        buf_addf(&text, "programs=%s\n", place->programs);
    if (place->images || launch->images)
        buf_addf(&text, "images=%s\n", place->images ? place->images : launch->images);
    if (launch->images_size)
        buf_addf(&text, "images_size=%llu\n", (unsigned long long)launch->images_size);
    if (launch->account)
        buf_addf(&text, "user_dir=%s\n", launch->user_dir);
    if (launch->archive)
        buf_addf(&text, "archive=%s\n", launch->archive);
    if (launch->account)
        put_account(&text, launch->account);
    if (text.overflow)
        return err_set(err, ERR_CANNOT, "the configuration of an agent is too long");
    return file_replace_unsynced(path, text.data, text.len, 0600, err);
}

static bool says_server(const char *line)
{
    static const char *const keys[] = { "socket=", "tcp=", "pin=" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strncmp(line, keys[i], strlen(keys[i])) == 0)
            return true;
    return false;
}

int run_set_server(const char *dir, const char *server, struct err *err)
{
    AUTO_FREE char *path = file_join(dir, "agent.conf");
    AUTO_FREE char *old = NULL;
    AUTO_BUF struct buf text = BUF_INIT(CONF_MAX);
    size_t len = 0;
    if (access(path, F_OK) < 0)
        return 0;
    if (file_read(path, CONF_MAX, &old, &len, err) < 0)
        return -1;
    char *rest = old;
    buf_puts(&text, server);
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line && !says_server(line))
            buf_addf(&text, "%s\n", line);
    if (text.overflow)
        return err_set(err, ERR_CANNOT, "the configuration of an agent is too long");
    return file_replace(path, text.data, text.len, 0600, err);
}

/* -1: there is none. */
static int session_file(const struct run_place *place)
{
    if (!place->session_len)
        return -1;
    AUTO_CLOSE int fd = memfd_create("session", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || file_write_all(fd, place->session, place->session_len) != 0 ||
        fcntl(fd, F_ADD_SEALS, RUN_SESSION_SEALS) < 0)
        return -1;
    return mem_give_fd(&fd);
}

/* lock, session: become KEEPER_LOCK and KEEPER_SESSION of the program; -1: none. The pid, or -1 and
 * errno. */
static pid_t start_program(const char *dir, const char *program, const char *verb, int lock,
                           int session)
{
    AUTO_FREE char *log = file_join(dir, "agent.err");
    char *argv[] = { (char *)program, (char *)verb, (char *)dir, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none;
    pid_t pid = -1;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (lock >= 0)
        posix_spawn_file_actions_adddup2(&files, lock, KEEPER_LOCK);
    if (session >= 0)
        posix_spawn_file_actions_adddup2(&files, session, KEEPER_SESSION);
    posix_spawn_file_actions_addclosefrom_np(&files, KEEPER_LOCK + (lock >= 0) + (session >= 0));
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    int rc = posix_spawn(&pid, program, &files, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    errno = rc;
    return rc == 0 ? pid : -1;
}

int run_spawn(struct run *run, const struct run_place *place, const struct launch *launch,
              struct err *err)
{
    if (file_mkdirs(run->dir, 0700, err) < 0)
        return -1;
    AUTO_CLOSE int lock = take_lock(run);
    bool others = lock >= 0 && is_held_unseen(run->dir);
    if (others)
        errno = EWOULDBLOCK;
    if (lock < 0 || others) {
        err_sys(err, "locking %s", run->dir);
        take_cookie(run); /* of whoever lives there */
        return -1;
    }
    if (run_write_conf(run, place, launch, err) < 0)
        return -1;
    AUTO_CLOSE int session = session_file(place);
    pid_t pid = start_program(run->dir, place->program, "keeper", lock, session);
    if (pid < 0)
        return err_sys(err, "starting %s", place->program);
    run->pid = pid;
    return watch(run) < 0 ? err_sys(err, "watching the keeper %d", (int)pid) : 0;
}
