/* Reads /proc/PID, of a living thread where the main one has ended. The numbers of fields are those
 * of proc(5). A process that is gone meanwhile is an ordinary answer, not an error. */
#include "base/proc_stat.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum field {
    FIELD_STATE = 3,
    FIELD_PARENT = 4,
    FIELD_SESSION = 6,
    FIELD_THREADS = 20,
    FIELD_STARTED = 22,
    FIELD_MEMORY = 23,
};

static int open_of(pid_t pid, const char *what)
{
    char path[128];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Fields behind the state, all of them numbers. */
static bool read_numbers(const char *at, uint64_t values[FIELD_MEMORY + 1])
{
    for (int field = FIELD_STATE + 1; field <= FIELD_MEMORY; field++) {
        char *end;
        values[field] = (uint64_t)strtoll(at, &end, 10);
        if (end == at || *end != ' ')
            return false;
        at = end;
    }
    return true;
}

/* A file of one of its threads, of the first that still has memory; -1: none has. */
static int open_of_thread(pid_t pid, const char *what)
{
    char path[96], size[1];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    int found = -1;
    for (const struct dirent *entry; dir && found < 0 && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "task/%.20s/statm", entry->d_name);
        AUTO_CLOSE int statm = open_of(pid, path);
        snprintf(path, sizeof path, "task/%.20s/%s", entry->d_name, what);
        if (statm >= 0 && read(statm, size, 1) == 1 && size[0] != '0')
            found = open_of(pid, path);
    }
    if (dir)
        closedir(dir);
    return found;
}

static bool a_thread_has_memory(pid_t pid)
{
    AUTO_CLOSE int fd = open_of_thread(pid, "statm");
    return fd >= 0;
}

bool proc_stat_read(pid_t pid, struct proc_stat *out)
{
    char text[1024];
    uint64_t values[FIELD_MEMORY + 1];
    AUTO_CLOSE int fd = open_of(pid, "stat");
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *at = strrchr(text, ')'); /* the name in brackets may hold anything */
    if (!at || at[1] != ' ' || !at[2] || !read_numbers(at + 3, values))
        return false;
    char state = at[2];
    *out = (struct proc_stat){
        .parent = (pid_t)values[FIELD_PARENT],
        .session = (pid_t)values[FIELD_SESSION],
        .started = values[FIELD_STARTED],
        .ended = state == 'X' || (state == 'Z' && values[FIELD_THREADS] <= 1),
    };
    out->leaving = !out->ended && values[FIELD_MEMORY] == 0 && !a_thread_has_memory(pid);
    return true;
}

/* Of a main thread that has ended a kernel opens an empty one, or says that there is none. */
int proc_open_environ(pid_t pid)
{
    char byte;
    int fd = open_of(pid, "environ"), why = errno;
    if (fd >= 0 ? pread(fd, &byte, 1, 0) > 0 : why != ESRCH)
        return fd;
    int of_thread = open_of_thread(pid, "environ");
    if (of_thread < 0) {
        errno = why;
        return fd;
    }
    if (fd >= 0)
        (void)close(fd);
    return of_thread;
}
