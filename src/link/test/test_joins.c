/* Nodes that join, played by the test over socket pairs: who is let in, what they are told, and
 * what becomes of those that wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "link/joins.h"

#include "base/mem.h"
#include "wire/message.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

struct fix {
    uv_loop_t loop;
    struct link_hub *hub;
    struct joins *joins;
    char hex[65]; /* the token of the allocation */
    unsigned char hash[32];
    unsigned asked;
    uint64_t ticket;
    char said[128];
    unsigned char own[32];
};

static void on_fact(void *arg, const struct engine_fact *fact)
{
    (void)arg;
    fail_msg("a fact of %d", (int)fact->kind);
}

static void on_ask(void *arg, const struct joins_ask *ask)
{
    struct fix *f = arg;
    f->asked++;
    f->ticket = ask->ticket;
    snprintf(f->said, sizeof f->said, "%s %s %s", ask->name, ask->node, ask->allocation);
    memcpy(f->own, ask->own_hash, sizeof f->own);
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    unsigned char token[32];
    assert_true(sodium_init() >= 0);
    uv_loop_init(&f->loop);
    randombytes_buf(token, sizeof token);
    sodium_bin2hex(f->hex, sizeof f->hex, token, sizeof token);
    crypto_hash_sha256(f->hash, token, sizeof token);
    f->hub = link_create(&f->loop, (struct engine_sink){ .fact = on_fact, .arg = f });
    f->joins = joins_create(f->hub, (struct joins_sink){ .ask = on_ask, .arg = f });
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    joins_destroy(f->joins);
    link_destroy(f->hub);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    free(f);
    return 0;
}

static int come(struct fix *f)
{
    struct err err;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(link_attach(f->hub, f->hex, ends[0], "", 0, &err), 0);
    return ends[1];
}

static void ask(struct fix *f, int fd, const char *node)
{
    static const char own[HOST_TOKEN] = "0123456789abcdef0123456789abcde";
    AUTO_BUF struct buf out = BUF_INIT(4096);
    unsigned before = f->asked;
    wire_put(&out, 0,
             &(struct wire_host_join){ .version = WIRE_VERSION,
                                       .node = node,
                                       .allocation = "17",
                                       .own = own,
                                       .own_len = sizeof own });
    assert_int_equal(write(fd, out.data, out.len), out.len);
    while (f->asked == before)
        uv_run(&f->loop, UV_RUN_ONCE);
    unsigned char hash[32];
    crypto_hash_sha256(hash, (const unsigned char *)own, sizeof own);
    assert_memory_equal(f->own, hash, sizeof hash);
}

/* The next HOST_JOINED, or "closed". */
static void hear(struct fix *f, int fd, char out[128])
{
    AUTO_BUF struct buf in = BUF_INIT(65536);
    struct arena *arena = arena_create();
    for (bool done = false; !done;) {
        struct wire_frame frame;
        size_t used;
        char piece[512];
        ssize_t n = read(fd, piece, sizeof piece);
        if (n == 0) {
            snprintf(out, 128, "closed");
            break;
        }
        assert_true(n > 0 || errno == EAGAIN);
        if (n > 0)
            buf_add(&in, piece, (size_t)n);
        while (!done && in.len && wire_next(in.data, in.len, &frame, &used) == 1) {
            struct wire_host_joined_answer joined;
            done = frame.kind == WIRE_HOST_JOINED;
            if (done) {
                assert_int_equal(wire_get(&frame, arena, &joined), 0);
                snprintf(out, 128, "%s|%s", joined.node, joined.reason);
            }
            buf_drop(&in, used);
        }
        if (!done)
            uv_run(&f->loop, UV_RUN_NOWAIT);
    }
    arena_destroy(arena);
}

static void only_who_has_the_token_is_let_in(void **state)
{
    struct fix *f = *state;
    assert_false(link_knows(f->hub, f->hex));
    joins_allow(f->joins, "p1", f->hash);
    assert_true(link_knows(f->hub, f->hex));
    joins_forbid(f->joins, "p1");
    assert_false(link_knows(f->hub, f->hex));
}

static void who_joins_is_told_a_name(void **state)
{
    struct fix *f = *state;
    char said[128];
    joins_allow(f->joins, "p1", f->hash);
    int one = come(f), other = come(f);
    ask(f, one, "n1");
    assert_string_equal(f->said, "p1 n1 17");
    uint64_t first = f->ticket;
    ask(f, other, "n2");
    joins_answer(f->joins, first, "n1", "");
    hear(f, one, said);
    assert_string_equal(said, "n1|");
    joins_answer(f->joins, f->ticket, NULL, "no such node");
    hear(f, other, said);
    assert_string_equal(said, "|no such node");
    joins_answer(f->joins, 4711, "n1", ""); /* nobody's */
    ask(f, one, "n1");                      /* it lost the answer */
    joins_answer(f->joins, first, "stale", "");
    joins_answer(f->joins, f->ticket, "n1", "");
    hear(f, one, said);
    assert_string_equal(said, "n1|");
    close(one);
    close(other);
}

static void who_waits_is_sent_away_with_the_token(void **state)
{
    struct fix *f = *state;
    char said[128];
    joins_allow(f->joins, "p1", f->hash);
    int one = come(f);
    ask(f, one, "n1");
    joins_forbid(f->joins, "p1");
    hear(f, one, said);
    assert_string_equal(said, "closed");
    joins_answer(f->joins, f->ticket, "n1", "");
    close(one);
}

static void who_says_anything_else_is_sent_away(void **state)
{
    struct fix *f = *state;
    AUTO_BUF struct buf out = BUF_INIT(4096);
    char said[128];
    joins_allow(f->joins, "p1", f->hash);
    int one = come(f);
    wire_put(&out, 0, &(struct wire_host_end){ .generation = { .job = 1, .number = 1 } });
    assert_int_equal(write(one, out.data, out.len), out.len);
    hear(f, one, said);
    assert_string_equal(said, "closed");
    assert_int_equal(f->asked, 0);
    close(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_who_has_the_token_is_let_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_joins_is_told_a_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_waits_is_sent_away_with_the_token, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_says_anything_else_is_sent_away, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
