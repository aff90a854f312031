/* Directories of a task that lie in memory: a tmpfs of each, which goes with the task's view. */
#ifndef NODE_RUNTIME_MEMORY_H
#define NODE_RUNTIME_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct memory_dirs {
    const char *const *at; /* absolute */
    size_t n;
    bool given; /* to this account; else they belong to who mounts them */
    uid_t uid;
    gid_t gid;
};

/* Mounts one over that directory, which has to be empty: what it has would not be seen any more. 0,
 * or -1 and errno. */
int memory_mount(const char *path, const struct memory_dirs *);
/* The directory at that path below root (a descriptor), which has to be one that was mounted so: a
 * descriptor, or -1 and errno. */
int memory_open(int root, const char *at);

#endif
