/* Views as JSON: every kind has a schema, and an explanation is printed with the sentences and
 * commands that its numbers stand for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/test/trees.h"
#include "api/view_json.h"
#include "base/mem.h"
#include "explain/view.h"

static const char *said(struct fix *f, const struct explain_view *view, const char *member)
{
    const struct text_node *all = view_put(f->arena, NULL, NULL, VIEW_EXPLAIN, view);
    const struct text_node *one = text_get(all, member);
    AUTO_BUF struct buf out = BUF_INIT(1u << 16);
    if (!one)
        return NULL;
    json_print(one, 0, &out);
    return arena_strdup(f->arena, buf_str(&out));
}

static void every_kind_has_a_schema(void **state)
{
    struct fix *f = *state;
    for (int kind = 0; kind < VIEW_N; kind++) {
        const struct text_node *schema = view_schema(f->arena, (enum view_kind)kind);
        assert_non_null(view_name((enum view_kind)kind));
        assert_non_null(text_get(schema, "properties")->first);
    }
}

static void a_way_is_a_command(void **state)
{
    struct fix *f = *state;
    const char *set = "roles.w.env.X=a b";
    struct pair places[] = {
        { "w/0", "n1" }, { "w/1", "n1" }, { "w/2", "n2" }, { "w/3", "n3" }, { "w/4", "n4" }
    };
    struct change_view way = { .kind = CHANGE_REPLICAS,
                               .set = "replicas=5",
                               .sets = { &set, 1 },
                               .gpu_milli = 7500,
                               .places = { .at = places, .n = 1 } };
    struct explain_view view = { .job = 7, .number = 12, .ways = { &way, 1 } };
    assert_string_equal(
        said(f, &view, "ways"),
        "[{\"what\":\"replicas=5\",\"kind\":\"replicas\",\"how\":\"muster submit "
        "--like 12 --replace --set 'roles.w.env.X=a b'\",\"gives\":\"1 task, 7.5 "
        "gpu on n1\",\"set\":[\"roles.w.env.X=a b\"],\"places\":{\"w/0\":\"n1\"}}]");
    way.gpu_milli = 0;
    way.places.n = ARRAY_LEN(places);
    view.job = 0;
    const char *text = said(f, &view, "ways");
    assert_non_null(strstr(text, "\"how\":\"muster submit FILE --set "));
    assert_non_null(strstr(text, "\"gives\":\"5 tasks on n1 n2 n3 and 1 more\""));
    view.file = "my job.yaml";
    assert_non_null(strstr(said(f, &view, "ways"), "\"how\":\"muster submit 'my job.yaml' --set "));
    way = (struct change_view){ .kind = CHANGE_RESUME };
    assert_string_equal(said(f, &view, "ways"),
                        "[{\"what\":\"joins the queue\",\"kind\":\"resume\",\"how\":\"muster "
                        "resume 12\"}]");
    way.at_once = true;
    assert_non_null(strstr(said(f, &view, "ways"), "would start at once"));
}

static void what_if_is_a_command(void **state)
{
    struct fix *f = *state;
    const char *sets[] = { "queue=q", "priority=9" };
    struct explain_view view = { .number = 3 };
    assert_null(said(f, &view, "how"));
    assert_null(said(f, &view, "ways"));
    view.changes = (struct words){ sets, 2 };
    assert_string_equal(said(f, &view, "how"),
                        "\"muster submit --like 3 --set queue=q --set priority=9\"");
    view.in_its_place = true;
    view.never = "the largest node has 4";
    assert_string_equal(said(f, &view, "never"), "\"the largest node has 4\"");
    view.changes.n = 1;
    assert_string_equal(said(f, &view, "how"),
                        "\"muster submit --like 3 --replace --wait --set queue=q\"");
}

static void limits_are_checks(void **state)
{
    struct fix *f = *state;
    struct checks_view checks = { .strategy = QUEUE_FIFO, .blocked = true, .ahead = 2 };
    struct share_view shares[] = { { .queue = "q", .maximum = VECTOR_ANY },
                                   { .user = "ada", .maximum = { 1, UINT64_MAX, 3 } } };
    struct explain_view view = { .checks = &checks, .quota = { shares, 2 } };
    for (int i = 0; i < LIMIT_CHECKS; i++)
        checks.limits[i].limit = VECTOR_ANY;
    checks.limits[CHECK_ABOVE] = (struct limit_check){
        .exceeded = true, .gpu = true, .limit = { UINT64_MAX, UINT64_MAX, 4000 }, .queue = "up"
    };
#define NOTHING "\"used\":{\"cpu_milli\":0,\"memory\":0,\"gpu_milli\":0}"
    assert_string_equal(
        said(f, &view, "checks"),
        "[{\"name\":\"SelfQuotaLimit\",\"status\":\"Passed\",\"exceed_resources\":[]," NOTHING
        "},{\"name\":\"AncestorQuotaLimit\",\"status\":\"Exceeded\",\"exceed_resources\":[\"gpu\"]," NOTHING
        ",\"limit\":{\"gpu_milli\":4000},\"queue\":\"up\"},{\"name\":\"UserLimit\","
        "\"status\":\"Passed\",\"exceed_resources\":[]," NOTHING
        "},{\"name\":\"QueueStrategyLimit\",\"status\":\"Exceeded\",\"exceed_resources\":[],"
        "\"strategy\":\"fifo\",\"ahead\":2}]");
    assert_string_equal(said(f, &view, "quota"),
                        "[{\"queue\":\"q\"," NOTHING "},{\"user\":\"ada\"," NOTHING
                        ",\"maximum\":{\"cpu_milli\":1,\"gpu_milli\":3}}]");
}

static void estimates_have_their_sources(void **state)
{
    struct fix *f = *state;
    struct estimates_view estimates = { .by_limit_ms = 1000 };
    struct run_time_view runs = { .limit_ms = { .has = true, .value = 60000 } };
    struct explain_view view = { .estimates = &estimates, .run_time = &runs };
    assert_string_equal(
        said(f, &view, "estimates"),
        "[{\"source\":\"limit\",\"at\":\"1970-01-01T00:00:01.000Z\",\"at_ms\":1000}]");
    assert_string_equal(said(f, &view, "run_time"), "{\"limit_ms\":60000,\"source\":\"limit\"}");
    estimates = (struct estimates_view){ .learnt = true, .known = 2, .jobs = 3 };
    runs = (struct run_time_view){
        .jobs = 8, .of_queue = true, .median_ms = 2, .low_ms = 1, .high_ms = 3
    };
    assert_non_null(strstr(said(f, &view, "estimates"), "\"known\":2,\"jobs\":3"));
    assert_null(strstr(said(f, &view, "estimates"), "limit"));
    assert_string_equal(said(f, &view, "run_time"),
                        "{\"of\":\"queue\",\"jobs\":8,\"median_ms\":2,\"low_ms\":1,\"high_ms\":3,"
                        "\"source\":\"learnt\"}");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_kind_has_a_schema),      TEST(a_way_is_a_command),
        TEST(what_if_is_a_command),         TEST(limits_are_checks),
        TEST(estimates_have_their_sources),
    };
    return cmocka_run_group_tests_name("api/view_json", tests, NULL, NULL);
}
