/* FILE.part is written by who has its lock; other agents of the node wait for that one, or for the
 * lock. A crash leaves a part that the next one begins anew. Events come from the loop. */
#include "node/fetch.h"

#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define LOOK_MS     50u /* whether another agent is done */
#define USED_S      60
#define HASH_DIGITS 64u
#define FILES_MAX   4096u

struct fetch {
    struct fetch_sink sink;
    char *path, *dir, *part;
    uint64_t limit;
    int fd;                  /* of the part, with its lock; -1: not ours */
    uint64_t written, asked; /* bytes */
    uint64_t size;           /* of the file; 0: not known yet */
    uv_timer_t timer;
    bool over;
};

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void finish(struct fetch *f, const struct err *problem)
{
    f->over = true;
    uv_timer_stop(&f->timer);
    f->sink.done(f->sink.arg, problem); /* destroys it */
}

static void fail(struct fetch *f, const char *doing)
{
    struct err err;
    err_sys(&err, "%s: %s", f->part, doing);
    finish(f, &err);
}

/* ---- the directory ---- */

struct cache_entry {
    char name[HASH_DIGITS + 1];
    uint64_t bytes;
    time_t used;
};

/* The next one to go: the oldest that nobody has used lately. */
static bool find_oldest(const struct fetch *f, DIR *dir, struct cache_entry *oldest, uint64_t *sum)
{
    bool found = false;
    struct dirent *entry;
    struct stat st;
    *sum = 0;
    rewinddir(dir);
    for (unsigned n = 0; n < FILES_MAX && (entry = readdir(dir));) {
        if (strlen(entry->d_name) != HASH_DIGITS ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode))
            continue;
        n++;
        *sum += (uint64_t)st.st_size;
        if (strcmp(entry->d_name, name_of(f->path)) == 0 || st.st_mtime > time(NULL) - USED_S ||
            (found && st.st_mtime >= oldest->used))
            continue;
        found = true;
        oldest->used = st.st_mtime;
        memcpy(oldest->name, entry->d_name, HASH_DIGITS + 1);
    }
    return found;
}

static void keep_limit(const struct fetch *f)
{
    DIR *dir = opendir(f->dir);
    struct cache_entry oldest = { .bytes = 0 };
    uint64_t sum;
    if (!dir)
        return;
    while (find_oldest(f, dir, &oldest, &sum) && sum > f->limit)
        if (unlinkat(dirfd(dir), oldest.name, 0) != 0)
            break;
    closedir(dir);
}

/* It is used now: it does not go soon. */
static bool is_there(const struct fetch *f)
{
    struct stat st;
    return lstat(f->path, &st) == 0 && S_ISREG(st.st_mode) &&
           utimensat(AT_FDCWD, f->path, NULL, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- pieces ---- */

static void ask_on(struct fetch *f)
{
    const uint64_t window = (uint64_t)FETCH_AT_ONCE * FETCH_PIECE;
    /* The first alone: it says the size. */
    const uint64_t end = f->size ? f->size : FETCH_PIECE;
    while (f->asked < end && f->asked - f->written < window) {
        struct wire_code_request want = { .hash = name_of(f->path),
                                          .offset = f->asked,
                                          .len = FETCH_PIECE };
        f->asked += FETCH_PIECE;
        f->sink.ask(f->sink.arg, &want);
    }
}

void fetch_again(struct fetch *f)
{
    if (f->fd < 0 || f->over)
        return;
    f->asked = f->written;
    ask_on(f);
}

static void complete(struct fetch *f)
{
    if (rename(f->part, f->path) != 0) {
        fail(f, "cannot be renamed");
        return;
    }
    keep_limit(f);
    finish(f, NULL);
}

/* They come in order; what is not the next one was asked for over a former connection. */
void fetch_piece(struct fetch *f, const struct wire_piece *piece)
{
    struct err err;
    if (f->fd < 0 || f->over)
        return;
    if (piece->size == 0) {
        err_set(&err, ERR_CANNOT, "the server has no code sha256:%.12s... for this job",
                name_of(f->path));
        finish(f, &err);
        return;
    }
    if (piece->offset != f->written || piece->offset >= piece->size || piece->len == 0 ||
        piece->len > piece->size - piece->offset)
        return;
    f->size = piece->size;
    if (file_write_all(f->fd, piece->at, piece->len) != 0) {
        fail(f, "cannot be written");
        return;
    }
    f->written += piece->len;
    if (f->asked < f->written || piece->len < FETCH_PIECE) /* a short one: on from its end */
        f->asked = f->written;
    if (f->written == f->size)
        complete(f);
    else
        ask_on(f);
}

/* ---- who fetches it ---- */

static int take_part(struct fetch *f)
{
    struct stat ours, there;
    AUTO_CLOSE int fd = open(f->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? 0 : -1;
    /* Who had it before may have renamed it meanwhile. */
    if (fstat(fd, &ours) != 0 || stat(f->part, &there) != 0 || ours.st_ino != there.st_ino)
        return 0;
    if (ftruncate(fd, 0) != 0)
        return -1;
    f->fd = mem_give_fd(&fd);
    return 1;
}

static void look(uv_timer_t *timer)
{
    struct fetch *f = timer->data;
    if (is_there(f)) {
        finish(f, NULL);
        return;
    }
    int got = take_part(f);
    if (got < 0) {
        fail(f, "cannot be opened");
        return;
    }
    if (got == 0)
        return;
    uv_timer_stop(timer);
    ask_on(f);
}

struct fetch *fetch_start(uv_loop_t *loop, const char *path, uint64_t limit, struct fetch_sink sink)
{
    struct fetch *f = mem_new(sizeof *f);
    f->sink = sink;
    f->path = mem_strdup(path);
    f->part = mem_printf("%s.part", path);
    f->dir = mem_strndup(path, (size_t)(name_of(path) - path));
    f->limit = limit;
    f->fd = -1;
    (void)file_mkdirs(f->dir, 0700, NULL); /* opening the part says why not */
    uv_timer_init(loop, &f->timer);
    f->timer.data = f;
    uv_timer_start(&f->timer, look, 0, LOOK_MS);
    return f;
}

static void on_closed(uv_handle_t *handle)
{
    struct fetch *f = handle->data;
    free(f->path);
    free(f->part);
    free(f->dir);
    free(f);
}

void fetch_destroy(struct fetch *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    f->over = true;
    uv_close((uv_handle_t *)&f->timer, on_closed);
}
