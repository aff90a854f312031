/* The tree of queues: what declarations make of it, shares as amounts, and mistakes with both
 * numbers. Any random declarations make a tree that adds up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "queue/test/quota.h"
#include "queue/tree.h"

#include "base/mem.h"
#include "text/detect.h"

#include <stdio.h>
#include <string.h>

/* ---- trees on a cluster of their own ---- */

struct plan_of {
    struct arena *arena;
    struct catalogue *catalogue;
    struct cluster *cluster;
    struct queue_tree *tree;
};

/* Four nodes of 8 devices in two racks, and one without devices. */
static struct cluster *five_nodes(void)
{
    struct cluster *c = cluster_create(20000, 20999, 20000);
    struct arena *arena = arena_create();
    for (unsigned i = 0; i < 5; i++) {
        struct node_spec spec = { .name = arena_printf(arena, "n%u", i),
                                  .address = "127.0.0.2",
                                  .host = "h",
                                  .cpu_milli = 32000,
                                  .memory = 256 * GIB,
                                  .gpus = i < 4 ? 8 : 0,
                                  .gpu_type = "" };
        if (i < 4)
            pairs_set(&spec.labels, arena, "rack", i < 2 ? "r1" : "r2");
        cluster_set_up(c, cluster_put(c, &spec), true);
    }
    arena_destroy(arena);
    return c;
}

static struct plan_of plan(const char *text)
{
    static const char *level = "rack";
    const struct words topology = { .at = &level, .n = 1 };
    struct plan_of p = { .arena = arena_create(),
                         .catalogue = catalogue_create(),
                         .cluster = five_nodes() };
    struct report report;
    struct entry *at;
    size_t n, documents;
    report_init(&report, p.arena);
    const struct text_node *root =
        text_parse_documents(p.arena, text, strlen(text), &documents, &report);
    assert_non_null(root);
    if (entries_decode(p.arena, root, &at, &n, &report))
        fail_msg("%s", report.at[0].what);
    for (size_t i = 0; i < n; i++)
        catalogue_put(p.catalogue, &at[i]);
    p.tree = queue_tree_make(p.catalogue, p.cluster, &topology);
    return p;
}

static void plan_end(struct plan_of *p)
{
    queue_tree_destroy(p->tree);
    cluster_destroy(p->cluster);
    catalogue_destroy(p->catalogue);
    arena_destroy(p->arena);
}

static const struct queue_spec *queue(const struct plan_of *p, const char *name)
{
    return &p->tree->specs[queue_tree_position(p->tree, name)];
}

static void parents_come_first_and_siblings_by_name(void **state)
{
    static const char *const order[] = {
        "alone", "default", "mother", "child", "grandchild", "son"
    };
    (void)state;
    struct plan_of p = plan(Q "son\nparent: mother\n---\n" Q "grandchild\nparent: child\n---\n" Q
                              "mother\n---\n" Q "alone\n---\nkind: virtual_cluster\nname: child\n"
                              "parent: mother\nstrategy: round-robin\nweight: 3\nreclaim: false\n");
    assert_int_equal(p.tree->n, ARRAY_LEN(order));
    assert_int_equal(p.tree->n_problems, 0);
    for (size_t i = 0; i < p.tree->n; i++) {
        const struct queue_spec *spec = &p.tree->specs[i];
        assert_string_equal(spec->name, order[i]);
        assert_true(spec->parent == QUEUE_ROOT || spec->parent < i);
    }
    assert_string_equal(p.tree->specs[queue(&p, "grandchild")->parent].name, "child");
    assert_int_equal(p.tree->depths[queue_tree_position(p.tree, "grandchild")], 2);
    assert_int_equal(queue(&p, "child")->strategy, QUEUE_ROUND_ROBIN);
    assert_true(queue(&p, "child")->weight == 3 && queue(&p, "child")->keeps);
    assert_true(queue(&p, "alone")->weight == 1 && !queue(&p, "alone")->keeps);
    assert_string_equal(queue(&p, NULL)->name, "default");
    assert_string_equal(queue(&p, "nobody")->name, "default");
    assert_true(p.tree->total.gpu_milli == 32000 && p.tree->total.cpu_milli == 160000);
    char text[300];
    assert_true(quota_check(p.tree->specs, p.tree->n, &p.tree->total, text));
    plan_end(&p);
}

