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

struct scene {
    char *dir, *scratch;
    uv_loop_t loop;
    struct output *output;
    int fd, grew, closed; /* fd: where the program writes */
};

static void on_grew(void *arg)
{
    ((struct scene *)arg)->grew++;
}

static void on_closed(void *arg)
{
    ((struct scene *)arg)->closed++;
}

static int set_up(void **state)
{
    struct err err;
    struct scene *s = mem_new(sizeof *s);
    *s = (struct scene){ .dir = mem_strdup("/tmp/muster-part-XXXXXX"),
                         .scratch = mem_new(OUTPUT_SCRATCH) };
    *state = s;
    assert_non_null(mkdtemp(s->dir));
    AUTO_FREE char *logs = mem_printf("%s/log", s->dir);
    assert_int_equal(uv_loop_init(&s->loop), 0);
    struct logfile *log = logfile_create(logs, 0, 0, &err);
    assert_non_null(log);
    struct output_sink sink = { .grew = on_grew, .closed = on_closed, .arg = s };
    s->output = output_create(&s->loop, log, s->scratch, sink);
    assert_int_equal(output_open(s->output, RECORD_STDOUT, &s->fd, &err), 0);
    return 0;
}

static int tear_down(void **state)
{
    struct err err;
    struct scene *s = *state;
    output_destroy(s->output);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&s->loop), 0);
    assert_int_equal(file_remove_tree(s->dir, &err), 0);
    free(s->scratch);
    free(s->dir);
    free(s);
    return 0;
}

static void put(const struct scene *s, const char *bytes, size_t len)
{
    assert_int_equal(file_write_all(s->fd, bytes, len), 0);
}

static void end(struct scene *s)
{
    close(s->fd);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(s->closed, 1);
}

static void until_it_grew(struct scene *s)
{
    while (s->grew == 0)
        uv_run(&s->loop, UV_RUN_ONCE);
}

static void output_tail_is_text(void **state)
{
    struct scene *s = *state;
    char tail[ENDING_TAIL_MAX + 1];
    for (int i = 0; i < 300; i++)
        put(s, "a line of text\n", 15);
    put(s, "bad \xff byte, \xe4\xb8\xad, nul \0, no end", 30);
    end(s);
    assert_true(s->grew > 0);
    output_tail(s->output, tail);
    assert_true(strlen(tail) <= ENDING_TAIL_MAX);
    assert_int_equal(strncmp(tail, "a line of text\n", 15), 0); /* starts with a whole line */
    assert_non_null(strstr(tail, "bad ? byte, \xe4\xb8\xad, nul ?, no end"));
    assert_true(output_end(s->output) > 300 * 15);
}

static void a_prompt_shows_before_its_line_ends(void **state)
{
    struct scene *s = *state;
    put(s, "name? ", 6);
    until_it_grew(s);
    assert_true(output_end(s->output) == RECORD_HEAD + 6);
    assert_int_equal(s->closed, 0);
    output_finish(s->output);
    close(s->fd);
}

/* Its last bytes may be the front of another one: they wait, and the others are covered. */
static void a_value_in_an_unfinished_line_is_covered(void **state)
{
    struct scene *s = *state;
    struct masks masks = { .list = { .n = 0 } };
    char tail[ENDING_TAIL_MAX + 1];
    masks_add(&masks, "passage-of-a-pass", 17);
    masks_add(&masks, "password", 8);
    output_mask(s->output, &masks);
    put(s, "> passage-of-a-pass", 19);
    until_it_grew(s);
    assert_string_equal(output_tail(s->output, tail), "> *************");
    put(s, "word.\n", 6);
    end(s);
    assert_string_equal(output_tail(s->output, tail), "> *********************.\n");
    masks_fini(&masks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(output_tail_is_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_prompt_shows_before_its_line_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_value_in_an_unfinished_line_is_covered, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
