/* The chain of trust: the registry's answer is hashed, and that is the digest; it names the
 * manifest, the manifest the configuration by its hash, the configuration the unpacked layers by
 * theirs. Each is compared with its name, so neither a damaged disk nor a registry that lies about
 * a digest gets anything else into the store. */
#include "node/fetch/make.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/untar.h"
#include "node/fetch/arrival.h"
#include "node/fetch/grants.h"
#include "node/fetch/layer.h"
#include "node/fetch/policy.h"
#include "node/fetch/proxy.h"
#include "node/fetch/registry.h"
#include "node/fetch/space.h"
#include "node/fetch/store.h"
#include "node/fetch/turn.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

struct making {
    const struct pull_ask *ask;
    struct registry registry;
    struct make_sink sink;
    struct pull_progress *news;
    struct store_tree tree;
    struct arena *arena;
    struct image_manifest manifest;
    bool has_manifest; /* it was compared with its digest */
    struct image_config config;
    char *pulled;              /* the directory of what came */
    const char **kept;         /* records of layers that are there, NULL where one comes */
    uint64_t room;             /* bytes that it may unpack to */
    int wanted, turn;          /* descriptors of node/fetch/turn.h; -1: it has none */
    uint64_t packed, unpacked; /* bytes; packed 0: not known before it has come */
};

static void tell(const struct making *m, enum pull_step step, uint64_t bytes, uint64_t total)
{
    m->news->step = step;
    m->news->bytes = bytes;
    m->news->total = total;
    m->sink.tell(m->sink.arg, m->news);
}

static int hash_text(const char *text, size_t len, char hex[IMAGE_DIGEST_LEN + 1], struct err *err)
{
    AUTO_CLOSE int fd = memfd_create("document", MFD_CLOEXEC);
    if (fd < 0 || file_write_all(fd, text, len) != 0 || lseek(fd, 0, SEEK_SET) != 0)
        return err_sys(err, "a copy in memory");
    return layer_hash(fd, hex, err);
}

/* ---- which image ---- */

static const char *own_architecture(char out[65])
{
    struct utsname name;
    snprintf(out, 65, "%.64s", uname(&name) == 0 ? image_architecture(name.machine) : "unknown");
    return out;
}

/* Nobody is asked for a digest that is there already, and for which these credentials were good
 * before. */
static bool is_there_by_digest(struct making *m)
{
    const char *digest = m->ask->ref.digest;
    if (!*digest || !grant_find(m->ask->store, digest, m->ask->auth, m->news->tree))
        return false;
    memcpy(m->news->digest, digest, sizeof m->news->digest);
    return true;
}

static int ask(const struct registry *registry, char digest[IMAGE_DIGEST_LEN + 1], char **text,
               size_t *len, struct err *err)
{
    if (registry_manifest(registry, text, len, err) != 0 ||
        hash_text(*text, *len, digest, err) != 0)
        return -1;
    if (*registry->ref->digest && strcmp(registry->ref->digest, digest) != 0)
        return err_set(err, ERR_UNAVAILABLE,
                       "the registry gave another manifest than that of the digest");
    return 0;
}

int image_resolve(const struct registry *registry, char digest[IMAGE_DIGEST_LEN + 1],
                  struct err *err)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    return ask(registry, digest, &text, &len, err);
}

static void take_manifest(struct making *m)
{
    m->has_manifest = true;
    m->packed = 0;
    for (size_t i = 0; i < m->manifest.n_layers; i++)
        m->packed += m->manifest.layers[i].size;
}

static int resolve(struct making *m, struct err *err)
{
    AUTO_FREE char *text = NULL;
    char machine[65];
    size_t len;
    struct image_blob one;
    struct pull_progress *news = m->news;
    if (is_there_by_digest(m))
        return 0;
    if (ask(&m->registry, news->digest, &text, &len, err) != 0)
        return -1;
    if (image_read_index(m->arena, text, len, own_architecture(machine), &one, err) != 0)
        return -1;
    memcpy(news->tree, *one.digest ? one.digest : news->digest, sizeof news->tree);
    if (*one.digest)
        return 0;
    if (image_read_manifest(m->arena, text, len, &m->manifest, err) != 0)
        return -1;
    take_manifest(m);
    return 0;
}

/* ---- what came ---- */

static int check_document(const char *text, size_t len, const char *digest, struct err *err)
{
    char hex[IMAGE_DIGEST_LEN + 1];
    if (hash_text(text, len, hex, err) != 0)
        return -1;
    return strcmp(hex, digest) == 0
               ? 0
               : err_set(err, ERR_UNAVAILABLE,
                         "the image came damaged: %.20s... is not what this digest names", digest);
}

