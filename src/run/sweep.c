/* The last nets under a run: whatever still carries its cookie in the environment is killed, which
 * is needed where a keeper died without doing its work (killed with -9, out of memory); and a
 * keeper that nobody watches is found by the lock that it holds. */
#include "run/run.h"

#include "base/mem.h"
#include "base/proc_stat.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENVIRON_MAX (1u << 20)

static bool is_short(void)
{
    return errno == EMFILE || errno == ENFILE || errno == ENOMEM;
}

static int has_cookie(pid_t pid, const void *entry)
{
    AUTO_CLOSE int fd = proc_open_environ(pid);
    if (fd < 0)
        return is_short() ? -1 : 0;
    AUTO_FREE char *text = NULL;
    size_t len = 0, cap = 0;
    ssize_t n = 1;
    while (n > 0 && len < ENVIRON_MAX) {
        if (cap - len < 4096)
            text = mem_resize(text, cap += 16384);
        n = read(fd, text + len, cap - len - 1);
        len += n > 0 ? (size_t)n : 0;
    }
    text[len] = '\0';
    for (size_t i = 0; i < len; i += strlen(text + i) + 1)
        if (strcmp(text + i, entry) == 0)
            return 1;
    return 0;
}

/* 1, 0, or -1: it cannot be seen now. */
typedef int is_of(pid_t, const void *what);

static enum sweep_result sweep(is_of *of, const void *what, int signal)
{
    enum sweep_result swept = SWEEP_NONE;
    DIR *proc = opendir("/proc");
    if (!proc)
        return is_short() ? SWEEP_UNSEEN : SWEEP_NONE;
    for (struct dirent *d; (d = readdir(proc));) {
        pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);
        int has = pid > 0 && pid != getpid() ? of(pid, what) : 0;
        if (has == 0)
            continue;
        swept = has < 0 ? SWEEP_UNSEEN : swept == SWEEP_NONE ? SWEEP_SOME : swept;
        if (has > 0 && signal)
            kill(pid, signal);
    }
    closedir(proc);
    return swept;
}

enum sweep_result sweep_cookie(const char *cookie)
{
    AUTO_FREE char *entry = mem_printf("MUSTER_COOKIE=%s", cookie);
    return sweep(has_cookie, entry, SIGKILL);
}

struct lock {
    bool there;
    struct stat stat;
    char *removed; /* what /proc says of a descriptor of it when its name was removed */
};

static int has_lock(pid_t pid, const void *what)
{
    const struct lock *lock = what;
    struct stat theirs;
    char path[48], name[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, KEEPER_LOCK);
    if (lock->there && stat(path, &theirs) < 0)
        return is_short() ? -1 : 0;
    if (lock->there && theirs.st_dev == lock->stat.st_dev && theirs.st_ino == lock->stat.st_ino)
        return 1;
    ssize_t n = readlink(path, name, sizeof name - 1);
    if (n < 0)
        return is_short() ? -1 : 0;
    name[n] = '\0';
    return strcmp(name, lock->removed) == 0;
}

enum sweep_result sweep_lock(const char *dir, int signal)
{
    AUTO_FREE char *path = mem_printf("%s/" KEEPER_LOCK_NAME, dir);
    AUTO_FREE char *real = realpath(dir, NULL);
    AUTO_FREE char *removed = mem_printf("%s/" KEEPER_LOCK_NAME " (deleted)", real ? real : dir);
    struct lock lock = { .removed = removed };
    lock.there = stat(path, &lock.stat) == 0;
    return sweep(has_lock, &lock, signal);
}
