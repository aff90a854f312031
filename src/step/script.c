/* Without files of its own the script writes where this process does. With them its output passes
 * through here, to the job's log and to the files: muster's log has all of a job, whatever files it
 * asked for.
 *
 * Caveats: a file that cannot be opened does not fail the job, as it would under Slurm, where
 * nothing else has the output. */
#include "step/script.h"

#include "base/file.h"
#include "base/mem.h"
#include "launch/rank_spawn.h"
#include "step/out_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 32 << 10, OUTPUTS = 2 };

struct copy { /* from a pipe to where it goes */
    struct script *script;
    uv_poll_t poll;
    int from, own, file; /* -1: none */
    bool polled;
};
struct script {
    struct arena *arena;
    pid_t pid;
    struct copy copies[OUTPUTS];
    int files[OUTPUTS];
    unsigned handles;
    bool destroyed;
};

static void free_if_gone(struct script *s)
{
    if (s->destroyed && s->handles == 0) {
        arena_destroy(s->arena);
        free(s);
    }
}

/* ---- copying ---- */

static void on_closed(uv_handle_t *handle)
{
    struct script *s = handle->data;
    s->handles--;
    free_if_gone(s);
}

static void close_copy(struct copy *c)
{
    if (c->polled)
        uv_close((uv_handle_t *)&c->poll, on_closed);
    c->polled = false;
    if (c->from >= 0)
        close(c->from);
    c->from = -1;
}

static void write_all(int fd, const char *at, size_t n)
{
    while (fd >= 0 && n > 0) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return; /* a full disk does not end the job; its log has the rest */
        at += done;
        n -= (size_t)done;
    }
}

static bool copy_piece(struct copy *c)
{
    char piece[PIECE];
    ssize_t n = read(c->from, piece, sizeof piece);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        close_copy(c);
        return false;
    }
    write_all(c->own, piece, (size_t)n);
    write_all(c->file, piece, (size_t)n);
    return true;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct copy *c = (struct copy *)(void *)((char *)poll - offsetof(struct copy, poll));
    (void)status;
    (void)events;
    (void)copy_piece(c);
}

/* ---- files ---- */

static int open_file(struct out_files *files, const struct node_conf *conf, struct arena *a,
                     const char *pattern)
{
    const char *path = pattern_expand(a, pattern, &conf->facts);
    int fd = out_files_open(files, path, conf->append);
    if (fd < 0)
        fprintf(stderr, "muster-step: %s: %s; the output is in the job's log\n", path,
                strerror(errno));
    return fd;
}

static void open_files(struct script *s, const struct node_conf *conf)
{
    const char *patterns[OUTPUTS] = { conf->output, conf->error };
    struct out_files opened = { .n = 0 };
    for (size_t i = 0; i < OUTPUTS; i++)
        s->files[i] = patterns[i] ? open_file(&opened, conf, s->arena, patterns[i]) : -1;
    out_files_fini(&opened);
}

/* ---- starting ---- */

static char *write_script(struct script *s, const struct node_conf *conf, struct err *err)
{
    char *path = arena_printf(s->arena, "%s/slurm_script", conf->dir);
    if (!conf->script) {
        err_set(err, ERR_CANNOT, "the job has no batch script");
        return NULL;
    }
    return file_replace(path, conf->script, strlen(conf->script), 0700, err) == 0 ? path : NULL;
}

static int enter_dir(const struct node_conf *conf, struct err *err)
{
    if (!conf->chdir || chdir(conf->chdir) == 0)
        return 0;
    err_sys(err, "--chdir=%s", conf->chdir);
    return err_hint(err, "a directory that is there on the node %s", conf->facts.node);
}

