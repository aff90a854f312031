/* The hash index against a plain list of positions as the model: few hashes, so that chains and
 * equal hashes come up, and many changes from a seed. */
#include "base/dice.h"
#include "base/hash.h"
#include "base/hash_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define POSITIONS 700u
#define HASHES    40u

struct model {
    bool in[POSITIONS];
    uint64_t hash[POSITIONS];
};

/* Every hash finds just the positions that the model has. */
static void compare(const struct hash_index *x, const struct model *m)
{
    for (uint64_t h = 0; h < HASHES; h++) {
        bool found[POSITIONS] = { 0 };
        uint32_t n = 0, expected = 0;
        for (uint32_t at = hash_index_first(x, hash_u64(h)); at != HASH_INDEX_NONE;
             at = hash_index_next(x, at)) {
            assert_true(at < POSITIONS && m->in[at] && m->hash[at] == h && !found[at]);
            found[at] = true;
            n++;
        }
        for (uint32_t i = 0; i < POSITIONS; i++)
            expected += m->in[i] && m->hash[i] == h;
        assert_int_equal(n, expected);
    }
}

static void test_against_a_model(void **state)
{
    (void)state;
    struct hash_index x = { 0 };
    struct model m = { 0 };
    struct dice dice = { .state = 7 };
    assert_int_equal(hash_index_first(&x, 1), HASH_INDEX_NONE);
    for (uint32_t step = 0; step < 20000; step++) {
        /* It grows over positions step by step, as arrays of callers do. */
        uint32_t at = dice_below(&dice, 1 + step * POSITIONS / 20000);
        if (m.in[at]) {
            hash_index_remove(&x, at);
        } else {
            m.hash[at] = dice_below(&dice, HASHES);
            hash_index_add(&x, at, hash_u64(m.hash[at]));
        }
        m.in[at] = !m.in[at];
        if (step % 500 == 0)
            compare(&x, &m);
    }
    compare(&x, &m);
    struct hash_index copy = hash_index_copy(&x);
    const struct model as_copied = m;
    for (uint32_t at = 0; at < POSITIONS; at += 2) {
        if (m.in[at])
            hash_index_remove(&x, at);
        m.in[at] = false;
    }
    compare(&x, &m);
    compare(&copy, &as_copied);
    hash_index_clear(&x);
    memset(&m, 0, sizeof m);
    compare(&x, &m);
    hash_index_add(&x, 3, hash_u64(9));
    assert_int_equal(hash_index_first(&x, hash_u64(9)), 3);
    hash_index_fini(&x);
    hash_index_fini(&copy);
    assert_int_equal(hash_index_first(&x, hash_u64(9)), HASH_INDEX_NONE);
}

static void test_memory_is_given_back(void **state)
{
    (void)state;
    struct hash_index x = { 0 };
    for (uint32_t at = 0; at < 5000; at++)
        hash_index_add(&x, at, hash_u64(at));
    assert_int_equal(x.room, 8192);
    for (uint32_t at = 5000; at-- > 900;)
        hash_index_remove(&x, at);
    hash_index_shrink(&x, 4000);
    assert_int_equal(x.room, 8192);
    hash_index_shrink(&x, 900);
    assert_in_range(x.room, 900, 7200);
    for (uint32_t at = 0; at < 5000; at++)
        assert_int_equal(hash_index_first(&x, hash_u64(at)), at < 900 ? at : HASH_INDEX_NONE);
    hash_index_add(&x, 4999, hash_u64(4999));
    assert_int_equal(hash_index_first(&x, hash_u64(4999)), 4999);
    hash_index_fini(&x);
    hash_index_shrink(&x, 0);
    assert_int_equal(x.room, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_a_model),
        cmocka_unit_test(test_memory_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
