/* Mount points that muster had to create. The list is written before the thing is made: a crash
 * between the two leaves a line for something that is not there, never something that nobody
 * remembers. Undoing removes only empty directories and empty files. */
#include "node/made.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_MAX (1u << 20)

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

int made_dirs(const char *agent_dir, const char *path, struct err *err)
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

int made_file(const char *agent_dir, const char *path, struct err *err)
{
    if (access(path, F_OK) == 0)
        return 0;
    AUTO_FREE char *above = mem_strdup(path);
    char *slash = strrchr(above, '/');
    if (slash && slash != above) {
        *slash = '\0';
        if (made_dirs(agent_dir, above, err) != 0)
            return -1;
    }
    if (remember(agent_dir, path, err) != 0)
        return -1;
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    return fd < 0 ? err_sys(err, "cannot create the file %s", path) : 0;
}

static void undo_one(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return;
    if (S_ISDIR(st.st_mode))
        (void)rmdir(path);
    else if (S_ISREG(st.st_mode) && st.st_size == 0)
        (void)unlink(path);
}

void made_undo(const char *agent_dir)
{
    AUTO_FREE char *list = mem_printf("%s/made", agent_dir);
    AUTO_FREE char *text = NULL;
    size_t len;
    struct err err;
    if (access(list, F_OK) != 0 || file_read(list, LIST_MAX, &text, &len, &err) != 0)
        return;
    while (len > 0) {
        if (text[len - 1] == '\n')
            text[--len] = '\0';
        while (len > 0 && text[len - 1] != '\n')
            len--;
        if (text[len] == '/')
            undo_one(text + len);
    }
    (void)unlink(list);
}
