/* Strict scanning and canonical printing of numbers, sizes, durations and times: a token is right
 * to its last byte or it is nothing. Fractions are kept as integers, so that "1.1" seconds are 1100
 * milliseconds. Needs LC_NUMERIC "C" (the programs set no other). */
#include "base/scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__extension__ typedef unsigned __int128 u128; /* products that do not fit 64 bits */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits at *s, at least one; false also on overflow. */
static bool take_digits(const char **s, uint64_t *out)
{
    uint64_t n = 0;
    if (!is_digit(**s))
        return false;
    for (; is_digit(**s); (*s)++)
        if (__builtin_mul_overflow(n, 10u, &n) ||
            __builtin_add_overflow(n, (unsigned)(**s - '0'), &n))
            return false;
    *out = n;
    return true;
}

bool scan_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t n;
    if (!take_digits(&s, &n) || *s || n < min || n > max)
        return false;
    *out = n;
    return true;
}

bool scan_i64(const char *s, int64_t min, int64_t max, int64_t *out)
{
    bool negative = *s == '-';
    uint64_t n;
    s += negative;
    if (!take_digits(&s, &n) || *s || n > (uint64_t)INT64_MAX + negative)
        return false;
    int64_t v = negative ? (int64_t)(0 - n) : (int64_t)n;
    if (v < min || v > max)
        return false;
    *out = v;
    return true;
}

static const char *skip_digits(const char *s)
{
    while (is_digit(*s))
        s++;
    return s;
}

bool scan_real(const char *s, double *out)
{
    const char *p = s + (*s == '-');
    if (!is_digit(*p) || (*p == '0' && is_digit(p[1])))
        return false;
    p = skip_digits(p);
    if (*p == '.') {
        if (!is_digit(*++p))
            return false;
        p = skip_digits(p);
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '+' || *p == '-';
        if (!is_digit(*p))
            return false;
        p = skip_digits(p);
    }
    if (*p)
        return false;
    double v = strtod(s, NULL);
    if (!isfinite(v))
        return false;
    *out = v;
    return true;
}

/* "12", "1.5", ".5" is not one: whole + millionths. More than six places are refused when they are
 * not zero. */
struct decimal {
    uint64_t whole, millionths;
    bool fraction; /* a point was there */
};

static bool take_decimal(const char **s, struct decimal *d)
{
    *d = (struct decimal){ .whole = 0 };
    if (!take_digits(s, &d->whole))
        return false;
    if (**s != '.')
        return true;
    d->fraction = true;
    (*s)++;
    if (!is_digit(**s))
        return false;
    uint64_t worth = 100000;
    for (; is_digit(**s); (*s)++, worth /= 10) {
        if (worth == 0 && **s != '0')
            return false;
        d->millionths += (uint64_t)(**s - '0') * worth;
    }
    return true;
}

/* d * unit, exact or rounded down below one; false on overflow. */
static bool scale(const struct decimal *d, uint64_t unit, uint64_t *out)
{
    u128 v = (u128)d->whole * unit + (u128)d->millionths * unit / 1000000u;
    if (v > UINT64_MAX)
        return false;
    *out = (uint64_t)v;
    return true;
}

struct unit {
    const char *word;
    uint64_t worth;
};

#define SECOND 1000u
#define MINUTE (60u * SECOND)
#define HOUR   (60u * MINUTE)
#define DAY    (24u * HOUR)

/* Largest first: parts of a duration come in this order, each once. */
static const struct unit time_units[] = {
    { .word = "d", .worth = DAY },    { .word = "h", .worth = HOUR },
    { .word = "m", .worth = MINUTE }, { .word = "s", .worth = SECOND },
    { .word = "ms", .worth = 1 },
};
#define TIME_UNITS (sizeof time_units / sizeof time_units[0])

/* Index of the unit that the letters at *s spell, from `from` on. */
static size_t take_time_unit(const char **s, size_t from)
{
    size_t n = strspn(*s, "dhms");
    for (size_t i = from; i < TIME_UNITS; i++)
        if (strlen(time_units[i].word) == n && strncmp(*s, time_units[i].word, n) == 0) {
            *s += n;
            return i;
        }
    return TIME_UNITS;
}

