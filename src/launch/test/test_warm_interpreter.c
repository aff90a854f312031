/* The parked interpreter: ranks forked from it against ranks started cold. The probe prints what a
 * program can see of its process, a fact a line; lines that may differ are listed here and in
 * doc/launch.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "launch/guard.h"
#include "launch/rank_env.h"
#include "launch/rank_spawn.h"
#include "launch/warm_interpreter.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define RANKS      2u
#define WAIT_MS    120000u
#define OUTPUT_MAX (1u << 20)
#define COOKIE     "test-warm-cookie"

/* A rank that is looked at: says so, and stays. */
static const char idle[] = "import sys, time\n"
                           "for name in sys.argv[1:]:\n"
                           "    __import__(name)\n"
                           "time.sleep(600)\n";

static const char probe[] =
    "import sys\n"
    "main_names = sorted(name for name in globals() if name != 'sys')\n"
    "import asyncio, atexit, gc, locale, os, random, resource, signal, subprocess, threading, time\n"
    "import multiprocessing, traceback, warnings\n"
    "def show(name, value): print(f'{name}={value!r}')\n"
    "def work(queue): queue.put(os.getppid() == parent)\n"
    "parent = int(os.environ.get('PROBE_PARENT', '0')) or os.getpid()\n"
    "if __name__ == '__main__':\n"
    "    os.environ['PROBE_PARENT'] = str(os.getpid())\n"
    "    main = sys.modules['__main__']\n"
    "    show('argv', sys.argv)\n"
    "    show('orig_argv', getattr(sys, 'orig_argv', None))\n"
    "    show('path', sys.path)\n"
    "    show('main_names', main_names)\n"
    "    show('main', [main.__file__, main.__name__, main.__package__, main.__doc__])\n"
    "    show('spec', getattr(main.__spec__, 'name', None))\n"
    "    show('loader', type(__loader__).__name__)\n"
    "    show('builtins', type(__builtins__).__name__)\n"
    "    show('customize', 'sitecustomize' in sys.modules)\n"
    "    show('environ', sorted(e for e in os.environ.items() if not e[0].startswith('PROBE')))\n"
    "    own = sorted(k + b'=' + v for k, v in os.environb.items())\n"
    "    seen = sorted(subprocess.check_output(['env', '-0']).split(b'\\0')[:-1])\n"
    "    show('putenv', own == seen)\n"
    "    show('cwd', os.getcwd())\n"
    "    show('umask', os.umask(0o22))\n"
    "    show('limits', [resource.getrlimit(i) for i in range(10)])\n"
    "    show('signals', [str(signal.getsignal(n)) for n in range(1, 65) if n not in (32, 33)])\n"
    "    show('mask', signal.pthread_sigmask(signal.SIG_BLOCK, []))\n"
    "    status = dict(l.split(':', 1) for l in open('/proc/self/status'))\n"
    "    show('kernel_signals', [status[n] for n in ('SigBlk', 'SigIgn', 'SigCgt')])\n"
    "    show('fds', sorted(int(f) for f in os.listdir('/proc/self/fd') if int(f) < 3\n"
    "                       or os.path.exists(f'/proc/self/fd/{f}')))\n"
    "    show('stdin', os.readlink('/proc/self/fd/0'))\n"
    "    show('input', sys.stdin.read())\n"
    "    show('leads', [os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()])\n"
    "    show('flags', sys.flags)\n"
    "    show('cmdline', open('/proc/self/cmdline').read())\n"
    "    show('cookie', b'MUSTER_LAUNCH_COOKIE=' in open('/proc/self/environ', 'rb').read())\n"
    "    for s in (sys.stdin, sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):\n"
    "        show('stream', [s.name, s.mode, s.encoding, s.errors, s.line_buffering,\n"
    "             s.write_through, s.fileno(), s.seekable(), type(s.buffer).__name__])\n"
    "    show('same_streams', [sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__])\n"
    "    show('locale', [locale.setlocale(locale.LC_ALL), locale.getpreferredencoding()])\n"
    "    show('threads', [threading.active_count(), threading.current_thread().name,\n"
    "         threading.main_thread().native_id == os.getpid(), len(os.listdir('/proc/self/task'))])\n"
    "    show('warnings', warnings.filters)\n"
    "    show('gc', [gc.isenabled(), gc.get_threshold()])\n"
    "    show('depth', len(traceback.extract_stack()))\n"
    "    show('nice', os.nice(0))\n"
    "    show('affinity', sorted(os.sched_getaffinity(0)))\n"
    "    show('process_time', time.process_time() < 5)\n";

