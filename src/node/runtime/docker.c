/* The container has an image without a file, which is made once for a daemon: it is there to be
 * entered. Paths go into --mount as fields of a line of CSV, which can quote all of them. Its
 * number comes through a pipe in the root's directory, from the process that waits, when that has
 * what the task enters; the daemon of another machine, or one that is in another container, has not
 * that pipe. The name of the container is made of the root's directory, so that it is found again
 * by an agent that knows nothing else. */
#include "node/runtime/docker.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/scan.h"
#include "node/runtime/command.h"
#include "node/runtime/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define IMAGE       "muster-holder:1"
#define READY       "ready"
#define VARIABLE    "MUSTER_HOLDS"
#define READY_MS    15000 /* from the start of its process, which the daemon has told */
#define EMPTY_TAR   1024
#define QUOTED_MOST 16384u
#define HOST        "DOCKER_HOST"
#define SOCKET      "/var/run/docker.sock"
#define UNIX        "unix://"

struct starting {
    const struct root *root;
    struct command command;
    const char **shown; /* what has been */
    size_t n_shown;
    char *why;
};

static char *name_of(const char *dir)
{
    static const struct hash_seed same = { { 0 } };
    return mem_printf("muster-%016" PRIx64, hash_bytes(same, dir, strlen(dir)));
}

/* ---- words ---- */

/* A field with its quotes. */
static char *quote(const char *name, const char *below, const char *path)
{
    struct buf text = BUF_INIT(QUOTED_MOST);
    buf_addf(&text, "\"%s=%s", name, below);
    for (; *path; path++)
        buf_add(&text, *path == '"' ? "\"\"" : path, *path == '"' ? 2 : 1);
    buf_add(&text, "\"", 1);
    char *quoted = mem_strdup(buf_str(&text));
    buf_fini(&text);
    return quoted;
}

static void add_mount(struct starting *s, const char *from, const char *below, const char *at)
{
    AUTO_FREE char *source = quote("source", "", from), *target = quote("target", below, at);
    command_pair(&s->command, "--mount", mem_printf("type=bind,%s,%s", source, target));
}

