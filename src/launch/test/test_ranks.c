/* Real processes: starting, ending, being stopped, what they leave, and what is said about it.
 * Programs that are none, and those that do not want to end. */
#include "launch/ranks.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/proc_stat.h"
#include "launch/guard.h"
#include "launch/stray_process.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <cmocka.h>

#define PATIENCE_MS 120000u
#define COOKIE      "cookie-of-this-test"

struct told {
    uint32_t local_rank, signal, pid;
    int32_t code;
    bool victim, spared, at_exit, oom;
    char message[400], tail[STREAMS_TAIL_MAX];
};
struct world {
    uv_loop_t loop;
    uv_timer_t beat;
    struct settings settings;
    struct streams *streams;
    struct ranks *ranks;
    struct rdzv_place place;
    struct rdzv_round round;
    const char *args[4];
    char dir[64], shell[80];
    struct told told[16];
    size_t n_told;
    unsigned gone;
    bool stop_at_first;
};

/* ---- the world ---- */

static void on_ended(void *arg, const struct rdzv_death *death, bool more)
{
    (void)more;
    struct world *world = arg;
    struct told *told = &world->told[world->n_told++];
    assert_int_equal(death->rank, world->place.first_rank + death->local_rank);
    *told = (struct told){ .local_rank = death->local_rank,
                           .signal = death->signal,
                           .pid = death->pid,
                           .code = death->code,
                           .victim = death->victim,
                           .spared = death->spared,
                           .at_exit = death->at_exit,
                           .oom = death->oom };
    snprintf(told->message, sizeof told->message, "%s", death->message);
    snprintf(told->tail, sizeof told->tail, "%s", death->tail);
    if (world->stop_at_first && world->n_told == 1)
        ranks_stop(world->ranks, 0, PATIENCE_MS);
}

static void on_gone(void *arg)
{
    struct world *world = arg;
    world->gone++;
    assert_false(ranks_running(world->ranks));
}

static void on_beat(uv_timer_t *timer)
{
    (void)timer;
}

static int setup(void **state)
{
    struct world *world = mem_new(sizeof *world);
    (void)signal(SIGPIPE, SIG_IGN);
    snprintf(world->dir, sizeof world->dir, "/tmp/ranks.XXXXXX");
    assert_non_null(mkdtemp(world->dir));
    snprintf(world->shell, sizeof world->shell, "%s/run.sh", world->dir);
    uv_loop_init(&world->loop);
    uv_timer_init(&world->loop, &world->beat);
    world->settings = (struct settings){ .name = LAUNCH_TORCHRUN,
                                         .rdzv = { .min = 1, .max = 1, .node_unit = 1 },
                                         .run_id = "none",
                                         .ranks = 1,
                                         .role = "default",
                                         .kind = PROGRAM_BARE,
                                         .python = "python3",
                                         .script = "/bin/sh",
                                         .args = { .at = world->args },
                                         .log_dir = world->dir };
    *state = world;
    return 0;
}

static void drop(struct world *world)
{
    ranks_destroy(world->ranks);
    streams_destroy(world->streams);
    world->ranks = NULL;
    world->streams = NULL;
}

static int teardown(void **state)
{
    struct world *world = *state;
    drop(world);
    uv_close((uv_handle_t *)&world->beat, NULL);
    while (uv_run(&world->loop, UV_RUN_DEFAULT) != 0)
        continue;
    assert_int_equal(uv_loop_close(&world->loop), 0);
    assert_int_equal(file_remove_tree(world->dir, NULL), 0);
    free(world);
    return 0;
}

static void make(struct world *world, uint32_t n)
{
    struct err err;
    world->settings.ranks = n;
    world->settings.rdzv.max_restarts = 0;
    world->place = (struct rdzv_place){ .ranks = n, .first_rank = 4, .node = "n", .addr = "a" };
    world->round = (struct rdzv_round){ .places = &world->place,
                                        .n_places = 1,
                                        .nodes = 1,
                                        .own = world->place,
                                        .world = n + 4,
                                        .store_addr = "127.0.0.1",
                                        .store_port = 29500 };
    struct ranks_sink sink = { .ended = on_ended, .gone = on_gone, .arg = world };
    world->streams = streams_create(&world->loop, &world->settings, &err);
    assert_non_null(world->streams);
    world->ranks = ranks_create(&world->loop, &world->settings, world->streams, NULL, COOKIE, sink);
}

