/* muster launch: the elastic launcher. It is muster-node's work; this process becomes that one, so
 * that what waits for `muster launch` waits for the launcher itself. */
#include "cli/cmd.h"

#include <stdio.h>
#include <unistd.h>

static int run_launch(struct cli *cli, const void *o, int argc, char **argv, struct err *err)
{
    char verb[] = "launch";
    (void)o;
    const char *program = cli->host->node_program(cli->arena, err);
    if (!program)
        return -1;
    char **words = ARENA_ARRAY(cli->arena, (size_t)argc + 3, char *);
    words[0] = arena_strdup(cli->arena, program);
    words[1] = verb;
    for (int i = 0; i < argc; i++)
        words[i + 2] = argv[i];
    fflush(NULL);
    execv(program, words);
    return err_sys(err, "%s", program);
}

/* The flags are muster-node's own table: `muster launch --help` prints them. */
static const struct opt opts[] = { OPT_END };
static const char *const examples[] = {
    "muster launch --standalone --nproc-per-node=4 train.py",
    "four ranks on this machine, started again after a failure with --max-restarts",
    "muster launch --nnodes=2:4 --rdzv-endpoint=node1:29400 --rdzv-id=run7 train.py",
    "the same command on two to four machines, no server needed",
    "muster launch --help",
    "every flag of torchrun and dlrover-run, and what became of it",
    NULL,
};
const struct cmd cmd_launch = {
    .name = "launch",
    .summary = "start the ranks of a training script, as torchrun does",
    .operands = "SCRIPT [ARG...]",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .raw = true,
    .examples = examples,
    .run = run_launch,
};
