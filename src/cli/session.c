/* One loop: the connection, the input here, signals. Input waits while much is not sent, and of
 * attach while the task has not taken what went before (ATTACH_WINDOW). */
#include "cli/session.h"

#include "base/mem.h"
#include "cli/output.h"
#include "http/client.h"
#include "wire/message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#define PIECE   16384
#define OUT_MAX (1u << 20) /* input waits while so much is not sent */

void session_init(struct session *s, bool tty)
{
    *s = (struct session){ .tty = tty,
                           .input_open = true,
                           .send_end = true,
                           .to = STDOUT_FILENO,
                           .signals = -1,
                           .in = BUF_INIT(2 * WIRE_MAX_FRAME),
                           .out = BUF_INIT(2 * OUT_MAX),
                           .words = BUF_INIT(WIRE_MAX_FRAME) };
}

void session_fini(struct session *s)
{
    http_duplex_close(s->line);
    s->line = NULL;
    for (size_t i = 0; i < ARRAY_LEN(s->text); i++)
        if (s->text[i])
            fclose(s->text[i]);
    buf_fini(&s->in);
    buf_fini(&s->out);
    buf_fini(&s->words);
}

struct winsize session_window(void)
{
    struct winsize size = { .ws_row = 24, .ws_col = 80 };
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_row || !size.ws_col)
        size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
    return size;
}

static void send_size(struct session *s)
{
    struct winsize size = session_window();
    wire_put(&s->out, 0, &(struct wire_resize){ .rows = size.ws_row, .cols = size.ws_col });
}

/* ---- what comes ---- */

static void send_input(struct session *s, const char *bytes, size_t len)
{
    for (size_t done = 0; done < len; done += PIECE)
        wire_put_data(&s->out, WIRE_STDIN, 0, bytes + done,
                      len - done < PIECE ? len - done : PIECE);
}

static void send_end(struct session *s)
{
    if (!s->input_open && s->send_end)
        wire_put_data(&s->out, WIRE_STDIN, 0, NULL, 0);
}

/* The first one of a connection says where the input goes on: what was under way when the one
 * before broke is sent again, without what the task has taken of it. */
static void on_reached(struct session *s, const struct wire_frame *frame)
{
    struct session_place *place = s->place;
    struct wire_reached_report reached;
    if (!place || wire_get(frame, NULL, &reached) < 0)
        return;
    if (reached.input > place->input)
        buf_drop(&place->kept, reached.input - place->input < place->kept.len
                                   ? (size_t)(reached.input - place->input)
                                   : place->kept.len);
    place->input = reached.input;
    place->next = reached.output;
    if (place->met)
        return;
    place->met = true;
    send_input(s, buf_str(&place->kept), place->kept.len);
    send_end(s);
}

static void write_out(int to, const unsigned char *at, const unsigned char *end)
{
    while (at < end) {
        ssize_t n = write(to, at, (size_t)(end - at));
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return; /* nobody reads: its exit status still counts */
        at += n > 0 ? n : 0;
    }
}

/* What a program writes that is on no terminal is text for the one here. */
static void write_text(struct session *s, bool error, const struct wire_reader *bytes)
{
    FILE **to = &s->text[error];
    if (!*to && (*to = out_stream(error ? STDERR_FILENO : s->to, OUT_GUARDED)))
        setvbuf(*to, NULL, _IONBF, 0);
    if (*to)
        fwrite(bytes->at, 1, (size_t)(bytes->end - bytes->at), *to);
}

