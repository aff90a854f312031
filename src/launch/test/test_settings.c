/* What a command line and an environment decide: meetings, run ids, ranks, numbers of nodes,
 * devices, names. What is wrong is refused. */
#include "launch/settings_make.h"

#include "base/file.h"
#include "base/mem.h"
#include "launch/devices.h"
#include "launch/flag_lists.h"
#include "launch/rdzv_settings.h"
#include "launch/resolve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#define WORDS_MAX 24

static const char *const job_variables[] = {
    "MUSTER_LAUNCH_SOCKET", "MUSTER_ATTEMPT_COOKIE",
    "MUSTER_JOB_NAME",      "MUSTER_TASK_INDEX",
    "ELASTIC_JOB_NAME",     "NODE_RANK",
    "WORKER_RANK",          "NODE_NUM",
    "DLROVER_MASTER_ADDR",  "MUSTER_RDZV_TOKEN",
    "PYTHON_EXEC",          "DLROVER_LOG_AGENT_DIR",
    "CUDA_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
    "HIP_VISIBLE_DEVICES",  "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
};

struct made {
    struct arena *arena;
    struct settings s;
    struct err err;
    int rc;
    char said[4096]; /* on stderr */
};

static void make(struct made *m, enum launch_name name, const char *line)
{
    char *argv[WORDS_MAX];
    char path[] = "/tmp/muster-settings-XXXXXX";
    int argc = 0, saved = dup(STDERR_FILENO), file = mkstemp(path);
    assert_true(saved >= 0 && file >= 0);
    unlink(path);
    memset(m, 0, sizeof *m);
    m->arena = arena_create();
    argv[argc++] = arena_strdup(m->arena, "launch");
    for (const char *at = line; *at; at += *at == ' ') {
        size_t n = strcspn(at, " ");
        argv[argc++] = arena_strndup(m->arena, at, n);
        at += n;
    }
    dup2(file, STDERR_FILENO);
    m->rc = settings_make(&m->s, m->arena, name, argc, argv, &m->err);
    dup2(saved, STDERR_FILENO);
    ssize_t n = pread(file, m->said, sizeof m->said - 1, 0);
    m->said[n > 0 ? n : 0] = '\0';
    close(saved);
    close(file);
}

static void good(struct made *m, enum launch_name name, const char *line)
{
    make(m, name, line);
    if (m->rc != 0)
        fail_msg("%s: %s (%s)", line, m->err.what, m->err.hint);
}

static void done(struct made *m)
{
    arena_destroy(m->arena);
}

/* exit: 1 where torchrun dies after parsing, 2 for the rest. */
static void bad(enum launch_name name, const char *line, int exit_code, const char *what,
                const char *hint)
{
    struct made m;
    make(&m, name, line);
    if (m.rc != -1)
        fail_msg("%s was taken", line);
    if (!strstr(m.err.what, what) || !strstr(m.err.hint, hint) ||
        err_exit_status(m.err.code) != exit_code)
        fail_msg("%s: %d \"%s\" / \"%s\"", line, err_exit_status(m.err.code), m.err.what,
                 m.err.hint);
    done(&m);
}

static int clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(job_variables); i++)
        unsetenv(job_variables[i]);
    return 0;
}

static void test_defaults(void **state)
{
    struct made m;
    (void)state;
    good(&m, LAUNCH_TORCHRUN, "train.py --epochs 3");
    assert_int_equal(m.s.backend, RDZV_BACKEND_ALONE);
    assert_int_equal(m.s.rdzv.min, 1);
    assert_int_equal(m.s.rdzv.max, 1);
    assert_int_equal(m.s.rdzv.max_restarts, 0);
    assert_int_equal(m.s.rdzv.last_call_ms, 30000);
    assert_int_equal(m.s.rdzv.exit_barrier_ms, 300000);
    assert_int_equal(m.s.rdzv.join_ms, 600000);
    assert_int_equal(m.s.rdzv.node_unit, 1);
    assert_int_equal(m.s.ranks, 1);
    assert_int_equal(m.s.shutdown_ms, 30000);
    assert_int_equal(m.s.beat_ms, 1000);
    assert_int_equal(m.s.silence_ms, 2500);
    assert_int_equal(strlen(m.s.run_id), 36);
    assert_int_equal(m.s.run_id[14], '4');
    assert_string_equal(m.s.role, "default");
    assert_string_equal(m.s.script, "train.py");
    assert_int_equal(m.s.args.n, 2);
    assert_string_equal(m.s.args.at[1], "3");
    assert_int_equal(m.s.n_signals, 4);
    assert_int_equal(m.s.signals[0], SIGTERM);
    assert_true(m.s.warm);
    assert_null(m.s.host);
    assert_null(m.s.token);
    assert_null(m.s.shown);
    assert_string_equal(m.said, "");
    done(&m);
    good(&m, LAUNCH_DLROVER_RUN, "train.py");
    assert_int_equal(m.s.rdzv.last_call_ms, 60000);
    assert_int_equal(m.s.rdzv.exit_barrier_ms, 900000);
    assert_string_equal(m.s.role, "dlrover-trainer");
    assert_memory_equal(m.s.run_id, "standalone_", 11);
    done(&m);
}