bool scan_duration(const char *s, uint64_t *ms)
{
    struct decimal d;
    uint64_t part, sum = 0;
    if (!take_decimal(&s, &d))
        return false;
    if (!*s) {
        if (!scale(&d, SECOND, &sum))
            return false;
        *ms = sum;
        return true;
    }
    for (size_t from = 0;;) {
        size_t u = take_time_unit(&s, from);
        if (u == TIME_UNITS || !scale(&d, time_units[u].worth, &part) ||
            __builtin_add_overflow(sum, part, &sum))
            return false;
        if (!*s)
            break;
        from = u + 1;
        if (!take_decimal(&s, &d))
            return false;
    }
    *ms = sum;
    return true;
}

static const struct unit size_units[] = {
    { .word = "Ki", .worth = 1ull << 10 },
    { .word = "Mi", .worth = 1ull << 20 },
    { .word = "Gi", .worth = 1ull << 30 },
    { .word = "Ti", .worth = 1ull << 40 },
    { .word = "Pi", .worth = 1ull << 50 },
    { .word = "Ei", .worth = 1ull << 60 },
    { .word = "k", .worth = 1000ull },
    { .word = "K", .worth = 1000ull },
    { .word = "M", .worth = 1000000ull },
    { .word = "G", .worth = 1000000000ull },
    { .word = "T", .worth = 1000000000000ull },
    { .word = "P", .worth = 1000000000000000ull },
    { .word = "E", .worth = 1000000000000000000ull },
};
#define SIZE_UNITS     (sizeof size_units / sizeof size_units[0])
#define SIZE_UNITS_BIN 6

bool scan_size(const char *s, uint64_t *bytes)
{
    struct decimal d;
    if (!take_decimal(&s, &d))
        return false;
    uint64_t unit = 1, v;
    for (size_t i = 0; i < SIZE_UNITS && unit == 1; i++) {
        size_t n = strlen(size_units[i].word);
        if (strncmp(s, size_units[i].word, n) == 0) {
            unit = size_units[i].worth;
            s += n;
        }
    }
    if (d.fraction && unit == 1)
        return false;
    s += *s == 'B';
    if (*s || !scale(&d, unit, &v))
        return false;
    *bytes = v;
    return true;
}

bool scan_milli(const char *s, uint64_t *milli)
{
    struct decimal d;
    if (!take_decimal(&s, &d))
        return false;
    if (*s == 'm' && !s[1] && !d.fraction) {
        *milli = d.whole;
        return true;
    }
    uint64_t v;
    if (*s || d.millionths % 1000 || !scale(&d, 1000, &v))
        return false;
    *milli = v;
    return true;
}

/* Whole minutes below an hour and whole seconds below two minutes have one unit; so do milliseconds
 * below ten seconds. */
const char *fmt_duration(char out[FMT_MAX], uint64_t ms)
{
    if (ms % SECOND && ms < 10 * SECOND) {
        snprintf(out, FMT_MAX, "%llums", (unsigned long long)ms);
        return out;
    }
    if (ms % MINUTE && ms < 2 * MINUTE && ms % SECOND == 0) {
        snprintf(out, FMT_MAX, "%llus", (unsigned long long)(ms / SECOND));
        return out;
    }
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < TIME_UNITS; i++) {
        uint64_t n = ms / time_units[i].worth;
        ms %= time_units[i].worth;
        if (n)
            len += (size_t)snprintf(out + len, FMT_MAX - len, "%llu%s", (unsigned long long)n,
                                    time_units[i].word);
    }
    if (len == 0)
        snprintf(out, FMT_MAX, "0s");
    return out;
}

const char *fmt_age(char out[FMT_MAX], uint64_t ms)
{
    size_t u = 0;
    while (u + 2 < TIME_UNITS && ms < time_units[u].worth)
        u++;
    snprintf(out, FMT_MAX, "%llu%s", (unsigned long long)(ms / time_units[u].worth),
             time_units[u].word);
    return out;
}

/* n thousandths without trailing zeros. */
static int print_thousandths(char out[FMT_MAX], uint64_t n, const char *unit)
{
    char fraction[8] = "";
    if (n % 1000) {
        snprintf(fraction, sizeof fraction, ".%03u", (unsigned)(n % 1000));
        for (size_t i = strlen(fraction); fraction[i - 1] == '0'; i--)
            fraction[i - 1] = '\0';
    }
    return snprintf(out, FMT_MAX, "%llu%s%s", (unsigned long long)(n / 1000), fraction, unit);
}

