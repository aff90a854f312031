/* Commands by exec: their descriptors on one side, frames on the other. Output is read only while
 * the uplink has room and the client takes it, input comes as the command takes it: EXEC says how
 * much may be under way. A server of before says nothing of it: input that the command does not
 * read waits here up to INPUT_MAX bytes; more ends the command with a reason, since the connection,
 * which all of the agent's news travel on, cannot wait for it. */
#include "node/shells.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "node/environment.h"
#include "node/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

#define SHELLS_MAX  64u
#define INPUT_MAX   (8u << 20)
#define PIPE_MOST   (1u << 20) /* what a pipe holds */
#define PIECE       16384u
#define NOT_STARTED 127u

enum side { SIDE_IN, SIDE_OUT, SIDE_ERR, SIDES };
struct end {
    struct shell *shell;
    int fd; /* -1: closed */
    uv_poll_t poll;
};
struct shell {
    struct shells *all;
    uint32_t channel;
    pid_t pid;
    int pidfd, status;
    uint32_t exit_code;
    bool tty, input_over, gone;
    uint32_t window;        /* of EXEC; 0: none */
    uint64_t taken, told;   /* bytes of input: by the command, and told as taken */
    uint64_t sent, reached; /* of output: to the server, and taken by the client */
    uv_poll_t watch;
    struct end ends[SIDES];
    struct buf input;
    struct arena *arena;
    int handles;
};
struct shells {
    uv_loop_t *loop;
    struct uplink *link;
    VEC(struct shell *) list;
};

struct shells *shells_create(uv_loop_t *loop, struct uplink *link)
{
    struct shells *all = mem_new(sizeof *all);
    all->loop = loop;
    all->link = link;
    return all;
}

/* ---- letting go ---- */

static void on_closed(uv_handle_t *handle)
{
    struct shell *shell = handle->data;
    if (--shell->handles > 0)
        return;
    buf_fini(&shell->input);
    arena_destroy(shell->arena);
    free(shell);
}

static void on_end_closed(uv_handle_t *handle)
{
    struct end *end = handle->data;
    handle->data = end->shell;
    on_closed(handle);
}

static void close_end(struct end *end)
{
    if (end->fd < 0)
        return;
    uv_close((uv_handle_t *)&end->poll, on_end_closed);
    close(end->fd);
    end->fd = -1;
}

static void forget(struct shell *shell)
{
    struct shells *all = shell->all;
    for (size_t i = 0; i < all->list.n; i++)
        if (all->list.at[i] == shell) {
            vec_remove(&all->list, i);
            break;
        }
    for (size_t i = 0; i < SIDES; i++)
        close_end(&shell->ends[i]);
    close(shell->pidfd);
    close(shell->status);
    uv_close((uv_handle_t *)&shell->watch, on_closed);
}

static void end_now(struct shell *shell)
{
    if (!shell->gone) {
        struct proc_list below = { .n = 0 };
        proc_children(shell->pid, &below); /* in a process namespace the command is one of these */
        for (size_t i = 0; i < below.n; i++)
            (void)kill(-below.at[i], SIGKILL);
        (void)kill(-shell->pid, SIGKILL);
        (void)kill(shell->pid, SIGKILL); /* it may not lead its group yet */
        (void)waitpid(shell->pid, NULL, 0);
    }
    forget(shell);
}

void shells_end_all(struct shells *all)
{
    while (all->list.n > 0)
        end_now(all->list.at[0]);
}

void shells_destroy(struct shells *all)
{
    if (!all)
        return;
    shells_end_all(all);
    vec_fini(&all->list);
    free(all);
}

/* ---- output ---- */

/* reason: why it could not be started, or NULL. */
static void say_exit(struct shells *all, uint32_t channel, uint32_t code, const char *reason)
{
    char text[300];
    if (!uplink_is_up(all->link))
        return;
    struct buf *out = uplink_out(all->link);
    if (reason) {
        int n = snprintf(text, sizeof text, "muster: %s\n", reason);
        wire_put_data(out, WIRE_STDERR, channel, text,
                      n < (int)sizeof text ? (size_t)n : sizeof text - 1);
    }
    wire_put(out, 0, &(struct wire_exit){ .channel = channel, .code = code });
    uplink_flush(all->link);
}

