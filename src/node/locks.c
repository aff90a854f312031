/* Directories for locks that all servers of a user on this machine share. A directory that somebody
 * else made first, or may write to, is not used. */
#include "node/locks.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool own_dir(const char *path)
{
    struct stat st;
    return (mkdir(path, 0700) == 0 || errno == EEXIST) && lstat(path, &st) == 0 &&
           S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 022) == 0;
}

int locks_open(const char *kind)
{
    const char *run = getenv("XDG_RUNTIME_DIR");
    AUTO_FREE char *top = geteuid() == 0         ? mem_strdup("/run/muster")
                          : run && run[0] == '/' ? mem_printf("%s/muster", run)
                                                 : mem_printf("/tmp/muster-%u", geteuid());
    AUTO_FREE char *dir = mem_printf("%s/%s", top, kind);
    if (!own_dir(top) || !own_dir(dir))
        return -1;
    return open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}