static size_t length(const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

/* Once: the daemon refuses a place that is named twice. */
static void show(struct starting *s, const char *path)
{
    for (size_t i = 0; i < s->n_shown; i++)
        if (length(s->shown[i]) == length(path) && strncmp(s->shown[i], path, length(path)) == 0)
            return;
    s->shown[s->n_shown++] = path;
    add_mount(s, path, CONTAINER_BELOW, path);
}

static int add_binds(struct starting *s)
{
    const struct root *root = s->root;
    const struct container *container = root->container;
    add_mount(s, container->holder, "", CONTAINER_HOLDER_AT);
    for (size_t i = 0; i < container->n_binds; i++) {
        AUTO_FREE char *path = mem_printf("/dev/%s", container->binds[i]);
        if (access(path, F_OK) == 0)
            add_mount(s, path, "", path);
    }
    show(s, root->tree);
    show(s, root->dir);
    show(s, root->at);
    for (size_t i = 0; i < root->n_binds; i++) {
        int may = command_may_show(DOCKER, &root->binds[i], s->why);
        if (may < 0)
            return -1;
        if (may > 0)
            show(s, root->binds[i].from);
    }
    return 0;
}

static int add_words(struct starting *s)
{
    static const char *const fixed[] = {
        "run",   "--detach",   "--pull",   "never",          "--network",
        "host",  "--pid",      "host",     "--uts",          "host",
        "--ipc", "private",    "--userns", "host",           "--log-driver",
        "none",  "--cap-drop", "all",      "--security-opt", "no-new-privileges",
    };
    /* The one that waits has no rights to be held from, and makes a namespace of users. */
    static const char *const open_to_all[] = { "seccomp=unconfined", "apparmor=unconfined",
                                               "label=disable", "systempaths=unconfined" };
    const struct root *root = s->root;
    struct command *command = &s->command;
    command_add_all(command, fixed, ARRAY_LEN(fixed));
    for (size_t i = 0; i < ARRAY_LEN(open_to_all); i++)
        command_pair(command, "--security-opt", mem_strdup(open_to_all[i]));
    command_pair(command, "--name", name_of(root->dir));
    command_pair(command, "--user", mem_printf("%u:%u", geteuid(), getegid()));
    command_pair(command, "--env", mem_printf(VARIABLE "=%s", root->dir));
    command_limit(command, "nofile", RLIMIT_NOFILE);
    command_limit(command, "nproc", RLIMIT_NPROC);
    if (add_binds(s) != 0)
        return -1;
    command_add(command, IMAGE);
    command_add(command, CONTAINER_HOLDER_AT);
    command_pair(command, "hold", mem_printf(CONTAINER_BELOW "%s/" READY, root->dir));
    return 0;
}

/* ---- the start ---- */

/* Of lines, the one that is the client's own message; the others are about how it is called. */
static void take_said(int said, char *why)
{
    static const char own[] = DOCKER ": ";
    AUTO_FREE char *text = command_said(said);
    const char *line = strncmp(text, own, strlen(own)) == 0 ? text : strstr(text, "\n" DOCKER ": ");
    line = line ? line + (*line == '\n') + strlen(own) : text;
    snprintf(why, ROOT_WHY, DOCKER ": %.*s", (int)strcspn(line, "\n"),
             *line ? line : "it ended without a word");
}

static int run(const char *const *words, size_t n)
{
    struct command command = command_new(DOCKER, 0);
    command_add_all(&command, words, n);
    int status = command_run(&command, NULL, 0, -1);
    command_free(&command);
    return status == 0 ? 0 : -1;
}

/* Was it missing? Then it is there now. */
static bool import_image(const char *dir)
{
    static const char empty[EMPTY_TAR];
    static const char *const look[] = { "image", "inspect", IMAGE };
    AUTO_FREE char *path = mem_printf("%s/empty.tar", dir);
    const char *const import[] = { "import", path, IMAGE };
    return run(look, ARRAY_LEN(look)) != 0 &&
           file_replace(path, empty, sizeof empty, 0600, NULL) == 0 &&
           run(import, ARRAY_LEN(import)) == 0;
}

static int read_ready(int ready, const char *dir, pid_t *pid, char *why)
{
    char text[16];
    uint64_t number = 0;
    AUTO_FREE char *entry = mem_printf(VARIABLE "=%s", dir);
    struct pollfd end = { .fd = ready, .events = POLLIN };
    ssize_t n = poll(&end, 1, READY_MS) == 1 ? read(ready, text, sizeof text - 1) : 0;
    text[n > 0 ? n - 1 : 0] = '\0';
    if (scan_u64(text, 1, INT32_MAX, &number) && command_pid_has((pid_t)number, entry)) {
        *pid = (pid_t)number;
        return 0;
    }
    if (*text == '-' && scan_u64(text + 1, 1, INT32_MAX, &number)) {
        errno = (int)number;
        return command_fail(why, "its containers can make no namespace of users");
    }
    snprintf(why, ROOT_WHY, "its daemon makes containers that cannot be seen from here");
    return -1;
}

static int start(struct starting *s, const char *mark, pid_t *pid)
{
    const char *dir = s->root->dir;
    AUTO_FREE char *path = mem_printf("%s/" READY, dir);
    if (add_words(s) != 0)
        return -1;
    if (mkfifo(path, 0600) != 0 && errno != EEXIST)
        return command_fail(s->why, "%.80s", path);
    AUTO_CLOSE int ready = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    AUTO_CLOSE int said =
        ready < 0 ? command_fail(s->why, "%.80s", path) : command_open_said(mark, s->why);
    if (said < 0)
        return -1;
    int status = command_run(&s->command, NULL, 0, said);
    if (status != 0 && import_image(dir) && ftruncate(said, 0) == 0 &&
        lseek(said, 0, SEEK_SET) == 0)
        status = command_run(&s->command, NULL, 0, said);
    if (status != 0) {
        take_said(said, s->why);
        return -1;
    }
    return read_ready(ready, dir, pid, s->why);
}

int docker_start(const struct root *root, const char *mark, pid_t *pid, char why[ROOT_WHY])
{
    size_t n = root->n_binds + 3;
    struct starting s = { .root = root,
                          .command = command_new(DOCKER, n + root->container->n_binds + 1),
                          .shown = mem_new(n * sizeof(char *)),
                          .why = why };
    int rc = start(&s, mark, pid);
    command_free(&s.command);
    free(s.shown);
    return rc;
}

/* ---- the end ---- */

int docker_remove(const char *dir)
{
    AUTO_FREE char *name = name_of(dir);
    const char *const words[] = { "rm", "--force", "--volumes", name };
    return run(words, ARRAY_LEN(words));
}

/* ---- its daemon ---- */

int docker_answers(struct err *err)
{
    const char *host = getenv(HOST);
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    if (host && *host && strncmp(host, UNIX, strlen(UNIX)) != 0)
        return 0;
    const char *path = host && *host ? host + strlen(UNIX) : SOCKET;
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || strlen(path) >= sizeof to.sun_path)
        return 0;
    memcpy(to.sun_path, path, strlen(path));
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return 0;
    int number = errno;
    err_set(err, ERR_CANNOT, "Docker's daemon does not answer at %.80s: %s", path,
            strerror(number));
    if (number == EACCES || number == EPERM)
        return err_hint(err, "make this account one of the group docker, or start the server as "
                             "root");
    return err_hint(err, "start it (dockerd), or set DOCKER_HOST");
}
