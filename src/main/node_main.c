/* muster-node: the program that runs on nodes. Verbs are few and mostly called by muster itself.
 * Reached under the name torchrun, dlrover-run or muster-launch (links in libexec/muster) it is
 * that launcher. */
#include "base/mem.h"
#include "flags/flags.h"
#include "launch/launch.h"
#include "node/host.h"
#include "node/image_digest.h"
#include "node/image_early.h"
#include "node/image_pack.h"
#include "node/keeper.h"
#include "node/pilot.h"
#include "node/port_pipe.h"
#include "node/runtime/container.h"
#include "node/runtime_probe.h"
#include "step/step.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MUSTER_VERSION
#define MUSTER_VERSION "0.1.0"
#endif

static int in_dir(int argc, char **argv, int (*run)(const char *dir))
{
    char dir[PATH_MAX];
    if (argc != 3) {
        fprintf(stderr, "muster-node %s: one directory is needed\n", argv[1]);
        return 2;
    }
    if (!realpath(argv[2], dir)) {
        perror(argv[2]);
        return 2;
    }
    return run(dir);
}

static int keeper(int argc, char **argv)
{
    return in_dir(argc, argv, keeper_run);
}

static int clean(int argc, char **argv)
{
    return in_dir(argc, argv, keeper_clean);
}

static int host(int argc, char **argv)
{
    return in_dir(argc, argv, host_run);
}

static int pilot(int argc, char **argv)
{
    if (argc == 2)
        return pilot_run();
    if (argc == 3 && strcmp(argv[2], "again") == 0)
        return pilot_print_again();
    fputs("muster-node pilot: takes \"again\", or no argument\n", stderr);
    return 2;
}

static int list_runtimes(int argc, char **argv)
{
    return in_dir(argc, argv, runtime_probe_all);
}

static int find_runtime(int argc, char **argv)
{
    return in_dir(argc, argv, runtime_probe_first);
}

static int hold(int argc, char **argv)
{
    return container_hold(argc > 2 ? argv[2] : NULL);
}

static int say_image_digest(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return image_digest_main();
}

/* The launchers: argv[0] is the name for messages, the flags follow. */
static int launch_as(enum launch_name name, int argc, char **argv)
{
    return launch_main(name, argc - 1, argv + 1);
}

static int launch(int argc, char **argv)
{
    return launch_as(LAUNCH_MUSTER, argc, argv);
}

static int torchrun(int argc, char **argv)
{
    return launch_as(LAUNCH_TORCHRUN, argc, argv);
}

static int dlrover_run(int argc, char **argv)
{
    return launch_as(LAUNCH_DLROVER_RUN, argc, argv);
}

/* The table between the markers of doc/launch.md. */
static int launch_flags(int argc, char **argv)
{
    AUTO_BUF struct buf page = BUF_INIT(1u << 20);
    (void)argc;
    (void)argv;
    flags_page(&page);
    return fputs(buf_str(&page), stdout) < 0 || fflush(stdout) != 0;
}

static int version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts("muster-node " MUSTER_VERSION);
    return 0;
}

static int help(int argc, char **argv);

static const struct verb {
    const char *name, *help;
    int (*run)(int argc, char **argv);
} verbs[] = {
    { .name = "keeper", .help = "DIR   run the agent of DIR and end with it", .run = keeper },
    { .name = "clean", .help = "DIR    remove what a killed agent of DIR left", .run = clean },
    { .name = "host",
      .help = "DIR     start agents on this machine for the server of DIR",
      .run = host },
    { .name = "pilot",
      .help = "        start agents on this node of an allocation, as its environment says",
      .run = pilot },
    { .name = "runtimes",
      .help = "DIR say which runtimes work, with images below DIR",
      .run = list_runtimes },
    { .name = "runtimes-first", .help = NULL, .run = find_runtime },
    { .name = "hold", .help = NULL, .run = hold }, /* in containers */
    { .name = "image-digest",
      .help = "which image a name stands for, as stdin asks",
      .run = say_image_digest },
    { .name = "image-pack",
      .help = "DIR BYTES an image as a file for machines, as stdin asks",
      .run = image_pack_main },
    { .name = "image-early",
      .help = "DIR BYTES DIGEST... an image into the store DIR for a job that waits",
      .run = image_early_main },
    { .name = "port", .help = NULL, .run = port_pipe_main }, /* in views of tasks */
    { .name = "launch", .help = "ARGS    start the ranks of this node (--help)", .run = launch },
    { .name = "torchrun", .help = NULL, .run = torchrun },
    { .name = "dlrover-run", .help = NULL, .run = dlrover_run },
    { .name = "launch-flags", .help = NULL, .run = launch_flags },
    { .name = "version", .help = "      print the version", .run = version },
    { .name = "--version", .help = NULL, .run = version },
    { .name = "help", .help = NULL, .run = help },
    { .name = "--help", .help = NULL, .run = help },
};

/* What a batch script of Slurm finds, by the name it is called by. */
static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} programs[] = {
    { "muster-step", step_main }, { "srun", srun_main },     { "scontrol", scontrol_main },
    { "sbatch", sbatch_main },    { "squeue", squeue_main }, { "scancel", scancel_main },
};

static int help(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts("muster-node VERB: the part of muster that runs on nodes; the server starts it.");
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (verbs[i].help)
            printf("  %-8s %s\n", verbs[i].name, verbs[i].help);
    return 0;
}

int main(int argc, char **argv)
{
    const char *slash = argc ? strrchr(argv[0], '/') : NULL;
    const char *name = slash ? slash + 1 : argc ? argv[0] : "";
    if (strcmp(name, "torchrun") == 0)
        return launch_main(LAUNCH_TORCHRUN, argc, argv);
    if (strcmp(name, "dlrover-run") == 0)
        return launch_main(LAUNCH_DLROVER_RUN, argc, argv);
    if (strcmp(name, "muster-launch") == 0)
        return launch_main(LAUNCH_MUSTER, argc, argv);
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        if (strcmp(name, programs[i].name) == 0)
            return programs[i].run(argc, argv);
    for (size_t i = 0; argc > 1 && i < ARRAY_LEN(verbs); i++)
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argc, argv);
    fprintf(stderr, "muster-node: %s%s; muster-node --help lists the verbs\n",
            argc > 1 ? "unknown verb " : "a verb is needed", argc > 1 ? argv[1] : "");
    return 2;
}
