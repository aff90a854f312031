/* Base, then segment after segment: each names its chain, its number and the hash of the manifest
 * of the file before it, and the head names the last one. */
#include "ship/gather.h"

#include "base/file.h"
#include "base/mem.h"
#include "ship/backup_file.h"
#include "ship/chain.h"
#include "ship/s3.h"
#include "store/pages.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

struct gathering {
    const struct gather_ask *ask;
    struct arena *arena;
    struct target *target;
    struct chain_head head;
    const char *database, *pages;
    const struct text_node *last; /* manifest */
    uint64_t number, bytes, archives;
};

bool gather_is_chain(const char *from)
{
    return target_is_store(from) || file_is_dir(from);
}

/* What helps when the next file cannot be used. */
static int refuse(const struct gathering *g, struct err *err)
{
    if (g->number == 0 && !g->last)
        return err_hint(err, "name an older chain of it, as %s/%08" PRIu64 "; nothing was changed",
                        g->ask->from, g->head.chain > 1 ? g->head.chain - 1 : 1);
    err_hint(err, "nothing was changed; what is before it can be put back");
    const struct target_place place = { .where = g->ask->from,
                                        .endpoint = g->ask->endpoint,
                                        .region = g->ask->region };
    const char *region = s3_region(&place), *endpoint = s3_endpoint(&place);
    if (!*endpoint)
        endpoint = arena_printf(g->arena, "https://s3.%s.amazonaws.com", region);
    if (g->ask->endpoint || g->ask->region)
        return err_remedy_of(err, REMEDY_RESTORE_BEFORE_IN, "%" PRIu64 "\n%s\n%s\n%s", g->number,
                             endpoint, region, g->ask->from);
    return err_remedy_of(err, REMEDY_RESTORE_BEFORE, "%" PRIu64 "\n%s", g->number, g->ask->from);
}

static int check_place(const struct gathering *g, const char *path, const struct text_node *m,
                       uint64_t number, struct err *err)
{
    if (text_number(m, "chain") != g->head.chain || text_number(m, "number") != number)
        return err_set(
            err, ERR_INPUT,
            "%s is not segment %" PRIu64 " of chain %" PRIu64 ", but %" PRIu64 " of chain %" PRIu64,
            path, number, g->head.chain, text_number(m, "number"), text_number(m, "chain"));
    if (number && strcmp(text_word(m, "previous"), text_word(g->last, "sha256")) != 0)
        return err_set(err, ERR_INPUT,
                       "%s does not follow the file before it: one of them is "
                       "another than was written",
                       path);
    if (number == g->head.number && strcmp(text_word(m, "sha256"), g->head.sha256) != 0)
        return err_set(err, ERR_INPUT, "%s is not the one that the chain ends with", path);
    return 0;
}

static void count(struct gathering *g, const struct text_node *m, uint64_t number)
{
    g->last = m;
    g->number = number;
    g->bytes += text_number(m, "bytes");
    g->archives += text_number(m, "archives");
}

/* NULL with ERR_NOT_FOUND: it is not there. */
static const struct text_node *read_file(const struct gathering *g, const char *name,
                                         enum backup_kind kind, struct err *err)
{
    struct target_file *file = target_get(g->target, name, err);
    if (!file)
        return NULL;
    const struct backup_stream stream = { .kind = kind,
                                          .name = target_name(g->target, g->arena, name),
                                          .dir = g->ask->dir,
                                          .from = target_source(file) };
    const struct text_node *m = backup_stream_read(g->arena, &stream, err);
    target_end(file);
    return m;
}

/* What failed is the way to the store, not a file in it: there is nothing to name before it. */
static bool is_away(const struct err *err)
{
    return err->code == ERR_UNAVAILABLE || err->code == ERR_TIMEOUT || err->code == ERR_DENIED ||
           err->code == ERR_UNAUTHENTICATED || err->code == ERR_CANNOT;
}

static int take_base(struct gathering *g, struct err *err)
{
    const char *name = chain_file(g->arena, g->head.chain, 0);
    const struct text_node *m = read_file(g, name, BACKUP_WHOLE, err);
    if (!m && is_away(err))
        return -1;
    if (!m || check_place(g, target_name(g->target, g->arena, name), m, 0, err) < 0)
        return refuse(g, err);
    count(g, m, 0);
    return 0;
}

