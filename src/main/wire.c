/* Concrete dialects and engines, how they are given to the core, and this machine as a node. A new
 * one is added here and nowhere else: no other file knows all of them. */
#include "main/wire.h"

#include "base/mem.h"
#include "dialect/dlc/dlc.h"
#include "dialect/elasticjob/elasticjob.h"
#include "dialect/native/native.h"
#include "dialect/openpai/openpai.h"
#include "dialect/sbatch/sbatch.h"
#include "engine/local/local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define LEAST_CPUS 16u

static const struct dialect *const all_dialects[] = { &openpai_v1,         &openpai_v2,
                                                      &elasticjob_dialect, &dlc_dialect,
                                                      &sbatch_dialect,     &native_dialect };
static const struct convention *const all_conventions[] = {
    &openpai_v1_convention, &openpai_v2_convention, &dlc_convention,
    &elasticjob_convention, &sbatch_convention,     &native_convention,
    &pytorch_convention,    &torchrun_convention,   &dlrover_convention
};
static const struct dialects registry = {
    .at = all_dialects,
    .n = ARRAY_LEN(all_dialects),
    .conventions = all_conventions,
    .n_conventions = ARRAY_LEN(all_conventions),
    .native = &native_convention,
};

const struct dialects *wire_dialects(void)
{
    return &registry;
}

const struct entry *wire_shipped(struct arena *arena, size_t *n)
{
    return dlc_shipped(arena, n);
}

struct engine *wire_engine(const struct wire_place *place, struct err *err)
{
    struct local_config config = { .loop = place->loop,
                                   .link = place->link,
                                   .node_program = place->node_program,
                                   .socket_path = place->socket_path,
                                   .runs_dir = place->runs_dir,
                                   .agents = place->agents };
    return local_create(&config, err);
}

struct node_spec wire_machine(struct arena *a, const char *disk_path, bool *soft)
{
    struct node_facts facts = { .name = NULL };
    struct utsname machine;
    local_detect(a, disk_path, &facts);
    *soft = facts.cpu_milli < LEAST_CPUS * 1000;
    const char *host = uname(&machine) == 0 ? arena_strdup(a, machine.nodename) : "localhost";
    return (struct node_spec){ .name = facts.name && *facts.name ? facts.name : host,
                               .address = "127.0.0.1",
                               .host = host,
                               .cpu_milli = *soft ? LEAST_CPUS * 1000 : facts.cpu_milli,
                               .memory = facts.memory,
                               .disk = facts.disk,
                               .gpu_type = "" };
}

const char *wire_node_program(struct arena *a, struct err *err)
{
    static const char *const places[] = { "muster-node", "../libexec/muster/muster-node" };
    const char *named = getenv("MUSTER_NODE_PROGRAM");
    char self[4096];
    if (named && *named)
        return arena_strdup(a, named);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) {
        err_sys(err, "/proc/self/exe");
        return NULL;
    }
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    *(slash ? slash : self) = '\0';
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        const char *path = arena_printf(a, "%s/%s", self, places[i]);
        if (access(path, X_OK) == 0)
            return path;
    }
    err_set(err, ERR_CANNOT, "muster-node is neither in %s nor in %s/../libexec/muster", self,
            self);
    err_hint(err, "install both programs (make install), or set MUSTER_NODE_PROGRAM");
    return NULL;
}
