/* The kernel waits when the last descriptor of a mount namespace closes, and some disks with every
 * directory that goes; neither may hold up the agent, which is starting and watching other tasks.
 * So a forked child has the descriptors last. It closes all others first: by one of them somebody
 * may be waiting for an end. */
#include "node/removals.h"

#include "base/file.h"
#include "base/mem.h"
#include "node/runtime/container.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define USER_NS (STDERR_FILENO + 1)

struct removal {
    struct removals *owner;
    struct removal *next;
    uv_poll_t poll;
    pid_t pid;
    int pidfd;
};
struct removals {
    uv_loop_t *loop;
    struct removals_sink sink;
    struct removal *first;
};

struct removals *removals_create(uv_loop_t *loop, struct removals_sink sink)
{
    struct removals *removals = mem_new(sizeof *removals);
    removals->loop = loop;
    removals->sink = sink;
    return removals;
}

bool removals_busy(const struct removals *removals)
{
    return removals->first != NULL;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void finish(struct removal *removal)
{
    struct removal **at = &removal->owner->first;
    while (*at != removal)
        at = &(*at)->next;
    *at = removal->next;
    while (waitpid(removal->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(removal->pidfd);
    uv_close((uv_handle_t *)&removal->poll, on_closed);
}

void removals_destroy(struct removals *removals)
{
    while (removals && removals->first)
        finish(removals->first);
    free(removals);
}

static void on_end(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct removal *removal = poll->data;
    struct removals *removals = removal->owner;
    finish(removal);
    if (!removals->first)
        removals->sink.done(removals->sink.arg);
}

/* What the task gave to others of its users is in reach of its root alone. */
static _Noreturn void remove_in_child(const struct view *view, const char *path,
                                      const int closed[2])
{
    char none;
    close(closed[1]);
    (void)!read(closed[0], &none, 1); /* until the agent has closed its own */
    bool user_ns = view->user_ns >= 0 && geteuid() != 0 && dup2(view->user_ns, USER_NS) >= 0;
    (void)close_range(user_ns ? USER_NS + 1 : USER_NS, UINT_MAX, 0);
    container_remove(path); /* not from in there */
    if (user_ns)
        (void)setns(USER_NS, CLONE_NEWUSER);
    _exit(file_remove_tree(path, NULL) == 0 ? 0 : 1);
}

/* Its pid; -1: there is none. */
static pid_t start_child(struct view *view, const char *path)
{
    int closed[2];
    pid_t pid = pipe2(closed, O_CLOEXEC) == 0 ? fork() : -2;
    if (pid == 0)
        remove_in_child(view, path, closed);
    view_fini(view);
    if (pid > -2) {
        close(closed[0]);
        close(closed[1]);
    }
    return pid > 0 ? pid : -1;
}

void removals_start(struct removals *removals, struct view *view, const char *path)
{
    pid_t pid = start_child(view, path);
    int pidfd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0) {
        if (pid > 0)
            (void)waitpid(pid, NULL, 0);
        (void)file_remove_tree(path, NULL);
        return;
    }
    struct removal *removal = mem_new(sizeof *removal);
    *removal =
        (struct removal){ .owner = removals, .next = removals->first, .pid = pid, .pidfd = pidfd };
    removals->first = removal;
    removal->poll.data = removal;
    if (uv_poll_init(removals->loop, &removal->poll, pidfd) != 0)
        BUG("a process cannot be polled");
    uv_poll_start(&removal->poll, UV_READABLE, on_end);
}
