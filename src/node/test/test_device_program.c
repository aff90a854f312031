/* Which devices the processes of a group may open: asked of the kernel itself, where this process
 * may make a group of cgroup v2 and give it a program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "node/device_program.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static int make_group(void **state)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    const struct mntent *entry;
    while (mounts && !*state && (entry = getmntent(mounts)))
        if (strcmp(entry->mnt_type, "cgroup2") == 0)
            *state = mem_printf("%s/muster-test-%d", entry->mnt_dir, (int)getpid());
    if (mounts)
        endmntent(mounts);
    if (*state && mkdir(*state, 0755) != 0) {
        free(*state);
        *state = NULL;
    }
    return 0;
}

static int remove_group(void **state)
{
    if (*state)
        assert_int_equal(rmdir(*state), 0);
    free(*state);
    *state = NULL;
    return 0;
}

/* errno of opening a device in the group, 0 when it went well; makes a node first when asked to. */
static int try_in(const char *group, const char *path, int flags, bool make)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        AUTO_FREE char *procs = mem_printf("%s/cgroup.procs", group);
        AUTO_FREE char *node = mem_printf("/tmp/muster-node-%d", (int)getpid());
        int fd = open(procs, O_WRONLY);
        if (fd < 0 || write(fd, "0", 1) != 1)
            _exit(200);
        if (make) {
            int rc = mknod(node, S_IFCHR | 0600, makedev(1, 3));
            int error = rc == 0 ? 0 : errno;
            (void)unlink(node);
            _exit(error);
        }
        _exit(open(path, flags) >= 0 ? 0 : errno);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void only_what_a_rule_allows(void **state)
{
    const char *group = *state;
    const struct device_rule rules[] = {
        { .type = 'b', .major = 1, .minor = 7, .access = DEVICE_USE },
        { .type = 'c', .major = 1, .minor = 3, .access = DEVICE_USE },
        { .type = 'c', .major = 1, .minor = 5, .access = DEVICE_READ },
        { .type = 'c', .major = 5, .any_minor = true, .access = DEVICE_USE | DEVICE_MAKE },
    };
    if (!group || device_program_attach(group, rules, ARRAY_LEN(rules)) != 0) {
        skip();
        return;
    }
    assert_int_equal(try_in(group, "/dev/null", O_RDWR, false), 0);
    assert_int_equal(try_in(group, "/dev/zero", O_RDONLY, false), 0);
    assert_int_equal(try_in(group, "/dev/zero", O_WRONLY, false), EPERM);
    assert_int_equal(try_in(group, "/dev/zero", O_RDWR, false), EPERM);
    assert_int_equal(try_in(group, "/dev/full", O_RDONLY, false), EPERM); /* the block rule's 1:7 */
    assert_int_equal(try_in(group, "/dev/urandom", O_RDONLY, false), EPERM);
    assert_int_equal(try_in(group, "/dev/ptmx", O_RDWR | O_NOCTTY, false), 0);
    assert_int_equal(try_in(group, NULL, 0, true), EPERM); /* it may use 1:3, not make it */
}

static void as_many_rules_as_there_may_be(void **state)
{
    const char *group = *state;
    struct device_rule rules[DEVICE_RULES_MAX + 1];
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        rules[i] = (struct device_rule){
            .type = 'c', .major = 300, .minor = (uint32_t)i, .access = DEVICE_READ
        };
    rules[DEVICE_RULES_MAX - 1] =
        (struct device_rule){ .type = 'c', .major = 1, .minor = 3, .access = DEVICE_USE };
    assert_int_equal(device_program_attach("/", rules, ARRAY_LEN(rules)), -1);
    assert_int_equal(errno, E2BIG);
    if (!group || device_program_attach(group, rules, DEVICE_RULES_MAX) != 0) {
        skip();
        return;
    }
    assert_int_equal(try_in(group, "/dev/null", O_RDWR, false), 0);
    assert_int_equal(try_in(group, "/dev/zero", O_RDONLY, false), EPERM);
}

static void none_may_be_opened_without_rules(void **state)
{
    const char *group = *state;
    if (!group || device_program_attach(group, NULL, 0) != 0) {
        skip();
        return;
    }
    assert_int_equal(try_in(group, "/dev/null", O_RDWR, false), EPERM);
}

static void a_place_that_is_no_group(void **state)
{
    (void)state;
    assert_int_equal(device_program_attach("/no/such/place", NULL, 0), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(device_program_attach("/tmp", NULL, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_what_a_rule_allows, make_group, remove_group),
        cmocka_unit_test_setup_teardown(as_many_rules_as_there_may_be, make_group, remove_group),
        cmocka_unit_test_setup_teardown(none_may_be_opened_without_rules, make_group, remove_group),
        cmocka_unit_test(a_place_that_is_no_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
