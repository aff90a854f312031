/* Early pulls wait for those that tasks wait for, unless tasks wait for them, and end where their
 * room is needed. */
#include "node/fetch/turn.h"

#include "base/file.h"
#include "base/mem.h"
#include "node/fetch/store.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define WAITS_MS 200 /* of what is to wait: longer is no other result */

static int theirs[2] = { -1, -1 }; /* locks: not of the children */
static char dir[40], mine[IMAGE_DIGEST_LEN + 1], other[IMAGE_DIGEST_LEN + 1];

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/muster-turn.XXXXXX");
    assert_non_null(mkdtemp(dir));
    memset(mine, 'a', IMAGE_DIGEST_LEN);
    memset(other, 'b', IMAGE_DIGEST_LEN);
    return store_prepare(dir, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    return file_remove_tree(dir, NULL);
}

static char *mark_of(const char *digest)
{
    return mem_printf("%s/half/%s/early", dir, digest);
}

/* In a process of its own: an early pull of `mine` that looks whose turn it is until it may go on
 * once, or, to its end, until it may not. It tells that by a byte, and ends. */
static pid_t begin(bool to_its_end, int *told)
{
    AUTO_FREE char *half = mem_printf("%s/half/%s", dir, mine);
    int out[2], up[2], lock = -1, taken = -1;
    char byte;
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(up), 0);
    assert_int_equal(file_mkdirs(half, 0700, NULL), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(theirs[0]);
        close(theirs[1]);
        if (store_lock(dir, mine, &lock, NULL) != 0 || turn_mark_early(dir, mine, NULL) != 0)
            _exit(1);
        (void)!write(up[1], "u", 1);
        int rc = turn_wait(dir, mine, &taken, NULL);
        while (to_its_end && rc == 0 && poll(NULL, 0, 1) == 0)
            rc = turn_wait(dir, mine, &taken, NULL);
        byte = rc == 0 ? 'g' : 'e';
        (void)!write(out[1], &byte, 1);
        _exit(0);
    }
    assert_true(pid > 0);
    close(out[1]);
    close(up[1]);
    assert_int_equal(read(up[0], &byte, 1), 1);
    close(up[0]);
    *told = out[0];
    return pid;
}

static char hear(pid_t pid, int told)
{
    char byte = 0;
    assert_int_equal(read(told, &byte, 1), 1);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(told);
    return byte;
}

static void test_nobody_else_is_not_waited_for(void **state)
{
    int taken = -1;
    (void)state;
    assert_int_equal(turn_wait(dir, mine, &taken, NULL), 0);
    assert_int_equal(taken, -1);
}

static void test_it_waits_while_tasks_wait_for_another(void **state)
{
    int told;
    (void)state;
    theirs[0] = turn_take(dir);
    theirs[1] = turn_take(dir);
    assert_true(theirs[0] >= 0 && theirs[1] >= 0);
    pid_t pid = begin(false, &told);
    struct pollfd one = { .fd = told, .events = POLLIN };
    assert_int_equal(poll(&one, 1, WAITS_MS), 0);
    close(theirs[0]);
    assert_int_equal(poll(&one, 1, WAITS_MS), 0);
    close(theirs[1]);
    theirs[0] = theirs[1] = -1;
    assert_int_equal(hear(pid, told), 'g');
}

/* Then it is one of them: others wait for it. */
static void test_it_waits_no_more_when_tasks_wait_for_it(void **state)
{
    int taken = -1;
    (void)state;
    AUTO_FREE char *mark = mark_of(mine);
    AUTO_FREE char *half = mem_printf("%s/half/%s", dir, mine);
    assert_int_equal(file_mkdirs(half, 0700, NULL), 0);
    assert_int_equal(turn_mark_early(dir, mine, NULL), 0);
    int tasks = turn_take(dir), unlike = turn_want(dir, other);
    int wanted = turn_want(dir, mine);
    assert_int_equal(turn_wait(dir, mine, &taken, NULL), 0);
    assert_true(taken >= 0);
    assert_int_not_equal(access(mark, F_OK), 0);
    close(wanted);
    assert_int_equal(turn_wait(dir, mine, &taken, NULL), 0); /* and stays so */
    close(tasks);
    close(unlike);
    close(taken);
}

static void test_it_ends_where_its_room_is_needed(void **state)
{
    int told;
    (void)state;
    assert_false(turn_clear(dir));
    pid_t pid = begin(true, &told);
    assert_true(turn_clear(dir));
    assert_int_equal(hear(pid, told), 'e');
    assert_false(turn_clear(dir)); /* a mark without its process is what was left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nobody_else_is_not_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_it_waits_while_tasks_wait_for_another, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_it_waits_no_more_when_tasks_wait_for_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_it_ends_where_its_room_is_needed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
