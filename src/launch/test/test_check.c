/* The node check on loopback: one node, pairs and a trio, faults, deadlines, strangers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "launch/check.h"

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
    struct rdzv_checked last;
    char figures[512], why[256];
};
struct group {
    uv_loop_t loop;
    struct settings settings;
    struct check *nodes[NODES_MAX];
    struct heard heard[NODES_MAX];
    const char *addrs[NODES_MAX];
    uint16_t ports[NODES_MAX];
    size_t n;
    unsigned answers;
};

static void on_done(void *arg, const struct rdzv_checked *checked)
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
        group->addrs[i] = reached;
        group->ports[i] = check_port(group->nodes[i]);
        assert_int_not_equal(group->ports[i], 0);
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
                               .addrs = group->addrs,
                               .ports = group->ports,
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
    (void)setenv("MUSTER_CHECK_TIMEOUT_S", "8", 1);
    make_nodes(group, 3);
    order(group, 0, false, NULL);
    order(group, 1, false, NULL); /* the third is never told to check */
    await(group, 0);
    await(group, 1);
    assert_int_equal(group->heard[0].last.result, RDZV_CHECK_PAIR_BAD);
    snprintf(name, sizeof name, "127.0.0.1 port %u: did not come in time", group->ports[2]);
    assert_string_equal(group->heard[0].why, name);
    assert_int_equal(group->heard[1].last.result, RDZV_CHECK_PAIR_BAD);
}

static void a_stuck_device_ends_at_the_deadline(void **state)
{
    struct group *group = *state;
    struct err err;
    char path[] = "/tmp/muster-check-XXXXXX";
    static const char stuck[] = "#!/bin/sh\nexec sleep 600\n";
    assert_non_null(mkdtemp(path));
    AUTO_FREE char *program = mem_printf("%s/python", path);
    assert_int_equal(file_replace(program, stuck, strlen(stuck), 0755, &err), 0);
    group->settings.python = program;
    (void)setenv("MUSTER_CHECK_TIMEOUT_S", "4", 1);
    (void)setenv("MUSTER_CHECK_TORCH", "1", 1);
    make_nodes(group, 1);
    order(group, 0, false, NULL);
    await_all(group);
    (void)unsetenv("MUSTER_CHECK_TORCH");
    assert_int_equal(file_remove_tree(path, &err), 0);
    assert_int_equal(group->heard[0].last.result, RDZV_CHECK_SELF_BAD);
    assert_string_equal(group->heard[0].why, "the check did not end within 4 s");
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
    int silent = connect_to(group->ports[0]), loud = connect_to(group->ports[0]);
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
        cmocka_unit_test_setup_teardown(a_stuck_device_ends_at_the_deadline, enter, leave),
        cmocka_unit_test_setup_teardown(a_program_without_an_answer_is_a_fault, enter, leave),
        cmocka_unit_test_setup_teardown(torch_checks_a_pair, enter, leave),
        cmocka_unit_test_setup_teardown(strangers_are_no_partners, enter, leave),
        cmocka_unit_test_setup_teardown(a_new_order_ends_the_running_one, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
