/* One ssh a machine, so that it costs one handshake: its shell runs a loop of ours that takes a
 * number and so many bytes, which it evaluates, and says how that ended. Nothing more is sent
 * before it answered: what reads ahead there finds nothing. A step that was cut off lacks its last
 * line and is not evaluated. */
#include "cli/ssh.h"

#include "base/mem.h"
#include "base/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define SAID_MAX  (16u << 10)  /* of ssh's standard error */
#define LINES_MAX (256u << 10) /* of one answer */
#define PIECE     65536u
#define END_MARK  "\n#end"

/* The login shell there may be any: one word in single quotes, without "!" and line feeds. */
static const char loop[] =
    "exec sh -c 'echo muster-ready; while IFS= read -r n; do s=$(head -c \"$n\"); "
    "case \"$s\" in *\"#end\") eval \"$s\";; *) exit 9;; esac; echo; echo muster-done $?; done'";

struct ssh {
    pid_t pid;
    int in, out, err;
    unsigned idle_s; /* bound of a step's silence */
    struct buf read; /* of out, not taken yet */
    struct buf said;
};

/* ---- words ---- */

/* One word from *at on; false: an open quote, or nothing behind a backslash. */
static bool take_word(const char **at, struct buf *word)
{
    const char *s = *at;
    for (char quote = 0; *s && (quote || !strchr(" \t\n", *s)); s++) {
        if (quote && *s == quote)
            quote = 0;
        else if (!quote && (*s == '\'' || *s == '"'))
            quote = *s;
        else if (*s == '\\' && quote != '\'') {
            s++;
            if (!*s)
                return false;
            buf_putc(word, *s);
        } else
            buf_putc(word, *s);
        if (quote && !s[1])
            return false;
    }
    *at = s;
    return true;
}

char **ssh_words(struct arena *arena, const char *text, size_t more, size_t *n, struct err *err)
{
    char **words = ARENA_ARRAY(arena, SSH_WORDS_MAX + more + 1, char *);
    size_t found = 0;
    for (const char *at = text + strspn(text, " \t\n"); *at; at += strspn(at, " \t\n")) {
        AUTO_BUF struct buf word = BUF_INIT(4096);
        if (found == SSH_WORDS_MAX) {
            err_set(err, ERR_INPUT, "--ssh has more than %d words", SSH_WORDS_MAX);
            return NULL;
        }
        if (!take_word(&at, &word) || word.overflow) {
            err_set(err, ERR_INPUT, "--ssh \"%.80s\": a quote stays open", text);
            err_hint(err, "--ssh \"ssh -J gate -i 'my key'\"");
            return NULL;
        }
        words[found++] = arena_strdup(arena, buf_str(&word));
    }
    if (!found) {
        err_set(err, ERR_INPUT, "--ssh is empty");
        err_hint(err, "--ssh \"ssh -J gate\", or leave it out");
        return NULL;
    }
    *n = found;
    return words;
}

/* ---- what went wrong ---- */

