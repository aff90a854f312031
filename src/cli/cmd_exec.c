/* muster exec: a command or shell inside a task's view, over an upgraded connection that carries
 * frames. On a terminal the bytes go through raw, so that editing, colours and Ctrl-C belong to the
 * other side. */
#include "cli/jobs.h"

#include "base/mem.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/names.h"
#include "http/client.h"
#include "wire/frame.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>

#define PIECE   16384
#define OUT_MAX (1u << 20) /* input waits while so much is not sent */

struct exec_opts {
    struct common_opts common;
    bool no_tty;
};
static const struct opt opts[] = {
    { .name = "no-tty",
      .letter = 'T',
      .type = OPT_FLAG,
      .offset = offsetof(struct exec_opts, no_tty),
      .help = "plain pipes, also on a terminal" },
    COMMON_OPTS,
    OPT_END,
};

struct session {
    struct http_duplex *line;
    int signals; /* signalfd, -1 without a terminal */
    bool tty, input_open, ended;
    bool more; /* was read last: there may be some that the socket does not show */
    int status;
    struct buf in, out;
    struct buf words; /* of muster itself: shown when the terminal is back in order */
};

static void send_bytes(struct session *s, enum wire_kind kind, const void *data, size_t len)
{
    size_t mark = wire_begin(&s->out, kind, 0);
    wire_put_u32(&s->out, 0);
    buf_add(&s->out, data, len);
    wire_end(&s->out, mark);
}

static struct winsize window(void)
{
    struct winsize size = { .ws_row = 24, .ws_col = 80 };
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_row || !size.ws_col)
        size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
    return size;
}

static void send_size(struct session *s)
{
    struct winsize size = window();
    size_t mark = wire_begin(&s->out, WIRE_RESIZE, 0);
    wire_put_u32(&s->out, 0);
    wire_put_u32(&s->out, size.ws_row);
    wire_put_u32(&s->out, size.ws_col);
    wire_end(&s->out, mark);
}

/* ---- what comes ---- */

static void on_frame(struct session *s, const struct wire_frame *frame)
{
    struct wire_reader r = wire_read(frame);
    wire_get_u32(&r);
    if (r.bad)
        return;
    if (frame->kind == WIRE_STDERR && s->tty) {
        /* A command on a terminal has one stream: this is from whoever could not start it. */
        buf_add(&s->words, r.at, (size_t)(r.end - r.at));
    } else if (frame->kind == WIRE_EXIT) {
        s->status = (int)(wire_get_u32(&r) & 0xff);
        s->ended = true;
    } else if (frame->kind == WIRE_STDOUT || frame->kind == WIRE_STDERR) {
        int to = frame->kind == WIRE_STDOUT ? STDOUT_FILENO : STDERR_FILENO;
        const unsigned char *at = r.at;
        while (at < r.end) {
            ssize_t n = write(to, at, (size_t)(r.end - at));
            if (n < 0 && errno != EINTR && errno != EAGAIN)
                break; /* nobody reads: its exit status still counts */
            at += n > 0 ? n : 0;
        }
    }
}

static int take_frames(struct session *s, struct err *err)
{
    struct wire_frame frame;
    size_t used;
    int got = 0;
    while (!s->ended && (got = wire_next(s->in.data, s->in.len, &frame, &used)) == 1) {
        on_frame(s, &frame);
        buf_drop(&s->in, used);
    }
    return got < 0 ? err_set(err, ERR_SYSTEM, "the server sent something that is no frame") : 0;
}

static int read_socket(struct session *s, struct err *err)
{
    char piece[PIECE];
    ssize_t n = http_duplex_read(s->line, piece, sizeof piece);
    s->more = n > 0;
    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n <= 0)
        return err_set(err, ERR_UNAVAILABLE, "the connection ended before the command did");
    buf_add(&s->in, piece, (size_t)n);
    return take_frames(s, err);
}

/* ---- what goes ---- */

static void read_input(struct session *s)
{
    char piece[PIECE];
    ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    s->input_open = n > 0;
    send_bytes(s, WIRE_STDIN, piece, n > 0 ? (size_t)n : 0); /* no bytes: the end */
}

static void write_socket(struct session *s)
{
    ssize_t n = s->out.len ? http_duplex_write(s->line, s->out.data, s->out.len) : 0;
    if (n > 0)
        buf_drop(&s->out, (size_t)n);
}