static void start(struct world *world)
{
    struct err err = { .what = "" };
    int outcome = ranks_start(world->ranks, &world->round, 0, &err);
    assert_string_equal(err.what, "");
    assert_int_equal(outcome, 0);
    assert_true(ranks_running(world->ranks));
}

static const char *in_dir(const struct world *world, const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", world->dir, name);
    return path;
}

static void write_file(const struct world *world, const char *name, const char *text)
{
    assert_int_equal(file_replace(in_dir(world, name), text, strlen(text), 0644, NULL), 0);
}

/* n ranks of a shell script. */
static void start_shells(struct world *world, uint32_t n, const char *text)
{
    write_file(world, "run.sh", text);
    world->args[0] = world->shell;
    world->settings.args.n = 1;
    make(world, n);
    start(world);
}

/* The loop is woken now and then, so that it also looks at files. */
static bool ever(struct world *world, bool (*condition)(struct world *))
{
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    uv_timer_start(&world->beat, on_beat, 2, 2);
    while (!condition(world) && clock_mono_ms() < until)
        uv_run(&world->loop, UV_RUN_ONCE);
    uv_timer_stop(&world->beat);
    return condition(world);
}

static bool is_gone(struct world *world)
{
    return world->gone > 0;
}

/* The text of a file in the scratch directory, "" as long as it is not there. */
static const char *text_of(const struct world *world, const char *name)
{
    static char text[4096];
    AUTO_FREE char *data = NULL;
    size_t len = 0;
    text[0] = '\0';
    if (file_read(in_dir(world, name), sizeof text - 1, &data, &len, NULL) == 0)
        snprintf(text, sizeof text, "%s", data);
    return text;
}

static bool all_ready(struct world *world)
{
    for (uint32_t i = 0; i < world->settings.ranks; i++) {
        char name[32];
        snprintf(name, sizeof name, "ready%u", i);
        if (!*text_of(world, name))
            return false;
    }
    return true;
}

static bool runs(pid_t pid)
{
    char path[48], state = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'Z';
    (void)fclose(file);
    return state != 'Z' && state != 'X';
}

static void await_ready(struct world *world)
{
    assert_true(ever(world, all_ready));
}

#define READY "echo $$ >\"$D/r$LOCAL_RANK\"; mv \"$D/r$LOCAL_RANK\" \"$D/ready$LOCAL_RANK\"; "

static void tell_dir(const struct world *world)
{
    setenv("D", world->dir, 1);
}

/* ---- how ranks run and end ---- */

static void test_end_well(void **state)
{
    struct world *world = *state;
    tell_dir(world);
    start_shells(
        world, 3,
        "{ echo $RANK $LOCAL_RANK $MASTER_PORT $MUSTER_LAUNCH_COOKIE; "
        "readlink /proc/self/fd/0; cut -d' ' -f5,6 /proc/$$/stat; echo $$; "
        "ls /proc/self/fd | tr '\\n' ' '; grep Sig[BI] /proc/self/status; } >$D/out$LOCAL_RANK");
    assert_true(ever(world, is_gone));
    assert_int_equal(world->n_told, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct told *told = &world->told[i];
        char name[16], expected[400];
        assert_int_equal(told->code, 0);
        assert_int_equal(told->signal, 0);
        assert_false(told->victim || told->spared);
        snprintf(name, sizeof name, "out%u", told->local_rank);
        snprintf(expected, sizeof expected,
                 "%u %u 29500 " COOKIE "\n/dev/null\n%u %u\n%u\n0 1 2 3 ", told->local_rank + 4,
                 told->local_rank, told->pid, told->pid, told->pid);
        const char *text = text_of(world, name);
        assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
        assert_non_null(strstr(text, "SigBlk:\t0000000000000000"));
        const char *ignored = strstr(text, "SigIgn:\t");
        assert_non_null(ignored);
        uint64_t signals = strtoull(ignored + strlen("SigIgn:\t"), NULL, 16);
        assert_int_equal(signals & 0x7fffffff, 0); /* 32 and 33 may be, by who started the test */
    }
    assert_int_equal(world->gone, 1);
    assert_int_equal(ranks_pid(world->ranks, 0), 0);
}

