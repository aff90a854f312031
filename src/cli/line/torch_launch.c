/* python -m torch.distributed.launch. On one node it runs as it is; on several each task runs it
 * with its own rank and the address that the job's tasks are told. */
#include "cli/line/torch_launch.h"

#include "base/mem.h"
#include "cli/line/number.h"
#include "cli/line/options.h"

#include <string.h>

enum { NODES = 1, RANKS, RANK, MEETING };

static const struct line_option rows[] = {
    { "nnodes", 1, NODES },         { "nproc-per-node", 1, RANKS }, { "node-rank", 1, RANK },
    { "master-addr", 1, MEETING },  { "master-port", 1, MEETING },  { "rdzv-endpoint", 1, MEETING },
    { "rdzv-backend", 1, MEETING }, { "rdzv-id", 1, MEETING },      { "use-env", 0, 0 },
    { "standalone", 0, 0 },         { "m module", 0, 0 },           { "no-python", 0, 0 },
    { "run-path", 0, 0 },
};
static const struct line_options options = { .launcher = "torch.distributed.launch",
                                             .rows = rows,
                                             .n = ARRAY_LEN(rows),
                                             .unknown = LINE_UNKNOWN_VALUE };

struct torch_options {
    const char *nodes, *ranks;
};

static void put_option(struct words *kept, const struct line_walk *w, const struct line_match *f)
{
    for (int i = 0; i < f->n; i++)
        kept->at[kept->n++] = w->argv[f->first + i];
}

static int read_options(struct line_walk *w, struct torch_options *asked, struct words *kept,
                        struct err *err)
{
    struct line_match found;
    int rc;
    while ((rc = line_next(w, &found, err)) > 0) {
        if (found.means == NODES)
            asked->nodes = found.value;
        else if (found.means == RANKS)
            asked->ranks = found.value;
        if (found.means == RANKS || found.means == 0)
            put_option(kept, w, &found);
    }
    return rc;
}

static int run_on_each(struct line_reader *r, uint32_t nodes, const struct words *kept, int words,
                       const struct line_walk *w)
{
    struct words line = { .at = ARENA_ARRAY(r->arena, (size_t)r->argc + 8, const char *) };
    for (int i = 0; i < words; i++)
        line.at[line.n++] = r->argv[i];
    line.at[line.n++] = arena_printf(r->arena, "--nnodes=%u", nodes);
    line.at[line.n++] = "\001--node_rank=\"$NODE_RANK\"";
    line.at[line.n++] = "\001--master_addr=\"$MASTER_ADDR\"";
    line.at[line.n++] = "\001--master_port=\"$MASTER_PORT\"";
    for (size_t i = 0; i < kept->n; i++)
        line.at[line.n++] = kept->at[i];
    for (int i = w->at; i < w->argc; i++)
        line.at[line.n++] = w->argv[i];
    line_keep_shell(r, "", &line);
    r->out->meets = true;
    return 1;
}

int line_torch_launch(struct line_reader *r, struct err *err)
{
    const char *python;
    int words = line_program(r, NULL, "torch.distributed.launch", &python);
    struct line_walk w = { .of = &options, .argc = r->argc, .at = words, .argv = r->argv };
    struct torch_options asked = { .nodes = "1", .ranks = "1" };
    struct words kept = { .at = ARENA_ARRAY(r->arena, (size_t)r->argc, const char *) };
    uint32_t nodes, ranks = 0;
    if (!words)
        return 0;
    if (read_options(&w, &asked, &kept, err) < 0)
        return -1;
    if (line_number("--nnodes", asked.nodes, 1, LINE_NODES_MOST, &nodes, err) < 0) {
        if (strchr(asked.nodes, ':'))
            err_hint(err, "torchrun --nnodes=%.20s takes a range", asked.nodes);
        return -1;
    }
    if (strspn(asked.ranks, "0123456789") == strlen(asked.ranks) &&
        line_number("--nproc-per-node", asked.ranks, 1, LINE_RANKS_MOST, &ranks, err) < 0)
        return -1;
    if (line_shape(r, nodes, ranks ? ranks : line_whole(r->asked->gpu), err) < 0)
        return -1;
    line_starts(r, w.at);
    if (nodes > 1)
        return run_on_each(r, nodes, &kept, words, &w);
    line_keep(r, (const char *const *)r->argv, (size_t)r->argc);
    return 1;
}