static int watch_copy(uv_loop_t *loop, struct script *s, size_t i, int fds[2])
{
    struct copy *c = &s->copies[i];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return -1;
    *c = (struct copy){ .script = s,
                        .from = fds[0],
                        .own = i == 0 ? STDOUT_FILENO : STDERR_FILENO,
                        .file = i == 1 && s->files[1] < 0 ? s->files[0] : s->files[i] };
    (void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
    if (uv_poll_init(loop, &c->poll, c->from) != 0)
        return -1;
    c->poll.data = s;
    c->polled = true;
    s->handles++;
    return uv_poll_start(&c->poll, UV_READABLE | UV_DISCONNECT, on_readable);
}

/* Where its streams go; both ends of pipes are closed when it runs. */
static int make_streams(uv_loop_t *loop, struct script *s, const struct node_conf *conf, int out[3],
                        struct err *err)
{
    const char *input =
        conf->input ? pattern_expand(s->arena, conf->input, &conf->facts) : "/dev/null";
    out[0] = open(input, O_RDONLY | O_CLOEXEC);
    if (out[0] < 0)
        return err_sys(err, "--input=%s", input);
    out[1] = STDOUT_FILENO;
    out[2] = STDERR_FILENO;
    for (size_t i = 0; i < OUTPUTS; i++) {
        int fds[2];
        if (s->files[i] < 0 && (i == 0 || s->files[0] < 0))
            continue;
        if (watch_copy(loop, s, i, fds) != 0)
            return err_sys(err, "a pipe for the script");
        out[1 + i] = fds[1];
    }
    return 0;
}

static int spawn(struct script *s, char *path, const struct node_conf *conf, const int streams[3],
                 struct err *err)
{
    char **argv = ARENA_ARRAY(s->arena, conf->args.n + 2, char *);
    int fds[2];
    argv[0] = path;
    for (size_t i = 0; i < conf->args.n; i++)
        argv[1 + i] = arena_strdup(s->arena, conf->args.at[i]);
    if (pipe2(fds, O_CLOEXEC) != 0)
        return err_sys(err, "a pipe");
    const struct rank_spawn how = { .program = path,
                                    .argv = argv,
                                    .env = environ,
                                    .in = streams[0],
                                    .out = streams[1],
                                    .err = streams[2],
                                    .failures = fds[1] };
    struct rank_failure failure = { .number = 0 };
    s->pid = rank_spawn(&how);
    int number = errno;
    close(fds[1]);
    bool failed = s->pid > 0 && read(fds[0], &failure, sizeof failure) == sizeof failure;
    close(fds[0]);
    if (s->pid > 0 && !failed)
        return 0;
    errno = failed ? failure.number : number;
    err_sys(err, "starting the batch script");
    return err_hint(err, "its first line names its interpreter: %.60s",
                    arena_strndup(s->arena, conf->script, strcspn(conf->script, "\n")));
}

struct script *script_start(uv_loop_t *loop, const struct node_conf *conf, struct err *err)
{
    struct script *s = mem_new(sizeof *s);
    *s = (struct script){ .arena = arena_create(),
                          .files = { -1, -1 },
                          .copies = { { .from = -1 }, { .from = -1 } } };
    int streams[3] = { -1, -1, -1 };
    char *path = write_script(s, conf, err);
    bool good = path && enter_dir(conf, err) == 0;
    if (good)
        open_files(s, conf);
    good = good && make_streams(loop, s, conf, streams, err) == 0 &&
           spawn(s, path, conf, streams, err) == 0;
    for (size_t i = 0; i < 3; i++)
        if (streams[i] > STDERR_FILENO)
            close(streams[i]);
    if (good)
        return s;
    script_destroy(s);
    return NULL;
}

void script_signal(const struct script *s, int number)
{
    (void)kill(s->pid, number);
}

bool script_reap(struct script *s, pid_t pid, int status, int *code)
{
    enum { PIPE_PIECES = 32 }; /* a full pipe of a megabyte */
    if (pid != s->pid)
        return false;
    for (size_t i = 0; i < OUTPUTS; i++) {
        for (int k = 0; k < PIPE_PIECES && s->copies[i].from >= 0; k++)
            if (!copy_piece(&s->copies[i]))
                break;
        close_copy(&s->copies[i]);
    }
    *code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

void script_destroy(struct script *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < OUTPUTS; i++) {
        close_copy(&s->copies[i]);
        if (s->files[i] >= 0)
            close(s->files[i]);
    }
    s->destroyed = true;
    free_if_gone(s);
}
