/* Job ids: time-sorted 64-bit numbers and their 13-character base-36 text.
 * Pure; the caller keeps the last id so that ids never repeat, also when the clock steps back. */
#include "job/ids.h"

#include <string.h>

enum { ID_COUNTER_BITS = 20, ID_DIGITS = JOB_ID_TEXT - 1, ID_BASE = 36 };
static const uint64_t ID_MS_MASK = (UINT64_C(1) << 43) - 1;

uint64_t job_id_next(uint64_t last, uint64_t now_ms)
{
    uint64_t by_clock = (now_ms & ID_MS_MASK) << ID_COUNTER_BITS;
    return last + 1 > by_clock ? last + 1 : by_clock;
}

const char *job_id_format(char out[JOB_ID_TEXT], uint64_t id)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    out[ID_DIGITS] = '\0';
    for (size_t i = ID_DIGITS; i-- > 0; id /= ID_BASE)
        out[i] = digits[id % ID_BASE];
    return out;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    return -1;
}

bool job_id_parse(const char *text, uint64_t *id)
{
    if (strncmp(text, "dlc", 3) == 0 && strlen(text) == ID_DIGITS + 3)
        text += 3;
    if (strlen(text) != ID_DIGITS)
        return false;
    uint64_t value = 0;
    for (; *text; text++) {
        int digit = digit_value(*text);
        if (digit < 0 || value > (UINT64_MAX - (uint64_t)digit) / ID_BASE)
            return false;
        value = value * ID_BASE + (uint64_t)digit;
    }
    if (value == 0)
        return false;
    *id = value;
    return true;
}
