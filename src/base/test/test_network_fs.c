/* File systems of other machines by their numbers, and what lies on one of this machine. None of
 * the others is mounted where tests run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/network_fs.h"

static void numbers_have_names(void **state)
{
    (void)state;
    assert_string_equal(network_fs_name(0x6969), "NFS");
    assert_string_equal(network_fs_name(0x0bd00bd0), "Lustre");
    assert_string_equal(network_fs_name(0xff534d42), "CIFS");
    assert_null(network_fs_name(0xef53));     /* ext4 */
    assert_null(network_fs_name(0x01021994)); /* tmpfs */
    assert_null(network_fs_name(0));
}

/* A path that is not there yet is looked at by what it would be in. */
static void what_is_here_is_not_on_a_network(void **state)
{
    (void)state;
    assert_null(network_fs_of("/proc"));
    assert_null(network_fs_of("/dev/shm"));
    assert_null(network_fs_of("/dev/shm/none/of/this"));
    assert_null(network_fs_of("/none"));
    assert_null(network_fs_of("none"));
    assert_null(network_fs_of(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_names),
        cmocka_unit_test(what_is_here_is_not_on_a_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
