/* Images that a server wants on a machine: one after the other, each told to its end, those that
 * are dropped not at all. No registry answers here; what comes is tried in tests. */
#include "node/host_images.h"

#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NAME   "127.0.0.1:1/team/tool:1@sha256:" DIGEST

struct fix {
    uv_loop_t loop;
    char dir[32];
    struct host_images *images;
    uint32_t ended[64];
    char problem[512]; /* of the last */
    size_t n;
};

static void on_news(void *arg, const struct wire_host_image_report *news)
{
    struct fix *f = arg;
    assert_int_equal(news->step, IMAGE_EARLY_FAILED);
    assert_int_equal(news->bytes, 0);
    assert_true(*news->problem);
    snprintf(f->problem, sizeof f->problem, "%s", news->problem);
    f->ended[f->n++] = news->number;
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    (void)signal(SIGPIPE, SIG_IGN);
    assert_int_equal(uv_loop_init(&f->loop), 0);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-images-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->images = host_images_create(
        &(struct host_images_config){ .loop = &f->loop, .dir = f->dir, .news = on_news, .arg = f });
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    host_images_destroy(f->images);
    while (uv_run(&f->loop, UV_RUN_NOWAIT))
        continue;
    assert_int_equal(uv_loop_close(&f->loop), 0);
    assert_int_equal(file_remove_tree(f->dir, NULL), 0);
    free(f);
    return 0;
}

static void fetch(const struct fix *f, uint32_t number, const char *name)
{
    const char *keep[] = { DIGEST, "none" };
    host_images_fetch(f->images, &(struct wire_host_image){ .number = number,
                                                            .name = name,
                                                            .limit = 1u << 30,
                                                            .keep = { keep, 2 },
                                                            .auth = "{}",
                                                            .auth_len = 2 });
}

static void run_until(struct fix *f, size_t n)
{
    while (f->n < n)
        uv_run(&f->loop, UV_RUN_ONCE);
    assert_int_equal(f->n, n);
}

static void each_is_told_once_in_order(void **state)
{
    struct fix *f = *state;
    fetch(f, 3, NAME);
    fetch(f, 1, NAME);
    fetch(f, 3, NAME); /* the same */
    run_until(f, 2);
    assert_int_equal(f->ended[0], 3);
    assert_int_equal(f->ended[1], 1);
    fetch(f, 4, NAME);
    run_until(f, 3);
}

static void a_name_that_is_none(void **state)
{
    struct fix *f = *state;
    fetch(f, 1, "team/tool:1");
    assert_int_equal(f->n, 1);
    assert_string_equal(f->problem, "its name has no digest");
    fetch(f, 2, "Not a name");
    assert_int_equal(f->n, 2);
}

static void those_that_are_dropped_say_nothing(void **state)
{
    struct fix *f = *state;
    for (uint32_t i = 1; i <= 4; i++)
        fetch(f, i, NAME);
    host_images_drop(f->images, 1); /* it was under way */
    host_images_drop(f->images, 3);
    host_images_drop(f->images, 9);
    run_until(f, 2);
    assert_int_equal(f->ended[0], 2);
    assert_int_equal(f->ended[1], 4);
    fetch(f, 5, NAME);
    fetch(f, 6, NAME);
    host_images_drop_all(f->images);
    while (uv_run(&f->loop, UV_RUN_NOWAIT))
        continue;
    assert_int_equal(f->n, 2);
}

static void no_more_than_a_few_wait(void **state)
{
    struct fix *f = *state;
    for (uint32_t i = 1; i <= 33; i++)
        fetch(f, i, NAME);
    assert_int_equal(f->n, 1);
    assert_int_equal(f->ended[0], 33);
    assert_non_null(strstr(f->problem, "too many"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_is_told_once_in_order),
        TEST(a_name_that_is_none),
        TEST(those_that_are_dropped_say_nothing),
        TEST(no_more_than_a_few_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
