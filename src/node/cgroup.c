/* Control groups. The place for ours is found from this process's own group (/proc/self/cgroup) and
 * the mount table: below our own group, or, for v2 where a group with processes may not hand
 * controllers down, beside it. Everything is best effort: what cannot be made is said by
 * cgroup_has(), and the caller watches instead. */
#include "node/cgroup.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "node/device_program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PERIOD_US      100000u
#define QUOTA_LEAST_US 1000u /* the kernel's */
#define SMALL_FILE     4096u

static const char *const part_names[CGROUP_PARTS] = {
    [CGROUP_MEMORY] = "memory",
    [CGROUP_CPU] = "cpu",
    [CGROUP_PIDS] = "pids",
    [CGROUP_DEVICES] = "devices",
};

/* ---- small files ---- */

static bool write_file(const char *dir, const char *name, const char *text)
{
    char path[CGROUP_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool read_file(const char *dir, const char *name, char out[SMALL_FILE])
{
    char path[CGROUP_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, SMALL_FILE - 1);
    out[n < 0 ? 0 : n] = '\0';
    return n >= 0;
}

/* The number after a key at the start of a line ("oom_kill 3"), or of the whole file for key "". */
static uint64_t read_number(const char *dir, const char *name, const char *key)
{
    char text[SMALL_FILE];
    if (!read_file(dir, name, text))
        return 0;
    size_t len = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        uint64_t number;
        const char *value = line + len;
        if (strncmp(line, key, len) == 0 && proc_number(&value, &number))
            return number;
    }
    return 0;
}

static bool has_word(const char *list, const char *word, char separator)
{
    size_t len = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += len) {
        bool front = at == list || at[-1] == separator;
        bool back = at[len] == '\0' || at[len] == separator || at[len] == '\n';
        if (front && back)
            return true;
    }
    return false;
}

/* ---- finding the place ---- */

/* This process's path in the hierarchy of a controller ("" asks for v2). */
static bool own_path(const char *controller, char out[CGROUP_PATH])
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return false;
    char line[1024];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        char *names = strchr(line, ':');
        char *path = names ? strchr(names + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        names++;
        found = *controller ? has_word(names, controller, ',') : *names == '\0';
        if (found)
            snprintf(out, CGROUP_PATH, "%s", strcmp(path, "/") == 0 ? "" : path);
    }
    fclose(file);
    return found;
}

/* The directory of this process's group in the hierarchy mounted with a controller ("": v2). */
static bool own_dir(const char *controller, char out[CGROUP_PATH])
{
    char path[CGROUP_PATH];
    if (!own_path(controller, path))
        return false;
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    if (!mounts)
        return false;
    struct mntent entry;
    char text[1024];
    bool found = false;
    while (!found && getmntent_r(mounts, &entry, text, sizeof text)) {
        const char *type = *controller ? "cgroup" : "cgroup2";
        if (strcmp(entry.mnt_type, type) != 0 ||
            (*controller && !has_word(entry.mnt_opts, controller, ',')))
            continue;
        int n = snprintf(out, CGROUP_PATH, "%s%s", entry.mnt_dir, path);
        /* Inside a container the path may be the host's while the mount is our own group. */
        if (n < CGROUP_PATH && !file_is_dir(out))
            n = snprintf(out, CGROUP_PATH, "%s", entry.mnt_dir);
        found = n < CGROUP_PATH && file_is_dir(out);
    }
    endmntent(mounts);
    return found;
}

static bool hands_down_all(const char *dir)
{
    char text[SMALL_FILE];
    if (!read_file(dir, "cgroup.subtree_control", text))
        return false;
    for (size_t i = 0; i < CGROUP_DEVICES; i++)
        if (!has_word(text, part_names[i], ' '))
            return false;
    return true;
}

static bool find_unified(struct cgroup_site *site)
{
    char dir[CGROUP_PATH], text[SMALL_FILE];
    if (!own_dir("", dir) || !read_file(dir, "cgroup.controllers", text) ||
        !has_word(text, "memory", ' '))
        return false;
    for (int level = 0; level < 2; level++) {
        if (access(dir, W_OK) == 0) {
            (void)write_file(dir, "cgroup.subtree_control", "+memory +cpu +pids");
            if (hands_down_all(dir)) {
                for (size_t i = 0; i < CGROUP_PARTS; i++)
                    memcpy(site->base[i], dir, sizeof dir);
                site->unified = site->device_program = true;
                return true;
            }
        }
        char *slash = strrchr(dir, '/');
        if (!slash || slash == dir)
            break;
        *slash = '\0';
    }
    return false;
}

