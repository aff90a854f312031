/* Sessions of the page: links that open one in time and once, how long idle and busy ones last, and
 * that each secret is good for one thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/page_session.h"

#include <sodium.h>
#include <string.h>

#define NOW  1000000000000ull
#define HOST "127.0.0.1:6878"

static int set_up(void **state)
{
    assert_true(sodium_init() >= 0);
    *state = page_sessions_create();
    return 0;
}

static int tear_down(void **state)
{
    page_sessions_destroy(*state);
    return 0;
}

static void open_at(struct page_sessions *all, uint64_t now, struct page_secrets *out)
{
    const struct identity who = { .name = "alice", .token = "t1", .since_ms = NOW };
    char key[PAGE_SECRET];
    page_session_offer(all, &who, now, key);
    assert_true(page_session_open(all, key, HOST, now, out));
    assert_false(page_session_open(all, key, HOST, now, out)); /* once */
}

static void a_link_is_opened_in_time(void **state)
{
    const struct identity who = { .name = "alice" };
    struct page_secrets secrets;
    char key[PAGE_SECRET];
    page_session_offer(*state, &who, NOW, key);
    assert_false(page_session_open(*state, key, NULL, NOW, &secrets));
    assert_false(page_session_open(*state, key, HOST, NOW + PAGE_LINK_MS, &secrets));
    assert_false(page_session_open(*state, key, HOST, NOW, &secrets)); /* it is gone */
    page_session_offer(*state, &who, NOW, key);
    assert_true(page_session_open(*state, key, HOST, NOW + PAGE_LINK_MS - 1, &secrets));
}

static void idle_and_old_sessions_end(void **state)
{
    struct page_secrets s;
    uint64_t now = NOW;
    open_at(*state, now, &s);
    assert_non_null(page_session_find(*state, s.cookie, HOST, NOW - 1)); /* the clock was set */
    for (; now < NOW + PAGE_LIFE_MS; now += PAGE_IDLE_MS - 2)
        assert_non_null(page_session_find(*state, s.cookie, HOST, now));
    assert_non_null(page_session_find(*state, s.cookie, HOST, NOW + PAGE_LIFE_MS - 1));
    assert_null(page_session_find(*state, s.cookie, HOST, NOW + PAGE_LIFE_MS)); /* used or not */
    open_at(*state, NOW, &s);
    assert_null(page_session_find(*state, s.cookie, HOST, NOW + PAGE_IDLE_MS));
    assert_null(page_session_find(*state, s.cookie, HOST, NOW));
}

static void each_secret_is_for_one_thing(void **state)
{
    struct page_secrets a, b;
    open_at(*state, NOW, &a);
    open_at(*state, NOW, &b);
    assert_null(page_session_find(*state, a.script, HOST, NOW));
    assert_null(page_session_find(*state, a.cookie, "127.0.0.1:9999", NOW));
    const struct page_session *s = page_session_find(*state, a.cookie, HOST, NOW);
    assert_non_null(s);
    assert_true(page_session_scripted(s, a.script));
    assert_false(page_session_scripted(s, b.script));
    assert_false(page_session_scripted(s, a.cookie));
    assert_false(page_session_scripted(s, ""));
    assert_false(page_session_scripted(s, NULL));
    assert_string_equal(s->who.token, "t1");
    assert_true(s->who.expires_ms == NOW + PAGE_LIFE_MS);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(a_link_is_opened_in_time),
        T(idle_and_old_sessions_end),
        T(each_secret_is_for_one_thing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
