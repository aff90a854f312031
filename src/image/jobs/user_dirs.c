/* Made as the server, which is root where there are other accounts, and given to the account; what
 * is above them lets others through and shows them nothing. */
#include "image/jobs/user_dirs.h"

#include "base/file.h"
#include "base/mem.h"
#include "job/account.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int user_dirs_give(const char *parent, const char *name, const struct account *account,
                   struct err *err)
{
    AUTO_FREE char *path = file_join(parent, name);
    if (file_mkdirs(parent, 0711, err) < 0)
        return -1;
    if (mkdir(path, 0700) != 0)
        return errno == EEXIST ? 0 : err_sys(err, "%s", path);
    return lchown(path, account->ids.uid, account->ids.gid) == 0 ? 0 : err_sys(err, "%s", path);
}

const char *user_dirs_images(const struct user_dirs *dirs, struct arena *arena,
                             const struct account *account)
{
    return account ? arena_printf(arena, "%s/images/%u", dirs->users_dir, account->ids.uid)
                   : arena_printf(arena, "%s/images", dirs->state_dir);
}

int user_dirs_make_images(const struct user_dirs *dirs, const struct account *account,
                          struct err *err)
{
    char uid[16];
    AUTO_FREE char *images = account ? file_join(dirs->users_dir, "images") : NULL;
    if (!account)
        return 0;
    snprintf(uid, sizeof uid, "%u", account->ids.uid);
    return file_mkdirs(dirs->users_dir, 0711, err) < 0 ? -1
                                                       : user_dirs_give(images, uid, account, err);
}
