/* Moments for people: how much of a date is said depends on how far away it is, by the calendar of
 * who reads it and not by hours. */
#include "cli/clock_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define HOUR UINT64_C(3600000)
#define DAY  (24 * HOUR)
/* 2026-03-04 10:30 UTC, a Wednesday. */
#define NOW  UINT64_C(1772620200000)

static int begin(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    return 0;
}

static void check(const char *wanted, uint64_t at_ms, uint64_t now_ms)
{
    char out[CLOCK_TEXT_MAX];
    assert_string_equal(clock_text(out, at_ms, now_ms), wanted);
}

static void today_is_a_time(void **state)
{
    (void)state;
    check("10:30", NOW, NOW);
    check("10:30", NOW + 59999, NOW); /* minutes are enough */
    check("23:30", NOW + 13 * HOUR, NOW);
    check("00:30", NOW - 10 * HOUR, NOW); /* earlier today too */
}

/* Two hours from 23:00 is tomorrow, however near that is. */
static void tomorrow_has_its_day(void **state)
{
    (void)state;
    uint64_t late = NOW + 12 * HOUR + HOUR / 2; /* 23:00 */
    check("Thu 01:00", late + 2 * HOUR, late);
    check("Thu 10:30", NOW + DAY, NOW);
    check("Tue 10:29", NOW + 6 * DAY - 60000, NOW);
}

/* The same day of the next week would look like today's. */
static void further_away_is_a_date(void **state)
{
    (void)state;
    check("2026-03-10 10:30", NOW + 6 * DAY, NOW);
    check("2026-03-11 10:30", NOW + 7 * DAY, NOW);
    check("2027-03-04 10:30", NOW + 365 * DAY, NOW); /* the same day of the year is not today */
}

static void what_is_past_has_its_date(void **state)
{
    (void)state;
    check("2026-03-03 10:30", NOW - DAY, NOW);
    check("1970-01-01 00:00", 0, NOW);
}

static void the_readers_own_calendar(void **state)
{
    (void)state;
    setenv("TZ", "Asia/Tokyo", 1);
    tzset();
    time_t now = (time_t)(NOW / 1000);
    struct tm local = { .tm_mday = 1 };
    localtime_r(&now, &local);
    if (local.tm_hour != 19)
        skip(); /* no zones are installed here */
    check("19:30", NOW, NOW);
    check("Thu 00:30", NOW + 5 * HOUR, NOW); /* today in UTC */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(today_is_a_time, begin),
        cmocka_unit_test_setup(tomorrow_has_its_day, begin),
        cmocka_unit_test_setup(further_away_is_a_date, begin),
        cmocka_unit_test_setup(what_is_past_has_its_date, begin),
        cmocka_unit_test_setup(the_readers_own_calendar, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
