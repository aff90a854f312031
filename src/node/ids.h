/* Which users and groups there are in a user namespace of a task in an image: its own account as
 * root, and more where the node's /etc/subuid and /etc/subgid give the account some. */
#ifndef NODE_IDS_H
#define NODE_IDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ids_range {
    uint32_t first, n; /* n 0: there is none */
};
struct ids {
    struct ids_range users, groups;
};
/* Of that account; name NULL: as /etc/passwd has it. */
struct ids ids_find(uid_t uid, const char *name);

/* A process that gives the calling one its numbers, in steps: it is started with the rights that
 * the calling one may give up before it enters its namespace. */
struct ids_writer {
    pid_t pid; /* 0: there is none */
    int go;
};
/* That of an agent of root's writes them itself; of any other by newuidmap and newgidmap. */
void ids_writer_start(struct ids_writer *, const struct ids *, uid_t uid, gid_t gid);
/* A new user namespace, and flags of other new ones, where the caller is root. What the writer
 * could not give is left out. 0, or -1 and errno. The writer is gone then. */
int ids_enter(struct ids_writer *, int flags);
/* The same for another process of this user's, which is in a new one that has no numbers yet. 0, or
 * -1 and errno. */
int ids_give(pid_t, const struct ids *);
/* Has this process more than one user and one group in its namespace? */
bool ids_has_many(void);

#endif