/* The hierarchy of version 2 is there without its controllers too, and takes programs. */
static void find_for_devices(struct cgroup_site *site)
{
    char dir[CGROUP_PATH];
    if (site->base[CGROUP_DEVICES][0] || !own_dir("", dir) || access(dir, W_OK) != 0)
        return;
    memcpy(site->base[CGROUP_DEVICES], dir, sizeof dir);
    site->device_program = true;
}

void cgroup_find(struct cgroup_site *site)
{
    memset(site, 0, sizeof *site);
    if (find_unified(site))
        return;
    for (size_t i = 0; i < CGROUP_PARTS; i++) {
        char dir[CGROUP_PATH];
        if (own_dir(part_names[i], dir) && access(dir, W_OK) == 0)
            memcpy(site->base[i], dir, sizeof dir);
    }
    find_for_devices(site);
}

/* ---- one group ---- */

/* Terminals, and a ptmx of its own (node/devices.c makes it), are devices of every task. */
static size_t rules_of(const struct devices *devices, struct device_rule out[DEVICE_RULES_MAX])
{
    struct device at[DEVICE_RULES_MAX - 3];
    size_t n = 0, listed = devices_list(devices, at, ARRAY_LEN(at));
    out[n++] = (struct device_rule){
        .type = 'c', .major = 5, .minor = 2, .access = DEVICE_USE | DEVICE_MAKE
    };
    out[n++] =
        (struct device_rule){ .type = 'c', .major = 136, .any_minor = true, .access = DEVICE_USE };
    out[n++] = (struct device_rule){ .type = 'c', .major = 5, .access = DEVICE_USE };
    for (size_t i = 0; i < listed; i++)
        out[n++] = (struct device_rule){
            .type = at[i].type, .major = at[i].major, .minor = at[i].minor, .access = DEVICE_USE
        };
    return n;
}

static bool allow(const char *dir, const struct device_rule *rule)
{
    char minor[16] = "*", text[64];
    if (!rule->any_minor)
        snprintf(minor, sizeof minor, "%u", rule->minor);
    snprintf(text, sizeof text, "%c %u:%s rw%s", rule->type, rule->major, minor,
             rule->access & DEVICE_MAKE ? "m" : "");
    return write_file(dir, "devices.allow", text);
}

static bool set_devices(const struct cgroup *group, const struct devices *devices)
{
    const char *dir = group->dir[CGROUP_DEVICES];
    struct device_rule rules[DEVICE_RULES_MAX];
    size_t n = rules_of(devices, rules);
    if (group->device_program)
        return device_program_attach(dir, rules, n) == 0;
    bool good = write_file(dir, "devices.deny", "a");
    for (size_t i = 0; i < n && good; i++)
        good = allow(dir, &rules[i]);
    return good;
}

static bool set_limit(const struct cgroup *group, enum cgroup_part part,
                      const struct cgroup_limits *limits)
{
    char text[64];
    const char *dir = group->dir[part];
    uint64_t quota = limits->cpu_milli * PERIOD_US / 1000u;
    if (quota < QUOTA_LEAST_US)
        quota = QUOTA_LEAST_US;
    switch (part) {
    case CGROUP_MEMORY:
        snprintf(text, sizeof text, "%" PRIu64, limits->memory);
        if (!group->unified)
            return write_file(dir, "memory.limit_in_bytes", text);
        (void)write_file(dir, "memory.swap.max", "0");
        return write_file(dir, "memory.max", text);
    case CGROUP_CPU:
        if (!group->unified) {
            snprintf(text, sizeof text, "%" PRIu64, quota);
            return write_file(dir, "cpu.cfs_quota_us", text);
        }
        snprintf(text, sizeof text, "%" PRIu64 " %u", quota, PERIOD_US);
        return write_file(dir, "cpu.max", text);
    case CGROUP_PIDS:
        snprintf(text, sizeof text, "%" PRIu32, limits->pids);
        return write_file(dir, "pids.max", text);
    case CGROUP_DEVICES: return set_devices(group, limits->devices);
    case CGROUP_PARTS: break;
    }
    return false;
}

static void make_part(const struct cgroup_site *site, const char *id, enum cgroup_part part,
                      const struct cgroup_limits *limits, struct cgroup *out)
{
    char dir[2 * CGROUP_PATH];
    int n = snprintf(dir, sizeof dir, "%s/muster-%s", site->base[part], id);
    if (*site->base[part] == '\0' || n >= CGROUP_PATH)
        return;
    if (mkdir(dir, 0755) != 0 && errno != EEXIST)
        return;
    memcpy(out->dir[part], dir, (size_t)n + 1);
    if (!set_limit(out, part, limits)) {
        if (!out->unified)
            (void)rmdir(dir);
        out->dir[part][0] = '\0';
    }
}

