/* A file in the task's directory, made before podman is started, says that there may be one: what
 * podman said. All of podman lies beside it, a store for each task: removing the container of a
 * root leaves its layer behind (podman 4.3), and several that start wait for no lock of each other.
 *
 * podman starts daemons (conmon, and for a plain user one that holds its user namespace), which
 * lose their parent and become children of the keeper; they are in a session of their own and in no
 * group of the task, so that its end is not theirs. What podman says goes into a file: a pipe would
 * stay open in those. */
#include "node/runtime/container.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM      "podman"
#define NAME         "task" /* of its container, in a store of its own */
#define HOLDER_AT    "/run/.muster"
#define STORAGE      "CONTAINERS_STORAGE_CONF"
#define CONF         "storage.conf"
#define SAID_MOST    (64u << 10)
#define ENVIRON_MOST (4u << 20)
#define LIMIT        16384u /* of files and processes of the one that waits, which needs few */
#define FIXED        64u    /* words beside binds */

struct words { /* malloc'ed each */
    char **at;
    size_t n;
};

static void add(struct words *words, char *word)
{
    words->at[words->n++] = word;
}

static void add_pair(struct words *words, const char *option, char *value)
{
    add(words, mem_strdup(option));
    add(words, value);
}

static struct words words_new(size_t binds)
{
    return (struct words){ .at = mem_new((FIXED + 2 * binds) * sizeof(char *)) };
}

static void words_free(struct words *words)
{
    for (size_t i = 0; i < words->n; i++)
        free(words->at[i]);
    free(words->at);
}

/* ---- places ---- */

static char *place_of(const char *dir, const char *name)
{
    return mem_printf("%s/" PROGRAM "/%s", dir, name);
}

static char *mark_of(const char *dir)
{
    return mem_printf("%s/container", dir);
}

bool container_is_of(const char *dir)
{
    AUTO_FREE char *mark = mark_of(dir);
    return access(mark, F_OK) == 0;
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

/* ---- podman ---- */

static void add_program(struct words *words, const char *dir)
{
    static const char *const fixed[] = { "--cgroup-manager", "cgroupfs", "--events-backend",
                                         "none" };
    add(words, mem_strdup(PROGRAM));
    add_pair(words, "--tmpdir", place_of(dir, "tmp"));
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        add(words, mem_strdup(fixed[i]));
}

/* By flags no path may be long. No image is ever in it, so it needs no overlay of its own. */
static int write_storage(const char *dir, const char *conf)
{
    struct err err;
    AUTO_FREE char *text = mem_printf("[storage]\ndriver = 'vfs'\n"
                                      "graphroot = '%s/" PROGRAM "/root'\n"
                                      "rootless_storage_path = '%s/" PROGRAM "/root'\n"
                                      "runroot = '%s/" PROGRAM "/run'\n",
                                      dir, dir, dir);
    return file_replace(conf, text, strlen(text), 0600, &err);
}

static _Noreturn void become(char **argv, const char *runtime_dir, const char *conf, int said)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)setsid();
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(said < 0 ? null : said, STDERR_FILENO) < 0 ||
        setenv("XDG_RUNTIME_DIR", runtime_dir, 1) != 0 || setenv(STORAGE, conf, 1) != 0)
        _exit(127);
    execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "cannot be started: %s\n", strerror(errno));
    _exit(127);
}

