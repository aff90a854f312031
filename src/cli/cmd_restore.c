/* muster restore: a backup becomes the records of a state directory that no server uses. With
 * --dry-run it is only read through. */
#include "cli/cmd.h"

#include "base/scan.h"
#include "cli/call.h"
#include "cli/names.h"
#include "cli/records.h"

#include <stddef.h>

struct restore_opts {
    struct common_opts common;
    bool force, dry_run;
    const char *segments, *endpoint, *region;
};
static const struct opt opts[] = {
    { .name = "force",
      .type = OPT_FLAG,
      .offset = offsetof(struct restore_opts, force),
      .help = "also where there are records; they are kept beside" },
    { .name = "dry-run",
      .type = OPT_FLAG,
      .offset = offsetof(struct restore_opts, dry_run),
      .help = "read it through, say what it holds, and change nothing" },
    { .name = "segments",
      .type = OPT_STR,
      .offset = offsetof(struct restore_opts, segments),
      .arg = "N",
      .help = "of a continuous backup: its base and the first N segments" },
    { .name = "endpoint",
      .type = OPT_STR,
      .offset = offsetof(struct restore_opts, endpoint),
      .arg = "URL",
      .help = "of the S3 store, as in the setting backup_endpoint" },
    { .name = "region",
      .type = OPT_STR,
      .offset = offsetof(struct restore_opts, region),
      .arg = "NAME",
      .help = "of the bucket, as in the setting backup_region" },
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
        return call_hint_local(cli, err);
    }
    if (names_need(argv[0], err) < 0)
        return -1;
    struct cli_records ask = { .file = argv[0],
                               .replace = o->force,
                               .dry_run = o->dry_run,
                               .endpoint = o->endpoint,
                               .region = o->region };
    uint64_t segments;
    if (o->segments && !scan_u64(o->segments, 0, UINT32_MAX, &segments)) {
        err_set(err, ERR_INPUT, "--segments is \"%.80s\"", o->segments);
        return err_hint(err, "a number; 0: only the base");
    }
    ask.segments = o->segments ? &segments : NULL;
    return records_restore(cli, &ask, err);
}

static const char *const examples[] = {
    "muster restore --dry-run /backup/muster.tar",
    "is it whole, and what does it hold?",
    "muster restore --state-dir /var/lib/muster /backup/muster.tar",
    "then `muster server start --state-dir /var/lib/muster`; live jobs begin anew",
    "muster restore --force /backup/muster.tar",
    "go back to it; the records of now are kept in replaced-TIME/",
    "muster restore --state-dir /var/lib/muster /mnt/backup/muster",
    "a continuous backup (setting backup_to): all that it has",
    "muster restore --endpoint https://minio:9000 s3://backup/muster",
    "the same from a bucket; credentials as in ~/.aws/credentials, or AWS_ACCESS_KEY_ID",
    NULL,
};
const struct cmd cmd_restore = {
    .name = "restore",
    .summary = "make a backup the records of a server that does not run",
    .operands = "FILE|DIR|s3://BUCKET/PREFIX",
    .opts = opts,
    .size = sizeof(struct restore_opts),
    .examples = examples,
    .run = run_restore,
};
