/* UUIDs of jobs lead back to them; all have the form of RFC 9562. Kinds, owners and names that
 * differ give UUIDs that differ, and one is written down: they may not change. */
#include "job/uuid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void check_form(const char *text)
{
    assert_int_equal(strlen(text), 36);
    assert_int_equal(strspn(text, "0123456789abcdef-"), 36);
    for (size_t i = 8; i <= 23; i += 5)
        assert_int_equal(text[i], '-');
    assert_int_equal(text[14], '8');
    assert_non_null(strchr("89ab", text[19]));
}

static void jobs_are_found_again(void **state)
{
    static const uint64_t ids[] = { 1, 0xffff, 0x10000, 0x0123456789abcdefull, UINT64_MAX };
    char text[UUID_TEXT], other[UUID_TEXT];
    uint64_t id = 7;
    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        check_form(uuid_of_job(text, ids[i]));
        assert_true(uuid_job(text, &id));
        assert_true(id == ids[i]);
        text[16] = text[16] == '0' ? '1' : '0'; /* in the check */
        assert_false(uuid_job(text, &id));
    }
    assert_false(uuid_job("", &id));
    assert_false(uuid_job("0eawymdxpnmrk", &id));
    assert_false(uuid_job("zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz", &id));
    assert_false(uuid_job(uuid_of(text, "pod", 1, "a"), &id));
    assert_string_equal(uuid_of_job(text, 5), uuid_of_job(other, 5));
}

static void names_are_told_apart(void **state)
{
    char a[UUID_TEXT], b[UUID_TEXT];
    (void)state;
    check_form(uuid_of(a, "node", 0, "n1"));
    assert_string_equal(a, uuid_of(b, "node", 0, "n1"));
    assert_string_not_equal(a, uuid_of(b, "node", 0, "n2"));
    assert_string_not_equal(a, uuid_of(b, "event", 0, "n1"));
    assert_string_not_equal(a, uuid_of(b, "node", 1, "n1"));
    assert_string_not_equal(uuid_of(a, "ab", 0, "c"), uuid_of(b, "a", 0, "bc"));
    assert_string_equal(uuid_of(a, "pod", 1, "x"), "98883d6a-0b59-8963-aecc-46d35f1d59ca");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(jobs_are_found_again),
                                        cmocka_unit_test(names_are_told_apart) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
