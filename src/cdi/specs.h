/* The specifications of CDI that a machine has, and what those say of devices that a task gets. */
#ifndef CDI_SPECS_H
#define CDI_SPECS_H

#include "cdi/spec.h"
#include "job/gpu.h"

#define CDI_FILES_MAX 64u /* read in a directory, by their names */

struct cdi_place {           /* where they lie */
    const char *const *dirs; /* what a later one says of a device counts */
    size_t n_dirs;
    uint32_t
        owner; /* whose the directories and files have to be, so that nobody else writes them */
};
const struct cdi_place *cdi_usual_place(void); /* /etc/cdi and /var/run/cdi, of root */

struct cdi_file { /* a specification, and in which of the directories it lies */
    struct cdi_spec spec;
    size_t dir;
};
struct cdi_specs {
    struct cdi_file *at; /* of CDI_KIND, by directory and name */
    size_t n;
    struct words problems; /* of files that are not used, and devices that two files name */
};
/* Files *.json, *.yaml and *.yml. A directory that is not there has none. */
void cdi_specs_read(struct arena *, const struct cdi_place *, struct cdi_specs *out);

struct cdi_grant { /* devices that were given out */
    const uint32_t *minors;
    const struct gpu_part *parts; /* of each; NULL: none is an instance of MIG */
    size_t n;
};
/* What is to be done for a task that has these. A device is found by the nodes that it shows, not
 * by its name, because indices are those of the day when the file was written: /dev/nvidiaN, and of
 * an instance the files of its capabilities, and no others. 1: there is no specification, and none
 * that cannot be read; 0; -1: ERR_CANNOT, none has the device, or what they say shows another one.
 */
int cdi_find(struct arena *, const struct cdi_specs *, const struct cdi_grant *,
             struct cdi_edits *out, struct err *err);

#endif
