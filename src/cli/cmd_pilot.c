/* muster pilot: allocations of Slurm that the server holds, whose nodes become its own. A start is
 * waited for until Slurm has said its id, so that what Slurm refuses is said here. */
#include "cli/cmd.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/pilot_text.h"
#include "cli/table.h"
#include "text/json.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define LOOK_MS   200
#define SUBMIT_MS 700000u /* packing, and Slurm's own time */

struct pilot_opts {
    struct common_opts common;
    uint64_t nodes, cpus, time_ms;
    const char *partition, *idle, *gpus;
    bool wait, now;
};
static const struct opt opts[] = {
    { .name = "nodes",
      .letter = 'N',
      .type = OPT_U64,
      .offset = offsetof(struct pilot_opts, nodes),
      .arg = "N",
      .help = "start: how many" },
    { .name = "partition",
      .letter = 'p',
      .type = OPT_STR,
      .offset = offsetof(struct pilot_opts, partition),
      .arg = "NAME",
      .help = "start: of Slurm's partitions (its default one)" },
    { .name = "time",
      .letter = 't',
      .type = OPT_DURATION,
      .offset = offsetof(struct pilot_opts, time_ms),
      .arg = "TIME",
      .help = "start: how long, 8h (as long as the partition gives)" },
    { .name = "gpus-per-node",
      .type = OPT_STR,
      .offset = offsetof(struct pilot_opts, gpus),
      .arg = "[TYPE:]N",
      .help = "start: devices of each node (none); TYPE as Slurm calls it" },
    { .name = "cpus-per-node",
      .type = OPT_U64,
      .offset = offsetof(struct pilot_opts, cpus),
      .arg = "N",
      .help = "start: processors of each node (whole nodes)" },
    { .name = "idle-end",
      .type = OPT_STR,
      .offset = offsetof(struct pilot_opts, idle),
      .arg = "TIME",
      .help = "start: given back after so long without a task, or never (15m)" },
    { .name = "wait",
      .type = OPT_FLAG,
      .offset = offsetof(struct pilot_opts, wait),
      .help = "start: until its nodes have joined; stop: until Slurm has it back" },
    { .name = "now",
      .type = OPT_FLAG,
      .offset = offsetof(struct pilot_opts, now),
      .help = "stop: its jobs get no time of ours to end" },
    COMMON_OPTS,
    OPT_END,
};

enum { NAME, STATE, ALLOCATION, PARTITION, NODES, LEFT, NOTE, COLUMN_N };
static const struct table_column columns[COLUMN_N] = {
    [NAME] = { .title = "PILOT" },
    [STATE] = { .title = "STATE" },
    [ALLOCATION] = { .title = "ALLOCATION", .right = true },
    [PARTITION] = { .title = "PARTITION" },
    [NODES] = { .title = "NODES", .right = true },
    [LEFT] = { .title = "LEFT", .right = true },
    [NOTE] = { .title = "NOTE" },
};

static void add_row(struct cli *cli, struct table *t, const struct text_node *p)
{
    struct arena *a = cli->arena;
    char left[FMT_MAX];
    const char **row = table_row(t);
    row[NAME] = answer_text(p, "name", "?");
    row[STATE] = answer_text(p, "state", "?");
    row[ALLOCATION] = text_word(p, "allocation");
    row[PARTITION] = text_word(p, "partition");
    row[NODES] = arena_printf(a, "%llu/%llu", (unsigned long long)text_number(p, "up"),
                              (unsigned long long)text_number(p, "asked"));
    if (answer_has(p, "left_ms"))
        row[LEFT] = arena_strdup(a, fmt_age(left, text_number(p, "left_ms")));
    row[NOTE] = pilot_note(a, p, clock_wall_ms());
    table_color(t, STATE, strcmp(row[STATE], "running") == 0 ? "32" : "33");
}

