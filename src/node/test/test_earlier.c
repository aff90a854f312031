/* What the pilot that is started again finds of the one before it: nothing, a directory that
 * nobody holds, or something that lives and must not be doubled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/earlier.h"

#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

/* 32 bytes of 0x11, and their SHA-256. */
#define TOKEN "1111111111111111111111111111111111111111111111111111111111111111"
#define HASH  "02d449a31fbb267c8f352e9968a79e3e5fc95c1bbeaa502fd6454ebde5a4bedc"

struct scene {
    char top[64];
    char *dirs, *folder, *own; /* own: the directory of the earlier one */
    struct earlier_search search;
};

static void put_file(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = file_join(dir, name);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), 0);
}

static char *put_dir(const struct scene *s, const char *name, const char *token)
{
    AUTO_FREE char *text =
        mem_printf("tcp=127.0.0.1:1\npin=" TOKEN "\ntoken=%s\nnode=n4.p2\n", token);
    char *dir = file_join(s->folder, name);
    assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
    put_file(dir, "host.conf", text);
    put_file(dir, "pilot.lock", "");
    return dir;
}

static int set_up(void **state)
{
    struct scene *s = mem_new(sizeof *s);
    snprintf(s->top, sizeof s->top, "/tmp/earlier-XXXXXX");
    assert_non_null(mkdtemp(s->top));
    s->dirs = mem_printf("/nowhere:%s", s->top);
    s->folder = earlier_folder(s->top, strlen(s->top));
    assert_int_equal(file_mkdirs(s->folder, 0700, NULL), 0);
    s->own = put_dir(s, "47110815.n4.abcdef", TOKEN);
    s->search = (struct earlier_search){
        .dirs = s->dirs, .allocation = "47110815", .node = "n4", .token_hash = HASH
    };
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;
    file_remove_tree(s->top, NULL);
    free(s->dirs);
    free(s->folder);
    free(s->own);
    free(s);
    return 0;
}

static enum earlier look(const struct scene *s)
{
    AUTO_FREE char *dir = NULL;
    AUTO_CLOSE int lock = -1;
    enum earlier found = earlier_find(&s->search, &dir, &lock);
    assert_true((found == EARLIER_LEFT) == (dir != NULL) && (dir != NULL) == (lock >= 0));
    if (dir)
        assert_string_equal(dir, s->own);
    return found;
}

static void what_nobody_holds_is_taken(void **state)
{
    struct scene *s = *state;
    struct err err;
    AUTO_FREE char *dir = NULL;
    AUTO_CLOSE int lock = -1;
    assert_int_equal(look(s), EARLIER_LEFT);
    assert_int_equal(earlier_find(&s->search, &dir, &lock), EARLIER_LEFT);
    assert_int_equal(look(s), EARLIER_LIVES); /* that is the next one's earlier one */
    assert_int_equal(earlier_lock(s->own, &err), -1);
}

static void a_pilot_or_host_that_lives_is_left_alone(void **state)
{
    struct scene *s = *state;
    struct err err;
    int lock = earlier_lock(s->own, &err);
    assert_true(lock >= 0);
    assert_int_equal(look(s), EARLIER_LIVES);
    close(lock);
    AUTO_FREE char *path = file_join(s->own, "host.lock");
    lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(look(s), EARLIER_LIVES);
    close(lock);
    assert_int_equal(look(s), EARLIER_LEFT);
    /* One of a server that did not know of such locks: whether it lives cannot be seen. */
    AUTO_FREE char *mark = file_join(s->own, "pilot.lock");
    assert_int_equal(unlink(mark), 0);
    assert_int_equal(look(s), EARLIER_LIVES);
}

/* Another allocation, node or server, or one that never joined, is none. */
static void another_one_is_none(void **state)
{
    struct scene *s = *state;
    s->search.node = "n5";
    assert_int_equal(look(s), EARLIER_NONE);
    s->search.node = "n4";
    s->search.allocation = "4711081";
    assert_int_equal(look(s), EARLIER_NONE);
    s->search.allocation = "47110815";
    s->search.token_hash = TOKEN;
    assert_int_equal(look(s), EARLIER_NONE);
    put_file(s->own, "host.conf", "tcp=127.0.0.1:1\npin=" TOKEN "\ntoken=11\nnode=n4\n");
    s->search.token_hash = HASH;
    assert_int_equal(look(s), EARLIER_NONE);
}

/* A process of its own, until it is ended. */
static pid_t run(const char *in, char *const argv[], char *const env[])
{
    int ends[2];
    char byte;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir(in) == 0)
            execve("/bin/sleep", argv, env);
        _exit(127);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* it is that program now */
    close(ends[0]);
    return pid;
}

static void finish(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Its directory is gone, or lies where it is not looked for. */
static void what_it_started_is_found_without_a_directory(void **state)
{
    struct scene *s = *state;
    char name[] = "sleep", time[] = "1000", asks[] = "MUSTER_PILOT_JOIN=aa";
    char of[] = "SLURM_JOB_ID=47110815", on[] = "SLURMD_NODENAME=n4", off[] = "SLURMD_NODENAME=n5";
    AUTO_FREE char *within = mem_printf("DIR=%s/runs/1.1.n4", s->own);
    char *plain[] = { name, time, NULL }, *none[] = { NULL }, *handed[] = { within, NULL };
    char *pilot[] = { asks, of, on, NULL }, *other[] = { asks, of, off, NULL };
    s->search.dirs = "/nowhere";
    assert_int_equal(look(s), EARLIER_NONE);
    pid_t pid = run("/", plain, handed);
    assert_int_equal(look(s), EARLIER_LIVES);
    finish(pid);
    pid = run(s->own, plain, none);
    assert_int_equal(look(s), EARLIER_LIVES);
    finish(pid);
    pid = run("/", plain, pilot);
    assert_int_equal(look(s), EARLIER_LIVES);
    finish(pid);
    pid = run("/", plain, other);
    assert_int_equal(look(s), EARLIER_NONE);
    finish(pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_nobody_holds_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pilot_or_host_that_lives_is_left_alone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(another_one_is_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_it_started_is_found_without_a_directory, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
