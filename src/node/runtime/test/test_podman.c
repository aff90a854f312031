/* Which program podman is to make containers with, by the cgroups of the machine: of one version,
 * of both with controllers in the second, of both without. */
#include "node/runtime/podman.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"

#include <string.h>

static void write_controllers(const char *dir, const char *text)
{
    struct err err;
    AUTO_FREE char *path = mem_printf("%s/unified/cgroup.controllers", dir);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
}

static void controllers_of_both_versions_need_runc(void **state)
{
    char dir[] = "/tmp/cgroups.XXXXXX";
    struct err err;
    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_false(podman_needs_runc(dir)); /* of one version */
    AUTO_FREE char *unified = mem_printf("%s/unified", dir);
    assert_int_equal(file_mkdirs(unified, 0700, &err), 0);
    write_controllers(dir, "\n"); /* it has none: crun takes that */
    assert_false(podman_needs_runc(dir));
    write_controllers(dir, "hugetlb\n");
    assert_true(podman_needs_runc(dir));
    assert_int_equal(file_remove_tree(dir, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controllers_of_both_versions_need_runc),
    };
    return cmocka_run_group_tests_name("node/runtime/podman", tests, NULL, NULL);
}