static void test_codes_and_signals(void **state)
{
    struct world *world = *state;
    start_shells(
        world, 3,
        "case $LOCAL_RANK in 0) echo last words >&2; exit 7;; 1) kill -SEGV $$;; "
        "2) echo \"terminate called without an active exception\" >&2; kill -ABRT $$;; esac");
    assert_true(ever(world, is_gone));
    assert_int_equal(world->n_told, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct told *told = &world->told[i];
        static const struct told expected[] = { { .code = 7 },
                                                { .signal = SIGSEGV },
                                                { .signal = SIGABRT, .at_exit = true } };
        const struct told *want = &expected[told->local_rank];
        assert_int_equal(told->code, want->code);
        assert_int_equal(told->signal, want->signal);
        assert_int_equal(told->at_exit, want->at_exit);
        assert_false(told->victim || told->spared || told->oom);
        if (told->local_rank == 0)
            assert_non_null(strstr(told->tail, "last words"));
    }
}

static bool all_dead(struct world *world)
{
    return world->n_told == world->settings.ranks;
}

/* Many ends between two turns of the loop are told in the order of the kernel, not of the pids. */
static void test_order(void **state)
{
    static const uint32_t order[] = { 3, 0, 5, 1, 4, 2 };
    struct world *world = *state;
    tell_dir(world);
    start_shells(world, 6, READY "exec sleep 1000");
    await_ready(world);
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        pid_t pid = ranks_pid(world->ranks, order[i]);
        assert_int_equal(kill(pid, SIGKILL), 0);
        siginfo_t info;
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    }
    assert_true(ever(world, all_dead));
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        assert_int_equal(world->told[i].local_rank, order[i]);
        assert_int_equal(world->told[i].signal, SIGKILL);
        assert_false(world->told[i].victim);
    }
    assert_true(ever(world, is_gone));
}

static void test_error_file(void **state)
{
    struct world *world = *state;
    start_shells(world, 1,
                 "printf '%s' '{\"message\": {\"message\": \"ValueError: boom\", \"extraInfo\": "
                 "{\"py_callstack\": \"x\", \"timestamp\": \"1795240372\"}}}' "
                 ">$TORCHELASTIC_ERROR_FILE; exit 1");
    assert_true(ever(world, is_gone));
    assert_string_equal(world->told[0].message, "ValueError: boom");
    assert_int_equal(world->told[0].code, 1);
}

/* ---- programs that cannot start ---- */

static void test_missing_script(void **state)
{
    struct world *world = *state;
    world->settings.kind = PROGRAM_SCRIPT;
    world->settings.script = "/nowhere/train.py";
    make(world, 2);
    start(world);
    assert_int_equal(world->n_told, 0); /* never from inside the call */
    assert_true(ever(world, is_gone));
    assert_int_equal(world->n_told, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(world->told[i].spared);
        assert_int_equal(world->told[i].code, 2);
        assert_string_equal(world->told[i].message,
                            "script /nowhere/train.py: there is no such file");
    }
}

static void expect_spared(struct world *world, int code, const char *message)
{
    make(world, 1);
    start(world);
    assert_true(ever(world, is_gone));
    assert_int_equal(world->n_told, 1);
    assert_string_equal(world->told[0].message, message);
    assert_int_equal(world->told[0].code, code);
    assert_true(world->told[0].spared);
    drop(world);
    world->n_told = world->gone = 0;
}

