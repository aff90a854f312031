/* Live jobs: what their rows keep of them, the order in which they wait, the agents of one; how
 * ends are said, and what jobs say of themselves for searching. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "live/live.h"
#include "live/row_json.h"
#include "live/wording.h"

#include "base/mem.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

static void notes_come_back(void **state)
{
    struct arena *arena = arena_create();
    struct live_column in = { .used = { .platform = 2, .unknown = 1 },
                              .hold_until_ms = 12,
                              .end_by = BY_USER,
                              .force = true };
    struct live_column out = { 0 };
    (void)state;
    row_json_read_job(arena, arena, row_json_of_job(arena, &in), &out);
    assert_memory_equal(&in, &out, sizeof in);
    assert_null(row_json_of_job(arena, &(struct live_column){ 0 }));
    row_json_read_job(arena, arena, NULL, &out);
    assert_int_equal(out.used.platform, 0);

    uint32_t gpus[] = { 1, 3 }, numbers[] = { 20001, 20002 };
    struct placed_port port = { .label = "http", .numbers = numbers, .count = 2 };
    struct live_task task = { .seq = 4,
                              .place = { .address = "127.0.0.2",
                                         .gpus = gpus,
                                         .n_gpus = 2,
                                         .gpu_share_milli = 500,
                                         .ports = &port,
                                         .n_ports = 1 } };
    struct live_task back = { 0 };
    row_json_read_place(arena, arena, row_json_of_place(arena, &task), &back);
    assert_int_equal(back.seq, 4);
    assert_string_equal(back.place.address, "127.0.0.2");
    assert_int_equal(back.place.n_gpus, 2);
    assert_int_equal(back.place.gpus[1], 3);
    assert_int_equal(back.place.gpu_share_milli, 500);
    assert_string_equal(back.place.ports[0].label, "http");
    assert_int_equal(back.place.ports[0].numbers[1], 20002);
    struct live_task broken = { 0 };
    row_json_read_place(arena, arena, "{\"ports\":7,\"gpus\":", &broken);
    assert_int_equal(broken.place.n_ports, 0);
    arena_destroy(arena);
}

static void waiting_is_ordered(void **state)
{
    static const uint32_t priorities[] = { 5, 9, 5, 1, 9, 5 };
    static const uint64_t order[] = { 2, 5, 1, 3, 6, 4 };
    struct live *live = live_create();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(priorities); i++) {
        struct job_row row = { .id = i + 1,
                               .priority = priorities[i],
                               .owner = "",
                               .project = "",
                               .name = "",
                               .queue = "",
                               .dialect = "",
                               .reason.text = "" };
        live_wait_add(live, live_add(live, &row));
    }
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        assert_true(live_waiting_at(live, i)->row.id == order[i]);
    live_wait_remove(live, live_find(live, 1));
    live_remove(live, live_find(live, 5));
    assert_int_equal(live_waiting(live), 4);
    assert_true(live_waiting_at(live, 1)->row.id == 3);
    live_destroy(live);
}

static void ends_have_words(void **state)
{
    char out[WORDS_MAX];
    (void)state;
    assert_string_equal(words_end(out, &(struct ending){ .exited = true, .code = 3 }, NULL),
                        "exited with 3");
    assert_string_equal(
        words_end(out, &(struct ending){ .signal = 9, .by = BY_KERNEL, .oom = true }, ""),
        "killed (SIGKILL by the kernel, out of memory)");
    assert_string_equal(words_end(out, &(struct ending){ .lost = true }, "gone"), "was lost: gone");
    assert_string_equal(words_end(out, &(struct ending){ 0 }, "no such file"),
                        "did not start: no such file");
    assert_string_equal(words_end(out, &(struct ending){ .signal = 64 }, NULL),
                        "killed (signal 64)");
    const struct ending unstarted = { .cause = CAUSE_UNSTARTED };
    const struct ending gone = { .lost = true, .cause = CAUSE_AGENT_GONE };
    assert_string_equal(words_end(out, &unstarted, NULL), "did not start: ended before it started");
    assert_string_equal(words_end(out, &gone, ""), "was lost: its agent is gone");
    assert_string_equal(words_end(out, &gone, "n1 burnt"), "was lost: n1 burnt");
    assert_string_equal(words_beside(&unstarted, ""), "ended before it started");
    assert_string_equal(words_beside(&(struct ending){ .cause = CAUSE_MEMORY }, NULL), "");
    char remark[400]; /* is nobody's to cut */
    memset(remark, 'r', sizeof remark);
    remark[sizeof remark - 1] = '\0';
    assert_string_equal(words_beside(&unstarted, remark), remark);
}

