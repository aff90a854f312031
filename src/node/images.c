/* One entry for each name. The store may remove a tree between the moment when the child of a pull
 * found it and the one when the agent has the lock of a user, so the pull is done again then. */
#include "node/images.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"
#include "node/fetch/grants.h"
#include "node/fetch/pull.h"
#include "node/fetch/store.h"
#include "node/runtime/root.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ROUNDS     3 /* of pulling and finding it gone */
#define SAY_MS     5000u
#define IMAGE_ROOM ((uint64_t)64 << 30)

struct entry {
    struct image is;
    struct images *owner;
    struct pull *pull;
    struct arena *arena;
    char *packed;              /* path where the server's comes to; NULL: none is asked for */
    bool asks;                 /* it waits for its turn to be asked for, or comes */
    char *name, *shown, *auth; /* shown: name without its digest */
    size_t auth_len;
    int use; /* its lock in the store; -1: none */
    unsigned rounds;
    uint64_t began_ms, said_ms, told_ms, bytes;
    bool pinned; /* the server was told */
};
struct images {
    struct site *site;
    struct images_sink sink;
    struct fetch *fetch; /* of the one whose turn it is */
    bool held;
    VEC(struct entry *) all;
};

struct images *images_create(struct site *site, struct images_sink sink)
{
    struct images *images = mem_new(sizeof *images);
    images->site = site;
    images->sink = sink;
    return images;
}

static struct entry *find(const struct images *images, const char *name)
{
    for (size_t i = 0; i < images->all.n; i++)
        if (strcmp(images->all.at[i]->name, name) == 0)
            return images->all.at[i];
    return NULL;
}

const struct image *images_find(const struct images *images, const char *name)
{
    const struct entry *entry = find(images, name);
    return entry ? &entry->is : NULL;
}

bool images_busy(const struct images *images)
{
    for (size_t i = 0; i < images->all.n; i++)
        if (images->all.at[i]->is.coming)
            return true;
    return false;
}

static void drop_auth(struct entry *entry)
{
    if (entry->auth)
        explicit_bzero(entry->auth, entry->auth_len);
    free(TAKE(entry->auth));
}

static void settle(struct entry *entry, const struct err *problem)
{
    entry->is.coming = false;
    entry->is.ready = !problem;
    if (problem)
        entry->is.problem = *problem;
    drop_auth(entry);
}

static void tell_settled(struct images *images)
{
    if (!images_busy(images))
        images->sink.settled(images->sink.arg);
}

/* ---- what is told ---- */

__attribute__((format(printf, 2, 3))) static void say(struct entry *entry, const char *fmt, ...)
{
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    entry->said_ms = clock_mono_ms();
    entry->owner->sink.say(entry->owner->sink.arg, text);
}

static void tell_server(struct entry *entry, enum image_step step, uint64_t total)
{
    const struct image_progress news = { .step = step,
                                         .name = entry->name,
                                         .digest = entry->is.digest,
                                         .bytes = entry->bytes,
                                         .total = total,
                                         .took_ms = clock_mono_ms() - entry->began_ms,
                                         .problem = "" };
    entry->owner->sink.news(entry->owner->sink.arg, &news);
}

/* The first at once, then less often the longer it takes: facts are kept until they are committed.
 */
static void tell_bytes(struct entry *entry, const struct pull_progress *news)
{
    uint64_t now = clock_mono_ms(), took = now - entry->began_ms;
    bool first = entry->told_ms == 0;
    entry->bytes = news->bytes > entry->bytes ? news->bytes : entry->bytes;
    if (!first && now - entry->told_ms < (took / 8 > SAY_MS ? took / 8 : SAY_MS))
        return;
    entry->told_ms = now;
    tell_server(entry, IMAGE_FETCHES, news->total);
}

static void tell_pinned(struct entry *entry)
{
    if (!entry->pinned && !strchr(entry->name, '@'))
        tell_server(entry, IMAGE_PINNED, 0);
    entry->pinned = true;
}

static void say_ready(struct entry *entry)
{
    char took[FMT_MAX], bytes[FMT_MAX];
    uint64_t ms = clock_mono_ms() - entry->began_ms;
    tell_server(entry, IMAGE_READY, 0);
    if (entry->bytes)
        say(entry, "image %.160s is sha256:%.12s, %s fetched and unpacked in %s", entry->shown,
            entry->is.digest, fmt_bytes(bytes, entry->bytes), fmt_duration(took, ms));
    else
        say(entry, "image %.160s is sha256:%.12s, it was on this node", entry->shown,
            entry->is.digest);
}