static void test_nnodes(void **state)
{
    struct made m;
    (void)state;
    good(&m, LAUNCH_MUSTER, "--nnodes 2:4 --rdzv-endpoint h s.py");
    assert_int_equal(m.s.rdzv.min, 2);
    assert_int_equal(m.s.rdzv.max, 4);
    done(&m);
    const enum launch_name t = LAUNCH_TORCHRUN;
    bad(t, "--nnodes=3:2 s.py", 1, "3:2", "2:3");
    bad(t, "--nnodes=0 s.py", 1, "at least one", "1");
    bad(t, "--nnodes=0:4 s.py", 1, "at least one", "1:4");
    bad(t, "--nnodes=a:b s.py", 1, "\"a:b\"", "2:4");
    bad(t, "--nnodes=1:2:3 s.py", 1, "\"1:2:3\"", "2:4");
    bad(t, "--nnodes= s.py", 1, "\"\"", "2:4");
    bad(t, "--nnodes=:2 s.py", 1, "\":2\"", "2:4");
    bad(t, "--nnodes=-1 s.py", 1, "\"-1\"", "2:4");
    bad(t, "--nnodes=99999 s.py", 1, "too many", "16384");
    bad(t, "--nnodes=99999999999999999999 s.py", 1, "99999", "2:4");
    bad(LAUNCH_DLROVER_RUN, "--nnodes=3 --rdzv-endpoint h --node-unit 4 s.py", 1, "--node-unit=4",
        "at most 3");
    bad(t, "--strict-quorum --nnodes=2:4 --rdzv-endpoint h s.py", 1, "split network",
        "--nnodes=3:4");
    good(&m, t, "--strict-quorum --nnodes=3:4 --rdzv-endpoint h s.py");
    assert_true(m.s.strict_quorum);
    done(&m);
}

static void test_nproc(void **state)
{
    struct made m;
    (void)state;
    const enum launch_name t = LAUNCH_TORCHRUN;
    good(&m, t, "--nproc-per-node=cpu s.py");
    assert_int_equal(m.s.ranks, devices_cores() < 1024 ? devices_cores() : 1024);
    done(&m);
    good(&m, t, "--nproc-per-node=1024 s.py");
    assert_int_equal(m.s.ranks, 1024);
    done(&m);
    good(&m, t, "--nproc-per-node=auto s.py");
    assert_true(m.s.ranks > 0);
    done(&m);
    bad(t, "--nproc-per-node=0 s.py", 1, "\"0\"", "1 to 1024");
    bad(t, "--nproc-per-node=100000 s.py", 1, "\"100000\"", "1 to 1024");
    bad(t, "--nproc-per-node=gpus s.py", 1, "\"gpus\"", "gpu?");
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    setenv("HIP_VISIBLE_DEVICES", "", 1);
    bad(t, "--nproc-per-node=gpu s.py", 1, "Cuda is not available.", "CUDA_VISIBLE_DEVICES");
}

