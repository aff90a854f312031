/* What the core hands out to those who answer of it: the same live state, rights and records that
 * its commands change, also after a crash; and devices that are not given out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctl/test/world.h"

#include "account/rights.h"
#include "base/mem.h"
#include "ctl/account.h"
#include "ctl/contents.h"
#include "ctl/node_work.h"
#include "inventory/closed_devices.h"
#include "live/live.h"
#include "sched/cluster.h"
#include "store/store.h"

#include <string.h>

static const char one[] = "{\"name\":\"j\",\"roles\":{\"w\":{\"run\":\"x\"}}}";

static void expect_all(struct world *w, uint64_t id)
{
    struct arena *arena = arena_create();
    struct job_row row;
    const struct contents core = ctl_contents(w->ctl);
    struct live_job *job = live_find(core.live, id);
    assert_ptr_equal(core.ctl, w->ctl);
    assert_ptr_equal(core.store, w->store);
    assert_ptr_equal(core.dialects, ctl_dialects(w->ctl));
    assert_ptr_equal(core.accounts, ctl_accounts(w->ctl));
    assert_int_equal(cluster_count(core.cluster), w->n_nodes);
    assert_int_equal(core.last_id, id);
    assert_non_null(job);
    assert_string_equal(core_spec(w->ctl, job)->name, "j");
    assert_int_equal(core_row(w->ctl, arena, id, &row), 0);
    assert_true(user_may_read(core.accounts, "ada", &row));
    assert_false(user_may_read(core.accounts, "bob", &row));
    assert_int_equal(core_row(w->ctl, arena, id + 1, &row), -1);
    arena_destroy(arena);
}

static void test_same_state(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    uint64_t id = world_submit(&w, one);
    expect_all(&w, id);
    world_crash(&w);
    expect_all(&w, id);
    world_run(&w);
    assert_null(live_find(ctl_contents(w.ctl).live, id)); /* it has ended */
    world_fini(&w);
}

static void test_closed_device(void **state)
{
    (void)state;
    struct world w;
    struct device_trouble found = { .why = NULL };
    const struct device_trouble held = { "device 0 of n1 is held by 12", 14, true };
    world_init(&w);
    const struct contents core = ctl_contents(w.ctl);
    const char *node = cluster_node(core.cluster, 0).spec->name;
    assert_false(device_trouble(core.closed_devices, node, 0, &found));
    ctl_device(w.ctl, node, 0, &held);
    assert_true(device_trouble(core.closed_devices, node, 0, &found));
    assert_string_equal(found.why, held.why);
    assert_int_equal(found.subject, held.subject);
    assert_true(found.is);
    assert_false(device_trouble(core.closed_devices, node, 1, &found));
    ctl_device(w.ctl, node, 0, NULL);
    assert_false(device_trouble(core.closed_devices, node, 0, &found));
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_state),
        cmocka_unit_test(test_closed_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
