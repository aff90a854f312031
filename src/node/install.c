/* One pip run. It is started like a task's program (same view, environment and log), but its
 * failure is the job's: no task starts. */
#include "node/install.h"

#include "base/mem.h"
#include "node/install_sh.h"

#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct install {
    struct install_sink sink;
    struct task *task;
    uv_poll_t poll;
    pid_t pid;
    int pidfd, status;
    char **argv;
};

static void on_closed(uv_handle_t *handle)
{
    struct install *install = handle->data;
    free(install->argv);
    free(install);
}

static void let_go(struct install *install)
{
    uv_close((uv_handle_t *)&install->poll, on_closed);
    close(install->pidfd);
    close(install->status);
}

void install_destroy(struct install *install)
{
    if (!install)
        return;
    if (install->pid > 0) {
        (void)kill(-install->pid, SIGKILL);
        (void)waitpid(install->pid, NULL, 0);
    }
    let_go(install);
}

static void on_end(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct install *install = poll->data;
    int end;
    if (waitpid(install->pid, &end, WNOHANG) != install->pid)
        return;
    install->pid = 0;
    uv_poll_stop(poll);
    struct stage_failure failure;
    char problem[240];
    bool well = false;
    if (stage_outcome(install->status, NULL, &failure) == 1)
        snprintf(problem, sizeof problem, "pip: %s", failure.reason);
    else if (WIFSIGNALED(end))
        snprintf(problem, sizeof problem, "pip was ended by signal %d", WTERMSIG(end));
    else if (WEXITSTATUS(end) != 0)
        snprintf(problem, sizeof problem, "pip install failed with %d; the log says why",
                 WEXITSTATUS(end));
    else
        well = true;
    install->sink.done(install->sink.arg, well ? NULL : problem);
}

/* The texts are those of launch and of install.sh. */
static char **words_of(const struct launch *launch)
{
    const char *const front[] = { "sh",
                                  "-c",
                                  (const char *)node_install_sh,
                                  "install",
                                  launch->packages ? launch->packages : "",
                                  launch->requirements ? launch->requirements : "" };
    const struct words *packages = &launch->pip;
    char **argv = mem_new((ARRAY_LEN(front) + packages->n + 1) * sizeof *argv);
    for (size_t i = 0; i < ARRAY_LEN(front); i++)
        argv[i] = (char *)(uintptr_t)front[i];
    for (size_t i = 0; i < packages->n; i++)
        argv[ARRAY_LEN(front) + i] = (char *)(uintptr_t)packages->at[i];
    return argv;
}

struct install *install_start(uv_loop_t *loop, struct task *task, const struct launch *launch,
                              struct install_sink sink, struct err *err)
{
    int pipe_end;
    if (launch->requirements && task_prepare(task, err) != 0)
        return NULL;
    if (output_open(task_output(task), RECORD_MUSTER, &pipe_end, err) != 0)
        return NULL;
    struct install *install = mem_new(sizeof *install);
    install->sink = sink;
    install->task = task;
    install->argv = words_of(launch);
    struct stage stage = *task_stage(task);
    stage.shell = NULL;
    stage.argv = install->argv;
    if (!launch->requirements) { /* which may lie in the code */
        stage.work_dir = "/";
        stage.code = (struct view_code){ .from = NULL };
    }
    stage.cgroup = NULL;
    struct stage_ends ends = { .in = -1, .out = pipe_end, .err = pipe_end };
    stage_give_ends(&stage, &ends);
    install->pid = stage_start(&stage, &ends, &install->status, err);
    close(pipe_end);
    if (install->pid < 0) {
        free(install->argv);
        free(install);
        return NULL;
    }
    install->pidfd = (int)syscall(SYS_pidfd_open, install->pid, 0);
    install->poll.data = install;
    if (install->pidfd < 0 || uv_poll_init(loop, &install->poll, install->pidfd) != 0)
        BUG("a process cannot be polled");
    uv_poll_start(&install->poll, UV_READABLE, on_end);
    return install;
}
