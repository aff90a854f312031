/* Moments for people: the time alone today, with the day of the week within six days, else with the
 * date. Local time, by the C library. */
#include "cli/clock_text.h"

#include <stdbool.h>
#include <time.h>

#define DAY_MS 86400000u

const char *clock_text(char out[CLOCK_TEXT_MAX], uint64_t at_ms, uint64_t now_ms)
{
    time_t t = (time_t)(at_ms / 1000), now = (time_t)(now_ms / 1000);
    struct tm at = { .tm_mday = 1 }, today = { .tm_mday = 1 };
    localtime_r(&t, &at);
    localtime_r(&now, &today);
    bool same_day = at.tm_year == today.tm_year && at.tm_yday == today.tm_yday;
    bool this_week = at_ms >= now_ms && at_ms - now_ms < 6 * (uint64_t)DAY_MS;
    size_t n = same_day    ? strftime(out, CLOCK_TEXT_MAX, "%H:%M", &at)
               : this_week ? strftime(out, CLOCK_TEXT_MAX, "%a %H:%M", &at)
                           : strftime(out, CLOCK_TEXT_MAX, "%Y-%m-%d %H:%M", &at);
    if (n == 0)
        out[0] = '\0';
    return out;
}
