/* muster simulate: a workload on a cluster that is not there, by the server's own core; and two
 * results beside each other. No server is asked. */
#include "cli/cmd.h"

struct simulate_opts {
    struct common_opts common;
    const char *cluster, *workload, *json, *html;
    struct opt_list policies;
    uint64_t seed;
    bool compare;
};
static const struct opt opts[] = {
    { .name = "cluster",
      .type = OPT_STR,
      .offset = offsetof(struct simulate_opts, cluster),
      .arg = "FILE",
      .help = "nodes, as in a server's settings, or an openb list of nodes" },
    { .name = "workload",
      .type = OPT_STR,
      .offset = offsetof(struct simulate_opts, workload),
      .arg = "FILE",
      .help = "jobs: own format, openb, sacct --parsable2, or SWF" },
    { .name = "policy",
      .type = OPT_LIST,
      .offset = offsetof(struct simulate_opts, policies),
      .arg = "K=V",
      .help = "a setting: start=5s, stop=2s (may be repeated)" },
    { .name = "seed",
      .type = OPT_U64,
      .offset = offsetof(struct simulate_opts, seed),
      .arg = "N",
      .help = "of drawn failures; the same seed gives the same result" },
    { .name = "json",
      .type = OPT_STR,
      .offset = offsetof(struct simulate_opts, json),
      .arg = "FILE",
      .help = "write the result as one document; - is standard output" },
    { .name = "html",
      .type = OPT_STR,
      .offset = offsetof(struct simulate_opts, html),
      .arg = "FILE",
      .help = "write the result as one page" },
    { .name = "compare",
      .type = OPT_FLAG,
      .offset = offsetof(struct simulate_opts, compare),
      .help = "print two results (files of --json) beside each other" },
    COMMON_OPTS_BUT_JSON,
    OPT_END,
};

static int need(const char *value, const char *name, struct err *err)
{
    if (value && *value)
        return 0;
    err_set(err, ERR_INPUT, "muster simulate needs --%s", name);
    return err_hint(err, "muster simulate --cluster FILE --workload FILE");
}

static int run_simulate(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct simulate_opts *o = opts_;
    if (o->compare) {
        if (cmd_operands(&cmd_simulate, argc, 2, 2, err) < 0)
            return -1;
        return cli->host->compare(argv[0], argv[1], err) < 0 ? -1 : EXIT_OK;
    }
    if (cmd_operands(&cmd_simulate, argc, 0, 0, err) < 0 || need(o->cluster, "cluster", err) < 0 ||
        need(o->workload, "workload", err) < 0)
        return -1;
    struct cli_simulation ask = { .cluster = o->cluster,
                                  .workload = o->workload,
                                  .policies = o->policies.at,
                                  .n_policies = o->policies.n,
                                  .seed = o->seed,
                                  .json = o->json     ? o->json
                                          : cli->json ? "-"
                                                      : NULL,
                                  .html = o->html,
                                  .quiet = cli->quiet };
    return cli->host->simulate(&ask, err) < 0 ? -1 : EXIT_OK;
}

static const char *const examples[] = {
    "muster simulate --cluster nodes.yaml --workload jobs.yaml",
    "waiting times, utilisation and more of these jobs on those nodes",
    "muster simulate --cluster nodes.yaml --workload jobs.txt --html page.html",
    "the jobs of a Slurm cluster, as a page; jobs.txt: sacct -aX --parsable2 -S 2026-01-01 -o all",
    "muster simulate --cluster nodes.yaml --workload jobs.yaml --policy start=20s --json b.json",
    "with tasks that take 20 s to start; the result goes to a file",
    "muster simulate --compare a.json b.json",
    "two results beside each other",
    NULL,
};
const struct cmd cmd_simulate = {
    .name = "simulate",
    .summary = "run a workload on a cluster of numbers, by the server's own scheduler",
    .operands = "--cluster FILE --workload FILE | --compare A B",
    .opts = opts,
    .size = sizeof(struct simulate_opts),
    .examples = examples,
    .run = run_simulate,
};
