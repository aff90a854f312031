/* muster backup: the records of a running server, written to a file of this machine, or to stdout.
 * The file is there when it is whole: it is written beside, synced, read through and renamed. */
#include "cli/cmd.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/tar.h"
#include "cli/call.h"
#include "cli/names.h"
#include "cli/output.h"
#include "cli/records.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SHOW_EVERY_MS 200u

struct backup_opts {
    struct common_opts common;
    bool force;
};
static const struct opt opts[] = {
    { .name = "force",
      .type = OPT_FLAG,
      .offset = offsetof(struct backup_opts, force),
      .help = "replace FILE when it is there" },
    COMMON_OPTS,
    OPT_END,
};

/* What comes from the server. */
struct writing {
    int fd;
    const char *path;
    uint64_t bytes, shown_ms;
    bool shows;
    char last[TAR_END]; /* bytes: a whole backup ends with zeros */
    struct err err;     /* of writing */
};

static void show(struct writing *w)
{
    char text[48];
    uint64_t now = clock_mono_ms();
    if (!w->shows || now < w->shown_ms + SHOW_EVERY_MS)
        return;
    w->shown_ms = now;
    fprintf(stderr, "\r\033[K%s", out_size(text, w->bytes));
}

static void note_last(struct writing *w, const char *data, size_t len)
{
    size_t n = len < sizeof w->last ? len : sizeof w->last;
    memmove(w->last, w->last + n, sizeof w->last - n);
    memcpy(w->last + sizeof w->last - n, data + len - n, n);
}

static bool on_data(void *arg, const void *data, size_t len)
{
    struct writing *w = arg;
    if (file_write_all(w->fd, data, len) != 0) {
        err_sys(&w->err, "%s", w->path);
        return false;
    }
    w->bytes += len;
    note_last(w, data, len);
    show(w);
    return true;
}

static int receive(struct cli *cli, struct writing *w, struct err *err)
{
    static const char zeros[TAR_END];
    const struct call_bytes ask = {
        .method = "POST", .path = "/v1/backup", .data = on_data, .arg = w
    };
    w->shows = isatty(STDERR_FILENO) == 1 && !cli->quiet && !cli->json;
    w->shown_ms = clock_mono_ms();
    if (w->shows)
        fputs("the server copies its records ...", stderr);
    int rc = call_bytes(cli, &ask, err);
    if (w->shows)
        fputs("\r\033[K", stderr);
    if (w->err.code) {
        *err = w->err;
        return -1;
    }
    if (rc < 0 || (w->bytes > sizeof zeros && memcmp(w->last, zeros, sizeof zeros) == 0))
        return rc;
    err_set(err, ERR_UNAVAILABLE, "the server broke the backup off after %llu bytes",
            (unsigned long long)w->bytes);
    return err_hint(err, "its log says why; nothing was kept");
}

static int to_stdout(struct cli *cli, struct err *err)
{
    struct writing w = { .fd = STDOUT_FILENO, .path = "standard output" };
    if (isatty(STDOUT_FILENO) == 1) {
        err_set(err, ERR_INPUT, "a backup is not for a terminal");
        return err_hint(err, "name a file, or send it through a pipe");
    }
    return receive(cli, &w, err);
}

static int sync_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *dir = slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");
    AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 ? fsync(fd) : -1;
}

const struct text_node *backup_to_file(struct cli *cli, const char *path, struct err *err)
{
    const char *part = arena_printf(cli->arena, "%s.tmp", path);
    const struct cli_records look = { .what = RECORDS_LOOK, .file = part };
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
    const struct text_node *found = NULL;
    AUTO_CLOSE int fd = open(part, flags, 0600);
    struct writing w = { .fd = fd, .path = part };
    if (fd < 0) {
        err_sys(err, "%s", part);
        return NULL;
    }
    int rc = fchmod(fd, 0600) == 0 ? receive(cli, &w, err) : err_sys(err, "%s", part);
    if (rc == 0 && fsync(fd) != 0)
        rc = err_sys(err, "%s", part);
    if (rc == 0)
        found = cli->host->records(cli->arena, &look, err);
    if (found && (rename(part, path) != 0 || sync_parent(path) != 0)) {
        err_sys(err, "%s", path);
        found = NULL;
    }
    if (!found)
        (void)unlink(part);
    return found;
}

static void print_backup(struct cli *cli, const char *path, const struct text_node *b)
{
    char size[48], text[48], time[FMT_MAX];
    const struct text_node *records = text_get(b, "records");
    const char *key = text_word(b, "seal_key");
    if (cli->json) {
        struct text_node *root = text_copy(cli->arena, NULL, NULL, b);
        text_str(cli->arena, root, "file", path);
        out_json(root);
        return;
    }
    if (cli->quiet) {
        puts(path);
        return;
    }
    printf("backup   %s, %s, as of %s\n", path, out_size(size, text_number(b, "bytes")),
           fmt_time_local(time, text_number(b, "made_ms")));
    printf("records  events to %llu, jobs to %llu, %s live\n",
           (unsigned long long)text_number(records, "event"),
           (unsigned long long)text_number(records, "number"),
           out_count(text, text_number(records, "live"), "job"));
    if (text_number(b, "archives"))
        printf("code     %s that live jobs need\n",
               out_count(text, text_number(b, "archives"), "archive"));
    printf("key      not in it: keep %s too, in another place; without it what is sealed is lost\n",
           key);
}

static int run_backup(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct backup_opts *o = opts_;
    if (cmd_operands(&cmd_backup, argc, 1, 1, err) < 0)
        return -1;
    if (strcmp(argv[0], "-") == 0)
        return to_stdout(cli, err);
    if (!o->force && (access(argv[0], F_OK) == 0 || errno != ENOENT)) {
        err_set(err, ERR_CONFLICT, "%s is there already", argv[0]);
        return err_hint(err, "--force replaces it, when the new one is whole");
    }
    const char *slash = strrchr(argv[0], '/');
    if (slash && slash > argv[0] &&
        names_need(arena_strndup(cli->arena, argv[0], (size_t)(slash - argv[0])), err) < 0)
        return -1;
    const struct text_node *found = backup_to_file(cli, argv[0], err);
    if (!found)
        return -1;
    print_backup(cli, argv[0], found);
    return EXIT_OK;
}

static const char *const examples[] = {
    "muster backup /backup/muster-$(date +%F).tar",
    "while the server works: records and the code that live jobs need; no key is in it",
    "muster backup --force /backup/muster.tar",
    "the same file every night; the old one stays until the new one is whole",
    "muster backup - | ssh vault 'cat > muster.tar'",
    "to another machine, nothing is written here",
    NULL,
};
const struct cmd cmd_backup = {
    .name = "backup",
    .summary = "write the records of a running server to a file",
    .operands = "FILE|-",
    .opts = opts,
    .size = sizeof(struct backup_opts),
    .examples = examples,
    .run = run_backup,
};
