/* Processes by /proc: real ones, by their parents, environments and threads. A process whose main
 * thread has ended still runs. */
#include "node/proc.h"

#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static pid_t start_child(char *mark)
{
    int ready[2];
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        char *argv[] = { (char[]){ "sleep" }, (char[]){ "1000" }, NULL };
        char *env[] = { (char[]){ "A=b" }, mark, (char[]){ "PATH=/usr/bin:/bin" }, NULL };
        execve("/bin/sleep", argv, env);
        _exit(127);
    }
    close(ready[1]);
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 0); /* it runs */
    close(ready[0]);
    return pid;
}

static bool lists(const struct proc_list *list, pid_t pid)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i] == pid)
            return true;
    return false;
}

static void processes(void **state)
{
    (void)state;
    char mark[] = "MUSTER_ATTEMPT_COOKIE=1.1.n.w.0.1";
    pid_t pid = start_child(mark);
    struct proc_list list = { .n = 0 };
    proc_children(getpid(), &list);
    assert_true(lists(&list, pid));
    list.n = 0;
    proc_descendants(getppid(), &list);
    assert_true(lists(&list, pid) && lists(&list, getpid()));
    assert_true(proc_environ_has(pid, mark));
    assert_false(proc_environ_has(pid, "MUSTER_ATTEMPT_COOKIE=1.1.n.w.0.10"));
    assert_false(proc_environ_has(pid, "MUSTER_ATTEMPT_COOKIE=1.1.n.w.0."));
    assert_true(proc_start_time(pid) >= proc_start_time(getpid()));
    assert_true(proc_memory(getpid()) > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    list.n = 0;
    proc_children(getpid(), &list);
    assert_false(lists(&list, pid)); /* a zombie is nobody */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(proc_start_time(pid) == 0);
}

static void *stay(void *arg)
{
    while (pause() < 0)
        continue;
    return arg;
}

/* By name a zombie, and it lives: another thread of it does. */
static void a_process_without_its_main_thread(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t other;
        if (pthread_create(&other, NULL, stay, NULL) == 0)
            pthread_exit(NULL);
        _exit(1);
    }
    while (proc_memory(pid) > 0) /* of the main thread */
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    struct proc_list list = { .n = 0 };
    proc_children(getpid(), &list);
    assert_true(lists(&list, pid));
    assert_false(proc_is_leaving(pid));
    AUTO_FREE char *own = NULL; /* of which the text ends with the first entry */
    size_t len;
    assert_int_equal(file_read("/proc/self/environ", 1u << 20, &own, &len, NULL), 0);
    bool has = proc_environ_has(pid, own);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(has);
}

static void each_is_there_once(void **state)
{
    struct proc_list list = { .n = 5, .at = { 7, 3, 7, 9, 3 } };
    (void)state;
    proc_each_once(&list);
    assert_int_equal(list.n, 3);
    assert_true(list.at[0] == 3 && list.at[1] == 7 && list.at[2] == 9);
    assert_true(proc_is_child(getpid(), getppid()));
    assert_false(proc_is_child(getpid(), getpid()));
    assert_int_equal(proc_pids_most(4), 4);
    assert_true(proc_pids_most(UINT32_MAX) <= proc_pid_max() / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes),
        cmocka_unit_test(a_process_without_its_main_thread),
        cmocka_unit_test(each_is_there_once),
    };
    return cmocka_run_group_tests_name("proc", tests, NULL, NULL);
}
