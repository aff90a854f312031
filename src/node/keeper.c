/* Starts the agent and waits. As a child subreaper it inherits every orphan below it, so "no child
 * left" means "nothing left": when the agent is gone it kills its descendants and reaps until there
 * are none, whatever they did to their sessions, groups and environments. Then it removes cgroups
 * and mount points. It holds nothing else, so that nothing can go wrong in it. */
#include "node/keeper.h"

#include "base/log.h"
#include "base/mem.h"
#include "node/agent.h"
#include "node/cgroup.h"
#include "node/conf.h"
#include "node/mount_points.h"
#include "node/proc.h"
#include "node/runtime/container.h"
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STATUS_DIED        1
#define STATUS_NOT_STARTED 2
#define CLEAN_LOOKS        1000 /* a little over CLEAN_LOOK_NS each */
#define CLEAN_LOOK_NS      2000000

static int write_pid(const char *dir)
{
    char path[4096], fresh[4096 + 8], text[64];
    snprintf(path, sizeof path, "%s/keeper.pid", dir);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    int n =
        snprintf(text, sizeof text, "%d %" PRIu64 "\n", (int)getpid(), proc_start_time(getpid()));
    AUTO_CLOSE int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || write(fd, text, (size_t)n) != n)
        return -1;
    return rename(fresh, path);
}

static sigset_t awaited(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR2); /* whoever is above it has ended */
    return set;
}

/* Does that process run this program? Hosts do, and who looks after the host of an allocation. */
static bool is_ours(pid_t pid)
{
    char path[32], own[4096], theirs[4096];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    ssize_t n = readlink("/proc/self/exe", own, sizeof own),
            m = readlink(path, theirs, sizeof theirs);
    return n > 0 && n == m && memcmp(own, theirs, (size_t)n) == 0;
}

/* On a node of an allocation: a signal that its owner sends to all processes there is not meant for
 * this one, which ends when its agent does. Who started it may be started anew; when nobody of the
 * allocation is left above it, nobody else would end it. */
static bool is_told_to_end(bool outlive, int number, const siginfo_t *info)
{
    if (number == SIGUSR2)
        return outlive && !is_ours(getppid());
    return (number == SIGTERM && (!outlive || is_ours(info->si_pid))) || number == SIGINT;
}

/* Reaps whatever ended; the agent's end gives its status. */
static int wait_for(pid_t agent, bool outlive)
{
    sigset_t set = awaited();
    for (;;) {
        int status;
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
            if (pid == agent)
                return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_DIED;
        siginfo_t info = { 0 };
        int number = sigwaitinfo(&set, &info);
        if (is_told_to_end(outlive, number, &info))
            (void)kill(agent, SIGKILL);
    }
}

static void end_everything(void)
{
    pid_t self = getpid();
    sigset_t set = awaited();
    for (;;) {
        struct proc_list below = { .n = 0 };
        proc_descendants(self, &below);
        for (size_t i = 0; i < below.n; i++)
            (void)kill(below.at[i], SIGKILL);
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            continue;
        if (pid < 0 && errno == ECHILD)
            return;
        /* The next end of a child, or a look around for what was forked in between. */
        (void)sigtimedwait(&set, NULL, &(struct timespec){ .tv_nsec = 2000000 });
    }
}

/* How many of its cgroups are still there. */
static size_t clean_up(const char *dir)
{
    struct conf conf;
    struct account space;
    AUTO_FREE char *roots = mem_printf("%s/roots", dir);
    container_sweep(roots);
    mount_points_undo(dir, geteuid());
    if (conf_read(dir, &conf, NULL) != 0)
        return 0;
    const struct account *account = conf_account(&conf, &space);
    if (account) {
        AS_FS_USER(&account->ids);
        mount_points_undo(conf.user_dir, account->ids.uid);
    }
    AUTO_FREE char *prefix = mem_printf("%s.", conf.cookie);
    struct cgroup_site site;
    cgroup_find(&site);
    return cgroup_sweep(&site, prefix);
}

int keeper_clean(const char *dir)
{
    for (int i = 0; i < CLEAN_LOOKS; i++) {
        if (clean_up(dir) == 0)
            return 0;
        (void)nanosleep(&(struct timespec){ .tv_nsec = CLEAN_LOOK_NS }, NULL);
    }
    return STATUS_DIED;
}

/* What the host left there is sealed; anything else at that number is not for us. -1: none. */
static int find_session(void)
{
    if (fcntl(KEEPER_SESSION, F_GET_SEALS) != RUN_SESSION_SEALS)
        return -1;
    return fcntl(KEEPER_SESSION, F_SETFD, FD_CLOEXEC) == 0 ? KEEPER_SESSION : -1;
}

int keeper_run(const char *dir)
{
    int session = find_session();
    sigset_t set = awaited();
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || write_pid(dir) != 0) {
        log_error("keeper.failed", "dir=%s errno=%d", dir, errno);
        return STATUS_NOT_STARTED;
    }
    struct conf conf;
    bool outlive = conf_read(dir, &conf, NULL) == 0 && conf.outlive_term;
    if (outlive)
        (void)prctl(PR_SET_PDEATHSIG, SIGUSR2);
    if (outlive && !is_ours(getppid())) /* it ended before that */
        return STATUS_NOT_STARTED;
    pid_t self = getpid();
    pid_t agent = fork();
    if (agent < 0) {
        log_error("keeper.failed", "dir=%s errno=%d", dir, errno);
        return STATUS_NOT_STARTED;
    }
    if (agent == 0)
        return agent_run(dir, self, session);
    if (session >= 0)
        close(session);
    int status = wait_for(agent, outlive);
    end_everything();
    (void)clean_up(dir);
    return status == 0 ? 0 : STATUS_DIED;
}
