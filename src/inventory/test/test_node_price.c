/* Prices of devices by their models: what is set, what stands for all others, and nothing at all.
 * Names are compared as those of models are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "inventory/node_price.h"

#include "base/mem.h"

static void prices_go_by_model(void **state)
{
    (void)state;
    struct amount list[] = { { "*", 500 }, { "A100", 2500 } };
    const struct amounts prices = { .at = list, .n = 2 }, one = { .at = list + 1, .n = 1 };
    assert_int_equal(node_price(NULL, "A100"), 0); /* any bid will do */
    assert_int_equal(node_price(&(struct amounts){ .n = 0 }, "A100"), 0);
    assert_int_equal(node_price(&prices, "a100"), 2500);
    assert_int_equal(node_price(&prices, ""), 500);
    assert_int_equal(node_price(&prices, NULL), 500);
    assert_int_equal(node_price(&one, "H100"), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(prices_go_by_model) };
    return cmocka_run_group_tests_name("inventory/node_price", tests, NULL, NULL);
}
