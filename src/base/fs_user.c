/* The groups are set first, because that needs a capability which changing the user takes out of
 * effect; the way back goes in the other order. Raw system calls: the C library would change all
 * threads of the process. setfsuid() returns the user of before and no error, so each change is
 * read back. */
#include "base/fs_user.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/scan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void set_groups(const uint32_t *groups, size_t n)
{
    if (syscall(SYS_setgroups, n, groups) != 0)
        BUG("the groups of a user cannot be taken on");
}

static void set_user(uint32_t uid, uint32_t gid)
{
    const long ask = -1;
    (void)syscall(SYS_setfsgid, gid);
    (void)syscall(SYS_setfsuid, uid);
    if ((uint32_t)syscall(SYS_setfsgid, ask) != gid || (uint32_t)syscall(SYS_setfsuid, ask) != uid)
        BUG("the rights of a user cannot be taken on");
}

struct fs_self fs_user_enter(const struct fs_user *user)
{
    struct fs_self self = { .away = user != NULL };
    if (!user)
        return self;
    int n = getgroups(0, NULL);
    self.groups = mem_new((size_t)(n > 0 ? n : 1) * sizeof *self.groups);
    self.n_groups = n > 0 ? getgroups(n, self.groups) : 0;
    if (self.n_groups < 0)
        BUG("the groups of this process cannot be read");
    set_groups(user->groups, user->n_groups);
    set_user(user->uid, user->gid);
    return self;
}

void fs_user_leave(struct fs_self *self)
{
    if (!self->away)
        return;
    (void)syscall(SYS_setfsuid, geteuid()); /* back come the capabilities that the rest needs */
    set_user(geteuid(), getegid());
    set_groups(self->groups, (size_t)self->n_groups);
    free(self->groups);
    *self = (struct fs_self){ .away = false };
}

void fs_user_print(const struct fs_user *user, struct buf *out)
{
    buf_addf(out, "%u %u", user->uid, user->gid);
    for (size_t i = 0; i < user->n_groups; i++)
        buf_addf(out, " %u", user->groups[i]);
}

bool fs_user_read(const char *text, uint32_t *groups, size_t most, struct fs_user *out)
{
    AUTO_FREE char *copy = mem_strdup(text);
    char *rest = copy;
    size_t n = 0;
    *out = (struct fs_user){ .groups = groups };
    for (char *word; (word = strsep(&rest, " ")); n++) {
        uint64_t number;
        if (!scan_u64(word, 0, UINT32_MAX - 1, &number) || n == most + 2)
            return false;
        if (n == 0)
            out->uid = (uint32_t)number;
        else if (n == 1)
            out->gid = (uint32_t)number;
        else
            groups[out->n_groups++] = (uint32_t)number;
    }
    return n >= 2;
}