static void test_meetings_of_torchrun(void **state)
{
    struct made m;
    (void)state;
    const enum launch_name t = LAUNCH_TORCHRUN;
    good(&m, t,
         "--nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=n1:1234 --rdzv-id=job7 "
         "--node-rank=1 s.py");
    assert_int_equal(m.s.backend, RDZV_BACKEND_ENDPOINT);
    assert_string_equal(m.s.host, "n1");
    assert_int_equal(m.s.port, 1234);
    assert_string_equal(m.s.run_id, "job7");
    assert_int_equal(m.s.node_rank, RDZV_ANY_RANK);
    assert_non_null(strstr(m.said, "--node-rank has no effect"));
    done(&m);
    good(&m, t, "--nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=[fe80::1%eth0]:1 s.py");
    assert_string_equal(m.s.host, "fe80::1%eth0");
    assert_int_equal(m.s.port, 1);
    assert_string_equal(m.s.run_id, "none");
    done(&m);
    good(&m, t, "--nnodes=2 --rdzv-backend=c10d s.py");
    assert_string_equal(m.s.host, "localhost");
    assert_int_equal(m.s.port, 29400);
    done(&m);
    good(&m, t, "--nnodes=2 --rdzv-endpoint=n1 s.py"); /* all would be node rank 0 else */
    assert_int_equal(m.s.backend, RDZV_BACKEND_ENDPOINT);
    done(&m);
    good(&m, t, "--nnodes=2 --node-rank=1 --master-addr=n1 --master-port=5000 s.py");
    assert_int_equal(m.s.backend, RDZV_BACKEND_STATIC);
    assert_string_equal(m.s.host, "n1");
    assert_int_equal(m.s.port, 5000);
    assert_int_equal(m.s.node_rank, 1);
    assert_string_equal(m.s.run_id, "none");
    done(&m);
    good(&m, t, "--nnodes=2 s.py");
    assert_int_equal(m.s.backend, RDZV_BACKEND_STATIC);
    assert_string_equal(m.s.host, "127.0.0.1");
    assert_int_equal(m.s.port, 29500);
    assert_int_equal(m.s.node_rank, 0);
    done(&m);
    good(&m, t, "--nnodes=2 --master-addr=::1 --rdzv-conf=rank=1 s.py");
    assert_string_equal(m.s.host, "::1");
    assert_int_equal(m.s.node_rank, 1);
    done(&m);
    good(&m, t, "--master-port=29555 s.py"); /* one node, and MASTER_PORT is asked for */
    assert_int_equal(m.s.backend, RDZV_BACKEND_STATIC);
    assert_int_equal(m.s.port, 29555);
    done(&m);
    good(&m, t, "--standalone --nnodes=1:4 --rdzv-id=x s.py");
    assert_int_equal(m.s.backend, RDZV_BACKEND_ALONE);
    assert_int_equal(m.s.rdzv.max, 1);
    assert_int_equal(strlen(m.s.run_id), 36);
    done(&m);
}

static void test_meetings_refused(void **state)
{
    (void)state;
    const enum launch_name t = LAUNCH_TORCHRUN;
    bad(t, "--standalone --nnodes=2 s.py", 1, "--standalone", "--rdzv-endpoint");
    bad(t, "--rdzv-backend=etcd-v2 --nnodes=2 s.py", 1, "etcd-v2", "c10d");
    bad(t, "--rdzv-backend=c10 s.py", 1, "\"c10\"", "c10d");
    bad(t, "--nnodes=2 --rdzv-endpoint=n1:0 s.py", 1, "\"0\" is no port", "65535");
    bad(t, "--nnodes=2 --rdzv-endpoint=n1:70000 s.py", 1, "70000", "65535");
    bad(t, "--nnodes=2 --rdzv-endpoint=::1:29400 s.py", 1, "colons", "brackets");
    bad(t, "--nnodes=2 --rdzv-endpoint=a/b:1 s.py", 1, "a/b", "HOST:PORT");
    bad(t, "--nnodes=2 --rdzv-endpoint=:29400 s.py", 1, "names no host", "HOST:PORT");
    bad(t, "--nnodes=2 --node-rank=2 --master-addr=n1 s.py", 1, "at most 2", "0 to 1");
    bad(t, "--nnodes=2 --node-rank=x --master-addr=n1 s.py", 2, "\"x\"", "from 0");
    bad(t, "--nnodes=2 --master-port=x s.py", 2, "\"x\"", "65535");
    bad(t, "--nnodes=2 --rdzv-id=a/b --rdzv-endpoint=h s.py", 1, "a/b", "names directories");
    bad(LAUNCH_MUSTER, "--nnodes=2 s.py", 1, "where do the nodes meet", "--rdzv-endpoint");
    bad(LAUNCH_DLROVER_RUN, "--nnodes=2 s.py", 1, "where do the nodes meet", "muster job");
    setenv("DLROVER_MASTER_ADDR", "10.0.0.1:1", 1);
    bad(LAUNCH_DLROVER_RUN, "--nnodes=2 s.py", 1, "dlrover master", "--standalone");
    struct made m;
    good(&m, LAUNCH_DLROVER_RUN, "--standalone s.py");
    assert_int_equal(m.s.backend, RDZV_BACKEND_ALONE);
    done(&m);
    good(&m, LAUNCH_TORCHRUN, "s.py"); /* nothing to torchrun */
    done(&m);
}