/* 1: read something, 0: nothing there now, -1: the end. */
static int move_out(struct shell *shell, enum side side)
{
    struct end *end = &shell->ends[side];
    char piece[PIECE];
    ssize_t n = read(end->fd, piece, sizeof piece);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return -1; /* a terminal whose other side is closed says EIO */
    shell->sent += (uint64_t)n;
    if (uplink_is_up(shell->all->link)) {
        wire_put_data(uplink_out(shell->all->link), side == SIDE_ERR ? WIRE_STDERR : WIRE_STDOUT,
                      shell->channel, piece, (size_t)n);
        uplink_flush(shell->all->link);
    }
    return 1;
}

/* The command has ended: what lies in its pipes still goes out, then the end. What it left may
 * write on: that is not waited for. */
static void conclude(struct shell *shell)
{
    struct stage_failure failure;
    for (enum side side = SIDE_OUT; side <= SIDE_ERR; side++) {
        const uint64_t most = shell->sent + PIPE_MOST;
        while (shell->ends[side].fd >= 0 && shell->sent < most && move_out(shell, side) > 0)
            continue;
    }
    if (stage_outcome(shell->status, NULL, &failure) == 1)
        say_exit(shell->all, shell->channel, NOT_STARTED, failure.reason);
    else
        say_exit(shell->all, shell->channel, shell->exit_code, NULL);
    forget(shell);
}

static bool may_send(const struct shell *shell)
{
    return uplink_has_room(shell->all->link) &&
           (!shell->window || shell->sent - shell->reached < shell->window);
}

static void on_output(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct end *end = poll->data;
    struct shell *shell = end->shell;
    if (!may_send(shell)) {
        uv_poll_stop(poll);
        return;
    }
    if (move_out(shell, (enum side)(end - shell->ends)) < 0)
        close_end(end);
}

static void read_on(struct shell *shell)
{
    for (enum side side = SIDE_OUT; side <= SIDE_ERR; side++) {
        struct end *end = &shell->ends[side];
        if (end->fd >= 0)
            uv_poll_start(&end->poll, UV_READABLE, on_output);
    }
}

void shells_go_on(struct shells *all)
{
    for (size_t i = 0; i < all->list.n; i++)
        read_on(all->list.at[i]);
}

static void on_process_end(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct shell *shell = poll->data;
    int end;
    if (waitpid(shell->pid, &end, WNOHANG) != shell->pid)
        return;
    shell->gone = true;
    shell->exit_code = (uint32_t)(WIFEXITED(end) ? WEXITSTATUS(end) : 128 + WTERMSIG(end));
    conclude(shell);
}

/* ---- input ---- */

static void on_input_ready(uv_poll_t *poll, int status, int events);

/* Not of each piece. */
static void tell_input(struct shell *shell, size_t more)
{
    shell->taken += more;
    if (!shell->window || shell->taken - shell->told < shell->window / 4 ||
        !uplink_is_up(shell->all->link))
        return;
    shell->told = shell->taken;
    wire_put(uplink_out(shell->all->link), 0,
             &(struct wire_reached_report){ .channel = shell->channel, .input = shell->taken });
    uplink_flush(shell->all->link);
}

static void move_in(struct shell *shell)
{
    struct end *end = &shell->ends[SIDE_IN];
    while (end->fd >= 0 && shell->input.len > 0) {
        ssize_t n = write(end->fd, shell->input.data, shell->input.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            uv_poll_start(&end->poll, UV_WRITABLE, on_input_ready);
            return;
        }
        if (n < 0) { /* it reads no more */
            tell_input(shell, shell->input.len);
            buf_clear(&shell->input);
            close_end(end);
            return;
        }
        buf_drop(&shell->input, (size_t)n);
        tell_input(shell, (size_t)n);
    }
    if (end->fd < 0)
        return;
    uv_poll_stop(&end->poll);
    if (shell->input_over)
        close_end(end);
}