/* ssh says it in words alone; they choose what is recommended, and decide nothing. */
const char *ssh_hint(const char *said)
{
    static const struct {
        const char *text, *hint;
    } rows[] = {
        { "IDENTIFICATION HAS CHANGED",
          "the machine shows another host key than the one you know: make sure that it was set up "
          "anew, then ssh-keygen -R NAME" },
        { "Host key verification failed",
          "connect once by hand to see and accept the host key: ssh NAME true" },
        { "Permission denied",
          "ssh NAME true has to work without a question: a key in authorized_keys there and in your "
          "agent, or add this machine alone to be asked" },
        { "Could not resolve hostname",
          "no such host: correct the name, or give it in ~/.ssh/config" },
        { "Connection refused", "nothing listens there: is sshd running, is the port right?" },
        { "timed out", "the machine does not answer: is it on, is a gate needed (--ssh \"ssh -J "
                       "GATE\")?" },
        { "No route to host",
          "the machine is not reached: is a gate needed (--ssh \"ssh -J GATE\")?" },
        { "onnection closed", "the machine closed the connection: ask its log (sshd)" },
        { "sh: not found", "the machine has no sh in its PATH" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strstr(said, rows[i].text))
            return rows[i].hint;
    return "";
}

/* ssh's last line, which says why; warnings stand before it. */
static int broken(struct ssh *ssh, const char *when, struct err *err)
{
    char last[200];
    struct buf *said = &ssh->said;
    while (said->len && strchr("\r\n ", said->data[said->len - 1]))
        said->data[--said->len] = '\0';
    const char *text = buf_str(said), *line = strrchr(text, '\n');
    snprintf(last, sizeof last, "%s", line ? line + 1 : text);
    for (char *c = last; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    err_set(err, ERR_UNAVAILABLE, "%s%s%s", when, *last ? ": " : "", last);
    const char *hint = ssh_hint(text);
    return *hint ? err_hint(err, "%s", hint) : -1;
}

/* ---- the process ---- */

static void run_child(char **argv, int in, int out, int err, pid_t parent)
{
    static const int back[] = { SIGPIPE, SIGINT, SIGTERM, SIGCHLD };
    sigset_t none;
    for (size_t i = 0; i < ARRAY_LEN(back); i++)
        (void)signal(back[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(126);
    execvp(argv[0], argv);
    dprintf(2, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static int start(struct ssh *ssh, char **argv, struct err *err)
{
    int in[2], out[2], said[2];
    if (pipe2(in, O_CLOEXEC) < 0)
        return err_sys(err, "pipe");
    if (pipe2(out, O_CLOEXEC) < 0 || pipe2(said, O_CLOEXEC) < 0)
        return err_sys(err, "pipe");
    pid_t parent = getpid();
    ssh->pid = fork();
    if (ssh->pid == 0)
        run_child(argv, in[0], out[1], said[1], parent);
    close(in[0]);
    close(out[1]);
    close(said[1]);
    ssh->in = in[1];
    ssh->out = out[0];
    ssh->err = said[0];
    (void)fcntl(ssh->in, F_SETFL, O_NONBLOCK);
    return ssh->pid < 0 ? err_sys(err, "starting %s", argv[0]) : 0;
}

/* Bytes that came, or 0 at the end. */
static size_t take_bytes(int *fd, struct buf *into, bool drop)
{
    char piece[4096];
    ssize_t n = read(*fd, piece, sizeof piece);
    if (n <= 0) {
        close(*fd);
        *fd = -1;
        return 0;
    }
    if (!drop || into->len + (size_t)n <= into->max)
        buf_add(into, piece, (size_t)n);
    return (size_t)n;
}

/* Waits until there is something of out, or room in `in` where that is wanted. 1: room; 0: bytes of
 * out; -1 the end, or nothing for so long. */
static int wait_some(struct ssh *ssh, bool room, unsigned idle_s, bool *idle)
{
    while (ssh->out >= 0) {
        struct pollfd fds[] = { { .fd = ssh->out, .events = POLLIN },
                                { .fd = ssh->err, .events = POLLIN },
                                { .fd = room ? ssh->in : -1, .events = POLLOUT } };
        int n = poll(fds, ARRAY_LEN(fds), (int)idle_s * 1000);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            *idle = true;
            return -1;
        }
        if (fds[1].revents)
            take_bytes(&ssh->err, &ssh->said, true);
        if (fds[0].revents)
            return take_bytes(&ssh->out, &ssh->read, false) ? 0 : -1;
        if (fds[2].revents & POLLERR)
            room = false; /* nobody reads: what it says about that comes yet */
        else if (fds[2].revents)
            return 1;
    }
    return -1;
}

static void drain_said(struct ssh *ssh)
{
    struct pollfd fd = { .fd = ssh->err, .events = POLLIN };
    while (ssh->err >= 0 && poll(&fd, 1, 300) > 0) {
        take_bytes(&ssh->err, &ssh->said, true);
        fd.fd = ssh->err;
    }
}

static int lost(struct ssh *ssh, const char *when, bool idle, unsigned idle_s, struct err *err)
{
    if (idle)
        return err_set(err, ERR_TIMEOUT, "%s: nothing came for %u s", when, idle_s);
    drain_said(ssh);
    return broken(ssh, when, err);
}

/* The next line of out, without its end. */
static int next_line(struct ssh *ssh, struct buf *line, unsigned idle_s, bool *idle)
{
    for (;;) {
        const char *text = buf_str(&ssh->read), *end = memchr(text, '\n', ssh->read.len);
        if (end) {
            buf_clear(line);
            buf_add(line, text, (size_t)(end - text));
            buf_drop(&ssh->read, (size_t)(end - text) + 1);
            return 0;
        }
        if (ssh->read.overflow || wait_some(ssh, false, idle_s, idle) < 0)
            return -1;
    }
}

static int send_all(struct ssh *ssh, const char *bytes, size_t len, unsigned idle_s, bool *idle)
{
    while (len) {
        ssize_t n = write(ssh->in, bytes, len);
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        } else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0 && errno != EAGAIN)
            return -1;
        else if (wait_some(ssh, true, idle_s, idle) < 0)
            return -1;
    }
    return 0;
}

/* ---- what others call ---- */

static char **argv_of(struct arena *arena, const struct ssh_config *config, struct err *err)
{
    size_t n;
    char **argv = ssh_words(arena, config->command, 16, &n, err);
    if (!argv)
        return NULL;
    const char *const more[] = {
        "-T",
        "-o",
        config->ask ? "BatchMode=no" : "BatchMode=yes",
        "-o",
        arena_printf(arena, "ConnectTimeout=%u", config->connect_s),
        "-o",
        "ServerAliveInterval=15",
        "-o",
        "ClearAllForwardings=yes",
        "--",
        config->to,
        loop,
    };
    for (size_t i = 0; i < ARRAY_LEN(more); i++)
        argv[n++] = arena_strdup(arena, more[i]);
    argv[n] = NULL;
    return argv;
}

struct ssh *ssh_open(struct arena *arena, const struct ssh_config *config, struct err *err)
{
    char **argv = argv_of(arena, config, err);
    if (!argv)
        return NULL;
    struct ssh *ssh = mem_new(sizeof *ssh);
    ssh->idle_s = config->idle_s;
    bool idle = false;
    /* Questions take as long as people do. */
    unsigned idle_s = config->ask ? 600 : 2 * config->connect_s + 10;
    ssh->in = ssh->out = ssh->err = -1;
    ssh->read = BUF_INIT(LINES_MAX);
    ssh->said = BUF_INIT(SAID_MAX);
    AUTO_BUF struct buf line = BUF_INIT(LINES_MAX);
    (void)signal(SIGPIPE, SIG_IGN);
    if (start(ssh, argv, err) < 0) {
        ssh_close(ssh);
        return NULL;
    }
    do { /* shells may say something of their own before */
        if (next_line(ssh, &line, idle_s, &idle) < 0) {
            lost(ssh, "no connection by ssh", idle, idle_s, err);
            ssh_close(ssh);
            return NULL;
        }
    } while (strcmp(buf_str(&line), "muster-ready") != 0);
    return ssh;
}

void ssh_close(struct ssh *ssh)
{
    if (!ssh)
        return;
    if (ssh->in >= 0)
        close(ssh->in);
    if (ssh->out >= 0)
        close(ssh->out);
    if (ssh->err >= 0)
        close(ssh->err);
    if (ssh->pid > 0) {
        (void)kill(ssh->pid, SIGTERM);
        while (waitpid(ssh->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    buf_fini(&ssh->read);
    buf_fini(&ssh->said);
    free(ssh);
}

static int send_data(struct ssh *ssh, const struct ssh_data *data, unsigned idle_s, bool *idle,
                     struct err *err)
{
    AUTO_FREE char *piece = mem_new(PIECE);
    for (uint64_t at = 0; at < data->size;) {
        ssize_t n = pread(data->fd, piece, PIECE, (off_t)at);
        if (n <= 0)
            return err_sys(err, "reading what is to be copied");
        if (send_all(ssh, piece, (size_t)n, idle_s, idle) < 0) {
            if (*idle)
                return err_set(err, ERR_TIMEOUT,
                               "the connection by ssh ended: nothing was taken for %u s", idle_s);
            return 0; /* what comes from there says why */
        }
        at += (uint64_t)n;
    }
    return 0;
}

int ssh_step(struct ssh *ssh, const char *step, const struct ssh_data *data, struct buf *out,
             int *status, struct err *err)
{
    const unsigned idle_s = ssh->idle_s;
    static const char done[] = "muster-done ";
    AUTO_BUF struct buf line = BUF_INIT(LINES_MAX);
    char head[32];
    bool idle = false;
    snprintf(head, sizeof head, "%zu\n", strlen(step) + strlen(END_MARK));
    if (send_all(ssh, head, strlen(head), idle_s, &idle) < 0 ||
        send_all(ssh, step, strlen(step), idle_s, &idle) < 0 ||
        send_all(ssh, END_MARK, strlen(END_MARK), idle_s, &idle) < 0)
        return lost(ssh, "the connection by ssh ended", idle, idle_s, err);
    for (;;) {
        uint64_t ended;
        if (next_line(ssh, &line, idle_s, &idle) < 0) {
            if (!idle && out->len)
                break; /* it said why, and left */
            return lost(ssh, "the connection by ssh ended", idle, idle_s, err);
        }
        const char *text = buf_str(&line);
        if (strncmp(text, done, strlen(done)) == 0 &&
            scan_u64(text + strlen(done), 0, 255, &ended)) {
            *status = (int)ended;
            return 0;
        }
        if (data && strcmp(text, "go") == 0) {
            if (send_data(ssh, data, idle_s, &idle, err) < 0)
                return -1;
        } else if (*text)
            buf_addf(out, "%s\n", text);
    }
    *status = 1;
    return 0;
}

const char *ssh_value(struct arena *arena, const struct buf *lines, const char *key)
{
    size_t len = strlen(key);
    for (const char *at = buf_str(lines); *at;) {
        const char *end = strchr(at, '\n');
        size_t n = end ? (size_t)(end - at) : strlen(at);
        if (n > len && memcmp(at, key, len) == 0 && at[len] == ' ')
            return arena_printf(arena, "%.*s", (int)(n - len - 1), at + len + 1);
        at += n + (end != NULL);
    }
    return NULL;
}
