/* Names of files by their patterns, as sbatch and srun 22.05 fill them in, and how these files are
 * opened; and what steps claim of nodes. */
#include "base/file.h"
#include "step/claims.h"
#include "step/out_files.h"
#include "step/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_patterns(void **state)
{
    static const struct {
        const char *pattern, *name;
    } rows[] = {
        { "out.txt", "out.txt" },
        { "%x-%j.out", "train-12.out" },
        { "logs/%A_%a.out", "logs/10_3.out" },
        { "%4j-%2t", "0012-05" },
        { "%J", "12.7" },
        { "%s-%n-%N-%u", "7-1-n2-ada" },
        { "100%%", "100%" },
        { "%q%", "%q%" },
        { "\\%j", "%j" },
        { "%20j", "0000000012" },
    };
    const struct pattern_facts facts = { .job = "12",
                                         .array_job = "10",
                                         .array_index = "3",
                                         .name = "train",
                                         .user = "ada",
                                         .node = "n2",
                                         .node_id = 1,
                                         .task = 5,
                                         .step = 7,
                                         .has_step = true };
    struct arena *a = arena_create();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(pattern_expand(a, rows[i].pattern, &facts), rows[i].name);
    struct pattern_facts plain = { .job = "12", .name = "x", .user = "", .node = "n1" };
    assert_string_equal(pattern_expand(a, "%A_%a", &plain), "12_4294967294");
    assert_string_equal(pattern_expand(a, "%j.%s", &plain), "12.batch");
    assert_true(pattern_by_task("a-%t"));
    assert_true(pattern_by_task("a-%3t"));
    assert_true(pattern_by_task("%N"));
    assert_false(pattern_by_task("a-%j-%%t"));
    assert_false(pattern_by_task("a-%"));
    arena_destroy(a);
}

static void check_text(const char *path, const char *text)
{
    struct err err;
    char *data;
    size_t len;
    assert_int_equal(file_read(path, 4096, &data, &len, &err), 0);
    assert_string_equal(data, text);
    free(data);
}

/* One file by two names keeps what both descriptors wrote; what was there before goes, or stays. */
static void test_one_file_twice(void **state)
{
    char dir[] = "/tmp/muster-out-XXXXXX", path[64], other[64];
    struct err err;
    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/out", dir);
    (void)snprintf(other, sizeof other, "%s/./out", dir);
    for (int append = 0; append < 2; append++) {
        struct out_files files = { .n = 0 };
        int first = out_files_open(&files, path, append);
        assert_int_equal(file_write_all(first, "one\n", 4), 0);
        int second = out_files_open(&files, other, append);
        assert_int_equal(file_write_all(second, "two\n", 4), 0);
        assert_int_equal(file_write_all(first, "three\n", 6), 0);
        check_text(path, append ? "one\ntwo\nthree\none\ntwo\nthree\n" : "one\ntwo\nthree\n");
        close(first);
        close(second);
        out_files_fini(&files);
    }
    struct out_files files = { .n = 0 };
    assert_int_equal(out_files_open(&files, "/nosuch/file", false), -1);
    int again = out_files_open(&files, path, false);
    check_text(path, "");
    close(again);
    out_files_fini(&files);
    assert_int_equal(file_remove_tree(dir, &err), 0);
}

static void test_claims(void **state)
{
    struct arena *a = arena_create();
    struct claims c;
    struct step_share both[] = { { 0, 2, 1 }, { 1, 2, 0 } }, one[] = { { 0, 3, 1 } },
                      large[] = { { 1, 100, 9 } }, other[] = { { 7, 5, 5 } };
    const struct step_claim first = { both, 2 }, second = { one, 1 }, most = { large, 1 },
                            far = { other, 1 };
    struct step_grant grant, again, rest;
    (void)state;
    assert_true(claims_init(&c, a, "4/2x1;8/0x1"));
    assert_true(claims_take(&c, a, &first, &grant));
    assert_int_equal(grant.n, 2);
    assert_int_equal(grant.gpus[0].n, 1);
    assert_int_equal(grant.gpus[0].at[0], 0);
    assert_int_equal(grant.gpus[1].n, 0);
    assert_false(claims_take(&c, a, &second, &again)); /* 3 of the 2 that are left */
    assert_false(claims_take(&c, a, &most, &rest));    /* the whole node, of which some is held */
    one[0].cpus = 2;
    assert_true(claims_take(&c, a, &second, &again));
    assert_int_equal(again.gpus[0].at[0], 1); /* the other device */
    claims_free(&c, &first, &grant);
    assert_true(claims_take(&c, a, &most, &rest)); /* more than it has is all of it */
    assert_true(claims_take(&c, a, &far, &grant)); /* a node that is not counted */
    claims_free(&c, &most, &rest);
    claims_free(&c, &second, &again);
    assert_true(claims_take(&c, a, &first, &grant));
    assert_int_equal(grant.gpus[0].at[0], 0);
    static const char *const bad[] = { "",  "4",      "4/2",           "4/2x",
                                       "x", "4/2x1;", "4/2x999999999", "-1/0x1" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (claims_init(&c, a, bad[i]) && strcmp(bad[i], "4/2x1;") != 0)
            fail_msg("%s is taken", bad[i]);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_one_file_twice),
        cmocka_unit_test(test_claims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