static void on_frame(struct session *s, const struct wire_frame *frame)
{
    struct wire_reader r = wire_read(frame);
    wire_get_u32(&r);
    if (r.bad)
        return;
    if (s->place && (frame->kind == WIRE_STDOUT || frame->kind == WIRE_STDERR))
        s->place->output = s->place->next;
    if (frame->kind == WIRE_STDERR && s->tty) {
        /* A program on a terminal has one stream: this is from whoever could not start it. */
        buf_add(&s->words, r.at, (size_t)(r.end - r.at));
    } else if (frame->kind == WIRE_EXIT) {
        s->status = (int)(wire_get_u32(&r) & 0xff);
        s->ended = true;
    } else if (s->tty && frame->kind == WIRE_STDOUT) {
        write_out(s->to, r.at, r.end);
    } else if (frame->kind == WIRE_STDOUT || frame->kind == WIRE_STDERR) {
        write_text(s, frame->kind == WIRE_STDERR, &r);
    } else if (frame->kind == WIRE_REACHED) {
        on_reached(s, frame);
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

/* Bytes of input that may be read now. */
static size_t input_room(const struct session *s)
{
    if (!s->input_open || s->out.len >= OUT_MAX || (s->place && !s->place->met))
        return 0;
    size_t room = s->place ? ATTACH_WINDOW - s->place->kept.len : PIECE;
    if (s->place && s->tty)
        room -= room > 0; /* for a Ctrl-P that was held */
    return room < PIECE ? room : PIECE;
}

/* Takes Ctrl-P Ctrl-Q out; a Ctrl-P waits until the next key says what it is. */
static size_t look_for_detach(struct session *s, const char *piece, size_t len, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < len && !s->detached; i++) {
        if (s->held && piece[i] == CTRL('q')) {
            s->detached = s->ended = true;
            break;
        }
        if (s->held)
            out[n++] = CTRL('p');
        s->held = piece[i] == CTRL('p');
        if (!s->held)
            out[n++] = piece[i];
    }
    return n;
}

static void read_input(struct session *s, size_t room)
{
    char piece[PIECE], keys[PIECE + 1];
    const char *bytes = piece;
    bool held = s->place && s->tty;
    ssize_t n = read(STDIN_FILENO, piece, room);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    s->input_open = n > 0;
    size_t len = n > 0 ? (size_t)n : 0;
    if (held) {
        len = look_for_detach(s, piece, len, keys);
        bytes = keys;
    }
    send_input(s, bytes, len);
    if (s->place)
        buf_add(&s->place->kept, bytes, len);
    send_end(s);
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
    s->interrupted = s->ended = true;
}

static int pump(struct session *s, struct err *err)
{
    while (!s->ended) {
        size_t room = input_room(s);
        struct pollfd p[3] = {
            { .fd = http_duplex_fd(s->line),
              .events = (short)(POLLIN | (s->out.len ? POLLOUT : 0)) },
            { .fd = room ? STDIN_FILENO : -1, .events = POLLIN },
            { .fd = s->signals, .events = POLLIN },
        };
        if (poll(p, ARRAY_LEN(p), s->more ? 0 : -1) < 0 && errno != EINTR)
            return err_sys(err, "poll");
        if (p[2].revents)
            on_signal(s);
        if (p[1].revents)
            read_input(s, room);
        bool comes = s->more || p[0].revents & (POLLIN | POLLHUP | POLLERR);
        if (comes && read_socket(s, err) < 0)
            return -1;
        write_socket(s);
    }
    return 0;
}

/* ---- terminal ---- */

/* Its size, and what would end this program and leave the terminal raw. */
static void watch_signals(struct session *s, sigset_t *before)
{
    static const int numbers[] = { SIGWINCH, SIGTERM, SIGINT, SIGHUP, SIGQUIT };
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        sigaddset(&set, numbers[i]);
    sigprocmask(SIG_BLOCK, &set, before);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void greet(struct session *s)
{
    if (s->greeting)
        fputs(s->greeting, stderr);
    if (s->before)
        write_out(s->to, (const unsigned char *)s->before,
                  (const unsigned char *)s->before + strlen(s->before));
    s->greeting = s->before = NULL;
}

int session_run(struct session *s, struct err *err)
{
    struct termios before;
    sigset_t mask;
    bool raw = s->tty && tcgetattr(STDIN_FILENO, &before) == 0;
    s->ended = false;
    s->more = true;
    buf_clear(&s->out);
    if (s->place)
        s->place->met = false;
    if (raw) {
        struct termios now = before;
        cfmakeraw(&now);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
        watch_signals(s, &mask);
    }
    greet(s);
    int rc = take_frames(s, err);
    if (rc == 0)
        rc = pump(s, err);
    if (raw) {
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
        close(s->signals);
        s->signals = -1;
        sigprocmask(SIG_SETMASK, &mask, NULL);
    }
    if (s->words.len > 0)
        fwrite(s->words.data, 1, s->words.len, stderr);
    buf_clear(&s->words);
    return rc;
}