/* A document of what came, compared with its digest. */
static char *read_document(const struct making *m, const char *name, const char *digest,
                           size_t *len, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s", m->pulled, name);
    AUTO_FREE char *text = NULL;
    if (file_read(path, IMAGE_DOCUMENT_MAX, &text, len, err) != 0 ||
        check_document(text, *len, digest, err) != 0)
        return NULL;
    return TAKE(text);
}

static int check_config(const struct making *m, struct err *err)
{
    char machine[65];
    const struct image_config *config = &m->config;
    own_architecture(machine);
    if (strcmp(config->architecture, machine) != 0 || strcmp(config->os, "linux") != 0) {
        err_set(err, ERR_CANNOT, "the image is for %.30s/%.30s, and this node is linux/%s",
                config->os, config->architecture, machine);
        return err_hint(err, "build it for linux/%s", machine);
    }
    if (config->diffs.n != m->manifest.n_layers)
        return err_set(err, ERR_INPUT, "the image's configuration has %zu layers, its manifest %zu",
                       config->diffs.n, m->manifest.n_layers);
    return 0;
}

static int read_manifest(struct making *m, struct err *err)
{
    size_t len;
    AUTO_FREE char *text = read_document(m, "manifest.json", m->news->tree, &len, err);
    return text ? image_read_manifest(m->arena, text, len, &m->manifest, err) : -1;
}

static int take_config(struct making *m, const char *text, size_t len, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/config.json", m->tree.half);
    if (image_read_config(m->arena, text, len, &m->config, err) != 0 || check_config(m, err) != 0)
        return -1;
    return file_replace(path, text, len, 0600, err);
}

static int read_config(struct making *m, struct err *err)
{
    size_t len;
    const char *digest = m->manifest.config.digest;
    AUTO_FREE char *text = read_document(m, digest, digest, &len, err);
    return text ? take_config(m, text, len, err) : -1;
}

/* ---- unpacking what came whole ---- */

/* The same layer may stand in an image more than once. */
static bool comes_again(const struct making *m, size_t i)
{
    for (size_t k = i + 1; k < m->manifest.n_layers; k++)
        if (strcmp(m->manifest.layers[k].digest, m->manifest.layers[i].digest) == 0)
            return true;
    return false;
}

static int unpack_layer(struct making *m, size_t i, int root, struct layer_limits *limits,
                        struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s", m->pulled, m->manifest.layers[i].digest);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return err_sys(err, "a layer of the image");
    const struct layer layer = { .fd = fd,
                                 .packing = m->manifest.layers[i].packing,
                                 .diff = m->config.diffs.at[i],
                                 .owners = geteuid() == 0 };
    if (layer_apply(&layer, root, limits, err) != 0)
        return -1;
    if (!comes_again(m, i))
        (void)unlink(path); /* room for the next */
    return 0;
}

static int make_root(const struct making *m, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/root", m->tree.half);
    if (mkdir(path, 0755) != 0)
        return err_sys(err, "%s", path);
    int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return root < 0 ? err_sys(err, "%s", path) : root;
}

static int unpack(struct making *m, struct err *err)
{
    struct layer_limits limits = { .bytes = m->room, .entries = PULL_ENTRIES_MAX };
    AUTO_CLOSE int root = make_root(m, err);
    if (root < 0)
        return -1;
    for (size_t i = 0; i < m->manifest.n_layers; i++) {
        tell(m, PULL_UNPACKS, i + 1, m->manifest.n_layers);
        if (unpack_layer(m, i, root, &limits, err) != 0)
            return -1;
    }
    m->unpacked = m->room - limits.bytes;
    return 0;
}

static void on_bytes(void *arg, uint64_t bytes)
{
    const struct making *m = arg;
    tell(m, PULL_FETCHES, bytes, m->packed);
}

