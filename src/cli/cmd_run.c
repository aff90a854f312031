/* muster run: submit a file or a command and stay with it to its end; starts a server when there is
 * none. */
#include "cli/cmd.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/command.h"
#include "cli/missing_module.h"
#include "cli/out.h"
#include "cli/phases.h"
#include "cli/script.h"
#include "cli/server_start.h"
#include "cli/submit.h"
#include "cli/summary.h"
#include "cli/watch.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct run_opts {
    struct submit_opts submit;
    const char *exit_code;
};
static const struct opt opts[] = {
    { .name = "exit-code",
      .type = OPT_STR,
      .offset = offsetof(struct run_opts, exit_code),
      .arg = "job|task",
      .help = "task: end with the first failing task's own code" },
    SUBMIT_OPTS,
    RUN_OPTS,
    COMMON_OPTS,
    OPT_END,
};

/* ---- what to run ---- */

static bool is_job_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot &&
           (strcmp(dot, ".json") == 0 || strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

/* A job file is one operand that is a file and no program; everything after "--", and several
 * words, are a command. */
static bool is_command(const struct cli *cli, const struct run_opts *o, int argc, char **argv)
{
    struct stat st;
    (void)o;
    if (argc != 1 || cli->dashes || script_is(argv[0]))
        return true;
    if (strcmp(argv[0], "-") == 0)
        return false;
    return !is_job_name(argv[0]) && stat(argv[0], &st) == 0 && S_ISREG(st.st_mode) &&
           (st.st_mode & 0111);
}

static int check_run(const struct cli *cli, const struct run_opts *o, int argc, char **argv,
                     struct err *err)
{
    const char *exit_code = o->exit_code ? o->exit_code : "job";
    if (cmd_operands(&cmd_run, argc, 1, 1 << 20, err) < 0)
        return -1;
    if (strcmp(exit_code, "job") != 0 && strcmp(exit_code, "task") != 0) {
        err_set(err, ERR_INPUT, "--exit-code: \"%.40s\"", exit_code);
        return err_hint(err, "job or task");
    }
    if (argc > 1 && !cli->dashes && is_job_name(argv[0])) {
        err_set(err, ERR_INPUT, "run follows one job, %d files were given", argc);
        return err_remedy(err, REMEDY_SUBMIT_ALL);
    }
    return 0;
}

/* ---- to the end ---- */

static struct text_node *final_view(struct cli *cli, uint64_t number, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(256);
    buf_addf(&path, "/v1/jobs/%llu?tasks=1", (unsigned long long)number);
    return call_get(cli, buf_str(&path), err);
}

static void print_end(struct cli *cli, const struct text_node *job)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    struct phases phases = { .color = cli->color, .now_ms = clock_wall_ms() };
    if (cli->json)
        out_json(job);
    if (cli->json || cli->quiet)
        return;
    phases_final(&phases, job, &out);
    summary_print(cli->arena, &cli->refused, job, &out);
    missing_module_print(cli, job, &out);
    out_buf(&out);
}

static int follow_to_end(struct cli *cli, const struct run_opts *o,
                         const struct text_node *submitted, struct err *err)
{
    struct watch watch = { .number = answer_number(submitted, "number", 0),
                           .tasks = answer_number(submitted, "tasks", 0),
                           .work_dir = answer_text(submitted, "work_dir", NULL),
                           .to_stderr = cli->json,
                           .silent = cli->quiet };
    enum watch_end end;
    if (watch_job(cli, &watch, &end, err) < 0)
        return -1;
    if (end == WATCH_LEFT)
        return EXIT_INTERRUPTED;
    const struct text_node *job = final_view(cli, watch.number, err);
    if (!job)
        return -1;
    print_end(cli, job);
    int status = out_result_status(job);
    bool of_task = o->exit_code && strcmp(o->exit_code, "task") == 0;
    return of_task && status == EXIT_JOB_FAILED ? summary_exit_code(job, status) : status;
}

static int run_run(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct run_opts *o = opts_;
    const struct text_node *submitted;
    if (check_run(cli, o, argc, argv, err) < 0 || submit_check(&o->submit, argc, argv, err) < 0 ||
        server_ensure(cli, err) < 0)
        return -1;
    if (is_command(cli, o, argc, argv))
        submitted = submit_command(cli, &o->submit, argc, argv, err);
    else
        submitted = submit_file(cli, &o->submit, argv[0], 0, err);
    if (!submitted)
        return -1;
    if (!cli->json)
        submit_print(cli, submitted);
    else if (o->submit.detach)
        out_json(submitted);
    if (o->submit.detach)
        return EXIT_OK;
    return follow_to_end(cli, o, submitted, err);
}

static const char *const examples[] = {
    "muster run job.json",
    "any format muster knows; ends with the job's result",
    "muster run train.py --epochs 3",
    "a Python script with its arguments, by the Python of this shell",
    "muster run -- python train.py --epochs 3",
    "any command, in this directory",
    "muster run --replicas 4 --gpu 1 -- python train.py",
    "four of them",
    "muster run -- torchrun --nnodes=2 --nproc-per-node=8 train.py",
    "a launcher's line: two tasks of eight ranks, one world",
    "muster run job.yaml --set roles.worker.replicas=2 --env LR=0.1",
    "with other values",
    "muster run --python .venv/bin/python --time 2h --gpus 1 --env HF_TOKEN train.py",
    "by another Python, two hours at most, a device, a variable of this shell",
    "muster run --exit-code task -- ./tests",
    "ends with the task's own code",
    NULL,
};
const struct cmd cmd_run = {
    .name = "run",
    .summary = "submit a job and follow it to its end",
    .operands = "FILE | SCRIPT [ARGS...] | -- COMMAND...",
    .opts = opts,
    .size = sizeof(struct run_opts),
    .parse = OPT_STOP_AT_SCRIPT,
    .examples = examples,
    .run = run_run,
};
