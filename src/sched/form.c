/* Custom resources of a node: each name has a slot, which it keeps when the node is described again
 * without it. */
#include "sched/form.h"

#include <string.h>

size_t form_custom(const struct form *f, const char *name)
{
    for (size_t i = 0; i < f->custom.n; i++)
        if (strcmp(f->custom.at[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}
