/* Two ends that know each other, and strangers: another secret, a proof that was heard before, the
 * other side's own proof sent back, lines that are too long. */
#include "step/handshake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Hands on what lies in from, a few bytes at a time. */
static int hand_over(struct handshake *to, struct buf *from, struct buf *answer, size_t piece)
{
    int rc = 0;
    for (size_t have = 0; rc == 0 && have < from->len;) {
        size_t used, n = have + piece < from->len ? have + piece : from->len;
        rc = handshake_take(to, from->data, n, &used, answer);
        buf_drop(from, used);
        have = n - used;
    }
    return rc;
}

static int meet(const char *node_secret, const char *srun_secret, size_t piece)
{
    AUTO_BUF struct buf to_srun = BUF_INIT(4096), to_node = BUF_INIT(4096);
    struct handshake node, srun;
    handshake_init(&node, node_secret, true, &to_srun);
    handshake_init(&srun, srun_secret, false, NULL);
    assert_int_equal(hand_over(&srun, &to_srun, &to_node, piece), 0);
    int rc = hand_over(&node, &to_node, &to_srun, piece);
    if (rc != 1)
        return rc;
    return hand_over(&srun, &to_srun, &to_node, piece);
}

static void test_rdzv_table(void **state)
{
    (void)state;
    assert_int_equal(meet("secret", "secret", 4096), 1);
    assert_int_equal(meet("secret", "secret", 1), 1);
    assert_int_equal(meet("secret", "other", 4096), -1);
}

static void test_heard_before(void **state)
{
    AUTO_BUF struct buf to_srun = BUF_INIT(4096), to_node = BUF_INIT(4096), kept = BUF_INIT(4096),
                        again = BUF_INIT(4096);
    struct handshake node, srun, second;
    size_t used;
    (void)state;
    handshake_init(&node, "secret", true, &to_srun);
    handshake_init(&srun, "secret", false, NULL);
    assert_int_equal(hand_over(&srun, &to_srun, &to_node, 4096), 0);
    buf_add(&kept, to_node.data, to_node.len);
    assert_int_equal(hand_over(&node, &to_node, &to_srun, 4096), 1);
    handshake_init(&second, "secret", true, &again); /* another nonce */
    assert_int_equal(handshake_take(&second, kept.data, kept.len, &used, &again), -1);
}

/* A node that knows no secret cannot answer with what srun said. */
static void test_sent_back(void **state)
{
    AUTO_BUF struct buf hello = BUF_INIT(4096), said = BUF_INIT(4096), out = BUF_INIT(4096);
    struct handshake node, srun;
    size_t used;
    (void)state;
    handshake_init(&node, "unknown", true, &hello);
    handshake_init(&srun, "secret", false, NULL);
    assert_int_equal(hand_over(&srun, &hello, &said, 4096), 0);
    char *blank = strrchr(said.data, ' ');
    blank[0] = '\n';
    blank[1] = '\0';
    assert_int_equal(handshake_take(&srun, said.data, strlen(said.data), &used, &out), -1);
}

static void test_noise(void **state)
{
    static const char *const noise[] = {
        "GET / HTTP/1.1\r\n",
        "PROOF 00 11\n",
        "\n",
        "MUSTER-STEP/1 0123456789abcdef0123456789abcdef\n",
    };
    char endless[400];
    size_t used;
    (void)state;
    memset(endless, 'a', sizeof endless);
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++) {
        AUTO_BUF struct buf out = BUF_INIT(4096);
        struct handshake node;
        handshake_init(&node, "secret", true, &out);
        assert_int_equal(handshake_take(&node, noise[i], strlen(noise[i]), &used, &out), -1);
        handshake_init(&node, "secret", true, &out);
        assert_int_equal(handshake_take(&node, endless, sizeof endless, &used, &out), -1);
        assert_int_equal(handshake_take(&node, endless, 20, &used, &out), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rdzv_table),
        cmocka_unit_test(test_heard_before),
        cmocka_unit_test(test_sent_back),
        cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
