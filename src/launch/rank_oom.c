/* Where the kernel counts out-of-memory kills. A rank runs in the launcher's cgroup, so the
 * group's own count (v2 memory.events, v1 memory.oom_control) is the right one; inside a container
 * the path of /proc/self/cgroup may not be visible, then the mount's root stands for it. */
#include "launch/rank_oom.h"

#include "base/mem.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The number after "oom_kill " at the start of a line. */
static bool read_count(const char *path, uint64_t *out)
{
    char text[8192];
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t len = 0;
    for (ssize_t n; len < sizeof text - 1; len += (size_t)n)
        if ((n = read(fd, text + len, sizeof text - 1 - len)) <= 0)
            break;
    text[len] = '\0';
    const char *at = strncmp(text, "oom_kill ", 9) == 0 ? text : strstr(text, "\noom_kill ");
    if (!at)
        return false;
    *out = strtoull(at + strcspn(at, " "), NULL, 10);
    return true;
}

static bool of_group(const char *mount, const char *group, const char *file, uint64_t *out)
{
    char path[1024];
    snprintf(path, sizeof path, "%s%s/%s", mount, group, file);
    if (read_count(path, out))
        return true;
    snprintf(path, sizeof path, "%s/%s", mount, file);
    return read_count(path, out);
}

/* One line of /proc/self/cgroup: "4:memory:/a/b" or "0::/a/b". */
static bool of_line(char *line, uint64_t *out)
{
    char *names = strchr(line, ':');
    char *group = names ? strchr(names + 1, ':') : NULL;
    if (!group)
        return false;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (strcmp(group, "/") == 0)
        *group = '\0';
    if (strcmp(names + 1, "memory") == 0)
        return of_group("/sys/fs/cgroup/memory", group, "memory.oom_control", out);
    return names[1] == '\0' && of_group("/sys/fs/cgroup", group, "memory.events", out);
}

uint64_t rank_oom_kills(void)
{
    uint64_t count = 0;
    bool found = false;
    char line[768];
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = of_line(line, &count);
    if (file)
        (void)fclose(file);
    return found || read_count("/proc/vmstat", &count) ? count : 0;
}
