/* Between fork and exec. Order matters: the cgroup is joined before the namespaces are entered (its
 * files are seen outside) and everything is mounted before the rights for it are given up; the
 * parent-death signal is set after both (entering a user namespace and changing the user clear it),
 * and the parent is checked after that. The working directory is entered with the user's own
 * rights, and the filter of system calls is the last step. Every descriptor above stderr closes at
 * exec, whoever opened it. Failure is told through a pipe that closes at exec. Where the task has a
 * process namespace, what follows its beginning happens in its program's own process. */
#include "node/stage.h"

#include "base/file.h"
#include "base/mem.h"
#include "node/runtime/container.h"
#include "node/runtime/pids.h"
#include "node/simple_command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum end_origin stage_blame(int number)
{
    static const int own[] = { ENOENT, EACCES, ENOTDIR, ELOOP,  ENAMETOOLONG, EPERM,
                               EISDIR, E2BIG,  ENOEXEC, EINVAL, ENXIO,        EROFS };
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (number == own[i])
            return BY_ITSELF;
    return BY_PLATFORM;
}

static _Noreturn __attribute__((format(printf, 3, 4))) void fail(int status, int number,
                                                                 const char *fmt, ...)
{
    bool full = number == ENOSPC || number == EDQUOT;
    struct stage_failure failure = { .by = stage_blame(number),
                                     .cause = full ? CAUSE_NODE_FULL : CAUSE_NONE };
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(failure.reason, sizeof failure.reason, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof failure.reason)
        snprintf(failure.reason + n, sizeof failure.reason - (size_t)n, ": %s", strerror(number));
    (void)!write(status, &failure, sizeof failure);
    _exit(127);
}

static void reset_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        if (number != SIGKILL && number != SIGSTOP)
            (void)signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void connect_ends(const struct stage_ends *ends, int status)
{
    int in = ends->in >= 0 ? ends->in : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (in < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(ends->out, STDOUT_FILENO) < 0 ||
        dup2(ends->err, STDERR_FILENO) < 0)
        fail(status, errno, "cannot connect input and output");
    (void)close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
}

/* Started before the parent set the signal up? Then nobody would end us. */
static void die_with(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(127);
}

/* That parent is in another process namespace. */
static void die_with_outside(void)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || pids_left())
        _exit(127);
}

/* Something in the environment that changes what bash does with a command? */
static bool shell_is_tuned(char *const *env)
{
    for (; *env; env++)
        if (strncmp(*env, "BASH", 4) == 0 || strncmp(*env, "SHELLOPTS=", 10) == 0)
            return true;
    return false;
}

/* own: the file of this program. */
static void run_program(const struct stage *stage, int own, int status)
{
    if (stage->shell) {
        struct simple_command plain;
        char **words =
            shell_is_tuned(stage->env) ? NULL : simple_command_words(stage->shell, &plain);
        if (words)
            execvp(words[0], words); /* failed? then let the shell say why */
        const char *shell = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
        char *text = (char *)(uintptr_t)stage->shell;
        char *argv[] = { (char *)(uintptr_t)strrchr(shell, '/') + 1, (char[]){ "-c" }, text, NULL };
        execv(shell, argv);
        fail(status, errno, "%scannot start %s", stage->image ? "the image has no shell: " : "",
             shell);
    }
    if (stage->own_program)
        (void)fexecve(own, stage->argv, stage->env);
    else
        execvp(stage->argv[0], stage->argv);
    if (stage->or_sh && errno == ENOENT)
        execvp("sh", (char *[]){ (char[]){ "sh" }, NULL });
    fail(status, errno, "cannot start \"%.120s\"%s", stage->argv[0],
         stage->image ? " in the image" : "");
}

/* The job's own, as all of its tasks will find it. */
static _Noreturn void fail_image(const struct stage *stage, int status, const char *why)
{
    struct stage_failure failure = { .by = BY_ITSELF };
    snprintf(failure.reason, sizeof failure.reason, "image %.60s: %.130s", stage->image, why);
    (void)!write(status, &failure, sizeof failure);
    _exit(127);
}

