/* The node check on loopback: one node, pairs and a trio, faults, deadlines, strangers; what is
 * granted, and what a group does together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "launch/check.h"
#include "launch/check_grant.h"
#include "launch/check_plan.h"
#include "launch/check_work.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define NODES_MAX 3
#define WAIT_MS   120000u

struct heard {
    unsigned times;
    struct rdzv_check_report last;
    char figures[CHECK_FIGURES_MAX], why[CHECK_WHY_MAX];
};
struct group {
    uv_loop_t loop;
    struct settings settings;
    struct check *nodes[NODES_MAX];
    struct heard heard[NODES_MAX];
    struct rdzv_peer peers[NODES_MAX];
    size_t n;
    unsigned answers;
};

static void on_done(void *arg, const struct rdzv_check_report *checked)
{
    struct heard *heard = arg;
    heard->times++;
    heard->last = *checked;
    snprintf(heard->figures, sizeof heard->figures, "%s", checked->figures);
    snprintf(heard->why, sizeof heard->why, "%s", checked->why);
}

static int enter(void **state)
{
    struct group *group = mem_new(sizeof *group);
    *state = group;
    group->settings.python = "python3";
    (void)setenv("CUDA_VISIBLE_DEVICES", "", 1);
    return uv_loop_init(&group->loop);
}

static int leave(void **state)
{
    struct group *group = *state;
    for (size_t i = 0; i < NODES_MAX; i++)
        check_destroy(group->nodes[i]);
    uv_run(&group->loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&group->loop);
    (void)unsetenv("MUSTER_CHECK_FAULT");
    (void)unsetenv("MUSTER_CHECK_TIMEOUT_S");
    (void)unsetenv("CUDA_VISIBLE_DEVICES");
    if (waitpid(-1, NULL, WNOHANG) != -1)
        rc = -1; /* a child was left */
    free(group);
    return rc;
}

static void make_nodes_at(struct group *group, size_t n, const char *listen, const char *reached)
{
    group->n = n;
    for (size_t i = 0; i < n; i++) {
        group->nodes[i] =
            check_create(&group->loop, &group->settings, listen, on_done, &group->heard[i]);
        group->peers[i].addr = reached;
        group->peers[i].port = check_port(group->nodes[i]);
        assert_int_not_equal(group->peers[i].port, 0);
    }
}

static void make_nodes(struct group *group, size_t n)
{
    make_nodes_at(group, n, "127.0.0.1", "127.0.0.1");
}

/* The order to one node; with this fault in its environment. */
static void order(struct group *group, uint32_t index, bool bandwidth, const char *fault)
{
    struct rdzv_check what = { .term = 3,
                               .check = 7,
                               .index = index,
                               .peers = group->peers,
                               .n = group->n,
                               .bandwidth = bandwidth };
    if (fault)
        (void)setenv("MUSTER_CHECK_FAULT", fault, 1);
    check_run(group->nodes[index], &what);
    (void)unsetenv("MUSTER_CHECK_FAULT");
}

static void await(struct group *group, uint32_t index)
{
    uint64_t until = clock_mono_ms() + WAIT_MS;
    while (group->heard[index].times == 0 && clock_mono_ms() < until)
        uv_run(&group->loop, UV_RUN_ONCE);
    assert_int_equal(group->heard[index].times, 1);
    assert_int_equal(group->heard[index].last.term, 3);
    assert_int_equal(group->heard[index].last.check, 7);
}

static void await_all(struct group *group)
{
    for (uint32_t i = 0; i < group->n; i++)
        await(group, i);
}

static void one_node_checks_itself(void **state)
{
    struct group *group = *state;
    make_nodes(group, 1);
    order(group, 0, true, NULL);
    await_all(group);
    const struct heard *heard = &group->heard[0];
    assert_int_equal(heard->last.result, RDZV_CHECK_OK);
    assert_string_equal(heard->why, "");
    assert_true(heard->last.took_us > 1000);
    assert_non_null(strstr(heard->figures, "matmul "));
    assert_non_null(strstr(heard->figures, "memory "));
    assert_non_null(strstr(heard->figures, "disk "));
    assert_non_null(strstr(heard->figures, "loopback "));
    assert_null(strstr(heard->figures, "partner "));
}

/* A launcher whose address is a name listens at all of them ("*") and is reached by the name. */
static void partners_are_found_by_name(void **state)
{
    struct group *group = *state;
    make_nodes_at(group, 2, "*", "localhost");
    for (uint32_t i = 0; i < 2; i++)
        order(group, i, false, NULL);
    await_all(group);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(group->heard[i].last.result, RDZV_CHECK_OK);
}

