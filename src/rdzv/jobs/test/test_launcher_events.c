/* How much of what launchers tell becomes events: bursts, rates, and the count of what is left out.
 * Only the bounds are looked at here; that kept ones reach the records is test_rdzv_table.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rdzv/jobs/launcher_events.h"

#define BURST    100u
#define KEPT_MAX 10000u

static void tell(struct launcher_events *all, struct event_rates *limits, uint64_t now_ms)
{
    launcher_events_add(
        all, limits, now_ms,
        &(struct launcher_event){ .job = 1, .kind = LAUNCHER_EVENT_NOTE, .text = "x" });
}

static uint32_t kept_of(struct launcher_events *all, struct event_rates *limits, uint64_t since,
                        uint64_t until)
{
    uint32_t kept = 0;
    for (uint64_t now = since; now < until; now++) {
        tell(all, limits, now);
        kept += limits->details.dropped == 0;
    }
    return kept;
}

static void chatter_has_its_rate(void **state)
{
    (void)state;
    struct launcher_events *all = launcher_events_create();
    struct event_rates limits = { 0 };
    for (uint32_t i = 0; i < BURST; i++)
        tell(all, &limits, 1000);
    assert_int_equal(limits.details.dropped, 0);
    tell(all, &limits, 1000);
    assert_int_equal(limits.details.dropped, 1);
    /* one each millisecond, of which one in two seconds is kept */
    assert_int_equal(kept_of(all, &limits, 1001, 11001), 5);
    launcher_events_destroy(all);
}

static void what_there_is_no_room_for_is_counted(void **state)
{
    (void)state;
    struct launcher_events *all = launcher_events_create();
    struct event_rates others = { 0 }, limits = { 0 };
    for (uint64_t i = 0; i < KEPT_MAX; i++) {
        others = (struct event_rates){ 0 };
        tell(all, &others, 1);
    }
    tell(all, &limits, 1);
    assert_int_equal(limits.details.dropped, 1);
    launcher_events_destroy(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chatter_has_its_rate),
        cmocka_unit_test(what_there_is_no_room_for_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
