/* muster attach: the keyboard and the screen of a running task. On a terminal what was printed
 * before is shown when it is raw; the exit status is the task's when it ends meanwhile. */
#include "cli/attach.h"

#include "base/scan.h"
#include "cli/answer.h"
#include "cli/jobs.h"
#include "cli/names.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct attach_opts {
    struct common_opts common;
    const char *tail;
    bool logs, eof, no_stdin;
};
static const struct opt opts[] = {
    { .name = "tail",
      .letter = 'n',
      .type = OPT_STR,
      .offset = offsetof(struct attach_opts, tail),
      .arg = "N",
      .help = "lines of what it wrote before; 10 is usual" },
    { .name = "logs",
      .type = OPT_FLAG,
      .offset = offsetof(struct attach_opts, logs),
      .help = "all that it wrote before" },
    { .name = "no-stdin",
      .type = OPT_FLAG,
      .offset = offsetof(struct attach_opts, no_stdin),
      .help = "only look: nothing is typed into it" },
    { .name = "eof",
      .type = OPT_FLAG,
      .offset = offsetof(struct attach_opts, eof),
      .help = "the end of a pipe is also the end of the task's stdin" },
    COMMON_OPTS_BUT_JSON,
    OPT_END,
};

static int check_attach(const struct attach_opts *o, struct err *err)
{
    uint64_t n;
    if (o->tail && o->logs)
        return err_set(err, ERR_INPUT, "--tail and --logs: give one of them");
    if (o->tail && !scan_u64(o->tail, 1, 1000000, &n)) {
        err_set(err, ERR_INPUT, "--tail: \"%.40s\" is no number of lines", o->tail);
        return err_hint(err, "1 to 1000000");
    }
    return 0;
}

/* On a terminal what was before is shown when it is raw: keys that are typed at the greeting are
 * the session's. */
static int show_before(struct attach *a, const char *tail, const char *job, struct err *err)
{
    struct session *s = &a->session;
    size_t len = 0;
    char *text = NULL;
    bool greets = !a->cli->quiet && isatty(STDIN_FILENO) == 1;
    if (greets)
        s->greeting =
            arena_printf(a->cli->arena, "attached to %s of %s; %s leaves it running%s\n", a->task,
                         job, s->tty ? "Ctrl-P Ctrl-Q" : "Ctrl-C", s->tty ? "\r" : "");
    if (!s->tty || !tail) /* all of it comes from the task's node */
        return tail ? attach_show(a, tail, err) : 0;
    FILE *to = a->print.to, *memory = open_memstream(&text, &len);
    if (!memory)
        return err_sys(err, "no memory for %s lines", tail);
    a->print.to = memory;
    int rc = attach_show(a, tail, err);
    a->print.to = to;
    fclose(memory);
    s->before = arena_strdup(a->cli->arena, text);
    free(text);
    return rc;
}

/* As a shell shows it: of an attempt that had ended when its server was found again. */
static int exit_status(struct cli *cli, const struct attach *a, struct err *err)
{
    const struct text_node *view = jobs_view(cli, a->job, "?tasks=1", err);
    const struct text_node *tasks = view ? text_get(view, "task_list") : NULL;
    for (const struct text_node *t = tasks ? tasks->first : NULL; t; t = t->next) {
        const struct text_node *list = text_get(t, "attempts");
        if (strcmp(text_word(t, "name"), a->task) != 0)
            continue;
        for (const struct text_node *n = list ? list->first : NULL; n; n = n->next)
            if (text_number(n, "attempt") == a->attempt)
                return answer_has(n, "exit_code") ? (int)text_number(n, "exit_code") & 0xff
                                                  : 128 + (int)text_number(n, "signal");
    }
    return view ? EXIT_JOB_FAILED : -1;
}

static int attach_to(struct attach *a, const struct attach_opts *o, const char *job,
                     struct err *err)
{
    enum attach_end end;
    const char *tail = o->logs ? NULL : o->tail ? o->tail : "10";
    if (show_before(a, tail, job, err) < 0 || attach_run(a, &end, err) < 0)
        return -1;
    if (end == ATTACH_ENDED)
        return a->session.status;
    if (end == ATTACH_DETACHED) {
        const char *args = arena_printf(a->cli->arena, "%s\n%s", job, a->task);
        fprintf(stderr, "\n%s goes on: %s\n", a->task, out_command(a->cli, REMEDY_ATTACH, args));
        return EXIT_OK;
    }
    if (!a->joined || attach_show(a, NULL, err) < 0)
        return -1;
    return exit_status(a->cli, a, err);
}

static int run_attach(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct attach_opts *o = opts_;
    struct task_name task;
    struct attach a;
    if (cmd_operands(&cmd_attach, argc, 1, 2, err) < 0 || check_attach(o, err) < 0 ||
        (argc > 1 && names_task(cli->arena, argv[1], &task, err) < 0))
        return -1;
    const struct text_node *view = jobs_view(cli, argv[0], NULL, err);
    const struct text_node *where = NULL;
    const char *id = view ? answer_text(view, "id", argv[0]) : NULL;
    if (id)
        where = attach_where(cli, id, argc > 1 ? argv[1] : NULL, 0, err);
    if (!where)
        return -1;
    attach_init(&a, cli, text_flag(where, "tty"), STDOUT_FILENO);
    a.job = id;
    a.task = text_word(where, "task");
    a.attempt = text_number(where, "attempt");
    a.quiet = cli->quiet;
    a.session.input_open = !o->no_stdin;
    a.session.send_end = !o->no_stdin && (o->eof || isatty(STDIN_FILENO) == 1);
    int rc = attach_to(&a, o, jobs_label(cli->arena, view), err);
    attach_fini(&a);
    return rc;
}

static const char *const examples[] = {
    "muster attach 12",
    "type into the first task of job 12 that keeps a stdin; Ctrl-P Ctrl-Q leaves",
    "muster attach ddp worker/1",
    "into another one",
    "echo c | muster attach 12",
    "a line from a pipe; the task's stdin stays open",
    "muster attach --no-stdin --logs 12",
    "only what it writes, from the beginning",
    NULL,
};
const struct cmd cmd_attach = {
    .name = "attach",
    .summary = "type into a running task",
    .operands = "JOB [ROLE/INDEX]",
    .opts = opts,
    .size = sizeof(struct attach_opts),
    .examples = examples,
    .run = run_attach,
};