static void a_trio_measures_its_links(void **state)
{
    struct group *group = *state;
    make_nodes(group, 3);
    for (uint32_t i = 0; i < 3; i++)
        order(group, i, true, NULL);
    await_all(group);
    for (size_t i = 0; i < 3; i++) {
        if (group->heard[i].last.result != RDZV_CHECK_OK)
            fail_msg("node %zu: %s", i, group->heard[i].why);
        const char *partner = strstr(group->heard[i].figures, "partner ");
        assert_non_null(partner);
        assert_non_null(strstr(partner, "GB/s"));
    }
}

static void without_bandwidth_there_is_only_latency(void **state)
{
    struct group *group = *state;
    make_nodes(group, 2);
    order(group, 0, false, NULL);
    order(group, 1, false, NULL);
    await_all(group);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(group->heard[i].last.result, RDZV_CHECK_OK);
        assert_null(strstr(strstr(group->heard[i].figures, "partner "), "GB/s"));
    }
}

static void a_bad_node_does_not_spoil_its_partner(void **state)
{
    struct group *group = *state;
    make_nodes(group, 2);
    order(group, 0, false, NULL);
    order(group, 1, false, "self");
    await_all(group);
    assert_int_equal(group->heard[0].last.result, RDZV_CHECK_OK);
    assert_int_equal(group->heard[1].last.result, RDZV_CHECK_SELF_BAD);
    assert_string_equal(group->heard[1].why, "fault injected");
}

static void a_bad_link_is_seen_from_both_ends(void **state)
{
    struct group *group = *state;
    make_nodes(group, 2);
    order(group, 0, false, "pair");
    order(group, 1, false, NULL);
    await_all(group);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(group->heard[i].last.result, RDZV_CHECK_PAIR_BAD);
        assert_non_null(strstr(group->heard[i].why, "127.0.0.1 port "));
    }
}

/* A busy machine can make a good node slow, but not each time. */
static void a_slow_node_takes_longer(void **state)
{
    struct group *group = *state;
    uint64_t slow = 0, good = UINT64_MAX / 2;
    make_nodes(group, 1);
    for (size_t i = 0; i < 8 && slow <= 2 * good; i++) {
        group->heard[0].times = 0;
        order(group, 0, false, i == 0 ? "slow" : NULL);
        await_all(group);
        uint64_t took = group->heard[0].last.took_us;
        if (i == 0)
            slow = took;
        else if (took < good)
            good = took;
    }
    assert_true(slow > 2 * good);
}

static void a_partner_that_does_not_come_is_named(void **state)
{
    struct group *group = *state;
    char name[64];
    (void)setenv("MUSTER_CHECK_TIMEOUT_S", "20", 1);
    make_nodes(group, 3);
    order(group, 0, false, NULL);
    order(group, 1, false, NULL); /* the third is never told to check */
    await(group, 0);
    await(group, 1);
    assert_int_equal(group->heard[0].last.result, RDZV_CHECK_PAIR_BAD);
    snprintf(name, sizeof name, "127.0.0.1 port %u: did not come in time", group->peers[2].port);
    assert_string_equal(group->heard[0].why, name);
    assert_int_equal(group->heard[1].last.result, RDZV_CHECK_PAIR_BAD);
}

/* Whose driver never answers is named, and its partner is told: it waits for nothing. */
static void a_stuck_driver_is_named(void **state)
{
    struct group *group = *state;
    struct err err;
    char path[] = "/tmp/muster-check-XXXXXX";
    static const char stuck[] = "#!/bin/sh\nexec sleep 600\n";
    assert_non_null(mkdtemp(path));
    AUTO_FREE char *program = mem_printf("%s/python", path);
    assert_int_equal(file_replace(program, stuck, strlen(stuck), 0755, &err), 0);
    group->settings.python = program;
    (void)setenv("MUSTER_CHECK_TIMEOUT_S", "40", 1);
    make_nodes(group, 2);
    (void)setenv("CUDA_VISIBLE_DEVICES", "2,3", 1);
    order(group, 0, false, NULL);
    (void)setenv("CUDA_VISIBLE_DEVICES", "", 1);
    order(group, 1, false, NULL);
    await_all(group);
    assert_int_equal(file_remove_tree(path, &err), 0);
    static const char why[] = "torch: GPU 2,3: the driver did not answer within 10 s";
    assert_int_equal(group->heard[0].last.result, RDZV_CHECK_SELF_BAD);
    assert_string_equal(group->heard[0].why, why);
    assert_int_equal(group->heard[1].last.result, RDZV_CHECK_PAIR_BAD);
    AUTO_FREE char *told =
        mem_printf("127.0.0.1 port %u: it failed by itself: %s", group->peers[0].port, why);
    assert_string_equal(group->heard[1].why, told);
}

