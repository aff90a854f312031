/* skopeo says what is wrong in words only, so a table of what they contain stands here, in the
 * order of precedence; what no row knows is handed on as it is and counts as something that may
 * pass. Credentials are a descriptor: they are in no argument and no environment. */
#include "node/fetch/registry.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "image/document.h"
#include "node/fetch/policy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS      250
#define SAID_MAX     (16u << 10)
#define SHOWN        140
#define ARGS_MOST    12
#define SHOWN_DIGITS 12

static const struct failure {
    const char *words;
    enum err_code code;
    const char *what, *hint;
} failures[] = {
    { "no space left on device", ERR_FULL, "does not fit on the disk of the node", "" },
    { "disk quota exceeded", ERR_FULL, "does not fit in the disk quota on the node", "" },
    { "invalid username/password", ERR_INPUT, "is refused: wrong user or password",
      "give the job credentials that the registry accepts" },
    { "unauthorized", ERR_INPUT, "is refused: the registry wants credentials, or others",
      "give the job credentials; of a private image also the name may be wrong" },
    { "authentication required", ERR_INPUT, "is refused: the registry wants credentials, or others",
      "give the job credentials; of a private image also the name may be wrong" },
    { "is denied", ERR_INPUT, "is refused: these credentials may not read it",
      "ask its owner for the right to pull it" },
    { "manifest unknown", ERR_INPUT, "is not there: the registry has no such tag or digest",
      "look at the tag" },
    { "name unknown", ERR_INPUT, "is not there: the registry has no such repository",
      "look at the name" },
    { "repository name not known", ERR_INPUT, "is not there: the registry has no such repository",
      "look at the name" },
    { "toomanyrequests", ERR_UNAVAILABLE, "cannot be had now: the registry's limit of requests",
      "" },
    { "x509:", ERR_UNAVAILABLE, "cannot be had: the registry's certificate is not accepted",
      "put its authority below /etc/containers/certs.d on the node" },
    { "server gave HTTP response to HTTPS client", ERR_UNAVAILABLE,
      "cannot be had: the registry speaks no TLS",
      "say insecure = true for it in /etc/containers/registries.conf of the node" },
    { "no such host", ERR_UNAVAILABLE, "cannot be had: no address for its registry",
      "runtime: host runs the job on the host, without its image" },
    { "connection refused", ERR_UNAVAILABLE, "cannot be had: its registry does not answer", "" },
    { "connection reset", ERR_UNAVAILABLE, "cannot be had: its registry broke off", "" },
    { "i/o timeout", ERR_UNAVAILABLE, "cannot be had: its registry does not answer", "" },
    { "timeout", ERR_UNAVAILABLE, "cannot be had: its registry does not answer", "" },
    { "unreachable", ERR_UNAVAILABLE, "cannot be had: its registry cannot be reached", "" },
    { "EOF", ERR_UNAVAILABLE, "cannot be had: its registry broke off", "" },
    { "Digest did not match", ERR_UNAVAILABLE, "came damaged: a part is not what it is named", "" },
    { "corrupted blob", ERR_UNAVAILABLE, "came damaged: a part is not what it is named", "" },
    { "bytes in blob, got", ERR_UNAVAILABLE, "came damaged: a part is not as long as it should be",
      "" },
};

/* The last of what it said, without the front of a line of its log. */
static const char *last_words(const char *said, char out[SHOWN + 1])
{
    const char *from = said;
    for (const char *at = said; (at = strstr(at, "msg=\"")); at++)
        from = at + 5;
    size_t n = strcspn(from, "\n");
    if (from != said && n > 0 && from[n - 1] == '"')
        n--;
    size_t skip = n > SHOWN ? n - SHOWN : 0;
    size_t len = 0;
    for (size_t i = skip; i < n; i++)
        out[len++] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
    out[len] = '\0';
    return out;
}

/* Behind the name, which may itself have such words. */
static const char *behind_name(const struct image_ref *ref, const char *said)
{
    AUTO_FREE char *name = mem_printf("%s/%s", ref->registry, ref->repository);
    const char *behind = said;
    for (const char *at = said; (at = strstr(at, name)); behind = at)
        at += strlen(name);
    return behind;
}

/* For messages: a digest as far as people compare it. */
static void show(const struct image_ref *ref, char out[IMAGE_TEXT_MAX])
{
    struct image_ref shown = *ref;
    shown.digest[SHOWN_DIGITS] = '\0';
    image_ref_print(&shown, out);
}

int registry_failure(const struct image_ref *ref, const char *said, struct err *err)
{
    char name[IMAGE_TEXT_MAX], words[SHOWN + 1];
    const char *cause = behind_name(ref, said);
    show(ref, name);
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        const struct failure *row = &failures[i];
        if (!strstr(cause, row->words))
            continue;
        err_set(err, row->code, "image %.150s %s", name, row->what);
        return err_hint(err, "%s", row->hint);
    }
    return err_set(err, ERR_UNAVAILABLE, "image %.90s cannot be had: %s", name,
                   last_words(said, words));
}

