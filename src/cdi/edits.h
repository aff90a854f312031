/* What is to be done to a container that gets devices, as a specification of CDI (Container Device
 * Interface, versions 0.3 to 0.8) says it. All texts are in an arena. */
#ifndef CDI_EDITS_H
#define CDI_EDITS_H

#include "base/err.h"
#include "job/words.h"

#include <stdbool.h>
#include <stdint.h>

struct cdi_mount { /* a file or directory of the node; both absolute */
    const char *from, *at;
    bool read_only;
};
struct cdi_link { /* a symbolic link in the container */
    const char *at, *to;
};
struct cdi_edits {
    struct words nodes; /* below /dev, without that: "nvidia0" */
    struct words env;   /* "NAME=value" */
    struct cdi_mount *mounts;
    size_t n_mounts;
    /* Of hooks, which are not run, what can be done without them: links of nvidia-ctk's
     * create-symlinks, and folders with libraries of its update-ldcache. */
    struct cdi_link *links;
    size_t n_links;
    struct words folders;
    uint32_t *groups; /* additional ones of the processes; never 0 */
    size_t n_groups;
};

/* The same node, mount point, link or folder stands there once; of a variable, a mount point and a
 * link what is added last counts. */
void cdi_edits_add(struct arena *, struct cdi_edits *to, const struct cdi_edits *);
/* Are the nodes and the sources of mounts on this machine? dev: its "/dev". ERR_CANNOT names what
 * is not. */
int cdi_edits_check(const struct cdi_edits *, const char *dev, struct err *err);

#endif
