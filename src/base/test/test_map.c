/* Maps against a plain array as the model, with many removals and a million keys. Hashes against
 * published test vectors and the values that jobs' records hold; numbers as bytes. */
#include "base/map.h"

#include "base/dice.h"
#include "base/hash.h"
#include "base/little_endian.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#define KEYS 500u

static void behaves_like_an_array(void **state)
{
    (void)state;
    struct map *m = map_create();
    char values[4];
    void *model[KEYS] = { NULL };
    struct dice dice = { 42 };
    size_t count = 0;
    for (int step = 0; step < 100000; step++) {
        uint64_t key = dice_roll(&dice) % KEYS;
        void *value = &values[dice_roll(&dice) % 4];
        assert_ptr_equal(map_get(m, key), model[key]);
        if (dice_roll(&dice) % 2) {
            count += !model[key];
            map_set(m, key, value);
            model[key] = value;
        } else {
            assert_ptr_equal(map_remove(m, key), model[key]);
            count -= model[key] != NULL;
            model[key] = NULL;
        }
        assert_int_equal(map_count(m), count);
    }
    size_t cursor = 0, seen = 0;
    uint64_t key;
    void *value;
    for (; map_next(m, &cursor, &key, &value); seen++)
        assert_ptr_equal(model[key], value);
    assert_int_equal(seen, count);
    map_destroy(m);
    map_destroy(NULL);
}

static void holds_a_million(void **state)
{
    (void)state;
    struct map *m = map_create();
    for (uint64_t i = 1; i <= 1000000; i++)
        map_set(m, i << 20, m);
    assert_int_equal(map_count(m), 1000000);
    for (uint64_t i = 1; i <= 1000000; i++)
        assert_ptr_equal(map_remove(m, i << 20), m);
    assert_int_equal(map_count(m), 0);
    assert_null(map_get(m, 1u << 20));
    map_destroy(m);
}

static void text_keys_are_copied(void **state)
{
    (void)state;
    struct string_map *m = string_map_create();
    char key[32];
    int values[1000];
    assert_null(string_map_get(m, "k1"));
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "k%d", i);
        string_map_set(m, key, &values[i]);
    }
    string_map_set(m, "k5", &values[0]);
    assert_ptr_equal(string_map_get(m, "k5"), &values[0]);
    for (int i = 0; i < 1000; i += 2) {
        snprintf(key, sizeof key, "k%d", i);
        assert_ptr_equal(string_map_remove(m, key), &values[i]);
        assert_null(string_map_remove(m, key));
    }
    assert_int_equal(string_map_count(m), 500);
    size_t cursor = 0, seen = 0;
    const char *name;
    void *value;
    for (; string_map_next(m, &cursor, &name, &value); seen++)
        assert_ptr_equal(string_map_get(m, name), value);
    assert_int_equal(seen, 500);
    string_map_set(m, "", &values[1]);
    assert_ptr_equal(string_map_get(m, ""), &values[1]);
    string_map_destroy(m);
    string_map_destroy(NULL);
}

static void text_map_is_destroyed_in_steps(void **state)
{
    (void)state;
    struct string_map *m = string_map_create();
    char key[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "k%d", i);
        string_map_set(m, key, mem_new(8));
    }
    size_t cursor = 0, steps = 1;
    while (string_map_destroy_some(m, &cursor, 100, free))
        steps++;
    assert_int_equal(steps, 21); /* of 2048 slots */
    cursor = 0;
    assert_false(string_map_destroy_some(string_map_create(), &cursor, 100, NULL));
}

static void hash_is_keyed(void **state)
{
    (void)state;
    struct hash_seed a = { .k = { 1, 2 } }, b = { .k = { 1, 3 } };
    assert_int_equal(hash_bytes(a, "hello", 5), hash_bytes(a, "hello", 5));
    assert_int_not_equal(hash_bytes(a, "hello", 5), hash_bytes(b, "hello", 5));
    assert_int_not_equal(hash_bytes(a, "hello", 5), hash_bytes(a, "hello\0", 6));
    assert_int_not_equal(hash_bytes(a, "12345678", 8), hash_bytes(a, "12345679", 8));
    struct hash_seed r = hash_seed_random(), s = hash_seed_random();
    assert_memory_not_equal(&r, &s, sizeof r);
}

static void crc_as_zlib(void **state)
{
    char zeros[32] = { 0 };
    (void)state;
    assert_int_equal(hash_crc32("", 0), 0);
    assert_int_equal(hash_crc32("123456789", 9), 0xcbf43926); /* the check value of catalogues */
    assert_int_equal(hash_crc32(zeros, sizeof zeros), 0x190a55ad);
    assert_int_equal(hash_crc32("\xff\xff\xff\xff", 4), 0xffffffff);
}

static void fnv_as_published(void **state)
{
    (void)state;
    assert_int_equal(hash_fnv32(""), 0x811c9dc5); /* test vectors of the FNV page */
    assert_int_equal(hash_fnv32("a"), 0xe40c292c);
    assert_int_equal(hash_fnv32("foobar"), 0xbf9cf968);
}

/* Chains are in jobs' records: they may not change. */
static void chains_of_values(void **state)
{
    (void)state;
    assert_true(hash_add(HASH_BEGIN, 0) == UINT64_C(0xf8bb92ce26585846));
    assert_true(hash_add_text(HASH_BEGIN, "") == hash_add(HASH_BEGIN, 1));
    assert_true(hash_add_text(HASH_BEGIN, NULL) == hash_add(HASH_BEGIN, 1));
    assert_true(hash_add_text(HASH_BEGIN, "foobar") ==
                hash_add(UINT64_C(0x85944171f73967e8), 1)); /* FNV-1a of 64 bits, and the end */
    uint64_t apart = hash_add_text(hash_add_text(HASH_BEGIN, "ab"), "c");
    assert_true(apart != hash_add_text(hash_add_text(HASH_BEGIN, "a"), "bc"));
    assert_true(hash_add(hash_add(HASH_BEGIN, 1), 2) != hash_add(hash_add(HASH_BEGIN, 2), 1));
}

static void little_ends(void **state)
{
    unsigned char at[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    (void)state;
    little_endian_put(at, 0x1122334455667788u, 8);
    assert_memory_equal(at, "\x88\x77\x66\x55\x44\x33\x22\x11\x01", 9);
    assert_true(little_endian_get(at, 8) == 0x1122334455667788u);
    assert_int_equal(little_endian_get(at + 1, 2), 0x6677);
    little_endian_put(at, 0xaabbccdd, 3); /* what does not fit is left out */
    assert_memory_equal(at, "\xdd\xcc\xbb\x55", 4);
    assert_int_equal(little_endian_get(at, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behaves_like_an_array), cmocka_unit_test(holds_a_million),
        cmocka_unit_test(text_keys_are_copied),  cmocka_unit_test(text_map_is_destroyed_in_steps),
        cmocka_unit_test(hash_is_keyed),         cmocka_unit_test(crc_as_zlib),
        cmocka_unit_test(fnv_as_published),      cmocka_unit_test(chains_of_values),
        cmocka_unit_test(little_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