static void test_inside_a_job(void **state)
{
    struct made m;
    (void)state;
    setenv("MUSTER_LAUNCH_SOCKET", "/run/x", 1);
    setenv("MUSTER_ATTEMPT_COOKIE", "abc", 1);
    setenv("MUSTER_JOB_NAME", "mnist", 1);
    setenv("MUSTER_TASK_INDEX", "1", 1);
    good(&m, LAUNCH_TORCHRUN, "--nnodes=2:3 s.py");
    assert_int_equal(m.s.backend, RDZV_BACKEND_AGENT);
    assert_string_equal(m.s.agent_socket, "/run/x");
    assert_string_equal(m.s.agent_cookie, "abc");
    assert_string_equal(m.s.run_id, "mnist");
    assert_int_equal(m.s.node_rank, 1);
    assert_null(m.s.host);
    done(&m);
    good(&m, LAUNCH_TORCHRUN, "--nnodes=2 --master-addr=n1 --node-rank=0 --rdzv-id=z s.py");
    assert_int_equal(m.s.backend, RDZV_BACKEND_AGENT);
    assert_int_equal(m.s.node_rank, 0);
    assert_string_equal(m.s.run_id, "z");
    assert_non_null(strstr(m.said, "meet=endpoint"));
    done(&m);
    good(&m, LAUNCH_TORCHRUN,
         "--nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=n1 --rdzv-conf=meet=endpoint s.py");
    assert_int_equal(m.s.backend, RDZV_BACKEND_ENDPOINT);
    done(&m);
    good(&m, LAUNCH_TORCHRUN, "--nproc-per-node=2 s.py");
    assert_int_equal(m.s.backend, RDZV_BACKEND_ALONE);
    assert_string_equal(m.s.agent_socket, "/run/x"); /* it has news for the job all the same */
    done(&m);
    setenv("NODE_RANK", "2", 1);
    setenv("ELASTIC_JOB_NAME", "elastic", 1);
    good(&m, LAUNCH_DLROVER_RUN, "--nnodes=3 --standalone --rdzv-id=x s.py");
    assert_int_equal(m.s.backend, RDZV_BACKEND_AGENT);
    assert_int_equal(m.s.node_rank, 2);
    assert_string_equal(m.s.run_id, "elastic");
    done(&m);
    good(&m, LAUNCH_DLROVER_RUN, "--nnodes=2 s.py"); /* 2 is not below 2 */
    assert_int_equal(m.s.node_rank, 1);
    assert_non_null(strstr(m.said, "NODE_RANK is 2"));
    done(&m);
}

static void test_dlrover_flags(void **state)
{
    struct made m;
    (void)state;
    const enum launch_name d = LAUNCH_DLROVER_RUN;
    good(&m, d, "--precheck=2 --exclude-straggler --log-dir /tmp/x s.py");
    assert_true(m.s.rdzv.check && m.s.rdzv.check_bandwidth && m.s.rdzv.exclude_straggler);
    assert_int_equal(m.s.tee.all, 3);
    done(&m);
    good(&m, d, "--network_check --training_port 61000 --numa-affinity s.py");
    assert_true(m.s.rdzv.check);
    assert_false(m.s.rdzv.check_bandwidth);
    assert_int_equal(m.s.training_port, 61000);
    assert_int_equal(m.s.binding, BIND_NODE);
    done(&m);
    setenv("NODE_NUM", "4", 1);
    good(&m, d, "--auto-config --rdzv-endpoint=h s.py");
    assert_int_equal(m.s.rdzv.min, 4);
    assert_int_equal(m.s.rdzv.max, 4);
    assert_true(m.s.rdzv.check);
    done(&m);
    setenv("NODE_NUM", "many", 1);
    bad(d, "--auto-config s.py", 1, "\"many\"", "number of nodes");
    good(&m, d, "--exclude-straggler s.py");
    assert_non_null(strstr(m.said, "--network-check"));
    done(&m);
}

