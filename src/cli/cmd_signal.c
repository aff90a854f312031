/* muster signal: a signal to the processes of a job's tasks, and how many heard it. The exit status
 * is 0 only when every task that was meant did. */
#include "cli/jobs.h"

#include "base/mem.h"
#include "cli/call.h"
#include "cli/output.h"

#include <limits.h>
#include <stdio.h>

static const struct opt opts[] = { COMMON_OPTS, OPT_END };

static void print_signal(const char *job, const struct text_node *said)
{
    unsigned long long heard = text_number(said, "heard");
    unsigned long long tasks = text_number(said, "tasks");
    unsigned long long processes = text_number(said, "processes");
    const struct text_node *failed = text_get(said, "failed");
    printf("%s  %s: %llu of %llu task%s, %llu process%s\n", job, text_word(said, "signal"), heard,
           tasks, tasks == 1 ? "" : "s", processes, processes == 1 ? "" : "es");
    for (const struct text_node *one = failed ? failed->first : NULL; one; one = one->next)
        printf("  %s: %s\n", text_word(one, "task"), text_word(one, "why"));
}

static int run_signal(struct cli *cli, const void *options, int argc, char **argv, struct err *err)
{
    (void)options;
    AUTO_BUF struct buf path = BUF_INIT(1 << 20);
    if (cmd_operands(&cmd_signal, argc, 2, INT_MAX, err) < 0)
        return -1;
    jobs_path(&path, argv[0], "/signal");
    call_query(&path, "signal", argv[1]);
    for (int i = 2; i < argc; i++)
        call_query(&path, "task", argv[i]);
    const struct text_node *said =
        call_send(cli, &(struct call){ .method = "POST", .path = buf_str(&path) }, err);
    if (!said)
        return -1;
    if (cli->json)
        out_json(said);
    else if (!cli->quiet)
        print_signal(argv[0], said);
    return text_number(said, "heard") == text_number(said, "tasks") ? EXIT_OK : EXIT_JOB_FAILED;
}

static const char *const examples[] = { "muster signal 12 USR1",
                                        "to all of its processes that have a handler for it",
                                        "muster signal ddp INT worker/0", "to this task alone",
                                        NULL };
const struct cmd cmd_signal = {
    .name = "signal",
    .summary = "send a signal to the processes of a running job",
    .operands = "JOB SIGNAL [TASK...]",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .examples = examples,
    .run = run_signal,
};
