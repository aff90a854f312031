/* Each task is a session of its own with three pipes.
 *
 * What a task has written is read until its pipes are empty when it ends; what its children still
 * hold open is not waited for. When the last task of the step has ended, what is left in their
 * process groups is killed, as Slurm does with a step.
 *
 * Caveats: a pipe's end is closed by uv's callback, so tasks are freed when their handles are. */
#include "step/tasks.h"

#include "base/err.h"
#include "base/mem.h"
#include "launch/rank_spawn.h"
#include "step/task_env.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_MAX = 1 << 20 };

struct tasks;
struct stream { /* stdout or stderr of a task */
    struct task *task;
    uv_poll_t poll;
    int fd; /* -1: closed */
    uint32_t number;
    bool polled; /* the handle is in the loop */
};
struct task {
    struct tasks *of;
    const struct step_task *what;
    pid_t pid; /* 0: none */
    bool exited, told;
    struct stream streams[2];
    int in; /* -1: none */
    uv_poll_t in_poll;
    bool in_polled, in_ended;
    struct buf input;
    struct step_ended_task ended;
};
struct tasks {
    uv_loop_t *loop;
    const struct step_start *start;
    struct tasks_sink sink;
    struct arena *arena;
    struct task *at;
    size_t n, left, handles;
    bool held, destroyed;
};

/* ---- handles ---- */

static void free_if_gone(struct tasks *t)
{
    if (!t->destroyed || t->handles > 0)
        return;
    for (size_t i = 0; i < t->n; i++)
        buf_fini(&t->at[i].input);
    arena_destroy(t->arena);
    free(t);
}

static void on_closed(uv_handle_t *handle)
{
    struct tasks *t = handle->data;
    t->handles--;
    free_if_gone(t);
}

static void add_handle(struct tasks *t, uv_poll_t *poll, int fd)
{
    if (uv_poll_init(t->loop, poll, fd) != 0)
        BUG("a pipe that cannot be polled");
    poll->data = t;
    t->handles++;
}

static void close_stream(struct stream *s)
{
    if (s->polled)
        uv_close((uv_handle_t *)&s->poll, on_closed);
    s->polled = false;
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static void close_input(struct task *task)
{
    if (task->in_polled)
        uv_close((uv_handle_t *)&task->in_poll, on_closed);
    task->in_polled = false;
    if (task->in >= 0)
        close(task->in);
    task->in = -1;
    buf_clear(&task->input);
}

/* ---- output ---- */

/* What is there now, at most one piece. 1: there may be more; 0: not now; -1: the end. */
static int read_piece(struct stream *s)
{
    char piece[STEP_PIECE];
    ssize_t n = read(s->fd, piece, sizeof piece);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return -1;
    const struct step_data data = {
        .rank = s->task->what->rank, .stream = s->number, .at = piece, .len = (size_t)n
    };
    s->task->of->sink.output(s->task->of->sink.arg, &data);
    return 1;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct tasks *t = poll->data;
    struct stream *s = (struct stream *)(void *)((char *)poll - offsetof(struct stream, poll));
    (void)status;
    (void)events;
    if (t->held || s->fd < 0)
        return;
    if (read_piece(s) < 0)
        close_stream(s);
}

static void watch_stream(struct stream *s)
{
    if (s->polled && s->fd >= 0)
        (void)uv_poll_start(&s->poll, UV_READABLE | UV_DISCONNECT, on_readable);
}

/* A whole pipe, but no more: who still writes to it is no task. */
static void drain(struct stream *s)
{
    enum { PIPE_BYTES = 1 << 20 };
    for (size_t done = 0; s->fd >= 0 && done < PIPE_BYTES; done += STEP_PIECE)
        if (read_piece(s) <= 0)
            break;
    close_stream(s);
}

/* ---- input ---- */

static void on_writable(uv_poll_t *poll, int status, int events)
{
    struct task *task = (struct task *)(void *)((char *)poll - offsetof(struct task, in_poll));
    (void)events;
    ssize_t n =
        status == 0 && task->input.len ? write(task->in, task->input.data, task->input.len) : 0;
    if (n > 0)
        buf_drop(&task->input, (size_t)n);
    bool broken = status != 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    if (broken || (task->input.len == 0 && task->in_ended))
        close_input(task);
    else if (task->input.len == 0)
        (void)uv_poll_stop(poll);
    task->of->sink.taken(task->of->sink.arg);
}

void tasks_input(struct tasks *t, const struct step_data *data)
{
    for (size_t i = 0; i < t->n; i++) {
        struct task *task = &t->at[i];
        bool meant = data->rank == STEP_ALL_RANKS || data->rank == task->what->rank;
        if (task->in < 0)
            continue;
        if (!meant || data->len == 0)
            task->in_ended = true; /* what is for one is not for the others */
        if (meant)
            buf_add(&task->input, data->at, data->len);
        if (task->in_polled)
            (void)uv_poll_start(&task->in_poll, UV_WRITABLE, on_writable);
    }
}

size_t tasks_input_waits(const struct tasks *t)
{
    size_t most = 0;
    for (size_t i = 0; i < t->n; i++)
        most = t->at[i].input.len > most ? t->at[i].input.len : most;
    return most;
}

bool tasks_take_input(const struct tasks *t)
{
    return tasks_input_waits(t) <= INPUT_MAX / 2;
}

/* ---- ends ---- */

static void tell_end(struct task *task)
{
    struct tasks *t = task->of;
    if (task->told)
        return;
    task->told = true;
    for (size_t k = 0; k < 2; k++)
        drain(&task->streams[k]);
    close_input(task);
    t->sink.taken(t->sink.arg);
    t->left--;
    t->sink.ended(t->sink.arg, &task->ended);
}

/* A number is given to no other process while it is a group's: a process that has the number of a
 * task which was reaped is a stranger, and so is its group. */
static bool is_strangers(const struct task *task)
{
    return task->exited && (kill(task->pid, 0) == 0 || errno == EPERM);
}

static void kill_left(struct tasks *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i].pid > 0 && !is_strangers(&t->at[i]))
            (void)kill(-t->at[i].pid, SIGKILL);
}

