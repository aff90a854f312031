/* muster logs: what a job's tasks wrote, now or as they write it. Goes to the screen as text, and
 * to a file as it is. */
#include "cli/jobs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/follow.h"
#include "cli/log_print.h"
#include "cli/names.h"
#include "cli/output.h"
#include "cli/waiting.h"

#include <stdio.h>

struct logs_opts {
    struct common_opts common;
    bool follow, out, error, raw;
    const char *since, *tail, *attempt;
};
static const struct opt opts[] = {
    { .name = "follow",
      .letter = 'f',
      .type = OPT_FLAG,
      .offset = offsetof(struct logs_opts, follow),
      .help = "go on as it grows, until the job ends" },
    { .name = "tail",
      .letter = 'n',
      .type = OPT_STR,
      .offset = offsetof(struct logs_opts, tail),
      .arg = "N",
      .help = "the last N lines of each task" },
    { .name = "since",
      .type = OPT_STR,
      .offset = offsetof(struct logs_opts, since),
      .arg = "TIME",
      .help = "not older: 15m, or 2026-01-02T03:04:05Z" },
    { .name = "stdout",
      .type = OPT_FLAG,
      .offset = offsetof(struct logs_opts, out),
      .help = "only standard output" },
    { .name = "stderr",
      .type = OPT_FLAG,
      .offset = offsetof(struct logs_opts, error),
      .help = "only standard error" },
    { .name = "raw",
      .type = OPT_FLAG,
      .offset = offsetof(struct logs_opts, raw),
      .help = "pass all of it to a terminal, also what moves its cursor" },
    { .name = "attempt",
      .type = OPT_STR,
      .offset = offsetof(struct logs_opts, attempt),
      .arg = "K|all|last",
      .help = "of this attempt; all is usual" },
    COMMON_OPTS,
    OPT_END,
};

struct reading {
    const struct logs_opts *o;
    const char *job, *task, *since;
    struct log_print print;
    struct waiting waiting;
};

static void want(void *arg, struct buf *path, struct buf *body)
{
    struct reading *r = arg;
    jobs_path(path, r->job, "/logs");
    call_query(path, "task", r->task);
    call_query(path, "stream", r->o->out ? "stdout" : r->o->error ? "stderr" : NULL);
    call_query(path, "attempt", r->o->attempt);
    call_query(path, "follow", r->o->follow ? "1" : NULL);
    log_print_resume(&r->print, body);
    if (body->len)
        return; /* going on: the place reached says it all */
    call_query(path, "tail", r->o->tail);
    call_query(path, "since", r->since);
}

static bool on_record(void *arg, const struct text_node *record)
{
    struct reading *r = arg;
    waiting_end(&r->waiting);
    log_print_record(&r->print, record);
    return true;
}

static int read_since(struct cli *cli, const char *text, const char **since, struct err *err)
{
    uint64_t ms, at;
    if (!text)
        return 0;
    if (scan_duration(text, &ms)) {
        uint64_t now = clock_wall_ms();
        at = now > ms ? now - ms : 0;
    } else {
        at = answer_parse_time(text);
    }
    if (at == 0) {
        err_set(err, ERR_INPUT, "--since: \"%.60s\" is no time", text);
        return err_hint(err, "an age (90s, 15m, 2h) or 2026-01-02T03:04:05Z");
    }
    *since = arena_printf(cli->arena, "%llu", (unsigned long long)at);
    return 0;
}

static int check_logs(const struct logs_opts *o, struct err *err)
{
    uint64_t n;
    if (o->out && o->error)
        return err_set(err, ERR_INPUT, "--stdout and --stderr: leave both out to see both");
    if (o->tail && !scan_u64(o->tail, 1, 1000000, &n)) {
        err_set(err, ERR_INPUT, "--tail: \"%.40s\" is no number of lines", o->tail);
        return err_hint(err, "1 to 1000000");
    }
    return 0;
}

/* Follows, to the screen or, as it is, to the descriptor below it. */
static int print_logs(struct cli *cli, struct reading *r, bool one, struct err *err)
{
    struct follow follow = { .request = want, .record = on_record, .arg = r };
    FILE *to = r->o->raw ? out_stream(STDOUT_FILENO, OUT_RAW) : stdout;
    if (!to)
        return err_sys(err, "stdout");
    log_print_init(&r->print, to, !one, cli->color);
    r->print.json = cli->json;
    follow.gone = r->o->follow && !cli->quiet ? follow_say_gone : NULL;
    follow.back = r->o->follow && !cli->quiet ? follow_say_back : NULL;
    int rc = follow_run(cli, &follow, err);
    waiting_end(&r->waiting);
    log_print_fini(&r->print);
    if (r->o->raw && fclose(to) != 0 && rc == 0)
        rc = err_sys(err, "stdout");
    return rc < 0 ? -1 : EXIT_OK;
}

static int run_logs(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    struct reading r = { .o = opts_ };
    struct task_name task = { .role = NULL };
    if (cmd_operands(&cmd_logs, argc, 1, 2, err) < 0 || check_logs(r.o, err) < 0 ||
        read_since(cli, r.o->since, &r.since, err) < 0)
        return -1;
    if (argc > 1 && names_task(cli->arena, argv[1], &task, err) < 0)
        return -1;
    struct text_node *view = jobs_view(cli, argv[0], NULL, err);
    if (!view)
        return -1;
    r.job = arena_printf(cli->arena, "%llu", (unsigned long long)text_number(view, "number"));
    r.task = argc > 1 ? argv[1] : NULL;
    bool one = !answer_has(view, "members") && (task.has_index || text_number(view, "tasks") == 1);
    r.waiting = (struct waiting){ .cli = cli, .number = text_number(view, "number") };
    if (r.o->follow)
        waiting_state(&r.waiting, text_word(view, "state"));
    return print_logs(cli, &r, one, err);
}

static const char *const examples[] = {
    "muster logs 12",
    "everything its tasks wrote",
    "muster logs -f ddp",
    "as it is written, until the job ends",
    "muster logs ddp worker/2 --stderr --tail 20",
    "the last errors of one task",
    "muster logs '12[3]'",
    "of one job of an array; muster logs 12 is all of them, with the index in front",
    "muster logs 12 worker --since 5m",
    "one role, the last five minutes",
    NULL,
};
const struct cmd cmd_logs = {
    .name = "logs",
    .summary = "what a job's tasks wrote",
    .operands = "JOB [ROLE[/INDEX]]",
    .opts = opts,
    .size = sizeof(struct logs_opts),
    .examples = examples,
    .run = run_logs,
};