static const char probe_more[] =
    "    show('asyncio', asyncio.run(asyncio.sleep(0, 'slept')))\n"
    "    show('multiprocessing', [multiprocessing.parent_process(),\n"
    "         multiprocessing.current_process().name, multiprocessing.get_start_method()])\n"
    "    for how in ('fork', 'spawn', 'forkserver'):\n"
    "        context = multiprocessing.get_context(how)\n"
    "        queue = context.SimpleQueue()\n"
    "        child = context.Process(target=work, args=(queue,))\n"
    "        child.start()\n"
    "        show(how, [how == 'forkserver' or queue.get(), child.join(), child.exitcode])\n"
    "    thread = threading.Thread(target=show, args=('thread', 'ran'))\n"
    "    thread.start(); thread.join()\n"
    "    late = threading.Thread(target=lambda: (threading.main_thread().join(), show('late', 'ran')))\n"
    "    late.start()\n"
    "    atexit.register(show, 'atexit', 'ran')\n"
    "    random_draw = [random.random()]\n"
    "    if 'numpy' in sys.modules:\n"
    "        import numpy; random_draw.append(numpy.random.random())\n"
    "    if 'torch' in sys.modules:\n"
    "        import torch; random_draw.append(torch.initial_seed())\n"
    "    show('draws', random_draw)\n"
    "    show('modules', len(sys.modules))\n"
    "    how = os.environ.get('PROBE_END', 'raise')\n"
    "    if how == 'raise':\n"
    "        raise ValueError('as asked')\n"
    "    sys.exit(int(how))\n";

struct stage_set {
    uv_loop_t loop;
    struct settings settings;
    struct arena *arena;
    char *dir, *script;
    char said[512];
    struct warm_interpreter *warm;
};

static void on_said(void *arg, const char *text)
{
    struct stage_set *place = arg;
    snprintf(place->said, sizeof place->said, "%s", text);
}

static int enter(void **state)
{
    struct stage_set *place = mem_new(sizeof *place);
    *state = place;
    place->arena = arena_create();
    place->dir = mem_strdup("/tmp/muster-warm-XXXXXX");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    const char *python = getenv("MUSTER_TEST_PYTHON");
    place->settings = (struct settings){
        .kind = PROGRAM_SCRIPT, .python = python ? python : "python3", .ranks = RANKS, .warm = true
    };
    return mkdtemp(place->dir) && uv_loop_init(&place->loop) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    struct stage_set *place = *state;
    struct err err;
    warm_destroy(place->warm);
    uv_run(&place->loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&place->loop);
    if (file_remove_tree(place->dir, &err) < 0)
        rc = -1;
    arena_destroy(place->arena);
    free(place->dir);
    free(place->script);
    free(place);
    return rc;
}

static void write_script(struct stage_set *place, const char *text)
{
    struct err err;
    free(place->script);
    place->script = mem_printf("%s/program.py", place->dir);
    assert_int_equal(file_replace(place->script, text, strlen(text), 0644, &err), 0);
    place->settings.script = place->script;
}

/* This process's environment, the cookie, and what is given. */
static char **make_env(struct stage_set *place, const char *extra)
{
    size_t n = 0;
    while (environ[n])
        n++;
    char **env = ARENA_ARRAY(place->arena, n + 4, char *);
    size_t out = 0;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "ASAN_", 5) != 0 && strncmp(environ[i], "OMP_", 4) != 0)
            env[out++] = environ[i];
    env[out++] = arena_strdup(place->arena, GUARD_COOKIE "=" COOKIE);
    env[out++] = arena_strdup(place->arena, "OMP_NUM_THREADS=1");
    env[out] = extra ? arena_strdup(place->arena, extra) : NULL;
    return env;
}

