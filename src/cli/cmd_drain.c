/* muster drain: no new tasks on nodes, until --undo; with --dry-run who runs there and where each
 * task would find a place now. */
#include "cli/cmd.h"

#include "base/mem.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/table.h"

#include <limits.h>
#include <stdio.h>

struct drain_opts {
    struct common_opts common;
    bool dry_run, undo;
};
static const struct opt opts[] = {
    { .name = "dry-run",
      .type = OPT_FLAG,
      .offset = offsetof(struct drain_opts, dry_run),
      .help = "only say who runs there, and where each task would find a place now" },
    { .name = "undo",
      .type = OPT_FLAG,
      .offset = offsetof(struct drain_opts, undo),
      .help = "take tasks again" },
    COMMON_OPTS,
    OPT_END,
};

enum { NUMBER, NAME, USER, QUEUE, TASK, TO, COLUMN_N };
static const struct table_column columns[COLUMN_N] = {
    [NUMBER] = { .title = "#", .right = true },
    [NAME] = { .title = "NAME" },
    [USER] = { .title = "USER" },
    [QUEUE] = { .title = "QUEUE", .wide = true },
    [TASK] = { .title = "TASK" },
    [TO] = { .title = "WOULD FIND A PLACE" },
};

static void print(struct cli *cli, const struct text_node *tree)
{
    AUTO_BUF struct buf out = BUF_INIT(16u << 20);
    const struct text_node *tasks = text_get(tree, "tasks");
    const char *node = answer_text(tree, "name", "?");
    struct table table;
    size_t n = 0, stay = 0;
    table_init(&table, cli->arena, columns, COLUMN_N, cli->wide);
    for (const struct text_node *t = tasks ? tasks->first : NULL; t; t = t->next, n++) {
        const char **row = table_row(&table);
        const char *to = answer_text(t, "to", NULL);
        row[NUMBER] =
            arena_printf(cli->arena, "%llu", (unsigned long long)text_number(t, "number"));
        row[NAME] = text_word(t, "name");
        row[USER] = text_word(t, "owner");
        row[QUEUE] = text_word(t, "queue");
        row[TASK] = text_word(t, "task");
        row[TO] = to ? arena_printf(cli->arena, "on %s", to)
                     : arena_printf(cli->arena, "no: %s", text_word(t, "why"));
        table_color(&table, TO, to ? "32" : "33");
        stay += !to;
    }
    char count[48];
    if (n == 0)
        buf_addf(&out, "%s: nothing runs there; drained, it takes no new tasks\n", node);
    else
        buf_addf(&out, "%s: %s there, %s now%s; drained, it takes no new ones and these go on\n",
                 node, out_count(count, n, "task"),
                 stay == 0 ? "each would find a place elsewhere"
                 : stay == n
                     ? "none would find a place elsewhere"
                     : arena_printf(cli->arena, "%zu of them would find none elsewhere", stay),
                 text_flag(tree, "drained") ? " (it is drained already)" : "");
    if (n)
        table_print(&table, 2, cli->color, &out);
    out_buf(&out);
}

static int drain_one(struct cli *cli, const struct drain_opts *o, const char *node,
                     struct text_node *all, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    call_path(&path, "/v1/nodes/", node, o->undo ? "/undrain" : "/drain");
    if (o->dry_run)
        call_query(&path, "dry_run", "1");
    const struct text_node *tree =
        call_send(cli, &(struct call){ .method = "POST", .path = buf_str(&path) }, err);
    if (!tree)
        return -1;
    if (cli->json)
        text_copy(cli->arena, all, NULL, tree);
    else if (o->dry_run && !cli->quiet)
        print(cli, tree);
    else
        printf("%s%s\n", node,
               cli->quiet ? ""
               : o->undo  ? "  takes tasks again"
                          : "  takes no new tasks; those it has go on");
    return 0;
}

static int run_drain(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct drain_opts *o = opts_;
    struct text_node *root = text_map(cli->arena, NULL, NULL);
    struct text_node *all = text_list(cli->arena, root, "nodes");
    if (cmd_operands(&cmd_drain, argc, 1, INT_MAX, err) < 0)
        return -1;
    if (o->undo && o->dry_run) {
        err_set(err, ERR_INPUT, "--undo and --dry-run do not go together");
        return err_remedy_of(err, REMEDY_UNDRAIN, "%s", argv[0]);
    }
    for (int i = 0; i < argc; i++)
        if (drain_one(cli, o, argv[i], all, err) < 0)
            return -1;
    if (cli->json)
        out_json(root);
    return EXIT_OK;
}

static const char *const examples[] = {
    "muster drain n2 --dry-run",
    "who runs there, and where they could go now",
    "muster drain n2",
    "no new tasks there",
    "muster drain --undo n2",
    "tasks again",
    NULL,
};
const struct cmd cmd_drain = {
    .name = "drain",
    .summary = "no new tasks on nodes; --dry-run: what that would mean",
    .operands = "NODE...",
    .opts = opts,
    .size = sizeof(struct drain_opts),
    .examples = examples,
    .run = run_drain,
};
