/* Output of a program: whole lines, prompts that show before their line ends, and the tail of the
 * output as text for the report of its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/masks.h"
#include "node/output.h"

#include <string.h>

static int make_dir(void **state)
{
    char *dir = mem_strdup("/tmp/muster-part-XXXXXX");
    *state = dir;
    return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
    struct err err;
    int rc = file_remove_tree(*state, &err);
    free(*state);
    return rc;
}

struct heard {
    int grew, closed;
};

static void on_grew(void *arg)
{
    ((struct heard *)arg)->grew++;
}

static void on_closed(void *arg)
{
    ((struct heard *)arg)->closed++;
}

static void output_tail_is_text(void **state)
{
    struct err err;
    uv_loop_t loop;
    struct heard heard = { .grew = 0 };
    char *scratch = mem_new(OUTPUT_SCRATCH);
    char tail[ENDING_TAIL_MAX + 1];
    AUTO_FREE char *dir = mem_printf("%s/log", (const char *)*state);
    assert_int_equal(uv_loop_init(&loop), 0);
    struct logfile *log = logfile_create(dir, 0, 0, &err);
    assert_non_null(log);
    struct output_sink sink = { .grew = on_grew, .closed = on_closed, .arg = &heard };
    struct output *output = output_create(&loop, log, scratch, sink);
    int fd;
    assert_int_equal(output_open(output, RECORD_STDOUT, &fd, &err), 0);
    for (int i = 0; i < 300; i++)
        assert_int_equal(file_write_all(fd, "a line of text\n", 15), 0);
    assert_int_equal(file_write_all(fd, "bad \xff byte, \xe4\xb8\xad, nul \0, no end", 30), 0);
    close(fd);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(heard.closed, 1);
    assert_true(heard.grew > 0);
    output_tail(output, tail);
    assert_true(strlen(tail) <= ENDING_TAIL_MAX);
    assert_int_equal(strncmp(tail, "a line of text\n", 15), 0); /* starts with a whole line */
    assert_non_null(strstr(tail, "bad ? byte, \xe4\xb8\xad, nul ?, no end"));
    assert_true(output_end(output) > 300 * 15);
    output_destroy(output);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    free(scratch);
}

static void a_prompt_shows_before_its_line_ends(void **state)
{
    struct err err;
    uv_loop_t loop;
    struct heard heard = { .grew = 0 };
    char *scratch = mem_new(OUTPUT_SCRATCH);
    AUTO_FREE char *dir = mem_printf("%s/log", (const char *)*state);
    assert_int_equal(uv_loop_init(&loop), 0);
    struct logfile *log = logfile_create(dir, 0, 0, &err);
    struct output_sink sink = { .grew = on_grew, .closed = on_closed, .arg = &heard };
    struct output *output = output_create(&loop, log, scratch, sink);
    int fd;
    assert_int_equal(output_open(output, RECORD_STDOUT, &fd, &err), 0);
    assert_int_equal(file_write_all(fd, "name? ", 6), 0);
    while (heard.grew == 0)
        uv_run(&loop, UV_RUN_ONCE);
    assert_true(output_end(output) == RECORD_HEAD + 6);
    assert_int_equal(heard.closed, 0);
    output_finish(output);
    close(fd);
    output_destroy(output);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    free(scratch);
}

/* Its last bytes may be the front of another one: they wait, and the others are covered. */
static void a_value_in_an_unfinished_line_is_covered(void **state)
{
    struct err err;
    uv_loop_t loop;
    struct heard heard = { .grew = 0 };
    struct masks masks = { .list = { .n = 0 } };
    char *scratch = mem_new(OUTPUT_SCRATCH);
    char tail[ENDING_TAIL_MAX + 1];
    AUTO_FREE char *dir = mem_printf("%s/log", (const char *)*state);
    assert_int_equal(uv_loop_init(&loop), 0);
    struct logfile *log = logfile_create(dir, 0, 0, &err);
    struct output_sink sink = { .grew = on_grew, .closed = on_closed, .arg = &heard };
    struct output *output = output_create(&loop, log, scratch, sink);
    int fd;
    masks_add(&masks, "passage-of-a-pass", 17);
    masks_add(&masks, "password", 8);
    output_mask(output, &masks);
    assert_int_equal(output_open(output, RECORD_STDOUT, &fd, &err), 0);
    assert_int_equal(file_write_all(fd, "> passage-of-a-pass", 19), 0);
    while (heard.grew == 0)
        uv_run(&loop, UV_RUN_ONCE);
    assert_string_equal(output_tail(output, tail), "> *************");
    assert_int_equal(file_write_all(fd, "word.\n", 6), 0);
    close(fd);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_string_equal(output_tail(output, tail), "> *********************.\n");
    output_destroy(output);
    masks_fini(&masks);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    free(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(output_tail_is_text, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(a_prompt_shows_before_its_line_ends, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(a_value_in_an_unfinished_line_is_covered, make_dir,
                                        drop_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