/* The shortest of all exact forms; binary units win a tie. */
const char *fmt_size(char out[FMT_MAX], uint64_t bytes)
{
    snprintf(out, FMT_MAX, "%llu", (unsigned long long)bytes);
    for (size_t i = 0; i < SIZE_UNITS; i++) {
        char text[FMT_MAX];
        uint64_t worth = size_units[i].worth;
        u128 thousandths = (u128)bytes * 1000u;
        if (bytes < worth || thousandths % worth != 0)
            continue;
        print_thousandths(text, (uint64_t)(thousandths / worth), size_units[i].word);
        if (strlen(text) < strlen(out))
            memcpy(out, text, sizeof text);
    }
    return out;
}

const char *fmt_bytes(char out[FMT_MAX], uint64_t bytes)
{
    size_t unit = 0;
    while (unit + 1 < SIZE_UNITS_BIN && bytes >= size_units[unit + 1].worth)
        unit++;
    double value = (double)bytes / (double)size_units[unit].worth;
    if (bytes < size_units[0].worth)
        snprintf(out, FMT_MAX, "%llu", (unsigned long long)bytes);
    else
        snprintf(out, FMT_MAX, "%.*f%s", value < 9.95 ? 1 : 0, value, size_units[unit].word);
    return out;
}

const char *fmt_int(char out[FMT_MAX], int64_t value)
{
    char digits[FMT_MAX];
    size_t n = 0, to = 0;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do
        digits[n++] = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        out[to++] = '-';
    while (n > 0)
        out[to++] = digits[--n];
    out[to] = '\0';
    return out;
}

const char *fmt_milli(char out[FMT_MAX], uint64_t milli)
{
    print_thousandths(out, milli, "");
    return out;
}

static bool is_leap(uint64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days since 1970 as a day: every row of every list says some, and the C library's way is long. */
static void civil(uint64_t days, uint64_t *year, unsigned *month, unsigned *day)
{
    static const unsigned char lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    const unsigned cycle = 146097; /* days of 400 years */
    uint64_t y = 1970 + days / cycle * 400;
    unsigned left = (unsigned)(days % cycle), m = 0, n;
    while (left >= (n = is_leap(y) ? 366 : 365)) {
        left -= n;
        y++;
    }
    while (left >= (n = lengths[m] + (m == 1 && is_leap(y) ? 1u : 0u))) {
        left -= n;
        m++;
    }
    *year = y;
    *month = m + 1;
    *day = left + 1;
}

static char *put_digits(char *to, uint64_t value, unsigned digits)
{
    for (unsigned i = digits; i-- > 0; value /= 10)
        to[i] = (char)('0' + value % 10);
    return to + digits;
}

const char *fmt_time(char out[FMT_MAX], uint64_t unix_ms)
{
    uint64_t seconds = unix_ms / 1000, year;
    unsigned month, day, digits = 4;
    civil(seconds / 86400, &year, &month, &day);
    for (uint64_t more = year / 10000; more; more /= 10)
        digits++;
    char *to = put_digits(out, year, digits);
    *to++ = '-';
    to = put_digits(to, month, 2);
    *to++ = '-';
    to = put_digits(to, day, 2);
    *to++ = 'T';
    to = put_digits(to, seconds / 3600 % 24, 2);
    *to++ = ':';
    to = put_digits(to, seconds / 60 % 60, 2);
    *to++ = ':';
    to = put_digits(to, seconds % 60, 2);
    *to++ = '.';
    to = put_digits(to, unix_ms % 1000, 3);
    *to++ = 'Z';
    *to = '\0';
    return out;
}

const char *fmt_time_local(char out[FMT_MAX], uint64_t unix_ms)
{
    time_t t = (time_t)(unix_ms / 1000);
    struct tm tm = { .tm_mday = 1 };
    localtime_r(&t, &tm);
    if (strftime(out, FMT_MAX, "%Y-%m-%d %H:%M:%S %z", &tm) == 0)
        out[0] = '\0';
    return out;
}
