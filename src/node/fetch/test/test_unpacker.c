/* A layer that comes through the pipe of an unpacker: the tree and the verdict are as if it had
 * been there, and one that is killed leaves nothing behind that runs. */
#include "node/fetch/unpacker.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
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
    int root, tar; /* a tree to make; a packed layer with the file "f" */
    char diff[IMAGE_DIGEST_LEN + 1];
    struct layer_limits limits;
};

static int open_in(const struct scene *scene, const char *name, int flags)
{
    AUTO_FREE char *path = mem_printf("%s/%s", scene->dir, name);
    int fd = open(path, flags | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    int status;
    snprintf(scene->dir, sizeof scene->dir, "/tmp/muster-unpacker.XXXXXX");
    assert_non_null(mkdtemp(scene->dir));
    AUTO_FREE char *script = mem_printf(
        "cd '%s' && mkdir root l && head -c 300000 /dev/zero >l/f && tar -C l -cf t . && gzip -k t",
        scene->dir);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-euc", script, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    AUTO_CLOSE int plain = open_in(scene, "t", O_RDONLY);
    assert_int_equal(layer_hash(plain, scene->diff, NULL), 0);
    scene->tar = open_in(scene, "t.gz", O_RDONLY);
    scene->root = open_in(scene, "root", O_RDONLY | O_DIRECTORY);
    scene->limits = (struct layer_limits){ .bytes = 10u << 20, .entries = 10 };
    (void)signal(SIGPIPE, SIG_IGN);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    close(scene->root);
    close(scene->tar);
    assert_int_equal(file_remove_tree(scene->dir, NULL), 0);
    free(scene);
    return 0;
}

static struct unpacker start(const struct scene *scene)
{
    struct unpacker u;
    const struct layer layer = { .fd = -1, .packing = IMAGE_GZIP, .diff = scene->diff };
    assert_int_equal(unpacker_start(&u, &layer, scene->root, &scene->limits, NULL), 0);
    return u;
}

/* The packed layer in pieces of 100 bytes, `most` of them; then there is nothing more. */
static void feed(const struct scene *scene, struct unpacker *u, size_t most)
{
    char piece[100];
    ssize_t n = 1;
    for (size_t i = 0; i < most && n > 0; i++) {
        n = read(scene->tar, piece, sizeof piece);
        if (n > 0 && file_write_all(u->to, piece, (size_t)n) != 0)
            break;
    }
    close(u->to);
    u->to = -1;
}

static void a_layer_is_unpacked_while_it_comes(void **state)
{
    struct scene *scene = *state;
    struct layer_limits left = scene->limits;
    struct err err = { .what = "" };
    struct unpacker u = start(scene);
    struct stat st;
    feed(scene, &u, SIZE_MAX);
    if (unpacker_end(&u, &left, &err) != 0)
        fail_msg("%s", err.what);
    assert_int_equal(fstatat(scene->root, "f", &st, 0), 0);
    assert_int_equal(st.st_size, 300000);
    assert_true(left.bytes < scene->limits.bytes - 300000);
    assert_int_equal(left.entries, scene->limits.entries - 2);
    assert_true(u.pid == 0 && u.to == -1 && u.told == -1);
}

static void its_verdict_is_that_of_the_layer(void **state)
{
    struct scene *scene = *state;
    struct layer_limits left = scene->limits;
    struct err err = { .code = ERR_NONE };
    struct unpacker u = start(scene);
    feed(scene, &u, 2); /* it broke off */
    assert_int_equal(unpacker_end(&u, &left, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    scene->limits.bytes = 200000;
    assert_int_equal(lseek(scene->tar, 0, SEEK_SET), 0);
    u = start(scene);
    feed(scene, &u, SIZE_MAX);
    assert_int_equal(unpacker_end(&u, &left, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
}

static void one_that_dies_is_told(void **state)
{
    struct scene *scene = *state;
    struct layer_limits left = scene->limits;
    struct err err = { .code = ERR_NONE };
    struct unpacker u = start(scene);
    assert_int_equal(kill(u.pid, SIGKILL), 0);
    assert_int_equal(unpacker_end(&u, &left, &err), -1);
    assert_int_equal(err.code, ERR_SYSTEM);
}

static void one_that_is_killed_is_gone(void **state)
{
    struct unpacker u = start(*state);
    pid_t pid = u.pid;
    unpacker_kill(&u);
    assert_true(u.pid == 0 && u.to == -1 && u.told == -1);
    assert_true(kill(pid, 0) == -1 && errno == ESRCH);
    unpacker_kill(&u);
}

int main(void)
{
    alarm(600);
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_layer_is_unpacked_while_it_comes),
        CASE(its_verdict_is_that_of_the_layer),
        CASE(one_that_dies_is_told),
        CASE(one_that_is_killed_is_gone),
    };
#undef CASE
    return cmocka_run_group_tests_name("node/fetch/unpacker", tests, NULL, NULL);
}
