/* muster nodes: what there is and what is taken, or what is free, device by device; undrain; and
 * setting the nodes that the server gives out. Machines that become nodes: machines.c. */
#include "cli/cmd.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/device_text.h"
#include "cli/machines.h"
#include "cli/output.h"
#include "cli/server_start.h"
#include "cli/table.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct nodes_opts {
    struct common_opts common;
    bool free;
    struct machines_opts machines;
};
static const struct opt opts[] = {
    { .name = "free",
      .letter = 'f',
      .type = OPT_FLAG,
      .offset = offsetof(struct nodes_opts, free),
      .help = "what is free of each node, device by device, and in what blocks in all" },
    { .name = "ssh",
      .type = OPT_STR,
      .offset = offsetof(struct nodes_opts, machines.ssh),
      .arg = "COMMAND",
      .help = "add, rm: how machines are reached (ssh); \"ssh -J gate\"" },
    { .name = "address",
      .type = OPT_STR,
      .offset = offsetof(struct nodes_opts, machines.address),
      .arg = "ADDR",
      .help = "add: what the other nodes call it (where its connection comes from)" },
    { .name = "label",
      .type = OPT_LIST,
      .offset = offsetof(struct nodes_opts, machines.labels),
      .arg = "K=V",
      .help = "add: a label of the node; may be repeated" },
    { .name = "dir",
      .type = OPT_STR,
      .offset = offsetof(struct nodes_opts, machines.dir),
      .arg = "DIR",
      .help = "add, rm: the directory there, below the home directory (.muster/NAME)" },
    { .name = "dial",
      .type = OPT_STR,
      .offset = offsetof(struct nodes_opts, machines.dial),
      .arg = "ADDR:PORT",
      .help = "add: where the machine reaches the server (as the server says)" },
    { .name = "tunnel",
      .type = OPT_U64,
      .offset = offsetof(struct nodes_opts, machines.tunnel),
      .arg = "PORT",
      .help = "add: machines that cannot reach the server: ssh takes this port of theirs to it, "
              "for as long as this command runs" },
    { .name = "wait",
      .type = OPT_DURATION,
      .offset = offsetof(struct nodes_opts, machines.wait_ms),
      .arg = "TIME",
      .help = "add: how long it may take to connect (20s)" },
    { .name = "force",
      .type = OPT_FLAG,
      .offset = offsetof(struct nodes_opts, machines.force),
      .help = "add: also one that another server has; rm: also while jobs run there" },
    { .name = "keep",
      .type = OPT_FLAG,
      .offset = offsetof(struct nodes_opts, machines.keep),
      .help = "rm: from the server alone, leave the machine as it is" },
    { .name = "reason",
      .type = OPT_STR,
      .offset = offsetof(struct nodes_opts, machines.reason),
      .arg = "TEXT",
      .help = "fence: how it is known that nothing lives there" },
    COMMON_OPTS,
    OPT_END,
};

enum {
    NAME,
    STATE,
    CPU,
    MEMORY,
    GPU,
    TYPE,
    TASKS,
    ADDRESS,
    HOST,
    DISK,
    IMAGES,
    LABELS,
    DRIVER,
    NOTE,
    COLUMN_N
};
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
    [IMAGES] = { .title = "IMAGES", .wide = true },
    [LABELS] = { .title = "LABELS", .wide = true },
    [DRIVER] = { .title = "DRIVER", .wide = true },
    [NOTE] = { .title = "NOTE" },
};

static const char *used_milli(struct arena *a, const struct text_node *n, const char *used,
                              uint64_t all)
{
    char x[FMT_MAX], y[FMT_MAX];
    return arena_printf(a, "%s/%s", fmt_milli(x, text_number(n, used)), fmt_milli(y, all));
}

