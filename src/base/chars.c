/* The half of scan.h about characters: UTF-8, columns on a terminal, nearest names. Widths come
 * from a table of our own, not from wcwidth(3): that one follows the locale, which services do not
 * set. */
#include "base/scan.h"

#include "base/mem.h"

#include <string.h>

#define HIGH_BITS 0x8080808080808080u
#define LOW_BITS  0x0101010101010101u

/* Bytes of the well-formed character at s (1..4) and its code; 0 when it is not one. */
static size_t take_char(const unsigned char *s, size_t n, uint32_t *code)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (len == 0 || len > n || s[0] > 0xf4)
        return 0;
    uint32_t c = len == 1 ? s[0] : s[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3fu);
    }
    if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *code = c;
    return len;
}

size_t scan_char(const char *s, size_t n, uint32_t *code)
{
    return n ? take_char((const unsigned char *)s, n, code) : 0;
}

size_t scan_utf8_prefix(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint64_t word;
        /* Eight at once while no byte is NUL or above 0x7f. */
        while (i + sizeof word <= n) {
            memcpy(&word, s + i, sizeof word);
            if ((word | (word - LOW_BITS)) & HIGH_BITS)
                break;
            i += sizeof word;
        }
        uint32_t code;
        size_t len = i < n ? scan_char(s + i, n - i, &code) : 0;
        if (len == 0 || code == 0)
            break;
        i += len;
    }
    return i;
}

bool scan_utf8(const char *s, size_t n)
{
    return scan_utf8_prefix(s, n) == n;
}

struct range {
    uint32_t from, to;
};

/* Unicode: nonspacing marks and format characters (the common blocks), East Asian wide and emoji.
 * Sorted. */
static const struct range no_width[] = {
    { 0x0300, 0x036f }, { 0x0483, 0x0489 },   { 0x0591, 0x05bd },   { 0x0610, 0x061a },
    { 0x064b, 0x065f }, { 0x06d6, 0x06dc },   { 0x0900, 0x0902 },   { 0x093c, 0x093c },
    { 0x0941, 0x0948 }, { 0x094d, 0x094d },   { 0x0e31, 0x0e31 },   { 0x0e34, 0x0e3a },
    { 0x0e47, 0x0e4e }, { 0x1160, 0x11ff },   { 0x1ab0, 0x1aff },   { 0x1dc0, 0x1dff },
    { 0x200b, 0x200f }, { 0x202a, 0x202e },   { 0x2060, 0x2064 },   { 0x20d0, 0x20ff },
    { 0x302a, 0x302d }, { 0x3099, 0x309a },   { 0xfe00, 0xfe0f },   { 0xfe20, 0xfe2f },
    { 0xfeff, 0xfeff }, { 0x1f3fb, 0x1f3ff }, { 0xe0100, 0xe01ef },
};
static const struct range double_width[] = {
    { 0x1100, 0x115f },   { 0x231a, 0x231b },   { 0x23e9, 0x23ec },   { 0x2614, 0x2615 },
    { 0x26a1, 0x26a1 },   { 0x2705, 0x2705 },   { 0x274c, 0x274c },   { 0x2e80, 0x303e },
    { 0x3041, 0x33ff },   { 0x3400, 0x4dbf },   { 0x4e00, 0x9fff },   { 0xa000, 0xa4cf },
    { 0xa960, 0xa97f },   { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },
    { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x17000, 0x18cff }, { 0x1b000, 0x1b2ff },
    { 0x1f18e, 0x1f18e }, { 0x1f191, 0x1f19a }, { 0x1f200, 0x1f320 }, { 0x1f32d, 0x1f64f },
    { 0x1f680, 0x1f6fc }, { 0x1f7e0, 0x1f7eb }, { 0x1f90c, 0x1f9ff }, { 0x1fa70, 0x1faff },
    { 0x20000, 0x3fffd },
};

static bool in_ranges(const struct range *r, size_t n, uint32_t code)
{
    while (n > 0) {
        size_t half = n / 2;
        if (code > r[half].to) {
            r += half + 1;
            n -= half + 1;
        } else if (code < r[half].from) {
            n = half;
        } else {
            return true;
        }
    }
    return false;
}

static size_t char_columns(uint32_t code)
{
    if (code < 0x300)
        return 1;
    if (in_ranges(no_width, ARRAY_LEN(no_width), code))
        return 0;
    return in_ranges(double_width, ARRAY_LEN(double_width), code) ? 2 : 1;
}

size_t scan_columns(const char *s, size_t n)
{
    size_t columns = 0;
    for (size_t i = 0; i < n;) {
        uint32_t code = 0;
        size_t len = scan_char(s + i, n - i, &code);
        columns += char_columns(code);
        i += len ? len : 1;
    }
    return columns;
}

#define WORD_MAX 64u

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (insert, drop, change, swap of neighbours) from a to b, letter case aside. Both at most
 * WORD_MAX bytes. */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++)
        above[j] = before[j] = j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            char x = lower(a[i - 1]), y = lower(b[j - 1]);
            row[j] = least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *old = before;
        before = above;
        above = row;
        row = old;
    }
    return above[m];
}

const char *scan_nearest(const char *word, const char *const *names, size_t n)
{
    size_t len = strlen(word);
    if (len == 0 || len > WORD_MAX)
        return NULL;
    /* Of three letters one may be wrong, of long words a third. */
    size_t limit = len <= 3 ? 1 : len < 9 ? 2 : len / 3;
    const char *best = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t other = strlen(names[i]);
        if (other > WORD_MAX || other > len + limit || len > other + limit)
            continue;
        size_t d = distance(word, names[i]);
        if (d > limit || d >= other)
            continue;
        best = names[i];
        if (d == 0)
            break;
        limit = d - 1; /* only nearer ones from here */
    }
    return best;
}
