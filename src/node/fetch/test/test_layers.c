/* Layers that images of a store share: linked for the next one that has them, for as long as one
 * names them, and never by the word of another registry. */
#include "node/fetch/layers.h"

#include "base/file.h"
#include "base/mem.h"
#include "node/fetch/layer.h"
#include "node/fetch/layer_record.h"
#include "node/fetch/store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define FIRST  "1111111111111111111111111111111111111111111111111111111111111111"
#define SECOND "2222222222222222222222222222222222222222222222222222222222222222"
#define BLOB   "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HOST   "registry.example"

struct scene {
    char dir[40], diff[IMAGE_DIGEST_LEN + 1];
    struct arena *arena;
    struct image_blob blob;
    const char *diffs[1], *kept[1];
};

static void shell(const struct scene *scene, const char *text)
{
    AUTO_FREE char *script = mem_printf("cd '%s' && %s", scene->dir, text);
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        execl("/bin/sh", "sh", "-euc", script, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int open_in(const struct scene *scene, const char *name, int flags)
{
    AUTO_FREE char *path = file_join(scene->dir, name);
    int fd = open(path, flags | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    struct err err;
    snprintf(scene->dir, sizeof scene->dir, "/tmp/muster-layers.XXXXXX");
    assert_non_null(mkdtemp(scene->dir));
    scene->arena = arena_create();
    assert_int_equal(store_prepare(scene->dir, &err), 0);
    memcpy(scene->blob.digest, BLOB, sizeof scene->blob.digest);
    shell(scene, "mkdir l l/d && echo one >l/one && echo two >l/d/two && chmod 750 l/d l/one &&"
                 " touch -d @1000000000 l/one && ln -s one l/link && ln l/one l/hard &&"
                 " : >l/.wh.below && tar -C l -cf layer.tar d one hard link .wh.below");
    AUTO_CLOSE int fd = open_in(scene, "layer.tar", O_RDONLY);
    assert_int_equal(layer_hash(fd, scene->diff, &err), 0);
    scene->diffs[0] = scene->diff;
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(file_remove_tree(scene->dir, NULL), 0);
    arena_destroy(scene->arena);
    free(scene);
    return 0;
}

/* Begins an image of that one layer, in whose tree a file lies below it. */
static void begin(struct scene *scene, const char *digest, const char *registry)
{
    struct err err = { .what = "" };
    struct store_tree tree;
    store_tree_init(&tree, scene->dir, digest);
    AUTO_FREE char *root = mem_printf("%s/root", tree.half);
    AUTO_FREE char *below = mem_printf("%s/below", root);
    assert_int_equal(file_mkdirs(root, 0700, &err), 0);
    assert_int_equal(file_replace(below, "x", 1, 0600, &err), 0);
    const struct image_manifest manifest = { .layers = &scene->blob, .n_layers = 1 };
    const struct words diffs = { .at = scene->diffs, .n = 1 };
    const struct layers_ask ask = { scene->dir, tree.half, registry, &manifest, &diffs };
    int rc = layers_claim(&ask, scene->arena, scene->kept, &err);
    assert_string_equal(err.what, "");
    assert_int_equal(rc, 0);
    store_tree_fini(&tree);
}

static int end(struct scene *scene, const char *digest, const char *registry)
{
    struct err err = { .what = "" };
    struct store_tree tree;
    struct layer_limits limits = { .bytes = 1u << 20, .entries = 100 };
    store_tree_init(&tree, scene->dir, digest);
    const struct image_manifest manifest = { .layers = &scene->blob, .n_layers = 1 };
    const struct words diffs = { .at = scene->diffs, .n = 1 };
    const struct layers_ask ask = { scene->dir, tree.half, registry, &manifest, &diffs };
    AUTO_FREE char *root = mem_printf("%s/root", tree.half), *place = layers_place(&ask, 0);
    AUTO_FREE char *config = mem_printf("%s/config.json", tree.half);
    AUTO_CLOSE int in = open_in(scene, "layer.tar", O_RDONLY);
    AUTO_CLOSE int at = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct layer layer = { .fd = in,
                                 .diff = scene->diff,
                                 .owners = geteuid() == 0,
                                 .record = place,
                                 .kept = scene->kept[0] };
    int rc = layer_apply(&layer, at, &limits, &err);
    if (rc == 0) {
        assert_int_equal(layers_note(&ask, scene->kept, &err), 0);
        assert_int_equal(file_replace(config, "{}", 2, 0600, &err), 0);
        assert_int_equal(store_finish(&tree, (1u << 20) - limits.bytes, &err), 0);
        layers_publish(scene->dir, tree.tree);
    } else {
        store_drop_half(&tree);
    }
    store_tree_fini(&tree);
    return rc;
}

static void take(struct scene *scene, const char *digest)
{
    begin(scene, digest, HOST);
    assert_int_equal(end(scene, digest, HOST), 0);
}

static struct stat look(const struct scene *scene, const char *digest, const char *name)
{
    struct stat st;
    AUTO_FREE char *path = mem_printf("%s/trees/%s/root/%s", scene->dir, digest, name);
    assert_int_equal(lstat(path, &st), 0);
    return st;
}

static bool has_layer(const struct scene *scene)
{
    uint64_t bytes;
    AUTO_FREE char *path = mem_printf("%s/layers/" BLOB, scene->dir);
    return layer_record_bytes(path, &bytes);
}

static void the_next_image_has_the_same_files(void **state)
{
    struct scene *scene = *state;
    take(scene, FIRST);
    assert_null(scene->kept[0]);
    take(scene, SECOND);
    assert_non_null(scene->kept[0]);
    static const char *const files[] = { "one", "hard", "d/two" };
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        assert_true(look(scene, FIRST, files[i]).st_ino == look(scene, SECOND, files[i]).st_ino);
    struct stat one = look(scene, SECOND, "one"), dir = look(scene, SECOND, "d");
    assert_int_equal(one.st_mtim.tv_sec, 1000000000);
    assert_int_equal(one.st_mode & 07777, 0750);
    assert_int_equal(dir.st_mode & 07777, 0750);
    assert_true(look(scene, SECOND, "hard").st_ino == one.st_ino);
    assert_true(S_ISLNK(look(scene, SECOND, "link").st_mode));
    shell(scene, "! test -e trees/" FIRST "/root/below && ! test -e trees/" SECOND "/root/below &&"
                 " ! test -e trees/" SECOND "/root/.wh.below && ! test -e trees/" FIRST "/new &&"
                 " test \"$(cat trees/" SECOND "/root/d/two)\" = two");
}

static void what_is_shared_counts_once(void **state)
{
    struct scene *scene = *state;
    struct store_sum first, both;
    take(scene, FIRST);
    assert_true(store_add_up(scene->dir, &first));
    take(scene, SECOND);
    assert_true(store_add_up(scene->dir, &both));
    assert_int_equal(both.images, 2);
    assert_true(first.bytes > 0 && both.bytes == first.bytes);
    store_keep_limit(scene->dir, first.bytes); /* both have room */
    assert_true(store_add_up(scene->dir, &both) && both.images == 2);
}

static void only_its_registry_gives_it(void **state)
{
    struct scene *scene = *state;
    take(scene, FIRST);
    begin(scene, SECOND, "other.example");
    assert_null(scene->kept[0]);
    assert_int_equal(end(scene, SECOND, "other.example"), 0);
    shell(scene, "rm -r trees/" SECOND);
    begin(scene, SECOND, HOST); /* the last one that came is there */
    assert_null(scene->kept[0]);
}

/* A configuration says of other bytes that they are these. */
static void only_what_was_unpacked_is_it(void **state)
{
    struct scene *scene = *state;
    take(scene, FIRST);
    scene->diffs[0] = SECOND;
    begin(scene, SECOND, HOST);
    assert_null(scene->kept[0]);
}

static void what_nothing_names_goes(void **state)
{
    struct scene *scene = *state;
    take(scene, FIRST);
    begin(scene, SECOND, HOST);
    store_keep_limit(scene->dir, 0);
    shell(scene, "! test -e trees/" FIRST);
    /* what nobody has the lock of is taken for the rest of a killed pull */
    shell(scene, "! test -e half/" SECOND);
    layers_drop_unused(scene->dir);
    assert_false(has_layer(scene));
    take(scene, FIRST);
    begin(scene, SECOND, HOST);
    shell(scene, "rm -r trees/" FIRST);
    layers_drop_unused(scene->dir);
    assert_true(has_layer(scene)); /* for the one that is being made */
    assert_int_equal(end(scene, SECOND, HOST), 0);
    layers_drop_unused(scene->dir);
    assert_true(has_layer(scene));
    shell(scene, "rm -r trees/" SECOND);
    layers_drop_unused(scene->dir);
    assert_false(has_layer(scene));
}

static void a_record_that_lacks_something_is_none(void **state)
{
    struct scene *scene = *state;
    take(scene, FIRST);
    shell(scene, "rm layers/" BLOB "/1");
    begin(scene, SECOND, HOST);
    assert_non_null(scene->kept[0]);
    assert_int_equal(end(scene, SECOND, HOST), -1);
    layer_record_spoil(scene->kept[0]);
    begin(scene, SECOND, HOST);
    assert_null(scene->kept[0]);
    assert_int_equal(end(scene, SECOND, HOST), 0);
    assert_true(has_layer(scene));
    static const char *const spoils[] = { "printf 'x' >layers/" BLOB "/list",
                                          "printf '53 1 2 3 4\\0a' >layers/" BLOB "/list",
                                          "printf '48 1 2 3 4 5\\0a\\0\\0' >layers/" BLOB "/list" };
    for (size_t i = 0; i < ARRAY_LEN(spoils); i++) {
        shell(scene, spoils[i]);
        shell(scene, "rm -rf trees/" FIRST);
        begin(scene, FIRST, HOST);
        assert_int_equal(end(scene, FIRST, HOST), -1);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_next_image_has_the_same_files), TEST(what_is_shared_counts_once),
        TEST(only_its_registry_gives_it),        TEST(only_what_was_unpacked_is_it),
        TEST(what_nothing_names_goes),           TEST(a_record_that_lacks_something_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
