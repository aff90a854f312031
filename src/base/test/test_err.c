/* Errors: codes and their translations into HTTP and exit statuses, context in front of a message,
 * the text of errno. Long texts are cut between characters, and NULL for an err is allowed
 * everywhere. */
#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void table_translates(void **state)
{
    (void)state;
    for (unsigned c = ERR_NONE + 1; c < ERR_N; c++) {
        enum err_code code = (enum err_code)c;
        assert_int_equal(err_from_word(err_word(code)), code);
        assert_in_range(err_http_status(code), 400, 599);
        assert_in_range(err_exit_status(code), 1, 5);
    }
    assert_string_equal(err_word(ERR_NOT_FOUND), "not_found");
    assert_int_equal(err_http_status(ERR_FULL), 507);
    assert_int_equal(err_exit_status(ERR_UNAVAILABLE), 4);
    assert_int_equal(err_from_word("nonsense"), ERR_SYSTEM);
    assert_int_equal(err_from_word(NULL), ERR_SYSTEM);
    assert_int_equal(err_http_status((enum err_code)999), 500);
}

static void set_and_context(void **state)
{
    (void)state;
    struct err err = { .code = ERR_NONE };
    assert_int_equal(err_set(&err, ERR_INPUT, "%d is not %s", 3, "four"), -1);
    assert_int_equal(err_hint(&err, "write %d", 4), -1);
    assert_string_equal(err.what, "3 is not four");
    assert_string_equal(err.hint, "write 4");
    err_in(&err, "job %d", 7);
    assert_string_equal(err.what, "job 7: 3 is not four");
    assert_string_equal(err.hint, "write 4");
    assert_int_equal(err.code, ERR_INPUT);
    err_set(&err, ERR_CONFLICT, "again: %s", err.what); /* may name itself */
    assert_string_equal(err.what, "again: job 7: 3 is not four");
    assert_string_equal(err.hint, "");
}

static void a_cause_is_what_follows_its_subject(void **state)
{
    (void)state;
    struct err err;
    err_set(&err, ERR_CANNOT, "/a: b is damaged: page 3: torn");
    assert_string_equal(err_cause(&err), err.what);
    err_subject(&err, strlen("/a: b is damaged: "));
    assert_string_equal(err_cause(&err), "page 3: torn");
    err_in(&err, "looking");
    assert_string_equal(err.what, "looking: /a: b is damaged: page 3: torn");
    assert_string_equal(err_cause(&err), "page 3: torn");
    err_subject(&err, 4000); /* of a text that was cut */
    assert_string_equal(err_cause(&err), err.what);
    err_in(&err, "again");
    assert_string_equal(err_cause(&err), err.what);
    errno = ENOENT;
    err_sys(&err, "/x: y");
    assert_string_equal(err_cause(&err), strerror(ENOENT));
    err_set(&err, ERR_INPUT, "other");
    assert_string_equal(err_cause(&err), "other");
    assert_int_equal(err_subject(NULL, 3), -1);
}

static void null_is_fine(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, ERR_INPUT, "x"), -1);
    assert_int_equal(err_sys(NULL, "x"), -1);
    assert_int_equal(err_in(NULL, "x"), -1);
    assert_int_equal(err_hint(NULL, "x"), -1);
}

static void system_errors(void **state)
{
    (void)state;
    struct err err;
    errno = ENOENT;
    assert_int_equal(err_sys(&err, "opening %s", "/x"), -1);
    assert_int_equal(err.code, ERR_SYSTEM);
    assert_string_equal(err.what, "opening /x: No such file or directory");
    errno = ENOSPC;
    err_sys(&err, "y");
    assert_int_equal(err.code, ERR_FULL);
    errno = EDQUOT;
    err_sys(&err, "y");
    assert_int_equal(err.code, ERR_FULL);
}

static void long_texts_are_cut_at_characters(void **state)
{
    (void)state;
    struct err err;
    char text[600];
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 2); /* two bytes each */
    text[sizeof text - 2] = '\0';
    for (int shift = 0; shift < 2; shift++) {
        err_set(&err, ERR_INPUT, "%s%s", shift ? "x" : "", text);
        size_t n = strlen(err.what);
        assert_true(n < sizeof err.what && n > sizeof err.what - 8);
        assert_string_equal(err.what + n - 3, "...");
        assert_int_equal((unsigned char)err.what[n - 4], 0xa9); /* a whole character before it */
    }
    err_in(&err, "%s", text);
    assert_string_equal(err.what + strlen(err.what) - 3, "...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_translates),
        cmocka_unit_test(set_and_context),
        cmocka_unit_test(a_cause_is_what_follows_its_subject),
        cmocka_unit_test(null_is_fine),
        cmocka_unit_test(system_errors),
        cmocka_unit_test(long_texts_are_cut_at_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
