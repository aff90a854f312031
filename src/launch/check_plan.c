/* Pure: from what each node of the group can to what all of them do. NCCL refuses two ranks on one
 * device, and waits for ever for one that speaks gloo. */
#include "launch/check_plan.h"

#include <string.h>

static bool has_device(const struct check_ability *node)
{
    return node->can == CHECK_CAN_CUDA || node->can == CHECK_CAN_HIP;
}

/* The first node that can only that; n: none. */
static size_t find(const struct check_ability *nodes, size_t n, enum check_can can)
{
    size_t i = 0;
    while (i < n && nodes[i].can != can)
        i++;
    return i;
}

static struct check_plan plan(enum check_backend backend, enum check_because because, size_t who,
                              size_t other)
{
    return (struct check_plan){
        .backend = backend, .because = because, .who = (uint32_t)who, .other = (uint32_t)other
    };
}

/* All have torch and a device. */
static struct check_plan plan_devices(const struct check_ability *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (nodes[i].can != nodes[0].can)
            return plan(CHECK_BACKEND_GLOO, CHECK_BECAUSE_KIND, 0, i);
        if (!nodes[i].nccl)
            return plan(CHECK_BACKEND_GLOO, CHECK_BECAUSE_NO_NCCL, i, i);
        for (size_t k = 0; k < i; k++)
            if (nodes[i].device[0] && strcmp(nodes[i].device, nodes[k].device) == 0)
                return plan(CHECK_BACKEND_GLOO, CHECK_BECAUSE_ONE_GPU, k, i);
    }
    return plan(CHECK_BACKEND_NCCL, CHECK_BECAUSE_NOTHING, 0, 0);
}

struct check_plan check_plan_make(const struct check_ability *nodes, size_t n)
{
    static const struct {
        enum check_can can;
        enum check_because because;
    } hindrances[] = { { CHECK_CAN_FAILED, CHECK_BECAUSE_FAILED },
                       { CHECK_CAN_UNKNOWN, CHECK_BECAUSE_GONE },
                       { CHECK_CAN_NOTHING, CHECK_BECAUSE_NO_TORCH } };
    size_t with_devices = 0, without = 0;
    for (size_t i = 0; i < n; i++)
        with_devices += has_device(&nodes[i]);
    for (size_t h = 0; h < sizeof hindrances / sizeof *hindrances; h++) {
        size_t who = find(nodes, n, hindrances[h].can);
        if (who == n)
            continue;
        bool nobody = hindrances[h].can == CHECK_CAN_NOTHING && with_devices == 0;
        return plan(CHECK_BACKEND_NONE, nobody ? CHECK_BECAUSE_NOTHING : hindrances[h].because, who,
                    who);
    }
    if (with_devices == n)
        return plan_devices(nodes, n);
    without = find(nodes, n, CHECK_CAN_CPU);
    return plan(CHECK_BACKEND_GLOO, with_devices > 0 ? CHECK_BECAUSE_NO_GPU : CHECK_BECAUSE_NOTHING,
                without, without);
}

bool check_plan_counts(const struct check_plan *plan)
{
    return plan->because == CHECK_BECAUSE_NOTHING;
}
