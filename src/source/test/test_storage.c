/* Storage roots: which directory a URI is served by, and what is said of directories of code that
 * are not there, or are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "source/storage.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static void roots_serve_prefixes(void **state)
{
    static const struct uri_root roots[] = { { .prefix = "hdfs://h:9000/", .dir = "/data/h" },
                                             { .prefix = "hdfs://h:9000/deep/", .dir = "/deep" },
                                             { .prefix = "storage://nfs", .dir = "/nfs" } };
    static const struct {
        const char *uri, *dir;
    } cases[] = {
        { "hdfs://h:9000/a/b", "/data/h/a/b" },
        { "hdfs://h:9000/deep/x", "/deep/x" },
        { "hdfs://h:9000//a", "/data/h/a" },
        { "file:///tmp/x", "/tmp/x" },
        { "file:/tmp/x", "/tmp/x" },
        { "/abs", "/abs" },
        { "rel/x", "/work/rel/x" },
        { "s3://b/x", NULL },
        { "hdfs://other/x", NULL },
        { "hdfs://h:9000/../x", NULL },
        { "hdfs://h:9000/a..b", "/data/h/a..b" },
        { "storage://nfs", "/nfs/" },
        { "storage://nfs/x", "/nfs/x" },
        { "storage://nfs2", NULL },
        { "dataset:d-1", "/data/h/one" },
        { "dataset:d-1:v1", "/data/h/one" },
        { "dataset:d-1:v2", "/two" },
        { "dataset:d-1:v3", NULL },
        { "dataset:d-2", NULL },
    };
    struct catalogue *names = catalogue_create();
    const struct storage storage = {
        .roots = roots, .n_roots = ARRAY_LEN(roots), .catalogue = names, .work_dir = "/work"
    };
    struct arena *arena = arena_create();
    (void)state;
    catalogue_put(
        names, &(struct entry){ .kind = ENTRY_DATASET, .name = "d-1", .uri = "hdfs://h:9000/one" });
    catalogue_put(names,
                  &(struct entry){ .kind = ENTRY_DATASET, .name = "d-1:v2", .uri = "file:///two" });
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        const char *dir = storage_map(&storage, arena, cases[i].uri, &err);
        if (cases[i].dir) {
            assert_non_null(dir);
            assert_string_equal(dir, cases[i].dir);
        } else {
            assert_null(dir);
            assert_int_not_equal(err.code, ERR_NONE);
        }
    }
    catalogue_destroy(names);
    arena_destroy(arena);
}

static void code_directories(void **state)
{
    char dir[] = "/tmp/muster-source-XXXXXX", file[64];
    struct err err;
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof file, "%s/f", dir);
    assert_int_equal(file_replace(file, "0123456789", 10, 0600, &err), 0);
    const struct code_place code = { "u", NULL }, old = { "u", "main" };
    assert_int_equal(storage_check_code(dir, &old, 0, &err), -1);
    assert_int_equal(storage_check_code(dir, &code, 0, &err), 0);
    assert_int_equal(storage_check_code(dir, &code, 1 << 20, &err), 0);
    assert_int_equal(storage_check_code(dir, &code, 5, &err), -1);
    assert_non_null(strstr(err.what, "holds more than"));
    assert_int_equal(storage_check_code(file, &code, 0, &err), -1);
    assert_int_equal(storage_check_code("/no/such", &code, 0, &err), -1);
    assert_int_equal(err.code, ERR_CANNOT);
    assert_int_equal(file_remove_tree(dir, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots_serve_prefixes),
        cmocka_unit_test(code_directories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
