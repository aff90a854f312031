/* accelerate launch. It starts the ranks of one machine; on several, each task runs it with its own
 * rank and the address that the job's tasks are told. Numbers that are not on the line are taken
 * from the configuration that the line names, or from the user's own one.
 *
 * Source of the options: accelerate 1.15, `accelerate launch --help`. */
#include "cli/line/accelerate.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/report.h"
#include "cli/line/number.h"
#include "cli/line/options.h"
#include "text/detect.h"

#include <stdlib.h>
#include <string.h>

enum { MACHINES = 1, PROCESSES, MEETING, CONFIG, CPU, DEEPSPEED, DEVICES };

#define CONFIG_MAX (256u << 10)

static const struct line_option rows[] = {
    { "num-machines", 1, MACHINES },
    { "num-processes", 1, PROCESSES },
    { "machine-rank", 1, MEETING },
    { "main-process-ip", 1, MEETING },
    { "main-process-port", 1, MEETING },
    { "deepspeed-hostfile", 1, MEETING },
    { "deepspeed-multinode-launcher", 1, MEETING },
    { "same-network", 0, MEETING },
    { "gpu-ids", 1, DEVICES },
    { "config-file", 1, CONFIG },
    { "cpu use-cpu", 0, CPU },
    { "use-deepspeed", 0, DEEPSPEED },
    { "h help q quiet multi-gpu tpu ipex xpu use-xpu use-mps-device enable-cpu-affinity debug", 0,
      0 },
    { "dynamo-use-fullgraph dynamo-use-dynamic dynamo-use-regional-compilation", 0, 0 },
    { "use-fsdp use-parallelism-config use-megatron-lm tpu-cluster tpu-use-sudo", 0, 0 },
    { "m module no-python", 0, 0 },
};
static const struct line_options options = { .launcher = "accelerate launch",
                                             .rows = rows,
                                             .n = ARRAY_LEN(rows),
                                             .unknown = LINE_UNKNOWN_VALUE };

struct accelerate_options {
    const char *machines, *processes, *config;
    bool deepspeed;
    struct words kept; /* options of several machines' lines that stay */
    struct words all;  /* of one machine's */
};

static void put_words(struct words *out, const struct line_walk *w, const struct line_match *f)
{
    for (int i = 0; i < f->n; i++)
        out->at[out->n++] = w->argv[f->first + i];
}

static int read_options(struct line_reader *r, struct line_walk *w,
                        struct accelerate_options *asked, struct err *err)
{
    struct line_match found;
    int rc;
    while ((rc = line_next(w, &found, err)) > 0) {
        if (found.means == MACHINES)
            asked->machines = found.value;
        else if (found.means == PROCESSES)
            asked->processes = found.value;
        else if (found.means == CONFIG)
            asked->config = found.value;
        r->out->on_cpu = r->out->on_cpu || found.means == CPU;
        asked->deepspeed = asked->deepspeed || found.means == DEEPSPEED;
        if (found.means == DEVICES) {
            line_say(r, "--gpu_ids is left out: a task sees only the devices it was given");
            continue;
        }
        put_words(&asked->all, w, &found);
        if (found.means == 0 || found.means >= CONFIG)
            put_words(&asked->kept, w, &found);
    }
    return rc;
}

static const char *own_config(struct arena *a)
{
    const char *home = getenv("HF_HOME"), *cache = getenv("XDG_CACHE_HOME"), *user = getenv("HOME");
    if (home && *home)
        return arena_printf(a, "%s/accelerate/default_config.yaml", home);
    if (cache && *cache)
        return arena_printf(a, "%s/huggingface/accelerate/default_config.yaml", cache);
    return arena_printf(a, "%s/.cache/huggingface/accelerate/default_config.yaml",
                        user ? user : "");
}

static const char *scalar(const struct text_node *root, const char *key)
{
    const struct text_node *node = text_get(root, key);
    return node && node->kind != TEXT_LIST && node->kind != TEXT_MAP ? node->str : NULL;
}

/* A file that the line names has to be there. */
static int read_config(struct line_reader *r, struct accelerate_options *asked, struct err *err)
{
    const char *path = asked->config ? asked->config : own_config(r->arena);
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    struct report report;
    struct err ignored;
    if (file_read(path, CONFIG_MAX, &text, &len, asked->config ? err : &ignored) < 0)
        return asked->config ? err_in(err, "accelerate launch --config_file") : 0;
    report_init(&report, r->arena);
    const struct text_node *root = text_parse(r->arena, text, len, &report);
    if (!root || root->kind != TEXT_MAP) {
        err_set(err, ERR_INPUT, "%s is no configuration of accelerate", path);
        return err_hint(err, "accelerate config --config_file %.100s makes one", path);
    }
    const char *cpu = scalar(root, "use_cpu");
    if (!asked->machines)
        asked->machines = scalar(root, "num_machines");
    if (!asked->processes)
        asked->processes = scalar(root, "num_processes");
    const char *type = scalar(root, "distributed_type");
    asked->deepspeed = asked->deepspeed || (type && strcmp(type, "DEEPSPEED") == 0);
    r->out->on_cpu = r->out->on_cpu || (cpu && strcmp(cpu, "true") == 0);
    return 0;
}