/* From here on in another process. */
static void begin_pids(const struct stage *stage, int status, pid_t parent)
{
    const struct account *account = stage->confine->account;
    die_with(parent);
    if (pids_begin(account ? &account->ids : NULL) != 0)
        fail(status, errno, "cannot begin a process namespace");
}

/* 0: there is none. Outside of the task's group, which is not to count its processes. */
static pid_t start_container(const struct stage *stage, int status)
{
    pid_t holder = 0;
    char why[ROOT_WHY];
    if (stage->root && stage->root->container && container_start(stage->root, &holder, why) != 0)
        fail_image(stage, status, why);
    return holder;
}

/* holder: of the container in which it is made; 0: in none. */
static void enter_root(const struct stage *stage, pid_t holder, int status, pid_t parent)
{
    bool user_ns = geteuid() != 0;
    char why[ROOT_WHY];
    const struct ids *ids = &stage->confine->ids;
    if ((holder ? view_join(holder, ids, stage->own_pids, why)
                : view_leave(ids, stage->own_pids, why)) != 0)
        fail_image(stage, status, why);
    if (stage->own_pids)
        begin_pids(stage, status, parent);
    if (view_enter_root(stage->root, user_ns, why) != 0)
        fail_image(stage, status, why);
}

/* The root of a task that runs in an image. holder: of its container; 0: it has none. */
static void make_root(const struct stage *stage, pid_t holder, int status, pid_t parent)
{
    struct err err;
    char why[ROOT_WHY];
    if (!holder || container_is_bare(stage->root->container))
        enter_root(stage, holder, status, parent);
    else if (view_enter_container(holder, why) != 0 || container_fill(stage->root, why) != 0)
        fail_image(stage, status, why);
    if (stage->fill && stage->fill(stage->fill_arg, &err) != 0)
        fail_image(stage, status, err.what);
    if (devices_show(&stage->devices, true) != 0)
        fail(status, errno, "cannot make a /dev of its own");
}

/* With the rights of the task: whatever ways there are in its root lead nowhere else. */
static void make_links(const struct cdi_edits *edits)
{
    for (size_t i = 0; edits && i < edits->n_links; i++) {
        AUTO_FREE char *at = mem_strdup(edits->links[i].at);
        *strrchr(at, '/') = '\0';
        if (*at)
            (void)file_mkdirs(at, 0755, NULL);
        if (symlink(edits->links[i].to, edits->links[i].at) == 0 || errno != EEXIST)
            continue;
        if (unlink(edits->links[i].at) == 0)
            (void)!symlink(edits->links[i].to, edits->links[i].at);
    }
}

/* As the image itself does it; one that has no ldconfig finds them where they are. */
static void tell_loader(const struct cdi_edits *edits, char *const *env)
{
    static const char program[] = "/sbin/ldconfig";
    size_t n = edits ? edits->folders.n : 0;
    char **argv = mem_new((n + 2) * sizeof *argv);
    argv[0] = (char *)(uintptr_t) "ldconfig";
    for (size_t i = 0; i < n; i++)
        argv[i + 1] = (char *)(uintptr_t)edits->folders.at[i];
    pid_t pid = access(program, X_OK) == 0 ? fork() : -1;
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        (void)(dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0);
        execve(program, argv, env);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    free(argv);
}

static void enter_view(const struct stage *stage, int status, pid_t parent)
{
    if (view_enter(stage->view) != 0)
        fail(status, errno, "cannot enter the view of the job");
    if (stage->own_pids)
        die_with(parent);
    if (stage->own_pids && view_enter_pids(stage->view, stage->ended) != 0)
        fail(status, errno, "cannot enter the process namespace of the task");
    if (devices_show(&stage->devices, false) != 0)
        fail(status, errno, "cannot make a /dev of its own");
}

static bool is_in_user_ns(const struct confine *confine, uid_t agent)
{
    return agent != 0 || (confine->account && confine->account->ids.uid != 0);
}