void cgroup_make(const struct cgroup_site *site, const char *id, const struct cgroup_limits *limits,
                 struct cgroup *out)
{
    memset(out, 0, sizeof *out);
    out->unified = site->unified;
    out->device_program = site->device_program;
    if (limits->memory > 0)
        make_part(site, id, CGROUP_MEMORY, limits, out);
    if (limits->cpu_milli > 0)
        make_part(site, id, CGROUP_CPU, limits, out);
    if (limits->pids > 0)
        make_part(site, id, CGROUP_PIDS, limits, out);
    if (limits->devices)
        make_part(site, id, CGROUP_DEVICES, limits, out);
}

bool cgroup_has(const struct cgroup *group, enum cgroup_part part)
{
    return group->dir[part][0] != '\0';
}

/* The first part that was made: any of them lists the members. */
static const char *any_dir(const struct cgroup *group)
{
    for (size_t i = 0; i < CGROUP_PARTS; i++)
        if (group->dir[i][0])
            return group->dir[i];
    return NULL;
}

void cgroup_join(const struct cgroup *group)
{
    for (size_t i = 0; i < CGROUP_PARTS; i++)
        if (group->dir[i][0] && !(group->unified && group->dir[i] != any_dir(group)))
            (void)write_file(group->dir[i], "cgroup.procs", "0");
}

static void members_of(const char *dir, struct proc_list *out)
{
    char path[CGROUP_PATH + 64];
    snprintf(path, sizeof path, "%s/cgroup.procs", dir);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    char line[32];
    while (out->n < PROC_LIST_MAX && fgets(line, sizeof line, file)) {
        const char *at = line;
        uint64_t pid;
        if (proc_number(&at, &pid) && pid > 0)
            out->at[out->n++] = (pid_t)pid;
    }
    fclose(file);
}

void cgroup_members(const struct cgroup *group, struct proc_list *out)
{
    const char *dir = any_dir(group);
    if (dir)
        members_of(dir, out);
}

static void kill_in(const char *dir)
{
    if (write_file(dir, "cgroup.kill", "1"))
        return;
    struct proc_list members = { .n = 0 };
    members_of(dir, &members);
    for (size_t i = 0; i < members.n; i++)
        (void)kill(members.at[i], SIGKILL);
}

void cgroup_kill(const struct cgroup *group)
{
    const char *dir = any_dir(group);
    if (dir)
        kill_in(dir);
}

void cgroup_remove(struct cgroup *group)
{
    for (size_t i = 0; i < CGROUP_PARTS; i++) {
        if (group->dir[i][0])
            (void)rmdir(group->dir[i]);
        group->dir[i][0] = '\0';
    }
}

uint64_t cgroup_memory_peak(const struct cgroup *group)
{
    if (!cgroup_has(group, CGROUP_MEMORY))
        return 0;
    return read_number(group->dir[CGROUP_MEMORY],
                       group->unified ? "memory.peak" : "memory.max_usage_in_bytes", "");
}

uint64_t cgroup_oom_kills(const struct cgroup *group)
{
    if (!cgroup_has(group, CGROUP_MEMORY))
        return 0;
    return read_number(group->dir[CGROUP_MEMORY],
                       group->unified ? "memory.events" : "memory.oom_control", "oom_kill ");
}

size_t cgroup_sweep(const struct cgroup_site *site, const char *prefix)
{
    size_t left = 0;
    AUTO_FREE char *start = mem_printf("muster-%s", prefix);
    for (size_t i = 0; i < CGROUP_PARTS; i++) {
        DIR *dir = site->base[i][0] ? opendir(site->base[i]) : NULL;
        if (!dir)
            continue;
        for (const struct dirent *entry; (entry = readdir(dir));) {
            char path[2 * CGROUP_PATH];
            int n = snprintf(path, sizeof path, "%s/%s", site->base[i], entry->d_name);
            if (strncmp(entry->d_name, start, strlen(start)) != 0 || n >= CGROUP_PATH)
                continue;
            kill_in(path);
            left += rmdir(path) != 0;
        }
        closedir(dir);
    }
    return left;
}

uint64_t cgroup_machine_oom_kills(void)
{
    AUTO_BUF struct buf text = BUF_INIT(1u << 16);
    AUTO_CLOSE int fd = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
    char piece[SMALL_FILE];
    for (ssize_t n; fd >= 0 && (n = read(fd, piece, sizeof piece)) > 0;)
        buf_add(&text, piece, (size_t)n);
    const char *line = strstr(buf_str(&text), "\noom_kill ");
    uint64_t number = 0;
    if (line)
        line += strlen("\noom_kill");
    return line && proc_number(&line, &number) ? number : 0;
}
