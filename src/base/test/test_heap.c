/* A heap beside a sorted list: what comes out is what sorting would give, whatever size the
 * elements have. */
#include "base/hash.h"
#include "base/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct bare {
    uint64_t at, order;
};
struct rich {
    uint64_t at, order;
    uint32_t a, b;
    const void *self; /* says what it belongs to: moved with it */
};

static int sooner(const void *a, const void *b)
{
    const struct bare *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static void test_sorts(void **state)
{
    enum { N = 3000 };
    VEC(struct bare) heap = { 0 };
    struct bare sorted[N], first;
    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        sorted[i] = (struct bare){ hash_u64(i + 1) % 50, hash_u64(i + N) };
        heap_push(&heap, sorted[i]);
    }
    qsort(sorted, N, sizeof *sorted, sooner);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(heap.n, N - i);
        assert_memory_equal(&heap.at[0], &sorted[i], sizeof first);
        heap_take(&heap, &first);
        assert_memory_equal(&first, &sorted[i], sizeof first);
    }
    assert_int_equal(heap.n, 0);
    vec_fini(&heap);
}

/* Added and taken by turns: never one before a smaller one that was there. */
static void test_mixed(void **state)
{
    VEC(struct rich) heap = { 0 };
    static const char marks[64];
    uint64_t in = 0, out = 0, n_at[64] = { 0 };
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t dice = hash_u64(i + 7);
        if (heap.n && (dice & 7) < 4) {
            struct rich first;
            heap_take(&heap, &first);
            for (uint64_t at = 0; at < first.at; at++)
                assert_int_equal(n_at[at], 0);
            assert_ptr_equal(first.self, marks + first.at);
            assert_int_equal(first.a, (uint32_t)first.order);
            assert_int_equal(first.b, ~first.a);
            n_at[first.at]--;
            out++;
        } else {
            uint64_t at = dice >> 8 & 63;
            heap_push(&heap, ((struct rich){ at, i, (uint32_t)i, ~(uint32_t)i, marks + at }));
            n_at[at]++;
            in++;
        }
        assert_int_equal(heap.n, in - out);
    }
    assert_true(out > 5000);
    vec_fini(&heap);
}

static void test_few(void **state)
{
    VEC(struct bare) heap = { 0 };
    struct bare first = { 0 };
    (void)state;
    heap_push(&heap, ((struct bare){ 5, 1 }));
    heap_take(&heap, &first);
    assert_int_equal(first.at, 5);
    assert_int_equal(heap.n, 0);
    heap_push(&heap, ((struct bare){ 5, 2 }));
    heap_push(&heap, ((struct bare){ 5, 1 }));
    heap_take(&heap, &first);
    assert_int_equal(first.order, 1); /* by order within one time */
    heap_push(&heap, ((struct bare){ UINT64_MAX, 0 }));
    heap_take(&heap, &first);
    assert_int_equal(first.order, 2);
    heap_take(&heap, &first);
    assert_true(first.at == UINT64_MAX);
    assert_int_equal(heap.n, 0);
    vec_fini(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorts),
        cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
