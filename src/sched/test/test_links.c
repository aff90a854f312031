/* Which devices a task of several gets: by links where they are known, else the lowest. The choice
 * is compared with all sets where there are few of them. */
#include "job/gpu.h"
#include "sched/links.h"
#include "sched/test/world.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define N 8u

/* Eight devices: two sockets with two switches each, two devices a switch. */
static uint32_t tree_near[N * N];
static struct gpu_device at[N];
static struct gpu_report tree = {
    .driver = "", .error = "", .at = at, .n = N, .near = tree_near, .n_slots = N
};

static int set_up(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N; i++) {
        at[i] = (struct gpu_device){ .number = i,
                                     .slot = i,
                                     .offered = true,
                                     .model = "A100",
                                     .uuid = "",
                                     .pci = "",
                                     .error = "" };
        for (uint32_t k = 0; k < N; k++)
            tree_near[i * N + k] = i / 2 == k / 2 ? 50 : i / 4 == k / 4 ? 20 : 10;
    }
    return 0;
}

static void assert_chosen(const struct gpu_report *report, const char *idle, const char *wanted)
{
    uint32_t slots[N], out[N], n = 0, want = (uint32_t)strlen(wanted);
    for (; idle[n]; n++)
        slots[n] = (uint32_t)(idle[n] - '0');
    links_choose(report, slots, n, want, out);
    for (uint32_t i = 0; i < want; i++)
        if (out[i] != (uint32_t)(wanted[i] - '0'))
            fail_msg("of %s: %s wanted, place %u is %u", idle, wanted, i, out[i]);
}

static void the_best_linked_are_chosen(void **state)
{
    (void)state;
    assert_chosen(&tree, "01234567", "01");
    assert_chosen(&tree, "01234567", "0123");
    assert_chosen(&tree, "123567", "23");    /* 1 and 5 are alone on their switches */
    assert_chosen(&tree, "0246", "02");      /* one socket before two */
    assert_chosen(&tree, "1234567", "4567"); /* a whole socket before most of another */
    assert_chosen(&tree, "034567", "45");    /* a pair, and not the first two */
    assert_chosen(&tree, "01234567", "01234567");
}

/* Of sets that are linked alike: the one that leaves others their neighbours. */
static void others_stay_together(void **state)
{
    (void)state;
    assert_chosen(&tree, "1234567", "1"); /* its neighbour is taken */
    assert_chosen(&tree, "012367", "67"); /* a socket stays whole */
    assert_chosen(&tree, "01234567", "0");
}

static void without_links_the_lowest(void **state)
{
    struct gpu_report alike = tree;
    (void)state;
    alike.near = NULL;
    assert_chosen(&alike, "034567", "03");
    assert_chosen(NULL, "034567", "03");
    assert_chosen(&tree, "034567", "");
}

static uint32_t inside(const uint32_t *slots, uint32_t n, uint32_t mask)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (mask >> i & 1 && mask >> k & 1)
                sum += tree_near[slots[i] * N + slots[k]];
    return sum;
}

/* Against all sets, whatever is idle. */
static void no_set_is_better(void **state)
{
    (void)state;
    for (uint32_t idle = 1; idle < 1u << N; idle++) {
        uint32_t slots[N], out[N], n = 0;
        for (uint32_t i = 0; i < N; i++)
            if (idle >> i & 1)
                slots[n++] = i;
        for (uint32_t want = 1; want <= n; want++) {
            uint32_t best = 0, chosen = 0;
            for (uint32_t mask = 0; mask < 1u << n; mask++)
                if ((uint32_t)__builtin_popcount(mask) == want && inside(slots, n, mask) > best)
                    best = inside(slots, n, mask);
            links_choose(&tree, slots, n, want, out);
            for (uint32_t i = 0; i < n; i++)
                for (uint32_t k = 0; k < want; k++)
                    if (out[k] == slots[i])
                        chosen |= 1u << i;
            assert_int_equal(__builtin_popcount(chosen), want);
            assert_int_equal(inside(slots, n, chosen), best);
        }
    }
}

static const char *place(struct world *w, uint64_t gpus)
{
    const struct role role = { .name = "w",
                               .replicas = 1,
                               .min = 1,
                               .resources = { .cpu_milli = 1000, .gpu_milli = gpus * 1000 } };
    struct job_spec *job = world_job(w->arena, &role, 1);
    struct plan_entry entry = world_try(w, job);
    assert_true(world_take(w->cluster, job, &entry));
    return world_show(w->arena, job, &entry);
}

/* The same jobs on a node that knows its links and on one that does not. */
static void plans_follow_the_links(void **state)
{
    struct node_spec node = {
        .name = "n1", .cpu_milli = 64000, .memory = 64 * GI, .gpus = N, .gpu_type = "A100"
    };
    (void)state;
    node.report = &tree;
    struct world w = world_create(&node, 1);
    assert_string_equal(place(&w, 1), "w/0@n1[0]");
    assert_string_equal(place(&w, 2), "w/0@n1[2,3]");
    assert_string_equal(place(&w, 3), "w/0@n1[4,5,6]");
    world_destroy(&w);
    node.gpus = N + 1; /* of one of which nothing is known */
    w = world_create(&node, 1);
    assert_string_equal(place(&w, 1), "w/0@n1[0]");
    assert_string_equal(place(&w, 2), "w/0@n1[1,2]");
    world_destroy(&w);
    node.gpus = N;
    node.report = NULL;
    w = world_create(&node, 1);
    assert_string_equal(place(&w, 1), "w/0@n1[0]");
    assert_string_equal(place(&w, 2), "w/0@n1[1,2]");
    assert_string_equal(place(&w, 3), "w/0@n1[3,4,5]");
    world_destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_best_linked_are_chosen, set_up),
        cmocka_unit_test_setup(others_stay_together, set_up),
        cmocka_unit_test_setup(without_links_the_lowest, set_up),
        cmocka_unit_test_setup(no_set_is_better, set_up),
        cmocka_unit_test_setup(plans_follow_the_links, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
