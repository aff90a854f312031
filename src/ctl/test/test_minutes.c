/* How much of what launchers tell becomes events: bursts, rates, and the count of what is left out.
 * Only the bounds are looked at here; that kept ones reach the records is test_meeting.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctl/minutes.h"

#define BURST    100u
#define KEPT_MAX 10000u

static void tell(struct minutes *all, struct paces *paces, uint64_t now_ms)
{
    minutes_add(all, paces, now_ms, &(struct minute){ .job = 1, .kind = MINUTE_NOTE, .text = "x" });
}

static uint32_t kept_of(struct minutes *all, struct paces *paces, uint64_t since, uint64_t until)
{
    uint32_t kept = 0;
    for (uint64_t now = since; now < until; now++) {
        tell(all, paces, now);
        kept += paces->details.dropped == 0;
    }
    return kept;
}

static void chatter_has_its_rate(void **state)
{
    (void)state;
    struct minutes *all = minutes_create();
    struct paces paces = { 0 };
    for (uint32_t i = 0; i < BURST; i++)
        tell(all, &paces, 1000);
    assert_int_equal(paces.details.dropped, 0);
    tell(all, &paces, 1000);
    assert_int_equal(paces.details.dropped, 1);
    /* one each millisecond, of which one in two seconds is kept */
    assert_int_equal(kept_of(all, &paces, 1001, 11001), 5);
    minutes_destroy(all);
}

static void what_there_is_no_room_for_is_counted(void **state)
{
    (void)state;
    struct minutes *all = minutes_create();
    struct paces others = { 0 }, paces = { 0 };
    for (uint64_t i = 0; i < KEPT_MAX; i++) {
        others = (struct paces){ 0 };
        tell(all, &others, 1);
    }
    tell(all, &paces, 1);
    assert_int_equal(paces.details.dropped, 1);
    minutes_destroy(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chatter_has_its_rate),
        cmocka_unit_test(what_there_is_no_room_for_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