static void test_conf_and_times(void **state)
{
    struct made m;
    (void)state;
    const enum launch_name t = LAUNCH_TORCHRUN;
    good(&m, t, "--rdzv-conf=join_timeout=7,last_call_timeout=1,token=abc,read_timeout=9 s.py");
    assert_int_equal(m.s.rdzv.join_ms, 7000);
    assert_int_equal(m.s.rdzv.last_call_ms, 1000);
    assert_string_equal(m.s.token, "abc");
    assert_non_null(strstr(m.said, "read_timeout has no effect"));
    done(&m);
    good(&m, t, "--rdzv-conf=lastcall_timeout=2,keep_alive_interval=2,join_timeut=3 s.py");
    assert_int_equal(m.s.rdzv.last_call_ms, 2000);
    assert_int_equal(m.s.beat_ms, 2000);
    assert_int_equal(m.s.silence_ms, 6000);
    assert_non_null(strstr(m.said, "join_timeout?"));
    done(&m);
    bad(t, "--rdzv-conf=join_timeout s.py", 1, "join_timeout", "join_timeout=600");
    bad(t, "--rdzv-conf=join_timeout=soon s.py", 1, "\"soon\"", "whole number");
    bad(t, "--rdzv-conf=,, s.py", 1, "no key", "join_timeout=600");
    bad(t, "--rdzv-conf=store_type=file s.py", 1, "store_type=file", "TCP");
    bad(t, "--rdzv-conf=meet=x s.py", 1, "\"x\"", "meet=endpoint");
    setenv("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "4", 1);
    setenv("MUSTER_RDZV_TOKEN", "env", 1);
    good(&m, t, "s.py");
    assert_int_equal(m.s.shutdown_ms, 4000);
    assert_string_equal(m.s.token, "env");
    done(&m);
    good(&m, t, "--shutdown-timeout=0 --rdzv-token=flag --beat=100 s.py");
    assert_int_equal(m.s.shutdown_ms, 0);
    assert_string_equal(m.s.token, "flag");
    assert_int_equal(m.s.silence_ms, 250);
    done(&m);
    bad(t, "--shutdown-timeout=1.5 s.py", 2, "1.5", "whole number");
    bad(t, "--max-restarts=x s.py", 2, "\"x\"", "whole number");
    bad(t, "--max-restarts=-1 s.py", 1, "\"-1\"", "whole number");
    bad(t, "--monitor-interval=x s.py", 2, "\"x\"", "polling");
    bad(t, "--beat=1000 --silence=1000 s.py", 1, "--silence=1000", "2500");
}

static void test_fates(void **state)
{
    struct made m;
    (void)state;
    good(&m, LAUNCH_TORCHRUN, "--monitor-interval=5 --start-method=spawn s.py");
    assert_non_null(strstr(m.said, "torchrun: --monitor-interval has no effect: there is no poll"));
    assert_null(strstr(m.said, "--start-method")); /* the default: nothing is lost */
    done(&m);
    bad(LAUNCH_TORCHRUN, "--logs-specs=mine s.py", 1, "--logs-specs is refused", "--log-dir");
    bad(LAUNCH_TORCHRUN, "--event-log-handler=mine s.py", 1, "no handler \"mine\"", "console");
    good(&m, LAUNCH_TORCHRUN, "--logs-specs=default s.py -- --x");
    assert_string_equal(m.s.args.at[0], "--x");
    done(&m);
    good(&m, LAUNCH_TORCHRUN, "-- s.py -- --x");
    assert_string_equal(m.s.args.at[0], "--");
    done(&m);
    good(&m, LAUNCH_DLROVER_RUN, "--save_at_breakpoint --auto_tunning s.py");
    assert_non_null(strstr(m.said, "--save-at-breakpoint has no effect"));
    assert_non_null(strstr(m.said, "--auto-tunning has no effect"));
    done(&m);
}

static void test_programs(void **state)
{
    struct made m;
    (void)state;
    const enum launch_name t = LAUNCH_TORCHRUN;
    setenv("PYTHON_EXEC", "/opt/py", 1);
    good(&m, t, "-m pkg.train");
    assert_int_equal(m.s.kind, PROGRAM_MODULE);
    assert_string_equal(m.s.python, "/opt/py");
    done(&m);
    good(&m, t, "--no-python ls -l");
    assert_int_equal(m.s.kind, PROGRAM_BARE);
    assert_string_equal(m.s.args.at[0], "-l");
    done(&m);
    good(&m, t, "--no-python --run-path /a/s.py");
    assert_int_equal(m.s.kind, PROGRAM_RUN_PATH);
    done(&m);
    bad(t, "--no-python -m x", 1, "--no-python", "module");
    unsetenv("PYTHON_EXEC");
    const char *path = getenv("PATH"), *venv = getenv("VIRTUAL_ENV");
    AUTO_FREE char *old_path = mem_strdup(path), *old_venv = mem_strdup(venv);
    unsetenv("VIRTUAL_ENV");
    setenv("PATH", "/nonexistent", 1);
    bad(t, "s.py", 1, "no python", "PYTHON_EXEC");
    good(&m, t, "--no-python ls");
    done(&m);
    char dir[] = "/tmp/muster-python-XXXXXX", file[64], both[96];
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof file, "%s/python3", dir);
    close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
    snprintf(both, sizeof both, "/nonexistent:%s:/usr/bin", dir);
    setenv("PATH", both, 1);
    good(&m, t, "s.py");
    assert_string_equal(m.s.python, file);
    done(&m);
    unlink(file);
    rmdir(dir);
    setenv("PATH", old_path ? old_path : "/usr/bin:/bin", 1);
    if (old_venv)
        setenv("VIRTUAL_ENV", old_venv, 1);
}

