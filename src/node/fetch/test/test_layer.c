/* Layers as tar makes them, applied one over the other: what whiteouts hide, what links lead to,
 * whose the files are, and that nothing outside is touched. */
#include "node/fetch/layer.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

struct scene {
    char dir[40];
    int root;
    struct layer_limits limits;
    bool owners;
};

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    snprintf(scene->dir, sizeof scene->dir, "/tmp/muster-layer.XXXXXX");
    assert_non_null(mkdtemp(scene->dir));
    AUTO_FREE char *root = mem_printf("%s/root", scene->dir);
    assert_int_equal(mkdir(root, 0700), 0);
    scene->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scene->limits = (struct layer_limits){ .bytes = 10u << 20, .entries = 1000 };
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    close(scene->root);
    assert_int_equal(file_remove_tree(scene->dir, NULL), 0);
    free(scene);
    return 0;
}

/* In the directory of the scene. */
static void shell(const struct scene *scene, const char *text)
{
    AUTO_FREE char *script =
        mem_printf("cd '%s' && rm -rf l && mkdir l && cd l && %s", scene->dir, text);
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        execl("/bin/sh", "sh", "-euc", script, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void hash_of(const struct scene *scene, const char *name, char hex[IMAGE_DIGEST_LEN + 1])
{
    struct err err;
    AUTO_FREE char *path = mem_printf("%s/%s", scene->dir, name);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(layer_hash(fd, hex, &err), 0);
}

/* The file `name` of the scene; its SHA-256 is that of layer.tar. */
static int apply_file(struct scene *scene, const char *name, enum image_packing packing,
                      struct err *err)
{
    char hex[IMAGE_DIGEST_LEN + 1];
    hash_of(scene, "layer.tar", hex);
    AUTO_FREE char *path = mem_printf("%s/%s", scene->dir, name);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct layer layer = { .fd = fd, .packing = packing, .diff = hex, .owners = scene->owners };
    return layer_apply(&layer, scene->root, &scene->limits, err);
}

/* What `text` leaves in its directory, as a layer. */
static int apply(struct scene *scene, const char *text, struct err *err)
{
    AUTO_FREE char *script = mem_printf("%s; tar -cf ../layer.tar .", text);
    shell(scene, script);
    return apply_file(scene, "layer.tar", IMAGE_PLAIN, err);
}

static bool is_there(const struct scene *scene, const char *path)
{
    struct stat st;
    return fstatat(scene->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void check_text(const struct scene *scene, const char *path, const char *text)
{
    char found[64] = "";
    AUTO_CLOSE int fd = openat(scene->root, path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, found, sizeof found - 1) >= 0);
    assert_string_equal(found, text);
}

static void whiteouts_hide_what_lies_below(void **state)
{
    struct scene *scene = *state;
    struct err err = { .what = "" };
    assert_int_equal(
        apply(scene,
              "mkdir -p a/b c/d keep; echo 1 >a/b/f; echo 1 >c/f; echo 1 >c/d/g; echo 1 >keep/x",
              &err),
        0);
    assert_int_equal(
        apply(scene,
              "mkdir -p a c/d; touch a/.wh.b c/.wh..wh..opq keep_; echo 2 >c/d/new; echo 2 >c/new;"
              "mkdir k; touch k/.wh..wh.plnk .wh.nothing",
              &err),
        0);
    assert_true(is_there(scene, "a"));
    assert_false(is_there(scene, "a/b"));
    assert_false(is_there(scene, "c/f"));
    assert_false(is_there(scene, "c/d/g"));
    check_text(scene, "c/d/new", "2\n");
    check_text(scene, "c/new", "2\n");
    check_text(scene, "keep/x", "1\n");
    assert_false(is_there(scene, "c/.wh..wh..opq"));
    assert_false(is_there(scene, "k/.wh..wh.plnk"));
}

static void the_later_layer_wins(void **state)
{
    struct scene *scene = *state;
    struct err err = { .what = "" };
    assert_int_equal(
        apply(scene, "mkdir d e; echo 1 >f; echo 1 >d/x; ln -s d l; echo 1 >file_then_dir", &err),
        0);
    assert_int_equal(
        apply(scene, "echo 2 >f; echo 2 >d; mkdir l file_then_dir; echo 2 >l/y; ln -s f e", &err),
        0);
    check_text(scene, "f", "2\n");
    check_text(scene, "d", "2\n");
    check_text(scene, "l/y", "2\n");
    check_text(scene, "e", "2\n"); /* the link to f */
    assert_true(is_there(scene, "file_then_dir"));
}

/* /bin -> usr/bin of the base image: what a later layer writes to bin/ lies in usr/bin. */
static void directories_are_found_through_links_inside(void **state)
{
    struct scene *scene = *state;
    struct err err = { .what = "" };
    assert_int_equal(apply(scene, "mkdir -p usr/bin; ln -s usr/bin bin; ln -s /usr/bin abs", &err),
                     0);
    shell(scene, "mkdir bin abs; echo 2 >bin/x; echo 3 >abs/y; tar -cf ../layer.tar bin/x abs/y");
    assert_int_equal(apply_file(scene, "layer.tar", IMAGE_PLAIN, &err), 0);
    check_text(scene, "usr/bin/x", "2\n");
    check_text(scene, "usr/bin/y", "3\n");
}

/* A link to the outside, and then a file through it. */
static void nothing_outside_is_touched(void **state)
{
    struct scene *scene = *state;
    struct err err = { .what = "" };
    AUTO_FREE char *victim = mem_printf("%s/victim", scene->dir);
    AUTO_FREE char *script =
        mem_printf("mkdir ../victim; mkdir -p .%s; echo 1 >../victim/f; ln -s %s out;"
                   "ln -s ../../../../../.. up; ln -s /nowhere no; tar -cf ../layer.tar .",
                   victim, victim);
    shell(scene, script);
    assert_int_equal(apply_file(scene, "layer.tar", IMAGE_PLAIN, &err), 0);
    AUTO_FREE char *through =
        mem_printf("mkdir out; echo 2 >out/f; touch out/.wh.g up_; mkdir up; echo 2 >up/deep;"
                   "tar -cf ../layer.tar out/f out/.wh.g up/deep");
    shell(scene, through);
    assert_int_equal(apply_file(scene, "layer.tar", IMAGE_PLAIN, &err), 0);
    AUTO_FREE char *inside = mem_printf(".%s/f", victim); /* below the root of the image */
    check_text(scene, inside, "2\n");
    check_text(scene, "deep", "2\n");
    AUTO_FREE char *outside = mem_printf("%s/f", victim);
    char *text = NULL;
    size_t len;
    assert_int_equal(file_read(outside, 100, &text, &len, &err), 0);
    assert_string_equal(text, "1\n");
    free(text);
    shell(scene, "mkdir no; echo 3 >no/f; tar -cf ../layer.tar no/f");
    assert_int_equal(apply_file(scene, "layer.tar", IMAGE_PLAIN, &err), -1);
    assert_non_null(strstr(err.what, "lies below what is no directory"));
    shell(scene, "echo 3 >f; tar --transform 's,^f,../f,' -P -cf ../layer.tar f");
    assert_int_equal(apply_file(scene, "layer.tar", IMAGE_PLAIN, &err), -1);
    assert_non_null(strstr(err.what, "has .. in its path"));
}

static void hard_links_modes_and_times_are_kept(void **state)
{
    struct scene *scene = *state;
    struct err err = { .what = "" };
    struct stat one, two;
    assert_int_equal(
        apply(scene,
              "echo 1 >a; ln a b; chmod 4755 a; touch -d @1000000000 a; mkdir d; chmod 0555 d;"
              "mkfifo p; echo x >none; chmod 0400 none",
              &err),
        0);
    assert_int_equal(fstatat(scene->root, "a", &one, 0), 0);
    assert_int_equal(fstatat(scene->root, "b", &two, 0), 0);
    assert_int_equal(one.st_ino, two.st_ino);
    assert_int_equal(one.st_mtime, 1000000000);
    assert_int_equal(one.st_mode & 07777, 0755); /* without its owner nobody is to become it */
    assert_int_equal(fstatat(scene->root, "d", &one, 0), 0);
    assert_int_equal(one.st_mode & 07777, 0755); /* else it could not be removed again */
    assert_int_equal(fstatat(scene->root, "p", &one, 0), 0);
    assert_true(S_ISFIFO(one.st_mode));
    shell(scene, "echo 1 >x; ln x y; tar -cf ../layer.tar y x; tar --delete -f ../layer.tar y");
    assert_int_equal(apply_file(scene, "layer.tar", IMAGE_PLAIN, &err), -1);
    assert_non_null(strstr(err.what, "is a link to no file"));
}

static void root_keeps_owners(void **state)
{
    struct scene *scene = *state;
    struct err err = { .what = "" };
    struct stat st;
    if (geteuid() != 0) {
        print_message("only root can give files away\n");
        skip();
    }
    scene->owners = true;
    assert_int_equal(
        apply(scene, "echo 1 >a; chown 1234:567 a; chmod 4755 a; ln -s a l; chown -h 8:9 l", &err),
        0);
    assert_int_equal(fstatat(scene->root, "a", &st, 0), 0);
    assert_int_equal(st.st_uid, 1234);
    assert_int_equal(st.st_gid, 567);
    assert_int_equal(st.st_mode & 07777, 04755);
    assert_int_equal(fstatat(scene->root, "l", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_uid, 8);
}

static void packed_layers_are_unpacked_and_checked(void **state)
{
    struct scene *scene = *state;
    struct err err = { .what = "" };
    shell(scene, "echo 1 >f; tar -cf ../layer.tar .; gzip -k ../layer.tar; zstd -q ../layer.tar");
    assert_int_equal(apply_file(scene, "layer.tar.gz", IMAGE_GZIP, &err), 0);
    assert_int_equal(apply_file(scene, "layer.tar.zst", IMAGE_ZSTD, &err), 0);
    check_text(scene, "f", "1\n");
    /* the bytes of another layer */
    shell(scene, "echo 2 >f; tar -cf - . | gzip >../other.gz");
    assert_int_equal(apply_file(scene, "other.gz", IMAGE_GZIP, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_non_null(strstr(err.what, "not the one that the image names"));
    /* half of it, and a flipped byte in the middle */
    shell(scene, "head -c 100 ../layer.tar.gz >../half.gz");
    assert_int_equal(apply_file(scene, "half.gz", IMAGE_GZIP, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_non_null(strstr(err.what, "gzip cannot unpack it"));
    shell(scene,
          "head -c 3000 /dev/urandom >f; tar -cf ../layer.tar .; gzip -c ../layer.tar >../bad.gz;"
          "printf 'xxxxxxxx' | dd of=../bad.gz bs=1 seek=900 conv=notrunc status=none");
    assert_int_equal(apply_file(scene, "bad.gz", IMAGE_GZIP, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
}

/* A megabyte that is a thousand bytes packed. */
static void a_bomb_stops_at_the_bound(void **state)
{
    struct scene *scene = *state;
    struct err err = { .what = "" };
    shell(scene, "head -c 30000000 /dev/zero >f; tar -cf ../layer.tar .; gzip -k ../layer.tar");
    assert_int_equal(apply_file(scene, "layer.tar.gz", IMAGE_GZIP, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    scene->limits = (struct layer_limits){ .bytes = 1u << 30, .entries = 5 };
    assert_int_equal(apply(scene, "touch 1 2 3 4 5 6", &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    assert_non_null(strstr(err.what, "too many files"));
}

/* What is left is for all layers together. */
static void layers_share_the_bound(void **state)
{
    struct scene *scene = *state;
    struct err err = { .what = "" };
    uint64_t before = scene->limits.bytes;
    assert_int_equal(apply(scene, "head -c 3000000 /dev/zero >f", &err), 0);
    assert_true(scene->limits.bytes <= before - 3000000);
    assert_int_equal(scene->limits.entries, 998);
}

int main(void)
{
    alarm(600);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whiteouts_hide_what_lies_below, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_later_layer_wins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(directories_are_found_through_links_inside, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nothing_outside_is_touched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hard_links_modes_and_times_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(root_keeps_owners, set_up, tear_down),
        cmocka_unit_test_setup_teardown(packed_layers_are_unpacked_and_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bomb_stops_at_the_bound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(layers_share_the_bound, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("node/fetch/layer", tests, NULL, NULL);
}
