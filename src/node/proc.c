/* Walks of /proc. Children come from the kernel's own list (/proc/PID/task/TID/children); kernels
 * built without it get a scan of every process's parent. Everything here is a snapshot: callers
 * repeat until nothing is left. */
#include "node/proc.h"

#include "base/mem.h"
#include "base/proc_stat.h"
#include "base/scan.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The whole of a small /proc file as text; -1 when it cannot be read. */
static ssize_t slurp(const char *path, char *out, size_t size)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, out, size - 1);
    if (n < 0)
        return -1;
    out[n] = '\0';
    return n;
}

bool proc_number(const char **text, uint64_t *out)
{
    char *end;
    const char *at = *text + strspn(*text, " \n");
    if (*at < '0' || *at > '9')
        return false;
    *out = strtoull(at, &end, 10);
    *text = end;
    return true;
}

uint64_t proc_pid_max(void)
{
    char text[32];
    uint64_t number;
    const char *at = text;
    bool read = slurp("/proc/sys/kernel/pid_max", text, sizeof text) > 0;
    return read && proc_number(&at, &number) ? number : 0;
}

uint32_t proc_pids_most(uint32_t wanted)
{
    uint64_t all = proc_pid_max();
    return all > 0 && wanted > all / 2 ? (uint32_t)(all / 2) : wanted;
}

bool proc_is_child(pid_t pid, pid_t parent)
{
    struct proc_stat stat;
    return proc_stat_read(pid, &stat) && stat.parent == parent;
}

uint64_t proc_start_time(pid_t pid)
{
    struct proc_stat stat;
    return proc_stat_read(pid, &stat) ? stat.started : 0;
}

static void add_live(pid_t pid, struct proc_list *out)
{
    struct proc_stat stat;
    if (out->n == PROC_LIST_MAX || !proc_stat_read(pid, &stat) || stat.ended)
        return;
    out->at[out->n++] = pid;
}

/* The next entry of a /proc directory that is a number; 0 at the end. */
static pid_t next_number(DIR *dir)
{
    for (const struct dirent *entry; (entry = readdir(dir));) {
        uint64_t number;
        if (scan_u64(entry->d_name, 1, INT32_MAX, &number))
            return (pid_t)number;
    }
    return 0;
}

static void scan_for_parent(pid_t parent, struct proc_list *out)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return;
    for (pid_t pid; (pid = next_number(dir)) != 0;) {
        struct proc_stat stat;
        if (proc_stat_read(pid, &stat) && stat.parent == parent)
            add_live(pid, out);
    }
    closedir(dir);
}

/* One thread's list. The kernel gives it in pieces when it is long. false: this kernel has no such
 * file. */
static bool thread_children(pid_t pid, pid_t thread, struct proc_list *out)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)thread);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno != ENOENT || access("/proc/self/task", R_OK) != 0 ||
               access("/proc/thread-self/children", R_OK) == 0;
    pid_t number = 0;
    for (ssize_t n; (n = read(fd, text, sizeof text)) > 0;)
        for (ssize_t i = 0; i < n; i++) {
            if (isdigit((unsigned char)text[i])) {
                number = number * 10 + (text[i] - '0');
            } else if (number > 0) {
                add_live(number, out);
                number = 0;
            }
        }
    return true;
}

void proc_children(pid_t parent, struct proc_list *out)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
    DIR *dir = opendir(path);
    if (!dir)
        return;
    bool listed = true;
    for (pid_t thread; listed && (thread = next_number(dir)) != 0;)
        listed = thread_children(parent, thread, out);
    closedir(dir);
    if (!listed)
        scan_for_parent(parent, out);
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

void proc_each_once(struct proc_list *list)
{
    size_t n = 0;
    qsort(list->at, list->n, sizeof list->at[0], by_pid);
    for (size_t i = 0; i < list->n; i++)
        if (n == 0 || list->at[n - 1] != list->at[i])
            list->at[n++] = list->at[i];
    list->n = n;
}

void proc_descendants(pid_t root, struct proc_list *out)
{
    size_t next = out->n;
    proc_children(root, out);
    for (; next < out->n; next++)
        proc_children(out->at[next], out);
}

bool proc_environ_has(pid_t pid, const char *entry)
{
    AUTO_CLOSE int fd = proc_open_environ(pid);
    if (fd < 0)
        return false;
    /* The entry may lie across two reads: match as a machine over the bytes. */
    size_t want = strlen(entry) + 1, got = 0;
    bool in_step = true;
    char text[4096];
    for (ssize_t n; (n = read(fd, text, sizeof text)) > 0;)
        for (ssize_t i = 0; i < n; i++) {
            in_step = in_step && text[i] == entry[got];
            if (in_step && ++got == want)
                return true;
            if (text[i] == '\0') {
                in_step = true;
                got = 0;
            }
        }
    return false;
}

bool proc_is_leaving(pid_t pid)
{
    struct proc_stat stat;
    return proc_stat_read(pid, &stat) && stat.leaving;
}

bool proc_catches(pid_t pid, int number)
{
    static const char label[] = "\nSigCgt:\t";
    char path[48], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0 || number < 1 || number > 64)
        return false;
    text[n] = '\0';
    const char *at = strstr(text, label);
    return at && (strtoull(at + sizeof label - 1, NULL, 16) >> (number - 1) & 1u);
}

uint64_t proc_memory(pid_t pid)
{
    char path[48], text[256];
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    uint64_t size, resident, shared;
    const char *at = text;
    if (slurp(path, text, sizeof text) <= 0 || !proc_number(&at, &size) ||
        !proc_number(&at, &resident) || !proc_number(&at, &shared) || resident < shared)
        return 0;
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}
