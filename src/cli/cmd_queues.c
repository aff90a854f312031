/* muster queues: the tree of queues, what each is sure of and uses, who waits; of one queue its
 * users. */
#include "cli/cmd.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/table.h"

#include <stdio.h>

static const struct opt opts[] = { COMMON_OPTS, OPT_END };

enum {
    NAME,
    STRATEGY,
    GUARANTEED,
    MAXIMUM,
    USED,
    BORROWED,
    RUNNING,
    WAITING,
    WEIGHT,
    RECLAIM,
    FIRST,
    COLUMN_N
};
static const struct table_column columns[COLUMN_N] = {
    [NAME] = { .title = "QUEUE" },
    [STRATEGY] = { .title = "STRATEGY" },
    [GUARANTEED] = { .title = "GUARANTEED" },
    [MAXIMUM] = { .title = "MAXIMUM" },
    [USED] = { .title = "USED" },
    [BORROWED] = { .title = "BORROWED" },
    [RUNNING] = { .title = "RUNNING", .right = true },
    [WAITING] = { .title = "WAITING", .right = true },
    [WEIGHT] = { .title = "WEIGHT", .right = true, .wide = true },
    [RECLAIM] = { .title = "RECLAIM", .wide = true },
    [FIRST] = { .title = "WAITS FIRST" },
};

enum { USER, USAGE, HELD, CAP, USER_RUNNING, USER_WAITING, USER_COLUMN_N };
static const struct table_column user_columns[USER_COLUMN_N] = {
    [USER] = { .title = "USER" },
    [USAGE] = { .title = "USAGE", .right = true },
    [HELD] = { .title = "HELD" },
    [CAP] = { .title = "AT MOST" },
    [USER_RUNNING] = { .title = "RUNNING", .right = true },
    [USER_WAITING] = { .title = "WAITING", .right = true },
};

static void add_amount(struct buf *out, const char *text, const char *unit)
{
    buf_addf(out, "%s%s%s%s", out->len ? ", " : "", text, *unit ? " " : "", unit);
}

/* "8 gpu, 64 cpu, 256 GiB": what counts most first; none: what to write for nothing. */
static const char *amounts(struct arena *a, const struct text_node *map, const char *none,
                           bool zeros)
{
    static const struct {
        const char *key, *unit;
    } milli[] = { { "gpu_milli", "gpu" }, { "cpu_milli", "cpu" } };
    AUTO_BUF struct buf out = BUF_INIT(4096);
    char text[FMT_MAX], size[48];
    for (size_t i = 0; i < ARRAY_LEN(milli); i++) {
        uint64_t amount = text_number(map, milli[i].key);
        if (map && (amount || (zeros && answer_has(map, milli[i].key))))
            add_amount(&out, fmt_milli(text, amount), milli[i].unit);
    }
    uint64_t memory = map ? text_number(map, "memory") : 0;
    if (memory || (zeros && map && answer_has(map, "memory")))
        add_amount(&out, out_size(size, memory), "");
    return out.len ? arena_strdup(a, buf_str(&out)) : none;
}

static const char *count(struct arena *a, const struct text_node *map, const char *key)
{
    return arena_printf(a, "%llu", (unsigned long long)text_number(map, key));
}

static const char *first(struct cli *cli, const struct text_node *queue)
{
    const struct text_node *job = text_get(queue, "first");
    if (!job)
        return "";
    const char *reason = text_word(job, "reason");
    const char *number = answer_has(job, "number") ? count(cli->arena, job, "number") : "";
    const char *text = arena_printf(cli->arena, "%s%s%s%s%s", number, *number ? " " : "",
                                    text_word(job, "name"), *reason ? ": " : "", reason);
    return table_clip(cli->arena, text, cli->tty && !cli->wide ? 60 : 500);
}

