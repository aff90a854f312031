/* Frees a large file that has no name any more: it is cut from its end, a slice in each turn of the
 * loop, until nothing is left. Takes the descriptor over. */
#include "api/file_drop.h"

#include "base/mem.h"

#include <stdlib.h>
#include <sys/stat.h>

#define SLICE ((off_t)4 << 20)

struct dropping {
    uv_idle_t idle;
    int fd;
    off_t left;
};

static void on_closed(uv_handle_t *handle)
{
    struct dropping *d = handle->data;
    close(d->fd);
    free(d);
}

static void on_idle(uv_idle_t *idle)
{
    struct dropping *d = idle->data;
    d->left -= d->left < SLICE ? d->left : SLICE;
    if (ftruncate(d->fd, d->left) != 0 || d->left == 0)
        uv_close((uv_handle_t *)idle, on_closed);
}

void file_drop(uv_loop_t *loop, int fd)
{
    struct stat st;
    if (fd < 0)
        return;
    struct dropping *d = mem_new(sizeof *d);
    d->fd = fd;
    d->left = fstat(fd, &st) == 0 ? st.st_size : 0;
    d->idle.data = d;
    uv_idle_init(loop, &d->idle);
    uv_idle_start(&d->idle, on_idle);
}
