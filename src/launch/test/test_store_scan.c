/* Where requests of the store protocol end: every shape, whole and byte by byte, and what is
 * refused before its bytes have come. */
#include "launch/store_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct store_limits limits = { .key_max = 8, .value_max = 16, .keys_per_call = 3 };

struct request {
    char bytes[256];
    size_t len;
};

static void put_number(struct request *r, uint64_t n)
{
    memcpy(r->bytes + r->len, &n, sizeof n);
    r->len += sizeof n;
}

static void put_text(struct request *r, const char *text)
{
    put_number(r, strlen(text));
    memcpy(r->bytes + r->len, text, strlen(text));
    r->len += strlen(text);
}

static void put_field(struct request *r, char field)
{
    if (field == 'k' || field == 'v') {
        put_text(r, field == 'k' ? "key" : "a value");
    } else if (field == 'K' || field == 'P') {
        put_number(r, 2);
        for (int i = 0; i < (field == 'K' ? 2 : 4); i++)
            put_text(r, i % 2 && field == 'P' ? "longer than key" : "key");
    } else {
        r->len += (size_t)(field - '0');
    }
}

static struct request request_of(size_t number, const char *shape)
{
    struct request r = { .bytes = { (char)number }, .len = 1 };
    for (; *shape; shape++)
        put_field(&r, *shape);
    return r;
}

static const char *const shapes[] = {
#define SHAPE(name, shape) shape,
    STORE_REQUESTS(SHAPE)
#undef SHAPE
};
#define SHAPES_N (sizeof shapes / sizeof shapes[0])

static void test_every_request_ends_where_its_shape_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES_N; i++) {
        struct request r = request_of(i, shapes[i]);
        struct store_scan scan = { 0 };
        assert_int_equal(store_scan(&scan, &limits, r.bytes, r.len + 1), STORE_WHOLE);
        assert_int_equal(scan.at, r.len);
    }
}

static void test_bytes_that_come_one_by_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES_N; i++) {
        struct request r = request_of(i, shapes[i]);
        struct store_scan scan = { 0 };
        for (size_t n = 0; n < r.len; n++) {
            assert_int_equal(store_scan(&scan, &limits, r.bytes, n), STORE_PART);
            assert_true(scan.need > n && scan.need <= r.len);
        }
        assert_int_equal(store_scan(&scan, &limits, r.bytes, r.len), STORE_WHOLE);
        assert_int_equal(scan.at, r.len);
    }
}

static enum store_scan_result scanned(const struct request *r)
{
    struct store_scan scan = { 0 };
    return store_scan(&scan, &limits, r->bytes, r->len);
}

static void test_what_is_refused_before_its_bytes_come(void **state)
{
    (void)state;
    struct request unknown = { .bytes = { (char)SHAPES_N }, .len = 1 };
    assert_int_equal(scanned(&unknown), STORE_BAD);

    struct request key = { .bytes = { 3 }, .len = 1 }; /* get */
    put_number(&key, limits.key_max + 1);
    assert_int_equal(scanned(&key), STORE_BAD);

    struct request value = { .bytes = { 1 }, .len = 1 }; /* set */
    put_text(&value, "key");
    put_number(&value, limits.value_max);
    assert_int_equal(scanned(&value), STORE_PART);
    value.len -= sizeof(uint64_t);
    put_number(&value, limits.value_max + 1);
    assert_int_equal(scanned(&value), STORE_BAD);

    struct request list = { .bytes = { 10 }, .len = 1 }; /* multi_get */
    put_number(&list, limits.keys_per_call);
    assert_int_equal(scanned(&list), STORE_PART);
    list.len = 1;
    put_number(&list, limits.keys_per_call + 1);
    assert_int_equal(scanned(&list), STORE_BAD);
}

static void test_values_of_pairs_may_be_longer_than_keys(void **state)
{
    (void)state;
    struct request pairs = { .bytes = { 11 }, .len = 1 }; /* multi_set */
    put_number(&pairs, 1);
    put_text(&pairs, "key");
    put_text(&pairs, "longer than key");
    assert_int_equal(scanned(&pairs), STORE_WHOLE);

    struct request turned = { .bytes = { 11 }, .len = 1 };
    put_number(&turned, 1);
    put_text(&turned, "longer than key");
    put_text(&turned, "key");
    assert_int_equal(scanned(&turned), STORE_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_request_ends_where_its_shape_does),
        cmocka_unit_test(test_bytes_that_come_one_by_one),
        cmocka_unit_test(test_what_is_refused_before_its_bytes_come),
        cmocka_unit_test(test_values_of_pairs_may_be_longer_than_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
