/* Streams at once with a client that blocks: one child follows the events, one the output, one is
 * at the task that is typed into, and this process waits for them and for signals. Children die
 * with their parent. Only whole lines are written, so that the streams mix well; the task that is
 * typed into writes for itself. */
#include "cli/watch.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/answer.h"
#include "cli/attach.h"
#include "cli/call.h"
#include "cli/follow.h"
#include "cli/log_print.h"
#include "cli/output.h"
#include "cli/phases.h"
#include "cli/waiting.h"
#include "wire/message.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define AGAIN_MS        3000
#define OUT_BUFFER      (1u << 20)
#define STATUS_HELD     10
#define STATUS_DETACHED 11

/* ---- the children ---- */

struct screen {
    struct cli *cli;
    const struct watch *watch;
    FILE *to;
    bool tty, held;
    struct phases phases;
    struct waiting waiting;
    bool moves; /* the last line says how far an image is */
    struct log_print log;
};

static void want_events(void *arg, struct buf *path, struct buf *body)
{
    struct screen *s = arg;
    char job[24];
    (void)body;
    snprintf(job, sizeof job, "%llu", (unsigned long long)s->watch->number);
    call_path(path, "/v1/jobs/", job, "/events");
    call_query_number(path, "after", s->phases.last_seq);
    call_query(path, "follow", "1");
}

/* The end is decided, all is over, and only resources are kept. */
static bool is_held(const struct text_node *event)
{
    return strcmp(text_word(event, "type"), "closing") == 0 &&
           answer_has(text_get(event, "body"), "hold_until_ms");
}

/* text NULL: that line goes. */
static void put_image(struct screen *s, const char *text)
{
    if (!s->cli->json && !s->cli->quiet && (text || s->moves))
        waiting_put_line(s->cli, text);
    s->moves = text != NULL;
}

static bool on_event(void *arg, const struct text_node *event)
{
    struct screen *s = arg;
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    const char *state = answer_text(event, "state", NULL);
    waiting_end(&s->waiting);
    put_image(s, waiting_image(s->cli->arena, event));
    phases_event(&s->phases, event, &out);
    fwrite(buf_str(&out), 1, out.len, s->to);
    fflush(s->to);
    waiting_state(&s->waiting, answer_has(event, "task") ? NULL : state);
    s->held = is_held(event);
    return !s->held;
}

static void on_gone(void *arg)
{
    struct screen *s = arg;
    char tasks[48];
    fprintf(s->to, "server gone, %s go on%s", out_count(tasks, s->watch->tasks, "task"),
            s->tty ? " …" : "\n");
    fflush(s->to);
}

static void on_back(void *arg, uint64_t after_ms)
{
    struct screen *s = arg;
    fprintf(s->to, "%sback after %.1f s, nothing lost\n", s->tty ? " " : "server ",
            (double)after_ms / 1000);
    fflush(s->to);
}

static int follow_events(struct screen *s)
{
    struct err err;
    struct follow follow = {
        .request = want_events, .record = on_event, .gone = on_gone, .back = on_back, .arg = s
    };
    s->waiting = (struct waiting){ .cli = s->cli, .number = s->watch->number };
    s->phases = (struct phases){ .tasks = s->watch->tasks,
                                 .work_dir = s->watch->work_dir,
                                 .color = s->cli->color };
    if (follow_run(s->cli, &follow, &err) < 0) {
        out_error(s->cli, &err);
        return err_exit_status(err.code);
    }
    return s->held ? STATUS_HELD : 0;
}

static void want_log(void *arg, struct buf *path, struct buf *body)
{
    struct screen *s = arg;
    char job[24];
    snprintf(job, sizeof job, "%llu", (unsigned long long)s->watch->number);
    call_path(path, "/v1/jobs/", job, "/logs");
    call_query(path, "follow", "1");
    log_print_resume(&s->log, body);
}

static bool on_record(void *arg, const struct text_node *record)
{
    struct screen *s = arg;
    if (s->watch->typed && strcmp(text_word(record, "task"), s->watch->typed) == 0) {
        log_print_place(&s->log, s->watch->typed, answer_number(record, "attempt", 1),
                        text_number(record, "offset"));
        return true;
    }
    log_print_record(&s->log, record);
    fflush(s->to);
    return true;
}

static int follow_log(struct screen *s)
{
    struct err err;
    struct follow follow = { .request = want_log, .record = on_record, .arg = s };
    log_print_init(&s->log, s->to, true, s->cli->color);
    int rc = follow_run(s->cli, &follow, &err);
    log_print_fini(&s->log);
    fflush(s->to);
    if (rc < 0)
        out_error(s->cli, &err);
    return rc < 0 ? err_exit_status(err.code) : 0;
}

/* ---- the task that is typed into ---- */

struct terminal_input {
    struct screen *screen;
    uint64_t seq, attempt; /* of the last event; of the task's last start */
    bool started, over;
    bool input_open;
    struct buf kept; /* input that the attempts before have not taken */
};