static void a_program_without_an_answer_is_a_fault(void **state)
{
    struct group *group = *state;
    group->settings.python = "/bin/false";
    (void)setenv("MUSTER_CHECK_TORCH", "1", 1);
    make_nodes(group, 1);
    order(group, 0, false, NULL);
    await_all(group);
    (void)unsetenv("MUSTER_CHECK_TORCH");
    assert_int_equal(group->heard[0].last.result, RDZV_CHECK_SELF_BAD);
    assert_string_equal(group->heard[0].why, "torch: the check program ended without an answer");
}

static void a_program_may_end_before_it_is_told(void **state)
{
    struct group *group = *state;
    struct err err;
    char path[] = "/tmp/muster-check-XXXXXX";
    static const char brief[] = "#!/bin/sh\necho probed\n";
    assert_non_null(mkdtemp(path));
    AUTO_FREE char *program = mem_printf("%s/python", path);
    assert_int_equal(file_replace(program, brief, strlen(brief), 0755, &err), 0);
    group->settings.python = program;
    (void)setenv("MUSTER_CHECK_TORCH", "1", 1);
    make_nodes(group, 1);
    order(group, 0, false, NULL);
    await_all(group);
    (void)unsetenv("MUSTER_CHECK_TORCH");
    assert_int_equal(file_remove_tree(path, &err), 0);
    assert_int_equal(group->heard[0].last.result, RDZV_CHECK_SELF_BAD);
    assert_string_equal(group->heard[0].why, "torch: the check program ended without an answer");
}

static void torch_checks_a_pair(void **state)
{
    struct group *group = *state;
    group->settings.python = getenv("MUSTER_TEST_PYTHON");
    if (!group->settings.python) {
        print_message("MUSTER_TEST_PYTHON names no Python with torch\n");
        skip();
    }
    (void)setenv("MUSTER_CHECK_TORCH", "1", 1);
    make_nodes(group, 2);
    order(group, 0, true, NULL);
    order(group, 1, true, NULL);
    await_all(group);
    (void)unsetenv("MUSTER_CHECK_TORCH");
    for (size_t i = 0; i < 2; i++) {
        if (group->heard[i].last.result != RDZV_CHECK_OK)
            fail_msg("node %zu: %s", i, group->heard[i].why);
        assert_non_null(strstr(group->heard[i].figures, "all-reduce "));
    }
}

/* Its limits would hold for minutes. */
static void who_goes_is_not_waited_for(void **state)
{
    struct group *group = *state;
    struct err err;
    char path[] = "/tmp/muster-check-XXXXXX";
    static const char busy[] = "#!/bin/sh\necho probed; read work; : >$0.works; exec sleep 600\n";
    static const char good[] = "#!/bin/sh\necho probed; read work; echo ready 1 cpu 0 - fine\n"
                               "read plan; exec sleep 600\n";
    assert_non_null(mkdtemp(path));
    AUTO_FREE char *first = mem_printf("%s/good", path);
    AUTO_FREE char *second = mem_printf("%s/busy", path);
    AUTO_FREE char *works = mem_printf("%s.works", second);
    assert_int_equal(file_replace(first, good, strlen(good), 0755, &err), 0);
    assert_int_equal(file_replace(second, busy, strlen(busy), 0755, &err), 0);
    (void)setenv("MUSTER_CHECK_TORCH", "1", 1);
    make_nodes(group, 2);
    group->settings.python = first;
    order(group, 0, false, NULL);
    group->settings.python = second;
    order(group, 1, false, NULL);
    (void)unsetenv("MUSTER_CHECK_TORCH");
    for (uint64_t until = clock_mono_ms() + WAIT_MS;
         access(works, F_OK) != 0 && clock_mono_ms() < until;)
        uv_run(&group->loop, UV_RUN_NOWAIT);
    check_destroy(TAKE(group->nodes[1]));
    await(group, 0);
    assert_int_equal(file_remove_tree(path, &err), 0);
    assert_int_equal(group->heard[0].last.result, RDZV_CHECK_PAIR_BAD);
    AUTO_FREE char *why =
        mem_printf("127.0.0.1 port %u: its check has ended", group->peers[1].port);
    assert_string_equal(group->heard[0].why, why);
}

