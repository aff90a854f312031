/* Records to lines: several tasks, partial lines, attempts, gaps, bytes that are no text, the place
 * reached. */
#include "cli/log_print.h"

#include "base/buf.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct world {
    struct log_print print;
    FILE *to;
    char *text;
    size_t len;
};

static void begin(struct world *w, bool names)
{
    w->text = NULL;
    w->to = open_memstream(&w->text, &w->len);
    log_print_init(&w->print, w->to, names, false);
}

static void record(struct world *w, const char *json)
{
    struct arena *a = arena_create();
    struct report report;
    report_init(&report, a);
    struct text_node *node = json_parse(a, json, strlen(json), 0, &report);
    assert_non_null(node);
    log_print_record(&w->print, node);
    arena_destroy(a);
}

static void end(struct world *w, const char *wanted)
{
    log_print_fini(&w->print);
    fclose(w->to);
    assert_string_equal(w->text, wanted);
    free(w->text);
}

static void whole_lines_only(void **state)
{
    struct world w;
    (void)state;
    begin(&w, true);
    record(&w, "{\"task\":\"master/0\",\"attempt\":1,\"offset\":5,\"text\":\"a\\nhalf\"}");
    record(&w, "{\"task\":\"worker/0\",\"attempt\":1,\"offset\":2,\"text\":\"b\\n\"}");
    record(&w, "{\"task\":\"master/0\",\"attempt\":1,\"offset\":9,\"text\":\" of it\\n\"}");
    end(&w, "master/0  a\nworker/0  b\nmaster/0  half of it\n");
}

static void rest_is_printed_at_the_end(void **state)
{
    struct world w;
    (void)state;
    begin(&w, true);
    record(&w, "{\"task\":\"w/0\",\"attempt\":1,\"offset\":3,\"text\":\"abc\"}");
    end(&w, "w/0  abc\n");
}

static void empty_lines_stay(void **state)
{
    struct world w;
    (void)state;
    begin(&w, true);
    record(&w, "{\"task\":\"w/0\",\"attempt\":1,\"offset\":3,\"text\":\"\\n\\nx\\n\"}");
    end(&w, "w/0  \nw/0  \nw/0  x\n");
}

static void names_are_aligned(void **state)
{
    struct world w;
    (void)state;
    begin(&w, true);
    record(&w, "{\"task\":\"worker/10\",\"attempt\":1,\"offset\":2,\"text\":\"a\\n\"}");
    record(&w, "{\"task\":\"ps/0\",\"attempt\":1,\"offset\":2,\"text\":\"b\\n\"}");
    end(&w, "worker/10  a\nps/0       b\n");
}

static void one_task_is_passed_on(void **state)
{
    struct world w;
    (void)state;
    begin(&w, false);
    record(&w, "{\"task\":\"w/0\",\"attempt\":1,\"offset\":3,\"text\":\"no newline\"}");
    end(&w, "no newline");
}

static void attempts_do_not_join(void **state)
{
    struct world w;
    (void)state;
    begin(&w, true);
    record(&w, "{\"task\":\"w/0\",\"attempt\":1,\"offset\":3,\"text\":\"cut\"}");
    record(&w, "{\"task\":\"w/0\",\"attempt\":2,\"offset\":3,\"text\":\"new\\n\"}");
    end(&w, "w/0  cut\nw/0  new\n");
}

static void gaps_and_bytes(void **state)
{
    struct world w;
    (void)state;
    begin(&w, true);
    record(&w, "{\"task\":\"w/0\",\"attempt\":1,\"offset\":4096,\"gap\":2048}");
    record(&w, "{\"task\":\"w/0\",\"attempt\":1,\"offset\":4099,\"b64\":\"/2EK\"}");
    end(&w, "w/0  ... 2.0 KiB of output are not kept ...\nw/0  \377a\n");
}

static void resumes_where_it_was(void **state)
{
    struct world w;
    struct buf body = BUF_INIT(4096);
    (void)state;
    begin(&w, true);
    log_print_resume(&w.print, &body);
    assert_int_equal(body.len, 0);
    record(&w, "{\"task\":\"w/0\",\"attempt\":2,\"offset\":7,\"text\":\"x\\n\"}");
    record(&w, "{\"task\":\"w/1\",\"attempt\":1,\"offset\":9,\"text\":\"y\\n\"}");
    log_print_resume(&w.print, &body);
    assert_string_equal(
        body.data,
        "{\"from\":{\"w/0\":{\"attempt\":2,\"offset\":7},\"w/1\":{\"attempt\":1,\"offset\":9}}}");
    buf_fini(&body);
    end(&w, "w/0  x\nw/1  y\n");
}

static void very_long_lines_are_broken(void **state)
{
    struct world w;
    struct buf json = BUF_INIT(1 << 20);
    (void)state;
    begin(&w, true);
    for (int i = 0; i < 3; i++) {
        buf_clear(&json);
        buf_puts(&json, "{\"task\":\"w/0\",\"attempt\":1,\"offset\":1,\"text\":\"");
        for (int k = 0; k < 40000; k++)
            buf_putc(&json, 'x');
        buf_puts(&json, "\"}");
        record(&w, json.data);
    }
    log_print_fini(&w.print);
    fclose(w.to);
    assert_int_equal(w.len, 120000 + 2 * strlen("w/0  \n"));
    free(w.text);
    buf_fini(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(whole_lines_only),
                                        cmocka_unit_test(rest_is_printed_at_the_end),
                                        cmocka_unit_test(empty_lines_stay),
                                        cmocka_unit_test(names_are_aligned),
                                        cmocka_unit_test(one_task_is_passed_on),
                                        cmocka_unit_test(attempts_do_not_join),
                                        cmocka_unit_test(gaps_and_bytes),
                                        cmocka_unit_test(resumes_where_it_was),
                                        cmocka_unit_test(very_long_lines_are_broken) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