static const char *facet(const struct pairs *facets, const char *name, size_t k)
{
    for (size_t i = 0; i < facets->n; i++)
        if (strcmp(facets->at[i].name, name) == 0 && k-- == 0)
            return facets->at[i].value;
    return NULL;
}

/* Many come, some go, wherever they are; then the next generation begins without any. */
static void agents_are_found_by_node(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    char node[16];
    struct live *live = live_create();
    const struct job_row row = { .id = 1, .state = JOB_RUNNING, .name = "many", .owner = "me" };
    struct live_job *job = live_add(live, &row);
    job->places = arena_create();
    for (uint32_t round = 0; round < 2; round++) {
        assert_null(live_agent(job, "n0"));
        for (uint32_t i = 0; i < MANY; i++) {
            snprintf(node, sizeof node, "n%u", i);
            live_add_agent(job, node)->launch_seq = i + 1;
        }
        for (uint32_t i = 0; i < MANY; i += i % 3 + 1) {
            snprintf(node, sizeof node, "n%u", i);
            live_remove_agent(job, live_agent(job, node));
            assert_null(live_agent(job, node));
        }
        size_t there = 0;
        for (uint32_t i = 0; i < MANY; i++) {
            snprintf(node, sizeof node, "n%u", i);
            const struct live_agent *agent = live_agent(job, node);
            assert_true(!agent || agent->launch_seq == i + 1);
            there += agent != NULL;
        }
        assert_int_equal(there, job->agents.n);
        assert_in_range(there, 1, MANY - 1);
        live_clear_agents(job);
    }
    live_destroy(live);
}

static void jobs_have_facets(void **state)
{
    static const char text[] =
        "{\"framework\":\"tensorflow\",\"labels\":{\"team\":\"a b\",\"x\":\"\"},\"spot_bid\":\"1\","
        "\"roles\":{\"ps\":{\"run\":\"one\"},\"w\":{\"run\":\"two\",\"image\":\"i:1\"},\"v\":{\"run\":[1]}},"
        "\"extra\":{\"dlc\":{\"JobType\":\"TFJob\",\"Accessibility\":\"PUBLIC\"}}}";
    struct arena *arena = arena_create();
    struct report report;
    (void)state;
    report_init(&report, arena);
    struct pairs of = row_json_facets(arena, json_parse(arena, text, strlen(text), 0, &report));
    assert_int_equal(of.n, 8);
    assert_string_equal(facet(&of, "type", 0), "TFJob");
    assert_string_equal(facet(&of, "access", 0), "PUBLIC");
    assert_string_equal(facet(&of, "spot", 0), "");
    assert_string_equal(facet(&of, "label.team", 0), "a b");
    assert_string_equal(facet(&of, "run", 0), "one");
    assert_string_equal(facet(&of, "run", 1), "two");
    assert_string_equal(facet(&of, "image", 0), "i:1");

    char *more = arena_alloc(arena, 8000);
    struct text_node *job = text_map(arena, NULL, NULL);
    memset(more, 'a', 8000);
    memcpy(more + 1999, "\xe4\xb8\xad", 3); /* a character over the edge */
    more[7999] = '\0';
    text_str(arena, job, "description", more);
    of = row_json_facets(arena, job);
    assert_int_equal(of.n, 2);
    assert_string_equal(facet(&of, "type", 0), "");
    assert_int_equal(strlen(facet(&of, "description", 0)), 1999);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_come_back),          cmocka_unit_test(waiting_is_ordered),
        cmocka_unit_test(agents_are_found_by_node), cmocka_unit_test(jobs_have_facets),
        cmocka_unit_test(ends_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
