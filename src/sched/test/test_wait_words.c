/* Reasons in words: what is said of each kind, of which none is left out, and what stands around
 * it. */
#include "sched/wait_words.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

static const struct {
    struct wait_reason reason;
    const char *text;
} rows[] = {
    { { .says = SAYS_AHEAD }, "jobs ahead of it in the queue come first" },
    { { .says = SAYS_BACK_OFF }, "waits a while before it is tried again" },
    { { .says = SAYS_AFTER }, "other jobs must end first" },
    { { .says = SAYS_PROMISED },
      "there is room, and starting now would delay one that was promised it" },
    { { .says = SAYS_SHARE_KEPT },
      "its queue may have more, and what is left is kept for one that was there before" },
    { { .says = SAYS_QUOTA,
        .resource = "memory",
        .amounts = AMOUNT_BYTES,
        .queue_name = "q",
        .total = 4ull << 30,
        .used = 3ull << 30,
        .need = 2ull << 30 },
      "queue \"q\" has at most 4Gi memory, 3Gi are in use and it asks for 2Gi" },
    { { .says = SAYS_USER_QUOTA,
        .resource = "gpu",
        .queue_name = "q",
        .total = 4000,
        .used = 3500,
        .need = 1000 },
      "a user has at most 4 gpu of \"q\", 3.5 are in use and it asks for 1" },
    { { .says = SAYS_NO_TYPE, .asked = "A100 or T4", .there = "H100, V100" },
      "no node has gpu type A100 or T4; there are H100, V100" },
    { { .says = SAYS_NO_TYPE, .narrowed = true, .asked = "A100", .there = "" },
      "no node with the labels and names asked for has gpu type A100; no node says the type of its "
      "devices" },
    { { .says = SAYS_NO_LABEL, .asked = "zone=a" }, "no node has the label zone=a" },
    { { .says = SAYS_NO_LABELS }, "no node has all labels asked for" },
    { { .says = SAYS_NO_LABELS, .narrowed = true },
      "no node that is named has all labels asked for" },
    { { .says = SAYS_NO_NAME, .asked = "n1 or n2" }, "no node is named n1 or n2" },
    { { .says = SAYS_NO_ENGINE, .asked = "slurm" }, "no node is of the engine slurm" },
    { { .says = SAYS_NO_PRICE }, "no node it could use costs as little as it bids" },
    { { .says = SAYS_NO_NODE_OF_OWN }, "its own allocation has no node" },
    { { .says = SAYS_NODES_OF_OTHERS },
      "all nodes are of allocations that other jobs have for themselves" },
    { { .says = SAYS_NODES_END }, "the allocations of the nodes it could use are about to end" },
    { { .says = SAYS_NODES_END_EARLY, .limit_ms = 7200000, .left_ms = 3600000, .node = "n1" },
      "its limit of 2h is longer than any node it could use has left; n1 has 1h" },
    { { .says = SAYS_SHORT,
        .resource = "gpu",
        .types = "A100",
        .short_by = 4000,
        .need = 4000,
        .fits = 1,
        .needed = 2,
        .role = "w",
        .units = true,
        .closest = "n2",
        .best = 2000 },
      "gpu of type A100: 4 short, 1 of 2 w units fit; n2 comes closest with 2 of 4 free" },
    { { .says = SAYS_SHORT,
        .resource = "gpu",
        .short_by = 500,
        .need = 500,
        .one_device = true,
        .closest = "n2",
        .best = 250 },
      "gpu: 0.5 short; n2 comes closest with 0.25 of 0.5 free on one device" },
    { { .says = SAYS_SHORT, .resource = "cpu", .short_by = 1000, .closest = "" },
      "cpu: 1 short; no node is up" },
    { { .says = SAYS_SHORT_TOGETHER,
        .resource = "cpu",
        .short_by = 1000,
        .short_roles = 2,
        .need = 4000,
        .free = 3000 },
      "cpu: 1 short; 2 roles need 4 together, 3 are free" },
    { { .says = SAYS_SHORT_NODES, .fits = 1, .needed = 2, .role = "w" },
      "node: 1 of the 2 nodes that w needs has room" },
    { { .says = SAYS_SHORT_NODES, .fits = 2, .needed = 3, .role = "w" },
      "node: 2 of the 3 nodes that w needs have room" },
    { { .says = SAYS_SHORT_PORT, .resource = "port 80", .fits = 1, .needed = 2, .role = "w" },
      "port 80: free on 1 of the 2 hosts that w needs" },
    { { .says = SAYS_NEVER_TOGETHER,
        .resource = "cpu",
        .short_roles = 2,
        .need = 4000,
        .free = 3000 },
      "2 roles need 4 cpu together, the cluster has 3" },
    { { .says = SAYS_NEVER_NODES, .fits = 1, .needed = 2, .role = "w" },
      "w needs 2 nodes for itself, the cluster has 1" },
    { { .says = SAYS_NEVER_PORT, .resource = "port 80", .fits = 1, .needed = 2, .role = "w" },
      "w wants port 80 on 2 hosts, the cluster has 1" },
    { { .says = SAYS_NEVER_ON_ONE, .resource = "gpu", .role = "w", .need = 8000, .free = 4000 },
      "w asks 8 gpu a task, the largest node has 4" },
    { { .says = SAYS_NEVER_IN_ALL,
        .resource = "gpu",
        .role = "w",
        .need = 2000,
        .needed = 4,
        .free = 6000 },
      "w needs 8 gpu, the cluster has 6" },
    { { .says = SAYS_NEVER_UNITS,
        .resource = "gpu",
        .role = "w",
        .need = 2000,
        .fits = 3,
        .needed = 4 },
      "w asks 2 gpu a task, the cluster has room for 3 of 4" },
    { { .says = SAYS_NEVER_MIX,
        .resource = "gpu",
        .role = "w",
        .need = 2000,
        .fits = 3,
        .needed = 4,
        .closest = "n1",
        .best = 1000 },
      "w asks 2 gpu a task, the cluster has room for 3 of 4 with all else it asks; n1 comes "
      "closest with 1" },
    { { .says = SAYS_NO_LEVEL, .level = "rack" }, "the cluster has no topology level rack" },
    { { .says = SAYS_NO_DOMAIN, .level = "rack" }, "no node has the label rack" },
    { { .says = SAYS_DOMAIN_TOGETHER, .level = "rack" },
      "no rack has room for all tasks together" },
    { { .says = SAYS_DOMAIN_NODES,
        .level = "rack",
        .domain = "r1",
        .role = "w",
        .fits = 1,
        .needed = 2 },
      "2 nodes in one rack that w can use; rack r1 has 1" },
    { { .says = SAYS_DOMAIN_SHORT,
        .resource = "gpu",
        .level = "rack",
        .domain = "r1",
        .need = 16000,
        .best = 12000 },
      "16 gpu in one rack; rack r1 comes closest with 12 free" },
    { { .says = SAYS_DOMAIN_NEVER,
        .resource = "gpu",
        .level = "rack",
        .domain = "r1",
        .need = 4000,
        .best = 4000,
        .pieces = true,
        .fits = 1,
        .needed = 2,
        .role = "w" },
      "4 gpu in one rack; rack r1 is the largest with 4, in pieces: 1 of 2 w tasks fit" },
    { { .says = SAYS_NO_ARRANGEMENT }, "no arrangement of the tasks on the nodes found" },
    { { .says = SAYS_NO_CLUSTER }, "the cluster has no node" },
};

