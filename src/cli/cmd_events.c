/* muster events: what happened, to one job or to all, in pages or followed. Sentences are the
 * server's; the task's name is put in front where one lacks it. */
#include "cli/jobs.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/follow.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

struct events_opts {
    struct common_opts common;
    bool follow;
    uint64_t after;
};
static const struct opt opts[] = {
    { .name = "follow",
      .letter = 'f',
      .type = OPT_FLAG,
      .offset = offsetof(struct events_opts, follow),
      .help = "go on as they happen" },
    { .name = "after",
      .type = OPT_U64,
      .offset = offsetof(struct events_opts, after),
      .arg = "SEQ",
      .help = "only those after this number" },
    COMMON_OPTS,
    OPT_END,
};

struct reading {
    struct cli *cli;
    const char *job; /* NULL all */
    uint64_t last;
};

/* Do sentences of this type name their task? Those of how an attempt ended do. */
static bool names_task(const char *type)
{
    static const char *const types[] = { "task.retry",   "task.succeeded", "task.failed",
                                         "task.stopped", "task.avoid",     "task.port" };
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

static void print_event(struct cli *cli, const struct text_node *event, bool all)
{
    char time[FMT_MAX];
    const char *task = answer_text(event, "task", NULL), *text = text_word(event, "text"),
               *type = answer_text(event, "type", "?");
    if (cli->json) {
        AUTO_BUF struct buf line = BUF_INIT(16u << 20);
        json_print(event, 0, &line);
        printf("%s\n", buf_str(&line));
        return;
    }
    printf("%s  ", fmt_time_local(time, answer_time(event, "at")));
    if (cli->wide)
        printf("%6llu  ", (unsigned long long)text_number(event, "seq"));
    if (all)
        printf("%5llu  ", (unsigned long long)text_number(event, "number"));
    printf("%-14s  ", type);
    if (task && !names_task(type))
        printf("%s%s", task, *text ? "  " : "");
    printf("%s\n", text);
}

static void want(void *arg, struct buf *path, struct buf *body)
{
    struct reading *r = arg;
    (void)body;
    if (r->job)
        jobs_path(path, r->job, "/events");
    else
        call_path(path, "/v1/events", NULL, NULL);
    call_query_number(path, "after", r->last);
    call_query(path, "follow", "1");
}

static bool on_event(void *arg, const struct text_node *event)
{
    struct reading *r = arg;
    r->last = answer_number(event, "seq", r->last);
    print_event(r->cli, event, !r->job);
    return true;
}

static int print_pages(struct cli *cli, struct reading *r, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    struct text_node *whole = text_map(cli->arena, NULL, NULL),
                     *list = text_list(cli->arena, whole, "events");
    for (;;) {
        if (r->job)
            jobs_path(&path, r->job, "/events");
        else
            call_path(&path, "/v1/events", NULL, NULL);
        call_query_number(&path, "after", r->last);
        struct text_node *page = call_get(cli, buf_str(&path), err);
        const struct text_node *events = text_get(page, "events");
        if (!page)
            return -1;
        if (!events || !events->first)
            break;
        for (const struct text_node *e = events->first; e; e = e->next) {
            r->last = answer_number(e, "seq", r->last);
            if (cli->json)
                text_copy(cli->arena, list, NULL, e);
            else
                print_event(cli, e, !r->job);
        }
    }
    if (cli->json) {
        AUTO_BUF struct buf text = BUF_INIT((size_t)1 << 30);
        json_print(whole, 2, &text);
        printf("%s\n", buf_str(&text));
    }
    return 0;
}

static int run_events(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct events_opts *o = opts_;
    struct reading r = { .cli = cli, .last = o->after };
    struct follow follow = { .request = want, .record = on_event, .arg = &r };
    if (cmd_operands(&cmd_events, argc, 0, 1, err) < 0)
        return -1;
    if (argc) {
        struct text_node *view = jobs_view(cli, argv[0], NULL, err);
        if (!view)
            return -1;
        r.job = arena_printf(cli->arena, "%llu", (unsigned long long)text_number(view, "number"));
    }
    if (!o->follow)
        return print_pages(cli, &r, err) < 0 ? -1 : EXIT_OK;
    if (!cli->quiet) {
        follow.gone = follow_say_gone;
        follow.back = follow_say_back;
    }
    return follow_run(cli, &follow, err) < 0 ? -1 : EXIT_OK;
}

static const char *const examples[] = {
    "muster events 12",
    "the life of one job",
    "muster events -f",
    "everything, as it happens",
    "muster events -f --json | jq .text",
    "a document each line while following",
    NULL,
};
const struct cmd cmd_events = {
    .name = "events",
    .summary = "what happened, to one job or to all",
    .operands = "[JOB]",
    .opts = opts,
    .size = sizeof(struct events_opts),
    .examples = examples,
    .run = run_events,
};