static void want_starts(void *arg, struct buf *path, struct buf *body)
{
    const struct terminal_input *t = arg;
    char job[24];
    (void)body;
    snprintf(job, sizeof job, "%llu", (unsigned long long)t->screen->watch->number);
    call_path(path, "/v1/jobs/", job, "/events");
    call_query_number(path, "after", t->seq);
    call_query(path, "follow", "1");
}

static bool on_start(void *arg, const struct text_node *event)
{
    struct terminal_input *t = arg;
    uint64_t attempt = text_number(event, "attempt");
    t->seq = answer_number(event, "seq", t->seq);
    t->over = is_held(event);
    t->started = strcmp(text_word(event, "type"), "task.started") == 0 &&
                 strcmp(text_word(event, "task"), t->screen->watch->typed) == 0 &&
                 attempt > t->attempt;
    if (t->started)
        t->attempt = attempt;
    return !t->started && !t->over;
}

/* One attempt of it: 0, or the status to leave with. */
static int type_into(struct terminal_input *t, struct err *err)
{
    const struct watch *w = t->screen->watch;
    struct attach a;
    enum attach_end end;
    int status = 0;
    attach_init(&a, t->screen->cli, w->tty, w->task_out);
    a.job = arena_printf(t->screen->cli->arena, "%llu", (unsigned long long)w->number);
    a.task = w->typed;
    a.attempt = t->attempt;
    a.quiet = true; /* the one who follows the events says it */
    a.session.input_open = t->input_open;
    if (t->kept.len)
        buf_add(&a.place.kept, t->kept.data, t->kept.len);
    if (attach_run(&a, &end, err) < 0 || (end == ATTACH_OVER && attach_show(&a, NULL, err) < 0))
        status = -1;
    else if (end == ATTACH_DETACHED)
        status = STATUS_DETACHED;
    else if (a.session.interrupted)
        status = a.session.status;
    t->input_open = a.session.input_open;
    buf_clear(&t->kept);
    buf_add(&t->kept, buf_str(&a.place.kept), a.place.kept.len);
    attach_fini(&a);
    return status;
}

/* Attempt after attempt, until the job has ended. */
static int follow_keys(struct screen *s)
{
    struct err err;
    struct terminal_input t = { .screen = s,
                                .input_open = true,
                                .kept = BUF_INIT(2 * ATTACH_WINDOW) };
    struct follow follow = { .request = want_starts, .record = on_start, .arg = &t };
    int status = 0;
    while (status == 0) {
        t.started = t.over = false;
        status = follow_run(s->cli, &follow, &err);
        if (status == 0 && !t.started)
            return 0;
        if (status == 0)
            status = type_into(&t, &err);
    }
    if (status > 0)
        return status;
    out_error(s->cli, &err);
    return err_exit_status(err.code);
}

/* ---- a child ---- */

/* A new stream: one that was used before its buffer was set writes its first piece alone. */
static FILE *screen_of(const struct watch *w, bool raw)
{
    if (w->silent)
        return fopen("/dev/null", "w");
    if (w->typed && isatty(STDERR_FILENO) == 1)
        return out_stream(STDERR_FILENO, OUT_TYPED);
    return out_stream(w->to_stderr ? STDERR_FILENO : STDOUT_FILENO, raw ? OUT_RAW : OUT_GUARDED);
}

_Noreturn static void be_child(struct cli *cli, const struct watch *w, int (*job)(struct screen *),
                               pid_t parent)
{
    char *buffer = mem_new(OUT_BUFFER); /* this process never returns */
    struct screen s = { .cli = cli, .watch = w, .to = screen_of(w, w->raw && job == follow_log) };
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, job == follow_keys ? SIGTERM : SIGKILL); /* the terminal in order */
    if (getppid() != parent)
        _exit(EXIT_INTERRUPTED);
    signal(SIGINT, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (!s.to)
        _exit(EXIT_JOB_FAILED);
    setvbuf(s.to, buffer, _IOFBF, OUT_BUFFER);
    s.tty = !w->typed && !w->silent && isatty(w->to_stderr ? STDERR_FILENO : STDOUT_FILENO) == 1;
    call_drop(cli);
    int status = job(&s);
    fflush(s.to);
    _exit(status);
}

/* ---- the parent ---- */

struct watching {
    struct cli *cli;
    const struct watch *watch;
    pid_t events, log, keys;
    int events_status, log_status, keys_status;
    uint64_t asked_ms; /* when Ctrl-C came first; 0: not */
    unsigned stops;    /* times the job was told to stop */
    bool left;
};

static pid_t spawn_child(struct watching *w, int (*job)(struct screen *))
{
    pid_t parent = getpid();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        be_child(w->cli, w->watch, job, parent);
    return pid;
}

