/* Accounts, the measure of fragmentation against one counted anew each time, and what a score makes
 * of time. */
#include "sim/cluster_usage.h"

#include "base/mem.h"
#include "sim/score.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define GIB (1ull << 30)

static const struct node_spec two[] = {
    { .name = "a", .cpu_milli = 8000, .memory = 64 * GIB, .gpus = 2, .gpu_type = "A100" },
    { .name = "b", .cpu_milli = 8000, .memory = 64 * GIB, .gpus = 2, .gpu_type = "T4" },
};

static void test_sums(void **state)
{
    const struct ask ask = { .cpu_milli = 3000, .memory = GIB, .gpu_milli = 2000, .weight = 1 };
    const uint32_t gpus[] = { 0, 1 };
    (void)state;
    struct cluster_usage *usage = cluster_usage_create(two, 2, &ask, 1);
    struct cluster_usage_sums sums = cluster_usage_sums(usage);
    assert_int_equal(sums.gpu_all, 4000);
    assert_int_equal(sums.cpu_all, 16000);
    assert_null(cluster_usage_take(usage, "c", &ask, gpus, 2));
    struct task_usage *hold = cluster_usage_take(usage, "a", &ask, gpus, 2);
    sums = cluster_usage_sums(usage);
    assert_int_equal(sums.gpu_used, 2000);
    assert_int_equal(sums.cpu_used, 3000);
    assert_false(cluster_usage_set_up(usage, "c", false));
    assert_true(cluster_usage_set_up(usage, "b", false));
    assert_true(cluster_usage_set_up(usage, "b", false));
    assert_int_equal(cluster_usage_sums(usage).gpu_all, 2000);
    assert_true(cluster_usage_set_up(usage, "b", true));
    assert_int_equal(cluster_usage_sums(usage).gpu_all, 4000);
    cluster_usage_give(usage, hold);
    assert_int_equal(cluster_usage_sums(usage).gpu_used, 0);
    assert_int_equal(cluster_usage_fragmented(usage), 0);
    cluster_usage_destroy(usage);
}

static void test_fragmentation(void **state)
{
    const char *types[] = { "a100" };
    const struct ask whole = { .cpu_milli = 1000, .memory = GIB, .gpu_milli = 1000, .weight = 3 };
    const struct ask pair = { .cpu_milli = 1000,
                              .memory = GIB,
                              .gpu_milli = 2000,
                              .weight = 1,
                              .types = { .at = types, .n = 1 } };
    const struct ask half = { .cpu_milli = 1000, .memory = GIB, .gpu_milli = 500 };
    const struct ask cpus = { .cpu_milli = 8000, .memory = GIB, .weight = 9 };
    const struct ask asks[] = { whole, pair, cpus };
    const uint32_t first = 0;
    (void)state;
    struct cluster_usage *usage = cluster_usage_create(two, 2, asks, 3);
    /* pair finds no use for the two GPUs of type T4: 2 of 4 for one task in four. */
    assert_int_equal(cluster_usage_fragmented(usage), 125000);
    struct task_usage *hold = cluster_usage_take(usage, "a", &half, &first, 1);
    /* free: a 0.5 + 1, b 2. whole wastes 0.5 of 3.5; pair all of it. (3*0.5 + 3.5) / 4 / 3.5 */
    assert_int_equal(cluster_usage_fragmented(usage), 357142);
    cluster_usage_give(usage, hold);
    assert_int_equal(cluster_usage_fragmented(usage), 125000);
    /* Without a core left, the GPUs of a are of use to nobody. (3*2 + 4) / 4 / 4 */
    hold = cluster_usage_take(usage, "a", &cpus, NULL, 0);
    assert_int_equal(cluster_usage_fragmented(usage), 625000);
    cluster_usage_set_up(usage, "a", false);
    assert_int_equal(cluster_usage_fragmented(usage), 250000); /* b alone: pair wastes its 2 of 2 */
    cluster_usage_set_up(usage, "a", true);
    cluster_usage_give(usage, hold);
    cluster_usage_destroy(usage);
}

/* What changed is looked at again, and nothing else: the same figure as from usage made anew. */
static void test_fragmentation_over_time(void **state)
{
    struct node_spec nodes[8];
    struct ask asks[] = { { .cpu_milli = 4000, .memory = GIB, .gpu_milli = 1000, .weight = 5 },
                          { .cpu_milli = 1000, .memory = GIB, .gpu_milli = 300, .weight = 7 },
                          { .cpu_milli = 9000, .memory = GIB, .gpu_milli = 4000, .weight = 2 } };
    struct task_usage *holds[64] = { NULL };
    char names[8][8];
    const char *at[64];
    uint64_t x = 42;
    uint32_t gpu[64];
    const struct ask part = { .cpu_milli = 1000, .memory = GIB, .gpu_milli = 300 };
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        snprintf(names[i], sizeof names[i], "n%zu", i);
        nodes[i] = (struct node_spec){
            .name = names[i], .cpu_milli = 12000, .memory = 64 * GIB, .gpus = 4, .gpu_type = ""
        };
    }
    struct cluster_usage *usage = cluster_usage_create(nodes, 8, asks, 3);
    for (int step = 0; step < 500; step++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        size_t slot = (x >> 33) % 32; /* one of eight nodes' four devices: at most one each */
        if (holds[slot]) {
            cluster_usage_give(usage, holds[slot]);
            holds[slot] = NULL;
        } else {
            gpu[slot] = (uint32_t)(slot % 4);
            at[slot] = names[slot / 4];
            holds[slot] = cluster_usage_take(usage, at[slot], &part, &gpu[slot], 1);
        }
        struct cluster_usage *anew = cluster_usage_create(nodes, 8, asks, 3);
        struct task_usage *again[32] = { NULL };
        for (size_t i = 0; i < 32; i++)
            if (holds[i])
                again[i] = cluster_usage_take(anew, at[i], &part, &gpu[i], 1);
        assert_int_equal(cluster_usage_fragmented(usage), cluster_usage_fragmented(anew));
        for (size_t i = 0; i < 32; i++)
            if (again[i])
                cluster_usage_give(anew, again[i]);
        cluster_usage_destroy(anew);
    }
    for (size_t i = 0; i < 32; i++)
        if (holds[i])
            cluster_usage_give(usage, holds[i]);
    cluster_usage_destroy(usage);
}