static void test_programs_that_are_none(void **state)
{
    struct world *world = *state;
    world->settings.script = "no-such-program-here";
    expect_spared(world, 127, "program no-such-program-here: not found in PATH");
    world->settings.script = "/dev";
    expect_spared(world, 126, "program /dev: not executable");
    write_file(world, "text", "just text\n");
    assert_int_equal(chmod(in_dir(world, "text"), 0755), 0);
    char path[128], message[256];
    snprintf(path, sizeof path, "%s", in_dir(world, "text"));
    world->settings.script = path;
    snprintf(message, sizeof message,
             "program %s: neither a program nor a script with #! in its first line", path);
    expect_spared(world, 126, message);
    write_file(world, "text", "#!/nowhere/sh\n");
    assert_int_equal(chmod(in_dir(world, "text"), 0755), 0);
    snprintf(message, sizeof message, "program %s: its interpreter (first line) does not exist",
             path);
    expect_spared(world, 127, message);
    world->settings.kind = PROGRAM_SCRIPT;
    world->settings.script = "/dev";
    expect_spared(world, 1, "script /dev: is a directory");
    world->settings.script = path;
    world->settings.python = "/nowhere/python";
    expect_spared(world, 127, "program /nowhere/python: there is no such file");
}

static void test_syntax_errors(void **state)
{
    struct world *world = *state;
    char path[128];
    write_file(world, "bad.py", "def f(:\n    pass\n");
    write_file(world, "imports.py", "import bad\n");
    world->settings.kind = PROGRAM_SCRIPT;
    world->settings.args.n = 0;
    snprintf(path, sizeof path, "%s", in_dir(world, "bad.py"));
    world->settings.script = path;
    make(world, 2);
    start(world);
    assert_true(ever(world, is_gone));
    for (size_t i = 0; i < 2; i++) {
        assert_true(world->told[i].spared);
        assert_int_equal(world->told[i].code, 1);
        assert_int_equal(strncmp(world->told[i].message, "SyntaxError:", 12), 0);
    }
    drop(world);
    world->n_told = world->gone = 0;
    snprintf(path, sizeof path, "%s", in_dir(world, "imports.py"));
    make(world, 1);
    start(world);
    assert_true(ever(world, is_gone));
    assert_int_equal(world->told[0].code, 1);
    assert_false(world->told[0].spared); /* the script itself began */
}

/* ---- stopping ---- */

static void test_stop_is_quick(void **state)
{
    struct world *world = *state;
    tell_dir(world);
    start_shells(world, 4, READY "exec sleep 1000");
    await_ready(world);
    ranks_stop(world->ranks, 0, 10 * PATIENCE_MS);
    assert_int_equal(world->n_told, 0);
    assert_true(ever(world, is_gone));
    assert_int_equal(world->n_told, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(world->told[i].signal, SIGTERM);
        assert_true(world->told[i].victim);
    }
    assert_int_equal(world->gone, 1);
}

/* The first end stops the others: it is guilty, they are victims. */
static void test_stop_from_inside(void **state)
{
    struct world *world = *state;
    world->stop_at_first = true;
    start_shells(world, 3, "[ $LOCAL_RANK = 1 ] && exit 3; exec sleep 1000");
    assert_true(ever(world, is_gone));
    assert_int_equal(world->n_told, 3);
    assert_int_equal(world->told[0].local_rank, 1);
    assert_false(world->told[0].victim);
    assert_true(world->told[1].victim && world->told[2].victim);
}

static void test_stubborn(void **state)
{
    struct world *world = *state;
    tell_dir(world);
    start_shells(world, 2, "trap '' TERM; " READY "while :; do sleep 1000; done");
    await_ready(world);
    ranks_stop(world->ranks, SIGTERM, 30);
    assert_true(ever(world, is_gone));
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(world->told[i].signal, SIGKILL);
        assert_true(world->told[i].victim);
        assert_false(world->told[i].oom);
    }
}

static void test_halted(void **state)
{
    struct world *world = *state;
    tell_dir(world);
    start_shells(world, 1, READY "exec sleep 1000");
    await_ready(world);
    pid_t pid = ranks_pid(world->ranks, 0);
    siginfo_t info;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT), 0);
    ranks_stop(world->ranks, 0, 10 * PATIENCE_MS);
    assert_true(ever(world, is_gone));
    assert_int_equal(world->told[0].signal, SIGTERM);
}

