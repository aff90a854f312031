/* deepspeed. Its runner starts a launcher on each host by ssh; here each task runs that launcher
 * itself, told of the nodes and of its rank. The devices of a node are those its task was given.
 *
 * Source: deepspeed 0.19, `deepspeed --help`, and what its runner starts on a host
 * (`python -m deepspeed.launcher.launch --world_info=... --node_rank=...`). */
#include "cli/line/deepspeed.h"

#include "base/mem.h"
#include "cli/line/hosts.h"
#include "cli/line/number.h"
#include "cli/line/options.h"

#include <string.h>

enum { HOSTFILE = 1, NODES, DEVICES, CHOSEN, ELASTIC, MEETING, PASSED };

static const struct line_option rows[] = {
    { "H hostfile", 1, HOSTFILE },
    { "num-nodes", 1, NODES },
    { "num-gpus num-accelerators", 1, DEVICES },
    { "i include e exclude", 1, CHOSEN },
    { "min-elastic-nodes max-elastic-nodes", 1, ELASTIC },
    { "elastic-training", 0, ELASTIC },
    { "autotuning", 1, ELASTIC },
    { "master-addr master-port node-rank launcher launcher-args ssh-port venv-script", 1, MEETING },
    { "no-ssh no-ssh-check force-multi", 0, MEETING },
    { "module no-python no-local-rank bind-cores-to-rank q quiet", 0, PASSED },
    { "save-pid", 0, MEETING },
    { "enable-each-rank-log bind-core-list log-level", 1, PASSED },
};
static const struct line_options options = {
    .launcher = "deepspeed", .rows = rows, .n = ARRAY_LEN(rows), .unknown = LINE_UNKNOWN_REFUSED
};

struct deepspeed_options {
    uint32_t nodes, devices; /* 0: not said */
    struct line_hosts hosts;
    struct words passed;
};

static int take_option(struct line_reader *r, const struct line_walk *w, const struct line_match *f,
                       struct deepspeed_options *asked, struct err *err)
{
    switch (f->means) {
    case HOSTFILE: return line_hosts_file(r->arena, "--hostfile", f->value, &asked->hosts, err);
    case NODES: return line_number("--num_nodes", f->value, 1, LINE_NODES_MOST, &asked->nodes, err);
    case DEVICES:
        return line_number("--num_gpus", f->value, 1, LINE_RANKS_MOST, &asked->devices, err);
    case CHOSEN:
        err_set(err, ERR_INPUT,
                "deepspeed: %.20s chooses hosts and devices, and the job is given its", f->name);
        return err_hint(err, "--num_nodes N --num_gpus N, so many of each");
    case ELASTIC:
        err_set(err, ERR_INPUT,
                "deepspeed: %.40s starts several rounds over hosts, which no job does", f->name);
        return err_hint(err, "without it; torchrun --nnodes=MIN:MAX is an elastic line");
    case PASSED:
        for (int i = 0; i < f->n; i++)
            asked->passed.at[asked->passed.n++] = w->argv[f->first + i];
        return 0;
    default: return 0;
    }
}

static int read_options(struct line_reader *r, struct line_walk *w, struct deepspeed_options *asked,
                        struct err *err)
{
    struct line_match found;
    int rc;
    while ((rc = line_next(w, &found, err)) > 0)
        if (take_option(r, w, &found, asked, err) < 0)
            return -1;
    return rc;
}

/* Nodes of the line, each with the same number of ranks. */
static int find_shape(const struct line_reader *r, struct deepspeed_options *asked, struct err *err)
{
    uint32_t slots = asked->hosts.n ? asked->hosts.at[0].slots : 0;
    for (size_t i = 0; i < asked->hosts.n; i++)
        if (asked->hosts.at[i].slots != slots) {
            err_set(err, ERR_INPUT, "--hostfile: hosts with different numbers of slots");
            return err_hint(err, "--num_gpus N, so many of each");
        }
    if (!asked->nodes)
        asked->nodes = asked->hosts.n ? (uint32_t)asked->hosts.n : 1;
    if (!asked->devices)
        asked->devices = slots ? slots : line_whole(r->asked->gpu);
    if (asked->devices)
        return 0;
    err_set(err, ERR_INPUT, "deepspeed: how many devices each node has is not said");
    return err_hint(err, "--num_gpus N; or --gpu N of each task before the \"--\"");
}

/* {"n0": [ids], "n1": [ids]}: of the other nodes only how many there are counts. The launcher shows
 * them to CUDA, which takes -1 for none: so a task without devices has as many ranks, and none of
 * the machine's. */
static const char *world(struct line_reader *r, const struct deepspeed_options *asked)
{
    AUTO_BUF struct buf text = BUF_INIT(1 << 20);
    buf_puts(&text, "ids=${CUDA_VISIBLE_DEVICES:-");
    for (uint32_t i = 0; i < asked->devices; i++)
        buf_puts(&text, i ? ",-1" : "-1");
    buf_puts(&text, "}\nids='[\"'$(printf %s \"$ids\" | sed 's/,/\",\"/g')'\"]'\nworld='{'");
    for (uint32_t i = 0; i < asked->nodes; i++)
        buf_addf(&text, "'%s\"n%u\":'\"$ids\"", i ? "," : "", i);
    buf_puts(&text, "'}'\nworld=$(printf %s \"$world\" | base64 | tr -d '\\n' | tr '+/' '-_')\n");
    return arena_strdup(r->arena, buf_str(&text));
}

static void run_on_each(struct line_reader *r, const struct deepspeed_options *asked,
                        const char *python, const struct line_walk *w)
{
    size_t most = (size_t)r->argc + 8;
    struct words line = { .at = ARENA_ARRAY(r->arena, most, const char *) };
    line.at[line.n++] = python ? python : "python";
    line.at[line.n++] = "-m";
    line.at[line.n++] = "deepspeed.launcher.launch";
    line.at[line.n++] = "\001--world_info=\"$world\"";
    line.at[line.n++] = "\001--node_rank=\"$NODE_RANK\"";
    line.at[line.n++] = "\001--master_addr=\"$MASTER_ADDR\"";
    line.at[line.n++] = "\001--master_port=\"$MASTER_PORT\"";
    for (size_t i = 0; i < asked->passed.n; i++)
        line.at[line.n++] = asked->passed.at[i];
    for (int i = w->at; i < w->argc; i++)
        line.at[line.n++] = w->argv[i];
    line_keep_shell(r, world(r, asked), &line);
    r->out->meets = true;
}

int line_deepspeed(struct line_reader *r, struct err *err)
{
    const char *python;
    int words = line_program(r, "deepspeed", "deepspeed.launcher.runner", &python);
    struct line_walk w = { .of = &options, .argc = r->argc, .at = words, .argv = r->argv };
    struct deepspeed_options asked = { .passed.at =
                                           ARENA_ARRAY(r->arena, (size_t)r->argc, const char *) };
    if (!words)
        return 0;
    if (read_options(r, &w, &asked, err) < 0 || find_shape(r, &asked, err) < 0 ||
        line_shape(r, asked.nodes, asked.devices, err) < 0)
        return -1;
    line_starts(r, w.at);
    run_on_each(r, &asked, python, &w);
    return 1;
}