/* ---- what is granted, what is done together ---- */

static void grants_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *cuda, *numbers;
        bool device; /* the machine has /dev/nvidia3, and no other */
        enum check_grant_kind given;
        uint32_t n;
        const char *names;
    } rows[] = {
        { NULL, NULL, false, CHECK_GIVEN_NONE, 0, "" },
        { NULL, NULL, true, CHECK_GIVEN_ALL, 1, "0" },
        { "", "none", true, CHECK_GIVEN_NONE, 0, "" },
        { "", "4,5", true, CHECK_GIVEN_DECLARED, 0, "4,5" },
        { "7", "7", false, CHECK_GIVEN_LIST, 1, "7" },
        { "0,GPU-12,-1,3", "0", true, CHECK_GIVEN_LIST, 2, "0,GPU-12" },
        { "-1", NULL, true, CHECK_GIVEN_NONE, 0, "" },
    };
    struct err err;
    char root[] = "/tmp/muster-check-XXXXXX";
    assert_non_null(mkdtemp(root));
    AUTO_FREE char *dev = mem_printf("%s/dev", root);
    AUTO_FREE char *file = mem_printf("%s/nvidia3", dev);
    assert_int_equal(file_mkdirs(dev, 0755, &err), 0);
    (void)setenv("MUSTER_JOB_NUMBER", "1", 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct check_grant grant;
        if (rows[i].device)
            assert_int_equal(file_replace(file, "", 0, 0644, &err), 0);
        else
            (void)unlink(file);
        (void)(rows[i].cuda ? setenv("CUDA_VISIBLE_DEVICES", rows[i].cuda, 1)
                            : unsetenv("CUDA_VISIBLE_DEVICES"));
        (void)(rows[i].numbers ? setenv("NVIDIA_VISIBLE_DEVICES", rows[i].numbers, 1)
                               : unsetenv("NVIDIA_VISIBLE_DEVICES"));
        check_grant_read(root, &grant);
        if (grant.given != rows[i].given || grant.n != rows[i].n)
            fail_msg("row %zu: given %d, n %u", i, (int)grant.given, grant.n);
        assert_string_equal(grant.names, rows[i].names);
    }
    (void)unsetenv("MUSTER_JOB_NUMBER");
    (void)unsetenv("NVIDIA_VISIBLE_DEVICES");
    assert_int_equal(file_remove_tree(root, &err), 0);
}

/* From one node to the next the text gets longer by the name of the node. */
static void reasons_are_bounded(void **state)
{
    (void)state;
    char why[CHECK_WHY_MAX], next[CHECK_WHY_MAX], text[2 * CHECK_WHY_MAX];
    memset(text, 'x', sizeof text);
    text[CHECK_WHY_MAX - 1] = '\0';
    check_why(why, "%s", text);
    assert_string_equal(why, text);
    memcpy(text + CHECK_WHY_MAX - 12, "\xe2\x82\xac", 3); /* on the bound: not in two */
    check_why(next, "%s: %s", "n1", text);
    assert_true(strlen(next) < CHECK_WHY_MAX);
    assert_string_equal(next + strlen(next) - 7, "x [...]");
}

#define CUDA(name)                                                                                 \
    {                                                                                              \
        .can = CHECK_CAN_CUDA, .nccl = true, .device = name                                        \
    }
#define ONLY(what)                                                                                 \
    {                                                                                              \
        .can = CHECK_CAN_##what                                                                    \
    }
#define PLAN(b, c, i, k)                                                                           \
    {                                                                                              \
        CHECK_BACKEND_##b, CHECK_BECAUSE_##c, i, k                                                 \
    }