static void shares_become_amounts(void **state)
{
    (void)state;
    struct plan_of p =
        plan(Q "half\nguaranteed: 50%\nmaximum: {gpu: 75%}\n---\n" Q
               "quarter\nparent: half\nguaranteed: {gpu: 25%, cpu: 8}\nuser: {gpu: 12.5%}\n"
               "maximum: {memory: 64Gi}\nuser_cpu: 4\n---\n" Q
               "racks\ncells: {rack: 1}\nuser: 50%\n---\n" Q
               "open\nuser_gpu: 3\nmaximum: {all: 10%, gpu: 2}\n");
    const struct queue_spec *half = queue(&p, "half"), *quarter = queue(&p, "quarter");
    if (p.tree->n_problems)
        fail_msg("%s", p.tree->problems[0].what);
    assert_true(half->sure.gpu_milli == 16000 && half->sure.cpu_milli == 80000);
    assert_true(half->sure.memory == 640 * GIB);
    assert_true(half->most.gpu_milli == 24000 && half->most.cpu_milli == UINT64_MAX);
    assert_true(quarter->sure.gpu_milli == 4000 && quarter->sure.cpu_milli == 8000);
    assert_int_equal(quarter->sure.memory, 0);
    assert_true(quarter->most.memory == 64 * GIB && quarter->most.gpu_milli == UINT64_MAX);
    assert_int_equal(quarter->user_most.gpu_milli, 3000); /* of what half may have */
    assert_true(quarter->user_most.cpu_milli == 4000);
    assert_true(quarter->user_most.memory == UINT64_MAX);
    const struct queue_spec *racks = queue(&p, "racks"), *open = queue(&p, "open");
    assert_true(racks->sure.gpu_milli == 16000 && racks->sure.cpu_milli == 64000);
    assert_true(racks->user_most.gpu_milli == 16000);
    assert_true(open->most.gpu_milli == 2000 && open->most.cpu_milli == 16000);
    assert_true(open->user_most.gpu_milli == 3000 && open->user_most.cpu_milli == UINT64_MAX);
    plan_end(&p);
}

static void cells_are_the_largest_equal_nodes(void **state)
{
    (void)state;
    struct plan_of p = plan(Q "a\ncells: {node: 2}\n---\n" Q "b\ncells: {rack: 1, node: 0}\n");
    assert_int_equal(p.tree->n_problems, 0);
    assert_true(queue(&p, "a")->sure.gpu_milli == 16000 &&
                queue(&p, "a")->sure.memory == 512 * GIB);
    assert_true(queue(&p, "b")->sure.gpu_milli == 16000 && queue(&p, "b")->sure.cpu_milli == 64000);
    plan_end(&p);
}

static void mistakes_are_told_with_both_numbers(void **state)
{
    static const struct {
        const char *text, *what;
        bool of_nodes;
    } cases[] = {
        { Q "a\nparent: b\n", "queue \"a\": its parent \"b\" is not known here", false },
        { Q "a\nparent: a\n", "queue \"a\" is below itself: a, a", false },
        { Q "a\nparent: c\n---\n" Q "b\nparent: a\n---\n" Q "c\nparent: b\n",
          "queue \"a\" is below itself: a, c, b, a", false },
        { Q "a\nguaranteed: {gpu: 8}\nmaximum: {gpu: 4}\n",
          "queue \"a\" is guaranteed 8 gpu, and its maximum is 4 gpu", false },
        { Q "a\nguaranteed: {gpu: 33}\n",
          "queue \"a\" is guaranteed 33 gpu, and the cluster has 32 gpu", true },
        { Q "a\nguaranteed: {gpu: 20}\n---\n" Q "b\nguaranteed: {gpu: 50%}\n",
          "queues are guaranteed 36 gpu together (a 20 gpu, b 50 %), and the cluster has 32 gpu",
          true },
        { Q "a\nguaranteed: 60%\n---\n" Q "b\nguaranteed: {gpu: 60%}\n",
          "queues are guaranteed 120 % of the gpu of the cluster together (a 60 %, b 60 %)",
          false },
        { Q "a\nguaranteed: {gpu: 8}\n---\n" Q "b\nparent: a\nguaranteed: {gpu: 5}\n---\n" Q
            "c\nparent: a\nguaranteed: {gpu: 4}\n",
          "the queues below \"a\" are guaranteed 9 gpu together (b 5 gpu, c 4 gpu), and \"a\" is "
          "guaranteed 8 gpu",
          false },
        { Q "a\nmaximum: {cpu: 8}\n---\n" Q "b\nparent: a\nguaranteed: {cpu: 8.5}\n",
          "queue \"b\" is guaranteed 8.5 cpu, and \"a\" has at most 8 cpu", false },
        { Q "a\n---\n" Q "b\nparent: a\nguaranteed: {memory: 2Ti}\n",
          "queue \"a\" is guaranteed 2.0Ti of memory, and the cluster has", true },
        { Q "a\ncells: {rack: 3}\n", "3 equal cells of rack are guaranteed, and the cluster has 2",
          true },
        { Q "a\ncells: {zone: 1}\n", "cells of \"zone\", which is no level of this cluster",
          false },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan_of p = plan(cases[i].text);
        bool told = false;
        for (size_t k = 0; k < p.tree->n_problems; k++)
            told = told || (strstr(p.tree->problems[k].what, cases[i].what) &&
                            p.tree->problems[k].of_nodes == cases[i].of_nodes);
        if (!told)
            fail_msg("%s: %s", cases[i].text,
                     p.tree->n_problems ? p.tree->problems[0].what : "no problem");
        assert_true(p.tree->n > 1); /* and a tree there is in any case */
        plan_end(&p);
    }
}

