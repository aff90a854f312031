/* Kubernetes quantities in integers: mantissa, a power of ten, a power of two. Bounded: mantissas
 * of more digits than 128 bits hold are no number anybody means. */
#include "text/quantity.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

struct number {
    u128 mantissa;
    int tens; /* value = mantissa * 10^tens * 2^twos */
    int twos;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits, at most one point, at least one digit. Zeros behind what 128 bits hold are lost: false.
 */
static bool take_mantissa(const char **s, struct number *n)
{
    enum { DIGITS_MAX = 30 };
    bool point = false, some = false;
    int digits = 0;
    for (; is_digit(**s) || (**s == '.' && !point); (*s)++) {
        if (**s == '.') {
            point = true;
            continue;
        }
        some = true;
        if (n->mantissa > 0 && ++digits > DIGITS_MAX)
            return false;
        n->mantissa = n->mantissa * 10 + (unsigned)(**s - '0');
        n->tens -= point;
    }
    return some;
}

static bool take_exponent(const char **s, struct number *n)
{
    enum { EXPONENT_MAX = 30 };
    const char *p = *s + 1;
    bool negative = *p == '-';
    int exponent = 0;
    p += *p == '-' || *p == '+';
    if (!is_digit(*p))
        return false;
    for (; is_digit(*p); p++)
        if (exponent <= EXPONENT_MAX)
            exponent = exponent * 10 + (*p - '0');
    n->tens += negative ? -exponent : exponent;
    *s = p;
    return true;
}

static bool take_suffix(const char *s, struct number *n)
{
    static const struct {
        const char *word;
        int tens, twos;
    } suffixes[] = {
        { .word = "", .tens = 0 },    { .word = "n", .tens = -9 },  { .word = "u", .tens = -6 },
        { .word = "m", .tens = -3 },  { .word = "k", .tens = 3 },   { .word = "M", .tens = 6 },
        { .word = "G", .tens = 9 },   { .word = "T", .tens = 12 },  { .word = "P", .tens = 15 },
        { .word = "E", .tens = 18 },  { .word = "Ki", .twos = 10 }, { .word = "Mi", .twos = 20 },
        { .word = "Gi", .twos = 30 }, { .word = "Ti", .twos = 40 }, { .word = "Pi", .twos = 50 },
        { .word = "Ei", .twos = 60 },
    };
    if ((*s == 'e' || *s == 'E') && s[1] &&
        s[1] != 'i') /* "1E" is exa, "1e3" and "1E3" are a thousand */
        return take_exponent(&s, n) && *s == '\0';
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (strcmp(s, suffixes[i].word) == 0) {
            n->tens += suffixes[i].tens;
            n->twos = suffixes[i].twos;
            return true;
        }
    return false;
}

/* Multiplied first, then divided with the rest rounded up, so that nothing is lost between. */
static bool settle(struct number n, uint32_t scale, uint64_t *out)
{
    const u128 most = ((u128)1 << 127) - 1;
    u128 value = n.mantissa;
    if (value > most >> n.twos)
        return false;
    value <<= n.twos;
    if (value > most / scale)
        return false;
    value *= scale;
    for (; n.tens > 0; n.tens--) {
        if (value > most / 10)
            return value == 0;
        value *= 10;
    }
    bool rest = false;
    for (; n.tens < 0 && value > 0; n.tens++) {
        rest |= value % 10 != 0;
        value /= 10;
    }
    value += rest;
    if (value > INT64_MAX)
        return false;
    *out = (uint64_t)value;
    return true;
}

enum quantity quantity_scan(const char *s, uint32_t scale, uint64_t *out)
{
    struct number n = { .mantissa = 0 };
    bool negative = *s == '-';
    s += *s == '-' || *s == '+';
    if (!take_mantissa(&s, &n) || !take_suffix(s, &n))
        return QUANTITY_NONE;
    if (negative && n.mantissa > 0)
        return QUANTITY_NEGATIVE;
    return settle(n, scale, out) ? QUANTITY_OK : QUANTITY_LARGE;
}
