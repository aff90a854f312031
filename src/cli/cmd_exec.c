/* muster exec: a command or shell inside a task's view, over an upgraded connection. The exit
 * status is the command's. */
#include "cli/cmd.h"

#include "base/opt.h"
#include "cli/exec_call.h"

#include <limits.h>
#include <unistd.h>

struct exec_opts {
    struct common_opts common;
    bool no_tty;
};
static const struct opt opts[] = {
    { .name = "no-tty",
      .letter = 'T',
      .type = OPT_FLAG,
      .offset = offsetof(struct exec_opts, no_tty),
      .help = "plain pipes, also on a terminal" },
    COMMON_OPTS,
    OPT_END,
};

static int run_exec(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct exec_opts *o = opts_;
    const char *task = argc > 1 && !cmd_behind_dashes(cli, argv[1]) ? argv[1] : NULL;
    const int first = task ? 2 : 1;
    struct session s;
    if (cmd_operands(&cmd_exec, argc, 1, INT_MAX, err) < 0)
        return -1;
    const struct exec_call call = {
        .job = argv[0],
        .task = task,
        .command = { .at = (const char **)argv + first, .n = (size_t)(argc - first) },
    };
    session_init(&s, !o->no_tty && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1);
    int rc = exec_call_run(cli, &call, &s, err);
    session_fini(&s);
    return rc < 0 ? -1 : s.status;
}

static const char *const examples[] = {
    "muster exec ddp worker/0",
    "a shell in the task's directory, with its environment and limits",
    "muster exec 12 -- nvidia-smi",
    "one command in its only task; ends with the command's exit status",
    "tar c data | muster exec 12 master/0 -- tar x",
    "what it is given it reads (copies: muster cp)",
    NULL,
};
const struct cmd cmd_exec = {
    .name = "exec",
    .summary = "a shell or command inside a task",
    .operands = "JOB [ROLE/INDEX] [-- COMMAND...]",
    .opts = opts,
    .size = sizeof(struct exec_opts),
    .examples = examples,
    .run = run_exec,
};