int registry_stalled(const struct registry *r, struct err *err)
{
    char name[IMAGE_TEXT_MAX];
    show(r->ref, name);
    return err_set(err, ERR_UNAVAILABLE, "image %.150s: nothing came from its registry for %d s",
                   name, REGISTRY_STALL_MS / 1000);
}

/* ---- the child ---- */

struct run {
    char *args[ARGS_MOST + 1];
    size_t n;
    struct buf *out; /* its stdout; NULL: not wanted */
    const char *to;  /* where it writes; NULL: nowhere */
    void (*tick)(void *arg, uint64_t bytes);
    void *arg;
};

static void add(struct run *run, char *word) /* malloc'ed */
{
    if (run->n == ARGS_MOST)
        BUG("too many arguments");
    run->args[run->n++] = word;
}

static bool is_local(const char *registry)
{
    return strncmp(registry, "127.", 4) == 0 || strncmp(registry, "[::1]", 5) == 0 ||
           strcmp(registry, "localhost") == 0 || strncmp(registry, "localhost:", 10) == 0;
}

/* What the administrator says of signatures holds; where nothing is said there is no rule.
 * Registries of this machine need no TLS, as with docker. */
static void begin(struct run *run, const struct registry *r, const char *verb)
{
    bool copy = strcmp(verb, "copy") == 0;
    add(run, mem_strdup("skopeo"));
    if (policy_read(r->home) == POLICY_NONE)
        add(run, mem_strdup("--insecure-policy"));
    add(run, mem_strdup(verb));
    if (is_local(r->ref->registry))
        add(run, mem_strdup(copy ? "--src-tls-verify=false" : "--tls-verify=false"));
    add(run, mem_printf("--%s=/proc/self/fd/%d", copy ? "src-authfile" : "authfile", r->auth));
}

static void end_args(struct run *run)
{
    for (size_t i = 0; i < run->n; i++)
        free(run->args[i]);
}

struct ends { /* -1: nothing stands there */
    int in, out, said;
};

static _Noreturn void child(const struct run *run, const struct registry *r,
                            const struct ends *ends, pid_t parent)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (dup2(ends->in < 0 ? nothing : ends->in, STDIN_FILENO) < 0 ||
        dup2(ends->out < 0 ? nothing : ends->out, STDOUT_FILENO) < 0 ||
        dup2(ends->said < 0 ? nothing : ends->said, STDERR_FILENO) < 0)
        _exit(127);
    (void)close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
    (void)fcntl(r->auth, F_SETFD, 0);
    (void)signal(SIGPIPE, SIG_DFL);
    if (r->home) {
        (void)setenv("HOME", r->home, 1);
        (void)unsetenv("XDG_CONFIG_HOME"); /* of the server's user */
        (void)unsetenv("DOCKER_CONFIG");
    }
    (void)unsetenv("XDG_RUNTIME_DIR"); /* of the server's session */
    (void)setenv("TMPDIR", run->to ? run->to : "/tmp", 1);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(127);
    (void)execvp(run->args[0], run->args);
    _exit(127);
}

void registry_serve(const struct registry *r, int socket, pid_t parent)
{
    const struct ends ends = { .in = socket, .out = -1, .said = -1 };
    struct run run = { .to = NULL };
    begin(&run, r, "experimental-image-proxy");
    child(&run, r, &ends, parent);
}

/* Files are written under other names first, and count too. */
static uint64_t bytes_in(const char *path)
{
    uint64_t sum = 0;
    struct stat st;
    DIR *dir = path ? opendir(path) : NULL;
    for (const struct dirent *e; dir && (e = readdir(dir));)
        if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            sum += (uint64_t)st.st_size;
    if (dir)
        closedir(dir);
    return sum;
}

/* false: nothing more comes. The last SAID_MAX bytes of what it says are kept. */
static bool take_some(int fd, struct buf *to)
{
    char piece[4096];
    ssize_t n = read(fd, piece, sizeof piece);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    if (to && to->len + (size_t)n > to->max && to->max == SAID_MAX)
        buf_clear(to);
    if (to)
        buf_add(to, piece, (size_t)n);
    return true;
}