bool tasks_reap(struct tasks *t, pid_t pid, int status)
{
    struct task *task = NULL;
    bool all = true;
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i].pid == pid && !t->at[i].exited) {
            task = &t->at[i];
            task->exited = true;
        }
        all &= t->at[i].exited;
    }
    if (!task)
        return false;
    if (WIFSIGNALED(status))
        task->ended.signal = (uint32_t)WTERMSIG(status);
    else if (!*task->ended.why)
        task->ended.code = (uint32_t)WEXITSTATUS(status);
    if (all)
        kill_left(t);
    tell_end(task);
    return true;
}

bool tasks_done(const struct tasks *t)
{
    return t->left == 0;
}

void tasks_signal(struct tasks *t, int number)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i].pid > 0 && !t->at[i].exited)
            (void)kill(-t->at[i].pid, number);
}

void tasks_hold(struct tasks *t, bool hold)
{
    t->held = hold;
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < 2; k++) {
            struct stream *s = &t->at[i].streams[k];
            if (hold && s->polled)
                (void)uv_poll_stop(&s->poll);
            else
                watch_stream(s);
        }
}

/* ---- starting ---- */

struct ends {
    int mine, theirs;
};

static bool make_pipe(struct ends *ends, bool to_task)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    *ends = to_task ? (struct ends){ fds[1], fds[0] } : (struct ends){ fds[0], fds[1] };
    (void)fcntl(ends->mine, F_SETFL, O_NONBLOCK);
    return true;
}

static void cannot_start(struct task *task, const char *program, int number)
{
    struct tasks *t = task->of;
    bool absent = number == ENOENT;
    task->exited = true;
    task->ended.code = absent ? 127 : 126;
    task->ended.why = arena_printf(t->arena, "execve(): %.200s: %s", program, strerror(number));
}

/* errno of exec, which closes the pipe when it succeeds. */
static int exec_failure(int fd)
{
    struct rank_failure failure;
    ssize_t n;
    do
        n = read(fd, &failure, sizeof failure);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof failure ? failure.number : 0;
}

