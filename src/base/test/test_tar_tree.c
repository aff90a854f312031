/* A tree of files written as an archive and unpacked again by untar: what comes back, what is left
 * out, limits, and that equal trees give equal bytes. */
#include "base/file.h"
#include "base/mem.h"
#include "base/tar_tree.h"
#include "base/untar.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct fix {
    char dir[40], *from, *to;
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-tree-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->from = file_join(f->dir, "from");
    f->to = file_join(f->dir, "to");
    assert_int_equal(mkdir(f->from, 0700), 0);
    assert_int_equal(mkdir(f->to, 0700), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    file_remove_tree(f->dir, NULL);
    free(f->from);
    free(f->to);
    free(f);
    return 0;
}

static void make(const struct fix *f, const char *name, const char *text)
{
    AUTO_FREE char *path = file_join(f->from, name);
    AUTO_FREE char *above = mem_strndup(path, (size_t)(strrchr(path, '/') - path));
    struct err err;
    assert_int_equal(file_mkdirs(above, 0755, &err), 0);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
}

static void make_link(const struct fix *f, const char *name, const char *target)
{
    AUTO_FREE char *path = file_join(f->from, name);
    assert_int_equal(symlink(target, path), 0);
}

static FILE *write_all(const struct fix *f, const struct tar_tree *how,
                       struct tar_tree_summary *found)
{
    struct tar_tree tree = *how;
    struct err err;
    FILE *file = tmpfile();
    assert_non_null(file);
    tree.dir = f->from;
    assert_int_equal(tar_tree_write(fileno(file), &tree, found, &err), 0);
    rewind(file);
    return file;
}

static void both_ways(const struct fix *f, const struct tar_tree *how,
                      struct tar_tree_summary *found)
{
    const struct untar_limits limits = { 1u << 30, 10000 };
    struct untar_summary back;
    struct err err = { .what = "" };
    FILE *file = write_all(f, how, found);
    AUTO_CLOSE int dir = open(f->to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = untar(fileno(file), dir, &limits, &back, &err);
    fclose(file);
    assert_string_equal(err.what, "");
    assert_int_equal(rc, 0);
    assert_int_equal(back.files, found->files + (how->under ? 1 : 0));
}

static void assert_text(const struct fix *f, const char *name, const char *text)
{
    AUTO_FREE char *path = file_join(f->to, name);
    AUTO_FREE char *data = NULL;
    size_t len;
    struct err err;
    assert_int_equal(file_read(path, 1u << 20, &data, &len, &err), 0);
    assert_string_equal(data, text);
}

static bool is_there(const struct fix *f, const char *name)
{
    AUTO_FREE char *path = file_join(f->to, name);
    struct stat st;
    return lstat(path, &st) == 0;
}

static void a_tree_comes_back(void **state)
{
    struct fix *f = *state;
    struct tar_tree_summary found;
    char deep[900] = "";
    for (int i = 0; i < 8; i++)
        snprintf(deep + strlen(deep), sizeof deep - strlen(deep), "a-rather-long-name-%060d/", i);
    snprintf(deep + strlen(deep), sizeof deep - strlen(deep), "file");
    make(f, "train.py", "print(1)\n");
    make(f, "pkg/empty", "");
    make(f, deep, "deep\n");
    make_link(f, "pkg/up", "../train.py");
    AUTO_FREE char *program = file_join(f->from, "run.sh");
    AUTO_FREE char *there = file_join(f->to, "run.sh");
    make(f, "run.sh", "#!/bin/sh\n");
    assert_int_equal(chmod(program, 0700), 0);
    both_ways(f, &(struct tar_tree){ .dir = NULL }, &found);
    assert_text(f, "train.py", "print(1)\n");
    assert_text(f, "pkg/empty", "");
    assert_text(f, "pkg/up", "print(1)\n");
    assert_text(f, deep, "deep\n");
    assert_int_equal(access(there, X_OK), 0);
    assert_int_equal(found.n_left, 0);
}

static void what_cannot_travel_is_told(void **state)
{
    struct fix *f = *state;
    struct tar_tree_summary found;
    make(f, "train.py", "1");
    make(f, ".git/config", "x");
    make(f, "__pycache__/train.pyc", "x");
    make(f, "old.pyc", "x");
    make_link(f, "data", "/mnt/data");
    make_link(f, "out", "../elsewhere");
    AUTO_FREE char *pipe = file_join(f->from, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    both_ways(f, &(struct tar_tree){ .under = "code" }, &found);
    assert_text(f, "code/train.py", "1");
    assert_false(is_there(f, "code/.git") || is_there(f, "code/__pycache__"));
    assert_false(is_there(f, "code/old.pyc") || is_there(f, "code/data") ||
                 is_there(f, "code/out"));
    assert_int_equal(found.n_left, 3);
    assert_string_equal(found.left, "code/data");
    assert_int_equal(found.files, 1);
}

static void equal_trees_give_equal_bytes(void **state)
{
    struct fix *f = *state;
    struct tar_tree_summary found;
    char *bytes[2];
    size_t len[2];
    for (int i = 0; i < 2; i++) {
        make(f, i ? "b" : "a", i ? "bb" : "aa"); /* made in another order */
        make(f, i ? "a" : "b", i ? "aa" : "bb");
        FILE *file = write_all(f, &(struct tar_tree){ .dir = NULL }, &found);
        bytes[i] = mem_new(1u << 16);
        len[i] = fread(bytes[i], 1, 1u << 16, file);
        fclose(file);
        file_remove_tree(f->from, NULL);
        assert_int_equal(mkdir(f->from, i ? 0700 : 0755), 0);
    }
    assert_true(len[0] > 0 && len[0] == len[1]);
    assert_memory_equal(bytes[0], bytes[1], len[0]);
    free(bytes[0]);
    free(bytes[1]);
}

static void more_than_the_limit_is_refused(void **state)
{
    struct fix *f = *state;
    struct tar_tree tree = { .dir = f->from, .limits = { .bytes = 5 } };
    struct tar_tree_summary found;
    struct err err;
    AUTO_CLOSE int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    make(f, "a", "123");
    assert_int_equal(tar_tree_write(out, &tree, &found, &err), 0);
    assert_int_equal(tar_tree_measure(&tree, &found, &err), 0);
    assert_true(found.bytes == 3 && found.files == 1);
    make(f, "b", "123");
    assert_int_equal(tar_tree_measure(&tree, &found, &err), -1);
    assert_int_equal(tar_tree_write(out, &tree, &found, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    tree.limits = (struct tar_tree_limits){ .files = 1 };
    assert_int_equal(tar_tree_write(out, &tree, &found, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    tree.dir = "/nowhere/at/all";
    assert_int_equal(tar_tree_write(out, &tree, &found, &err), -1);
    assert_non_null(strstr(err.what, "/nowhere/at/all"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tree_comes_back),
        TEST(what_cannot_travel_is_told),
        TEST(equal_trees_give_equal_bytes),
        TEST(more_than_the_limit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
