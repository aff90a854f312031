/* One specification of CDI, as it stands in its file. Pure: text in, struct out. */
#ifndef CDI_SPEC_H
#define CDI_SPEC_H

#include "cdi/edits.h"

#define CDI_KIND      "nvidia.com/gpu"
#define CDI_BYTES_MAX (1u << 20) /* of a file */
#define CDI_LIST_MAX  1024u      /* devices of a file; entries of each list of edits */

struct cdi_device {
    const char *name; /* "0", "1:0", "GPU-...", "all" */
    struct cdi_edits edits;
};
struct cdi_spec {
    const char *file;
    struct cdi_edits edits; /* for whoever gets any of its devices */
    struct cdi_device *devices;
    size_t n_devices;
};
/* JSON or YAML. 1: it is of another kind than CDI_KIND, and is not looked at; 0; -1: ERR_INPUT says
 * what is wrong, without the file. What is no device of the machine or no mount of its files (a
 * node outside /dev, a mount of type tmpfs) is refused; hooks are read for what cdi_edits has of
 * them. */
int cdi_spec_read(struct arena *, const char *text, size_t len, struct cdi_spec *, struct err *err);

#endif
