/* muster run: submit a file or a command and stay with it to its end; starts a server when there is
 * none. */
#include "cli/cmd.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/command.h"
#include "cli/missing_module.h"
#include "cli/output.h"
#include "cli/phases.h"
#include "cli/script.h"
#include "cli/server_start.h"
#include "cli/submit.h"
#include "cli/summary.h"
#include "cli/watch.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct run_opts {
    struct submit_opts submit;
    const char *exit_code;
    bool no_tty, raw;
};
static const struct opt opts[] = {
    { .name = "exit-code",
      .type = OPT_STR,
      .offset = offsetof(struct run_opts, exit_code),
      .arg = "job|task",
      .help = "task: end with the first failing task's own code" },
    { .name = "no-tty",
      .letter = 'T',
      .type = OPT_FLAG,
      .offset = offsetof(struct run_opts, no_tty),
      .help = "with --stdin: a plain pipe, also on a terminal" },
    { .name = "raw",
      .type = OPT_FLAG,
      .offset = offsetof(struct run_opts, raw),
      .help = "pass all that tasks write to the terminal, also what moves its cursor" },
    SUBMIT_OPTS,
    RUN_OPTS,
    COMMON_OPTS,
    OPT_END,
};

/* Does what is typed here go to the job? */
static bool types(const struct run_opts *o)
{
    return (o->submit.job.open_stdin || o->submit.job.tty) && !o->submit.detach;
}

/* ---- what to run ---- */

static bool is_job_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot &&
           (strcmp(dot, ".json") == 0 || strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

/* A job file is one operand that is a file and no program; everything after "--", and several
 * words, are a command. */
static bool is_command(const struct cli *cli, int argc, char **argv)
{
    struct stat st;
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
    if (types(o) && o->submit.job.array) {
        err_set(err, ERR_INPUT, "--stdin and --array: into which of the jobs is not said");
        return err_hint(err, "--detach, then attach to one of them");
    }
    if (cli->json && types(o)) {
        err_set(err, ERR_INPUT, "--stdin and --json: both want stdout");
        return err_hint(err, "--detach with --json, then attach to the job");
    }
    if (argc > 1 && !cli->dashes && is_job_name(argv[0])) {
        err_set(err, ERR_INPUT, "run follows one job, %d files were given", argc);
        return err_remedy(err, REMEDY_SUBMIT_ALL);
    }
    return 0;
}

/* ---- typing into it ---- */

/* stdout is the task's from here on: what muster says goes to stderr. */
static int give_stdout(struct cli *cli, struct err *err)
{
    fflush(stdout);
    int fd = dup(STDOUT_FILENO);
    if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return err_sys(err, "stdout");
    out_guard();
    cli->color = out_color_err();
    cli->tty = isatty(STDERR_FILENO) == 1;
    return fd;
}

/* The first task that keeps a stdin. */
static int find_typed(struct cli *cli, struct watch *watch, const struct text_node *job,
                      struct err *err)
{
    const struct text_node *tasks = text_get(job, "task_list");
    for (const struct text_node *t = tasks ? tasks->first : NULL; t; t = t->next) {
        if (!text_flag(t, "stdin"))
            continue;
        watch->typed = arena_strdup(cli->arena, text_word(t, "name"));
        watch->tty = text_flag(t, "tty");
        return 0;
    }
    return err_set(err, ERR_CANNOT, "no task of job %llu keeps a stdin",
                   (unsigned long long)watch->number);
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
                         const struct text_node *submitted, int task_out, struct err *err)
{
    struct watch watch = { .number = text_number(submitted, "number"),
                           .tasks = text_number(submitted, "tasks"),
                           .work_dir = answer_text(submitted, "work_dir", NULL),
                           .to_stderr = cli->json,
                           .silent = cli->quiet,
                           .raw = o->raw,
                           .task_out = task_out };
    enum watch_end end;
    const struct text_node *job = types(o) ? final_view(cli, watch.number, err) : NULL;
    if (types(o) && (!job || find_typed(cli, &watch, job, err) < 0))
        return -1;
    if (watch_job(cli, &watch, &end, err) < 0)
        return -1;
    if (end == WATCH_LEFT)
        return EXIT_INTERRUPTED;
    job = final_view(cli, watch.number, err);
    if (!job)
        return -1;
    print_end(cli, job);
    int status = out_result_status(job);
    bool of_task = o->exit_code && strcmp(o->exit_code, "task") == 0;
    return of_task && status == EXIT_JOB_FAILED ? summary_exit_code(job, status) : status;
}

static int run_run(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    struct run_opts run = *(const struct run_opts *)opts_, *o = &run;
    const struct text_node *submitted;
    int task_out = -1;
    if (check_run(cli, o, argc, argv, err) < 0 || submit_check(&o->submit, argc, argv, err) < 0 ||
        server_ensure(cli, err) < 0)
        return -1;
    bool batch = submit_batch(cli, &o->submit, argc, argv);
    run.submit.job.tty =
        types(o) && !o->no_tty &&
        (o->submit.job.tty || (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1));
    if (types(o) && (task_out = give_stdout(cli, err)) < 0)
        return -1;
    if (!batch && is_command(cli, argc, argv))
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
    return follow_to_end(cli, o, submitted, task_out, err);
}

static const char *const examples[] = {
    "muster run job.json",
    "any format muster knows; ends with the job's result",
    "muster run train.py --epochs 3",
    "a Python script with its arguments, by the Python of this shell",
    "muster run train.sbatch 0.1",
    "a batch script of Slurm with its argument: its #SBATCH lines are the job",
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
    "muster run -i debug.py",
    "what is typed here goes to it: breakpoint(), input()",
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
