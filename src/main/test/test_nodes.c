/* Declared nodes, in the short form and as the file has them. Addresses of several nodes of one
 * machine never repeat; files with mistakes are refused. */
#include "main/nodes.h"

#include "base/mem.h"
#include "text/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void groups(void **state)
{
    struct arena *a = arena_create();
    struct node_list list;
    struct err err;
    (void)state;
    assert_int_equal(nodes_parse(a, "4x16cpu,64Gi,4gpu", "vm", &list, &err), 0);
    assert_int_equal(list.n, 4);
    assert_string_equal(list.at[0].name, "n1");
    assert_string_equal(list.at[3].name, "n4");
    assert_string_equal(list.at[0].address, "127.0.0.10");
    assert_string_equal(list.at[3].address, "127.0.0.13");
    assert_string_equal(list.at[3].host, "vm");
    assert_int_equal(list.at[1].cpu_milli, 16000);
    assert_true(list.at[1].memory == 64ull << 30);
    assert_int_equal(list.at[1].gpus, 4);
    assert_true(list.at[1].declared);
    arena_destroy(a);
}

static void several_groups(void **state)
{
    struct arena *a = arena_create();
    struct node_list list;
    struct err err;
    (void)state;
    assert_int_equal(
        nodes_parse(a, "2x16cpu,64Gi; 1x8.5cpu,32Gi,4gpu:A100,zone=a,licence:2,disk=1Ti,name=big",
                    "vm", &list, &err),
        0);
    assert_int_equal(list.n, 3);
    const struct node_spec *big = &list.at[2];
    assert_string_equal(big->name, "big");
    assert_string_equal(big->address, "127.0.0.12");
    assert_int_equal(big->cpu_milli, 8500);
    assert_string_equal(big->gpu_type, "A100");
    assert_true(big->disk == 1ull << 40);
    assert_string_equal(pairs_get(&big->labels, "zone"), "a");
    assert_int_equal(big->custom.n, 1);
    assert_string_equal(big->custom.at[0].name, "licence");
    assert_int_equal(big->custom.at[0].milli, 2000);
    assert_int_equal(list.at[0].gpus, 0);
    assert_string_equal(list.at[0].gpu_type, "");
    arena_destroy(a);
}

static void refused(void **state)
{
    static const char *const bad[] = { "",
                                       ";",
                                       "16",
                                       "64Gi",
                                       "4x",
                                       "0x16cpu,1Gi",
                                       "16cpu",
                                       "16cpu,64Gi,xgpu",
                                       "16cpu,64Gi,=b",
                                       "16cpu,64Gi,name=",
                                       "99999x1cpu,1Gi",
                                       "1cpu,1Gi,name=a;1cpu,1Gi,name=a",
                                       "-1cpu,1Gi",
                                       "4x16cpu,64Gi,4gpu,whatever" };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct arena *a = arena_create();
        struct node_list list;
        struct err err = { .code = ERR_NONE };
        if (nodes_parse(a, bad[i], "vm", &list, &err) == 0)
            fail_msg("\"%s\" was taken", bad[i]);
        assert_int_equal(err_exit_status(err.code), 2);
        assert_true(err.what[0] != '\0');
        arena_destroy(a);
    }
}

static void addresses_never_repeat(void **state)
{
    struct arena *a = arena_create();
    (void)state;
    assert_string_equal(nodes_address(a, 239), "127.0.0.249");
    assert_string_equal(nodes_address(a, 240), "127.0.1.10");
    assert_string_equal(nodes_address(a, 4095), "127.0.17.25");
    arena_destroy(a);
}

static int read_yaml(struct arena *a, const char *text, struct node_list *list, struct err *err)
{
    struct report report;
    report_init(&report, a);
    struct text_node *tree = yaml_parse(a, text, strlen(text), &report);
    assert_non_null(tree);
    return nodes_read(a, tree, "vm", list, err);
}

static void from_a_file(void **state)
{
    struct arena *a = arena_create();
    struct node_list list;
    struct err err;
    (void)state;
    assert_int_equal(
        read_yaml(
            a,
            "- {name: a, cpus: 16, memory: 64Gi, gpus: 4}\n"
            "- {name: b, count: 2, cpus: 8, memory: 16Gi, disk: 1Ti, gpus: {count: 2, type: H100},\n"
            "   labels: {zone: x}, custom: {licence: 3}}\n",
            &list, &err),
        0);
    assert_int_equal(list.n, 3);
    assert_string_equal(list.at[0].name, "a");
    assert_int_equal(list.at[0].gpus, 4);
    assert_string_equal(list.at[1].name, "b1");
    assert_string_equal(list.at[2].name, "b2");
    assert_string_equal(list.at[2].gpu_type, "H100");
    assert_string_equal(pairs_get(&list.at[2].labels, "zone"), "x");
    assert_int_equal(list.at[2].custom.at[0].milli, 3000);
    arena_destroy(a);
}

static void bad_files(void **state)
{
    static const char *const bad[] = { "- 3\n",
                                       "- {cpus: 4}\n",
                                       "- {cpu: 4, memory: 1Gi}\n",
                                       "- {cpus: x, memory: 1Gi}\n",
                                       "- {cpus: 4, memory: 1Gi, gpus: many}\n",
                                       "- {cpus: 4, memory: 1Gi, labels: x}\n",
                                       "- {cpus: 4, memory: 1Gi, count: 0}\n",
                                       "- {cpus: 4, memory: 1Gi, custom: {x: y}}\n",
                                       "[]\n" };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct arena *a = arena_create();
        struct node_list list;
        struct err err = { .code = ERR_NONE };
        if (read_yaml(a, bad[i], &list, &err) == 0)
            fail_msg("%s was taken", bad[i]);
        assert_int_equal(err.code, ERR_INPUT);
        arena_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups),      cmocka_unit_test(several_groups),
        cmocka_unit_test(refused),     cmocka_unit_test(addresses_never_repeat),
        cmocka_unit_test(from_a_file), cmocka_unit_test(bad_files)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
