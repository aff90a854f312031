/* Effects: may run `getent ahosts NAME` (found in PATH), whose output is read through a pipe for at
 * most RESOLVE_MS; the child is killed and reaped before this returns. Its pid is waited for here,
 * so call it before ranks exist or expect a SIGCHLD that finds no child. */
#include "launch/resolve.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

#define RESOLVE_MS 5000
#define HOSTS_MAX  (4u << 20)
#define ANSWER_MAX 4096u

static int family(const char *text)
{
    unsigned char raw[16];
    char plain[RESOLVE_MAX];
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(text, "%"), text);
    if (inet_pton(AF_INET, plain, raw) == 1)
        return AF_INET;
    return inet_pton(AF_INET6, plain, raw) == 1 ? AF_INET6 : AF_UNSPEC;
}

/* Keeps the first IPv4 address, else the first IPv6 one. true: nothing better can come. */
static bool better(const char *word, size_t len, char out[RESOLVE_MAX])
{
    char address[RESOLVE_MAX];
    if (len >= sizeof address)
        return false;
    snprintf(address, sizeof address, "%.*s", (int)len, word);
    int kind = family(address);
    if (kind == AF_UNSPEC || (kind == AF_INET6 && out[0]))
        return false;
    snprintf(out, RESOLVE_MAX, "%s", address);
    return kind == AF_INET;
}

static const char *next_word(const char *at, const char *end, size_t *len)
{
    at += strspn(at, " \t");
    *len = strcspn(at, " \t\r\n#");
    if (at + *len > end)
        *len = at < end ? (size_t)(end - at) : 0;
    return at;
}

/* Lines "ADDRESS NAME...": those that name it, or all of them when name is NULL. */
static void lines(const char *text, const char *name, char out[RESOLVE_MAX])
{
    while (*text) {
        const char *end = text + strcspn(text, "\n");
        size_t len, n;
        const char *address = next_word(text, end, &len);
        bool hit = !name && len;
        for (const char *w = next_word(address + len, end, &n); name && n && !hit;
             w = next_word(w + n, end, &n))
            hit = n == strlen(name) && strncasecmp(w, name, n) == 0;
        if (hit && better(address, len, out))
            return;
        text = *end ? end + 1 : end;
    }
}

static bool in_hosts(const char *name, char out[RESOLVE_MAX])
{
    AUTO_FREE char *text = NULL;
    size_t len;
    if (file_read("/etc/hosts", HOSTS_MAX, &text, &len, NULL) == 0)
        lines(text, name, out);
    return out[0] != '\0';
}

/* ---- getent ---- */

static pid_t start(const char *name, int *from)
{
    const char *argv[] = { "getent", "ahosts", name, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none;
    int ends[2];
    pid_t pid = -1;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    if (posix_spawnp(&pid, "getent", &files, &attr, (char *const *)argv, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    close(ends[1]);
    *from = ends[0];
    if (pid < 0)
        close(ends[0]);
    return pid;
}

/* true: it ended (closed its output) in time. */
static bool read_all(int fd, char *text, size_t room)
{
    uint64_t until = clock_mono_ms() + RESOLVE_MS;
    size_t len = 0;
    for (;;) {
        uint64_t now = clock_mono_ms();
        struct pollfd p = { .fd = fd, .events = POLLIN };
        text[len] = '\0';
        if (now >= until)
            return false;
        int ready = poll(&p, 1, (int)(until - now));
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready <= 0)
            continue;
        char spill[512];
        bool full = len + 1 >= room;
        ssize_t n = full ? read(fd, spill, sizeof spill) : read(fd, text + len, room - 1 - len);
        if (n == 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
        len += n > 0 && !full ? (size_t)n : 0;
    }
}

static int ask(const char *name, char out[RESOLVE_MAX], struct err *err)
{
    char text[ANSWER_MAX];
    int fd;
    pid_t pid = start(name, &fd);
    if (pid < 0) {
        err_set(err, ERR_NOT_FOUND, "%.100s: not in /etc/hosts, and there is no getent to ask",
                name);
        return err_hint(err, "write a numeric address, or add the name to /etc/hosts");
    }
    bool ended = read_all(fd, text, sizeof text);
    close(fd);
    if (!ended)
        kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (!ended) {
        err_set(err, ERR_TIMEOUT, "%.100s: no answer from the name service for %d s", name,
                RESOLVE_MS / 1000);
        return err_hint(err, "write a numeric address, or add the name to /etc/hosts");
    }
    lines(text, NULL, out);
    if (out[0])
        return 0;
    err_set(err, ERR_NOT_FOUND, "%.100s: nobody knows this host", name);
    return err_hint(err, "is it spelled right? A numeric address works without names");
}

int resolve_host(const char *name, char out[RESOLVE_MAX], struct err *err)
{
    char found[RESOLVE_MAX] = "";
    if (family(name) != AF_UNSPEC && strlen(name) < RESOLVE_MAX) {
        snprintf(out, RESOLVE_MAX, "%s", name);
        return 0;
    }
    if (!in_hosts(name, found)) {
        if (strcasecmp(name, "localhost") == 0)
            snprintf(found, sizeof found, "127.0.0.1"); /* RFC 6761, without a hosts file too */
        else if (ask(name, found, err) < 0)
            return -1;
    }
    snprintf(out, RESOLVE_MAX, "%s", found);
    return 0;
}
