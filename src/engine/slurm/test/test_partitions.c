/* What sinfo says of partitions: the smallest of their nodes, and of GPUs the type that is meant by
 * what a job calls it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/slurm/partitions.h"

static int set_up(void **state)
{
    *state = arena_create();
    return 0;
}

static int tear_down(void **state)
{
    arena_destroy(*state);
    return 0;
}

static void shapes_are_read(void **state)
{
    static const char text[] = "main*@8@16000@up\nbig@64+@512000+@up\nbig@32@900000@up\nbad\n";
    struct slurm_shape shape;
    assert_true(slurm_read_shape(*state, text, "", NULL, &shape));
    assert_string_equal(shape.partition, "main");
    assert_int_equal(shape.cpus, 8);
    assert_int_equal(shape.memory, 16000ull << 20);
    assert_true(slurm_read_shape(*state, text, "big", NULL, &shape));
    assert_int_equal(shape.cpus, 32);
    assert_int_equal(shape.memory, 512000ull << 20);
    assert_false(slurm_read_shape(*state, text, "nope", NULL, &shape));
    assert_false(slurm_read_shape(*state, "", "", NULL, &shape));
}

static const char mixed[] = "gpu*@64@512000@up@1-00:00:00@2@gpu:a100:8(S:0-1)\n"
                            "gpu*@32@256000@up@1-00:00:00@5@gpu:v100:4,gpu:t4:2\n"
                            "gpu*@32@256000@up@1-00:00:00@9@gpu:a100_80g:4(S:0)\n"
                            "gpu*@16@64000@up@1-00:00:00@2@(null)\n"
                            "old@16@64000@up@infinite@3@gpu:2\n";

/* What is asked for, and what Slurm is to be asked for: nodes 0 where there is none. */
static const struct {
    const char *partition;
    uint32_t n;
    const char *types[3], *type;
    uint32_t nodes, gpus;
} rows[] = {
    { "", 1, { NULL }, "", 16, 4 },
    { "", 6, { NULL }, "", 7, 6 }, /* v100 and t4 together */
    { "", 1, { "V100" }, "v100", 5, 4 },
    { "", 1, { "V100-SXM2-32GB" }, "v100", 5, 4 },
    { "", 4, { "a100" }, "a100", 2, 8 }, /* that very word, though more nodes have the other */
    { "", 8, { "NVIDIA A100-SXM4-80GB" }, "a100", 2, 8 },
    { "", 3, { "t4" }, "", 0, 0 },
    { "", 1, { "h100", "T4" }, "t4", 5, 2 },
    { "", 1, { "h100" }, "", 0, 0 },
    { "old", 2, { "h100" }, "", 3, 2 }, /* it has no word: may be */
};

static void types_are_found(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *types[3] = { rows[i].types[0], rows[i].types[1], rows[i].types[2] };
        struct slurm_gpus gpus = { .n = rows[i].n, .types = { .at = types } };
        struct slurm_shape shape = { .nodes = 0 };
        while (types[gpus.types.n])
            gpus.types.n++;
        const bool found = slurm_read_shape(*state, mixed, rows[i].partition, &gpus, &shape);
        if (found != (rows[i].nodes > 0))
            fail_msg("row %zu: %s", i, found ? "found" : "not found");
        if (!found)
            continue;
        assert_string_equal(shape.gpu_type, rows[i].type);
        if (shape.nodes != rows[i].nodes || shape.gpus != rows[i].gpus)
            fail_msg("row %zu: %u nodes with %u", i, shape.nodes, shape.gpus);
    }
}

static void types_are_listed(void **state)
{
    const struct words types = slurm_gpu_types(*state, mixed, "");
    assert_int_equal(types.n, 4);
    assert_string_equal(types.at[0], "a100");
    assert_string_equal(types.at[3], "a100_80g");
    assert_int_equal(slurm_gpu_types(*state, mixed, "old").n, 0);
}

static void nodes_are_listed(void **state)
{
    static const char text[] = "gpu*@64@512000@up@1-00:00:00@2@gpu:a100:8@n[1-2]\n"
                               "gpu*@16@64000@up@1-00:00:00@2@(null)@big,m07\n"
                               "old@16@64000@up@infinite@3@gpu:2\n"
                               "odd@16@64000@up@infinite@1@(null)@n[1-\n";
    const struct words nodes = slurm_nodes(*state, text, "");
    assert_string_equal(words_joined(*state, &nodes, " "), "n1 n2 big m07");
    assert_int_equal(slurm_nodes(*state, text, "old").n, 0);
    assert_int_equal(slurm_nodes(*state, text, "odd").n, 0);
    assert_int_equal(slurm_nodes(*state, text, "none").n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shapes_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(types_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(types_are_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nodes_are_listed, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("engine/slurm/partitions", tests, NULL, NULL);
}