static int list(struct cli *cli, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(16u << 20);
    const struct text_node *tree = call_get(cli, "/v1/pilots", err),
                           *pilots = text_get(tree, "pilots");
    struct table table;
    if (!tree)
        return -1;
    if (cli->json) {
        out_json(tree);
        return EXIT_OK;
    }
    table_init(&table, cli->arena, columns, COLUMN_N, cli->wide);
    for (const struct text_node *p = pilots ? pilots->first : NULL; p; p = p->next) {
        if (cli->quiet)
            buf_addf(&out, "%s\n", answer_text(p, "name", "?"));
        else
            add_row(cli, &table, p);
    }
    if (!cli->quiet)
        table_print(&table, 0, cli->color, &out);
    if (answer_has(tree, "slurm") && !cli->quiet)
        buf_addf(&out, "%s\n", text_word(tree, "slurm"));
    out_buf(&out);
    return EXIT_OK;
}

/* ---- start ---- */

static int add_gpus(struct arena *arena, struct text_node *map, const char *text, struct err *err)
{
    const char *colon = text ? strrchr(text, ':') : NULL;
    uint64_t n = 0;
    if (text && !scan_u64(colon ? colon + 1 : text, 0, 1024, &n)) {
        err_set(err, ERR_INPUT, "--gpus-per-node %.60s is no number of devices", text);
        return err_hint(err, "4, or a100:4");
    }
    text_int(arena, map, "gpus", (int64_t)n);
    if (colon)
        text_str(arena, map, "gpu_type", arena_strndup(arena, text, (size_t)(colon - text)));
    return 0;
}

static const struct text_node *ask(struct cli *cli, const struct pilot_opts *o, int argc,
                                   char **argv, struct err *err)
{
    AUTO_BUF struct buf body = BUF_INIT(256 << 10);
    struct text_node *map = text_map(cli->arena, NULL, NULL), *flags;
    uint64_t idle;
    if (pilot_idle(o->idle, &idle, err) < 0)
        return NULL;
    text_int(cli->arena, map, "nodes", (int64_t)o->nodes);
    text_str(cli->arena, map, "partition", o->partition ? o->partition : "");
    text_int(cli->arena, map, "time_ms", (int64_t)o->time_ms);
    text_int(cli->arena, map, "cpus", (int64_t)o->cpus);
    if (add_gpus(cli->arena, map, o->gpus, err) < 0)
        return NULL;
    text_int(cli->arena, map, "idle_ms", (int64_t)idle);
    flags = text_list(cli->arena, map, "flags");
    for (int i = 1; i < argc; i++)
        text_str(cli->arena, flags, NULL, argv[i]);
    json_print(map, 0, &body);
    return call_send(cli,
                     &(struct call){ .method = "POST",
                                     .path = "/v1/pilots",
                                     .type = "application/json",
                                     .body = body.data,
                                     .len = body.len },
                     err);
}

static const struct text_node *look(struct cli *cli, const char *name, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    call_path(&path, "/v1/pilots/", name, "");
    return call_get(cli, buf_str(&path), err);
}

static bool is(const struct text_node *p, const char *state)
{
    return strcmp(text_word(p, "state"), state) == 0;
}

static bool has_all(const struct text_node *p)
{
    return text_number(p, "up") >= answer_number(p, "asked", 1);
}

/* Until Slurm has answered; with --wait until all its nodes are there. */
static const struct text_node *await_start(struct cli *cli, const char *name, bool all,
                                           struct err *err)
{
    const uint64_t from = clock_mono_ms();
    for (;;) {
        const struct text_node *p = look(cli, name, err);
        if (!p)
            return NULL;
        if (is(p, "over") || is(p, "ending")) {
            err_set(err, ERR_CANNOT, "pilot %s: %.200s", name, answer_text(p, "reason", "ended"));
            return NULL;
        }
        if (all ? has_all(p) : !is(p, "submitting"))
            return p;
        if (!all && clock_mono_ms() - from > SUBMIT_MS) {
            err_set(err, ERR_TIMEOUT, "pilot %s is not submitted yet: %.160s", name,
                    answer_text(p, "slurm", text_word(p, "reason")));
            err_hint(err, "it is still asked; the list of pilots says how far it is");
            return NULL;
        }
        poll(NULL, 0, LOOK_MS);
    }
}

