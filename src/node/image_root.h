/* What a task that runs in an image sees of its node and of its job. */
#ifndef NODE_IMAGE_ROOT_H
#define NODE_IMAGE_ROOT_H

#include "base/arena.h"
#include "node/device_spec.h"
#include "node/images.h"
#include "node/site.h"
#include "node/stage.h"

struct image_root {
    const struct site *site;
    const struct launch *launch;
    const struct launch_task *task;
    const struct image *image; /* that is ready */
    const char *work_dir;      /* where it starts */
    const char *own_dir;       /* its own directory on the node, shown under the same name; NULL:
                                * it has none */
    const struct cdi_edits *edits;    /* of its devices (node/device_spec.h); NULL: none */
    const struct memory_dirs *memory; /* of its secrets; NULL: it has no files of them */
};
/* Where a task of the launch starts in that image: in the job's directory, else where the image
 * says, else in its own directory. */
const char *image_work_dir(const struct launch *, const struct image *, const char *own_dir);
/* Makes the layer that takes what the task writes, below the agent's directory, and says what its
 * "/" is to be; *out lives as long as the arena and what the struct names. */
int image_root_make(const struct image_root *, struct arena *, struct root *out, struct err *);
/* What follows of it for the program that starts in that root. */
void image_root_stage(const struct image_root *, const struct root *, struct stage *);
/* Lets go of the view, which is VIEW_INIT after it, and removes that layer, beside the agent:
 * nothing of the task runs any more. */
void image_root_remove(const struct site *, const struct launch_task *, struct view *);

#endif
