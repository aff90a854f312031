/* Fuzz target: any bytes as a specification of CDI. What is accepted has devices with names, nodes
 * below /dev, absolute paths and variables with names, and can be added to what another says. */
#include "base/arena.h"
#include "base/bug.h"
#include "cdi/spec.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct cdi_edits *edits)
{
    for (size_t i = 0; i < edits->nodes.n; i++)
        if (!*edits->nodes.at[i] || strstr(edits->nodes.at[i], "/../"))
            BUG("node %s", edits->nodes.at[i]);
    for (size_t i = 0; i < edits->env.n; i++)
        if (!strchr(edits->env.at[i], '=') || edits->env.at[i][0] == '=')
            BUG("variable %s", edits->env.at[i]);
    for (size_t i = 0; i < edits->n_mounts; i++)
        if (edits->mounts[i].from[0] != '/' || edits->mounts[i].at[0] != '/')
            BUG("mount %s at %s", edits->mounts[i].from, edits->mounts[i].at);
    for (size_t i = 0; i < edits->n_links; i++)
        if (edits->links[i].at[0] != '/' || !*edits->links[i].to)
            BUG("link %s to %s", edits->links[i].at, edits->links[i].to);
    for (size_t i = 0; i < edits->n_groups; i++)
        if (edits->groups[i] == 0)
            BUG("group 0");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    struct cdi_spec spec = { .file = "f" };
    struct cdi_edits all = { .n_mounts = 0 };
    struct err err = { .what = "" };
    int rc =
        size <= CDI_BYTES_MAX ? cdi_spec_read(arena, (const char *)data, size, &spec, &err) : 1;
    if (rc < 0 && !*err.what)
        BUG("it was refused without a reason");
    if (rc == 0) {
        check(&spec.edits);
        cdi_edits_add(arena, &all, &spec.edits);
        for (size_t i = 0; i < spec.n_devices; i++) {
            if (!*spec.devices[i].name)
                BUG("a device without a name");
            check(&spec.devices[i].edits);
            cdi_edits_add(arena, &all, &spec.devices[i].edits);
        }
        check(&all);
    }
    arena_destroy(arena);
    return 0;
}
