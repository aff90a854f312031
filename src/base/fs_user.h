/* File access with another user's rights. What is opened, made or looked at in between is checked
 * by the kernel as if that user did it, and new files belong to that user. Signals, limits and what
 * is open already are not touched. Linux has this per thread, for file servers: setfsuid(2). */
#ifndef BASE_FS_USER_H
#define BASE_FS_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

struct fs_user {
    uint32_t uid, gid;
    const uint32_t *groups; /* all supplementary groups */
    size_t n_groups;
};
struct fs_self { /* oneself, to come back to */
    bool away;
    uint32_t *groups;
    int n_groups;
};
/* user NULL: nothing changes. Else this process has the rights of root; the program aborts when the
 * kernel refuses, because what follows would be done with the wrong rights. Not nested. */
struct fs_self fs_user_enter(const struct fs_user *user);
void fs_user_leave(struct fs_self *);
/* For a child: "UID GID GROUP ...". read: into groups, which has room for so many; false: it is no
 * such text, or has more. */
void fs_user_print(const struct fs_user *, struct buf *out);
bool fs_user_read(const char *text, uint32_t *groups, size_t most, struct fs_user *out);
/* For the rest of the block: AS_FS_USER(user); */
#define AS_FS_USER(user)                                                                           \
    struct fs_self fs_self __attribute__((cleanup(fs_user_leave), unused)) = fs_user_enter(user)

#endif
