/* muster describe: one pod of a job in the block that kubectl prints, with its events. Everything
 * comes from the server's answer. */
#include "cli/cmd.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/table.h"

#include <string.h>

struct describe_opts {
    struct common_opts common;
    const char *namespace;
};
static const struct opt opts[] = {
    { .name = "namespace",
      .letter = 'n',
      .type = OPT_STR,
      .offset = offsetof(struct describe_opts, namespace),
      .arg = "NAME",
      .help = "of the pod (project of its job)" },
    COMMON_OPTS,
    OPT_END,
};

enum { LABEL_WIDTH = 16 };

static void line(struct buf *out, const char *label, const char *value)
{
    if (*value)
        buf_addf(out, "%-*s %s\n", LABEL_WIDTH, label, value);
}

static void time_line(struct buf *out, const char *label, const struct text_node *pod,
                      const char *key)
{
    char text[FMT_MAX];
    uint64_t at = answer_time(pod, key);
    if (at)
        line(out, label, fmt_time_local(text, at));
}

static void put_pairs(struct buf *out, const char *label, const struct text_node *map,
                      const char *between)
{
    for (const struct text_node *n = map ? map->first : NULL; n; n = n->next) {
        buf_addf(out, "%-*s %s%s%s\n", LABEL_WIDTH, label, n->key, between, n->str ? n->str : "");
        label = "";
    }
}

static void put_container(const struct text_node *pod, struct buf *out)
{
    const struct text_node *requests = text_get(pod, "requests");
    const char *command = text_word(pod, "command");
    if (!answer_has(pod, "task"))
        return;
    buf_puts(out, "Containers:\n  main:\n");
    line(out, "    Image:", text_word(pod, "image"));
    line(out, "    Command:", command);
    line(out, "    State:", text_word(pod, "status"));
    time_line(out, "    Started:", pod, "started");
    if (answer_has(pod, "exit_code"))
        buf_addf(out, "%-*s %lld\n", LABEL_WIDTH,
                 "    Exit Code:", (long long)text_get(pod, "exit_code")->integer);
    put_pairs(out, "    Requests:", requests, ": ");
}

/* "10s (x2 over 13s)": when it last came, how often since when. */
static const char *when(struct cli *cli, const struct text_node *event, uint64_t now)
{
    char last[FMT_MAX], first[FMT_MAX];
    uint64_t count = answer_number(event, "count", 1), at = answer_time(event, "last");
    uint64_t since = answer_time(event, "first");
    fmt_age(last, now > at ? now - at : 0);
    fmt_age(first, now > since ? now - since : 0);
    if (count < 2)
        return arena_strdup(cli->arena, last);
    return arena_printf(cli->arena, "%s (x%llu over %s)", last, (unsigned long long)count, first);
}

static void put_events(struct cli *cli, const struct text_node *pod, struct buf *out)
{
    static const struct table_column columns[] = {
        { .title = "Type" }, { .title = "Reason" },  { .title = "Age" },
        { .title = "From" }, { .title = "Message" },
    };
    const struct text_node *events = text_get(pod, "events");
    uint64_t now = clock_wall_ms();
    struct table table;
    if (!events || !events->count) {
        line(out, "Events:", "<none>");
        return;
    }
    table_init(&table, cli->arena, columns, ARRAY_LEN(columns), false);
    const char **rule = table_row(&table);
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        rule[i] = &"-------"[7 - (i == 2 ? 4 : strlen(columns[i].title))];
    for (const struct text_node *e = events->first; e; e = e->next) {
        const char **row = table_row(&table);
        row[0] = text_word(e, "type");
        row[1] = text_word(e, "reason");
        row[2] = when(cli, e, now);
        row[3] = text_word(e, "from");
        row[4] = text_word(e, "message");
    }
    buf_puts(out, "Events:\n");
    table_print(&table, 2, false, out);
}

static void put_pod(struct cli *cli, const struct text_node *pod, struct buf *out)
{
    const char *node = text_word(pod, "node");
    const char *ip = text_word(pod, "ip");
    line(out, "Name:", text_word(pod, "name"));
    line(out, "Namespace:", text_word(pod, "namespace"));
    line(out, "Node:", *node ? arena_printf(cli->arena, "%s/%s", node, ip) : "<none>");
    time_line(out, "Start Time:", pod, "started");
    put_pairs(out, "Labels:", text_get(pod, "labels"), "=");
    if (text_get(pod, "annotations"))
        put_pairs(out, "Annotations:", text_get(pod, "annotations"), ": ");
    line(out, "Status:", text_word(pod, "status"));
    line(out, "IP:", ip);
    line(out, "Controlled By:", text_word(pod, "controlled_by"));
    buf_addf(out, "%-*s %llu%s%s\n", LABEL_WIDTH,
             "Job:", (unsigned long long)text_number(pod, "job"),
             answer_has(pod, "task") ? ", task " : "", text_word(pod, "task"));
    put_container(pod, out);
    put_events(cli, pod, out);
}

static int run_describe(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct describe_opts *o = opts_;
    AUTO_BUF struct buf path = BUF_INIT(4096);
    AUTO_BUF struct buf out = BUF_INIT(4u << 20);
    if (cmd_operands(&cmd_describe, argc, 2, 2, err) < 0)
        return -1;
    if (strcmp(argv[0], "pod") != 0 && strcmp(argv[0], "pods") != 0 && strcmp(argv[0], "po") != 0) {
        err_set(err, ERR_INPUT, "\"%.60s\" is nothing to describe", argv[0]);
        err_hint(err, "pod NAME");
        return err_remedy_of(err, REMEDY_SHOW_JOB, "%s", argv[1]);
    }
    call_path(&path, "/v1/pods/", argv[1], NULL);
    call_query(&path, "namespace", o->namespace);
    const struct text_node *pod = call_get(cli, buf_str(&path), err);
    if (!pod)
        return -1;
    if (cli->json)
        out_json(pod);
    else
        put_pod(cli, pod, &out);
    out_buf(&out);
    return EXIT_OK;
}

static const char *const examples[] = {
    "muster describe pod torch-mnist-edljob-worker-2 -n dlrover",
    "where it runs, or why no node takes it",
    NULL,
};
const struct cmd cmd_describe = {
    .name = "describe",
    .summary = "one pod with its events",
    .operands = "pod NAME",
    .opts = opts,
    .size = sizeof(struct describe_opts),
    .subs = "pod",
    .examples = examples,
    .run = run_describe,
};
