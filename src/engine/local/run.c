/* The keeper of one run: started detached (it outlives this server), found again by pid and start time, watched by pidfd. Its end
 * is reported only when nothing that carries the run's cookie is left. */
#include "engine/local/run.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SETTLE_MS 5

static const uint64_t pid_file_max = 128;

struct run *run_create(uv_loop_t *loop, struct generation g, const char *node, const char *dir)
{
    struct run *run = mem_new(sizeof *run);
    run->generation = g;
    run->node = mem_strdup(node);
    run->dir = mem_strdup(dir);
    run->pidfd = -1;
    snprintf(run->cookie, sizeof run->cookie, "%llu.%u.%s", (unsigned long long)g.job, g.number, node);
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
    free(run);
}

void run_destroy(struct run *run)
{
    if (run->handles == 2)
        uv_close((uv_handle_t *)&run->watch, on_closed);
    uv_close((uv_handle_t *)&run->settle, on_closed);
}

/* ---- the end ---- */

static void on_settle(uv_timer_t *timer)
{
    struct run *run = timer->data;
    if (sweep_cookie(run->cookie) > 0)
        return;
    uv_timer_stop(timer);
    run->gone = true;
    run->ended(run);
}

void run_settle(struct run *run)
{
    uv_timer_start(&run->settle, on_settle, 0, SETTLE_MS);
}

static void on_pidfd(uv_poll_t *watch, int status, int events)
{
    struct run *run = watch->data;
    (void)status;
    (void)events;
    siginfo_t info = {0};
    uv_poll_stop(watch);
    waitid(P_PIDFD, (id_t)run->pidfd, &info, WEXITED | WNOHANG);
    bool clean = info.si_pid == run->pid && info.si_code == CLD_EXITED && info.si_status == 0;
    if (!clean) {
        log_warn("keeper.died", "job=%llu generation=%u node=%s pid=%d",
                 (unsigned long long)run->generation.job, run->generation.number, run->node,
                 (int)run->pid);
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

/* Field 22 of /proc/PID/stat: a reused pid is never taken for ours. */
static uint64_t start_time(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    uint64_t value = 0;
    if (file_read(path, 4096, &text, &len, NULL) < 0)
        return 0;
    char *at = strrchr(text, ')'); /* the name before it may hold anything */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return 0;
    char *end = strchr(at + 1, ' ');
    if (end)
        *end = '\0';
    return scan_u64(at + 1, 0, UINT64_MAX, &value) ? value : 0;
}

static int read_pid(struct run *run, uint64_t *started)
{
    AUTO_FREE char *path = file_join(run->dir, "keeper.pid");
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    uint64_t pid = 0;
    if (file_read(path, pid_file_max, &text, &len, NULL) < 0)
        return -1;
    char *space = strchr(text, ' ');
    if (!space)
        return -1;
    *space = '\0';
    space[1 + strcspn(space + 1, "\n")] = '\0';
    if (!scan_u64(text, 1, INT32_MAX, &pid) || !scan_u64(space + 1, 0, UINT64_MAX, started))
        return -1;
    run->pid = (pid_t)pid;
    return 0;
}

int run_adopt(struct run *run)
{
    uint64_t started = 0;
    if (read_pid(run, &started) < 0)
        return 0;
    if (start_time(run->pid) == started && watch(run) == 0)
        return 1;
    run_settle(run);
    return -1;
}

/* ---- starting ---- */

int run_write_conf(struct run *run, const char *socket, const unsigned char token[32], struct err *err)
{
    char hex[65];
    AUTO_FREE char *path = file_join(run->dir, "agent.conf");
    AUTO_BUF struct buf text = BUF_INIT(8192);
    sodium_bin2hex(hex, sizeof hex, token, 32);
    buf_addf(&text, "socket=%s\ntoken=%s\njob=%llu\ngeneration=%u\nnode=%s\n", socket, hex,
             (unsigned long long)run->generation.job, run->generation.number, run->node);
    return file_replace(path, text.data, text.len, 0600, err);
}

static int start_keeper(struct run *run, const char *program, struct err *err)
{
    AUTO_FREE char *log = file_join(run->dir, "agent.err");
    char *argv[] = {(char *)program, (char *)"keeper", run->dir, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    int rc = posix_spawn(&run->pid, program, &files, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    if (rc == 0)
        return watch(run) < 0 ? err_sys(err, "watching the keeper %d", (int)run->pid) : 0;
    errno = rc;
    run->pid = 0;
    return err_sys(err, "starting %s", program);
}

int run_spawn(struct run *run, const char *program, const char *socket, const unsigned char token[32],
              struct err *err)
{
    if (file_mkdirs(run->dir, 0700, err) < 0 || run_write_conf(run, socket, token, err) < 0)
        return -1;
    return start_keeper(run, program, err);
}