static void on_input_ready(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    move_in(((struct end *)poll->data)->shell);
}

static struct shell *find(const struct shells *all, uint32_t channel)
{
    for (size_t i = 0; i < all->list.n; i++)
        if (all->list.at[i]->channel == channel)
            return all->list.at[i];
    return NULL;
}

void shells_input(struct shells *all, const struct wire_data *data)
{
    struct shell *shell = find(all, data->channel);
    if (shell && shell->ends[SIDE_IN].fd < 0)
        tell_input(shell, data->len);
    if (!shell || shell->ends[SIDE_IN].fd < 0 || shell->input_over)
        return;
    if (data->len == 0 && shell->tty)
        buf_putc(&shell->input, 'D' & 0x1f); /* what a terminal sends for "no more" */
    else if (data->len == 0)
        shell->input_over = true;
    else
        buf_add(&shell->input, data->at, data->len);
    if (shell->input.overflow) {
        say_exit(all, shell->channel, NOT_STARTED, "the command does not read its input");
        end_now(shell);
        return;
    }
    move_in(shell);
}

void shells_reached(struct shells *all, const struct wire_reached_report *reached)
{
    struct shell *shell = find(all, reached->channel);
    if (!shell || reached->output > shell->sent)
        return;
    shell->reached = reached->output;
    read_on(shell);
}

void shells_end(struct shells *all, uint32_t channel)
{
    struct shell *shell = find(all, channel);
    if (shell)
        end_now(shell);
}

void shells_resize(struct shells *all, const struct wire_resize *resize)
{
    struct shell *shell = find(all, resize->channel);
    if (!shell || !shell->tty || shell->ends[SIDE_OUT].fd < 0)
        return;
    struct winsize size = { .ws_row = resize->rows, .ws_col = resize->cols };
    (void)ioctl(shell->ends[SIDE_OUT].fd, TIOCSWINSZ, &size);
}

/* ---- opening ---- */

struct pipe_ends { /* ours and theirs; -1: none */
    int ours[SIDES], theirs[SIDES];
};