/* ---- pulling ---- */

static void on_news(void *arg, const struct pull_progress *news);

static int drop_rights(void *arg)
{
    const struct site *site = arg;
    return confine_drop(&site->confine) != 0 || confine_seal(&site->confine) != 0 ? -1 : 0;
}

static void start(struct entry *entry)
{
    struct site *site = entry->owner->site;
    const struct account *account = site->confine.account;
    struct err err;
    struct pull_ask ask = { .store = site->images_dir,
                            .auth = entry->auth,
                            .auth_len = entry->auth_len,
                            .packed = entry->packed,
                            .home = account ? account->home : NULL,
                            .limit = site->images_room ? site->images_room : IMAGE_ROOM,
                            .drop_rights = drop_rights,
                            .drop_arg = site };
    entry->is.coming = true;
    entry->is.ready = false;
    if (image_ref_parse(entry->name, &ask.ref, &err) != 0) {
        settle(entry, &err);
        return;
    }
    entry->pull =
        pull_start(site->loop, &ask, (struct pull_sink){ .news = on_news, .arg = entry }, &err);
    if (!entry->pull)
        settle(entry, &err);
}

static int read_config(struct entry *entry, const struct store_tree *tree, struct err *err)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    struct image_config *config = ARENA_NEW(entry->arena, struct image_config);
    if (file_read(tree->config, IMAGE_DOCUMENT_MAX, &text, &len, err) != 0 ||
        image_read_config(entry->arena, text, len, config, err) != 0)
        return -1;
    entry->is.config = config;
    entry->is.tree = arena_strdup(entry->arena, tree->root);
    return 0;
}

/* -1 and ERR_UNAVAILABLE: it was there and is gone. */
static int take_tree(struct entry *entry, const struct pull_progress *news, struct err *err)
{
    const struct site *site = entry->owner->site;
    struct store_tree tree;
    AS_FS_USER(account_files(site->confine.account));
    entry->use = store_use(site->images_dir, news->tree, err);
    if (entry->use < 0)
        return -1;
    store_tree_init(&tree, site->images_dir, news->tree);
    int rc = read_config(entry, &tree, err);
    store_tree_fini(&tree);
    return rc;
}

static void on_done(struct entry *entry, const struct pull_progress *news)
{
    struct err err = { .code = ERR_NONE };
    pull_destroy(TAKE(entry->pull));
    if (take_tree(entry, news, &err) == 0) {
        say_ready(entry);
        settle(entry, NULL);
    } else if (err.code == ERR_UNAVAILABLE && ++entry->rounds < ROUNDS) {
        start(entry);
    } else {
        settle(entry, &err);
    }
    tell_settled(entry->owner);
}

static void on_failed(struct entry *entry, const struct pull_progress *news)
{
    struct err err;
    pull_destroy(TAKE(entry->pull));
    err_set(&err, news->code, "%s%s%s", news->what, *news->hint ? "; " : "", news->hint);
    settle(entry, &err);
    tell_settled(entry->owner);
}

static void on_news(void *arg, const struct pull_progress *news)
{
    struct entry *entry = arg;
    memcpy(entry->is.digest, news->digest, sizeof entry->is.digest);
    switch (news->step) {
    case PULL_RESOLVED: tell_pinned(entry); break;
    case PULL_WAITS:
        say(entry, "image %.160s: another job of this node fetches it", entry->shown);
        break;
    case PULL_FETCHES: tell_bytes(entry, news); break;
    case PULL_UNPACKS:
        if (clock_mono_ms() - entry->said_ms >= SAY_MS)
            say(entry, "image %.160s: unpacks layer %llu of %llu", entry->shown,
                (unsigned long long)news->bytes, (unsigned long long)news->total);
        break;
    case PULL_DONE: on_done(entry, news); break;
    case PULL_FAILED: on_failed(entry, news); break;
    }
}

/* ---- of the server ---- */

static void ask_next(struct images *images);

static void on_packed(void *arg, const struct err *problem)
{
    struct entry *entry = arg;
    struct images *images = entry->owner;
    struct stat st;
    fetch_destroy(TAKE(images->fetch));
    entry->asks = false;
    if (problem)
        free(TAKE(entry->packed));
    else if (stat(entry->packed, &st) == 0)
        entry->bytes = (uint64_t)st.st_size;
    start(entry);
    ask_next(images);
    tell_settled(images);
}