static const char *used_size(struct arena *a, const struct text_node *n, const char *used,
                             const char *all)
{
    char x[48], y[48];
    uint64_t taken = text_number(n, used);
    return arena_printf(a, "%s/%s", taken ? out_size(x, taken) : "0",
                        out_size(y, text_number(n, all)));
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

struct trouble {      /* what is wrong with a device */
    const char *text; /* NULL: nothing is */
    bool is;          /* it is that; else that is said of it */
};

static struct trouble trouble_of(const struct text_node *device)
{
    const char *is = answer_text(device, "closed_is", NULL);
    const char *says = answer_text(device, "closed_says", NULL);
    if (is || says)
        return (struct trouble){ is ? is : says, is != NULL };
    return (struct trouble){ answer_text(device, "error", NULL), false };
}

static bool same_trouble(struct trouble a, struct trouble b)
{
    return a.text && b.text && a.is == b.is && strcmp(a.text, b.text) == 0;
}

/* "0, 1, 2": from that device on all that have the same trouble. How many they are. */
static unsigned name_alike(const struct text_node *first, struct trouble trouble, struct buf *names)
{
    unsigned n = 0;
    for (const struct text_node *d = first; d; d = d->next) {
        if (!same_trouble(trouble_of(d), trouble))
            continue;
        buf_addf(names, "%s%s", n ? ", " : "", answer_text(d, "name", "?"));
        n++;
    }
    return n;
}

static bool was_named(const struct text_node *list, const struct text_node *device,
                      struct trouble trouble)
{
    for (const struct text_node *d = list->first; d != device; d = d->next)
        if (same_trouble(trouble_of(d), trouble))
            return true;
    return false;
}

/* "device 3 of vm: it does not answer", "devices 0, 1 of vm are held by ...": each trouble once. */
static void put_troubles(const struct text_node *node, struct buf *out)
{
    const char *error = text_word(node, "gpu_error"), *name = answer_text(node, "name", "?");
    const struct text_node *list = text_get(node, "devices");
    if (*error)
        buf_addf(out, "gpus: %s", error);
    for (const struct text_node *d = list ? list->first : NULL; d; d = d->next) {
        AUTO_BUF struct buf names = BUF_INIT(4 << 10);
        const struct trouble trouble = trouble_of(d);
        if (!trouble.text || strcmp(trouble.text, error) == 0 || was_named(list, d, trouble))
            continue;
        bool many = name_alike(d, trouble, &names) > 1;
        buf_addf(out, "%sdevice%s %s of %s%s%s", out->len ? "; " : "", many ? "s" : "",
                 buf_str(&names), name,
                 !trouble.is ? ": "
                 : many      ? " are "
                             : " is ",
                 trouble.text);
    }
}

/* What an operator has to know of it. */
static const char *note_of(struct arena *a, const struct text_node *node)
{
    AUTO_BUF struct buf out = BUF_INIT(64 << 10);
    if (answer_has(node, "why"))
        return arena_printf(a, "%s, since %s", text_word(node, "why"),
                            answer_text(node, "since", "?"));
    if (answer_has(node, "lasts_ms")) {
        char left[FMT_MAX];
        uint64_t ms = text_number(node, "lasts_ms");
        const struct text_node *labels = text_get(node, "labels");
        return arena_printf(a, "%s, partition %s, allocation %s, %s", text_word(node, "engine"),
                            answer_text(labels, "slurm/partition", "?"),
                            answer_text(labels, "slurm/job", "?"),
                            ms < 1000 ? "takes no new tasks"
                                      : arena_printf(a, "%s left for jobs", fmt_age(left, ms)));
    }
    if (text_flag(node, "declared"))
        return "declared";
    put_troubles(node, &out);
    return arena_strdup(a, buf_str(&out));
}

static const char *state_of(const struct text_node *n)
{
    if (answer_has(n, "state"))
        return answer_text(n, "state", "?");
    return text_flag(n, "drained") ? "drained" : text_flag(n, "up") ? "up" : "down";
}

static void add_row(struct cli *cli, struct table *t, const struct text_node *n)
{
    struct arena *a = cli->arena;
    const char **row = table_row(t);
    row[NAME] = answer_text(n, "name", "?");
    row[STATE] = state_of(n);
    row[CPU] = used_milli(a, n, "cpu_used_milli", text_number(n, "cpu_milli"));
    row[MEMORY] = used_size(a, n, "memory_used", "memory");
    row[GPU] = used_milli(a, n, "gpu_used_milli", text_number(n, "gpus") * 1000);
    row[TYPE] = text_word(n, "gpu_type");
    row[TASKS] = arena_printf(a, "%llu", (unsigned long long)text_number(n, "tasks"));
    row[ADDRESS] = text_word(n, "address");
    row[HOST] = text_word(n, "host");
    row[DISK] = used_size(a, n, "disk_used", "disk");
    row[IMAGES] = out_images(a, text_get(n, "images"), false);
    row[LABELS] = labels_of(a, n);
    row[DRIVER] = text_word(n, "gpu_driver");
    row[NOTE] = note_of(a, n);
    table_color(t, STATE, strcmp(row[STATE], "up") == 0 ? "32" : "33");
}

/* ---- devices ---- */

enum { D_NODE, D_GPU, D_MODEL, D_MEMORY, D_NOW, D_COLUMN_N };
static const struct table_column device_columns[D_COLUMN_N] = {
    [D_NODE] = { .title = "NODE" },   [D_GPU] = { .title = "GPU" },
    [D_MODEL] = { .title = "MODEL" }, [D_MEMORY] = { .title = "MEMORY", .right = true },
    [D_NOW] = { .title = "NOW" },
};

/* What it does, or why not. */
static const char *now_of(struct arena *a, const struct text_node *device)
{
    const char *error = text_word(device, "error"), *figures = device_figures_text(a, device);
    const char *kind = text_flag(device, "mig")   ? "in MIG mode"
                       : text_get(device, "slot") ? ""
                                                  : "not offered";
    if (*error)
        return error;
    return arena_printf(a, "%s%s%s", kind, *kind && *figures ? ", " : "", figures);
}

/* What the driver says of each. */
static void put_devices(struct cli *cli, const struct text_node *nodes, struct buf *out)
{
    struct table table;
    char size[48];
    bool any = false;
    table_init(&table, cli->arena, device_columns, D_COLUMN_N, true);
    for (const struct text_node *n = nodes ? nodes->first : NULL; n; n = n->next) {
        const struct text_node *list = text_get(n, "devices");
        for (const struct text_node *d = list ? list->first : NULL; d; d = d->next) {
            const char **row = table_row(&table);
            uint64_t memory = text_number(d, "memory");
            row[D_NODE] = answer_text(n, "name", "?");
            row[D_GPU] = answer_text(d, "name", "?");
            row[D_MODEL] = answer_text(d, "model", "?");
            row[D_MEMORY] = memory ? arena_strdup(cli->arena, out_size(size, memory)) : "";
            row[D_NOW] = now_of(cli->arena, d);
            any = true;
        }
    }
    if (!any)
        return;
    buf_puts(out, "\n");
    table_print(&table, 0, cli->color, out);
}

/* ---- what is free ---- */

enum { F_NAME, F_STATE, F_CPU, F_MEMORY, F_GPU, F_TYPE, F_BLOCK, F_DEVICES, F_COLUMN_N };
static const struct table_column free_columns[F_COLUMN_N] = {
    [F_NAME] = { .title = "NODE" },
    [F_STATE] = { .title = "STATE" },
    [F_CPU] = { .title = "CPU", .right = true },
    [F_MEMORY] = { .title = "MEMORY", .right = true },
    [F_GPU] = { .title = "GPU", .right = true },
    [F_TYPE] = { .title = "TYPE" },
    [F_BLOCK] = { .title = "WHOLE", .right = true },
    [F_DEVICES] = { .title = "DEVICES" },
};

static uint64_t left(const struct text_node *node, const char *all, const char *used)
{
    uint64_t a = text_number(node, all), u = text_number(node, used);
    return a > u ? a - u : 0;
}

/* "0:1 1:0.5": devices that have something left. */
static const char *devices_of(struct arena *a, const struct text_node *node)
{
    AUTO_BUF struct buf out = BUF_INIT(64 << 10);
    char text[FMT_MAX];
    const struct text_node *list = text_get(node, "gpu_free");
    unsigned i = 0;
    for (const struct text_node *d = list ? list->first : NULL; d; d = d->next, i++)
        if (d->integer > 0)
            buf_addf(&out, "%s%u:%s", out.len ? " " : "", i, fmt_milli(text, (uint64_t)d->integer));
    return arena_strdup(a, buf_str(&out));
}

static void add_free(struct cli *cli, struct table *t, const struct text_node *n)
{
    struct arena *a = cli->arena;
    char text[FMT_MAX], size[48];
    const char **row = table_row(t);
    uint64_t gpu = 0;
    const struct text_node *list = text_get(n, "gpu_free");
    for (const struct text_node *d = list ? list->first : NULL; d; d = d->next)
        gpu += (uint64_t)d->integer;
    row[F_NAME] = answer_text(n, "name", "?");
    row[F_STATE] = state_of(n);
    row[F_CPU] = arena_strdup(a, fmt_milli(text, left(n, "cpu_milli", "cpu_used_milli")));
    row[F_MEMORY] = arena_strdup(a, out_size(size, left(n, "memory", "memory_used")));
    row[F_GPU] = arena_strdup(a, fmt_milli(text, gpu));
    row[F_TYPE] = text_word(n, "gpu_type");
    row[F_BLOCK] = arena_printf(a, "%llu", (unsigned long long)text_number(n, "gpu_idle"));
    row[F_DEVICES] = devices_of(a, n);
    table_color(t, F_STATE, strcmp(row[F_STATE], "up") == 0 ? "32" : "33");
}

/* "free: 21 gpu (20 whole: 2 of 8, 1 of 4), 48 cpu, 96 GiB" */
static void put_sum(const struct text_node *sum, struct buf *out)
{
    char gpu[FMT_MAX], cpu[FMT_MAX], memory[48];
    const struct text_node *blocks = sum ? text_get(sum, "blocks") : NULL;
    unsigned long long idle = text_number(sum, "idle_gpus");
    const char *between = ": ";
    buf_addf(out, "free: %s gpu (%llu whole", fmt_milli(gpu, text_number(sum, "gpu_milli")), idle);
    for (const struct text_node *b = blocks ? blocks->first : NULL; b; b = b->next) {
        if (b->integer <= 0)
            continue;
        buf_addf(out, "%s%lld of %s", between, (long long)b->integer, b->key);
        between = ", ";
    }
    buf_addf(out, "), %s cpu, %s\n", fmt_milli(cpu, text_number(sum, "cpu_milli")),
             out_size(memory, text_number(sum, "memory")));
}

static void print_free(struct cli *cli, const struct text_node *tree)
{
    AUTO_BUF struct buf out = BUF_INIT(16u << 20);
    const struct text_node *nodes = text_get(tree, "nodes");
    struct table table;
    table_init(&table, cli->arena, free_columns, F_COLUMN_N, cli->wide);
    for (const struct text_node *n = nodes ? nodes->first : NULL; n; n = n->next)
        add_free(cli, &table, n);
    table_print(&table, 0, cli->color, &out);
    put_sum(text_get(tree, "free"), &out);
    out_buf(&out);
}

static int list(struct cli *cli, bool free, struct err *err)
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
    if (free && !cli->quiet) {
        print_free(cli, tree);
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
    if (!cli->quiet && cli->wide)
        put_devices(cli, nodes, &out);
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

/* The same as the flag of the server: `nodes set 4x16cpu,64Gi`, '' for the machine as it is. */
static int set(struct cli *cli, int argc, char **argv, struct err *err)
{
    struct pairs given = { .n = 0 };
    if (cmd_operands(&cmd_nodes, argc, 2, 2, err) < 0)
        return -1;
    if (cli->url) {
        err_set(err, ERR_INPUT, "nodes of a server elsewhere (%s) are not set from here", cli->url);
        return call_hint_local(cli, err);
    }
    pairs_set(&given, cli->arena, "nodes", argv[1]);
    return server_set(cli, &given, err) < 0 ? -1 : list(cli, false, err);
}

/* An option of another verb of nodes would be passed over in silence. */
static int check_taken(const struct nodes_opts *o, const char *sub, struct err *err)
{
    const struct machines_opts *m = &o->machines;
    const struct {
        const char *name;
        bool given;
    } rows[] = {
        { "ssh", m->ssh },       { "address", m->address }, { "label", m->labels.n },
        { "dir", m->dir },       { "dial", m->dial },       { "wait", m->wait_ms },
        { "force", m->force },   { "keep", m->keep },       { "reason", m->reason },
        { "tunnel", m->tunnel },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!rows[i].given || machines_takes(sub, rows[i].name))
            continue;
        err_set(err, ERR_INPUT, "--%s is not of nodes%s%s", rows[i].name, *sub ? " " : "", sub);
        return err_remedy_of(err, REMEDY_HELP_VERB, "nodes");
    }
    return 0;
}

static int order_nodes(struct cli *cli, const struct nodes_opts *o, int argc, char **argv,
                       struct err *err)
{
    if (strcmp(argv[0], "add") == 0)
        return add_machines(cli, &o->machines, argc - 1, argv + 1, err);
    if (strcmp(argv[0], "rm") == 0)
        return remove_machines(cli, &o->machines, argc - 1, argv + 1, err);
    return order(cli, argv[0], argv + 1, argc - 1, err);
}

static int run_nodes(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    static const char *const subs[] = { "add", "rm", "fence", "drain", "undrain", "set" };
    const struct nodes_opts *o = opts_;
    bool known = false;
    for (size_t i = 0; argc && i < ARRAY_LEN(subs); i++)
        known |= strcmp(argv[0], subs[i]) == 0;
    if (argc && o->free) {
        err_set(err, ERR_INPUT, "--free lists nodes, and %s changes them", argv[0]);
        return err_remedy(err, REMEDY_FREE_NODES);
    }
    if (argc && !known) {
        const char *near = scan_nearest(argv[0], subs, ARRAY_LEN(subs));
        err_set(err, ERR_INPUT, "nodes %s: add, rm, fence, drain, undrain or set", argv[0]);
        return near && argc > 1 ? err_remedy_of(err, REMEDY_NODES_SUB, "%s\n%s", near, argv[1])
                                : err_remedy(err, REMEDY_LIST_NODES);
    }
    if (check_taken(o, argc ? argv[0] : "", err) < 0)
        return -1;
    if (argc == 0)
        return list(cli, o->free, err);
    if (strcmp(argv[0], "set") == 0)
        return set(cli, argc, argv, err);
    bool fence = strcmp(argv[0], "fence") == 0;
    if (cmd_operands(&cmd_nodes, argc, 2, fence ? 2 : INT_MAX, err) < 0)
        return -1;
    return fence ? fence_machines(cli, &o->machines, 1, argv + 1, err)
                 : order_nodes(cli, o, argc, argv, err);
}

static const char *const examples[] = {
    "muster nodes",
    "used and all of each resource",
    "muster nodes --free",
    "what is free, device by device",
    "muster nodes drain n2",
    "no new tasks there",
    "muster nodes add gpu2 gpu3 --ssh 'ssh -J gate'",
    "machines that ssh reaches become nodes",
    "muster nodes add gpu4 --ssh 'ssh -J gate' --tunnel 6879",
    "one that cannot reach the server, by a port there that ssh forwards",
    "muster nodes rm gpu3",
    "and this one is none any more",
    NULL,
};
const struct cmd cmd_nodes = {
    .name = "nodes",
    .summary = "nodes and what is taken of them",
    .operands = "[add|rm NAME... | fence NAME | drain|undrain NODE... | set LIST]",
    .opts = opts,
    .size = sizeof(struct nodes_opts),
    .subs = "add rm fence drain undrain set",
    .examples = examples,
    .run = run_nodes,
};