static void test_lists(void **state)
{
    struct made m;
    (void)state;
    const enum launch_name t = LAUNCH_TORCHRUN;
    good(&m, t,
         "-t 0:3,2:1 -r 3 --local-ranks-filter=1,3 --signals-to-handle=SIGUSR1,SIGTERM s.py");
    assert_int_equal(std_choice_of(&m.s.tee, 0), 3);
    assert_int_equal(std_choice_of(&m.s.tee, 1), 0);
    assert_int_equal(std_choice_of(&m.s.tee, 2), 1);
    assert_int_equal(std_choice_of(&m.s.redirects, 7), 3);
    assert_int_equal(m.s.n_shown, 2);
    assert_int_equal(m.s.shown[1], 3);
    assert_int_equal(m.s.n_signals, 2);
    assert_int_equal(m.s.signals[0], SIGUSR1);
    done(&m);
    good(&m, t, "--duplicate-stdout-filters=loss,a,,b,,,c s.py");
    assert_int_equal(m.s.out_filters.n, 3);
    assert_string_equal(m.s.out_filters.at[1], "a,b,");
    assert_int_equal(m.s.err_filters.n, 0);
    done(&m);
    bad(t, "-t 4 s.py", 1, "--tee is \"4\"", "1 stdout");
    bad(t, "-r 0:1,x s.py", 1, "0:1,x", "by local rank");
    bad(t, "--local-ranks-filter=a s.py", 1, "\"a\"", "0,1,2");
    bad(t, "--signals-to-handle=SIGKILL s.py", 1, "SIGKILL", "leave it");
    good(&m, t, "--signals-to-handle=SIGTERN,SIGTERM,sigint,SIGTERM s.py");
    assert_int_equal(m.s.n_signals, 1);
    assert_string_equal(m.s.signals_said, "SIGTERN,SIGTERM,sigint,SIGTERM");
    done(&m);
    good(&m, t, "--signals-to-handle= s.py");
    assert_int_equal(m.s.n_signals, 0);
    done(&m);
}

/* ---- devices, names ---- */

static void touch(const char *root, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    assert_int_equal(file_replace(full, text, strlen(text), 0644, NULL), 0);
}