static void on_want(void *arg, const struct wire_code_request *want)
{
    struct entry *entry = arg;
    entry->owner->sink.want(entry->owner->sink.arg, want);
}

static void ask_next(struct images *images)
{
    for (size_t i = 0; i < images->all.n && !images->fetch && !images->held; i++) {
        struct entry *entry = images->all.at[i];
        if (!entry->asks)
            continue;
        const struct site *site = images->site;
        const struct fetch_sink sink = { .ask = on_want, .done = on_packed, .arg = entry };
        images->fetch = fetch_start(site->loop, entry->packed,
                                    site->images_room ? site->images_room : IMAGE_ROOM, sink);
    }
}

void images_hold(struct images *images, bool hold)
{
    images->held = hold;
    ask_next(images);
}

void images_piece(struct images *images, const struct wire_piece *piece)
{
    if (images->fetch)
        fetch_piece(images->fetch, piece);
}

void images_want_again(struct images *images)
{
    if (images->fetch)
        fetch_again(images->fetch);
}

/* Only of a machine that has not got it. */
static bool asks_server(const struct entry *entry)
{
    const struct site *site = entry->owner->site;
    char tree[IMAGE_DIGEST_LEN + 1];
    struct image_ref ref;
    return site->away && image_ref_parse(entry->name, &ref, NULL) == 0 && *ref.digest &&
           !grant_find(site->images_dir, ref.digest, entry->auth, tree);
}

static void begin(struct entry *entry)
{
    const struct site *site = entry->owner->site;
    free(TAKE(entry->packed));
    entry->asks = asks_server(entry);
    if (!entry->asks) {
        start(entry);
        return;
    }
    entry->is.coming = true;
    entry->is.ready = false;
    entry->packed = mem_printf("%s/packed/%s", site->images_dir,
                               entry->name + strlen(entry->name) - IMAGE_DIGEST_LEN);
    ask_next(entry->owner);
}

/* What could not be run is not fetched. Podman makes its overlay itself. */
static bool fits_disk(struct entry *entry, const struct launch *launch)
{
    struct err err;
    const char *unfit = root_unfit_disk(entry->owner->site->dir);
    if (!unfit || launch->runtime == RUNTIME_PODMAN)
        return true;
    err_set(&err, ERR_CANNOT, ROOT_UNFIT_DISK, unfit);
    settle(entry, &err);
    return false;
}

static void want(struct images *images, const char *name, const struct launch *launch)
{
    struct entry *entry = find(images, name);
    if (entry && (entry->is.coming || entry->is.ready))
        return;
    if (!entry) {
        entry = mem_new(sizeof *entry);
        entry->owner = images;
        entry->arena = arena_create();
        entry->is.name = entry->name = mem_strdup(name);
        entry->shown = mem_strndup(name, strcspn(name, "@"));
        entry->use = -1;
        vec_push(&images->all, entry);
    }
    if (launch->registry_auth) {
        entry->auth = mem_strndup(launch->registry_auth, launch->registry_auth_len);
        entry->auth_len = launch->registry_auth_len;
    }
    entry->rounds = 0;
    entry->bytes = entry->told_ms = 0;
    entry->began_ms = entry->said_ms = clock_mono_ms();
    if (fits_disk(entry, launch))
        begin(entry);
}

void images_fetch(struct images *images, const struct launch *launch)
{
    for (size_t i = 0; i < launch->n_tasks; i++)
        if (launch->tasks[i].image)
            want(images, launch->tasks[i].image, launch);
}

void images_stop(struct images *images)
{
    fetch_destroy(TAKE(images->fetch));
    for (size_t i = 0; i < images->all.n; i++) {
        struct entry *entry = images->all.at[i];
        if (!entry->is.coming)
            continue;
        pull_destroy(TAKE(entry->pull));
        entry->is.coming = entry->asks = false;
        err_set(&entry->is.problem, ERR_UNAVAILABLE, "fetching the image was ended");
        drop_auth(entry);
    }
}

void images_destroy(struct images *images)
{
    if (!images)
        return;
    images_stop(images);
    for (size_t i = 0; i < images->all.n; i++) {
        struct entry *entry = images->all.at[i];
        if (entry->use >= 0)
            close(entry->use);
        arena_destroy(entry->arena);
        free(entry->name);
        free(entry->shown);
        free(entry->packed);
        free(entry);
    }
    vec_fini(&images->all);
    free(images);
}