static int status_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void say_detached(struct watching *w)
{
    const char *typed = w->watch->typed;
    const char *args =
        arena_printf(w->cli->arena, "%llu\n%s", (unsigned long long)w->watch->number, typed);
    fprintf(stderr, "\n%s goes on: %s\n", typed, out_command(w->cli, REMEDY_ATTACH, args));
    w->left = true;
}

static void reap(struct watching *w)
{
    int status;
    if (w->events > 0 && waitpid(w->events, &status, WNOHANG) == w->events) {
        w->events = 0;
        w->events_status = status_of(status);
        bool broken = w->events_status && w->events_status != STATUS_HELD;
        if (broken && w->log > 0)
            kill(w->log, SIGTERM);
        if (broken && w->keys > 0)
            kill(w->keys, SIGTERM);
    }
    if (w->keys > 0 && waitpid(w->keys, &status, WNOHANG) == w->keys) {
        w->keys = 0;
        w->keys_status = status_of(status);
        if (w->keys_status == STATUS_DETACHED)
            say_detached(w);
        if (w->keys_status && w->events > 0 && w->events_status == 0)
            kill(w->events, SIGTERM);
    }
    if (w->log > 0 && waitpid(w->log, &status, WNOHANG) == w->log) {
        w->log = 0;
        w->log_status = status_of(status);
        if (w->log_status && w->events > 0 && w->events_status == 0)
            kill(w->events, SIGTERM);
    }
}

static void stop_job(struct watching *w)
{
    AUTO_BUF struct buf path = BUF_INIT(256);
    struct err err;
    buf_addf(&path, "/v1/jobs/%llu/stop%s", (unsigned long long)w->watch->number,
             w->stops ? "?now=1" : "");
    fprintf(stderr, "stopping %llu%s\n", (unsigned long long)w->watch->number,
            w->stops ? " now" : "");
    if (!call_send(w->cli, &(struct call){ .method = "POST", .path = buf_str(&path) }, &err))
        out_error(w->cli, &err);
    call_drop(w->cli);
    w->stops++;
}

static void on_interrupt(struct watching *w)
{
    uint64_t now = clock_mono_ms();
    if (w->asked_ms || w->stops) {
        stop_job(w);
        w->asked_ms = 0;
        return;
    }
    w->asked_ms = now;
    const char *number = arena_printf(w->cli->arena, "%llu", (unsigned long long)w->watch->number);
    fprintf(stderr, "\nagain within %d s: stop the job; otherwise it goes on, %s\n",
            AGAIN_MS / 1000, out_command(w->cli, REMEDY_GOES_ON, number));
}

static void wait_signal(struct watching *w, const sigset_t *set)
{
    struct timespec wait = { .tv_sec = 3600 };
    uint64_t now = clock_mono_ms(), until = w->asked_ms + AGAIN_MS;
    if (w->asked_ms && now >= until) {
        w->left = true;
        return;
    }
    if (w->asked_ms)
        wait = (struct timespec){ .tv_sec = (time_t)((until - now) / 1000),
                                  .tv_nsec = (long)((until - now) % 1000) * 1000000 };
    if (sigtimedwait(set, NULL, &wait) == SIGINT)
        on_interrupt(w);
}

static void end_children(struct watching *w)
{
    pid_t left[] = { w->events, w->log, w->keys };
    for (size_t i = 0; i < ARRAY_LEN(left); i++) {
        if (left[i] <= 0)
            continue;
        kill(left[i], left[i] == w->keys ? SIGTERM : SIGKILL);
        waitpid(left[i], NULL, 0);
    }
}

static int run(struct watching *w, const sigset_t *set, struct err *err)
{
    w->events = spawn_child(w, follow_events);
    bool others = !w->watch->typed || w->watch->tasks > 1;
    w->log = w->events > 0 && !w->watch->silent && others ? spawn_child(w, follow_log) : 0;
    w->keys = w->events > 0 && w->watch->typed ? spawn_child(w, follow_keys) : 0;
    if (w->events < 0 || w->log < 0 || w->keys < 0)
        return err_sys(err, "fork");
    for (reap(w); (w->events > 0 || w->log > 0 || w->keys > 0) && !w->left; reap(w))
        wait_signal(w, set);
    return 0;
}

int watch_job(struct cli *cli, const struct watch *watch, enum watch_end *end, struct err *err)
{
    struct watching w = { .cli = cli, .watch = watch };
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &before);
    call_drop(cli);
    int rc = run(&w, &set, err);
    end_children(&w);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (rc < 0)
        return -1;
    *end = w.left ? WATCH_LEFT : w.events_status == STATUS_HELD ? WATCH_HELD : WATCH_ENDED;
    bool held = w.events_status == STATUS_HELD;
    int failed = held ? 0 : w.events_status ? w.events_status : w.log_status | w.keys_status;
    if (!w.left && failed) {
        err_set(err, ERR_UNAVAILABLE, "following job %llu ended too early",
                (unsigned long long)watch->number);
        return err_remedy_of(err, REMEDY_GOES_ON, "%llu", (unsigned long long)watch->number);
    }
    return 0;
}