static void test_stop_when_nothing_runs(void **state)
{
    struct world *world = *state;
    make(world, 1);
    ranks_stop(world->ranks, 0, 0);
    assert_int_equal(world->gone, 0);
    assert_true(ever(world, is_gone));
    assert_int_equal(world->n_told, 0);
}

static void test_rounds_follow(void **state)
{
    struct world *world = *state;
    start_shells(world, 2, "exit $TORCHELASTIC_RESTART_COUNT");
    assert_true(ever(world, is_gone));
    for (uint32_t round = 1; round < 4; round++) {
        world->n_told = world->gone = 0;
        world->round.round = world->round.restarts = round;
        start(world);
        assert_true(ever(world, is_gone));
        assert_int_equal(world->n_told, 2);
        assert_int_equal(world->told[0].code, (int)round);
    }
}

/* ---- what they leave ---- */

#define DAEMONS                                                                                    \
    "setsid sh -c 'echo $$ >$D/d; mv $D/d $D/daemon; trap \"\" TERM HUP; while :; do sleep 9; "    \
    "done' >/dev/null 2>&1 & while [ ! -e $D/daemon ]; do sleep 0.01; done; "                      \
    "(trap '' TERM; exec sleep 1001) & "

static void test_leftovers_are_killed(void **state)
{
    struct world *world = *state;
    tell_dir(world);
    start_shells(world, 1, DAEMONS READY "exec sleep 1000");
    await_ready(world);
    pid_t daemon = (pid_t)strtol(text_of(world, "daemon"), NULL, 10);
    assert_true(daemon > 0 && runs(daemon));
    ranks_stop(world->ranks, 0, 10 * PATIENCE_MS);
    assert_true(ever(world, is_gone));
    assert_false(runs(daemon));
    static struct stray_child children[STRAY_CHILDREN_MAX];
    size_t n = stray_children(children);
    for (size_t i = 0; i < n; i++)
        assert_true(children[i].ended);
}

static void test_leftovers_of_a_good_end(void **state)
{
    struct world *world = *state;
    tell_dir(world);
    start_shells(world, 1, DAEMONS "exit 0");
    assert_true(ever(world, is_gone));
    assert_int_equal(world->told[0].code, 0);
    pid_t daemon = (pid_t)strtol(text_of(world, "daemon"), NULL, 10);
    assert_true(daemon > 0);
    assert_false(runs(daemon));
}

/* A daemon of the rank whose main thread has ended and whose other thread has not: it is a zombie
 * by name, and lives. This program again, so that the mark is in its environment. */
static void *stay(void *arg)
{
    while (pause() < 0)
        continue;
    return arg;
}

_Noreturn static void be_headless(void)
{
    pthread_t other;
    (void)alarm(PATIENCE_MS / 100); /* a test that fails leaves nothing either */
    if (pthread_create(&other, NULL, stay, NULL) == 0)
        pthread_exit(NULL);
    _exit(1);
}

#define HEADLESS                                                                                   \
    "setsid \"$PROGRAM\" headless >/dev/null 2>&1 & "                                              \
    "while ! grep -sq 'State:.Z' /proc/$!/status; do sleep 0.01; done; echo $! >$D/daemon; "

static void test_leftovers_without_a_main_thread(void **state)
{
    struct world *world = *state;
    tell_dir(world);
    start_shells(world, 1, HEADLESS READY "exec sleep 1000");
    await_ready(world);
    pid_t daemon = (pid_t)strtol(text_of(world, "daemon"), NULL, 10);
    struct proc_stat stat;
    assert_true(proc_stat_read(daemon, &stat) && !stat.ended);
    assert_true(stray_carries(daemon, COOKIE));
    ranks_stop(world->ranks, 0, 10 * PATIENCE_MS);
    assert_true(ever(world, is_gone));
    assert_false(proc_stat_read(daemon, &stat) && !stat.ended);
}

/* ---- the guard ---- */