static void on_signal(struct session *s)
{
    struct signalfd_siginfo info;
    if (read(s->signals, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    if (info.ssi_signo == SIGWINCH) {
        send_size(s);
        return;
    }
    s->status = 128 + (int)info.ssi_signo;
    s->ended = true;
}

static int pump(struct session *s, struct err *err)
{
    while (!s->ended) {
        bool room = s->out.len < OUT_MAX;
        struct pollfd p[3] = {
            { .fd = http_duplex_fd(s->line),
              .events = (short)(POLLIN | (s->out.len ? POLLOUT : 0)) },
            { .fd = s->input_open && room ? STDIN_FILENO : -1, .events = POLLIN },
            { .fd = s->signals, .events = POLLIN },
        };
        if (poll(p, ARRAY_LEN(p), s->more ? 0 : -1) < 0 && errno != EINTR)
            return err_sys(err, "poll");
        if (p[2].revents)
            on_signal(s);
        if (p[1].revents)
            read_input(s);
        bool comes = s->more || p[0].revents & (POLLIN | POLLHUP | POLLERR);
        if (comes && read_socket(s, err) < 0)
            return -1;
        write_socket(s);
    }
    return 0;
}

/* ---- terminal ---- */

/* Its size, and what would end this program and leave the terminal raw. */
static void watch_signals(struct session *s)
{
    static const int numbers[] = { SIGWINCH, SIGTERM, SIGINT, SIGHUP, SIGQUIT };
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        sigaddset(&set, numbers[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int run_session(struct session *s, struct err *err)
{
    struct termios before;
    bool raw = s->tty && tcgetattr(STDIN_FILENO, &before) == 0;
    if (raw) {
        struct termios now = before;
        cfmakeraw(&now);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
        watch_signals(s);
    }
    int rc = take_frames(s, err);
    if (rc == 0)
        rc = pump(s, err);
    if (raw)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    if (s->words.len > 0)
        fwrite(s->words.data, 1, s->words.len, stderr);
    if (s->signals >= 0)
        close(s->signals);
    return rc;
}

static void make_path(struct buf *path, const char *job, bool tty, int argc, char **argv)
{
    struct winsize size = window();
    jobs_path(path, job, "/exec");
    call_query(path, "task", argv[1]);
    for (int i = 2; i < argc; i++)
        call_query(path, "arg", argv[i]);
    if (!tty)
        return;
    call_query(path, "tty", "1");
    call_query_number(path, "rows", size.ws_row);
    call_query_number(path, "cols", size.ws_col);
}

static int run_exec(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct exec_opts *o = opts_;
    struct task_name task;
    AUTO_BUF struct buf path = BUF_INIT(1 << 20);
    struct session s = { .signals = -1,
                         .input_open = true,
                         .more = true,
                         .in = BUF_INIT(2 * WIRE_MAX_FRAME),
                         .out = BUF_INIT(2 * OUT_MAX),
                         .words = BUF_INIT(WIRE_MAX_FRAME) };
    if (cmd_operands(&cmd_exec, argc, 2, INT_MAX, err) < 0 ||
        names_task(cli->arena, argv[1], &task, err) < 0)
        return -1;
    const struct text_node *view = jobs_view(cli, argv[0], NULL, err);
    if (!view)
        return -1;
    s.tty = !o->no_tty && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    make_path(&path, answer_text(view, "id", argv[0]), s.tty, argc, argv);
    fflush(NULL);
    s.line = http_client_upgrade(cli->client, buf_str(&path), "muster-exec/1", &s.in, err);
    int rc = s.line ? run_session(&s, err) : -1;
    http_duplex_close(s.line);
    buf_fini(&s.in);
    buf_fini(&s.out);
    buf_fini(&s.words);
    return rc < 0 ? -1 : s.status;
}

static const char *const examples[] = {
    "muster exec ddp worker/0",
    "a shell in the task's directory, with its environment and limits",
    "muster exec 12 worker/0 -- nvidia-smi",
    "one command; ends with its exit status",
    "tar c data | muster exec 12 master/0 -- tar x",
    "",
    NULL,
};
const struct cmd cmd_exec = {
    .name = "exec",
    .summary = "a shell or command inside a task",
    .operands = "JOB ROLE/INDEX [-- COMMAND...]",
    .opts = opts,
    .size = sizeof(struct exec_opts),
    .examples = examples,
    .run = run_exec,
};
