/* Files are always readable and cannot be polled: they are read a piece at a time between the
 * loop's other events. Pipes and terminals are polled, and still block: on a terminal stdin is the
 * same open file as stdout and stderr, of srun and of others. */
#include "step/srun_stdin.h"

#include "base/mem.h"
#include "base/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct srun_stdin {
    struct srun_stdin_sink sink;
    uv_poll_t poll;
    uv_idle_t idle;
    uint32_t rank;
    int fd;
    bool polled, ended;
    unsigned handles;
};

static void on_closed(uv_handle_t *handle)
{
    struct srun_stdin *in = handle->data;
    if (--in->handles == 0)
        free(in);
}

static void stop(struct srun_stdin *in)
{
    if (in->polled)
        (void)uv_poll_stop(&in->poll);
    else
        (void)uv_idle_stop(&in->idle);
}

/* Whoever shares what is polled may have read it first. */
static bool is_readable(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    return poll(&one, 1, 0) > 0;
}

static void read_piece(struct srun_stdin *in)
{
    char piece[STEP_PIECE];
    if (in->polled && !is_readable(in->fd))
        return;
    ssize_t n = read(in->fd, piece, sizeof piece);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    const struct step_data data = { .rank = in->rank, .at = piece, .len = n > 0 ? (size_t)n : 0 };
    in->ended = n <= 0;
    bool room = in->sink.give(in->sink.arg, &data);
    if (!room || in->ended)
        stop(in);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    read_piece(poll->data);
}

static void on_idle(uv_idle_t *idle)
{
    read_piece(idle->data);
}

void srun_stdin_go_on(struct srun_stdin *in)
{
    if (!in || in->ended)
        return;
    if (in->polled)
        (void)uv_poll_start(&in->poll, UV_READABLE | UV_DISCONNECT, on_readable);
    else
        (void)uv_idle_start(&in->idle, on_idle);
}

/* Nothing comes from /dev/null: the tasks have it as well. */
static bool is_null(int fd)
{
    struct stat st, null;
    return fstat(fd, &st) != 0 ||
           (S_ISCHR(st.st_mode) && stat("/dev/null", &null) == 0 && st.st_rdev == null.st_rdev);
}

struct srun_stdin *srun_stdin_create(uv_loop_t *loop, const char *from, struct srun_stdin_sink sink,
                                     struct err *err)
{
    uint64_t rank = STEP_ALL_RANKS;
    int fd = STDIN_FILENO;
    bool own = !from || strcmp(from, "all") == 0 || scan_u64(from, 0, UINT32_MAX - 1, &rank);
    if (!own && strcmp(from, "none") == 0)
        return NULL;
    if (!own && (fd = open(from, O_RDONLY | O_CLOEXEC)) < 0) {
        err_sys(err, "--input=%.200s", from);
        return NULL;
    }
    if (is_null(fd))
        return NULL;
    struct srun_stdin *in = mem_new(sizeof *in);
    *in = (struct srun_stdin){ .sink = sink, .fd = fd, .rank = (uint32_t)rank };
    int flags = fcntl(fd, F_GETFL);
    in->polled = uv_poll_init(loop, &in->poll, fd) == 0;
    if (in->polled && flags >= 0)
        (void)fcntl(fd, F_SETFL, flags); /* uv_poll_init has made it one that does not block */
    (void)uv_idle_init(loop, &in->idle);
    in->idle.data = in->poll.data = in;
    in->handles = in->polled ? 2 : 1;
    return in;
}

void srun_stdin_destroy(struct srun_stdin *in)
{
    if (!in)
        return;
    if (in->polled)
        uv_close((uv_handle_t *)&in->poll, on_closed);
    uv_close((uv_handle_t *)&in->idle, on_closed);
    if (in->fd != STDIN_FILENO)
        close(in->fd);
}
