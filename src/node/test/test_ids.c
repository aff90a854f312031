/* Users and groups inside, for real: with a range that a process of root's writes, and with one
 * user and one group, where changing owners and users only seems to work. */
#include "node/ids.h"

#include "base/mem.h"
#include "node/confine.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
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

/* In a process that has a new namespace, whose numbers another one writes. */
static bool give_and_look(const struct ids *ids)
{
    int made[2], given[2], status;
    char byte = 0;
    assert_int_equal(pipe(made), 0);
    assert_int_equal(pipe(given), 0);
    pid_t pid = fork();
    if (pid == 0) {
        byte = unshare(CLONE_NEWUSER) == 0;
        if (write(made[1], &byte, 1) != 1 || read(given[0], &byte, 1) != 1)
            _exit(3);
        _exit(geteuid() != 0 || getegid() != 0 ? 4 : ids_has_many());
    }
    assert_int_equal(read(made[0], &byte, 1), 1);
    int rc = byte ? ids_give(pid, ids) : 0;
    assert_int_equal(write(given[1], &byte, 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (size_t i = 0; i < 2; i++) {
        close(made[i]);
        close(given[i]);
    }
    if (!byte)
        skip();
    assert_int_equal(rc, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
    return WEXITSTATUS(status) == 1;
}

static void another_process_gets_them_too(void **state)
{
    (void)state;
    struct ids ids = { .users = { .n = 0 } };
    assert_false(give_and_look(&ids));
    if (geteuid() != 0)
        return;
    ids.users = ids.groups = (struct ids_range){ .first = 700000, .n = 100 };
    assert_true(give_and_look(&ids));
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
        cmocka_unit_test(another_process_gets_them_too),
        cmocka_unit_test(who_is_nobody_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
