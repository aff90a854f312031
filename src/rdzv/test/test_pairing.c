/* Node check: the pairs for 1 to 9 nodes, and who is found guilty or slow: one bad node, all of
 * them, broken ones, slow ones, several on one host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rdzv/pairing.h"

#include "base/mem.h"

static void test_neighbours(void **state)
{
    (void)state;
    struct pairing_node nodes[9] = { 0 };
    for (size_t n = 1; n <= 9; n++) {
        uint32_t group[9];
        assert_int_equal(pairing_make(nodes, n, 0, group), n == 1 ? 1 : n / 2);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(group[i], n > 1 && i == n - 1 && n % 2 ? n / 2 - 1 : i / 2);
    }
}

static void test_fast_with_slow(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 9; n++) {
        struct pairing_node nodes[9] = { 0 };
        uint32_t group[9];
        for (size_t i = 0; i < n; i++) /* node 0 is the slowest */
            nodes[i] = (struct pairing_node){ .ran[0] = true, .ok[0] = true, .took_us[0] = 90 - i };
        size_t groups = pairing_make(nodes, n, 1, group);
        assert_int_equal(groups, n == 1 ? 1 : n / 2);
        unsigned sizes[5] = { 0 };
        for (size_t i = 0; i < n; i++)
            sizes[group[i]]++;
        for (size_t g = 0; g < groups; g++)
            assert_int_equal(sizes[g], n == 1 ? 1 : g == groups - 1 && n % 2 ? 3 : 2);
        for (size_t i = 0; i < n / 2; i++)
            assert_int_equal(group[i], group[n - 1 - i]);
        assert_int_equal(group[0], 0);
        nodes[n - 1].ok[0] = false; /* the fastest failed: now the slowest */
        pairing_make(nodes, n, 1, group);
        assert_int_equal(group[n - 1], 0);
        if (n > 1)
            assert_int_equal(group[n - 2], 0);
    }
}

/* Four nodes measured by dlrover's own report: node 1 alone is slow, node 0 only was its partner.
 */
static void test_worked_case(void **state)
{
    (void)state;
    static const uint64_t first[] = { 206872000, 151752000, 20307000, 20265000 };
    struct pairing_node nodes[4] = { 0 };
    uint32_t group[4];
    for (size_t i = 0; i < 4; i++) {
        nodes[i].ran[0] = nodes[i].ok[0] = true;
        nodes[i].took_us[0] = first[i];
    }
    assert_int_equal(pairing_make(nodes, 4, 1, group), 2);
    assert_int_equal(group[3], group[0]); /* fastest with slowest */
    assert_int_equal(group[2], group[1]);
    nodes[0].ran[1] = nodes[0].ok[1] = nodes[1].ran[1] = nodes[1].ok[1] = true;
    nodes[0].took_us[1] = 23174000;
    nodes[1].took_us[1] = 135961000;
    enum pairing_verdict out[4];
    pairing_judge(nodes, 4, out);
    assert_int_equal(out[0], PAIRING_GOOD);
    assert_int_equal(out[1], PAIRING_STRAGGLER);
    assert_int_equal(out[2], PAIRING_GOOD);
    assert_int_equal(out[3], PAIRING_GOOD);
}

/* Runs both rounds for n nodes of which `bad` spoil every group they are in. */
static void judge_with(size_t n, const bool *bad, bool by_itself, enum pairing_verdict *out)
{
    struct pairing_node nodes[9] = { 0 };
    for (int round = 0; round < 2; round++) {
        uint32_t group[9];
        pairing_make(nodes, n, round, group);
        for (size_t i = 0; i < n; i++) {
            bool ok = true;
            if (group[i] == PAIRING_OUT)
                continue;
            for (size_t k = 0; k < n; k++)
                ok = ok && !(group[k] == group[i] && bad[k]);
            nodes[i].ran[round] = true;
            nodes[i].ok[round] = ok;
            nodes[i].took_us[round] = ok ? 1000 + i : 3000 + i;
            nodes[i].self_bad[round] = by_itself && bad[i];
        }
    }
    pairing_judge(nodes, n, out);
}

static void test_one_bad(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 9; n++)
        for (size_t which = 0; which < n; which++) {
            bool bad[9] = { 0 };
            enum pairing_verdict out[9];
            bad[which] = true;
            judge_with(n, bad, false, out);
            for (size_t i = 0; i < n; i++) {
                if (n <= 3)
                    assert_int_equal(out[i], PAIRING_SUSPECT);
                else if (i == which)
                    assert_int_equal(out[i], PAIRING_FAULTY);
                else
                    assert_int_not_equal(out[i], PAIRING_SUSPECT);
            }
            judge_with(n, bad, true, out); /* its own parts: nobody else is to blame */
            for (size_t i = 0; i < n; i++)
                assert_int_equal(out[i], i == which ? PAIRING_FAULTY : PAIRING_GOOD);
        }
}

static void test_all_bad_or_good(void **state)
{
    (void)state;
    bool all[9] = { true, true, true, true, true, true, true, true, true };
    bool none[9] = { 0 };
    enum pairing_verdict out[9];
    for (size_t n = 1; n <= 9; n++) {
        judge_with(n, all, false, out);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(out[i], PAIRING_SUSPECT);
        judge_with(n, all, true, out);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(out[i], PAIRING_FAULTY);
        judge_with(n, none, false, out);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(out[i], PAIRING_GOOD);
    }
    pairing_judge(NULL, 0, NULL);
}

