/* Which devices are offered, by the variable that hides some and without those that are lost, and
 * the text of their models: each model once. */
#include "job/gpu.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Two devices of which the second is divided, two more, one of them lost. */
static struct gpu_device all[6];
static struct gpu_report report;
static struct arena *arena;

static int set_up(void **state)
{
    static const char *const models[] = { "H100", "A100", "A100 MIG 1g.10gb", "A100 MIG 1g.10gb",
                                          "A100", "H100" };
    static const char *const uuids[] = { "GPU-aa", "GPU-ab", "MIG-1", "MIG-2", "GPU-b", "GPU-c" };
    static const uint32_t numbers[] = { 0, 1, 1, 1, 2, 3 };
    (void)state;
    arena_destroy(arena);
    arena = arena_create();
    for (uint32_t i = 0; i < ARRAY_LEN(all); i++)
        all[i] = (struct gpu_device){ .number = numbers[i],
                                      .model = models[i],
                                      .uuid = uuids[i],
                                      .pci = "",
                                      .divided = i == 1,
                                      .error = i == 5 ? "it does not answer" : "" };
    for (uint32_t i = 2; i < 4; i++)
        all[i].figures[GPU_MIG] = (struct gpu_number){ .has = true, .value = i - 2 };
    report = (struct gpu_report){ .driver = "", .error = "", .at = all, .n = ARRAY_LEN(all) };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_destroy(arena);
    arena = NULL;
    return 0;
}

static void what_is_visible_is_offered(void **state)
{
    static const struct {
        const char *visible;
        uint32_t n, working;
        const char *uuids[5];
    } rows[] = {
        { NULL, 5, 4, { "GPU-aa", "MIG-1", "MIG-2", "GPU-b", "GPU-c" } },
        { "", 0, 0, { NULL } },
        { "2,0", 2, 2, { "GPU-aa", "GPU-b" } },
        { "0, 2", 2, 2, { "GPU-aa", "GPU-b" } },
        { "GPU-b", 1, 1, { "GPU-b" } },
        { "GPU-b,GPU-aa", 2, 2, { "GPU-aa", "GPU-b" } },
        { "1", 2, 2, { "MIG-1", "MIG-2" } },
        { "GPU-ab", 2, 2, { "MIG-1", "MIG-2" } },
        { "MIG-2", 1, 1, { "MIG-2" } },
        { "0,-1,2", 1, 1, { "GPU-aa" } },
        { "0,9,2", 1, 1, { "GPU-aa" } },
        { "NoDevFiles", 0, 0, { NULL } },
        { "3", 1, 0, { "GPU-c" } }, /* lost: kept a place for */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        set_up(state);
        assert_int_equal(gpu_count_visible(&report, rows[i].visible), rows[i].working);
        assert_int_equal(gpu_offer(arena, &report, rows[i].visible), rows[i].n);
        for (uint32_t slot = 0; slot < rows[i].n; slot++)
            assert_string_equal(gpu_in_slot(&report, slot)->uuid, rows[i].uuids[slot]);
        assert_null(gpu_in_slot(&report, rows[i].n));
    }
    assert_null(gpu_in_slot(NULL, 0));
}

/* What has a slot keeps it when more is found. */
static void slots_stay(void **state)
{
    (void)state;
    assert_int_equal(gpu_offer(arena, &report, "2"), 1);
    assert_int_equal(gpu_offer(arena, &report, NULL), 5);
    assert_string_equal(gpu_in_slot(&report, 0)->uuid, "GPU-b");
    assert_string_equal(gpu_in_slot(&report, 1)->uuid, "GPU-aa");
}

static void models_are_named_once(void **state)
{
    char label[GPU_LABEL_MAX];
    (void)state;
    gpu_offer(arena, &report, "0,2,3");
    assert_string_equal(gpu_models(&report, arena), "H100 + A100");
    set_up(state);
    gpu_offer(arena, &report, "1");
    assert_string_equal(gpu_models(&report, arena), "A100 MIG 1g.10gb");
    assert_string_equal(gpu_label(gpu_in_slot(&report, 1), label), "1:1");
    set_up(state);
    gpu_offer(arena, &report, "");
    assert_string_equal(gpu_models(&report, arena), "");
}

static void link_to(struct gpu_link *at, uint32_t to, uint32_t nvlinks, uint32_t path)
{
    *at = (struct gpu_link){ .to = to, .nvlinks = nvlinks, .has_path = true, .path = path };
}

static void near_is_what_links_say(void **state)
{
    struct gpu_link of_0[2];
    (void)state;
    report.n = 5;
    gpu_offer(arena, &report, NULL);
    assert_non_null(report.near); /* two instances of one device */
    assert_true(report.near[1 * 4 + 2] > report.near[0 * 4 + 1]);
    set_up(state);
    link_to(&of_0[0], 1, 0, 20);
    link_to(&of_0[1], 2, 4, 50);
    all[0].links = of_0;
    all[0].n_links = 2;
    all[1].divided = false;
    all[2] = all[4];
    report.n = 3;
    gpu_offer(arena, &report, NULL);
    assert_int_equal(report.near[0 * 3 + 1], 40);
    assert_int_equal(report.near[1 * 3 + 0], 40);
    assert_int_equal(report.near[0 * 3 + 2], 4000); /* NVLink before any path */
    assert_int_equal(report.near[1 * 3 + 2], 0);
    all[0].links = NULL;
    all[0].n_links = 0;
    for (size_t i = 0; i < 3; i++)
        all[i].figures[GPU_NUMA] = (struct gpu_number){ .has = true, .value = i > 0 };
    gpu_offer(arena, &report, NULL);
    assert_int_equal(report.near[1 * 3 + 2], 20);
    all[0].figures[GPU_NUMA].value = 1;
    gpu_offer(arena, &report, NULL);
    assert_null(report.near); /* all alike */
}

static void what_slows_down_has_words(void **state)
{
    size_t at = 0;
    (void)state;
    assert_null(gpu_throttle(1, &at));
    at = 0;
    assert_string_equal(gpu_throttle(0x45, &at), "power cap");
    assert_string_equal(gpu_throttle(0x45, &at), "hardware thermal");
    assert_null(gpu_throttle(0x45, &at));
}

int main(void)
{
#define TEST(name_) cmocka_unit_test_setup_teardown(name_, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_visible_is_offered), TEST(slots_stay),
        TEST(models_are_named_once),      TEST(near_is_what_links_say),
        TEST(what_slows_down_has_words),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
