/* The file system of a task that runs in an image: the image's tree, which stays as it is, a layer
 * of the task's own over it, and what the node shows there. */
#ifndef NODE_RUNTIME_ROOT_H
#define NODE_RUNTIME_ROOT_H

#include "base/fs_user.h"

#include "node/runtime/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct root_bind {         /* a directory or file of the node */
    const char *from, *at; /* absolute; at: in the image, made where it is not there */
    bool read_only;
    bool may_miss;              /* left out where from is not there */
    const struct fs_user *user; /* whose rights `from` is reached with; NULL: one's own */
};
struct container;
struct root {
    const char *tree; /* the image's */
    const char *dir;  /* has the empty directories up and work: the layer */
    const char *at;   /* an empty directory, to mount at; of several tasks the same may be */
    const struct root_bind *binds;
    size_t n_binds;
    const char *work_dir;              /* made where it is not there; NULL: none */
    uint64_t shm;                      /* bytes of /dev/shm; 0: the kernel's usual size */
    const struct memory_dirs *memory;  /* NULL: none */
    const struct container *container; /* it is made in one (node/runtime/container.h); NULL: not */
    bool own_pids;                     /* its /proc is that of the caller's process namespace */
};
#define ROOT_WHY 160

/* In a process that has a mount namespace of its own whose mounts the machine does not see: makes
 * all of it and makes it "/". user_ns: that namespace belongs to a user namespace of this process.
 * What lies outside cannot be reached from then on. -1: why says why not. */
int root_enter(const struct root *, bool user_ns, char why[ROOT_WHY]);

/* On some file systems the kernel lets no layer of an overlay lie that is written to: which of them
 * that directory is on; NULL: on none of those. */
const char *root_unfit_disk(const char *dir);
#define ROOT_UNFIT_DISK                                                                            \
    "no image can run from a state directory on %s: put it on a volume or another disk"

/* The mount at that path, its flags kept; 0, or -1 and errno. */
int root_make_read_only(const char *at);

#endif
