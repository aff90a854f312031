/* The mix of what is asked for: what is counted, when the basis is taken anew, how it fades. What
 * is saved goes on the same; what is no mix is refused. */
#include "base/mem.h"
#include "sched/mix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct shape one = { .cpu_milli = 4000, .memory = 1 << 30, .devices = 1 };
static const struct shape half = { .cpu_milli = 2000, .memory = 1 << 30, .share = 500 };

static uint64_t count_of(const struct mix *m, const struct shape *s)
{
    struct mix_numbers n = mix_numbers(m);
    for (size_t i = 0; i < n.n_counts; i++)
        if (!shape_compare(&n.counts[i].shape, s))
            return n.counts[i].count;
    return 0;
}

static uint64_t total(const struct mix *m)
{
    struct mix_numbers n = mix_numbers(m);
    uint64_t sum = 0;
    for (size_t i = 0; i < n.n_counts; i++)
        sum += n.counts[i].count;
    return sum;
}

static void assert_in_order(const struct mix *m)
{
    struct mix_numbers n = mix_numbers(m);
    assert_true(n.n_counts <= MIX_SHAPES);
    for (size_t i = 1; i < n.n_counts; i++)
        assert_true(shape_compare(&n.counts[i - 1].shape, &n.counts[i].shape) < 0);
}

static void test_normal_shapes(void **state)
{
    (void)state;
    static const struct {
        uint32_t devices, share, then_devices, then_share;
    } cases[] = { { 0, 999, 0, 999 }, { 0, 1000, 1, 0 }, { 0, 4000, 1, 0 },
                  { 2, 500, 2, 0 },   { 65, 0, 64, 0 },  { 0, 0, 0, 0 } };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct shape s = { .devices = cases[i].devices, .share = cases[i].share };
        s = shape_normal(s);
        assert_int_equal(s.devices, cases[i].then_devices);
        assert_int_equal(s.share, cases[i].then_share);
    }
}

static void test_basis_at_doublings(void **state)
{
    (void)state;
    struct mix *m = mix_create();
    uint64_t version = 0;
    for (uint32_t n = 1; n <= 300; n++) {
        mix_add(m, n % 3 ? &one : &half, 1);
        bool due = n == 32 || n == 64 || n == 128 || n == 256;
        assert_int_equal(mix_version(m), version + due);
        version = mix_version(m);
    }
    struct mix_numbers numbers = mix_numbers(m);
    assert_int_equal(numbers.n_counts, 2);
    assert_int_equal(numbers.basis[0].count + numbers.basis[1].count, 256 * MIX_ARRIVAL);
    assert_int_equal(count_of(m, &half), 100 * MIX_ARRIVAL);
    mix_destroy(m);
}

/* Many at once are as many one by one. */
static void test_gangs(void **state)
{
    (void)state;
    struct mix *a = mix_create(), *b = mix_create();
    for (uint32_t i = 0; i < 700; i++)
        mix_add(a, &one, 1);
    mix_add(b, &one, 700);
    assert_int_equal(total(a), total(b));
    assert_int_equal(mix_numbers(a).since_fade, mix_numbers(b).since_fade);
    mix_add(b, &half, UINT32_MAX); /* comes back soon, and nothing runs over */
    assert_true(total(b) < (uint64_t)8192 * MIX_ARRIVAL);
    mix_destroy(a);
    mix_destroy(b);
}

static void test_fades_by_half(void **state)
{
    (void)state;
    struct mix *m = mix_create();
    mix_add(m, &half, 512);
    uint64_t before = count_of(m, &half);
    for (uint32_t i = 0; i < 4096; i++)
        mix_add(m, &one, 1);
    uint64_t after = count_of(m, &half);
    assert_in_range(after * 2, before - before / 500, before + before / 500);
    for (uint32_t i = 0; i < 20 * 4096; i++)
        mix_add(m, &one, 1);
    assert_int_equal(count_of(m, &half), 0);
    assert_int_equal(mix_numbers(m).n_counts, 1);
    mix_destroy(m);
}

/* The total no longer doubles, but what is asked for changes: the basis follows. */
static void test_follows_a_change(void **state)
{
    (void)state;
    struct mix *m = mix_create();
    for (uint32_t i = 0; i < 20000; i++)
        mix_add(m, &one, 1);
    uint64_t version = mix_version(m);
    for (uint32_t i = 0; i < 20000; i++)
        mix_add(m, &one, 1);
    assert_int_equal(mix_version(m), version);
    for (uint32_t i = 0; i < 2048; i++)
        mix_add(m, &half, 1);
    assert_true(mix_version(m) > version);
    assert_int_equal(mix_numbers(m).n_basis, 2);
    mix_destroy(m);
}

