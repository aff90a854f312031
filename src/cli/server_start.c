/* A detached server: a child in its own session with the log file as its output. It says "ok" on a
 * pipe when it answers, or why it cannot start; a pipe that ends without a word means that it died,
 * and its log may say of what. */
#include "cli/server_start.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/call.h"
#include "cli/in_job.h"
#include "cli/output.h"
#include "cli/running_server.h"
#include "cli/settings_file.h"
#include "text/json.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ARGS_MAX     64
#define LOG_KEEP_MAX (16u << 20)
#define SLOW_MS      2000 /* a start that takes longer is said to */
/* Tells the server that it was started here, and why: nobody else starts it again. */
#define STARTED_BY   "MUSTER_STARTED_BY"

static int open_log(const char *path, struct err *err)
{
    struct stat st;
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    if (stat(path, &st) == 0 && st.st_size > LOG_KEEP_MAX)
        flags |= O_TRUNC;
    int fd = open(path, flags, 0600);
    return fd < 0 ? err_sys(err, "%s", path) : fd;
}

struct child {
    int log, ready;
    char **argv;
};

/* Between fork and exec: only calls that are safe there. */
_Noreturn static void become_server(const struct child *c)
{
    static const char failed[] = "cannot run this program again\n";
    int null = open("/dev/null", O_RDONLY);
    setsid();
    if (fork() != 0)
        _exit(0);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    dup2(c->log, STDOUT_FILENO);
    dup2(c->log, STDERR_FILENO);
    fcntl(c->ready, F_SETFD, 0);
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    execv("/proc/self/exe", c->argv);
    if (write(STDERR_FILENO, failed, sizeof failed - 1) < 0)
        _exit(126);
    _exit(127);
}

/* What main/server_main.c says of its start: "ok", or why not, as a document; nothing when it died.
 * false: it did not start. */
#define SAID_MAX 8192
static bool wait_ready(int fd, char said[SAID_MAX], const char *log_path)
{
    static const char ok[] = "ok\n";
    struct pollfd word = { .fd = fd, .events = POLLIN };
    size_t len = 0;
    bool ready = false;
    if (isatty(STDERR_FILENO) && poll(&word, 1, SLOW_MS) == 0)
        fprintf(stderr, "the server is still starting: %s says what it waits for\n", log_path);
    while (!ready && len < SAID_MAX - 1) {
        ssize_t n = read(fd, said + len, SAID_MAX - 1 - len);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        len += n > 0 ? (size_t)n : 0;
        said[len] = '\0';
        ready = strcmp(said, ok) == 0;
    }
    return ready;
}

static char **make_argv(struct cli *cli, const char *const *args)
{
    char **argv = ARENA_ARRAY(cli->arena, ARGS_MAX + 5, char *);
    size_t n = 0;
    argv[n++] = arena_strdup(cli->arena, "muster");
    argv[n++] = arena_strdup(cli->arena, "server");
    argv[n++] = arena_strdup(cli->arena, "run");
    if (cli->named_dir)
        argv[n++] = arena_printf(cli->arena, "--state-dir=%s", cli->state_dir);
    for (size_t i = 0; args && args[i] && i < ARGS_MAX; i++)
        argv[n++] = arena_strdup(cli->arena, args[i]);
    return argv;
}

int server_start(struct cli *cli, const char *const *args, bool *ours, struct err *err)
{
    int ends[2], status;
    char number[16], said[SAID_MAX] = "";
    AUTO_FREE char *log_path = file_join(cli->state_dir, "server.log");
    if (file_mkdirs(cli->state_dir, 0700, err) < 0)
        return err_hint(err, "choose another place with --state-dir or MUSTER_STATE_DIR");
    AUTO_CLOSE int log = open_log(log_path, err);
    if (log < 0)
        return -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, "pipe");
    struct child child = { .log = log, .ready = ends[1], .argv = make_argv(cli, args) };
    snprintf(number, sizeof number, "%d", ends[1]);
    setenv("MUSTER_READY_FD", number, 1);
    setenv(STARTED_BY, args ? "start" : "need", 1);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become_server(&child);
    unsetenv("MUSTER_READY_FD");
    unsetenv(STARTED_BY);
    close(ends[1]);
    if (pid > 0)
        waitpid(pid, &status, 0);
    int rc = pid < 0 ? err_sys(err, "fork") : wait_ready(ends[0], said, log_path) ? 0 : -1;
    close(ends[0]);
    call_drop(cli);
    *ours = rc == 0;
    if (rc == 0 || pid < 0)
        return rc;
    if (call_server_lives(cli))
        return 0;
    return server_start_why(cli, said, log_path, err);
}

/* ---- one that is needed ---- */

/* "nodes=4x16cpu,64Gi" of the settings that are kept; "" when there are none. */
static void put_kept(const struct text_node *settings, struct buf *out)
{
    for (const struct text_node *n = settings ? settings->first : NULL; n; n = n->next)
        if (strcmp(text_word(n, "from"), "kept") == 0)
            buf_addf(out, "%s%s=%s", out->len ? " " : "", text_word(n, "name"),
                     text_word(n, "value"));
}

