/* The processes that wait hold one pipe and nothing else of the agent, so that every end of a
 * program's descriptors is where it is without them. pid 1 cannot be looked into from inside,
 * although it is a fork of the agent and may have the user of the program. Its end is the end of
 * all others, for which the kernel waits; the process outside is told of the program's end before
 * that, so that it does not depend on what the program left. */
#include "node/runtime/pids.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME      "muster-task"
#define GONE_MS   10 /* the end of pid 1 is waited for, for what the kernel counted of all */
#define PROC_FLAG (MS_NOSUID | MS_NODEV | MS_NOEXEC)

static int outside = -1; /* ends with the process outside */

int pids_show(const char *at)
{
    return mount("proc", at, "proc", PROC_FLAG, NULL);
}

/* ---- whoever waits ---- */

static void block_all(void)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
}

/* The arguments of the agent say where its files are. They lie one behind the other in memory. */
static void hide_arguments(void)
{
    char text[1024];
    AUTO_CLOSE int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return;
    text[n] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 48; field++)
        at = strchr(at + 1, ' ');
    char *end;
    unsigned long from = at ? strtoul(at, &end, 10) : 0, to = at ? strtoul(end, NULL, 10) : 0;
    if (from == 0 || to <= from + sizeof NAME)
        return;
    memset((void *)from, 0, to - from);      // NOLINT(performance-no-int-to-ptr)
    memcpy((void *)from, NAME, sizeof NAME); // NOLINT(performance-no-int-to-ptr)
}

/* The descriptor becomes 0; every other one is closed. */
static void keep_one(int fd)
{
    (void)prctl(PR_SET_NAME, NAME);
    if (fd < 0 || dup2(fd, 0) < 0)
        close(0);
    (void)close_range(1, UINT_MAX, 0);
}

static int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

static _Noreturn void end_as(int status)
{
    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    int number = WTERMSIG(status);
    sigset_t one;
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    (void)signal(number, SIG_DFL);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)kill(getpid(), number);
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL);
    _exit(128 + number);
}

static _Noreturn void stay_outside(pid_t inside, int sock)
{
    int status;
    keep_one(sock);
    if (read(0, &status, sizeof status) != (ssize_t)sizeof status)
        end_as(wait_for(inside)); /* that is the program, or was ended from outside */
    struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, inside, 0), .events = POLLIN };
    if (poll(&end, 1, GONE_MS) == 1)
        (void)wait_for(inside);
    end_as(status);
}

/* ---- pid 1 ---- */

static void give_up_rights(const struct fs_user *user)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
    if (user) {
        (void)!setgroups(user->n_groups, user->groups);
        (void)!setresgid(user->gid, user->gid, user->gid);
        (void)!setresuid(user->uid, user->uid, user->uid);
    }
    (void)syscall(SYS_capset, &header, none);
    (void)prctl(PR_SET_DUMPABLE, 0);
}

/* What is sent from outside is sent to the program as well. */
static bool is_from_inside(const siginfo_t *info)
{
    return info->si_signo != SIGCHLD && info->si_code <= 0 && info->si_pid > 0;
}

static _Noreturn void be_first(pid_t program, const struct fs_user *user)
{
    sigset_t all;
    give_up_rights(user);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (pids_left())
        _exit(127);
    keep_one(outside);
    (void)sigfillset(&all);
    for (;;) {
        int status;
        siginfo_t info;
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
            if (pid == program) {
                (void)!write(0, &status, sizeof status);
                _exit(0);
            }
        if (sigwaitinfo(&all, &info) > 0 && is_from_inside(&info))
            (void)kill(program, info.si_signo);
    }
}

/* ---- going inside ---- */

bool pids_left(void)
{
    struct pollfd end = { .fd = outside };
    return poll(&end, 1, 0) == 1;
}

/* Returns in the program alone. */
static int make_first(const struct fs_user *user)
{
    hide_arguments();
    pid_t program = fork();
    if (program < 0)
        return -1;
    if (program > 0)
        be_first(program, user);
    return 0;
}

static int go_inside(bool first, const struct fs_user *user)
{
    int pair[2];
    sigset_t none;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    block_all();
    pid_t pid = fork();
    if (pid < 0)
        return -1;
    if (pid > 0) {
        close(pair[1]);
        stay_outside(pid, pair[0]);
    }
    close(pair[0]);
    outside = pair[1];
    if (first && make_first(user) != 0)
        return -1;
    (void)setsid();
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    return 0;
}

/* As for a task. */
static bool try_show(void)
{
    int flags = CLONE_NEWNS | CLONE_NEWPID | (geteuid() == 0 ? 0 : CLONE_NEWUSER), status;
    if (unshare(flags) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        _exit(pids_show("/proc") == 0 ? 0 : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

bool pids_work(void)
{
    static enum { NOT_TRIED, WORKS, FAILS } known;
    int status;
    if (known == NOT_TRIED) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(try_show() ? 0 : 1);
        known = pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? WORKS : FAILS;
    }
    return known == WORKS;
}

int pids_begin(const struct fs_user *user)
{
    return go_inside(true, user);
}

int pids_join(void)
{
    return go_inside(false, NULL);
}
