/* Tokens are the same for the same job, generation, node and life, and others for any other; a
 * job's text says what it is of and is read again. */
#include "secret/token.h"

#include "base/mem.h"
#include "live/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static const unsigned char key[TOKEN_LEN] = "one", other_key[TOKEN_LEN] = "two";

static bool same(const unsigned char *with, const struct live_job *a, const char *node,
                 const struct live_job *b, const char *other)
{
    unsigned char x[TOKEN_LEN], y[TOKEN_LEN];
    token_derive(key, a, node, x);
    token_derive(with, b, other, y);
    return memcmp(x, y, TOKEN_LEN) == 0;
}

static void each_is_of_one_agent(void **state)
{
    const struct live_job job = { .row = { .id = 7, .generation = 2 } };
    struct live_job next = job, twelfth = job, again = job;
    struct pair life = { .name = "n1", .value = "1" };
    (void)state;
    next.row.generation = 3;
    twelfth.row.id = 72;
    again.notes.lives = (struct pairs){ .at = &life, .n = 1, .cap = 1 };
    assert_true(same(key, &job, "n1", &job, "n1"));
    assert_false(same(other_key, &job, "n1", &job, "n1"));
    assert_false(same(key, &job, "n1", &job, "n2"));
    assert_false(same(key, &job, "n1", &next, "n1"));
    assert_false(same(key, &job, "n1", &twelfth, "n1"));
    assert_false(same(key, &job, "n1", &again, "n1"));
    assert_true(same(key, &job, "n2", &again, "n2"));
}

static void a_text_names_its_job(void **state)
{
    const struct live_job job = { .row = { .id = 7, .generation = 2 } };
    char text[TOKEN_TEXT], later[TOKEN_TEXT + 1];
    struct generation of = { 0 };
    (void)state;
    token_of_job(key, &job, text);
    assert_true(token_is_of_job(text));
    assert_true(token_read(text, &of));
    assert_true(of.job == 7 && of.number == 2);
    assert_false(token_is_of_job("m1.abc"));
    assert_false(token_read("mj.nothing", &of));
    memset(later, 'x', sizeof later - 1);
    later[sizeof later - 1] = '\0';
    assert_false(token_read(later, &of));
}

static void programs_find_two_of_their_own(void **state)
{
    const struct live_job job = { .row = { .id = 7, .generation = 2 } };
    struct arena *arena = arena_create();
    struct pairs env = { .at = NULL };
    char text[TOKEN_TEXT];
    (void)state;
    token_put_own(key, &job, arena, &env);
    token_of_job(key, &job, text);
    assert_string_equal(pairs_get(&env, "MUSTER_JOB_TOKEN"), text);
    assert_int_equal(strlen(pairs_get(&env, "MUSTER_JOB_SECRET")), 2 * TOKEN_LEN);
    assert_null(strstr(text, pairs_get(&env, "MUSTER_JOB_SECRET")));
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_of_one_agent),
        cmocka_unit_test(a_text_names_its_job),
        cmocka_unit_test(programs_find_two_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