static void spawn(struct task *task, const struct task_program *program, const struct ends ends[3])
{
    struct rank_spawn how = { .argv = program->argv,
                              .env = program->env,
                              .in = ends[0].theirs,
                              .out = ends[1].theirs,
                              .err = ends[2].theirs,
                              .cpus = program->bound ? &program->cpus : NULL };
    int fds[2];
    how.program = rank_spawn_find(task->of->arena, program->argv[0], program->env);
    if (!how.program) {
        cannot_start(task, program->argv[0], errno);
        return;
    }
    if (pipe2(fds, O_CLOEXEC) != 0) {
        cannot_start(task, program->argv[0], errno);
        return;
    }
    how.failures = fds[1];
    task->pid = rank_spawn(&how);
    int number = errno;
    close(fds[1]);
    if (task->pid < 0) {
        task->pid = 0;
        cannot_start(task, program->argv[0], number);
    } else if ((number = exec_failure(fds[0]))) {
        cannot_start(task, program->argv[0], number);
        task->exited = false; /* it is a child all the same, and is reaped */
    }
    close(fds[0]);
}

static void start_one(struct task *task, size_t local, char *const *own)
{
    struct tasks *t = task->of;
    struct ends ends[3] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
    struct task_program program;
    task_program_make(t->arena, t->start, local, own, &program);
    bool made = make_pipe(&ends[1], false) && make_pipe(&ends[2], false);
    if (made && t->start->input)
        made = make_pipe(&ends[0], true);
    else if (made)
        ends[0].theirs = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (made && ends[0].theirs >= 0)
        spawn(task, &program, ends);
    else
        cannot_start(task, program.argv[0], errno);
    for (size_t i = 0; i < 3; i++)
        if (ends[i].theirs >= 0)
            close(ends[i].theirs);
    task->in = ends[0].mine;
    if (task->in >= 0) {
        add_handle(t, &task->in_poll, task->in);
        task->in_polled = true;
    }
    for (size_t k = 0; k < 2; k++) {
        struct stream *s = &task->streams[k];
        s->fd = ends[1 + k].mine;
        if (s->fd < 0)
            continue;
        add_handle(t, &s->poll, s->fd);
        s->polled = true;
        watch_stream(s);
    }
}

/* Children start where this process is; Slurm goes on in /tmp where the directory is not there. */
static void enter_dir(struct tasks *t)
{
    if (!*t->start->dir || chdir(t->start->dir) == 0)
        return;
    const char *said =
        arena_printf(t->arena,
                     "slurmstepd: error: couldn't chdir to `%.2000s': %s: going to /tmp "
                     "instead\n",
                     t->start->dir, strerror(errno));
    const struct step_data data = {
        .rank = t->start->tasks[0].rank, .stream = 2, .at = said, .len = strlen(said)
    };
    t->sink.output(t->sink.arg, &data);
    if (chdir("/tmp") != 0)
        (void)!chdir("/");
}

struct tasks *tasks_start(uv_loop_t *loop, const struct step_start *start, char *const *own,
                          struct tasks_sink sink)
{
    struct tasks *t = mem_new(sizeof *t);
    int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    *t = (struct tasks){ .loop = loop, .start = start, .sink = sink, .arena = arena_create() };
    t->n = t->left = start->n_tasks;
    t->at = ARENA_ARRAY(t->arena, t->n, struct task);
    enter_dir(t);
    for (size_t i = 0; i < t->n; i++) {
        struct task *task = &t->at[i];
        *task = (struct task){ .of = t, .what = &start->tasks[i], .in = -1 };
        task->ended = (struct step_ended_task){ .rank = task->what->rank, .why = "" };
        task->input = BUF_INIT(INPUT_MAX);
        for (size_t k = 0; k < 2; k++)
            task->streams[k] = (struct stream){ .task = task, .fd = -1, .number = (uint32_t)k + 1 };
        start_one(task, i, own);
    }
    if (before >= 0 && fchdir(before) != 0)
        (void)!chdir("/");
    if (before >= 0)
        close(before);
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i].exited)
            tell_end(&t->at[i]);
    return t;
}

void tasks_destroy(struct tasks *t)
{
    if (!t)
        return;
    kill_left(t);
    for (size_t i = 0; i < t->n; i++) {
        for (size_t k = 0; k < 2; k++)
            close_stream(&t->at[i].streams[k]);
        close_input(&t->at[i]);
    }
    t->destroyed = true;
    free_if_gone(t);
}
