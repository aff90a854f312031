/* Limits of MPS are limits of a client, which is a process: muster's launcher divides them among
 * its ranks (launch/rank_env.c). The device of a limit is counted among those that the client sees,
 * of which a task with a share has one. */
#include "dialect/gpu_share.h"

#include "base/scan.h"

#include <inttypes.h>
#include <string.h>

struct making {
    struct arena *arena;
    const struct pairs *own;
    struct pairs *env;
};

static void put(const struct making *m, const char *name, const char *value)
{
    if (!pairs_get(m->own, name))
        pairs_set(m->env, m->arena, name, value);
}

void gpu_share_env(const struct gpu_share *share, struct arena *arena, const struct pairs *own,
                   struct pairs *env)
{
    const struct making m = { .arena = arena, .own = own, .env = env };
    uint64_t mib = (share->memory >> 20) * share->milli / 1000;
    char text[FMT_MAX];
    put(&m, "MUSTER_GPU_SHARE", fmt_milli(text, share->milli));
    if (mib)
        put(&m, "MUSTER_GPU_MEMORY_MIB", arena_printf(arena, "%" PRIu64, mib));
    if (!share->mps)
        return;
    put(&m, "CUDA_MPS_PIPE_DIRECTORY", share->mps);
    put(&m, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
        arena_printf(arena, "%u", (share->milli + 9) / 10));
    if (mib)
        put(&m, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", arena_printf(arena, "0=%" PRIu64 "M", mib));
}

const char *gpu_share_mps(struct arena *arena, const char *setting, uint32_t uid)
{
    const char *at = strstr(setting, MPS_UID);
    if (!at)
        return setting;
    return arena_printf(arena, "%.*s%u%s", (int)(at - setting), setting, uid, at + strlen(MPS_UID));
}