static void close_all(int *fds)
{
    for (size_t i = 0; i < SIDES; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

static int lay_terminal(struct pipe_ends *out, const struct wire_exec *exec)
{
    struct err err;
    int master = stage_terminal(&out->theirs[SIDE_IN], &err);
    if (master < 0)
        return -1;
    out->ours[SIDE_OUT] = master;
    out->ours[SIDE_IN] = fcntl(master, F_DUPFD_CLOEXEC, 3);
    struct winsize size = { .ws_row = exec->rows, .ws_col = exec->cols };
    (void)ioctl(master, TIOCSWINSZ, &size);
    for (size_t i = SIDE_OUT; i < SIDES; i++)
        out->theirs[i] = fcntl(out->theirs[SIDE_IN], F_DUPFD_CLOEXEC, 3);
    return out->ours[SIDE_IN] < 0 || out->theirs[SIDE_ERR] < 0 ? -1 : 0;
}

static int lay_pipes(struct pipe_ends *out)
{
    for (size_t i = 0; i < SIDES; i++) {
        int pair[2];
        if (pipe2(pair, O_CLOEXEC) != 0)
            return -1;
        out->ours[i] = pair[i == SIDE_IN];
        out->theirs[i] = pair[i != SIDE_IN];
    }
    return 0;
}

static char **environment_for(struct arena *arena, char *const *env, bool tty)
{
    size_t n = 0;
    while (env[n])
        n++;
    char **copy = ARENA_ARRAY(arena, n + 2, char *);
    memcpy(copy, env, n * sizeof *copy);
    const char *term = environment_get(env, "TERM");
    if (tty && (!term || strcmp(term, "dumb") == 0))
        copy[n] = arena_strdup(arena, "TERM=xterm-256color");
    return copy;
}

static void choose_program(struct stage *stage, struct arena *arena, const struct wire_exec *exec)
{
    stage->shell = NULL;
    if (exec->port) {
        stage->own_program = true;
        stage->argv = ARENA_ARRAY(arena, 4, char *);
        stage->argv[0] = arena_strdup(arena, "muster-node");
        stage->argv[1] = arena_strdup(arena, "port");
        stage->argv[2] = arena_printf(arena, "%u", exec->port);
        return;
    }
    stage->argv = ARENA_ARRAY(arena, exec->argv.n + 2, char *);
    for (size_t i = 0; i < exec->argv.n; i++)
        stage->argv[i] = arena_strdup(arena, exec->argv.at[i]);
    if (exec->argv.n == 0)
        stage->argv[0] = arena_strdup(arena, "bash");
    stage->or_sh = exec->argv.n == 0;
}

static void attach(struct shell *shell, struct pipe_ends *pipes)
{
    uv_loop_t *loop = shell->all->loop;
    shell->pidfd = (int)syscall(SYS_pidfd_open, shell->pid, 0);
    shell->watch.data = shell;
    if (shell->pidfd < 0 || uv_poll_init(loop, &shell->watch, shell->pidfd) != 0)
        BUG("a process cannot be polled");
    uv_poll_start(&shell->watch, UV_READABLE, on_process_end);
    shell->handles = 1;
    for (size_t i = 0; i < SIDES; i++) {
        struct end *end = &shell->ends[i];
        end->shell = shell;
        end->fd = pipes->ours[i];
        if (end->fd < 0)
            continue;
        (void)fcntl(end->fd, F_SETFL, O_NONBLOCK);
        end->poll.data = end;
        if (uv_poll_init(loop, &end->poll, end->fd) != 0)
            BUG("a pipe cannot be polled");
        shell->handles++;
        if (i != SIDE_IN)
            uv_poll_start(&end->poll, UV_READABLE, on_output);
    }
}

static const char *start(struct shell *shell, const struct wire_exec *exec,
                         const struct stage *where, struct err *err)
{
    struct pipe_ends pipes = { .ours = { -1, -1, -1 }, .theirs = { -1, -1, -1 } };
    struct stage stage = *where;
    choose_program(&stage, shell->arena, exec);
    stage.env = environment_for(shell->arena, where->env, exec->tty);
    int rc = exec->tty ? lay_terminal(&pipes, exec) : lay_pipes(&pipes);
    if (rc == 0) {
        struct stage_ends ends = { .in = pipes.theirs[SIDE_IN],
                                   .out = pipes.theirs[SIDE_OUT],
                                   .err = pipes.theirs[SIDE_ERR],
                                   .tty = exec->tty };
        stage_give_ends(&stage, &ends);
        shell->pid = stage_start(&stage, &ends, &shell->status, err);
    } else {
        err_sys(err, "no terminal or pipe");
    }
    close_all(pipes.theirs);
    if (rc != 0 || shell->pid < 0) {
        close_all(pipes.ours);
        return err->what;
    }
    attach(shell, &pipes);
    return NULL;
}

void shells_open(struct shells *all, const struct wire_exec *exec, const struct stage *where)
{
    struct err err = { .code = ERR_NONE };
    if (!where || all->list.n >= SHELLS_MAX || find(all, exec->channel)) {
        say_exit(all, exec->channel, NOT_STARTED,
                 where ? "too many commands at once" : "this task does not run here");
        return;
    }
    struct shell *shell = mem_new(sizeof *shell);
    shell->all = all;
    shell->channel = exec->channel;
    shell->tty = exec->tty;
    shell->window = exec->window;
    shell->arena = arena_create();
    buf_init(&shell->input, INPUT_MAX);
    const char *problem = start(shell, exec, where, &err);
    if (problem) {
        say_exit(all, exec->channel, NOT_STARTED, problem);
        buf_fini(&shell->input);
        arena_destroy(shell->arena);
        free(shell);
        return;
    }
    vec_push(&all->list, shell);
}