/* Its status, as from waitpid(). said: what it says on stderr; -1: nobody reads it. */
static int run(const char *dir, struct words *words, int said)
{
    int status = -1;
    struct err err;
    AUTO_FREE char *runtime_dir = place_of(dir, "xdg"), *conf = place_of(dir, CONF);
    if (file_mkdirs(runtime_dir, 0700, &err) != 0 || write_storage(dir, conf) != 0)
        return -1;
    add(words, NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(words->at, runtime_dir, conf, said);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

/* ---- the start ---- */

struct starting {
    const struct root *root;
    struct words words;
    char *why;
};

__attribute__((format(printf, 2, 3))) static int fail(char *why, const char *fmt, ...)
{
    int number = errno;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(why, ROOT_WHY, fmt, ap);
    va_end(ap);
    if (n >= 0 && n < ROOT_WHY)
        snprintf(why + n, ROOT_WHY - (size_t)n, ": %s", strerror(number));
    return -1;
}

/* A colon ends a path there, and there is no other way to say one. */
static int check_path(const char *path, char *why)
{
    if (!strchr(path, ':'))
        return 0;
    snprintf(why, ROOT_WHY, PROGRAM " cannot show a path with a colon: %.80s", path);
    return -1;
}

/* podman of root's would show an account what that may not reach itself: it takes names, and what
 * they lead to may change until it does. A descriptor is of another namespace than it mounts in. */
static int add_bind(struct starting *s, const struct root_bind *bind, const char *more)
{
    if (bind->user && bind->user->uid != 0) {
        snprintf(s->why, ROOT_WHY,
                 PROGRAM " runs no tasks of other accounts: say runtime: bwrap, or start a server "
                         "of the account's own");
        return -1;
    }
    if (access(bind->from, F_OK) != 0)
        return errno == ENOENT && bind->may_miss ? 0
                                                 : fail(s->why, "cannot show %.60s", bind->from);
    if (check_path(bind->at, s->why) != 0 || check_path(bind->from, s->why) != 0)
        return -1;
    add_pair(
        &s->words, "--volume",
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
                                      .at = HOLDER_AT,
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

/* Not more than there may be: podman asks for a million, which only some may have. */
static void add_limit(struct words *words, const char *name, unsigned resource)
{
    struct rlimit is;
    rlim_t n = getrlimit(resource, &is) == 0 && is.rlim_max < LIMIT ? is.rlim_max : LIMIT;
    add_pair(words, "--ulimit",
             mem_printf("%s=%llu:%llu", name, (unsigned long long)n, (unsigned long long)n));
}

static int add_words(struct starting *s, const char *pid_file)
{
    static const char *const fixed[] = { "run",        "--detach", "--log-driver", "none",
                                         "--network",  "host",     "--pid",        "host",
                                         "--uts",      "host",     "--ipc",        "private",
                                         "--cap-drop", "all",      "--no-hosts",   "--security-opt",
                                         "unmask=ALL" };
    const struct root *root = s->root;
    struct words *words = &s->words;
    add_program(words, root->dir);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        add(words, mem_strdup(fixed[i]));
    add_pair(words, "--name", mem_strdup(NAME));
    add_pair(words, "--pidfile", mem_strdup(pid_file));
    add_pair(words, "--shm-size", mem_printf("%" PRIu64, root->shm ? root->shm : usual_shm()));
    add_limit(words, "nofile", RLIMIT_NOFILE);
    add_limit(words, "nproc", RLIMIT_NPROC);
    if (check_path(root->tree, s->why) != 0 || add_binds(s) != 0)
        return -1;
    add_pair(words, "--rootfs", mem_printf("%s:O", root->tree));
    add_pair(words, HOLDER_AT, mem_strdup("hold"));
    return 0;
}

/* The last thing that it said, as one line. */
static void take_said(int said, char *why)
{
    AUTO_FREE char *text = mem_new(SAID_MOST + 1);
    ssize_t n = pread(said, text, SAID_MOST, 0);
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        n--;
    text[n > 0 ? n : 0] = '\0';
    const char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    snprintf(why, ROOT_WHY, PROGRAM ": %.140s", *line ? line : "it ended without a word");
}

static int read_pid(const char *path, pid_t *pid)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    uint64_t number;
    if (file_read(path, 64, &text, &len, NULL) != 0)
        return -1;
    text[strcspn(text, "\n")] = '\0';
    if (!scan_u64(text, 1, INT32_MAX, &number))
        return -1;
    *pid = (pid_t)number;
    return 0;
}

static int start(struct starting *s, pid_t *pid)
{
    const char *dir = s->root->dir;
    AUTO_FREE char *pid_file = mem_printf("%s/pid", dir);
    AUTO_FREE char *mark = mark_of(dir);
    if (add_words(s, pid_file) != 0)
        return -1;
    AUTO_CLOSE int said = open(mark, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (said < 0)
        return fail(s->why, "%.60s", mark);
    int status = run(dir, &s->words, said);
    if (status == 0 && read_pid(pid_file, pid) == 0)
        return 0;
    take_said(said, s->why);
    return -1;
}

int container_start(const struct root *root, pid_t *pid, char why[ROOT_WHY])
{
    size_t n = root->n_binds + root->container->n_binds + 2;
    struct starting s = { .root = root, .words = words_new(n), .why = why };
    int rc = start(&s, pid);
    words_free(&s.words);
    return rc;
}

int container_fill(const struct root *root, char why[ROOT_WHY])
{
    const struct memory_dirs *dirs = root->memory;
    struct err err;
    for (size_t i = 0; dirs && i < dirs->n; i++)
        if (file_mkdirs(dirs->at[i], 0755, &err) != 0 || memory_mount(dirs->at[i], dirs) != 0)
            return fail(why, "no secrets can lie in %.60s of the image", dirs->at[i]);
    if (root->work_dir && file_mkdirs(root->work_dir, 0755, &err) != 0)
        return fail(why, "no working directory %.80s", root->work_dir);
    return 0;
}

/* ---- the end ---- */

/* Was that process started with this directory? Its number may be another's by now, as after the
 * machine was started anew. */
static bool is_of(const char *dir, pid_t pid)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/environ", (int)pid), *text = NULL;
    AUTO_FREE char *conf = place_of(dir, CONF);
    AUTO_FREE char *entry = mem_printf(STORAGE "=%s", conf);
    size_t len;
    return file_read(path, ENVIRON_MOST, &text, &len, NULL) == 0 &&
           memmem(text, len, entry, strlen(entry) + 1) != NULL;
}

/* It holds the user namespace of a plain user's. */
static void end_pause(const char *dir)
{
    AUTO_FREE char *path = place_of(dir, "tmp/pause.pid");
    pid_t pid;
    if (read_pid(path, &pid) == 0 && is_of(dir, pid))
        (void)kill(pid, SIGKILL);
}

void container_remove(const char *dir)
{
    static const char *const fixed[] = { "rm", "--force", "--ignore", "--time", "0" };
    if (!container_is_of(dir))
        return;
    struct words words = words_new(0);
    add_program(&words, dir);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        add(&words, mem_strdup(fixed[i]));
    add(&words, mem_strdup(NAME));
    if (run(dir, &words, -1) == 0) {
        AUTO_FREE char *mark = mark_of(dir);
        (void)unlink(mark);
    }
    words_free(&words);
    end_pause(dir);
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

int container_hold(void)
{
    int number;
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    if (signal(SIGCHLD, SIG_IGN) == SIG_ERR || sigprocmask(SIG_BLOCK, &end, NULL) != 0)
        return 1;
    return sigwait(&end, &number) == 0 ? 0 : 1;
}
