/* Which devices are offered, and the text of their models. */
#include "job/gpu.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct gpu_device four[4];
static struct gpu_report report = { .driver = "", .error = "", .at = four, .n = 4 };

static int set_up(void **state)
{
    static const char *const models[] = { "H100", "A100", "A100", "H100" };
    static const char *const uuids[] = { "GPU-aa", "GPU-ab", "GPU-b", "GPU-c" };
    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        four[i] = (struct gpu_device){ .number = i,
                                       .model = models[i],
                                       .uuid = uuids[i],
                                       .pci = "",
                                       .error = i == 3 ? "it does not answer" : "" };
    return 0;
}

static void what_is_visible_is_offered(void **state)
{
    static const struct {
        const char *visible;
        uint32_t n, slots[3];
    } rows[] = {
        { NULL, 3, { 0, 1, 2 } }, { "", 0, { 0 } },      { "2,1", 2, { 1, 2 } },
        { "1, 2", 2, { 1, 2 } },  { "GPU-b", 1, { 2 } }, { "GPU-b,GPU-aa", 2, { 0, 2 } },
        { "0,-1,2", 1, { 0 } },   { "0,9,2", 1, { 0 } }, { "NoDevFiles", 0, { 0 } },
        { "3", 0, { 0 } } /* lost */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(gpu_offer(&report, rows[i].visible), rows[i].n);
        for (uint32_t slot = 0; slot < rows[i].n; slot++)
            assert_int_equal(gpu_in_slot(&report, slot)->number, rows[i].slots[slot]);
        assert_null(gpu_in_slot(&report, rows[i].n));
    }
    assert_null(gpu_in_slot(NULL, 0));
}

static void models_are_named_once(void **state)
{
    struct arena *a = arena_create();
    (void)state;
    gpu_offer(&report, NULL);
    assert_string_equal(gpu_models(&report, a), "H100 + A100");
    gpu_offer(&report, "1,2");
    assert_string_equal(gpu_models(&report, a), "A100");
    gpu_offer(&report, "");
    assert_string_equal(gpu_models(&report, a), "");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_visible_is_offered, set_up),
        cmocka_unit_test_setup(models_are_named_once, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
