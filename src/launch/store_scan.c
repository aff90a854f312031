/* Where a request ends, from the shapes of the table. What has been looked at is not looked at
 * again when more bytes come. Pure: no request is done here. */
#include "launch/store_scan.h"

#include <string.h>

static const char *const shapes[] = {
#define SHAPE(name, shape) shape,
    STORE_REQUESTS(SHAPE)
#undef SHAPE
};
#define SHAPES_N (sizeof shapes / sizeof shapes[0])

static uint64_t number_at(const char *at)
{
    uint64_t n;
    memcpy(&n, at, sizeof n);
    return n;
}

/* n more bytes at scan->at? */
static bool have(struct store_scan *scan, size_t len, size_t n)
{
    scan->need = scan->at + n;
    return len >= scan->need;
}

static enum store_scan_result scan_string(struct store_scan *scan, size_t max, const char *bytes,
                                          size_t len)
{
    if (!have(scan, len, sizeof(uint64_t)))
        return STORE_PART;
    uint64_t n = number_at(bytes + scan->at);
    if (n > max)
        return STORE_BAD;
    if (!have(scan, len, sizeof n + (size_t)n))
        return STORE_PART;
    scan->at = scan->need;
    return STORE_WHOLE;
}

static enum store_scan_result scan_list(struct store_scan *scan, const struct store_limits *limits,
                                        const char *bytes, size_t len)
{
    if (!have(scan, len, sizeof(uint64_t)))
        return STORE_PART;
    uint64_t n = number_at(bytes + scan->at);
    if (n > limits->keys_per_call)
        return STORE_BAD;
    scan->pairs = *scan->shape == 'P';
    scan->left = scan->pairs ? 2 * n : n;
    scan->at = scan->need;
    return STORE_WHOLE;
}

static enum store_scan_result scan_field(struct store_scan *scan, const struct store_limits *limits,
                                         const char *bytes, size_t len)
{
    char field = *scan->shape;
    if (field == 'k' || field == 'v')
        return scan_string(scan, field == 'k' ? limits->key_max : limits->value_max, bytes, len);
    if (field == 'K' || field == 'P')
        return scan_list(scan, limits, bytes, len);
    if (!have(scan, len, (size_t)(field - '0')))
        return STORE_PART;
    scan->at = scan->need;
    return STORE_WHOLE;
}

enum store_scan_result store_scan(struct store_scan *scan, const struct store_limits *limits,
                                  const char *bytes, size_t len)
{
    enum store_scan_result got = STORE_WHOLE;
    if (scan->at == 0) {
        if (!have(scan, len, 1))
            return STORE_PART;
        if ((unsigned char)bytes[0] >= SHAPES_N)
            return STORE_BAD;
        scan->shape = shapes[(unsigned char)bytes[0]];
        scan->at = 1;
    }
    while (got == STORE_WHOLE && (scan->left > 0 || *scan->shape)) {
        if (scan->left > 0) {
            bool value = scan->pairs && scan->left % 2 == 1;
            got = scan_string(scan, value ? limits->value_max : limits->key_max, bytes, len);
            scan->left -= got == STORE_WHOLE;
        } else {
            got = scan_field(scan, limits, bytes, len);
            scan->shape += got == STORE_WHOLE;
        }
    }
    return got;
}