static void add_row(struct cli *cli, struct table *t, const struct text_node *queue, bool indent)
{
    struct arena *a = cli->arena;
    const char **row = table_row(t);
    int deep = indent ? 2 * (int)text_number(queue, "depth") : 0;
    row[NAME] = arena_printf(a, "%*s%s", deep, "", answer_text(queue, "name", "?"));
    row[STRATEGY] = text_word(queue, "strategy");
    row[GUARANTEED] = amounts(a, text_get(queue, "guaranteed"), "-", false);
    row[MAXIMUM] = amounts(a, text_get(queue, "maximum"), "-", true);
    row[USED] = amounts(a, text_get(queue, "used"), "0", false);
    row[BORROWED] = amounts(a, text_get(queue, "borrowed"), "0", false);
    row[RUNNING] = count(a, queue, "running");
    row[WAITING] = count(a, queue, "waiting");
    row[WEIGHT] = count(a, queue, "weight");
    row[RECLAIM] = text_flag(queue, "reclaim") ? "yes" : "no";
    row[FIRST] = first(cli, queue);
}

/* Hours of the whole cluster: "1.25 h". */
static const char *usage(struct arena *a, const struct text_node *user)
{
    uint64_t hundredths = (text_number(user, "usage") + 5000) / 10000;
    return arena_printf(a, "%llu.%02llu h", (unsigned long long)(hundredths / 100),
                        (unsigned long long)(hundredths % 100));
}

static void put_users(struct cli *cli, const struct text_node *users, struct buf *out)
{
    struct table t;
    struct arena *a = cli->arena;
    table_init(&t, a, user_columns, USER_COLUMN_N, cli->wide);
    for (const struct text_node *user = users ? users->first : NULL; user; user = user->next) {
        const char **row = table_row(&t);
        row[USER] = answer_text(user, "name", "?");
        row[USAGE] = usage(a, user);
        row[HELD] = amounts(a, text_get(user, "held"), "0", false);
        row[CAP] = amounts(a, text_get(user, "cap"), "-", true);
        row[USER_RUNNING] = count(a, user, "running");
        row[USER_WAITING] = count(a, user, "waiting");
    }
    if (!t.rows)
        return;
    buf_puts(out, "\n");
    table_print(&t, 0, cli->color, out);
    buf_puts(out, "usage: hours of the whole cluster, of which old ones count less (setting "
                  "half_life)\n");
}

static void print(struct cli *cli, const struct text_node *tree, bool one)
{
    AUTO_BUF struct buf out = BUF_INIT(16u << 20);
    const struct text_node *queues = text_get(tree, "queues");
    struct table table;
    table_init(&table, cli->arena, columns, COLUMN_N, cli->wide);
    for (const struct text_node *q = queues ? queues->first : NULL; q; q = q->next) {
        if (cli->quiet)
            buf_addf(&out, "%s\n", answer_text(q, "name", "?"));
        else
            add_row(cli, &table, q, !one);
        if (one && !cli->quiet) {
            table_print(&table, 0, cli->color, &out);
            put_users(cli, text_get(q, "users"), &out);
        }
    }
    if (!one && !cli->quiet)
        table_print(&table, 0, cli->color, &out);
    out_buf(&out);
    const struct text_node *warnings = text_get(tree, "warnings");
    fflush(stdout);
    for (const struct text_node *w = warnings && !cli->quiet ? warnings->first : NULL; w;
         w = w->next)
        out_warning(w->str ? w->str : "", "");
}

static int run_queues(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    (void)opts_;
    if (cmd_operands(&cmd_queues, argc, 0, 1, err) < 0)
        return -1;
    if (argc)
        call_path(&path, "/v1/queues/", argv[0], NULL);
    const struct text_node *tree = call_get(cli, argc ? buf_str(&path) : "/v1/queues", err);
    if (!tree)
        return -1;
    if (cli->json)
        out_json(tree);
    else
        print(cli, tree, argc > 0);
    return EXIT_OK;
}

static const char *const examples[] = {
    "muster queues",
    "the tree: shares, what is used, who waits first",
    "muster queues vision",
    "its users: what they hold, may hold and had lately",
    "muster queues --json",
    "",
    NULL,
};
const struct cmd cmd_queues = {
    .name = "queues",
    .summary = "queues: shares, what is used of them, who waits",
    .operands = "[NAME]",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .examples = examples,
    .run = run_queues,
};
