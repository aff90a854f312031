/* Events of a job as lines for who follows it. Events that are not known say nothing, many failures
 * do not flood the screen, large placements are cut. */
#include "cli/phases.h"

#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct text_node *parse(struct arena *a, const char *json)
{
    struct report report;
    report_init(&report, a);
    struct text_node *node = json_parse(a, json, strlen(json), 0, &report);
    assert_non_null(node);
    return node;
}

static void shows(struct phases *p, const char *json, const char *wanted)
{
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(1 << 20);
    phases_event(p, parse(a, json), &out);
    assert_string_equal(buf_str(&out), wanted);
    buf_fini(&out);
    arena_destroy(a);
}

static void life(void **state)
{
    struct phases p = { .tasks = 4, .work_dir = "/home/ada/ddp" };
    (void)state;
    shows(
        &p,
        "{\"seq\":1,\"type\":\"submitted\",\"state\":\"queued\",\"at_ms\":1000,\"text\":\"1st in default\"}",
        " +0.00s  queued     1st in default\n");
    shows(
        &p,
        "{\"seq\":2,\"type\":\"allocated\",\"state\":\"starting\",\"at_ms\":1020,\"text\":\"4 tasks\","
        "\"body\":{\"nodes\":{\"n1\":[\"master/0\",\"worker/0\"],\"n2\":[\"worker/1\",\"worker/2\"]}}}",
        " +0.02s  starting   n1: master/0 worker/0   n2: worker/1 worker/2   in /home/ada/ddp\n");
    shows(&p, "{\"seq\":3,\"type\":\"task.started\",\"task\":\"master/0\",\"at_ms\":1030}", "");
    shows(
        &p,
        "{\"seq\":4,\"type\":\"started\",\"state\":\"running\",\"at_ms\":1060,\"text\":\"4 of 4 tasks\"}",
        " +0.06s  running    4 of 4 tasks\n");
    shows(&p,
          "{\"seq\":5,\"type\":\"task.retry\",\"task\":\"worker/1\",\"at_ms\":2000,"
          "\"text\":\"worker/1 was killed; again in 140ms\"}",
          "worker/1 was killed; again in 140ms\n");
    shows(
        &p,
        "{\"seq\":6,\"type\":\"task_retry\",\"state\":\"restarting\",\"at_ms\":2000,\"text\":\"worker/1 was\"}",
        "");
    shows(
        &p,
        "{\"seq\":7,\"type\":\"succeeded\",\"state\":\"succeeded\",\"at_ms\":3000,\"text\":\"x\"}",
        "");
    shows(&p,
          "{\"seq\":8,\"type\":\"launch.failed\",\"task\":\"worker/1\",\"text\":\"rank 3 died\"}",
          "");
    shows(&p,
          "{\"seq\":9,\"type\":\"launch.again\",\"text\":\"rank 3 died: started again in 0.1 s\"}",
          "worker/1  rank 3 died: started again in 0.1 s\n");
    shows(&p, "{\"seq\":10,\"type\":\"launch.again\",\"text\":\"n2 joined: ...\"}",
          "n2 joined: ...\n");
    assert_int_equal(p.last_seq, 10);
    assert_int_equal(p.start_ms, 1000);
}

static void unknown_types_say_nothing(void **state)
{
    struct phases p = { .tasks = 1 };
    (void)state;
    shows(&p, "{\"seq\":9,\"type\":\"of.another.version\",\"at_ms\":1}", "");
    shows(&p, "{}", "");
    assert_int_equal(p.last_seq, 9);
}

static void failures_are_not_a_flood(void **state)
{
    struct phases p = { .tasks = 100 };
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(1 << 20);
    size_t lines = 0;
    (void)state;
    for (int i = 0; i < 100; i++)
        phases_event(&p, parse(a, "{\"type\":\"task.failed\",\"text\":\"worker/1 exited with 1\"}"),
                     &out);
    for (const char *c = buf_str(&out); *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 8);
    buf_fini(&out);
    arena_destroy(a);
}

static void big_placements_are_cut(void **state)
{
    struct phases p = { .tasks = 1000 };
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(1 << 20);
    struct text_node *event = text_map(a, NULL, NULL);
    (void)state;
    text_str(a, event, "type", "allocated");
    struct text_node *nodes = text_map(a, text_map(a, event, "body"), "nodes");
    for (int i = 0; i < 20; i++) {
        struct text_node *list = text_list(a, nodes, arena_printf(a, "n%d", i));
        for (int k = 0; k < 50; k++)
            text_str(a, list, NULL, "w/1");
    }
    phases_event(&p, event, &out);
    assert_non_null(strstr(buf_str(&out), "and 38 more"));
    assert_non_null(strstr(buf_str(&out), "and 4 nodes more"));
    buf_fini(&out);
    arena_destroy(a);
}

static void moved_ports_are_warnings(void **state)
{
    struct phases p = { .tasks = 2 };
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(4096);
    (void)state;
    phases_event(&p,
                 parse(a, "{\"type\":\"task.port\",\"state\":\"starting\",\"at_ms\":1000,"
                          "\"text\":\"master/0: port 23456 is taken\"}"),
                 &out);
    assert_string_equal(out.data, "warning: master/0: port 23456 is taken\n");
    buf_fini(&out);
    arena_destroy(a);
}

static void the_end(void **state)
{
    struct phases p = { .tasks = 4 };
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(4096);
    (void)state;
    phases_final(
        &p,
        parse(
            a,
            "{\"state\":\"succeeded\",\"reason\":\"all well\",\"submitted_ms\":1000,\"ended_ms\":42300}"),
        &out);
    assert_string_equal(out.data, " +41.3s  succeeded  all well\n");
    buf_clear(&out);
    phases_final(
        &p,
        parse(
            a,
            "{\"state\":\"stopping\",\"outcome\":\"failed\",\"reason\":\"r\",\"submitted_ms\":1}"),
        &out);
    assert_string_equal(out.data, " +0.00s  failed     r  (its resources are held)\n");
    buf_fini(&out);
    arena_destroy(a);
}

static void colours(void **state)
{
    struct phases p = { .tasks = 4, .color = true };
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(4096);
    (void)state;
    phases_event(&p, parse(a, "{\"type\":\"started\",\"state\":\"running\",\"text\":\"t\"}"), &out);
    assert_non_null(strstr(out.data, "\033[32mrunning  \033[0m  t\n"));
    buf_fini(&out);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(life),
                                        cmocka_unit_test(unknown_types_say_nothing),
                                        cmocka_unit_test(failures_are_not_a_flood),
                                        cmocka_unit_test(big_placements_are_cut),
                                        cmocka_unit_test(moved_ports_are_warnings),
                                        cmocka_unit_test(the_end),
                                        cmocka_unit_test(colours) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
