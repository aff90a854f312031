/* Mount points that muster had to create. The list is written before the thing is made: a crash
 * between the two leaves a line for something that is not there, never something that nobody
 * remembers. Undoing removes only empty directories and empty files.
 *
 * Who uses a mount point has a shared lock on it, who removes it takes the exclusive one. What was
 * in use goes into a list that all agents of this user on this machine have in common; each that
 * ends looks through it. */
#include "node/mount_points.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LIST_MAX     (1u << 20)
#define ROUNDS       8  /* of making and holding, when somebody removes it meanwhile */
#define LOCK_LOOKS   50 /* at a mount point that somebody else has to himself */
#define LOCK_LOOK_NS 1000000

static int remember(const char *agent_dir, const char *path, struct err *err)
{
    if (strchr(path, '\n'))
        return err_set(err, ERR_INPUT, "a mount point has a line break in its name");
    AUTO_FREE char *list = mem_printf("%s/made", agent_dir);
    AUTO_FREE char *line = mem_printf("%s\n", path);
    AUTO_CLOSE int fd = open(list, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || file_write_all(fd, line, strlen(line)) != 0)
        return err_sys(err, "%s", list);
    return 0;
}

static int make_level(const char *agent_dir, const char *path, struct err *err)
{
    if (file_is_dir(path))
        return 0;
    if (remember(agent_dir, path, err) != 0)
        return -1;
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        return err_sys(err, "cannot create the directory %s", path);
    return 0;
}

int mount_points_make_dirs(const char *agent_dir, const char *path, struct err *err)
{
    AUTO_FREE char *part = mem_strdup(path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (make_level(agent_dir, part, err) != 0)
            return -1;
        *slash = '/';
    }
    return make_level(agent_dir, path, err);
}

int mount_points_make_file(const char *agent_dir, const char *path, struct err *err)
{
    if (access(path, F_OK) == 0)
        return 0;
    AUTO_FREE char *above = mem_strdup(path);
    char *slash = strrchr(above, '/');
    if (slash && slash != above) {
        *slash = '\0';
        if (mount_points_make_dirs(agent_dir, above, err) != 0)
            return -1;
    }
    if (remember(agent_dir, path, err) != 0)
        return -1;
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    return fd < 0 ? err_sys(err, "cannot create the file %s", path) : 0;
}

/* ---- holding ---- */

static bool same_file(int fd, const char *path)
{
    struct stat is, there;
    return fstat(fd, &is) == 0 && stat(path, &there) == 0 && is.st_dev == there.st_dev &&
           is.st_ino == there.st_ino;
}

/* Who removes it has it for an instant; a program that keeps a lock on it is not waited for. */
static bool lock_shared(int fd)
{
    for (int i = 0; i < LOCK_LOOKS; i++) {
        if (flock(fd, LOCK_SH | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK)
            return false;
        (void)nanosleep(&(struct timespec){ .tv_nsec = LOCK_LOOK_NS }, NULL);
    }
    return false;
}

int mount_points_hold(const char *agent_dir, const char *path, bool dir, int *hold, struct err *err)
{
    int rc = -1;
    *hold = -1;
    for (int i = 0; i < ROUNDS; i++) {
        rc = (dir ? mount_points_make_dirs : mount_points_make_file)(agent_dir, path, err);
        AUTO_CLOSE int fd = rc == 0 ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
        bool locked = fd >= 0 && lock_shared(fd);
        if (rc != 0 || (fd >= 0 && !same_file(fd, path)))
            continue;
        if (locked)
            *hold = mem_give_fd(&fd);
        return 0;
    }
    return rc;
}

/* ---- undoing ---- */

/* false: somebody holds it. */
static bool undo_one(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0 || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
        return true;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return false;
    if (fd >= 0 && !same_file(fd, path))
        return false; /* removed and made anew meanwhile */
    if (S_ISDIR(st.st_mode))
        (void)rmdir(path);
    else if (st.st_size == 0)
        (void)unlink(path);
    return true;
}

/* Of two lists, the older first; a path becomes NULL when it is done with. */
struct paths {
    VEC(char *) all;
};

static void add_lines(struct paths *p, char *text)
{
    char *rest = text;
    for (char *line; rest && (line = strsep(&rest, "\n"));)
        if (line[0] == '/')
            vec_push(&p->all, line);
}

/* Is something that stays in the directory i? What was made later stands behind it. */
static bool has_more(const struct paths *p, size_t i)
{
    size_t n = strlen(p->all.at[i]);
    for (size_t k = i + 1; k < p->all.n; k++)
        if (p->all.at[k] && strncmp(p->all.at[k], p->all.at[i], n) == 0 && p->all.at[k][n] == '/')
            return true;
    return false;
}

static void undo_all(struct paths *p)
{
    for (size_t i = p->all.n; i-- > 0;)
        if (undo_one(p->all.at[i]) && !has_more(p, i))
            p->all.at[i] = NULL;
}

/* Locked, and the one that everybody else opens; -1: none, or it is not this user's. */
static int open_common(const char *path, uid_t user, bool make)
{
    struct stat st;
    for (int i = 0; i < ROUNDS; i++) {
        AUTO_CLOSE int fd =
            open(path, O_RDWR | (make ? O_CREAT : 0) | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != user ||
            st.st_nlink > 1 || flock(fd, LOCK_EX) != 0)
            return -1;
        if (same_file(fd, path))
            return mem_give_fd(&fd);
    }
    return -1;
}

static void write_common(int fd, const char *path, const struct paths *p)
{
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    for (size_t i = 0; i < p->all.n; i++)
        if (p->all.at[i])
            buf_addf(&text, "%s\n", p->all.at[i]);
    if (text.len == 0)
        (void)unlink(path);
    else if (ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        (void)file_write_all(fd, text.data, text.len);
}

static char *read_list(const char *path)
{
    char *text = NULL;
    size_t len;
    struct err err;
    if (access(path, F_OK) != 0 || file_read(path, LIST_MAX, &text, &len, &err) != 0)
        return NULL;
    return text;
}

void mount_points_undo(const char *agent_dir, uid_t user)
{
    struct paths paths = { .all = { 0 } };
    AUTO_FREE char *common = mem_printf("/tmp/muster-%u.made", (unsigned)user);
    AUTO_FREE char *list = mem_printf("%s/made", agent_dir);
    AUTO_FREE char *own = read_list(list);
    AUTO_CLOSE int fd = open_common(common, user, own != NULL);
    AUTO_FREE char *left = fd >= 0 ? read_list(common) : NULL;
    add_lines(&paths, left);
    add_lines(&paths, own);
    undo_all(&paths);
    if (fd >= 0)
        write_common(fd, common, &paths);
    (void)unlink(list);
    vec_fini(&paths.all);
}