/* What the server sent is checked as what a registry gives, and is not needed. */
static int take_packed(struct making *m, struct err *err)
{
    const struct untar_limits limits = { .bytes = m->ask->limit, .files = IMAGE_LAYERS_MAX + 8 };
    struct untar_summary found;
    AUTO_CLOSE int in =
        m->ask->packed ? open(m->ask->packed, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (in < 0 || mkdir(m->pulled, 0700) != 0)
        return -1;
    AUTO_CLOSE int dir = open(m->pulled, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0 && untar(in, dir, &limits, &found, err) == 0 && read_manifest(m, err) == 0 &&
        read_config(m, err) == 0)
        return 0;
    (void)file_remove_tree(m->pulled, NULL);
    return -1;
}

/* ---- unpacking while it comes ---- */

static int on_pieces(void *arg, uint64_t bytes, struct err *err)
{
    struct making *m = arg;
    tell(m, PULL_FETCHES, bytes, m->packed);
    return m->ask->early ? turn_wait(m->ask->store, m->news->tree, &m->turn, err) : 0;
}

static void on_unpacks(void *arg, size_t number)
{
    const struct making *m = arg;
    tell(m, PULL_UNPACKS, number, m->manifest.n_layers);
}

/* That of one in a list; skopeo writes one of Docker's anew, which its digest does not know. */
static int ask_manifest(struct making *m, struct proxy *proxy, struct err *err)
{
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *raw = NULL;
    size_t len;
    if (m->has_manifest)
        return 0;
    if (proxy_manifest(proxy, &text, &len, err) != 0)
        return -1;
    if (check_document(text, len, m->news->tree, NULL) != 0) {
        struct image_ref ref = m->ask->ref;
        struct registry one = m->registry;
        one.ref = &ref;
        ref.tag[0] = '\0';
        memcpy(ref.digest, m->news->tree, sizeof ref.digest);
        if (registry_manifest(&one, &raw, &len, err) != 0 ||
            check_document(raw, len, m->news->tree, err) != 0)
            return -1;
    }
    if (image_read_manifest(m->arena, raw ? raw : text, len, &m->manifest, err) != 0)
        return -1;
    take_manifest(m);
    return 0;
}

static int ask_config(struct making *m, struct proxy *proxy, struct err *err)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    const struct image_blob *config = &m->manifest.config;
    return proxy_text(proxy, config, &text, &len, err) != 0 ||
                   check_document(text, len, config->digest, err) != 0 ||
                   take_config(m, text, len, err) != 0
               ? -1
               : 0;
}

static struct layers_ask layers_of(const struct making *m)
{
    return (struct layers_ask){ .dir = m->ask->store,
                                .half = m->tree.half,
                                .registry = m->ask->ref.registry,
                                .manifest = &m->manifest,
                                .diffs = &m->config.diffs };
}

/* Those that are there are not waited for. */
static int find_layers(struct making *m, struct err *err)
{
    const struct layers_ask ask = layers_of(m);
    m->kept = ARENA_ARRAY(m->arena, m->manifest.n_layers, const char *);
    if (layers_claim(&ask, m->arena, m->kept, err) != 0)
        return -1;
    for (size_t i = 0; i < m->manifest.n_layers; i++)
        m->packed -= m->kept[i] ? m->manifest.layers[i].size : 0;
    return 0;
}

static int take_layers(struct making *m, struct proxy *proxy, struct err *err)
{
    const struct layers_ask layers = layers_of(m);
    struct layer_limits limits = { .bytes = m->room, .entries = PULL_ENTRIES_MAX };
    AUTO_CLOSE int root = make_root(m, err);
    if (root < 0)
        return -1;
    if (mkdir(m->pulled, 0700) != 0)
        return err_sys(err, "%s", m->pulled);
    const struct arrival_ask ask = { .proxy = proxy,
                                     .registry = &m->registry,
                                     .layers = &layers,
                                     .kept = m->kept,
                                     .dir = m->pulled,
                                     .root = root,
                                     .owners = geteuid() == 0 };
    const struct arrival_sink sink = { .came = on_pieces, .unpacks = on_unpacks, .arg = m };
    if (arrival_take(&ask, &limits, sink, err) != 0)
        return -1;
    m->unpacked = m->room - limits.bytes;
    return layers_note(&layers, m->kept, err);
}

/* Beside what is in use, among which are images of jobs ahead. */
static int reserve_early(struct making *m, struct err *err)
{
    const uint64_t used = store_used(m->ask->store);
    m->room = m->ask->limit > used ? m->ask->limit - used : 0;
    if (m->packed > m->room)
        return err_set(err, ERR_TOO_LARGE,
                       "it does not fit into the limit of the store beside images that are in use");
    if (space_reserve(m->ask->store, m->news->tree, m->packed, err) != 0)
        return -1;
    return turn_mark_early(m->ask->store, m->news->tree, err);
}

