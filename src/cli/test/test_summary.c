/* How a job ended, for its submitter: who was first, with which code or signal, what to do next,
 * what is kept, which files there are. */
#include "cli/summary.h"

#include "base/file.h"
#include "base/mem.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char failed[] =
    "{\"number\":12,\"name\":\"ddp\",\"state\":\"failed\",\"reason\":\"worker/2 on n2 exited with 1, first of 4\","
    "\"task_list\":["
    "{\"name\":\"worker/0\",\"state\":\"stopped\",\"attempts\":[{\"state\":\"stopped\",\"by\":\"policy\",\"ended_ms\":50,\"signal\":15}]},"
    "{\"name\":\"worker/1\",\"state\":\"failed\",\"attempts\":[{\"state\":\"failed\",\"by\":\"itself\",\"ended_ms\":90,\"signal\":11}]},"
    "{\"name\":\"worker/2\",\"state\":\"failed\",\"attempts\":["
    "{\"state\":\"failed\",\"by\":\"itself\",\"ended_ms\":10,\"exit_code\":9},"
    "{\"state\":\"failed\",\"by\":\"itself\",\"ended_ms\":80,\"exit_code\":1,\"tail\":\"one\\n\\n  two\\nthree\\nfour\\nfive\\nValueError: batch\\n\"}]}]}";

static struct text_node *parse(struct arena *a, const char *json)
{
    struct report report;
    report_init(&report, a);
    struct text_node *node = json_parse(a, json, strlen(json), 0, &report);
    assert_non_null(node);
    return node;
}

static void first_by_itself(void **state)
{
    struct arena *a = arena_create();
    struct text_node *job = parse(a, failed);
    const char *task = NULL;
    (void)state;
    assert_non_null(summary_first_failure(job, &task));
    assert_string_equal(task, "worker/2");
    assert_int_equal(summary_exit_code(job, 1), 1);
    arena_destroy(a);
}

static void signals_are_codes(void **state)
{
    struct arena *a = arena_create();
    (void)state;
    struct text_node *job = parse(
        a,
        "{\"task_list\":[{\"name\":\"w/0\",\"attempts\":[{\"state\":\"failed\",\"by\":\"kernel\","
        "\"ended_ms\":5,\"signal\":9}]}]}");
    assert_int_equal(summary_exit_code(job, 1), 137);
    assert_int_equal(summary_exit_code(parse(a, "{}"), 1), 1);
    arena_destroy(a);
}

static const struct refused here = { .program = "muster" };

static void failure_says_what_next(void **state)
{
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(1 << 16);
    (void)state;
    summary_print(a, &here, parse(a, failed), &out);
    assert_string_equal(out.data, "ddp failed: worker/2 on n2 exited with 1, first of 4\n"
                                  "    two\n  three\n  four\n  five\n  ValueError: batch\n"
                                  "  its output   muster logs 12 worker/2 --tail 20\n"
                                  "  again        muster submit --like 12\n");
    buf_fini(&out);
    arena_destroy(a);
}

static void held_can_be_entered(void **state)
{
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(1 << 16);
    (void)state;
    summary_print(
        a, &here,
        parse(
            a,
            "{\"number\":3,\"name\":\"d\",\"state\":\"stopping\",\"outcome\":\"failed\",\"task_list\":[{\"name\":"
            "\"w/0\",\"attempts\":[{\"state\":\"failed\",\"by\":\"itself\",\"ended_ms\":5,\"exit_code\":1}]}]}"),
        &out);
    assert_non_null(strstr(out.data, "enter it     muster exec 3 w/0\n"));
    buf_fini(&out);
    arena_destroy(a);
}

/* Neither a code nor a signal: there is no output to read. */
static void what_never_began_has_no_output(void **state)
{
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(1 << 16);
    (void)state;
    const char *never =
        "{\"number\":4,\"name\":\"d\",\"state\":\"failed\",\"task_list\":[{\"name\":\"w/0\","
        "\"attempts\":[{\"state\":\"failed\",\"by\":\"itself\",\"ended_ms\":5}]}]}";
    summary_print(a, &here, parse(a, never), &out);
    assert_non_null(strstr(out.data, "more         muster show 4\n"));
    assert_null(strstr(out.data, "logs"));
    buf_fini(&out);
    arena_destroy(a);
}

static void output_lists_files(void **state)
{
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(1 << 16);
    struct err err;
    char dir[] = "/tmp/muster-cli-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(dir));
    char *file = file_join(dir, "checkpoint.pt");
    assert_int_equal(file_replace(file, "12345", 5, 0600, &err), 0);
    summary_print(a, &here,
                  parse(a, arena_printf(a, "{\"state\":\"succeeded\",\"output_dir\":\"%s\"}", dir)),
                  &out);
    assert_string_equal(out.data, arena_printf(a, "output   %s   (checkpoint.pt, 5 B)\n", dir));
    buf_clear(&out);
    assert_int_equal(file_remove_tree(dir, &err), 0);
    summary_print(a, &here,
                  parse(a, arena_printf(a, "{\"state\":\"succeeded\",\"output_dir\":\"%s\"}", dir)),
                  &out);
    assert_string_equal(out.data, arena_printf(a, "output   %s\n", dir));
    free(file);
    buf_fini(&out);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(first_by_itself),
                                        cmocka_unit_test(signals_are_codes),
                                        cmocka_unit_test(failure_says_what_next),
                                        cmocka_unit_test(held_can_be_entered),
                                        cmocka_unit_test(what_never_began_has_no_output),
                                        cmocka_unit_test(output_lists_files) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
