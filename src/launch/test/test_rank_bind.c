/* Processor sets against made-up machines in a scratch tree. The expected sets are what the rules
 * of torch's numa binding give for the same tree. */
#include "launch/rank_bind.h"

#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

struct tree {
    char root[64];
    struct arena *arena;
};

__attribute__((format(printf, 3, 4))) static void put(struct tree *tree, const char *text,
                                                      const char *fmt, ...)
{
    char path[256], full[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(path, sizeof path, fmt, ap);
    va_end(ap);
    snprintf(full, sizeof full, "%s/%s", tree->root, path);
    *strrchr(full, '/') = '\0';
    assert_int_equal(file_mkdirs(full, 0755, NULL), 0);
    snprintf(full, sizeof full, "%s/%s", tree->root, path);
    int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

/* 16 processors, two threads a core (n and n + 8), four nodes of two cores, two sockets; every node
 * has its own cache. */
static int setup(void **state)
{
    struct tree *tree = mem_new(sizeof *tree);
    snprintf(tree->root, sizeof tree->root, "/tmp/bind.XXXXXX");
    assert_non_null(mkdtemp(tree->root));
    tree->arena = arena_create();
    static const char *const lists[] = { "0-1,8-9\n", "2-3,10-11\n", "4-5,12-13\n", "6-7,14-15\n" };
    for (int node = 0; node < 4; node++)
        put(tree, lists[node], "sys/devices/system/node/node%d/cpulist", node);
    for (int cpu = 0; cpu < 16; cpu++) {
        char pair[32];
        snprintf(pair, sizeof pair, "%d,%d\n", cpu % 8, cpu % 8 + 8);
        put(tree, pair, "sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
        put(tree, cpu % 8 < 4 ? "0\n" : "1\n",
            "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
        put(tree, "Data\n", "sys/devices/system/cpu/cpu%d/cache/index0/type", cpu);
        put(tree, "1\n", "sys/devices/system/cpu/cpu%d/cache/index0/level", cpu);
        put(tree, pair, "sys/devices/system/cpu/cpu%d/cache/index0/shared_cpu_list", cpu);
        put(tree, "Instruction\n", "sys/devices/system/cpu/cpu%d/cache/index1/type", cpu);
        put(tree, "9\n", "sys/devices/system/cpu/cpu%d/cache/index1/level", cpu);
        put(tree, "Unified\n", "sys/devices/system/cpu/cpu%d/cache/index3/type", cpu);
        put(tree, "3\n", "sys/devices/system/cpu/cpu%d/cache/index3/level", cpu);
        put(tree, cpu == 0 ? "0\n" : lists[cpu % 8 / 2],
            "sys/devices/system/cpu/cpu%d/cache/index3/shared_cpu_list", cpu);
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
    *state = tree;
    return 0;
}

static int teardown(void **state)
{
    struct tree *tree = *state;
    assert_int_equal(file_remove_tree(tree->root, NULL), 0);
    arena_destroy(tree->arena);
    free(tree);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return 0;
}

static void expect(const cpu_set_t *set, const char *cpus)
{
    char text[256] = "";
    size_t len = 0;
    for (size_t cpu = 0; cpu < 64; cpu++)
        if (CPU_ISSET(cpu, set))
            len +=
                (size_t)snprintf(text + len, sizeof text - len, "%s%zu", len > 0 ? "," : "", cpu);
    assert_string_equal(text, cpus);
}

static void test_spread_over_nodes(void **state)
{
    struct tree *tree = *state;
    const cpu_set_t *sets = rank_bind_make(tree->arena, BIND_NODE, 2, tree->root);
    assert_non_null(sets);
    expect(&sets[0], "0,1,8,9");
    expect(&sets[1], "4,5,12,13");
    sets = rank_bind_make(tree->arena, BIND_SOCKET, 2, tree->root);
    expect(&sets[0], "0,1,2,3,8,9,10,11");
    expect(&sets[1], "4,5,6,7,12,13,14,15");
    assert_null(rank_bind_make(tree->arena, BIND_NONE, 2, tree->root));
    assert_null(rank_bind_make(tree->arena, BIND_NODE, 2, "/nowhere"));
}

static void test_shares_of_cores(void **state)
{
    struct tree *tree = *state;
    const cpu_set_t *sets = rank_bind_make(tree->arena, BIND_EXCLUSIVE, 8, tree->root);
    expect(&sets[0], "0,8");
    expect(&sets[1], "1,9");
    expect(&sets[7], "7,15");
    sets = rank_bind_make(tree->arena, BIND_EXCLUSIVE, 12, tree->root); /* three on two cores */
    expect(&sets[0], "0,8");
    expect(&sets[1], "1,9");
    expect(&sets[2], "0,8");
}

static void test_complexes(void **state)
{
    struct tree *tree = *state;
    const cpu_set_t *sets = rank_bind_make(tree->arena, BIND_CORE_COMPLEX, 8, tree->root);
    expect(&sets[0], "1,8,9"); /* the larger of node 0's two: processor 0 has one of its own */
    expect(&sets[1], "0");
    expect(&sets[2], "2,3,10,11");
    expect(&sets[3], "2,3,10,11");
}

static void test_node_of_device(void **state)
{
    struct tree *tree = *state;
    put(tree, "x", "proc/driver/nvidia/gpus/0000:3b:00.0/information");
    put(tree, "x", "proc/driver/nvidia/gpus/0000:af:00.0/information");
    put(tree, "3\n", "sys/bus/pci/devices/0000:3b:00.0/numa_node");
    put(tree, "-1\n", "sys/bus/pci/devices/0000:af:00.0/numa_node");
    const cpu_set_t *sets = rank_bind_make(tree->arena, BIND_NODE, 2, tree->root);
    expect(&sets[0], "6,7,14,15");
    expect(&sets[1], "0,1,8,9");
    setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
    sets = rank_bind_make(tree->arena, BIND_NODE, 2, tree->root);
    expect(&sets[0], "0,1,8,9");
    expect(&sets[1], "6,7,14,15");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_spread_over_nodes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shares_of_cores, setup, teardown),
        cmocka_unit_test_setup_teardown(test_complexes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_node_of_device, setup, teardown),
    };
    return cmocka_run_group_tests_name("rank binding", tests, NULL, NULL);
}
