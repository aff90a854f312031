/* The potential: by hand on small states, remembered as computed, learnt and learnt again. A loaded
 * mix decides the same. */
#include "base/mem.h"
#include "sched/potential.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define GI        ((uint64_t)1 << 30)
#define DEVICE    ((int32_t)DEVICE_MILLI * WASTE_MILLI)
#define FILLED(x) ((x) / 1024 * 82) /* what W makes of a fill */

static const struct shape one = { .cpu_milli = 4000, .memory = 4 * GI, .devices = 1 };
static const struct shape two = { .cpu_milli = 8000, .memory = 8 * GI, .devices = 2 };
static const struct shape share = { .cpu_milli = 1000, .memory = GI, .share = 400 };
static const struct shape plain = { .cpu_milli = 4000, .memory = GI };

struct world {
    struct mix *mix;
    struct potential *potential;
};

static struct world world(const struct shape *shapes, size_t n, uint32_t times)
{
    struct world w = { .mix = mix_create(), .potential = potential_create() };
    for (size_t i = 0; i < n; i++)
        mix_add(w.mix, &shapes[i], times);
    potential_learn(w.potential, w.mix);
    return w;
}

static void end(struct world *w)
{
    mix_destroy(w->mix);
    potential_destroy(w->potential);
}

static struct node_state node(uint64_t cpus, uint16_t n, const uint16_t *free)
{
    struct node_state s = { .cpu_milli = cpus * 1000, .memory = 512 * GI, .n = n };
    for (uint16_t i = 0; i < n; i++)
        s.free[i] = free ? free[i] : DEVICE_MILLI;
    return s;
}