static int output_file(struct stage_set *place, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", place->dir, name);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

static char *output_text(struct stage_set *place, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", place->dir, name);
    char *text;
    size_t len;
    struct err err;
    assert_int_equal(file_read(path, OUTPUT_MAX, &text, &len, &err), 0);
    return text;
}

/* What a rank finds in its stdin. */
static int input_file(struct stage_set *place)
{
    static const char lines[] = "one\r\ntwo";
    AUTO_FREE char *path = mem_printf("%s/in", place->dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(pwrite(fd, lines, strlen(lines), 0), strlen(lines));
    return fd;
}

static pid_t start_cold(struct stage_set *place, char **env, int out, int err)
{
    char **argv = rank_argv_make(place->arena, &place->settings, 0);
    AUTO_CLOSE int in = input_file(place);
    struct rank_spawn spawn = { .program = rank_spawn_find(place->arena, argv[0], env),
                                .argv = argv,
                                .env = env,
                                .in = in,
                                .out = out,
                                .err = err,
                                .failures = err };
    assert_non_null(spawn.program);
    pid_t pid = rank_spawn(&spawn);
    assert_true(pid > 0);
    return pid;
}

static int end_of(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer; /* only wakes the loop */
}

/* Runs the loop until something that starts like this was said. */
static void await_said(struct stage_set *place, const char *text)
{
    uint64_t until = clock_mono_ms() + WAIT_MS;
    uv_timer_t tick;
    uv_timer_init(&place->loop, &tick);
    while (!strstr(place->said, text)) {
        uv_timer_start(&tick, on_tick, 20, 0);
        uv_run(&place->loop, UV_RUN_ONCE);
        if (clock_mono_ms() > until)
            fail_msg("waited for \"%s\", heard \"%s\"", text, place->said);
    }
    uv_close((uv_handle_t *)&tick, NULL);
    uv_run(&place->loop, UV_RUN_NOWAIT);
}

/* A cold rank that imports these runs until an interpreter was parked (or was not: text). */
static void park_script(struct stage_set *place, const char *script, const char *modules,
                        char **env, const char *text)
{
    const char *names[1] = { modules };
    write_script(place, script);
    if (modules)
        place->settings.args = (struct words){ .at = names, .n = 1 };
    int out = output_file(place, "idle");
    pid_t pid = start_cold(place, env, out, out);
    place->settings.args = (struct words){ .n = 0 };
    if (!place->warm)
        place->warm = warm_create(&place->loop, &place->settings, COOKIE, on_said, place);
    warm_watch(place->warm, pid, env);
    await_said(place, text);
    kill(pid, SIGKILL);
    (void)end_of(pid);
    close(out);
}

static void park(struct stage_set *place, const char *modules, char **env, const char *text)
{
    park_script(place, idle, modules, env, text);
}

static const char *may_differ[] = { "draws", "modules", "warnings" };

static bool listed(const char *line)
{
    for (size_t i = 0; i < ARRAY_LEN(may_differ); i++)
        if (strncmp(line, may_differ[i], strlen(may_differ[i])) == 0)
            return true;
    return false;
}

static void same_but_listed(char *cold, char *warm)
{
    char *cold_at, *warm_at;
    const char *a = strtok_r(cold, "\n", &cold_at), *b = strtok_r(warm, "\n", &warm_at);
    size_t lines = 0;
    for (; a && b; lines++) {
        if (strcmp(a, b) != 0 && !listed(a))
            fail_msg("cold: %s\nwarm: %s", a, b);
        a = strtok_r(NULL, "\n", &cold_at);
        b = strtok_r(NULL, "\n", &warm_at);
    }
    if (a || b)
        fail_msg("cold goes on: %s\nwarm goes on: %s", a ? a : "", b ? b : "");
    assert_true(lines > 0);
}

static void fork_two(struct stage_set *place, char **env, const int fds[4], pid_t pids[RANKS])
{
    struct warm_rank ranks[RANKS];
    for (size_t i = 0; i < RANKS; i++)
        ranks[i] = (struct warm_rank){ .argv = rank_argv_make(place->arena, &place->settings, 0),
                                       .env = env,
                                       .in = input_file(place),
                                       .out = fds[2 * i],
                                       .err = fds[2 * i + 1] };
    uint64_t before = clock_mono_us();
    int rc = warm_fork(place->warm, ranks, RANKS, pids);
    for (size_t i = 0; i < RANKS; i++)
        close(ranks[i].in);
    print_message("forked in %llu us\n", (unsigned long long)(clock_mono_us() - before));
    if (rc < 0)
        fail_msg("not forked: %s", place->said);
}

static void compare(struct stage_set *place, const char *modules, const char *text)
{
    char **env = make_env(place, "PROBE_END=raise");
    static const char *const names[] = { "out0", "err0", "out1", "err1" };
    int fds[4];
    pid_t pids[RANKS];
    park(place, modules, env, text);
    AUTO_FREE char *body = mem_printf("%s%s\n%s%s", modules ? "import " : "",
                                      modules ? modules : "", probe, probe_more);
    write_script(place, body);
    int out = output_file(place, "out"), err = output_file(place, "err");
    int cold_end = end_of(start_cold(place, env, out, err));
    for (size_t i = 0; i < 4; i++)
        fds[i] = output_file(place, names[i]);
    fork_two(place, env, fds, pids);
    assert_int_equal(WEXITSTATUS(cold_end), 1);
    for (size_t i = 0; i < RANKS; i++)
        assert_int_equal(end_of(pids[i]), cold_end);
    for (size_t i = 0; i < 4; i++) {
        AUTO_FREE char *cold = output_text(place, i % 2 == 0 ? "out" : "err");
        AUTO_FREE char *warm = output_text(place, names[i]);
        same_but_listed(cold, warm);
        close(fds[i]);
    }
    close(out);
    close(err);
}

static void plain_ranks_are_as_fresh_ones(void **state)
{
    compare(*state, NULL, "warm: plain Python parked");
}

static void ranks_with_torch_are_as_fresh_ones(void **state)
{
    struct stage_set *place = *state;
    if (!getenv("MUSTER_TEST_PYTHON")) {
        print_message("MUSTER_TEST_PYTHON names no Python with torch\n");
        skip();
    }
    compare(place, "torch", "torch parked"); /* maybe after one that was parked before its import */
}

/* Two ranks of this script; how both ended. */
static int run_warm(struct stage_set *place, const char *script, char **env)
{
    pid_t pids[RANKS];
    write_script(place, script);
    int out = output_file(place, "out"), err = output_file(place, "err");
    int fds[4] = { out, err, out, err };
    fork_two(place, env, fds, pids);
    int first = end_of(pids[0]), second = end_of(pids[1]);
    assert_int_equal(first, second);
    close(out);
    close(err);
    return first;
}

static void one_parked_interpreter_serves_many_rounds(void **state)
{
    struct stage_set *place = *state;
    char **env = make_env(place, NULL);
    park(place, NULL, env, "warm: plain Python parked");
    assert_int_equal(WEXITSTATUS(run_warm(place, "import sys; sys.exit(7)", env)), 7);
    /* at once: the bench is filled on demand */
    assert_int_equal(WEXITSTATUS(run_warm(place, "import os; os._exit(9)", env)), 9);
    assert_int_equal(WTERMSIG(run_warm(place, "import os; os.abort()", env)), SIGABRT);
    assert_int_equal(WEXITSTATUS(run_warm(place, "this is no Python", env)), 1);
    assert_int_equal(WEXITSTATUS(run_warm(place, "", env)), 0);
    assert_true(warm_ready(place->warm));
}

static void environment_is_the_rank_s_own(void **state)
{
    struct stage_set *place = *state;
    park(place, NULL, make_env(place, "RANK=0"), "warm: plain Python parked");
    assert_int_equal(
        WEXITSTATUS(run_warm(place, "import os, sys; sys.exit(int(os.environ['RANK']))",
                             make_env(place, "RANK=5"))),
        5);
    assert_int_equal(WEXITSTATUS(run_warm(place, "import os, sys; sys.exit('RANK' in os.environ)",
                                          make_env(place, NULL))),
                     0);
}

static void other_libraries_environment_is_a_cold_start(void **state)
{
    struct stage_set *place = *state;
    struct warm_rank ranks[RANKS];
    pid_t pids[RANKS];
    park(place, NULL, make_env(place, "MKL_DEBUG=0"), "warm: plain Python parked");
    char **env = make_env(place, "MKL_DEBUG=1");
    for (size_t i = 0; i < RANKS; i++)
        ranks[i] = (struct warm_rank){ .argv = rank_argv_make(place->arena, &place->settings, 0),
                                       .env = env,
                                       .out = 1,
                                       .err = 2 };
    assert_int_equal(warm_fork(place->warm, ranks, RANKS, pids), -1);
    assert_string_equal(place->said,
                        "cold start: MKL_DEBUG has changed since the interpreter was parked");
    assert_false(warm_ready(place->warm));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left of it */
}

static void threads_of_an_import_are_a_cold_start(void **state)
{
    struct stage_set *place = *state;
    struct err err;
    static const char module[] = "import threading, time\n"
                                 "threading.Thread(target=time.sleep, args=(600,), "
                                 "daemon=True).start()\n";
    AUTO_FREE char *path = mem_printf("%s/threaded_module.py", place->dir);
    assert_int_equal(file_replace(path, module, strlen(module), 0644, &err), 0);
    place->settings.preload = "threaded_module";
    park(place, NULL, make_env(place, NULL), "cold start: an import started threads");
    assert_false(warm_ready(place->warm));
}

static void a_module_that_is_missing_is_said(void **state)
{
    struct stage_set *place = *state;
    place->settings.preload = "no_such_module,json";
    char **env = make_env(place, NULL);
    park(place, NULL, env, "warm: no_such_module,json parked");
    assert_int_equal(
        WEXITSTATUS(run_warm(place, "import sys; sys.exit('json' not in sys.modules)", env)), 0);
}

/* A Python that never looks at PYTHONPATH must not run the script as a stranger. */
static void a_python_that_cannot_be_parked_runs_nothing(void **state)
{
    struct stage_set *place = *state;
    struct err err;
    AUTO_FREE char *text = mem_printf("#!/bin/sh\nexec %s -I \"$@\"\n", place->settings.python);
    AUTO_FREE char *path = mem_printf("%s/python", place->dir);
    AUTO_FREE char *mark = mem_printf("%s/ran", place->dir);
    AUTO_FREE char *script = mem_printf("open('%s', 'a').write('x')\n%s", mark, idle);
    assert_int_equal(file_replace(path, text, strlen(text), 0755, &err), 0);
    place->settings.python = path;
    park_script(place, script, NULL, make_env(place, NULL), "cold start: this Python cannot");
    AUTO_FREE char *ran = output_text(place, "ran");
    assert_string_equal(ran, "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: the probe of others leaves orphans (multiprocessing's servers) for a moment. */
        cmocka_unit_test_setup_teardown(other_libraries_environment_is_a_cold_start, enter, leave),
        cmocka_unit_test_setup_teardown(plain_ranks_are_as_fresh_ones, enter, leave),
        cmocka_unit_test_setup_teardown(ranks_with_torch_are_as_fresh_ones, enter, leave),
        cmocka_unit_test_setup_teardown(one_parked_interpreter_serves_many_rounds, enter, leave),
        cmocka_unit_test_setup_teardown(environment_is_the_rank_s_own, enter, leave),
        cmocka_unit_test_setup_teardown(threads_of_an_import_are_a_cold_start, enter, leave),
        cmocka_unit_test_setup_teardown(a_module_that_is_missing_is_said, enter, leave),
        cmocka_unit_test_setup_teardown(a_python_that_cannot_be_parked_runs_nothing, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