/* Who is broken by itself meets nobody a second time; one that only it has met meets itself. */
static void test_broken_ones_are_out(void **state)
{
    (void)state;
    struct pairing_node nodes[5] = { 0 };
    uint32_t group[5];
    enum pairing_verdict out[5];
    for (size_t i = 0; i < 5; i++)
        nodes[i] = (struct pairing_node){ .ran[0] = true, .ok[0] = true, .took_us[0] = 100 + i };
    nodes[1].ok[0] = nodes[0].ok[0] = false; /* it hung, so its partner failed */
    nodes[1].self_bad[0] = true;
    assert_int_equal(pairing_make(nodes, 5, 1, group), 2);
    assert_int_equal(group[1], PAIRING_OUT);
    assert_int_equal(group[2], group[0]);
    assert_int_equal(group[3], group[4]);
    assert_int_equal(pairing_make(nodes, 2, 1, group), 1);
    assert_int_equal(group[0], 0);
    nodes[0].ran[1] = nodes[0].ok[1] = true;
    pairing_judge(nodes, 2, out);
    assert_int_equal(out[0], PAIRING_GOOD);
    assert_int_equal(out[1], PAIRING_FAULTY);
    nodes[0].self_bad[0] = true;
    assert_int_equal(pairing_make(nodes, 2, 1, group), 0);
}

/* Found out in the second round only: its partner there is judged by the groups that there were. */
static void test_broken_later(void **state)
{
    (void)state;
    struct pairing_node nodes[4] = { 0 };
    enum pairing_verdict out[4];
    uint32_t group[4];
    for (size_t i = 0; i < 4; i++)
        nodes[i] =
            (struct pairing_node){ .ran = { true, true }, .ok[0] = true, .took_us[0] = 100 + i };
    nodes[2].ok[0] = nodes[3].ok[0] = false;
    pairing_make(nodes, 4, 1, group);
    assert_int_equal(group[0], group[3]);
    nodes[1].ok[1] = nodes[2].ok[1] = true;
    nodes[0].self_bad[1] = true; /* and so 3 fails again */
    pairing_judge(nodes, 4, out);
    assert_int_equal(out[0], PAIRING_FAULTY);
    assert_int_equal(out[1], PAIRING_GOOD);
    assert_int_equal(out[2], PAIRING_GOOD);
    assert_int_not_equal(out[3], PAIRING_GOOD); /* not excused for what it did with 2 */
}

static void test_slow_one_of_two(void **state)
{
    (void)state;
    struct pairing_node nodes[2] = { 0 };
    enum pairing_verdict out[2];
    for (size_t i = 0; i < 2; i++)
        nodes[i] = (struct pairing_node){ .ran[0] = true, .ok[0] = true, .took_us[0] = 100 };
    assert_int_equal(pairing_judge(nodes, 2, out), 100);
    nodes[1].took_us[0] = 201;
    assert_int_equal(pairing_judge(nodes, 2, out), 100);
    assert_int_equal(out[0], PAIRING_GOOD);
    assert_int_equal(out[1], PAIRING_STRAGGLER);
    assert_int_equal(pairing_judge(nodes, 1, out), 0);
}

static void test_exactly_twice_is_no_straggler(void **state)
{
    (void)state;
    struct pairing_node nodes[3] = { 0 };
    enum pairing_verdict out[3];
    for (size_t i = 0; i < 3; i++)
        nodes[i] = (struct pairing_node){ .ran[0] = true, .ok[0] = true, .took_us[0] = 100 };
    nodes[2].took_us[0] = 200;
    pairing_judge(nodes, 3, out);
    assert_int_equal(out[2], PAIRING_GOOD);
    nodes[2].took_us[0] = 201;
    pairing_judge(nodes, 3, out);
    assert_int_equal(out[2], PAIRING_STRAGGLER);
    nodes[2].took_us[0] = UINT64_MAX;
    pairing_judge(nodes, 3, out);
    assert_int_equal(out[2], PAIRING_STRAGGLER);
}

/* Two hosts with two each: what shares a host is not compared, hosts are by the best of each. */
static void test_hosts_are_compared(void **state)
{
    (void)state;
    static const struct {
        uint64_t took[4];
        size_t host[4];
        enum pairing_verdict out[4];
        size_t hosts;
    } cases[] = {
        { { 10, 90, 12, 70 }, { 1, 1, 3, 3 }, { 0 }, 2 },
        { { 10, 90, 12, 70 }, { 1, 1, 1, 1 }, { 0 }, 1 },
        { { 10, 15, 40, 70 },
          { 1, 1, 3, 3 },
          { PAIRING_GOOD, PAIRING_GOOD, PAIRING_STRAGGLER, PAIRING_STRAGGLER },
          2 },
        { { 10, 11, 12, 70 },
          { 0, 0, 0, 0 },
          { PAIRING_GOOD, PAIRING_GOOD, PAIRING_GOOD, PAIRING_STRAGGLER },
          4 },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct pairing_node nodes[4] = { 0 };
        enum pairing_verdict out[4];
        for (size_t i = 0; i < 4; i++)
            nodes[i] = (struct pairing_node){ .ran[0] = true,
                                              .ok[0] = true,
                                              .took_us[0] = cases[c].took[i],
                                              .host = cases[c].host[i] };
        pairing_judge(nodes, 4, out);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(out[i], cases[c].out[i]);
        assert_int_equal(pairing_hosts(nodes, 4, out), cases[c].hosts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_fast_with_slow),
        cmocka_unit_test(test_worked_case),
        cmocka_unit_test(test_one_bad),
        cmocka_unit_test(test_all_bad_or_good),
        cmocka_unit_test(test_broken_ones_are_out),
        cmocka_unit_test(test_broken_later),
        cmocka_unit_test(test_slow_one_of_two),
        cmocka_unit_test(test_exactly_twice_is_no_straggler),
        cmocka_unit_test(test_hosts_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