/* Every task asks for one device: nothing is lost but for want of cpu or memory, or in parts. */
static void test_by_hand(void **state)
{
    (void)state;
    struct world w = world(&one, 1, 32);
    static const struct {
        const char *what;
        uint64_t cpus, memory;
        uint16_t n, free[4];
        int32_t idle_roll, idle_fill; /* milli */
    } cases[] = {
        { "all of it useful", 64, 512, 4, { 1000, 1000, 1000, 1000 }, 0, 0 },
        { "a part that nobody can use", 64, 512, 4, { 1000, 300, 300, 0 }, 600, 600 },
        { "cpu for one", 7, 512, 4, { 1000, 1000, 1000, 1000 }, 3000, 3000 },
        { "memory for two", 64, 11, 4, { 1000, 1000, 1000, 1000 }, 2000, 2000 },
        { "no cpu", 3, 512, 2, { 1000, 1000 }, 2000, 2000 },
        { "nothing free", 64, 512, 2, { 0, 0 }, 0, 0 },
        { "no devices", 64, 512, 0, { 0 }, 0, 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct node_state s = node(cases[i].cpus, cases[i].n, cases[i].free);
        s.memory = cases[i].memory * GI;
        int32_t expected = cases[i].idle_roll * WASTE_MILLI +
                           (int32_t)((int64_t)cases[i].idle_fill * WASTE_MILLI * 82 / 1024);
        if (potential_of(w.potential, &s) != expected)
            fail_msg("%s: %d, not %d", cases[i].what, potential_of(w.potential, &s), expected);
    }
    end(&w);
}

/* Shares of 400 fill a device but for 200; a part of 300 is lost. */
static void test_shares_by_hand(void **state)
{
    (void)state;
    struct world w = world(&share, 1, 32);
    struct node_state whole = node(64, 2, NULL);
    struct node_state part = node(64, 2, (uint16_t[]){ 800, 300 });
    int32_t lost = 400 * WASTE_MILLI;
    assert_int_equal(potential_of(w.potential, &whole), lost + FILLED(lost));
    lost = 300 * WASTE_MILLI;
    assert_int_equal(potential_of(w.potential, &part), lost + FILLED(lost));
    end(&w);
}

/* Types: a node whose type no task names wastes all it has. Levels: many different needs at once.
 */
static void test_types_and_many_needs(void **state)
{
    (void)state;
    struct shape shapes[80];
    for (uint32_t i = 0; i < ARRAY_LEN(shapes); i++)
        shapes[i] = (struct shape){ .share = 5 + 12 * i, .types = 2 };
    struct world w = world(shapes, ARRAY_LEN(shapes), 3);
    struct node_state s = node(64, 2, (uint16_t[]){ 1000, 500 });
    assert_int_equal(potential_of(w.potential, &s), DEVICE * 3 / 2 + FILLED(DEVICE * 3 / 2));
    s.kind = 1;
    assert_in_range(potential_of(w.potential, &s), 1, DEVICE / 4);
    struct node_state rest = node(64, 1, (uint16_t[]){ 4 });
    rest.kind = 1;
    assert_int_equal(potential_of(w.potential, &rest), 4 * WASTE_MILLI + FILLED(4 * WASTE_MILLI));
    end(&w);
}

static void test_where_a_task_goes(void **state)
{
    (void)state;
    struct world w = world((const struct shape[]){ one, two, share, plain }, 4, 50);
    struct potential *p = w.potential;
    struct node_state s = node(64, 4, (uint16_t[]){ 1000, 1000, 1000, 400 });
    uint32_t id = potential_hold(p, &s);
    struct putting put = potential_put(p, id, potential_shape(p, &share));
    assert_true(put.fits);
    assert_int_equal(put.slot, 3); /* what only a share can use */
    struct node_state poor = node(3, 4, NULL);
    uint32_t poor_id = potential_hold(p, &poor);
    assert_false(potential_put(p, poor_id, potential_shape(p, &plain)).fits);
    struct node_state full = node(64, 2, (uint16_t[]){ 0, 0 });
    uint32_t full_id = potential_hold(p, &full);
    put = potential_put(p, full_id, potential_shape(p, &plain));
    assert_true(put.fits);
    assert_int_equal(put.delta, 0);
    assert_false(potential_put(p, full_id, potential_shape(p, &one)).fits);
    struct node_state tight = node(8, 2, NULL); /* work without devices takes its cpu */
    uint32_t tight_id = potential_hold(p, &tight);
    put = potential_put(p, tight_id, potential_shape(p, &plain));
    assert_true(put.fits && put.delta > 0);
    end(&w);
}

/* Before anything was learnt all places are equal, and a share goes where least is free. */
static void test_nothing_learnt(void **state)
{
    (void)state;
    struct world w = world(&one, 1, 31);
    struct node_state s = node(64, 3, (uint16_t[]){ 1000, 600, 500 });
    uint32_t id = potential_hold(w.potential, &s);
    struct putting put = potential_put(w.potential, id, potential_shape(w.potential, &share));
    assert_true(put.fits);
    assert_int_equal(put.delta, 0);
    assert_int_equal(put.slot, 2);
    mix_add(w.mix, &one, 1);
    potential_learn(w.potential, w.mix);
    put = potential_put(w.potential, id, potential_shape(w.potential, &share));
    assert_int_equal(put.slot, 1); /* both are lost to tasks of one device; the freer of them */
    end(&w);
}

static void test_put_keeps_the_books(void **state)
{
    (void)state;
    struct node_state s = node(64, 4, (uint16_t[]){ 1000, 1000, 700, 300 });
    assert_true(node_state_put(&s, &share, 2));
    assert_memory_equal(s.free, ((uint16_t[]){ 1000, 1000, 300, 300 }), 8);
    assert_true(node_state_put(&s, &share, 0));
    assert_memory_equal(s.free, ((uint16_t[]){ 1000, 600, 300, 300 }), 8);
    assert_false(node_state_put(&s, &two, 0));
    assert_false(node_state_put(&s, &share, 2));
    assert_false(node_state_put(&s, &share, 4));
    assert_true(node_state_put(&s, &one, 0));
    assert_memory_equal(s.free, ((uint16_t[]){ 600, 300, 300, 0 }), 8);
    struct shape typed = { .types = 2 };
    assert_false(node_state_put(&s, &typed, 0));
    s.kind = 1;
    assert_true(node_state_put(&s, &typed, 0));
    assert_int_equal(s.cpu_milli, 64000 - 1000 - 1000 - 4000);
    assert_int_equal(s.memory, (512 - 1 - 1 - 4) * GI);
}

static uint64_t next(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

static struct shape any_shape(uint64_t *random)
{
    uint64_t r = next(random) % 8;
    struct shape s = { .cpu_milli = 500 * (1 + next(random) % 20),
                       .memory = next(random) % 16 * GI };
    if (r < 4)
        s.share = (uint32_t)(100 + next(random) % 9 * 100);
    else if (r < 7)
        s.devices = 1u << next(random) % 4;
    if (next(random) % 4 == 0)
        s.types = 1 + next(random) % 7;
    return s;
}

/* Tasks come and go on a few nodes while the mix changes: whatever is remembered is what a fresh
 * potential computes, states are what the books say, and every device adds up. */
static void test_remembered_as_computed(void **state)
{
    (void)state;
    struct world w = { .mix = mix_create(), .potential = potential_create() };
    struct {
        struct node_state now, empty;
        uint32_t id;
    } nodes[12];
    struct shape shapes[24];
    uint64_t random = 1;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
        shapes[i] = any_shape(&random);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        nodes[i].empty = node(16 + 16 * (i % 3), (uint16_t)(i % 4 * 4), NULL);
        nodes[i].empty.kind = (uint32_t)(i % 3);
        nodes[i].now = nodes[i].empty;
        nodes[i].id = potential_hold(w.potential, &nodes[i].now);
    }
    for (uint32_t round = 0; round < 1500; round++) {
        size_t at = next(&random) % ARRAY_LEN(nodes);
        const struct shape *s = &shapes[next(&random) % ARRAY_LEN(shapes)];
        mix_add(w.mix, s, 1);
        potential_learn(w.potential, w.mix);
        struct putting put =
            potential_put(w.potential, nodes[at].id, potential_shape(w.potential, s));
        struct node_state after = nodes[at].now;
        if (round % 50 == 0) {
            struct potential *fresh = potential_create();
            potential_learn(fresh, w.mix);
            uint32_t id = potential_hold(fresh, &after);
            struct putting anew = potential_put(fresh, id, potential_shape(fresh, s));
            assert_memory_equal(&anew.delta, &put.delta, sizeof put.delta);
            assert_int_equal(anew.slot, put.slot);
            assert_int_equal(anew.fits, put.fits);
            assert_int_equal(potential_of(fresh, &after), potential_of(w.potential, &after));
            potential_destroy(fresh);
        }
        if (put.fits) {
            int32_t before = potential_of(w.potential, &after);
            assert_true(node_state_put(&after, s, put.slot));
            assert_int_equal(potential_of(w.potential, &after) - before, put.delta);
        } else {
            for (uint16_t slot = 0; slot < after.n + 1; slot++)
                assert_false(node_state_put(&after, s, slot));
            after = nodes[at].empty; /* all of its tasks end */
        }
        potential_drop(w.potential, nodes[at].id);
        nodes[at].now = after;
        nodes[at].id = potential_hold(w.potential, &after);
        for (uint16_t i = 1; i < after.n; i++)
            assert_true(after.free[i - 1] >= after.free[i]);
    }
    assert_true(potential_bound(w.potential) <= ARRAY_LEN(nodes) + 1);
    end(&w);
}

static void test_ids(void **state)
{
    (void)state;
    struct potential *p = potential_create();
    struct node_state a = node(64, 2, NULL), same = a, b = node(63, 2, NULL);
    same.free[2] = 77; /* of no device */
    uint32_t id = potential_hold(p, &a);
    assert_int_equal(potential_hold(p, &same), id);
    assert_int_not_equal(potential_hold(p, &b), id);
    potential_keep(p, id);
    potential_drop(p, id);
    potential_drop(p, id);
    assert_int_equal(potential_hold(p, &a), id); /* still held, once */
    potential_drop(p, id);
    potential_drop(p, id);
    struct node_state c = node(1, 1, NULL);
    assert_int_equal(potential_hold(p, &c), id); /* taken over */
    assert_int_equal(potential_state(p, id)->cpu_milli, 1000);
    assert_false(potential_put(p, id, potential_shape(p, &one)).fits);
    for (uint32_t i = 0; i < 3000; i++) /* more than there are buckets at first */
        potential_hold(p, &(struct node_state){ .cpu_milli = 100000 + i });
    assert_int_equal(potential_hold(p, &c), id);
    assert_int_equal(potential_bound(p), 3002);
    potential_destroy(p);
}

/* More shapes than are remembered: an id comes back for another shape, with no number of the old.
 */
static void test_shapes_come_and_go(void **state)
{
    (void)state;
    struct potential *p = potential_create();
    struct node_state s = node(2, 0, NULL);
    uint32_t id = potential_hold(p, &s);
    uint32_t first = potential_shape(p, &(struct shape){ .cpu_milli = 1 });
    for (uint64_t cpu = 1; cpu <= POTENTIAL_SHAPES; cpu++) {
        struct shape t = { .cpu_milli = cpu };
        uint32_t shape = potential_shape(p, &t);
        assert_true(potential_put(p, id, shape).fits);
        assert_int_equal(potential_shape(p, &t), shape);
    }
    assert_int_equal(potential_shape(p, &(struct shape){ .cpu_milli = 2001 }), first);
    assert_false(potential_put(p, id, first).fits);
    struct shape again = { .cpu_milli = 1 };
    assert_true(potential_put(p, id, potential_shape(p, &again)).fits);
    potential_destroy(p);
}

/* 64 devices, a pebibyte, a thousand cores, counts as large as may be loaded. */
static void test_large_numbers(void **state)
{
    (void)state;
    struct mix_count at[2] = {
        { { .cpu_milli = 1, .memory = 1, .share = 1 }, (uint64_t)1 << 36 },
        { { .cpu_milli = 1000000, .memory = (uint64_t)1 << 50, .devices = 64 }, (uint64_t)1 << 36 },
    };
    struct mix_numbers numbers = { .counts = at, .basis = at, .n_counts = 2, .n_basis = 2 };
    struct world w = { .mix = mix_create(), .potential = potential_create() };
    assert_int_equal(mix_load(w.mix, &numbers, NULL), 0);
    potential_learn(w.potential, w.mix);
    struct node_state s = node(1000, 64, NULL);
    s.memory = (uint64_t)1 << 50;
    int32_t waste = potential_of(w.potential, &s);
    assert_in_range(waste, 0, 64 * DEVICE);
    s.free[63] = 999; /* the large one no longer fits, and it weighs nearly all */
    assert_true(potential_of(w.potential, &s) > waste);
    s.cpu_milli = UINT64_MAX;
    s.memory = UINT64_MAX;
    assert_in_range(potential_of(w.potential, &s), 0, 64 * DEVICE + FILLED(64 * DEVICE));
    s.cpu_milli = 0;
    assert_int_equal(potential_of(w.potential, &s),
                     63999 * WASTE_MILLI + 63999 * WASTE_MILLI / 1024 * 82);
    end(&w);
}

/* Saved and loaded, a mix gives the same numbers, also when more came after its last basis. */
static void test_loaded_decides_the_same(void **state)
{
    (void)state;
    struct world a = { .mix = mix_create(), .potential = potential_create() };
    struct world b = { .mix = mix_create(), .potential = potential_create() };
    uint64_t random = 7;
    for (uint32_t i = 0; i < 300; i++) {
        struct shape s = any_shape(&random);
        mix_add(a.mix, &s, 1);
    }
    struct mix_numbers saved = mix_numbers(a.mix);
    assert_int_equal(mix_load(b.mix, &saved, NULL), 0);
    potential_learn(a.potential, a.mix);
    potential_learn(b.potential, b.mix);
    for (uint32_t i = 0; i < 300; i++) {
        struct node_state s = node(1 + next(&random) % 64, 4, NULL);
        s.kind = (uint32_t)(next(&random) % 3);
        s.free[3] = (uint16_t)(next(&random) % 1001);
        assert_int_equal(potential_of(a.potential, &s), potential_of(b.potential, &s));
    }
    end(&a);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_shares_by_hand),
        cmocka_unit_test(test_types_and_many_needs),
        cmocka_unit_test(test_where_a_task_goes),
        cmocka_unit_test(test_nothing_learnt),
        cmocka_unit_test(test_put_keeps_the_books),
        cmocka_unit_test(test_remembered_as_computed),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_shapes_come_and_go),
        cmocka_unit_test(test_large_numbers),
        cmocka_unit_test(test_loaded_decides_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
