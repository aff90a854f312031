/* muster replay: a recording of a server is run through the same code again, to its end or to a
 * moment, also with other settings. No server is asked. */
#include "cli/cmd.h"
#include "cli/names.h"

struct replay_opts {
    struct common_opts common;
    const char *at, *seal_key;
    struct opt_list sets;
};
static const struct opt opts[] = {
    { .name = "at",
      .type = OPT_STR,
      .offset = offsetof(struct replay_opts, at),
      .arg = "T",
      .help = "stop there and print the queue: 14:05, 2026-11-22T14:05:00 or an input's number" },
    { .name = "set",
      .type = OPT_LIST,
      .offset = offsetof(struct replay_opts, sets),
      .arg = "K=V",
      .help = "another setting than the recorded one: default_run=1h (may be repeated)" },
    { .name = "seal-key",
      .type = OPT_STR,
      .offset = offsetof(struct replay_opts, seal_key),
      .arg = "FILE",
      .help = "key of the server that recorded, where it is not at its own place" },
    COMMON_OPTS,
    OPT_END,
};

static int run_replay(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct replay_opts *o = opts_;
    if (cmd_operands(&cmd_replay, argc, 1, 1, err) < 0)
        return -1;
    if (names_need(argv[0], err) < 0)
        return -1;
    struct cli_replay ask = { .recording = argv[0],
                              .at = o->at,
                              .seal_key = o->seal_key,
                              .sets = o->sets.at,
                              .n_sets = o->sets.n,
                              .json = cli->json,
                              .quiet = cli->quiet };
    return cli->host->replay(cli->host->version, &ask, err);
}

static const char *const examples[] = {
    "muster server start --record /var/tmp/rec",
    "a server that records what comes in, 512 MiB at most",
    "muster replay /var/tmp/rec",
    "every decision with its reason; ends in the recorded state, or says where it does not",
    "muster replay /var/tmp/rec --at 14:05",
    "what waited then, and why",
    "muster replay /var/tmp/rec --set default_run=1h --quiet",
    "would another setting have decided otherwise, and where first?",
    "muster replay rec --seal-key muster.key",
    "elsewhere: what jobs said is sealed with the key of the server that recorded",
    NULL,
};
const struct cmd cmd_replay = {
    .name = "replay",
    .summary = "run a recording of a server again, and compare what it decides",
    .operands = "RECORDING",
    .opts = opts,
    .size = sizeof(struct replay_opts),
    .examples = examples,
    .run = run_replay,
};
