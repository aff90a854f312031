/* Processes that hang and asked to be ended for it, by timers over a socket; and requests about
 * processes that are none of the launcher's, which are refused. */
#include "launch/watchdog.h"

#include "base/clock.h"
#include "base/mem.h"
#include "launch/guard.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define PATIENCE_MS 20000u
#define COOKIE      "cookie-of-the-watchdog"

struct kennel {
    uv_loop_t loop;
    uv_timer_t tick;
    struct watchdog *dog;
    char dir[64], path[80];
};

static int enter(void **state)
{
    struct kennel *kennel = mem_new(sizeof *kennel);
    struct err err;
    *state = kennel;
    snprintf(kennel->dir, sizeof kennel->dir, "/tmp/muster-watchdog-XXXXXX");
    if (!mkdtemp(kennel->dir) || uv_loop_init(&kennel->loop) != 0)
        return -1;
    snprintf(kennel->path, sizeof kennel->path, "%s/timers", kennel->dir);
    uv_timer_init(&kennel->loop, &kennel->tick);
    kennel->dog = watchdog_create(&kennel->loop, kennel->path, COOKIE, &err);
    return kennel->dog ? 0 : -1;
}

static int leave(void **state)
{
    struct kennel *kennel = *state;
    watchdog_destroy(kennel->dog);
    uv_close((uv_handle_t *)&kennel->tick, NULL);
    uv_run(&kennel->loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&kennel->loop);
    /* The pipe has gone with it. */
    rc |= rmdir(kennel->dir);
    free(kennel);
    return rc;
}

static pid_t start(const char *entry)
{
    char name[] = "sleep", time[] = "600", variable[128];
    char *argv[] = { name, time, NULL }, *env[] = { variable, NULL };
    int ready[2];
    char none;
    snprintf(variable, sizeof variable, "%s", entry);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)execve("/bin/sleep", argv, env);
        _exit(127);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &none, 1), 0); /* exec has closed it */
    close(ready[0]);
    return pid;
}

static void ask(struct kennel *kennel, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void ask(struct kennel *kennel, const char *fmt, ...)
{
    char line[4096];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    int fd = open(kennel->path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, line, (size_t)n), n);
    close(fd);
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer; /* only wakes the loop */
}

/* Runs the loop until the process has ended; how. */
static int end_of(struct kennel *kennel, pid_t pid)
{
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        assert_true(clock_mono_ms() < until);
        uv_timer_start(&kennel->tick, on_tick, 5, 0);
        uv_run(&kennel->loop, UV_RUN_ONCE);
    }
    assert_true(WIFSIGNALED(status));
    return WTERMSIG(status);
}

static void kill_and_reap(pid_t pid)
{
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* it lives */
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void test_the_first_timer_with_a_signal_counts(void **state)
{
    struct kennel *kennel = *state;
    pid_t pid = start(GUARD_COOKIE "=" COOKIE);
    double soon = (double)time(NULL) + 0.2;
    ask(kennel, "{\"pid\": %d, \"scope_id\": \"a\", \"expiration_time\": %f, \"signal\": -1}\n",
        pid, soon - 100);
    ask(kennel, "{\"pid\": %d, \"scope_id\": \"c\", \"expiration_time\": %f, \"signal\": 9}\n", pid,
        soon + 600);
    ask(kennel, "{\"pid\": %d, \"scope_id\": \"b\", \"expiration_time\": %f, \"signal\": 12}\n",
        pid, soon);
    assert_int_equal(end_of(kennel, pid), SIGUSR2);
    assert_string_equal(watchdog_reason(kennel->dog, pid), "its hang timer \"b\" expired");
    assert_null(watchdog_reason(kennel->dog, pid + 1));
    watchdog_clear(kennel->dog);
    assert_null(watchdog_reason(kennel->dog, pid));
}

/* One that is ended shows that what came before it was looked at. */
static void end_another(struct kennel *kennel)
{
    pid_t pid = start(GUARD_COOKIE "=" COOKIE);
    ask(kennel, "{\"pid\": %d, \"scope_id\": \"x\", \"expiration_time\": 1, \"signal\": 9}\n", pid);
    assert_int_equal(end_of(kennel, pid), SIGKILL);
}

static void test_a_timer_is_taken_back_or_forgotten(void **state)
{
    struct kennel *kennel = *state;
    pid_t pid = start(GUARD_COOKIE "=" COOKIE);
    double soon = (double)time(NULL) + 600;
    ask(kennel, "{\"pid\": %d, \"scope_id\": \"a\", \"expiration_time\": %f, \"signal\": 9}\n", pid,
        soon);
    ask(kennel, "{\"pid\": %d, \"scope_id\": \"a\", \"expiration_time\": -1, \"signal\": 0}\n",
        pid);
    end_another(kennel);
    watchdog_clear(kennel->dog);
    kill_and_reap(pid);
}

static void test_strangers_and_nonsense(void **state)
{
    struct kennel *kennel = *state;
    pid_t other = start("A=B"), another = start(GUARD_COOKIE "=someone-else");
    char words[4000];
    memset(words, 'x', sizeof words);
    ask(kennel, "{\"pid\": %d, \"scope_id\": \"a\", \"expiration_time\": 1, \"signal\": 9}\n",
        other);
    ask(kennel, "{\"pid\": %d, \"scope_id\": \"a\", \"expiration_time\": 1, \"signal\": 9}\n",
        another);
    ask(kennel, "no json\n[]\n{}\n\n{\"pid\": \"x\"}\n{\"pid\": -1, \"scope_id\": \"a\", "
                "\"expiration_time\": 1e400, \"signal\": 9}\n");
    for (int i = 0; i < 3; i++)
        ask(kennel, "%.*s", (int)sizeof words, words);
    ask(kennel, "\n{\"pid\": 0, \"scope_id\": \"a\", \"expiration_time\": 1, \"signal\": 9}\n");
    end_another(kennel);
    assert_null(watchdog_reason(kennel->dog, other));
    kill_and_reap(other);
    kill_and_reap(another);
}

static void test_a_path_that_cannot_be(void **state)
{
    struct kennel *kennel = *state;
    struct err err;
    assert_null(watchdog_create(&kennel->loop, "/no/such/folder/timers", COOKIE, &err));
    assert_non_null(strstr(err.what, "/no/such/folder/timers"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_first_timer_with_a_signal_counts, enter, leave),
        cmocka_unit_test_setup_teardown(test_a_timer_is_taken_back_or_forgotten, enter, leave),
        cmocka_unit_test_setup_teardown(test_strangers_and_nonsense, enter, leave),
        cmocka_unit_test_setup_teardown(test_a_path_that_cannot_be, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