static void a_group_has_one_plan(void **state)
{
    (void)state;
    static const struct {
        struct check_ability of[3];
        size_t n;
        struct check_plan plan;
    } rows[] = {
        { { CUDA("a/1"), CUDA("a/2") }, 2, PLAN(NCCL, NOTHING, 0, 0) },
        { { CUDA("a/1"), CUDA("b/1") }, 2, PLAN(NCCL, NOTHING, 0, 0) },
        { { CUDA("a/1"), CUDA("b/1"), CUDA("a/1") }, 3, PLAN(GLOO, ONE_GPU, 0, 2) },
        { { CUDA(""), CUDA("") }, 2, PLAN(NCCL, NOTHING, 0, 0) }, /* not known: NCCL says it */
        { { CUDA("a/1"), ONLY(CPU) }, 2, PLAN(GLOO, NO_GPU, 1, 1) },
        { { ONLY(NOTHING), CUDA("a/1") }, 2, PLAN(NONE, NO_TORCH, 0, 0) },
        { { ONLY(NOTHING), ONLY(NOTHING) }, 2, PLAN(NONE, NOTHING, 0, 0) },
        { { ONLY(NOTHING), ONLY(CPU) }, 2, PLAN(NONE, NOTHING, 0, 0) },
        { { ONLY(CPU), ONLY(CPU) }, 2, PLAN(GLOO, NOTHING, 0, 0) },
        { { CUDA("a/1"), { .can = CHECK_CAN_HIP, .nccl = true } }, 2, PLAN(GLOO, KIND, 0, 1) },
        { { CUDA("a/1"), { .can = CHECK_CAN_CUDA } }, 2, PLAN(GLOO, NO_NCCL, 1, 1) },
        { { CUDA("a/1"), ONLY(UNKNOWN), ONLY(FAILED) }, 3, PLAN(NONE, FAILED, 2, 2) },
        { { CUDA("a/1"), ONLY(UNKNOWN) }, 2, PLAN(NONE, GONE, 1, 1) },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct check_plan plan = check_plan_make(rows[i].of, rows[i].n), due = rows[i].plan;
        if (plan.backend != due.backend || plan.because != due.because || plan.who != due.who ||
            plan.other != due.other)
            fail_msg("row %zu: backend %d because %d who %u other %u", i, (int)plan.backend,
                     (int)plan.because, plan.who, plan.other);
    }
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void strangers_are_no_partners(void **state)
{
    struct group *group = *state;
    char noise[64];
    make_nodes(group, 2);
    int silent = connect_to(group->peers[0].port), loud = connect_to(group->peers[0].port);
    memset(noise, 'x', sizeof noise);
    assert_int_equal(send(loud, noise, sizeof noise, 0), sizeof noise);
    order(group, 0, false, NULL);
    order(group, 1, false, NULL);
    await_all(group);
    assert_int_equal(group->heard[0].last.result, RDZV_CHECK_OK);
    assert_int_equal(group->heard[1].last.result, RDZV_CHECK_OK);
    close(silent);
    close(loud);
}

static void a_new_order_ends_the_running_one(void **state)
{
    struct group *group = *state;
    make_nodes(group, 2);
    order(group, 0, false, NULL);
    group->n = 1;
    order(group, 0, false, NULL);
    await_all(group);
    assert_int_equal(group->heard[0].last.result, RDZV_CHECK_OK);
    assert_null(strstr(group->heard[0].figures, "partner "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_node_checks_itself, enter, leave),
        cmocka_unit_test_setup_teardown(partners_are_found_by_name, enter, leave),
        cmocka_unit_test_setup_teardown(a_trio_measures_its_links, enter, leave),
        cmocka_unit_test_setup_teardown(without_bandwidth_there_is_only_latency, enter, leave),
        cmocka_unit_test_setup_teardown(a_bad_node_does_not_spoil_its_partner, enter, leave),
        cmocka_unit_test_setup_teardown(a_bad_link_is_seen_from_both_ends, enter, leave),
        cmocka_unit_test_setup_teardown(a_slow_node_takes_longer, enter, leave),
        cmocka_unit_test_setup_teardown(a_partner_that_does_not_come_is_named, enter, leave),
        cmocka_unit_test_setup_teardown(a_stuck_driver_is_named, enter, leave),
        cmocka_unit_test_setup_teardown(who_goes_is_not_waited_for, enter, leave),
        cmocka_unit_test(grants_are_read),
        cmocka_unit_test(reasons_are_bounded),
        cmocka_unit_test(a_group_has_one_plan),
        cmocka_unit_test_setup_teardown(a_program_without_an_answer_is_a_fault, enter, leave),
        cmocka_unit_test_setup_teardown(a_program_may_end_before_it_is_told, enter, leave),
        cmocka_unit_test_setup_teardown(torch_checks_a_pair, enter, leave),
        cmocka_unit_test_setup_teardown(strangers_are_no_partners, enter, leave),
        cmocka_unit_test_setup_teardown(a_new_order_ends_the_running_one, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
