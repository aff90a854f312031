/* Real processes: one that lives, one that has ended, and one whose main thread has ended while
 * another still runs. */
#include "base/proc_stat.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define PATIENCE_MS 120000u

static void *stay(void *arg)
{
    while (pause() < 0)
        continue;
    return arg;
}

/* A process of its own; with_thread: its main thread ends, another stays. */
static pid_t start(bool with_thread)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    pthread_t other;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (with_thread && pthread_create(&other, NULL, stay, NULL) == 0)
        pthread_exit(NULL);
    (void)stay(NULL);
    _exit(1);
}

static char state_of(pid_t pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    const char *at = file && fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
    if (file)
        fclose(file);
    return at ? at[2] : 0;
}

static void await_zombie(pid_t pid)
{
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (state_of(pid) != 'Z' && clock_mono_ms() < until)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    assert_int_equal(state_of(pid), 'Z');
}

static size_t environ_bytes(pid_t pid)
{
    char text[4096];
    size_t bytes = 0;
    AUTO_CLOSE int fd = proc_open_environ(pid);
    assert_true(fd >= 0);
    for (ssize_t n; (n = read(fd, text, sizeof text)) > 0;)
        bytes += (size_t)n;
    return bytes;
}

static void test_living(void **state)
{
    (void)state;
    struct proc_stat stat, own;
    pid_t pid = start(false);
    assert_true(proc_stat_read(getpid(), &own));
    assert_true(proc_stat_read(pid, &stat));
    assert_int_equal(stat.parent, getpid());
    assert_int_equal(stat.session, getsid(0));
    assert_true(stat.started >= own.started);
    assert_false(stat.ended || stat.leaving || own.ended || own.leaving);
    assert_true(environ_bytes(pid) > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    await_zombie(pid);
    assert_true(proc_stat_read(pid, &stat) && stat.ended && !stat.leaving);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(proc_stat_read(pid, &stat));
    assert_true(proc_open_environ(pid) < 0);
}

static void test_main_thread_ended(void **state)
{
    (void)state;
    struct proc_stat stat;
    pid_t pid = start(true);
    await_zombie(pid);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* the kernel: it has not ended */
    assert_true(proc_stat_read(pid, &stat));
    assert_false(stat.ended);
    assert_false(stat.leaving);
    assert_true(environ_bytes(pid) == environ_bytes(getpid()));
    assert_int_equal(kill(pid, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_true(proc_stat_read(pid, &stat) && stat.ended);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_living),
        cmocka_unit_test(test_main_thread_ended),
    };
    return cmocka_run_group_tests_name("proc_stat", tests, NULL, NULL);
}
