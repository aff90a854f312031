/* Walks of /proc for the launcher and its guard. Everything is a snapshot: callers repeat until
 * nothing is left. The environment of a process is matched as a stream, so that its size does not
 * matter and nothing is allocated (the guard works when memory is gone). */
#include "launch/stray_process.h"

#include "base/mem.h"
#include "base/proc_stat.h"
#include "base/scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK GUARD_COOKIE "="

/* ---- the mark ---- */

enum match_part { IN_NAME, IN_COOKIE, PASS_COOKIE, PASS_ENTRY };
struct match {
    enum match_part part;
    size_t got;
};

/* One byte further; true when the cookie was complete there. */
static bool match_step(struct match *match, const char *cookie, size_t len, char c)
{
    bool whole = match->part == IN_COOKIE && match->got == len && (c == ':' || c == '\0');
    if (c == '\0') {
        *match = (struct match){ .part = IN_NAME };
    } else if (match->part == IN_NAME) {
        if (c != MARK[match->got])
            match->part = PASS_ENTRY;
        else if (++match->got == strlen(MARK))
            *match = (struct match){ .part = IN_COOKIE };
    } else if (c == ':' && match->part != PASS_ENTRY) {
        *match = (struct match){ .part = IN_COOKIE };
    } else if (match->part == IN_COOKIE) {
        if (match->got == len || c != cookie[match->got])
            match->part = PASS_COOKIE;
        else
            match->got++;
    }
    return whole;
}

enum stray_process_mark leftover_mark(pid_t pid, const char *cookie)
{
    char text[4096];
    AUTO_CLOSE int fd = proc_open_environ(pid);
    if (fd < 0)
        return STRAY_NOTHING_TO_SEE;
    struct match match = { .part = IN_NAME };
    size_t len = strlen(cookie), bytes = 0;
    for (ssize_t n; (n = read(fd, text, sizeof text)) > 0; bytes += (size_t)n)
        for (ssize_t i = 0; i < n; i++)
            if (match_step(&match, cookie, len, text[i]))
                return STRAY_OURS;
    if (match_step(&match, cookie, len, '\0')) /* a last entry without its end */
        return STRAY_OURS;
    return bytes > 0 ? STRAY_STRANGER : STRAY_NOTHING_TO_SEE;
}

bool stray_carries(pid_t pid, const char *cookie)
{
    return leftover_mark(pid, cookie) == STRAY_OURS;
}

/* ---- children ---- */

static size_t add_child(struct stray_child *out, size_t n, pid_t pid, bool any_parent)
{
    struct proc_stat stat;
    if (n == STRAY_CHILDREN_MAX || !proc_stat_read(pid, &stat) ||
        (!any_parent && stat.parent != getpid()))
        return n;
    out[n] = (struct stray_child){
        .pid = pid, .session = stat.session, .ended = stat.ended, .leaving = stat.leaving
    };
    return n + 1;
}

static pid_t next_number(DIR *dir)
{
    for (const struct dirent *entry; (entry = readdir(dir));) {
        uint64_t number;
        if (scan_u64(entry->d_name, 1, INT32_MAX, &number))
            return (pid_t)number;
    }
    return 0;
}

/* For kernels that keep no list of children. */
static size_t children_by_scan(struct stray_child *out)
{
    size_t n = 0;
    DIR *dir = opendir("/proc");
    if (!dir)
        return 0;
    for (pid_t pid; (pid = next_number(dir)) != 0;)
        n = add_child(out, n, pid, false);
    closedir(dir);
    return n;
}

static size_t children_of_thread(pid_t thread, struct stray_child *out, size_t n)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)thread);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return n;
    pid_t number = 0;
    for (ssize_t got; (got = read(fd, text, sizeof text)) > 0;)
        for (ssize_t i = 0; i < got; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                number = number * 10 + (text[i] - '0');
            } else if (number > 0) {
                n = add_child(out, n, number, true);
                number = 0;
            }
        }
    return n;
}

size_t stray_children(struct stray_child out[STRAY_CHILDREN_MAX])
{
    if (access("/proc/thread-self/children", R_OK) != 0)
        return children_by_scan(out);
    size_t n = 0;
    DIR *dir = opendir("/proc/self/task");
    if (!dir)
        return 0;
    for (pid_t thread; (thread = next_number(dir)) != 0;)
        n = children_of_thread(thread, out, n);
    closedir(dir);
    return n;
}

/* ---- everyone ---- */

void stray_each(const char *cookie, void (*each)(void *arg, pid_t), void *arg)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return;
    for (pid_t pid; (pid = next_number(dir)) != 0;)
        if (stray_carries(pid, cookie))
            each(arg, pid);
    closedir(dir);
}
