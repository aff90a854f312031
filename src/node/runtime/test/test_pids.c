/* A process namespace as a task has it: its end is that of the program, whatever ends which of its
 * processes; orphans are reaped and signals handed on inside; all are gone with the first. */
#include "node/runtime/pids.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define ENTER (CLONE_NEWNS | CLONE_NEWPID)

static int out[2]; /* what runs inside says there */

static int set_up(void **state)
{
    (void)state;
    return pipe2(out, O_CLOEXEC);
}

static int tear_down(void **state)
{
    (void)state;
    if (out[1] >= 0)
        close(out[1]);
    close(out[0]);
    return 0;
}

static pid_t start(void (*program)(void))
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        int flags = ENTER | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || unshare(flags) != 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0 || pids_begin(NULL) != 0 ||
            pids_show("/proc") != 0)
            _exit(99);
        program();
        _exit(98);
    }
    assert_true(pid > 0);
    close(out[1]);
    out[1] = -1;
    return pid;
}

static int end_of(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void say(const char *word)
{
    (void)!write(out[1], word, strlen(word));
}

/* Until all that could say more are gone. */
static void expect(const char *text)
{
    char got[256];
    size_t n = 0;
    for (ssize_t m; n < sizeof got - 1 && (m = read(out[0], got + n, sizeof got - 1 - n)) > 0;)
        n += (size_t)m;
    got[n] = '\0';
    assert_string_equal(got, text);
}

static void tell_numbers(void)
{
    char text[96];
    snprintf(text, sizeof text, "%d %d %d %d", (int)getpid(), (int)getppid(), (int)getsid(0),
             (int)getpgrp());
    say(text);
    _exit(7);
}

static void it_ends_as_the_program(void **state)
{
    (void)state;
    int status = end_of(start(tell_numbers));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    expect("2 1 2 2");
}

static void abort_it(void)
{
    (void)kill(getpid(), SIGABRT);
}

static void a_signal_is_its_end_too(void **state)
{
    (void)state;
    int status = end_of(start(abort_it));
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_false(WCOREDUMP(status));
}

static void on_term(int number)
{
    (void)number;
    say("heard");
    _exit(3);
}

static void signal_the_first(void)
{
    (void)signal(SIGTERM, on_term);
    (void)kill(1, SIGTERM);
    for (;;)
        (void)pause();
}

static void the_first_hands_signals_on(void **state)
{
    (void)state;
    int status = end_of(start(signal_the_first));
    assert_int_equal(WEXITSTATUS(status), 3);
    expect("heard");
}

static void leave_an_orphan(void)
{
    char path[32];
    int told[2];
    pid_t orphan = 0;
    if (pipe2(told, O_CLOEXEC) != 0)
        _exit(97);
    pid_t child = fork();
    if (child == 0) {
        orphan = fork();
        if (orphan == 0)
            _exit(0);
        _exit(write(told[1], &orphan, sizeof orphan) != sizeof orphan);
    }
    if (read(told[0], &orphan, sizeof orphan) != sizeof orphan || waitpid(child, NULL, 0) != child)
        _exit(97);
    snprintf(path, sizeof path, "/proc/%d", (int)orphan);
    while (access(path, F_OK) == 0)
        (void)sched_yield();
    say("reaped");
    _exit(0);
}

static void orphans_are_reaped(void **state)
{
    (void)state;
    assert_int_equal(end_of(start(leave_an_orphan)), 0);
    expect("reaped");
}

static void leave_a_daemon(void)
{
    if (fork() == 0) {
        (void)setsid();
        (void)signal(SIGTERM, SIG_IGN);
        for (;;)
            (void)pause();
    }
    _exit(0);
}

/* The end of the pipe is that of all. */
static void nothing_is_left_behind(void **state)
{
    (void)state;
    assert_int_equal(end_of(start(leave_a_daemon)), 0);
    expect("");
}

static void wait_for_ever(void)
{
    say("here");
    for (;;)
        (void)pause();
}

static void whoever_ends_it_from_outside_ends_all(void **state)
{
    char word[4];
    (void)state;
    pid_t pid = start(wait_for_ever);
    assert_int_equal(read(out[0], word, sizeof word), 4);
    assert_int_equal(kill(pid, SIGTERM), 0); /* it only waits */
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(WTERMSIG(end_of(pid)), SIGKILL);
    expect("");
}

static void look_at_the_first(void)
{
    char text[4096] = "";
    AUTO_CLOSE int fd = open("/proc/1/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    say(n > 0 ? text : "none");
    say(access("/proc/1/root/.", F_OK) == 0 && geteuid() != 0 ? " open" : "");
    say(access("/proc/3", F_OK) == 0 ? " others" : "");
    _exit(0);
}

static void the_first_says_nothing_of_the_agent(void **state)
{
    (void)state;
    assert_int_equal(end_of(start(look_at_the_first)), 0);
    expect("muster-task");
}

int main(void)
{
    alarm(600);
    if (!pids_work())
        return 77; /* this machine has none */
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(it_ends_as_the_program),
        CASE(a_signal_is_its_end_too),
        CASE(the_first_hands_signals_on),
        CASE(orphans_are_reaped),
        CASE(nothing_is_left_behind),
        CASE(whoever_ends_it_from_outside_ends_all),
        CASE(the_first_says_nothing_of_the_agent),
    };
#undef CASE
    return cmocka_run_group_tests_name("node/runtime/pids", tests, NULL, NULL);
}