/* Both ends of its output closed, or nothing moved for too long. */
static bool listen_to(const struct run *run, int out, int said, struct buf *words)
{
    struct pollfd fds[2] = { { .fd = out, .events = POLLIN }, { .fd = said, .events = POLLIN } };
    uint64_t before = 0, moved = clock_mono_ms();
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        int n = poll(fds, 2, TICK_MS);
        if (n < 0 && errno != EINTR)
            return false;
        for (size_t i = 0; n > 0 && i < 2; i++)
            if (fds[i].revents && !take_some(fds[i].fd, i == 0 ? run->out : words))
                fds[i].fd = -1;
        uint64_t bytes = bytes_in(run->to) + (run->out ? run->out->len : 0);
        if (run->tick)
            run->tick(run->arg, bytes);
        if (bytes != before)
            moved = clock_mono_ms();
        before = bytes;
        if (clock_mono_ms() - moved > REGISTRY_STALL_MS)
            return false;
    }
    return true;
}

static int judge(const struct registry *r, bool ended, int status, const struct buf *words,
                 struct err *err)
{
    char name[IMAGE_TEXT_MAX];
    if (!ended)
        return registry_stalled(r, err);
    show(r->ref, name);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        err_set(err, ERR_CANNOT, "image %.150s cannot be pulled: there is no skopeo on this node",
                name);
        return err_hint(err, "install the package skopeo there");
    }
    return registry_failure(r->ref, buf_str(words), err);
}

static int run_it(const struct run *run, const struct registry *r, struct err *err)
{
    AUTO_BUF struct buf words = BUF_INIT(SAID_MAX);
    int out[2], said[2], status = 0;
    if (pipe2(out, O_CLOEXEC) != 0)
        return err_sys(err, "pipe");
    if (pipe2(said, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return err_sys(err, "pipe");
    }
    pid_t self = getpid(), pid = fork();
    if (pid == 0)
        child(run, r, &(struct ends){ .in = -1, .out = out[1], .said = said[1] }, self);
    close(out[1]);
    close(said[1]);
    bool ended = pid > 0 && listen_to(run, out[0], said[0], &words);
    if (pid > 0 && !ended)
        (void)kill(pid, SIGKILL);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    close(out[0]);
    close(said[0]);
    return pid < 0 ? err_sys(err, "cannot start skopeo") : judge(r, ended, status, &words, err);
}

/* ---- credentials ---- */

/* A copy in memory, where skopeo opens it by its descriptor. */
static int copy_auth(const char *text, size_t len, struct err *err)
{
    AUTO_CLOSE int fd = memfd_create("auth", MFD_CLOEXEC);
    if (fd < 0 || file_write_all(fd, text, len) != 0)
        return err_sys(err, "a copy in memory");
    return mem_give_fd(&fd);
}

/* DIR/NAME, of the directory that the environment names, if any; else below the home. -1: none. */
static int open_login(const char *dir, const char *home, const char *below, const char *name)
{
    AUTO_FREE char *own = mem_printf("%s/%s", home, below);
    AUTO_FREE char *path = file_join(dir && *dir ? dir : own, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

int registry_open_auth(const char *text, size_t len, const char *home, struct err *err)
{
    const char *own = home ? home : getenv("HOME");
    if (text)
        return copy_auth(text, len, err);
    int fd = own ? open_login(home ? NULL : getenv("XDG_CONFIG_HOME"), own, ".config",
                              "containers/auth.json")
                 : -1;
    if (fd < 0 && own)
        fd = open_login(home ? NULL : getenv("DOCKER_CONFIG"), own, ".docker", "config.json");
    return fd >= 0 ? fd : copy_auth("{}", 2, err);
}

/* ---- the two questions ---- */

int registry_manifest(const struct registry *r, char **text, size_t *len, struct err *err)
{
    char name[IMAGE_TEXT_MAX];
    AUTO_BUF struct buf out = BUF_INIT(IMAGE_DOCUMENT_MAX);
    struct run run = { .out = &out };
    image_ref_print(r->ref, name);
    begin(&run, r, "inspect");
    add(&run, mem_strdup("--raw"));
    add(&run, mem_printf("docker://%s", name));
    int rc = run_it(&run, r, err);
    end_args(&run);
    if (rc == 0 && out.overflow)
        rc = err_set(err, ERR_INPUT, "image %.150s: its manifest is too large", name);
    if (rc != 0)
        return -1;
    *len = out.len;
    *text = buf_take(&out);
    return 0;
}

int registry_copy(const struct registry *r, const char *digest, const char *to,
                  void (*tick)(void *arg, uint64_t bytes), void *arg, struct err *err)
{
    struct run run = { .to = to, .tick = tick, .arg = arg };
    if (mkdir(to, 0700) != 0)
        return err_sys(err, "%s", to);
    begin(&run, r, "copy");
    add(&run, mem_strdup("--quiet"));
    add(&run, mem_printf("docker://%s/%s@sha256:%s", r->ref->registry, r->ref->repository, digest));
    add(&run, mem_printf("dir:%s", to));
    int rc = run_it(&run, r, err);
    end_args(&run);
    return rc;
}
