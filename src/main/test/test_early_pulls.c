/* Pulls for jobs that wait: one at a time, one for all that want the same, told as it comes, and
 * ended when nobody wants it. A script of the shell stands for muster-node: what is looked at is
 * what becomes of its lines and its life. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "job/image_progress.h"
#include "main/early_pulls.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGEST "1111111111111111111111111111111111111111111111111111111111111111"

/* The image's name decides; the store is the directory of the test. */
static const char script[] = "#!/bin/sh\n"
                             "read name\n"
                             "echo \"$name\" >>$2/begun\n"
                             "case $name in\n"
                             "good*) echo bytes 5 9; echo bytes 9 9; echo sha256:" DIGEST ";;\n"
                             "bad*) echo why not; exit 1;;\n"
                             "keeps*) echo \"$4 $5\" >$2/kept; echo sha256:" DIGEST ";;\n"
                             "long*) echo bytes 1 9; exec tail -f /dev/null;;\n"
                             "esac\n";

struct heard {
    uint64_t job;
    enum image_step step;
    uint64_t bytes;
    char problem[40];
};
struct fixture {
    char dir[40], program[60];
    uv_loop_t loop;
    struct early_pulls *pulls;
    struct heard at[32];
    size_t n;
};
static struct fixture f;

static void on_fact(void *arg, const struct engine_fact *fact)
{
    struct heard *one = &f.at[f.n++];
    (void)arg;
    assert_true(f.n < 32 && fact->kind == FACT_IMAGE);
    one->job = fact->generation.job;
    one->step = fact->image->step;
    one->bytes = fact->image->bytes;
    snprintf(one->problem, sizeof one->problem, "%s", fact->image->problem);
}

static int set_up(void **state)
{
    (void)state;
    f = (struct fixture){ .n = 0 };
    snprintf(f.dir, sizeof f.dir, "/tmp/muster-early.XXXXXX");
    assert_non_null(mkdtemp(f.dir));
    snprintf(f.program, sizeof f.program, "%s/program", f.dir);
    assert_int_equal(file_replace(f.program, script, sizeof script - 1, 0700, NULL), 0);
    uv_loop_init(&f.loop);
    f.pulls = early_pulls_create(&f.loop, f.program);
    early_pulls_begin(f.pulls, (struct engine_sink){ .fact = on_fact });
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    early_pulls_destroy(f.pulls);
    uv_run(&f.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f.loop), 0);
    return file_remove_tree(f.dir, NULL);
}

static void want(uint64_t job, const char *name)
{
    const char *keep[] = { "a", "b" };
    const struct image_wish wish = {
        .job = job, .name = name, .store = f.dir, .limit = 99, .keep = { .at = keep, .n = 2 }
    };
    early_pulls_add(f.pulls, &wish);
}

/* Until so many facts have come. */
static void hear(size_t n)
{
    while (f.n < n)
        uv_run(&f.loop, UV_RUN_ONCE);
    assert_int_equal(f.n, n);
}

static void check_file(const char *name, const char *text)
{
    AUTO_FREE char *path = mem_printf("%s/%s", f.dir, name);
    AUTO_FREE char *found = NULL;
    size_t len;
    assert_int_equal(file_read(path, 4096, &found, &len, NULL), 0);
    assert_string_equal(found, text);
}

static void test_how_far_it_is_and_its_end(void **state)
{
    (void)state;
    want(1, "good");
    hear(3);
    assert_int_equal(f.at[0].step, IMAGE_EARLY_FETCHES);
    assert_int_equal(f.at[0].bytes, 5);
    assert_int_equal(f.at[1].bytes, 9);
    assert_int_equal(f.at[2].step, IMAGE_EARLY_READY);
    assert_int_equal(f.at[2].bytes, 9);
    want(2, "bad");
    hear(4);
    assert_int_equal(f.at[3].step, IMAGE_EARLY_FAILED);
    assert_int_equal(f.at[3].job, 2);
    assert_string_equal(f.at[3].problem, "why not");
}

static void test_one_for_all_that_want_the_same_and_one_at_a_time(void **state)
{
    (void)state;
    want(1, "bad 1");
    want(2, "bad 2");
    want(3, "bad 1");
    hear(3);
    assert_true(f.at[0].job == 1 && f.at[1].job == 3 && f.at[2].job == 2);
    check_file("begun", "bad 1\nbad 2\n");
    want(4, "keeps");
    hear(4);
    check_file("kept", "a b\n");
}

static void test_it_ends_when_nobody_wants_it(void **state)
{
    (void)state;
    want(1, "long");
    want(2, "long");
    want(3, "bad");
    hear(2);
    early_pulls_drop(f.pulls, 1);
    early_pulls_drop(f.pulls, 3); /* its turn had not come */
    want(4, "bad");
    early_pulls_drop(f.pulls, 2);
    hear(3);
    assert_true(f.at[2].job == 4 && f.at[2].step == IMAGE_EARLY_FAILED);
    check_file("begun", "long\nbad\n");
}

static void test_what_cannot_begin_fails(void **state)
{
    (void)state;
    assert_int_equal(unlink(f.program), 0);
    want(1, "good");
    hear(1);
    assert_int_equal(f.at[0].step, IMAGE_EARLY_FAILED);
}

static void test_what_comes_when_the_server_ends_is_ended(void **state)
{
    (void)state;
    want(1, "long");
    hear(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_how_far_it_is_and_its_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_for_all_that_want_the_same_and_one_at_a_time,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_it_ends_when_nobody_wants_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_begin_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_comes_when_the_server_ends_is_ended, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
