/* The program `muster`: one binary whose name decides what it is. "muster" is the command line with
 * the server inside; other names, found in libexec/muster, would be rows of the same table. */
#include "admit/admit.h"
#include "cli/cli.h"
#include "cli/dlc/face.h"
#include "cli/server_start.h"
#include "gpu/ask.h"
#include "main/account_main.h"
#include "main/as_main.h"
#include "main/code_main.h"
#include "main/config.h"
#include "main/gpu_main.h"
#include "main/pack_main.h"
#include "main/records_main.h"
#include "main/replay_main.h"
#include "main/runtime_asks.h"
#include "main/server_main.h"
#include "main/simulate_main.h"
#include "main/wire.h"
#include "sched/plan.h"
#include "ship/deliver.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool example(const struct job_spec *job, struct arena *arena, struct job_place *place)
{
    struct plan_entry entry = sched_example(job, arena);
    if (entry.kind != PLAN_ADMIT)
        return false;
    place->tasks = entry.tasks;
    place->n = entry.n_tasks;
    for (uint32_t i = 0; i < entry.n_tasks; i++)
        place->tasks[i].attempt = 1;
    return true;
}

static int refused(const struct dialect_result *read, struct report *report)
{
    return admit_anywhere(read->job, read->root, report);
}

static bool is_this_program(const char *path)
{
    struct stat self, other;
    return stat("/proc/self/exe", &self) == 0 && stat(path, &other) == 0 &&
           self.st_dev == other.st_dev && self.st_ino == other.st_ino;
}

/* "muster" where that is this program, else the path it was started by. */
static const char *typed_name(const char *argv0)
{
    const char *path = getenv("PATH");
    char file[4096];
    for (const char *at = path ? path : ""; argv0 && strchr(argv0, '/') && *at;) {
        size_t n = strcspn(at, ":");
        int len = snprintf(file, sizeof file, "%.*s/muster", (int)n, at);
        if (len > 0 && (size_t)len < sizeof file && access(file, X_OK) == 0)
            return is_this_program(file) ? "muster" : argv0;
        at += n + (at[n] == ':');
    }
    return argv0 && strchr(argv0, '/') ? argv0 : "muster";
}

static struct cli_host make_host(const char *argv0)
{
    return (struct cli_host){ .version = MUSTER_VERSION,
                              .program = typed_name(argv0),
                              .dialects = wire_dialects(),
                              .server_opts = config_options(),
                              .n_server_opts = SETTING_N,
                              .server_run = server_main,
                              .server_ensure = server_ensure,
                              .settings = server_settings,
                              .example = example,
                              .refused = refused,
                              .node_program = wire_node_program,
                              .runtimes = runtime_asks_all,
                              .simulate = simulate_main,
                              .compare = simulate_compare,
                              .records = records_main,
                              .replay = replay_main };
}

static int muster_main(int argc, char **argv)
{
    struct cli_host host = make_host(argc ? argv[0] : NULL);
    return cli_main(&host, argc - 1, argv + 1);
}

static int dlc_main(int argc, char **argv)
{
    struct cli_host host = make_host(NULL);
    return dlc_face_main(&host, argc - 1, argv + 1);
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} names[] = {
    { .name = "muster", .run = muster_main },   { .name = "dlc", .run = dlc_main },
    { .name = SLURM_AS, .run = as_main },       { .name = "account-of", .run = account_main },
    { .name = "check-code", .run = code_main }, { .name = "pack-code", .run = pack_main },
    { .name = GPU_ASK_NAME, .run = gpu_main },  { .name = DELIVER_NAME, .run = deliver_main },
};

int main(int argc, char **argv)
{
    const char *slash = argc ? strrchr(argv[0], '/') : NULL;
    const char *name = slash ? slash + 1 : argc ? argv[0] : "muster";
    prctl(PR_SET_NAME, "muster"); /* also where it was started as /proc/self/exe */
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i].name, name) == 0)
            return names[i].run(argc, argv);
    return muster_main(argc, argv);
}