static void say_started(struct cli *cli)
{
    struct err err;
    AUTO_BUF struct buf kept = BUF_INIT(64 << 10);
    const struct text_node *settings = text_get(call_get(cli, "/v1/config", &err), "config");
    const char *idle = server_setting(cli, "idle_exit");
    put_kept(settings, &kept);
    fputs("no server yet: started one for you (", stderr);
    if (kept.len)
        fprintf(stderr, "with %s, kept from the last one; ", buf_str(&kept));
    if (strcmp(idle, "never") != 0)
        fprintf(stderr, "ends after %s without work; ", strcmp(idle, "1h") == 0 ? "1 h" : idle);
    fprintf(stderr, "\"%s\" ends it now)\n", out_command(cli, REMEDY_SERVER_STOP, ""));
}

int server_ensure(struct cli *cli, struct err *err)
{
    bool ours = false;
    if (in_job_dir(cli) && (!cli->url || cli->found))
        return in_job_ensure(cli, err);
    if (cli->url || call_server_lives(cli))
        return 0;
    if (server_start(cli, NULL, &ours, err) < 0)
        return -1;
    if (ours && !cli->quiet)
        say_started(cli);
    return 0;
}

/* ---- one with other settings ---- */

/* One that somebody runs in the foreground, or a service manager, is started again by them. */
static int check_ours(struct cli *cli, struct err *err)
{
    AUTO_FREE char *info = file_join(cli->state_dir, "server.json");
    AUTO_FREE char *text = NULL;
    size_t len;
    struct report report;
    report_init(&report, cli->arena);
    const struct text_node *s = file_read(info, 64 << 10, &text, &len, err) < 0
                                    ? NULL
                                    : json_parse(cli->arena, text, len, 0, &report);
    if (text_flag(s, "detached"))
        return 0;
    err_set(err, ERR_CONFLICT,
            "server %llu was not started in the background, and has other "
            "settings",
            (unsigned long long)text_number(s, "pid"));
    err_hint(err, "start it anew with these flags, where it was started");
    return err_remedy(err, REMEDY_SERVER_STOP);
}

static const char *flag_of(struct cli *cli, const struct pair *given)
{
    char *flag = arena_printf(cli->arena, "--%s=%s", given->name, given->value);
    for (char *c = flag; *c && *c != '='; c++)
        *c = *c == '_' ? '-' : *c;
    return flag;
}

/* What the new one would not start with must not end the old one. */
static int check_settings(struct cli *cli, const struct pairs *given, struct err *err)
{
    const char **flags = ARENA_ARRAY(cli->arena, cli->host->n_server_opts + 1, const char *);
    for (size_t i = 0; i < cli->host->n_server_opts; i++) {
        const struct opt *row = &cli->host->server_opts[i];
        char *key = arena_strdup(cli->arena, row->name);
        for (char *c = key; *c; c++)
            *c = *c == '-' ? '_' : *c;
        bool own = strcmp(key, "state_dir") == 0;
        flags[row->offset / sizeof *flags] = own ? cli->state_dir : pairs_get(given, key);
    }
    return cli->host->settings(cli->arena, flags, err) ? 0 : -1;
}

static void say_kept(const struct cli *cli, const struct pairs *given)
{
    for (size_t i = 0; i < given->n && !cli->quiet && !cli->json; i++) {
        const struct pair *one = &given->at[i];
        if (!settings_file_is(one->name) || !*one->value)
            continue;
        fprintf(stderr, "%s=%s is kept for the servers of this state directory (\"%s\" drops it)\n",
                one->name, one->value, out_command(cli, REMEDY_DROP_KEPT, one->name));
    }
}

int server_set(struct cli *cli, const struct pairs *given, struct err *err)
{
    const char **args = ARENA_ARRAY(cli->arena, given->n + 1, const char *);
    struct err first;
    if (in_job_dir(cli))
        return in_job_start(cli, NULL, given, err);
    bool ours = false, lives = call_server_lives(cli);
    int changes = lives ? server_count_new(cli, given, err) : 0;
    if (changes < 0 || (changes > 0 && check_ours(cli, err) < 0) ||
        check_settings(cli, given, err) < 0)
        return -1;
    if (changes > 0 && server_end(cli, err) < 0)
        return -1;
    for (size_t i = 0; i < given->n; i++)
        args[i] = flag_of(cli, &given->at[i]);
    if (lives && !changes) {
        if (!cli->json && !cli->quiet)
            fputs("a server runs already\n", stderr);
    } else if (server_start(cli, args, &ours, err) < 0) {
        args[0] = NULL;
        if (changes > 0)
            server_start(cli, args, &ours, &first); /* as it was */
        return -1;
    } else if (changes > 0 && !cli->json && !cli->quiet) {
        fputs("the server was started anew with these settings; its jobs go on\n", stderr);
    }
    if (settings_file_add(cli->arena, cli->state_dir, given, err) < 0)
        return -1;
    say_kept(cli, given);
    return 0;
}
