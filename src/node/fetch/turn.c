/* An early pull looks several times a second whether anybody has the locks of tasks, by taking them
 * alone for a moment. Its mark lies in its half, half/DIGEST/early, and goes with it. */
#include "node/fetch/turn.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "image/reference.h"
#include "node/fetch/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define LOOK_MS  50
#define CLEAR_MS 5000u

static int open_lock(const char *dir, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/locks/%s", dir, name);
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static int take(const char *dir, const char *name, int how)
{
    AUTO_CLOSE int fd = open_lock(dir, name);
    int rc = fd < 0 ? -1 : flock(fd, how);
    while (rc != 0 && fd >= 0 && errno == EINTR)
        rc = flock(fd, how);
    return rc == 0 ? mem_give_fd(&fd) : -1;
}

/* Has anybody else that lock? */
static bool is_held(const char *dir, const char *name)
{
    AUTO_CLOSE int fd = open_lock(dir, name);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

int turn_want(const char *dir, const char *digest)
{
    AUTO_FREE char *name = mem_printf("%s.wanted", digest);
    return take(dir, name, LOCK_SH);
}

int turn_take(const char *dir)
{
    return take(dir, "tasks", LOCK_SH);
}

/* ---- early ones ---- */

static char *mark_path(const char *dir, const char *digest)
{
    return mem_printf("%s/half/%s/early", dir, digest);
}

int turn_mark_early(const char *dir, const char *digest, struct err *err)
{
    AUTO_FREE char *path = mark_path(dir, digest);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 ? err_sys(err, "%s", path) : 0;
}

int turn_wait(const char *dir, const char *digest, int *taken, struct err *err)
{
    AUTO_FREE char *wanted = mem_printf("%s.wanted", digest);
    while (*taken < 0) {
        if (is_held(dir, wanted)) {
            AUTO_FREE char *mark = mark_path(dir, digest);
            (void)unlink(mark); /* it is no early one any more */
            *taken = turn_take(dir);
            return 0;
        }
        if (is_held(dir, "room"))
            return err_set(err, ERR_UNAVAILABLE,
                           "its room is needed for an image of a job that "
                           "runs");
        if (!is_held(dir, "tasks"))
            return 0;
        (void)poll(NULL, 0, LOOK_MS);
    }
    return 0;
}

/* ---- room ---- */

/* true: it has ended; false: it is no early one, or goes on. */
static bool wait_for_end(const char *dir, const char *digest, uint64_t until_ms)
{
    AUTO_FREE char *mark = mark_path(dir, digest);
    bool was = false;
    while (access(mark, F_OK) == 0) {
        AUTO_CLOSE int lock = -1;
        if (store_try_lock(dir, digest, &lock, NULL) != 1)
            return was; /* what it left is for store_drop_remains */
        was = true;
        if (clock_mono_ms() >= until_ms)
            return false;
        (void)poll(NULL, 0, LOOK_MS);
    }
    return was;
}

bool turn_clear(const char *dir)
{
    AUTO_FREE char *path = mem_printf("%s/half", dir);
    AUTO_CLOSE int room = take(dir, "room", LOCK_EX);
    DIR *list = room >= 0 ? opendir(path) : NULL;
    uint64_t until_ms = clock_mono_ms() + CLEAR_MS;
    bool some = false;
    for (const struct dirent *e; list && (e = readdir(list));)
        if (strlen(e->d_name) == IMAGE_DIGEST_LEN)
            some = wait_for_end(dir, e->d_name, until_ms) || some;
    if (list)
        closedir(list);
    return some;
}
