/* A task that does not read fills its pipe; then a write takes nothing more, and the poll says when
 * it does again. */
#include "node/input.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct input {
    int fd; /* -1: closed */
    bool tty;
    uv_poll_t poll;
    void (*ready)(void *arg);
    void *arg;
};

struct input *input_create(uv_loop_t *loop, int fd, bool tty)
{
    struct input *input = mem_new(sizeof *input);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    input->fd = fd;
    input->tty = tty;
    input->poll.data = input;
    if (uv_poll_init(loop, &input->poll, fd) != 0)
        BUG("a pipe cannot be polled");
    return input;
}

static void close_end(struct input *input)
{
    if (input->fd < 0)
        return;
    uv_poll_stop(&input->poll);
    close(input->fd);
    input->fd = -1;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void input_destroy(struct input *input)
{
    if (!input)
        return;
    close_end(input);
    uv_close((uv_handle_t *)&input->poll, on_closed);
}

void input_on_ready(struct input *input, void (*ready)(void *arg), void *arg)
{
    input->ready = ready;
    input->arg = arg;
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    struct input *input = poll->data;
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    if (input->ready)
        input->ready(input->arg);
}

size_t input_write(struct input *input, const void *bytes, size_t len)
{
    size_t done = 0;
    while (input->fd >= 0 && done < len) {
        ssize_t n = write(input->fd, (const char *)bytes + done, len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            uv_poll_start(&input->poll, UV_WRITABLE, on_writable);
            return done;
        }
        if (n < 0) /* it reads no more */
            close_end(input);
        else
            done += (size_t)n;
    }
    return len;
}

void input_end(struct input *input)
{
    static const char end = 'D' & 0x1f;
    if (input->tty)
        (void)input_write(input, &end, 1);
    else
        close_end(input);
}

void input_resize(struct input *input, uint16_t rows, uint16_t cols)
{
    struct winsize size = { .ws_row = rows, .ws_col = cols };
    if (input->tty && input->fd >= 0 && rows && cols)
        (void)ioctl(input->fd, TIOCSWINSZ, &size);
}
