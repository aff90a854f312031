/* Jobs made from command lines: names taken from programs, words that stay as they were, and no
 * member that nobody asked for. */
#include "cli/made_job.h"

#include "base/buf.h"
#include "cli/line/line.h"
#include "job/job.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void check_name(const char *wanted, int argc, const char **words)
{
    struct arena *a = arena_create();
    assert_string_equal(made_job_name(a, argc, words), wanted);
    arena_destroy(a);
}

static void names(void **state)
{
    (void)state;
    check_name("train", 4, (const char *[]){ "python", "train.py", "--epochs", "3" });
    check_name("train", 2, (const char *[]){ "/usr/bin/python3", "/home/ada/train.py" });
    check_name("tests", 1, (const char *[]){ "./tests" });
    check_name("bash", 3, (const char *[]){ "bash", "-c", "echo a; exit 7" });
    check_name("pkg", 3, (const char *[]){ "python", "-m", "pkg.train" });
    check_name("a-b", 1, (const char *[]){ "a b" });
    check_name("command", 1, (const char *[]){ "--" });
    check_name("x", 1, (const char *[]){ "..x" });
}

static void is_a_native_job(void **state)
{
    struct arena *a = arena_create();
    const char *argv[] = { "python", "train.py", "a b\"c" };
    struct line_job line = { .argv = { .at = argv, .n = 3 }, .program = { .at = argv, .n = 3 } };
    struct made_job made = {
        .replicas = 4, .cpu = "2", .memory = "4Gi", .gpu = "0.5", .line = &line
    };
    struct report report;
    (void)state;
    report_init(&report, a);
    struct text_node *tree = made_job_tree(a, &made);
    struct job_spec *job = job_decode(a, tree, &report);
    assert_int_equal(report.errors, 0);
    assert_non_null(job);
    assert_string_equal(job->name, "train");
    assert_int_equal(job->n_roles, 1);
    assert_int_equal(job->roles[0].replicas, 4);
    assert_int_equal(job->roles[0].resources.cpu_milli, 2000);
    assert_int_equal(job->roles[0].resources.gpu_milli, 500);
    assert_true(job->roles[0].resources.memory == 4ull << 30);
    assert_int_equal(job->roles[0].argv.n, 3);
    assert_string_equal(job->roles[0].argv.at[2], "a b\"c");
    arena_destroy(a);
}

static void empty_words_stay(void **state)
{
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(4096);
    const char *argv[] = { "printf", "it's", "" };
    struct line_job line = { .argv = { .at = argv, .n = 3 }, .program = { .at = argv, .n = 3 } };
    struct made_job made = { .name = "n", .line = &line };
    (void)state;
    json_print(made_job_tree(a, &made), 0, &out);
    assert_string_equal(out.data,
                        "{\"muster\":1,\"name\":\"n\",\"run\":\"exec printf 'it'\\\\''s' ''\"}");
    buf_fini(&out);
    arena_destroy(a);
}

static void says_only_what_was_said(void **state)
{
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(4096);
    const char *argv[] = { "true" };
    struct line_job line = { .argv = { .at = argv, .n = 1 }, .program = { .at = argv, .n = 1 } };
    struct made_job made = { .name = "n", .line = &line };
    (void)state;
    json_print(made_job_tree(a, &made), 0, &out);
    assert_string_equal(out.data, "{\"muster\":1,\"name\":\"n\",\"argv\":[\"true\"]}");
    buf_fini(&out);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(names), cmocka_unit_test(is_a_native_job),
                                        cmocka_unit_test(empty_words_stay),
                                        cmocka_unit_test(says_only_what_was_said) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
