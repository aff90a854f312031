/* A command's options and words as a native tree. A launcher's line asks for what its ranks need: a
 * device each where there are devices, else a core. */
#include "cli/command.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/call.h"
#include "cli/line/line.h"
#include "cli/made_job.h"

/* Without a server there is nobody to ask, and a core is what every node has. */
static bool nodes_have_devices(struct cli *cli)
{
    struct err err;
    const struct text_node *tree =
        cli->url || call_server_lives(cli) ? call_get(cli, "/v1/nodes", &err) : NULL;
    const struct text_node *nodes = tree ? text_get(tree, "nodes") : NULL;
    for (const struct text_node *n = nodes ? nodes->first : NULL; n; n = n->next)
        if (text_number(n, "gpus") > 0)
            return true;
    return false;
}

/* What the verb's options say wins over the line. */
static void ask_for_ranks(struct cli *cli, const struct line_job *line, struct made_job *made)
{
    made->cpu = made->cpu ? made->cpu : line->cpu;
    made->gpu = made->gpu ? made->gpu : line->gpu;
    made->memory = made->memory ? made->memory : line->memory;
    if (!line->ranks || made->gpu)
        return;
    const char *n = arena_printf(cli->arena, "%u", line->ranks);
    if (!line->on_cpu && nodes_have_devices(cli))
        made->gpu = n;
    else if (!made->cpu)
        made->cpu = n;
}

int command_job(struct cli *cli, const struct command *c, struct command_job *out, struct err *err)
{
    const struct command_opts *o = c->opts;
    struct line_job line;
    struct made_job made = { .name = c->name,
                             .image = o->image,
                             .cpu = o->cpu,
                             .memory = o->memory,
                             .gpu = o->gpu,
                             .line = &line };
    if (c->from)
        return err_set(err, ERR_INPUT, "--from belongs to a file, \"%.80s\" is a command",
                       c->argv[0]);
    if (o->replicas && !scan_u64(o->replicas, 1, JOB_MAX_TASKS, &made.replicas)) {
        err_set(err, ERR_INPUT, "--replicas: \"%.40s\" is no number of tasks", o->replicas);
        return err_hint(err, "1 to %u", JOB_MAX_TASKS);
    }
    struct line_request asked = { .replicas = made.replicas, .cpu = o->cpu, .gpu = o->gpu };
    if (line_read(cli->arena, c->argc, c->argv, &asked, &line, err) < 0)
        return -1;
    ask_for_ranks(cli, &line, &made);
    *out = (struct command_job){ .tree = made_job_tree(cli->arena, &made), .said = line.said };
    return 0;
}