/* What comes early makes room for what tasks wait for. */
static int reserve(struct making *m, struct err *err)
{
    struct err why = { .code = ERR_NONE };
    if (m->ask->early)
        return reserve_early(m, err);
    if (space_reserve(m->ask->store, m->news->tree, m->packed, &why) == 0)
        return 0;
    if (why.code == ERR_FULL && turn_clear(m->ask->store))
        return space_reserve(m->ask->store, m->news->tree, m->packed, err);
    if (err)
        *err = why;
    return -1;
}

/* 1: it has to be copied. A skopeo before 1.13 looks at no signatures when it is asked so. */
static int take_while_it_comes(struct making *m, struct err *err)
{
    if (policy_read(m->registry.home) == POLICY_DEMANDS)
        return 1;
    struct proxy *proxy = proxy_start(&m->registry, err);
    if (!proxy)
        return -1;
    int rc = proxy_open(proxy, m->news->tree, err);
    if (rc == 0)
        rc = ask_manifest(m, proxy, err) != 0 || ask_config(m, proxy, err) != 0 ||
                     find_layers(m, err) != 0 || reserve(m, err) != 0 ||
                     take_layers(m, proxy, err) != 0
                 ? -1
                 : 0;
    proxy_destroy(proxy);
    return rc;
}

static int take_of_registry(struct making *m, struct err *err)
{
    int rc = take_while_it_comes(m, err);
    if (rc != 1)
        return rc;
    if (m->ask->early)
        return err_set(err, ERR_CANNOT,
                       "an image has to be copied whole here, which is not done early");
    /* of one in a list nothing is known before it has come */
    if (m->has_manifest && reserve(m, err) != 0)
        return -1;
    return registry_copy(&m->registry, m->news->tree, m->pulled, on_bytes, m, err) != 0 ||
                   read_manifest(m, err) != 0 || read_config(m, err) != 0 || unpack(m, err) != 0
               ? -1
               : 0;
}

/* With the lock of the image. */
static int fetch_and_unpack(struct making *m, struct err *err)
{
    store_drop_half(&m->tree);
    if (mkdir(m->tree.half, 0700) != 0)
        return err_sys(err, "%s", m->tree.half);
    int rc = take_packed(m, err) == 0 ? unpack(m, err) : take_of_registry(m, err);
    space_free(m->ask->store, m->news->tree);
    if (rc != 0 || file_remove_tree(m->pulled, err) != 0)
        return -1;
    if (store_finish(&m->tree, m->unpacked, err) != 0)
        return -1;
    layers_publish(m->ask->store, m->tree.tree);
    return 0;
}

static void keep_limits(const struct pull_ask *ask)
{
    store_keep_limit(ask->store, ask->limit);
    grants_drop_old(ask->store);
}

static int make_tree(struct making *m, struct err *err)
{
    AUTO_CLOSE int lock = -1;
    if (store_has(&m->tree))
        return 0;
    m->wanted = m->ask->early ? -1 : turn_want(m->ask->store, m->news->tree);
    int got = store_try_lock(m->ask->store, m->news->tree, &lock, err);
    if (got == 1) {
        tell(m, PULL_WAITS, 0, 0);
        got = store_lock(m->ask->store, m->news->tree, &lock, err);
    }
    if (got != 0)
        return -1;
    if (store_has(&m->tree))
        return 0; /* whoever had the lock made it */
    m->turn = m->ask->early ? -1 : turn_take(m->ask->store);
    int rc = fetch_and_unpack(m, err);
    if (rc != 0)
        store_drop_half(&m->tree);
    else
        keep_limits(m->ask);
    return rc;
}

int image_make(const struct pull_ask *ask, int auth, struct make_sink sink,
               struct pull_progress *news, struct err *err)
{
    struct making m = { .ask = ask,
                        .registry = { .ref = &ask->ref, .auth = auth, .home = ask->home },
                        .sink = sink,
                        .news = news,
                        .room = ask->limit,
                        .wanted = -1,
                        .turn = -1,
                        .arena = arena_create() };
    int rc = store_prepare(ask->store, err);
    if (rc == 0)
        rc = resolve(&m, err);
    if (rc == 0) {
        tell(&m, PULL_RESOLVED, 0, 0);
        store_tree_init(&m.tree, ask->store, news->tree);
        m.pulled = mem_printf("%s/pulled", m.tree.half);
        rc = make_tree(&m, err);
        if (rc == 0)
            grant_keep(ask->store, news->digest, ask->auth, news->tree);
        if (ask->packed)
            (void)unlink(ask->packed);
        store_tree_fini(&m.tree);
        free(m.pulled);
    }
    mem_close_at(&m.wanted);
    mem_close_at(&m.turn);
    arena_destroy(m.arena);
    return rc;
}