/* A launcher with its guard and ranks, in a process of its own. */
_Noreturn static void be_launcher(struct world *world)
{
    int hold;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nothing either */
    uv_loop_fork(&world->loop);
    if (guard_start(COOKIE, &hold) < 0)
        _exit(1);
    start_shells(world, 1, DAEMONS READY "exec sleep 1000");
    uv_run(&world->loop, UV_RUN_DEFAULT);
    _exit(1);
}

/* Processes that the loop of this process knows nothing of. */
struct pair_of_pids {
    pid_t rank, daemon;
};

static bool both_carry(const struct pair_of_pids *pair)
{
    return stray_carries(pair->rank, COOKIE) && stray_carries(pair->daemon, COOKIE);
}

static bool both_ended(const struct pair_of_pids *pair)
{
    return !runs(pair->rank) && !runs(pair->daemon);
}

static void await(bool (*condition)(const struct pair_of_pids *), const struct pair_of_pids *pair)
{
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (!condition(pair) && clock_mono_ms() < until)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
    assert_true(condition(pair));
}

static void test_killed_launcher_leaves_nothing(void **state)
{
    struct world *world = *state;
    tell_dir(world);
    pid_t launcher = fork();
    if (launcher == 0)
        be_launcher(world);
    world->settings.ranks = 1;
    assert_true(ever(world, all_ready));
    struct pair_of_pids pair = { .rank = (pid_t)strtol(text_of(world, "ready0"), NULL, 10),
                                 .daemon = (pid_t)strtol(text_of(world, "daemon"), NULL, 10) };
    await(both_carry, &pair); /* not while they exec */
    assert_int_equal(kill(launcher, SIGKILL), 0);
    assert_int_equal(waitpid(launcher, NULL, 0), launcher);
    await(both_ended, &pair);
    while (waitpid(-1, NULL, 0) > 0) /* the guard and the daemon come to us, and end */
        continue;
}

static pid_t sleeper(const char *cookie)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char entry[128];
        snprintf(entry, sizeof entry, GUARD_COOKIE "=%s", cookie);
        const char *argv[] = { "sleep", "1000", NULL }, *env[] = { "A=B", entry, NULL };
        (void)execve("/bin/sleep", (char **)(uintptr_t)argv, (char **)(uintptr_t)env);
        _exit(1);
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* exec closed the other end */
    (void)close(ends[0]);
    return pid;
}

static void test_sweep_by_cookie(void **state)
{
    (void)state;
    static const struct {
        const char *cookie;
        bool ours;
    } cases[] = { { "one-77", true },     { "outer:one-77", true }, { "one-77:inner", true },
                  { "a:one-77:b", true }, { "one-777", false },     { "one-7", false },
                  { "xone-77", false },   { "outer:one-7", false }, { "", false } };
    pid_t pids[ARRAY_LEN(cases)];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        pids[i] = sleeper(cases[i].cookie);
        assert_int_equal(stray_carries(pids[i], "one-77"), cases[i].ours);
    }
    assert_int_equal(guard_sweep("one-77", pids[0]), 3);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(runs(pids[i]), i == 0 || !cases[i].ours);
        (void)kill(pids[i], SIGKILL);
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
    char program[256] = "";
    if (argc > 1 && strcmp(argv[1], "headless") == 0)
        be_headless();
    if (readlink("/proc/self/exe", program, sizeof program - 1) > 0)
        setenv("PROGRAM", program, 1);
    const struct CMUnitTest tests[] = {
        TEST(test_end_well),
        TEST(test_codes_and_signals),
        TEST(test_order),
        TEST(test_error_file),
        TEST(test_missing_script),
        TEST(test_programs_that_are_none),
        TEST(test_syntax_errors),
        TEST(test_stop_is_quick),
        TEST(test_stop_from_inside),
        TEST(test_stubborn),
        TEST(test_halted),
        TEST(test_stop_when_nothing_runs),
        TEST(test_rounds_follow),
        TEST(test_leftovers_are_killed),
        TEST(test_leftovers_of_a_good_end),
        TEST(test_leftovers_without_a_main_thread),
        TEST(test_killed_launcher_leaves_nothing),
        TEST(test_sweep_by_cookie),
    };
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    return cmocka_run_group_tests_name("ranks", tests, NULL, NULL);
}