/* --num_processes counts the ranks of all machines. */
static int ranks_of_each(const struct line_reader *r, const struct accelerate_options *asked,
                         uint32_t nodes, uint32_t *ranks, struct err *err)
{
    uint32_t all = 0;
    *ranks = line_whole(r->out->on_cpu ? r->asked->cpu : r->asked->gpu);
    if (asked->processes && line_number("--num_processes", asked->processes, 1,
                                        LINE_RANKS_MOST * LINE_NODES_MOST, &all, err) < 0)
        return -1;
    if (all % nodes || all / nodes > LINE_RANKS_MOST) {
        err_set(err, ERR_INPUT, "--num_processes %u are not the same number on each of %u machines",
                all, nodes);
        return err_hint(err, "it counts the processes of all machines: %u, for example",
                        (all / nodes + 1) * nodes);
    }
    if (all)
        *ranks = all / nodes;
    if (nodes == 1 || *ranks)
        return 0;
    err_set(err, ERR_INPUT, "accelerate launch on %u machines: how many processes is not said",
            nodes);
    return err_hint(err,
                    "--num_processes N, of all machines; or --gpu N of each before the \"--\"");
}

static void run_on_each(struct line_reader *r, const struct accelerate_options *asked, int words,
                        const struct line_walk *w)
{
    uint32_t nodes = r->out->max;
    const struct words *kept = nodes > 1 ? &asked->kept : &asked->all;
    struct words line = { .at = ARENA_ARRAY(r->arena, (size_t)r->argc + 6, const char *) };
    for (int i = 0; i < words; i++)
        line.at[line.n++] = r->argv[i];
    if (nodes > 1) {
        line.at[line.n++] = arena_printf(r->arena, "--num_machines=%u", nodes);
        line.at[line.n++] = arena_printf(r->arena, "--num_processes=%u", r->out->ranks * nodes);
        line.at[line.n++] = "\001--machine_rank=\"$NODE_RANK\"";
        line.at[line.n++] = "\001--main_process_ip=\"$MASTER_ADDR\"";
        line.at[line.n++] = "\001--main_process_port=\"$MASTER_PORT\"";
    }
    if (asked->deepspeed && nodes > 1) /* its other launchers start by ssh */
        line.at[line.n++] = "--deepspeed_multinode_launcher=standard";
    for (size_t i = 0; i < kept->n; i++)
        line.at[line.n++] = kept->at[i];
    for (int i = w->at; i < w->argc; i++)
        line.at[line.n++] = w->argv[i];
    if (nodes > 1)
        line_keep_shell(r, "", &line);
    else
        line_keep(r, line.at, line.n);
    r->out->meets = nodes > 1;
}

static int find_program(struct line_reader *r, const char **python)
{
    int words = line_program(r, "accelerate", "accelerate.commands.accelerate_cli", python);
    if (words && words < r->argc && strcmp(r->argv[words], "launch") == 0)
        return words + 1;
    words = line_program(r, "accelerate-launch", "accelerate.commands.launch", python);
    return words;
}

int line_accelerate(struct line_reader *r, struct err *err)
{
    const char *python;
    int words = find_program(r, &python);
    struct line_walk w = { .of = &options, .argc = r->argc, .at = words, .argv = r->argv };
    struct accelerate_options asked = { .kept.at =
                                            ARENA_ARRAY(r->arena, (size_t)r->argc, const char *),
                                        .all.at =
                                            ARENA_ARRAY(r->arena, (size_t)r->argc, const char *) };
    uint32_t nodes = 1, ranks;
    if (!words)
        return 0;
    if (read_options(r, &w, &asked, err) < 0 || read_config(r, &asked, err) < 0 ||
        (asked.machines &&
         line_number("--num_machines", asked.machines, 1, LINE_NODES_MOST, &nodes, err) < 0) ||
        ranks_of_each(r, &asked, nodes, &ranks, err) < 0 || line_shape(r, nodes, ranks, err) < 0)
        return -1;
    line_starts(r, w.at);
    run_on_each(r, &asked, words, &w);
    return 1;
}
