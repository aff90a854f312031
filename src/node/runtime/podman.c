/* A store of its own for each container: nothing of the account's own is touched, and all of it
 * goes with the task's directory. */
#include "node/runtime/podman.h"

#include "base/file.h"
#include "base/mem.h"
#include "node/runtime/command.h"
#include "node/runtime/holder.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NAME    "task" /* of its container, in a store of its own */
#define STORAGE "CONTAINERS_STORAGE_CONF"
#define CONF    "storage.conf"

struct starting {
    const struct root *root;
    struct command command;
    char *why;
};

static char *place_of(const char *dir, const char *name)
{
    return mem_printf("%s/" PODMAN "/%s", dir, name);
}

bool podman_needs_runc(const char *cgroups)
{
    struct err err;
    AUTO_FREE char *path = mem_printf("%s/unified/cgroup.controllers", cgroups), *text = NULL;
    size_t len = 0;
    return file_read(path, 4096, &text, &len, &err) == 0 && strspn(text, " \n") < len;
}

static void add_program(struct command *command, const char *dir)
{
    static const char *const fixed[] = { "--cgroup-manager", "cgroupfs", "--events-backend",
                                         "none" };
    if (podman_needs_runc(PODMAN_CGROUPS))
        command_pair(command, "--runtime", mem_strdup("runc"));
    command_pair(command, "--tmpdir", place_of(dir, "tmp"));
    command_add_all(command, fixed, ARRAY_LEN(fixed));
}

/* By flags no path may be long. No image is ever in it, so it needs no overlay of its own. */
static int write_storage(const char *dir, const char *conf)
{
    struct err err;
    AUTO_FREE char *text = mem_printf("[storage]\ndriver = 'vfs'\n"
                                      "graphroot = '%s/" PODMAN "/root'\n"
                                      "rootless_storage_path = '%s/" PODMAN "/root'\n"
                                      "runroot = '%s/" PODMAN "/run'\n",
                                      dir, dir, dir);
    return file_replace(conf, text, strlen(text), 0600, &err);
}

static int run(const char *dir, struct command *command, int said)
{
    struct err err;
    AUTO_FREE char *runtime_dir = place_of(dir, "xdg"), *conf = place_of(dir, CONF);
    const struct command_variable more[] = { { "XDG_RUNTIME_DIR", runtime_dir },
                                             { STORAGE, conf } };
    if (file_mkdirs(runtime_dir, 0700, &err) != 0 || write_storage(dir, conf) != 0)
        return -1;
    return command_run(command, more, ARRAY_LEN(more), said);
}

/* ---- the start ---- */

/* A colon ends a path there, and there is no other way to say one. */
static int check_path(const char *path, char *why)
{
    if (!strchr(path, ':'))
        return 0;
    snprintf(why, ROOT_WHY, PODMAN " cannot show a path with a colon: %.80s", path);
    return -1;
}

static int add_bind(struct starting *s, const struct root_bind *bind, const char *more)
{
    int may = command_may_show(PODMAN, bind, s->why);
    if (may <= 0)
        return may;
    if (check_path(bind->at, s->why) != 0 || check_path(bind->from, s->why) != 0)
        return -1;
    command_pair(
        &s->command, "--volume",
        mem_printf("%s:%s:rbind,%s%s", bind->from, bind->at, bind->read_only ? "ro" : "rw", more));
    return 0;
}

static int add_binds(struct starting *s)
{
    static const struct root_bind resolver = {
        .from = "/etc/resolv.conf", .at = "/etc/resolv.conf", .read_only = true, .may_miss = true
    };
    const struct root *root = s->root;
    const struct container *container = root->container;
    const struct root_bind holder = { .from = container->holder,
                                      .at = CONTAINER_HOLDER_AT,
                                      .read_only = true };
    int rc = add_bind(s, &resolver, "");
    if (rc == 0)
        rc = add_bind(s, &holder, "");
    for (size_t i = 0; rc == 0 && i < container->n_binds; i++) {
        AUTO_FREE char *path = mem_printf("/dev/%s", container->binds[i]);
        const struct root_bind device = { .from = path, .at = path, .may_miss = true };
        rc = add_bind(s, &device, ",dev");
    }
    for (size_t i = 0; rc == 0 && i < root->n_binds; i++)
        rc = add_bind(s, &root->binds[i], "");
    return rc;
}

static uint64_t usual_shm(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages / 2 * (uint64_t)size : 0;
}

static int add_words(struct starting *s, const char *pid_file)
{
    static const char *const fixed[] = { "run",        "--detach", "--log-driver", "none",
                                         "--network",  "host",     "--pid",        "host",
                                         "--uts",      "host",     "--ipc",        "private",
                                         "--cap-drop", "all",      "--no-hosts",   "--security-opt",
                                         "unmask=ALL" };
    const struct root *root = s->root;
    struct command *command = &s->command;
    add_program(command, root->dir);
    command_add_all(command, fixed, ARRAY_LEN(fixed));
    command_pair(command, "--name", mem_strdup(NAME));
    command_pair(command, "--pidfile", mem_strdup(pid_file));
    command_pair(command, "--shm-size",
                 mem_printf("%" PRIu64, root->shm ? root->shm : usual_shm()));
    command_limit(command, "nofile", RLIMIT_NOFILE);
    command_limit(command, "nproc", RLIMIT_NPROC);
    if (check_path(root->tree, s->why) != 0 || add_binds(s) != 0)
        return -1;
    command_pair(command, "--rootfs", mem_printf("%s:O", root->tree));
    command_pair(command, CONTAINER_HOLDER_AT, mem_strdup("hold"));
    return 0;
}

/* The last thing that it said, as one line. */
static void take_said(int said, char *why)
{
    AUTO_FREE char *text = command_said(said);
    const char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    snprintf(why, ROOT_WHY, PODMAN ": %.140s", *line ? line : "it ended without a word");
}

static int start(struct starting *s, const char *mark, pid_t *pid)
{
    AUTO_FREE char *pid_file = mem_printf("%s/pid", s->root->dir);
    if (add_words(s, pid_file) != 0)
        return -1;
    AUTO_CLOSE int said = command_open_said(mark, s->why);
    if (said < 0)
        return -1;
    if (run(s->root->dir, &s->command, said) == 0 && command_read_pid(pid_file, pid) == 0)
        return 0;
    take_said(said, s->why);
    return -1;
}

int podman_start(const struct root *root, const char *mark, pid_t *pid, char why[ROOT_WHY])
{
    size_t n = root->n_binds + root->container->n_binds + 2;
    struct starting s = { .root = root, .command = command_new(PODMAN, n), .why = why };
    int rc = start(&s, mark, pid);
    command_free(&s.command);
    return rc;
}

/* ---- the end ---- */

/* It holds the user namespace of a plain user's. */
static void end_pause(const char *dir)
{
    AUTO_FREE char *path = place_of(dir, "tmp/pause.pid"), *conf = place_of(dir, CONF);
    AUTO_FREE char *entry = mem_printf(STORAGE "=%s", conf);
    pid_t pid;
    if (command_read_pid(path, &pid) == 0 && command_pid_has(pid, entry))
        (void)kill(pid, SIGKILL);
}

int podman_remove(const char *dir)
{
    static const char *const fixed[] = { "rm", "--force", "--ignore", "--time", "0", NAME };
    struct command command = command_new(PODMAN, 0);
    add_program(&command, dir);
    command_add_all(&command, fixed, ARRAY_LEN(fixed));
    int rc = run(dir, &command, -1) == 0 ? 0 : -1;
    command_free(&command);
    end_pause(dir);
    return rc;
}
