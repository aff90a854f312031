/* muster-node: the program that runs on nodes. Verbs are few and mostly called by muster itself. */
#include "base/mem.h"
#include "node/keeper.h"

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
    { .name = "version", .help = "      print the version", .run = version },
    { .name = "--version", .help = NULL, .run = version },
    { .name = "help", .help = NULL, .run = help },
    { .name = "--help", .help = NULL, .run = help },
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
    for (size_t i = 0; argc > 1 && i < ARRAY_LEN(verbs); i++)
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argc, argv);
    fprintf(stderr, "muster-node: %s%s; muster-node --help lists the verbs\n",
            argc > 1 ? "unknown verb " : "a verb is needed", argc > 1 ? argv[1] : "");
    return 2;
}
