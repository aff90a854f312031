/* Which program makes the container of a root is told by a mark in the root's directory, that it is
 * ended by the same one: also by an agent that was started after the one that began it. What the
 * program says lies in there. */
#include "node/runtime/container.h"

#include "base/file.h"
#include "base/mem.h"
#include "node/runtime/command.h"
#include "node/runtime/docker.h"
#include "node/runtime/podman.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct program {
    const char *mark;
    int (*start)(const struct root *, const char *mark, pid_t *pid, char why[ROOT_WHY]);
    int (*remove)(const char *dir);
} programs[] = {
    [CONTAINER_PODMAN] = { "container", podman_start, podman_remove },
    [CONTAINER_DOCKER] = { "container.docker", docker_start, docker_remove },
};

static char *mark_of(const char *dir, const struct program *program)
{
    return mem_printf("%s/%s", dir, program->mark);
}

static bool is_of(const char *dir, const struct program *program)
{
    AUTO_FREE char *mark = mark_of(dir, program);
    return access(mark, F_OK) == 0;
}

bool container_is_of(const char *dir)
{
    bool found = false;
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        found = found || is_of(dir, &programs[i]);
    return found;
}

const char *container_holder(char path[CONTAINER_PATH])
{
    static const char gone[] = " (deleted)";
    ssize_t n = readlink("/proc/self/exe", path, CONTAINER_PATH - 1);
    size_t len = n > 0 ? (size_t)n : 0, tail = sizeof gone - 1;
    path[len] = '\0';
    if (len > tail && strcmp(path + len - tail, gone) == 0)
        path[len - tail] = '\0';
    return path;
}

/* ---- the start ---- */

bool container_is_bare(const struct container *container)
{
    return container->program == CONTAINER_DOCKER;
}

int container_start(const struct root *root, pid_t *pid, char why[ROOT_WHY])
{
    const struct program *program = &programs[root->container->program];
    AUTO_FREE char *mark = mark_of(root->dir, program);
    return program->start(root, mark, pid, why);
}

int container_fill(const struct root *root, char why[ROOT_WHY])
{
    const struct memory_dirs *dirs = root->memory;
    struct err err;
    for (size_t i = 0; dirs && i < dirs->n; i++)
        if (file_mkdirs(dirs->at[i], 0755, &err) != 0 || memory_mount(dirs->at[i], dirs) != 0)
            return command_fail(why, "no secrets can lie in %.60s of the image", dirs->at[i]);
    if (root->work_dir && file_mkdirs(root->work_dir, 0755, &err) != 0)
        return command_fail(why, "no working directory %.80s", root->work_dir);
    return 0;
}

/* ---- the end ---- */

void container_remove(const char *dir)
{
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        if (is_of(dir, &programs[i]) && programs[i].remove(dir) == 0) {
            AUTO_FREE char *mark = mark_of(dir, &programs[i]);
            (void)unlink(mark);
        }
}

void container_sweep(const char *dirs)
{
    DIR *list = opendir(dirs);
    for (const struct dirent *one; list && (one = readdir(list));) {
        AUTO_FREE char *dir = mem_printf("%s/%s", dirs, one->d_name);
        if (one->d_name[0] != '.')
            container_remove(dir);
    }
    if (list)
        closedir(list);
}

/* ---- the one that waits ---- */

static int tell(const char *path, int number)
{
    char text[16];
    int n = snprintf(text, sizeof text, "%d\n", number);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, (size_t)n) == n ? 0 : -1;
}

int container_hold(const char *ready)
{
    int number;
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    if (signal(SIGCHLD, SIG_IGN) == SIG_ERR || sigprocmask(SIG_BLOCK, &end, NULL) != 0)
        return 1;
    if (ready && geteuid() != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        (void)tell(ready, -errno);
        return 1;
    }
    if (ready && tell(ready, (int)getpid()) != 0)
        return 1;
    return sigwait(&end, &number) == 0 ? 0 : 1;
}