static void test_use_over_time(void **state)
{
    const struct ask ask = { .cpu_milli = 8000, .memory = GIB, .gpu_milli = 2000, .weight = 1 };
    const uint32_t gpus[] = { 0, 1 };
    struct score t;
    (void)state;
    struct cluster_usage *usage = cluster_usage_create(two, 2, &ask, 1);
    score_init(&t, usage, 5000);
    score_time(&t, 15000); /* ten seconds of nothing */
    struct task_usage *hold = cluster_usage_take(usage, "a", &ask, gpus, 2);
    t.arriving = false;
    score_time(&t, 35000); /* twenty of half the GPUs */
    assert_true(t.lost_gpu < 1);
    score_lost(&t, hold, 20000, 0);
    cluster_usage_give(usage, hold);
    score_end(&t);
    assert_int_equal((uint64_t)t.use.gpu_used, 2000 * 20000);
    assert_int_equal((uint64_t)t.use.gpu_all, 4000 * 30000);
    assert_int_equal((uint64_t)t.use_arriving.gpu_used, 0);
    assert_int_equal((uint64_t)t.use_arriving.gpu_all, 4000 * 10000);
    assert_int_equal((uint64_t)t.lost_gpu, 2000 * 20000);
    assert_int_equal(t.attempts_lost, 1);
    assert_int_equal(t.series.at[0].at_ms, 5000);
    assert_int_equal(t.series.at[t.series.n - 1].at_ms, 35000);
    for (size_t i = 0; i + 1 < t.series.n; i++) {
        assert_true(t.series.at[i].at_ms < t.series.at[i + 1].at_ms);
        assert_int_equal(t.series.at[i].gpu_used, t.series.at[i].at_ms < 15000 ? 0 : 2000);
    }
    score_fini(&t);
    cluster_usage_destroy(usage);
}

static void test_series_is_thinned(void **state)
{
    struct score t;
    (void)state;
    struct cluster_usage *usage = cluster_usage_create(two, 2, NULL, 0);
    score_init(&t, usage, 0);
    for (uint64_t at = 0; at < 100000000; at += 12345)
        score_time(&t, at);
    assert_true(t.series.n < SERIES_MOST);
    assert_true(t.series.n >= SERIES_MOST / 4);
    for (size_t i = 0; i < t.series.n; i++)
        assert_int_equal(t.series.at[i].at_ms, i * t.every_ms);
    score_fini(&t);
    cluster_usage_destroy(usage);
}

static void test_waits(void **state)
{
    struct score t;
    (void)state;
    struct cluster_usage *usage = cluster_usage_create(two, 2, NULL, 0);
    score_init(&t, usage, 0);
    for (uint64_t i = 100; i > 0; i--)
        score_wait(&t, SIZE_8, GPUS_1, i * 10);
    score_wait(&t, SIZE_1, GPUS_1, 7);
    struct wait_figures f = score_waits(&t, SIZE_8);
    assert_int_equal(f.jobs, 100);
    assert_int_equal(f.mean_ms, 505);
    assert_int_equal(f.p50_ms, 500);
    assert_int_equal(f.p95_ms, 950);
    assert_int_equal(f.p99_ms, 990);
    assert_int_equal(f.max_ms, 1000);
    f = score_waits(&t, SIZE_1);
    assert_int_equal(f.p50_ms, 7);
    assert_int_equal(f.p99_ms, 7);
    assert_int_equal(score_waits(&t, SIZE_64).jobs, 0);
    assert_int_equal(score_waits(&t, SIZE_N).jobs, 101);
    assert_int_equal(score_waits(&t, SIZE_N).max_ms, 1000);
    score_fini(&t);
    cluster_usage_destroy(usage);
}

static void test_size_classes(void **state)
{
    struct role role = { .name = "w", .replicas = 1 };
    struct job_spec spec = { .roles = &role, .n_roles = 1 };
    static const struct {
        uint32_t tasks;
        uint64_t gpu_milli;
        enum size_class size;
    } rows[] = {
        { 1, 0, SIZE_1 },       { 1, 460, SIZE_1 },   { 2, 500, SIZE_1 }, { 3, 500, SIZE_8 },
        { 8, 0, SIZE_8 },       { 1, 8000, SIZE_8 },  { 9, 0, SIZE_64 },  { 8, 8000, SIZE_64 },
        { 9, 8000, SIZE_MORE }, { 65, 0, SIZE_MORE },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        role.replicas = rows[i].tasks;
        role.resources.gpu_milli = rows[i].gpu_milli;
        assert_int_equal(size_class_of(&spec), rows[i].size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_fragmentation),
        cmocka_unit_test(test_fragmentation_over_time),
        cmocka_unit_test(test_use_over_time),
        cmocka_unit_test(test_series_is_thinned),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_size_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
