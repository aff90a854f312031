/* The limit is the system's: the longest path passes, and one byte more is told with both numbers.
 * Nothing is bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/socket_path.h"

#include <string.h>

static void the_longest_and_one_more(void **state)
{
    (void)state;
    struct err err;
    char path[SOCKET_PATH_MAX + 2] = "/";
    memset(path + 1, 'd', SOCKET_PATH_MAX);
    path[SOCKET_PATH_MAX] = '\0';
    assert_int_equal(socket_path_check(path, &err), 0);
    path[SOCKET_PATH_MAX] = 'd';
    assert_int_equal(socket_path_check(path, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_non_null(strstr(err.what, "has 108 bytes, and at most 107 can be: /ddd"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_longest_and_one_more) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
