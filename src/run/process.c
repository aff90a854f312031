/* Of which run a process of this machine is: by its ancestors, of whom a keeper is one (it adopts
 * what loses its parent). Numbers of processes are given again, so an ancestor younger than its
 * child is not believed. What is below no keeper and yet in a control group named after a run is
 * that of a keeper that was killed, or pretends: anybody may name groups of their own. It is
 * nobody's. */
#include "run/run.h"

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/proc_stat.h"

#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 128
#define TRIES     8
#define TEXT_MAX  (16u << 10)

static char *read_of(pid_t pid, const char *what)
{
    char path[64];
    char *text = NULL;
    size_t len;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    return file_read(path, TEXT_MAX, &text, &len, NULL) < 0 ? NULL : text;
}

bool process_look(pid_t pid, struct process *out)
{
    struct proc_stat stat;
    if (!proc_stat_read(pid, &stat))
        return false;
    *out = (struct process){ .pid = pid, .parent = stat.parent, .started = stat.started };
    return true;
}

/* ---- control groups ---- */

static bool is_of_run(const struct string_map *runs, const char *name)
{
    size_t cursor = 0;
    const char *key;
    void *value;
    while (string_map_next(runs, &cursor, &key, &value)) {
        const struct run *run = value;
        size_t len = strlen(run->cookie);
        if (strncmp(name, run->cookie, len) == 0 && name[len] == '.')
            return true;
    }
    return false;
}

static bool in_cgroup(const struct string_map *runs, pid_t pid)
{
    static const char mark[] = "/muster-";
    AUTO_FREE char *text = read_of(pid, "cgroup");
    bool found = false;
    for (const char *at = text; at && !found && (at = strstr(at, mark));)
        found = is_of_run(runs, at += sizeof mark - 1);
    return found;
}

/* ---- ancestors ---- */

/* The process and its ancestors, the nearest first; 0: one of them ended meanwhile. */
static size_t read_ancestors(const struct process *first, pid_t line[DEPTH_MAX])
{
    struct process child = *first, parent;
    size_t n = 0;
    for (line[n++] = child.pid; child.parent > 1 && n < DEPTH_MAX; child = parent) {
        if (!process_look(child.parent, &parent) || parent.started > child.started)
            return 0;
        line[n++] = parent.pid;
    }
    return n;
}

static const struct run *by_ancestors(const struct string_map *runs, const pid_t *line, size_t n)
{
    size_t cursor = 0, nearest = n;
    const char *key;
    void *value;
    const struct run *found = NULL;
    while (string_map_next(runs, &cursor, &key, &value)) {
        const struct run *run = value;
        for (size_t i = 0; i < nearest && run->pid && !run->ending; i++)
            if (line[i] == run->pid) {
                nearest = i;
                found = run;
            }
    }
    return found;
}

int process_run(const struct string_map *runs, pid_t pid, const struct run **out)
{
    pid_t line[DEPTH_MAX];
    struct process first;
    *out = NULL;
    for (int i = 0; i < TRIES; i++) {
        if (!process_look(pid, &first))
            return -1;
        struct process again;
        size_t n = read_ancestors(&first, line);
        *out = n ? by_ancestors(runs, line, n) : NULL;
        bool named = n && !*out && in_cgroup(runs, pid);
        if (n && process_look(pid, &again) && again.started == first.started &&
            again.parent == first.parent)
            return *out ? 1 : named ? -1 : 0;
    }
    return -1;
}
