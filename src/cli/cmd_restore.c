/* muster restore: a backup becomes the records of a state directory that no server uses. */
#include "cli/cmd.h"

#include "cli/records.h"

#include <stddef.h>

struct restore_opts {
    struct common_opts common;
    bool force, dry_run;
};
static const struct opt opts[] = {
    { .name = "force",
      .type = OPT_FLAG,
      .offset = offsetof(struct restore_opts, force),
      .help = "also where there are records; they are kept beside" },
    { .name = "dry-run",
      .type = OPT_FLAG,
      .offset = offsetof(struct restore_opts, dry_run),
      .help = "read FILE through, say what it holds, and change nothing" },
    COMMON_OPTS,
    OPT_END,
};

static int run_restore(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct restore_opts *o = opts_;
    if (cmd_operands(&cmd_restore, argc, 1, 1, err) < 0)
        return -1;
    if (cli->url) {
        err_set(err, ERR_INPUT, "a server elsewhere (%s) is restored where its records are",
                cli->url);
        return err_hint(err, "leave out --server and MUSTER_SERVER, or type it there");
    }
    return records_restore(cli, argv[0], o->force, o->dry_run, err);
}

static const char *const examples[] = {
    "muster restore --dry-run /backup/muster.tar",
    "is it whole, and what does it hold?",
    "muster restore --state-dir /var/lib/muster /backup/muster.tar",
    "then `muster server start --state-dir /var/lib/muster`; live jobs begin anew",
    "muster restore --force /backup/muster.tar",
    "go back to it; the records of now are kept in replaced-TIME/",
    NULL,
};
const struct cmd cmd_restore = {
    .name = "restore",
    .summary = "make a backup the records of a server that does not run",
    .operands = "FILE",
    .opts = opts,
    .size = sizeof(struct restore_opts),
    .examples = examples,
    .run = run_restore,
};