/* 1: there is none of that number, and none was to be. */
static int take_segment(struct gathering *g, uint64_t number, struct err *err)
{
    const char *name = chain_file(g->arena, g->head.chain, number);
    const struct text_node *m = read_file(g, name, BACKUP_SEGMENT, err);
    if (!m && is_away(err))
        return -1;
    if (!m && err->code == ERR_NOT_FOUND) {
        if (number > g->head.number)
            return 1;
        err_set(err, ERR_INPUT,
                "segment %" PRIu64 " of the %" PRIu64 " of chain %" PRIu64 " is missing (%s)",
                number, g->head.number, g->head.chain, name);
    }
    if (!m || check_place(g, target_name(g->target, g->arena, name), m, number, err) < 0 ||
        store_pages_apply(g->pages, g->database, err) < 0)
        return refuse(g, err);
    if (unlink(g->pages) != 0)
        return err_sys(err, "%s", g->pages);
    count(g, m, number);
    return 0;
}

static int sync_records(const struct gathering *g, struct err *err)
{
    AUTO_CLOSE int fd = open(g->database, O_RDWR | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0 ? 0 : err_sys(err, "%s", g->database);
}

static int take_all(struct gathering *g, struct err *err)
{
    const uint64_t most = g->ask->segments ? *g->ask->segments : UINT64_MAX;
    int rc = take_base(g, err);
    for (uint64_t number = 1; rc == 0 && number <= most; number++)
        rc = take_segment(g, number, err);
    if (rc < 0)
        return -1;
    if (g->ask->segments && g->number < most)
        return err_set(err, ERR_INPUT, "chain %" PRIu64 " has %" PRIu64 " segments", g->head.chain,
                       g->number);
    return sync_records(g, err);
}

static int open_chain(struct gathering *g, struct err *err)
{
    uint64_t chain;
    bool one = chain_of_path(g->ask->from, &chain);
    size_t n = strlen(g->ask->from);
    while (one && n > 1 && g->ask->from[n - 1] == '/')
        n--;
    const char *where = !one               ? g->ask->from
                        : n > CHAIN_DIGITS ? arena_strndup(g->arena, g->ask->from, n - CHAIN_DIGITS)
                                           : ".";
    const struct target_place place = { .where = where,
                                        .endpoint = g->ask->endpoint,
                                        .region = g->ask->region };
    g->target = target_open(&place, err);
    if (!g->target)
        return -1;
    if (one)
        return chain_read_head(g->target, g->arena, chain, &g->head, err);
    if (chain_newest(g->target, g->arena, &g->head, err) == 0)
        return 0;
    if (is_away(err))
        return -1;
    if (err->code != ERR_NOT_FOUND)
        return err_hint(err, "put it back, or name an older chain of %s; nothing was changed",
                        where);
    err_set(err, ERR_INPUT, "%s holds no whole backup", where);
    return err_hint(err, "name what backup_to named, or the file of a backup");
}

const struct text_node *gather_chain(struct arena *a, const struct gather_ask *ask, struct err *err)
{
    struct gathering g = { .ask = ask,
                           .arena = a,
                           .database = arena_printf(a, "%s/" BACKUP_RECORDS, ask->dir),
                           .pages = arena_printf(a, "%s/" BACKUP_PAGES, ask->dir) };
    int rc = open_chain(&g, err);
    rc = rc == 0 ? take_all(&g, err) : rc;
    target_close(g.target);
    if (rc < 0)
        return NULL;
    struct text_node *root = text_map(a, NULL, NULL);
    for (const struct text_node *one = g.last->first; one; one = one->next)
        if (strcmp(one->key, "bytes") != 0 && strcmp(one->key, "archives") != 0 &&
            strcmp(one->key, "members") != 0)
            text_copy(a, root, one->key, one);
    text_int(a, root, "segments", (int64_t)g.number);
    text_int(a, root, "bytes", (int64_t)g.bytes);
    text_int(a, root, "archives", (int64_t)g.archives);
    return root;
}
