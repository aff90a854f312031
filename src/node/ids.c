/* The first range of an account is taken, as newuidmap takes any: number 0 is the account itself,
 * 1 and on are the range. A map is written once for a namespace, by somebody with rights outside of
 * it (user_namespaces(7)); without such help a process may only map itself, and has to give up
 * changing its groups. */
#include "node/ids.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "node/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_MOST (4u << 20)
#define MAP_SIZE  80
#define WORD_SIZE 16

/* ---- what the node's files say ---- */

/* The line's first field is that; *rest is what follows it. */
static bool is_of(const char *line, const char *name, const char **rest)
{
    size_t n = strlen(name);
    if (n == 0 || strncmp(line, name, n) != 0 || line[n] != ':')
        return false;
    *rest = line + n + 1;
    return true;
}

static void find_range(const char *path, const char *name, const char *number,
                       struct ids_range *out)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    uint64_t first, n;
    if (file_read(path, FILE_MOST, &text, &len, NULL) != 0)
        return;
    char *lines = text;
    for (char *line; (line = strsep(&lines, "\n"));) {
        const char *rest;
        if (!is_of(line, name, &rest) && !is_of(line, number, &rest))
            continue;
        const char *colon = strchr(rest, ':');
        if (!colon)
            continue;
        AUTO_FREE char *start = mem_strndup(rest, (size_t)(colon - rest));
        if (scan_u64(start, 1, UINT32_MAX - 1, &first) &&
            scan_u64(colon + 1, 1, UINT32_MAX - first, &n)) {
            *out = (struct ids_range){ .first = (uint32_t)first, .n = (uint32_t)n };
            return;
        }
    }
}

/* malloc'ed; "": it has none. */
static char *find_name(const char *number)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    if (file_read("/etc/passwd", FILE_MOST, &text, &len, NULL) != 0)
        return mem_strdup("");
    char *lines = text;
    for (char *line; (line = strsep(&lines, "\n"));) {
        const char *name = strsep(&line, ":"), *rest;
        (void)strsep(&line, ":");
        if (line && is_of(line, number, &rest))
            return mem_strdup(name);
    }
    const char *said = getenv("USER");
    return mem_strdup(said ? said : "");
}

struct ids ids_find(uid_t uid, const char *name)
{
    struct ids ids = { .users = { .n = 0 } };
    char number[WORD_SIZE];
    snprintf(number, sizeof number, "%u", uid);
    AUTO_FREE char *own = name ? mem_strdup(name) : find_name(number);
    find_range("/etc/subuid", own, number, &ids.users);
    find_range("/etc/subgid", own, number, &ids.groups);
    if (ids.users.n == 0 || ids.groups.n == 0)
        ids = (struct ids){ .users = { .n = 0 } };
    return ids;
}

/* ---- the writer ---- */

static bool write_text(const char *path, const char *text)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool write_map(pid_t pid, const char *file, unsigned own, const struct ids_range *range)
{
    char path[48], map[MAP_SIZE];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    snprintf(map, sizeof map, "0 %u 1\n1 %u %u\n", own, range->first, range->n);
    return write_text(path, map);
}

static bool run_mapper(const char *program, pid_t pid, unsigned own, const struct ids_range *range)
{
    char words[4][WORD_SIZE];
    const unsigned numbers[] = { (unsigned)pid, own, range->first, range->n };
    int status;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        snprintf(words[i], sizeof words[i], "%u", numbers[i]);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        (void)(dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0);
        execlp(program, program, words[0], "0", words[1], "1", "1", words[2], words[3],
               (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool give(pid_t pid, const struct ids *ids, uid_t uid, gid_t gid)
{
    if (geteuid() == 0)
        return write_map(pid, "uid_map", uid, &ids->users) &&
               write_map(pid, "gid_map", gid, &ids->groups);
    return run_mapper("newuidmap", pid, uid, &ids->users) &&
           run_mapper("newgidmap", pid, gid, &ids->groups);
}

void ids_writer_start(struct ids_writer *writer, const struct ids *ids, uid_t uid, gid_t gid)
{
    int pair[2];
    char go;
    pid_t of = getpid();
    *writer = (struct ids_writer){ .pid = 0, .go = -1 };
    if (ids->users.n == 0 || pipe2(pair, O_CLOEXEC) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[1]);
        _exit(read(pair[0], &go, 1) == 1 && give(of, ids, uid, gid) ? 0 : 1);
    }
    close(pair[0]);
    if (pid < 0)
        close(pair[1]);
    else
        *writer = (struct ids_writer){ .pid = pid, .go = pair[1] };
}

static void end_writer(struct ids_writer *writer, bool go)
{
    if (writer->pid <= 0)
        return;
    if (go)
        (void)!write(writer->go, "g", 1);
    close(writer->go);
    while (waitpid(writer->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    writer->pid = 0;
}

/* ---- the namespace ---- */

static bool is_empty(const char *path)
{
    char one;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, &one, 1) == 0;
}

/* What the helpers did not. proc: "/proc/..." of the process. */
static int give_one(const char *proc, uid_t user, gid_t group)
{
    char map[MAP_SIZE];
    AUTO_FREE char *users = mem_printf("%s/uid_map", proc),
                   *groups = mem_printf("%s/gid_map", proc);
    AUTO_FREE char *setgroups = mem_printf("%s/setgroups", proc);
    snprintf(map, sizeof map, "0 %u 1", user);
    if (is_empty(users) && !write_text(users, map))
        return -1;
    snprintf(map, sizeof map, "0 %u 1", group);
    if (!is_empty(groups))
        return 0;
    return write_text(setgroups, "deny") && write_text(groups, map) ? 0 : -1;
}

int ids_give(pid_t pid, const struct ids *ids)
{
    AUTO_FREE char *proc = mem_printf("/proc/%d", (int)pid);
    if (ids->users.n > 0)
        (void)give(pid, ids, geteuid(), getegid());
    return give_one(proc, geteuid(), getegid());
}

int ids_enter(struct ids_writer *writer, int flags)
{
    uid_t user = geteuid();
    gid_t group = getegid();
    /* Its own files below /proc are its own again, after a change of the account. */
    bool made = prctl(PR_SET_DUMPABLE, 1) == 0 && unshare(CLONE_NEWUSER | flags) == 0;
    int number = errno;
    end_writer(writer, made);
    errno = number;
    if (!made)
        return -1;
    return give_one("/proc/self", user, group);
}

static bool has_many(const char *path)
{
    char text[256];
    uint64_t inside, outside, n;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (len <= 0)
        return false;
    text[len] = '\0';
    const char *at = text, *next = strchr(text, '\n');
    return (proc_number(&at, &inside) && proc_number(&at, &outside) && proc_number(&at, &n) &&
            n > 1) ||
           (next && next[1]);
}

bool ids_has_many(void)
{
    return has_many("/proc/self/uid_map") && has_many("/proc/self/gid_map");
}