static int drop_rights(const struct stage *stage)
{
    struct confine confine = *stage->confine;
    if (stage->edits) {
        confine.more_groups = stage->edits->groups;
        confine.n_more_groups = stage->edits->n_groups;
    }
    return confine_drop(&confine);
}

static _Noreturn void child(const struct stage *stage, const struct stage_ends *ends, int status,
                            pid_t parent)
{
    uid_t agent = geteuid();
    /* In an image it has no name. */
    int own = stage->own_program ? open("/proc/self/exe", O_RDONLY | O_CLOEXEC) : -1;
    (void)setsid();
    reset_signals();
    connect_ends(ends, status);
    pid_t holder = start_container(stage, status);
    if (stage->cgroup)
        cgroup_join(stage->cgroup);
    if (stage->cpus && sched_setaffinity(0, sizeof *stage->cpus, stage->cpus) != 0)
        fail(status, errno, "cannot bind to its cores");
    if (stage->root)
        make_root(stage, holder, status, parent);
    else
        enter_view(stage, status, parent);
    if (ends->tty)
        (void)ioctl(STDIN_FILENO, TIOCSCTTY, 0);
    if (view_show_code(&stage->code) != 0)
        fail(status, errno, "cannot show the code at %.120s", stage->code.at);
    if (stage->no_core && setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 }) != 0)
        fail(status, errno, "cannot forbid core files");
    if (drop_rights(stage) != 0)
        fail(status, errno, "cannot give up the rights of the agent");
    if (stage->root &&
        view_send(status, stage->own_pids, is_in_user_ns(stage->confine, agent)) != 0)
        fail(status, errno, "cannot hand over the root");
    if (stage->own_pids)
        die_with_outside();
    else
        die_with(parent);
    if (stage->libraries) {
        make_links(stage->edits);
        tell_loader(stage->edits, stage->env);
    }
    if (chdir(stage->work_dir) != 0)
        fail(status, errno, "cannot enter the working directory %.120s", stage->work_dir);
    environ = stage->env;
    if (confine_seal(stage->confine) != 0)
        fail(status, errno, "cannot refuse system calls");
    run_program(stage, own, status);
    _exit(127);
}

int stage_terminal(int *theirs, struct err *err)
{
    char name[64];
    struct winsize size = { .ws_row = 24, .ws_col = 80 };
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0)
        return err_sys(err, "no terminal");
    (void)ioctl(master, TIOCSWINSZ, &size);
    int slave = -1;
    if (grantpt(master) == 0 && unlockpt(master) == 0 && ptsname_r(master, name, sizeof name) == 0)
        slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0) {
        err_sys(err, "no terminal");
        close(master);
        return -1;
    }
    *theirs = slave;
    return master;
}

void stage_give_ends(const struct stage *stage, const struct stage_ends *ends)
{
    const struct account *account = stage->confine->account;
    const int fds[] = { ends->in, ends->out, ends->err };
    for (size_t i = 0; account && i < ARRAY_LEN(fds); i++)
        if (fds[i] >= 0)
            (void)!fchown(fds[i], account->ids.uid, account->ids.gid);
}

pid_t stage_start(const struct stage *stage, const struct stage_ends *ends, int *status,
                  struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return err_sys(err, "socketpair");
    pid_t self = getpid();
    pid_t pid = fork();
    if (pid == 0)
        child(stage, ends, pair[1], self);
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return err_sys(err, "cannot start a process");
    }
    *status = pair[0];
    return pid;
}

int stage_outcome(int status, struct view *made, struct stage_failure *failure)
{
    struct view none = VIEW_INIT;
    ssize_t n;
    do
        n = view_receive(status, made ? made : &none, failure, sizeof *failure);
    while (n == VIEW_RECEIVED || (n < 0 && errno == EINTR));
    view_fini(&none);
    if (n < 0 && errno == EAGAIN)
        return -1;
    failure->reason[sizeof failure->reason - 1] = '\0';
    return n == (ssize_t)sizeof *failure ? 1 : 0;
}