static void test_bounded(void **state)
{
    (void)state;
    struct mix *m = mix_create();
    mix_add(m, &one, 20);
    for (uint32_t i = 0; i < 400; i++) {
        struct shape s = { .cpu_milli = 1000 + i * 7 % 400, .devices = 1 + i % 4 };
        mix_add(m, &s, 1);
    }
    uint64_t before = total(m);
    for (uint32_t i = 0; i < 90; i++) /* to 510 and over the edge; no fade in between */
        mix_add(m, &(struct shape){ .cpu_milli = 9000 + i, .devices = 2 }, 1);
    assert_int_equal(total(m), before + 90 * MIX_ARRIVAL);
    for (uint32_t i = 0; i < 5000; i++) {
        struct shape s = { .cpu_milli = 20000 + i, .memory = i * 977, .share = 1 + i % 900 };
        mix_add(m, &s, 1);
        if (i % 500 == 0)
            assert_in_order(m);
    }
    assert_int_equal(mix_numbers(m).n_counts, MIX_SHAPES);
    assert_true(count_of(m, &one) > 0); /* the frequent one stays */
    mix_destroy(m);
}

/* A full mix counts the rarest as the next one like it, and loses nothing. */
static void test_rarest_joins_its_like(void **state)
{
    (void)state;
    struct mix *m = mix_create();
    struct shape rare = { .cpu_milli = 500, .devices = 3 },
                 like = { .cpu_milli = 600, .devices = 3 };
    mix_add(m, &rare, 1);
    mix_add(m, &like, 4);
    static struct mix_count at[MIX_SHAPES];
    struct mix_numbers n = mix_numbers(m);
    size_t k = 0;
    for (; k < n.n_counts; k++)
        at[k] = n.counts[k];
    for (; k < MIX_SHAPES; k++)
        at[k] = (struct mix_count){ { .cpu_milli = k, .devices = 4 }, 2 * MIX_ARRIVAL };
    n = (struct mix_numbers){ .counts = at, .n_counts = k };
    assert_int_equal(mix_load(m, &n, NULL), 0);
    mix_add(m, &half, 1);
    assert_int_equal(count_of(m, &rare), 0);
    assert_int_equal(count_of(m, &like), 5 * MIX_ARRIVAL);
    assert_int_equal(count_of(m, &half), MIX_ARRIVAL);
    assert_in_order(m);
    mix_destroy(m);
}

static void add_some(struct mix *m, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        struct shape s = { .cpu_milli = 1000 * (1 + i * i % 13), .devices = i % 3, .types = i % 2 };
        mix_add(m, &s, 1 + i % 5);
    }
}

static void assert_same(const struct mix *a, const struct mix *b)
{
    struct mix_numbers x = mix_numbers(a), y = mix_numbers(b);
    assert_int_equal(x.n_counts, y.n_counts);
    assert_int_equal(x.n_basis, y.n_basis);
    assert_int_equal(x.since_fade, y.since_fade);
    assert_memory_equal(x.counts, y.counts, x.n_counts * sizeof *x.counts);
    assert_memory_equal(x.basis, y.basis, x.n_basis * sizeof *x.basis);
}

static void test_saved_goes_on_the_same(void **state)
{
    (void)state;
    struct mix *a = mix_create(), *b = mix_create();
    struct err err = { 0 };
    add_some(a, 0, 700);
    struct mix_numbers saved = mix_numbers(a);
    assert_int_equal(mix_load(b, &saved, &err), 0);
    assert_int_not_equal(mix_version(b), 0);
    assert_same(a, b);
    add_some(a, 700, 3000);
    add_some(b, 700, 3000);
    assert_same(a, b);
    saved = (struct mix_numbers){ 0 };
    assert_int_equal(mix_load(b, &saved, &err), 0);
    assert_int_equal(mix_version(b), 0);
    mix_destroy(a);
    mix_destroy(b);
}

static void test_refuses_what_no_mix_is(void **state)
{
    (void)state;
    struct mix *m = mix_create();
    struct err err = { 0 };
    mix_add(m, &one, 40);
    static struct mix_count many[MIX_SHAPES + 1];
    struct mix_count odd = { { .share = 1000 }, 1 }, none = { { .devices = 1 }, 0 };
    struct mix_count much = { { .devices = 1 }, UINT64_MAX };
    struct mix_count twice[2] = { { { .devices = 1 }, 5 }, { { .devices = 1 }, 5 } };
    const struct {
        struct mix_numbers n;
        const char *what;
    } cases[] = {
        { { .counts = many, .n_counts = MIX_SHAPES + 1 }, "513 counts" },
        { { .counts = &odd, .n_counts = 1 }, "counts, number 0" },
        { { .basis = &none, .n_basis = 1 }, "basis, number 0" },
        { { .basis = &much, .n_basis = 1 }, "basis, number 0" },
        { { .counts = twice, .n_counts = 2 }, "number 1: not in order" },
        { { .since_fade = 512 }, "since_fade is 512" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(mix_load(m, &cases[i].n, &err), -1);
        assert_non_null(strstr(err.what, cases[i].what));
        assert_int_equal(count_of(m, &one), 40 * MIX_ARRIVAL);
    }
    mix_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal_shapes),
        cmocka_unit_test(test_basis_at_doublings),
        cmocka_unit_test(test_gangs),
        cmocka_unit_test(test_fades_by_half),
        cmocka_unit_test(test_follows_a_change),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_rarest_joins_its_like),
        cmocka_unit_test(test_saved_goes_on_the_same),
        cmocka_unit_test(test_refuses_what_no_mix_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
