/* A file goes there whole, then the head says so. A child that is killed between the two has its
 * segment written again by the next one. */
#include "ship/deliver.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "job/job.h"
#include "ship/backup_file.h"
#include "ship/chain.h"
#include "text/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ANSWER_MAX  ((size_t)64 << 10)
#define HEAD_MAX    TEXT_MAX_BYTES
#define HASH_DIGITS 64
#define THIN_MS     5000u
#define MARK_DIGITS 15 /* of a hash, that a live job notes (source/archive.h) */

struct delivery {
    struct arena *arena;
    const struct text_node *ask;
    struct target *target;
    uint64_t chain, number;
    struct text_node *answer, *archives; /* archives: of the chain, for its head */
    const char *name;                    /* of the file */
    struct backup_tar tar;
    char sha256[SHA256_TEXT];
    bool anew;
};

/* ---- code that jobs need ---- */

static bool holds(const struct text_node *list, const char *text, size_t n)
{
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (one->kind == TEXT_STR && strlen(one->str) == n && strncmp(one->str, text, n) == 0)
            return true;
    return false;
}

/* One that went away meanwhile is no job's any more. */
static int add_archive(struct delivery *d, const char *hash, struct err *err)
{
    const char *name = arena_printf(d->arena, BACKUP_ARCHIVES "%s", hash);
    AUTO_CLOSE int fd = open(arena_printf(d->arena, "%s/%s", text_word(d->ask, "state_dir"), name),
                             O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return 0;
    text_str(d->arena, d->archives, NULL, hash);
    return backup_tar_add(&d->tar, name, fd, err);
}

static int add_archives(struct delivery *d, struct err *err)
{
    const struct text_node *marks = text_get(d->ask, "code"), *all = text_get(d->ask, "all_code");
    const bool takes_all = all && all->boolean;
    const struct dirent *entry;
    int rc = 0;
    DIR *dir = opendir(arena_printf(d->arena, "%s/archives", text_word(d->ask, "state_dir")));
    while (rc == 0 && dir && (entry = readdir(dir)))
        if (strlen(entry->d_name) == HASH_DIGITS &&
            (takes_all || holds(marks, entry->d_name, MARK_DIGITS)) &&
            !holds(d->archives, entry->d_name, HASH_DIGITS))
            rc = add_archive(d, entry->d_name, err);
    if (dir)
        closedir(dir);
    return rc;
}

/* ---- a file ---- */

static struct text_node *make_manifest(const struct delivery *d, enum backup_kind kind)
{
    struct arena *a = d->arena;
    struct text_node *root = text_map(a, NULL, NULL);
    text_int(a, root, backup_kind_key(kind), BACKUP_KIND);
    text_str(a, root, "muster", text_word(d->ask, "muster"));
    text_int(a, root, "made_ms", (int64_t)time(NULL) * 1000);
    text_str(a, root, "state_dir", text_word(d->ask, "state_dir"));
    text_str(a, root, "seal_key", text_word(d->ask, "seal_key"));
    text_int(a, root, "chain", (int64_t)d->chain);
    text_int(a, root, "number", (int64_t)d->number);
    const struct text_node *records = text_get(d->ask, "records");
    if (records)
        text_copy(a, root, "records", records);
    return root;
}

static int fill(struct delivery *d, enum backup_kind kind, struct err *err)
{
    if (backup_tar_add(&d->tar, backup_kind_data(kind), STDIN_FILENO, err) < 0 ||
        add_archives(d, err) < 0)
        return -1;
    return backup_tar_end(&d->tar, d->sha256, err);
}

static int write_file(struct delivery *d, enum backup_kind kind, const char *previous,
                      struct err *err)
{
    struct text_node *root = make_manifest(d, kind);
    if (previous)
        text_str(d->arena, root, "previous", previous);
    struct target_file *file = target_create(d->target, d->name, err);
    if (!file)
        return -1;
    backup_tar_begin(&d->tar, target_sink(file), d->arena, root);
    if (fill(d, kind, err) < 0) {
        target_abandon(file);
        return -1;
    }
    text_int(d->arena, d->answer, "bytes", (int64_t)d->tar.bytes);
    return target_publish(file, err);
}

static int write_head(const struct delivery *d, struct err *err)
{
    struct arena *a = d->arena;
    AUTO_BUF struct buf text = BUF_INIT(HEAD_MAX);
    struct text_node *root = text_map(a, NULL, NULL);
    text_int(a, root, "muster_chain", BACKUP_KIND);
    text_int(a, root, "chain", (int64_t)d->chain);
    text_int(a, root, "number", (int64_t)d->number);
    text_str(a, root, "sha256", d->sha256);
    text_int(a, root, "made_ms", (int64_t)time(NULL) * 1000);
    const struct text_node *records = text_get(d->ask, "records");
    if (records)
        text_copy(a, root, "records", records);
    text_copy(a, root, "archives", d->archives);
    json_print(root, 2, &text);
    buf_putc(&text, '\n');
    const char *name = arena_printf(a, "%08" PRIu64 "/" CHAIN_HEAD, d->chain);
    return target_write(d->target, name, text.data, text.len, err);
}

/* ---- what is asked ---- */

static int look(struct delivery *d, struct err *err)
{
    struct chains chains = { .all.n = 0 };
    struct chain_head newest;
    struct err why = { 0 };
    int rc = target_list(d->target, &chains, err);
    uint64_t last = chains.all.n ? chains.all.at[chains.all.n - 1] : 0;
    vec_fini(&chains.all);
    if (rc < 0)
        return -1;
    text_int(d->arena, d->answer, "next", (int64_t)last + 1);
    if (chain_newest(d->target, d->arena, &newest, &why) < 0)
        return why.code == ERR_NOT_FOUND || why.code == ERR_INPUT ? 0 : (*err = why, -1);
    struct text_node *map = text_map(d->arena, d->answer, "newest");
    text_int(d->arena, map, "chain", (int64_t)newest.chain);
    text_int(d->arena, map, "number", (int64_t)newest.number);
    text_int(d->arena, map, "made_ms", (int64_t)text_number(newest.tree, "made_ms"));
    const struct text_node *records = text_get(newest.tree, "records");
    if (records)
        text_copy(d->arena, map, "records", records);
    return 0;
}

/* A little of it at a time, because nothing else is sent meanwhile. */
static int thin(struct delivery *d, struct err *err)
{
    const uint64_t keep = text_number(d->ask, "keep");
    const struct chain_keep what = { .before = d->chain,
                                     .keep = keep ? keep - 1 : 0,
                                     .until_ms = clock_mono_ms() + THIN_MS };
    int rc = chain_thin(d->target, d->arena, &what, err);
    text_bool(d->arena, d->answer, "more", rc == 1);
    return rc < 0 ? -1 : 0;
}

static int write_base(struct delivery *d, struct err *err)
{
    struct err why;
    d->archives = text_list(d->arena, NULL, NULL);
    if (target_begin(d->target, d->chain, err) < 0)
        return -1;
    if (write_file(d, BACKUP_WHOLE, NULL, err) < 0 || write_head(d, err) < 0) {
        target_remove(d->target, d->chain, 0, &why);
        return -1;
    }
    if (thin(d, &why) < 0) /* the base is there: thinning alone will say why */
        text_bool(d->arena, d->answer, "more", true);
    return 0;
}

static int write_segment(struct delivery *d, struct err *err)
{
    struct chain_head head;
    if (chain_read_head(d->target, d->arena, d->chain, &head, err) < 0) {
        d->anew = err->code == ERR_NOT_FOUND || err->code == ERR_INPUT;
        return -1;
    }
    if (head.number == d->number)
        return 0; /* its child ended before it could say so */
    if (head.number + 1 != d->number) {
        d->anew = true;
        return err_set(err, ERR_CONFLICT,
                       "chain %" PRIu64 " of %s ends with segment %" PRIu64 ", and %" PRIu64
                       " is to come",
                       d->chain, text_word(d->ask, "target"), head.number, d->number);
    }
    const struct text_node *archives = text_get(head.tree, "archives");
    d->archives =
        archives ? text_copy(d->arena, NULL, NULL, archives) : text_list(d->arena, NULL, NULL);
    return write_file(d, BACKUP_SEGMENT, head.sha256, err) < 0 ? -1 : write_head(d, err);
}

static const struct {
    const char *name;
    int (*run)(struct delivery *, struct err *);
} kinds[] = {
    { .name = "look", .run = look },
    { .name = "base", .run = write_base },
    { .name = "segment", .run = write_segment },
    { .name = "thin", .run = thin },
};

static int deliver(struct delivery *d, struct err *err)
{
    const char *what = text_word(d->ask, "what");
    const struct target_place place = { .where = text_word(d->ask, "target"),
                                        .endpoint = text_word(d->ask, "endpoint"),
                                        .region = text_word(d->ask, "region") };
    d->target = target_open(&place, err);
    if (!d->target)
        return -1;
    d->chain = text_number(d->ask, "chain");
    d->number = text_number(d->ask, "number");
    d->name = chain_file(d->arena, d->chain, d->number);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].name, what) == 0)
            return kinds[i].run(d, err);
    return err_set(err, ERR_INPUT, "nothing that is known is asked");
}

int deliver_main(int argc, char **argv)
{
    struct report report;
    struct err err = { 0 };
    AUTO_BUF struct buf text = BUF_INIT(ANSWER_MAX);
    struct delivery d = { .arena = arena_create() };
    report_init(&report, d.arena);
    d.ask = argc == 2 ? json_parse(d.arena, argv[1], strlen(argv[1]), 0, &report) : NULL;
    if (!d.ask || sodium_init() < 0)
        return 1;
    alarm((unsigned)(text_number(d.ask, "limit_ms") / 1000) + 1);
    d.answer = text_map(d.arena, NULL, NULL);
    if (deliver(&d, &err) < 0) {
        struct text_node *map = text_map(d.arena, d.answer, "error");
        text_str(d.arena, map, "what", err.what);
        text_str(d.arena, map, "hint", err.hint);
        text_bool(d.arena, d.answer, "anew", d.anew);
    }
    json_print(d.answer, 0, &text);
    puts(buf_str(&text));
    target_close(d.target);
    arena_destroy(d.arena);
    return fflush(stdout) == 0 ? 0 : 1;
}
