/* What helps where the disk refuses: a ballast file that makes room, and cutting off of the log
 * what a commit that failed may have left there. And writing the log back between turns. */
#include "store/disk.h"

#include "base/mem.h"
#include "store/db.h"
#include "store/end_mark.h"

#include <fcntl.h>
#include <unistd.h>

#define BALLAST_BYTES (8 << 20)

void store_release_ballast(struct store *st)
{
    if (st->ballast)
        unlink(st->ballast);
}

bool store_make_ballast(struct store *st)
{
    if (!st->ballast)
        return true;
    AUTO_CLOSE int fd = open(st->ballast, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    if (posix_fallocate(fd, 0, BALLAST_BYTES) == 0)
        return true;
    unlink(st->ballast);
    return false;
}

bool store_undecided(const struct store *st)
{
    return st->undecided;
}

int store_decide(struct store *st, struct err *err)
{
    if (st->undecided && end_cut(st) < 0)
        return err_set(err, ERR_SYSTEM, "%s: what a failed commit left cannot be cut off",
                       st->path);
    st->undecided = false;
    return 0;
}

bool store_behind(const struct store *st)
{
    return st->behind && !st->in_turn && !st->undecided;
}

void store_write_back(struct store *st)
{
    if (!store_behind(st))
        return;
    end_write_back(st);
    end_note(st);
}
