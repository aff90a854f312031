/* muster exec: a command or shell inside a task's view, over an upgraded connection. The exit
 * status is the command's. */
#include "cli/jobs.h"

#include "base/mem.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/names.h"
#include "cli/session.h"
#include "http/client.h"

#include <limits.h>
#include <stdio.h>
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

static void make_path(struct buf *path, const char *job, bool tty, const char *task,
                      const struct words *command)
{
    struct winsize size = session_window();
    jobs_path(path, job, "/exec");
    if (task)
        call_query(path, "task", task);
    for (size_t i = 0; i < command->n; i++)
        call_query(path, "arg", command->at[i]);
    if (!tty)
        return;
    call_query(path, "tty", "1");
    call_query_number(path, "rows", size.ws_row);
    call_query_number(path, "cols", size.ws_col);
}

static int run_exec(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct exec_opts *o = opts_;
    const char *task = argc > 1 && !cmd_behind_dashes(cli, argv[1]) ? argv[1] : NULL;
    const int first = task ? 2 : 1;
    struct task_name name;
    AUTO_BUF struct buf path = BUF_INIT(1 << 20);
    struct session s;
    if (cmd_operands(&cmd_exec, argc, 1, INT_MAX, err) < 0 ||
        (task && names_task(cli->arena, task, &name, err) < 0))
        return -1;
    const struct text_node *view = jobs_view(cli, argv[0], NULL, err);
    if (!view)
        return -1;
    const struct words command = { .at = (const char **)argv + first, .n = (size_t)(argc - first) };
    session_init(&s, !o->no_tty && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1);
    make_path(&path, answer_text(view, "id", argv[0]), s.tty, task, &command);
    fflush(NULL);
    s.line = http_client_upgrade(cli->client, buf_str(&path), "muster-exec/1", &s.in, err);
    int rc = s.line ? session_run(&s, err) : -1;
    session_fini(&s);
    return rc < 0 ? -1 : s.status;
}

static const char *const examples[] = {
    "muster exec ddp worker/0",
    "a shell in the task's directory, with its environment and limits",
    "muster exec 12 -- nvidia-smi",
    "one command in its only task; ends with the command's exit status",
    "tar c data | muster exec 12 master/0 -- tar x",
    "",
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