static void each_kind_has_words(void **state)
{
    (void)state;
    bool seen[WAIT_SAYS_N] = { [SAYS_NOTHING] = true };
    struct arena *arena = arena_create();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        seen[rows[i].reason.says] = true;
        assert_string_equal(wait_text(arena, &rows[i].reason), rows[i].text);
    }
    for (size_t i = 0; i < WAIT_SAYS_N; i++)
        if (!seen[i])
            fail_msg("kind %zu is in no row", i);
    assert_null(wait_text(arena, &(struct wait_reason){ .why = WAIT_PENDING }));
    arena_destroy(arena);
}

static void what_stands_around_it(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct wait_reason r = { .why = WAIT_EVICTING,
                             .says = SAYS_SHORT_NODES,
                             .fits = 1,
                             .needed = 2,
                             .role = "w",
                             .together = 3,
                             .bundle_name = "j",
                             .not_found = true,
                             .beside = true,
                             .back = "n7",
                             .n_back = 1 };
    assert_string_equal(wait_text(arena, &r),
                        "others are being ended for it; 3 jobs start together; j: no arrangement "
                        "found; w beside the other tasks: node: 1 of the 2 nodes that w needs has "
                        "room; would fit if n7 were back (lost)");
    r = (struct wait_reason){ .says = SAYS_AHEAD, .n_back = 2, .back = "n7", .back_up = true };
    assert_string_equal(wait_text(arena, &r),
                        "jobs ahead of it in the queue come first; would fit if 2 lost or drained "
                        "nodes were back (n7 ...)");
    r.n_back = 1;
    assert_string_equal(
        wait_text(arena, &r),
        "jobs ahead of it in the queue come first; would fit if n7 were back (drained)");
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_words),
        cmocka_unit_test(what_stands_around_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
