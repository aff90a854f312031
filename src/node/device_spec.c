/* Files are read for each task that starts: they are small, and a driver that is updated writes
 * them again while the agent runs. A specification that names what is not there any more is older
 * than the driver, so nothing of it is used. */
#include "node/device_spec.h"

#include "base/log.h"
#include "base/mem.h"
#include "cdi/specs.h"
#include "node/soname.h"

#include <string.h>

static const char *name_of(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* The link that ldconfig makes beside it: an image may have none, or none for that folder. */
static void add_soname(struct arena *arena, struct cdi_edits *edits, const struct cdi_mount *mount)
{
    char soname[SONAME_MAX];
    const char *name = name_of(mount->at);
    if (!strstr(name, ".so.") || !soname_read(mount->from, soname) || strcmp(soname, name) == 0)
        return;
    struct cdi_link link = {
        .at = arena_printf(arena, "%.*s%s", (int)(name - mount->at), mount->at, soname), .to = name
    };
    const struct cdi_edits one = { .links = &link, .n_links = 1 };
    for (size_t i = 0; i < edits->n_mounts; i++)
        if (strcmp(edits->mounts[i].at, link.at) == 0)
            return;
    cdi_edits_add(arena, edits, &one);
}

const struct cdi_edits *device_spec_find(struct arena *arena, const struct cdi_place *place,
                                         const struct launch_task *task)
{
    struct err err;
    struct cdi_specs specs;
    struct cdi_edits *edits = ARENA_NEW(arena, struct cdi_edits);
    const struct cdi_grant grant = { .minors = task->gpus,
                                     .parts = task->parts,
                                     .n = task->gpu_hold ? task->n_gpus : 0 };
    if (grant.n == 0)
        return NULL;
    cdi_specs_read(arena, place ? place : cdi_usual_place(), &specs);
    int rc = cdi_find(arena, &specs, &grant, edits, &err);
    if (rc == 0)
        rc = cdi_edits_check(edits, "/dev", &err);
    if (rc < 0)
        log_warn("cdi.unused", "role=%s index=%u: %s; its devices are shown without", task->role,
                 task->ref.index, err.what);
    if (rc != 0)
        return NULL;
    for (size_t i = 0; i < edits->n_mounts; i++)
        add_soname(arena, edits, &edits->mounts[i]);
    return edits;
}
