/* Which task runs on which node: counts and ranks as Slurm 22.05 has them for nodes that are alike,
 * by default and in each order that may be asked for. */
#include "step/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    uint32_t tasks, nodes, per_node;
    const char *order;            /* NULL: none */
    const char *counts, *node_of; /* NULL: refused */
} rows[] = {
    { 4, 2, 0, NULL, "2(x2)", "0011" },           { 5, 2, 0, NULL, "3,2", "00011" },
    { 2, 4, 0, NULL, "1(x2),0(x2)", "01" },       { 4, 4, 0, NULL, "1(x4)", "0123" },
    { 4, 2, 0, "cyclic", "2(x2)", "0101" },       { 4, 2, 0, "cyclic:block", "2(x2)", "0101" },
    { 4, 2, 0, "block,NoPack", "2(x2)", "0011" }, { 7, 2, 0, "plane=2", "4,3", "0011001" },
    { 8, 2, 4, "*", "4(x2)", "00001111" },        { 9, 2, 4, NULL, NULL, NULL },
    { 4, 2, 0, "arbitrary", NULL, NULL },         { 4, 2, 0, "plane", NULL, NULL },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *a = arena_create();
        struct err err = { .code = ERR_NONE };
        struct layout layout;
        char node_of[16] = "";
        struct layout_ask ask = { .tasks = rows[i].tasks,
                                  .nodes = rows[i].nodes,
                                  .per_node = rows[i].per_node };
        int rc = rows[i].order ? layout_order(rows[i].order, &ask, &err) : 0;
        rc = rc == 0 ? layout_make(a, &ask, &layout, &err) : rc;
        assert_int_equal(rc, rows[i].counts ? 0 : -1);
        for (uint32_t k = 0; rc == 0 && k < rows[i].tasks; k++)
            node_of[k] = (char)('0' + layout.node_of[k]);
        if (rc == 0) {
            assert_string_equal(layout_counts(a, &layout, rows[i].nodes), rows[i].counts);
            assert_string_equal(node_of, rows[i].node_of);
        }
        arena_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
