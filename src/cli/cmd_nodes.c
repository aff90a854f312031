/* muster nodes: what there is and what is taken; drain and undrain. */
#include "cli/cmd.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/out.h"
#include "cli/table.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const struct opt opts[] = { COMMON_OPTS, OPT_END };

enum { NAME, STATE, CPU, MEMORY, GPU, TYPE, TASKS, ADDRESS, HOST, DISK, LABELS, NOTE, COLUMN_N };
static const struct table_column columns[COLUMN_N] = {
    [NAME] = { .title = "NODE" },
    [STATE] = { .title = "STATE" },
    [CPU] = { .title = "CPU", .right = true },
    [MEMORY] = { .title = "MEMORY", .right = true },
    [GPU] = { .title = "GPU", .right = true },
    [TYPE] = { .title = "TYPE" },
    [TASKS] = { .title = "TASKS", .right = true },
    [ADDRESS] = { .title = "ADDRESS" },
    [HOST] = { .title = "HOST", .wide = true },
    [DISK] = { .title = "DISK", .wide = true },
    [LABELS] = { .title = "LABELS", .wide = true },
    [NOTE] = { .title = "NOTE" },
};

static const char *used_milli(struct arena *a, const struct text_node *n, const char *used,
                              uint64_t all)
{
    char x[FMT_MAX], y[FMT_MAX];
    return arena_printf(a, "%s/%s", fmt_milli(x, answer_number(n, used, 0)), fmt_milli(y, all));
}

static const char *used_size(struct arena *a, const struct text_node *n, const char *used,
                             const char *all)
{
    char x[48], y[48];
    uint64_t taken = answer_number(n, used, 0);
    return arena_printf(a, "%s/%s", taken ? out_size(x, taken) : "0",
                        out_size(y, answer_number(n, all, 0)));
}

static const char *labels_of(struct arena *a, const struct text_node *node)
{
    static const char *const maps[] = { "labels", "custom" };
    AUTO_BUF struct buf out = BUF_INIT(64 << 10);
    char amount[FMT_MAX];
    for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
        const struct text_node *map = text_get(node, maps[i]);
        for (const struct text_node *n = map ? map->first : NULL; n; n = n->next)
            buf_addf(&out, "%s%s=%s", out.len ? " " : "", n->key,
                     n->kind == TEXT_INT && i == 1 ? fmt_milli(amount, (uint64_t)n->integer)
                     : n->str                      ? n->str
                                                   : "");
    }
    return arena_strdup(a, buf_str(&out));
}

static const char *state_of(const struct text_node *n)
{
    if (answer_has(n, "state"))
        return answer_text(n, "state", "?");
    return answer_flag(n, "drained") ? "drained" : answer_flag(n, "up") ? "up" : "down";
}

static void add_row(struct cli *cli, struct table *t, const struct text_node *n)
{
    struct arena *a = cli->arena;
    const char **row = table_row(t);
    row[NAME] = answer_text(n, "name", "?");
    row[STATE] = state_of(n);
    row[CPU] = used_milli(a, n, "cpu_used_milli", answer_number(n, "cpu_milli", 0));
    row[MEMORY] = used_size(a, n, "memory_used", "memory");
    row[GPU] = used_milli(a, n, "gpu_used_milli", answer_number(n, "gpus", 0) * 1000);
    row[TYPE] = answer_text(n, "gpu_type", "");
    row[TASKS] = arena_printf(a, "%llu", (unsigned long long)answer_number(n, "tasks", 0));
    row[ADDRESS] = answer_text(n, "address", "");
    row[HOST] = answer_text(n, "host", "");
    row[DISK] = used_size(a, n, "disk_used", "disk");
    row[LABELS] = labels_of(a, n);
    row[NOTE] = answer_flag(n, "declared") ? "declared" : "";
    table_color(t, STATE, strcmp(row[STATE], "up") == 0 ? "32" : "33");
}

static int list(struct cli *cli, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(16u << 20);
    const struct text_node *tree = call_get(cli, "/v1/nodes", err),
                           *nodes = text_get(tree, "nodes");
    struct table table;
    if (!tree)
        return -1;
    if (cli->json) {
        out_json(tree);
        return EXIT_OK;
    }
    table_init(&table, cli->arena, columns, COLUMN_N, cli->wide);
    for (const struct text_node *n = nodes ? nodes->first : NULL; n; n = n->next) {
        if (cli->quiet)
            buf_addf(&out, "%s\n", answer_text(n, "name", "?"));
        else
            add_row(cli, &table, n);
    }
    if (!cli->quiet)
        table_print(&table, 0, cli->color, &out);
    out_buf(&out);
    return EXIT_OK;
}

static int order(struct cli *cli, const char *what, char **names, int n, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    const struct text_node *tree = NULL;
    for (int i = 0; i < n; i++) {
        call_path(&path, "/v1/nodes/", names[i],
                  strcmp(what, "drain") == 0 ? "/drain" : "/undrain");
        tree = call_send(cli, &(struct call){ .method = "POST", .path = buf_str(&path) }, err);
        if (!tree)
            return -1;
        if (!cli->json)
            printf("%s%s\n", names[i],
                   cli->quiet                   ? ""
                   : strcmp(what, "drain") == 0 ? "  takes no new tasks; those it has go on"
                                                : "  takes tasks again");
    }
    if (cli->json)
        out_json(tree);
    return EXIT_OK;
}

static int run_nodes(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    static const char *const subs[] = { "drain", "undrain" };
    (void)opts_;
    if (argc == 0)
        return list(cli, err);
    if (strcmp(argv[0], subs[0]) != 0 && strcmp(argv[0], subs[1]) != 0) {
        const char *near = scan_nearest(argv[0], subs, ARRAY_LEN(subs));
        err_set(err, ERR_INPUT, "muster nodes %s: drain or undrain", argv[0]);
        return err_hint(err, "muster nodes %s NAME", near ? near : "drain");
    }
    if (cmd_operands(&cmd_nodes, argc, 2, INT_MAX, err) < 0)
        return -1;
    return order(cli, argv[0], argv + 1, argc - 1, err);
}

static const char *const examples[] = {
    "muster nodes", "used and all of each resource", "muster nodes drain n2", "no new tasks there",
    NULL,
};
const struct cmd cmd_nodes = {
    .name = "nodes",
    .summary = "nodes and what is taken of them",
    .operands = "[drain|undrain NODE...]",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .subs = "drain undrain",
    .examples = examples,
    .run = run_nodes,
};
