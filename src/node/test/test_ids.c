/* Users and groups inside, for real: with a range that a process of root's writes, and with one
 * user and one group, where changing owners and users only seems to work. */
#include "node/ids.h"

#include "base/mem.h"
#include "node/confine.h"

#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define ACCOUNT      65534u
#define NO_NAMESPACE 77

struct seen {
    bool many;
    unsigned root, owner, user;
};

/* What a task of that account sees of itself after it has given away a file and then itself. */
static int look(const struct confine *confine, struct seen *seen)
{
    char path[] = "/tmp/muster-ids.XXXXXX";
    struct stat st;
    if (confine_drop(confine) != 0)
        return NO_NAMESPACE;
    seen->many = ids_has_many();
    seen->root = geteuid();
    AUTO_CLOSE int file = mkstemp(path);
    if (confine_seal(confine) != 0 || file < 0 || unlink(path) != 0)
        return 1;
    if (fchown(file, 5, 60) != 0 || fstat(file, &st) != 0)
        return 2;
    seen->owner = st.st_uid;
    if (setgroups(0, NULL) != 0 || setresgid(60, 60, 60) != 0 || setresuid(5, 5, 5) != 0)
        return 3;
    seen->user = geteuid();
    return 0;
}

static struct seen run(struct ids ids)
{
    int pair[2], status;
    struct seen seen = { .many = false };
    const struct account account = {
        .name = "a", .home = "/", .shell = "", .ids = { .uid = ACCOUNT, .gid = ACCOUNT }
    };
    const struct confine confine = {
        .sandbox = true, .account = &account, .root_inside = true, .ids = ids
    };
    if (geteuid() != 0)
        skip();
    assert_int_equal(pipe(pair), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int rc = look(&confine, &seen);
        _exit(rc == 0 && write(pair[1], &seen, sizeof seen) != sizeof seen ? 4 : rc);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status == NO_NAMESPACE << 8)
        skip();
    assert_int_equal(status, 0);
    assert_int_equal(read(pair[0], &seen, sizeof seen), sizeof seen);
    close(pair[0]);
    close(pair[1]);
    return seen;
}

static void with_a_range_they_are_real(void **state)
{
    (void)state;
    struct ids ids = { .users = { .first = 700000, .n = 100 },
                       .groups = { .first = 700000, .n = 100 } };
    struct seen seen = run(ids);
    assert_true(seen.many);
    assert_int_equal(seen.root, 0);
    assert_int_equal(seen.owner, 5);
    assert_int_equal(seen.user, 5);
}

static void without_one_it_seems_so(void **state)
{
    (void)state;
    struct seen seen = run((struct ids){ .users = { .n = 0 } });
    assert_false(seen.many);
    assert_int_equal(seen.root, 0);
    assert_int_equal(seen.owner, 0);
    assert_int_equal(seen.user, 0);
}

/* A range that ends where there are no numbers any more: nothing of it is written. */
static void a_range_that_cannot_be_is_left_out(void **state)
{
    (void)state;
    struct ids ids = { .users = { .first = UINT32_MAX - 1, .n = 100 },
                       .groups = { .first = 700000, .n = 100 } };
    assert_false(run(ids).many);
}

static void who_is_nobody_has_none(void **state)
{
    (void)state;
    struct ids ids = ids_find(4000000000u, "no such account");
    assert_int_equal(ids.users.n, 0);
    assert_int_equal(ids.groups.n, 0);
}

int main(void)
{
    alarm(600);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_a_range_they_are_real),
        cmocka_unit_test(without_one_it_seems_so),
        cmocka_unit_test(a_range_that_cannot_be_is_left_out),
        cmocka_unit_test(who_is_nobody_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