static void test_devices(void **state)
{
    char root[] = "/tmp/muster-devices-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(root));
    assert_int_equal(devices_cuda(root), 0);
    assert_int_equal(devices_xpu(root), 0);
    touch(root, "/sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
    touch(root, "/sys/class/kfd/kfd/topology/nodes/1/gpu_id", "4711\n");
    assert_int_equal(devices_cuda(root), 1);
    touch(root, "/proc/driver/nvidia/gpus/0000:01:00.0/information", "x");
    touch(root, "/proc/driver/nvidia/gpus/0000:02:00.0/information", "x");
    touch(root, "/proc/driver/nvidia/gpus/0000:03:00.0/information", "x");
    assert_int_equal(devices_cuda(root), 3);
    touch(root, "/dev/nvidia0", "");
    touch(root, "/dev/nvidia1", "");
    touch(root, "/dev/nvidiactl", "");
    assert_int_equal(devices_cuda(root), 2); /* a container with two of the three */
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    assert_int_equal(devices_cuda(root), 1);
    setenv("CUDA_VISIBLE_DEVICES", "0,-1,1", 1);
    assert_int_equal(devices_cuda(root), 1);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    assert_int_equal(devices_cuda(root), 0);
    touch(root, "/sys/class/drm/renderD128/device/vendor", "0x8086\n");
    touch(root, "/sys/class/drm/renderD129/device/vendor", "0x10de\n");
    assert_int_equal(devices_xpu(root), 1);
    assert_int_equal(file_remove_tree(root, NULL), 0);
    assert_true(devices_cores() >= 1);
}

static void test_resolve(void **state)
{
    char out[RESOLVE_MAX];
    struct err err;
    (void)state;
    assert_int_equal(resolve_host("10.1.2.3", out, &err), 0);
    assert_string_equal(out, "10.1.2.3");
    assert_int_equal(resolve_host("fe80::1%lo", out, &err), 0);
    assert_string_equal(out, "fe80::1%lo");
    assert_int_equal(resolve_host("LocalHost", out, &err), 0);
    assert_string_equal(out, "127.0.0.1");
    assert_int_equal(resolve_host("no-such-host.invalid", out, &err), -1);
    assert_string_equal(out, "127.0.0.1"); /* out-parameters change on success only */
    assert_true(err.code == ERR_NOT_FOUND || err.code == ERR_TIMEOUT);
    /* A getent that never answers is given up, and nothing of it is left. */
    char dir[] = "/tmp/muster-getent-XXXXXX", file[64];
    AUTO_FREE char *path = mem_strdup(getenv("PATH"));
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof file, "%s/getent", dir);
    touch("", file, "#!/bin/sh\necho '::5 STREAM x'\necho '192.0.2.7 STREAM x'\n");
    chmod(file, 0755);
    setenv("PATH", dir, 1);
    assert_int_equal(resolve_host("node-seven.invalid", out, &err), 0);
    assert_string_equal(out, "192.0.2.7");
    touch("", file,
          "#!/bin/sh\nexec 3<>/dev/null; while read -r x <&0; do :; done; kill -STOP $$\n");
    chmod(file, 0755);
    assert_int_equal(resolve_host("node-eight.invalid", out, &err), -1);
    assert_int_equal(err.code, ERR_TIMEOUT);
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(resolve_host("node-nine.invalid", out, &err), -1);
    assert_non_null(strstr(err.what, "no getent"));
    setenv("PATH", path ? path : "/usr/bin:/bin", 1);
    unlink(file);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_defaults, clear),
        cmocka_unit_test_setup(test_nnodes, clear),
        cmocka_unit_test_setup(test_nproc, clear),
        cmocka_unit_test_setup(test_meetings_of_torchrun, clear),
        cmocka_unit_test_setup(test_meetings_refused, clear),
        cmocka_unit_test_setup(test_inside_a_job, clear),
        cmocka_unit_test_setup(test_dlrover_flags, clear),
        cmocka_unit_test_setup(test_conf_and_times, clear),
        cmocka_unit_test_setup(test_fates, clear),
        cmocka_unit_test_setup(test_programs, clear),
        cmocka_unit_test_setup(test_lists, clear),
        cmocka_unit_test_setup(test_devices, clear),
        cmocka_unit_test_setup(test_resolve, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