static int start(struct cli *cli, const struct pilot_opts *o, int argc, char **argv,
                 struct err *err)
{
    if (!o->nodes) {
        err_set(err, ERR_INPUT, "pilot start needs --nodes N");
        return err_remedy_of(err, REMEDY_HELP_VERB, "pilot");
    }
    if (argc > 1 && !cli->dashes) {
        err_set(err, ERR_INPUT, "\"%.60s\" is nothing that pilot start knows", argv[1]);
        return err_hint(err, "what is for sbatch stands behind a --");
    }
    if (o->now) {
        err_set(err, ERR_INPUT, "--now is of pilot stop");
        return err_remedy_of(err, REMEDY_HELP_VERB, "pilot");
    }
    const struct text_node *made = ask(cli, o, argc, argv, err);
    if (!made)
        return -1;
    const char *name = answer_text(made, "name", "?");
    const struct text_node *p = await_start(cli, name, o->wait, err);
    if (!p)
        return -1;
    if (cli->json)
        out_json(p);
    else if (cli->quiet)
        printf("%s\n", name);
    else
        printf("%s  allocation %s of Slurm, %s\n", name, answer_text(p, "allocation", "?"),
               is(p, "running") ? has_all(p) ? "all its nodes are there" : "its nodes are coming"
                                : pilot_note(cli->arena, p, clock_wall_ms()));
    return EXIT_OK;
}

/* ---- stop ---- */

static int stop_one(struct cli *cli, const struct pilot_opts *o, const char *name,
                    const struct text_node **p, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    call_path(&path, "/v1/pilots/", name, "/stop");
    if (o->now)
        call_query(&path, "now", "1");
    *p = call_send(cli, &(struct call){ .method = "POST", .path = buf_str(&path) }, err);
    while (*p && o->wait && !is(*p, "over")) {
        poll(NULL, 0, LOOK_MS);
        *p = look(cli, name, err);
    }
    return *p ? 0 : -1;
}

static int stop(struct cli *cli, const struct pilot_opts *o, int argc, char **argv, struct err *err)
{
    const struct text_node *p = NULL;
    for (int i = 1; i < argc; i++) {
        if (stop_one(cli, o, argv[i], &p, err) < 0)
            return -1;
        if (!cli->json)
            printf("%s%s\n", argv[i],
                   cli->quiet      ? ""
                   : is(p, "over") ? "  Slurm has it back"
                                   : "  is being given back; its jobs end with their grace");
    }
    if (cli->json)
        out_json(p);
    return EXIT_OK;
}

static int run(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    static const char *const subs[] = { "start", "ls", "stop" };
    const struct pilot_opts *o = opts_;
    if (argc == 0 || (argc == 1 && strcmp(argv[0], "ls") == 0))
        return list(cli, err);
    if (strcmp(argv[0], "start") == 0)
        return start(cli, o, argc, argv, err);
    if (strcmp(argv[0], "stop") == 0)
        return cmd_operands(&cmd_pilot, argc, 2, INT_MAX, err) < 0 ? -1
                                                                   : stop(cli, o, argc, argv, err);
    err_set(err, ERR_INPUT, "pilot %.40s: start, ls or stop", argv[0]);
    const char *near = scan_nearest(argv[0], subs, ARRAY_LEN(subs));
    return near ? err_hint(err, "did you mean %s?", near)
                : err_remedy_of(err, REMEDY_HELP_VERB, "pilot");
}

static const char *const examples[] = {
    "muster pilot start --nodes 4 --time 8h",
    "an allocation of Slurm whose nodes become nodes here",
    "muster pilot start --nodes 2 --gpus-per-node 8 -- --qos=high",
    "what is behind -- is for sbatch",
    "muster pilot ls",
    "how far each is, and why Slurm lets it wait",
    "muster pilot stop p1",
    "Slurm gets it back when its jobs have ended",
    NULL,
};
const struct cmd cmd_pilot = {
    .name = "pilot",
    .summary = "allocations of Slurm as nodes",
    .operands = "[start [-- SBATCH FLAGS] | ls | stop NAME...]",
    .opts = opts,
    .size = sizeof(struct pilot_opts),
    .subs = "start ls stop",
    .examples = examples,
    .run = run,
};