static void every_strategy_can_be_declared(void **state)
{
    (void)state;
    for (unsigned s = 0; s < QUEUE_STRATEGY_N; s++) {
        char text[100];
        snprintf(text, sizeof text, Q "a\nstrategy: %s\n",
                 queue_strategy_word((enum queue_strategy)s));
        struct plan_of p = plan(text);
        assert_int_equal(queue(&p, "a")->strategy, s);
        plan_end(&p);
    }
}

/* ---- random declarations ---- */

static struct portion random_portion(uint64_t *seed)
{
    struct portion p = { .given = next_random(seed) % 3 == 0 };
    p.percent = next_random(seed) % 2;
    p.value = next_random(seed) % (p.percent ? PORTION_WHOLE : 20000);
    return p;
}

static void random_queue(uint64_t *seed, struct entry *out)
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "nobody" };
    *out = (struct entry){ .kind = next_random(seed) % 4 ? ENTRY_QUOTA : ENTRY_VIRTUAL_CLUSTER,
                           .name = names[next_random(seed) % 7] };
    if (next_random(seed) % 2)
        out->parent = names[next_random(seed) % 8];
    out->guaranteed.gpu = random_portion(seed);
    out->guaranteed.cpu = random_portion(seed);
    out->maximum.gpu = random_portion(seed);
    out->user.all = random_portion(seed);
    out->user.all.percent = true;
    out->user.all.value %= PORTION_WHOLE;
}

/* What the tree must be whatever was declared; and when nothing was wrong, what it must add up to:
 * told by a sum of its own. */
static void check_tree(const struct queue_tree *tree)
{
    assert_string_equal(tree->specs[queue_tree_position(tree, NULL)].name, "default");
    for (size_t i = 0; i < tree->n; i++) {
        const struct queue_spec *spec = &tree->specs[i];
        uint64_t below = 0;
        assert_true(spec->parent == QUEUE_ROOT || spec->parent < i);
        assert_int_equal(queue_tree_position(tree, spec->name), i);
        if (tree->n_problems)
            continue;
        assert_true(spec->sure.gpu_milli <= spec->most.gpu_milli);
        for (size_t k = 0; k < tree->n; k++)
            if (tree->specs[k].parent == i)
                below += tree->specs[k].sure.gpu_milli;
        uint64_t within = spec->sure.gpu_milli ? spec->sure.gpu_milli : spec->most.gpu_milli;
        assert_true(below <= within);
        if (spec->parent == QUEUE_ROOT)
            assert_true(spec->sure.gpu_milli <= tree->total.gpu_milli);
    }
}

static void any_declarations_make_a_tree(void **state)
{
    uint64_t seed = 88172645463325252ull;
    size_t good = 0;
    struct cluster *cluster = five_nodes();
    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct catalogue *c = catalogue_create();
        for (uint64_t n = next_random(&seed) % 7; n > 0; n--) {
            struct entry entry;
            random_queue(&seed, &entry);
            catalogue_put(c, &entry);
        }
        struct queue_tree *tree = queue_tree_make(c, cluster, NULL);
        check_tree(tree);
        good += tree->n_problems == 0 && tree->n > 2;
        queue_tree_destroy(tree);
        catalogue_destroy(c);
    }
    assert_true(good > 100);
    cluster_destroy(cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parents_come_first_and_siblings_by_name),
        cmocka_unit_test(shares_become_amounts),
        cmocka_unit_test(cells_are_the_largest_equal_nodes),
        cmocka_unit_test(mistakes_are_told_with_both_numbers),
        cmocka_unit_test(every_strategy_can_be_declared),
        cmocka_unit_test(any_declarations_make_a_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
