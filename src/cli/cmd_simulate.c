/* muster simulate: a workload on a cluster that is not there, by the server's own core; and two
 * policies or two results beside each other. No server is asked. */
#include "cli/cmd.h"

#include <string.h>

struct simulate_opts {
    struct common_opts common;
    const char *cluster, *workload, *json, *html;
    struct opt_list policies;
    uint64_t seed, explain;
    bool compare;
};
static const struct opt opts[] = {
    { .name = "cluster",
      .type = OPT_STR,
      .offset = offsetof(struct simulate_opts, cluster),
      .arg = "FILE",
      .help = "nodes and queues, as in a server's settings, or an openb list of nodes" },
    { .name = "workload",
      .type = OPT_STR,
      .offset = offsetof(struct simulate_opts, workload),
      .arg = "FILE",
      .help = "jobs: own format, openb, sacct --parsable2, or SWF" },
    { .name = "policy",
      .type = OPT_LIST,
      .offset = offsetof(struct simulate_opts, policies),
      .arg = "K=V",
      .help = "a setting (may be repeated): start=5s stop=2s default_run=2h half_life=1d; of all "
              "queues, or with QUEUE. in front of one: strategy=backfill|fifo|round_robin|balance|"
              "intelligent reclaim=false weight=2 guaranteed=50% maximum={gpu: 8} user=25% "
              "cells={node: 1}" },
    { .name = "seed",
      .type = OPT_U64,
      .offset = offsetof(struct simulate_opts, seed),
      .arg = "N",
      .help = "of drawn failures; the same seed gives the same result" },
    { .name = "explain",
      .type = OPT_U64,
      .offset = offsetof(struct simulate_opts, explain),
      .arg = "N",
      .help = "hold what muster explain would say of every Nth job that waits against what happens "
              "then" },
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
      .help = "print two results (files of --json) side by side; with --cluster and --workload, "
              "the outcome of two policies" },
    COMMON_OPTS_BUT_JSON,
    OPT_END,
};

static int need(const char *value, const char *name, struct err *err)
{
    if (value && *value)
        return 0;
    err_set(err, ERR_INPUT, "a simulation needs --%s", name);
    return err_hint(err, "--cluster FILE --workload FILE");
}

static int run_simulate(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct simulate_opts *o = opts_;
    size_t operands = o->compare ? 2 : 0;
    if (cmd_operands(&cmd_simulate, argc, (int)operands, (int)operands, err) < 0)
        return -1;
    if (o->compare && !o->cluster && !o->workload && !strchr(argv[0], '=') && !strchr(argv[1], '='))
        return cli->host->compare(argv[0], argv[1], err) < 0 ? -1 : EXIT_OK;
    if (o->compare && (o->json || o->html)) {
        err_set(err, ERR_INPUT, "--compare writes no file");
        return err_hint(err, "run it once for each policy: --policy %.60s --json FILE", argv[0]);
    }
    if (need(o->cluster, "cluster", err) < 0 || need(o->workload, "workload", err) < 0)
        return -1;
    struct cli_simulation ask = { .cluster = o->cluster,
                                  .workload = o->workload,
                                  .policies = o->policies.at,
                                  .n_policies = o->policies.n,
                                  .a = o->compare ? argv[0] : NULL,
                                  .b = o->compare ? argv[1] : NULL,
                                  .seed = o->seed,
                                  .explain = o->explain,
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
    "muster simulate --cluster n.yaml --workload w.yaml --compare strategy=fifo strategy=backfill",
    "the same jobs under two policies",
    NULL,
};
const struct cmd cmd_simulate = {
    .name = "simulate",
    .summary = "run a workload on a cluster of numbers, by the server's own scheduler",
    .operands = "--cluster FILE --workload FILE [--compare A B] | --compare FILE FILE",
    .opts = opts,
    .size = sizeof(struct simulate_opts),
    .examples = examples,
    .run = run_simulate,
};
