/* A list that the environment has is a grant, whatever is in /dev: a device that is listed and
 * cannot be used is a fault that the check must find. Without a list nobody has granted anything,
 * and what there is counts. */
#include "launch/check_grant.h"

#include "launch/devices.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As CUDA reads it: up to the first that is empty or negative. */
static void read_list(const char *list, struct check_grant *out)
{
    size_t used = 0;
    out->n = 0;
    while (*list) {
        size_t len = strcspn(list, ",");
        if (len == 0 || list[0] == '-')
            break;
        int wrote = snprintf(out->names + used, sizeof out->names - used, "%s%.*s",
                             out->n ? "," : "", (int)len, list);
        if (wrote > 0 && (size_t)wrote < sizeof out->names - used)
            used += (size_t)wrote;
        else
            out->names[used] = '\0'; /* what has no room is counted only */
        out->n++;
        list += len;
        list += *list == ',';
    }
    out->given = out->n ? CHECK_GIVEN_LIST : CHECK_GIVEN_NONE;
}

/* Tasks of declared nodes have the numbers in the list that CUDA does not read. */
static void read_declared(struct check_grant *out)
{
    const char *numbers = getenv("NVIDIA_VISIBLE_DEVICES");
    if (!getenv("MUSTER_JOB_NUMBER") || !numbers || !isdigit((unsigned char)*numbers))
        return;
    out->given = CHECK_GIVEN_DECLARED;
    snprintf(out->names, sizeof out->names, "%s", numbers);
}

static void read_machine(const char *root, struct check_grant *out)
{
    size_t used = 0;
    out->n = devices_cuda(root);
    out->given = out->n ? CHECK_GIVEN_ALL : CHECK_GIVEN_NONE;
    for (uint32_t i = 0; i < out->n && used + 12 < sizeof out->names; i++)
        used +=
            (size_t)snprintf(out->names + used, sizeof out->names - used, "%s%u", i ? "," : "", i);
}

void check_grant_read(const char *root, struct check_grant *out)
{
    const char *cuda = getenv("CUDA_VISIBLE_DEVICES"), *hip = getenv("HIP_VISIBLE_DEVICES");
    *out = (struct check_grant){ .given = CHECK_GIVEN_NONE };
    if (cuda || hip)
        read_list(cuda ? cuda : hip, out);
    else
        read_machine(root, out);
    if (out->given == CHECK_GIVEN_NONE)
        read_declared(out);
}
