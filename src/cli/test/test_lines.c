/* Command lines as jobs: the native tree that a line becomes, which has to be a job; what is said
 * of it, what options beside the line change, what is wrong. */
#include "cli/line/line.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cli/made_job.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct tried {
    struct arena *arena;
    struct line_job line;
    struct err err;
    int rc;
    const char *job; /* its tree as JSON */
};

/* text: words with single blanks between. */
static struct tried try_with(const char *text, struct line_request asked)
{
    struct tried t = { .arena = arena_create() };
    char *argv[48];
    int argc = 0;
    for (const char *at = text; *at; at += *at == ' ') {
        size_t n = strcspn(at, " ");
        argv[argc++] = arena_strndup(t.arena, at, n);
        at += n;
    }
    t.rc = line_read(t.arena, argc, argv, &asked, &t.line, &t.err);
    if (t.rc == 0) {
        AUTO_BUF struct buf out = BUF_INIT(65536);
        struct made_job made = { .line = &t.line, .replicas = asked.replicas };
        struct text_node *tree = made_job_tree(t.arena, &made);
        struct report report;
        report_init(&report, t.arena);
        assert_non_null(job_decode(t.arena, tree, &report));
        json_print(tree, 0, &out);
        t.job = arena_strdup(t.arena, buf_str(&out));
    }
    return t;
}

static struct tried try(const char *text)
{
    return try_with(text, (struct line_request){ .replicas = 0 });
}

static void becomes(const char *text, const char *job, size_t said)
{
    struct tried t = try(text);
    if (t.rc != 0)
        fail_msg("%s: %d %s", text, t.rc, t.rc < 0 ? t.err.what : "");
    assert_string_equal(t.job, job);
    if (t.line.said.n != said)
        fail_msg("%s: %zu said, first: %s", text, t.line.said.n,
                 t.line.said.n ? t.line.said.at[0] : "");
    arena_destroy(t.arena);
}

static void what_the_line_says(void **state)
{
    (void)state;
    becomes("torchrun --nnodes=2 --nproc_per_node 4 --max-restarts=3 train.py --nnodes 7",
            "{\"muster\":1,\"name\":\"train\",\"replicas\":2,"
            "\"argv\":[\"torchrun\",\"train.py\",\"--nnodes\",\"7\"],"
            "\"launcher\":{\"ranks_per_node\":4,\"max_restarts\":3},"
            "\"place\":{\"spread\":[\"worker\"]}}",
            0);
    becomes("python -u -m torch.distributed.run --nnodes=2:4 -m pkg.train x",
            "{\"muster\":1,\"name\":\"pkg\",\"replicas\":{\"min\":2,\"max\":4},"
            "\"done\":{\"succeeded\":2},"
            "\"argv\":[\"torchrun\",\"--module\",\"pkg.train\",\"x\"],"
            "\"launcher\":{\"ranks_per_node\":1},\"place\":{\"spread\":[\"worker\"]}}",
            0);
    becomes("dlrover-run --nnodes=4 --node_unit=2 --network-check --comm-perf-test a.py",
            "{\"muster\":1,\"name\":\"a\",\"replicas\":4,"
            "\"argv\":[\"dlrover-run\",\"--comm-perf-test\",\"a.py\"],"
            "\"launcher\":{\"ranks_per_node\":1,\"node_unit\":2,\"node_check\":true},"
            "\"place\":{\"spread\":[\"worker\"]}}",
            0);
    becomes("muster launch --nproc-per-node=2 a.py",
            "{\"muster\":1,\"name\":\"a\",\"replicas\":1,\"argv\":[\"muster-launch\",\"a.py\"],"
            "\"launcher\":{\"ranks_per_node\":2}}",
            0);
    becomes("/opt/no/such/python3.11 -m torch.distributed.run a.py",
            "{\"muster\":1,\"name\":\"a\",\"replicas\":1,\"argv\":[\"torchrun\",\"a.py\"],"
            "\"launcher\":{\"ranks_per_node\":1},"
            "\"env\":{\"PYTHON_EXEC\":\"/opt/no/such/python3.11\"}}",
            0);
}

static void what_stays_and_what_is_left_out(void **state)
{
    (void)state;
    becomes("torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint h:1 --rdzv-id=r --node-rank=1 "
            "--master-port=1 --standalone -r 3 --rdzv-conf=join_timeout=9 a.py",
            "{\"muster\":1,\"name\":\"a\",\"replicas\":2,\"argv\":[\"torchrun\",\"--rdzv-id=r\","
            "\"--rdzv-conf=join_timeout=9\",\"--redirects=3\",\"a.py\"],"
            "\"launcher\":{\"ranks_per_node\":1},\"place\":{\"spread\":[\"worker\"]}}",
            5);
    becomes("torchrun --standalone --master-port=29501 --monitor-interval=5 a.py",
            "{\"muster\":1,\"name\":\"a\",\"replicas\":1,\"argv\":[\"torchrun\",\"--standalone\","
            "\"--master-port=29501\",\"a.py\"],\"launcher\":{\"ranks_per_node\":1}}",
            1);
    becomes("torchrun --rdzv-endpoint=h:1 --rdzv-conf=meet=endpoint a.py",
            "{\"muster\":1,\"name\":\"a\",\"replicas\":1,\"argv\":[\"torchrun\","
            "\"--rdzv-endpoint=h:1\",\"--rdzv-conf=meet=endpoint\",\"a.py\"],"
            "\"launcher\":{\"ranks_per_node\":1}}",
            0);
    becomes("torchrun --nproc-per-node=auto a.py",
            "{\"muster\":1,\"name\":\"a\",\"replicas\":1,\"argv\":[\"torchrun\","
            "\"--nproc-per-node=auto\",\"a.py\"],\"conventions\":[\"torchrun\"]}",
            1);
}

static void what_was_asked_beside_it(void **state)
{
    struct tried t = try_with("torchrun --nproc-per-node=gpu a.py",
                              (struct line_request){ .replicas = 3, .gpu = "8" });
    (void)state;
    assert_int_equal(t.rc, 0);
    assert_int_equal(t.line.max, 3);
    assert_int_equal(t.line.settings.ranks_per_node, 8);
    arena_destroy(t.arena);
    t = try_with("torchrun --nproc-per-node=cpu a.py", (struct line_request){ .cpu = "6" });
    assert_int_equal(t.line.settings.ranks_per_node, 6);
    arena_destroy(t.arena);
    t = try_with("dlrover-run --auto-config a.py",
                 (struct line_request){ .replicas = 4, .gpu = "2" });
    assert_int_equal(t.line.settings.ranks_per_node, 2);
    assert_true(t.line.settings.node_check);
    assert_int_equal(t.line.max, 4);
    arena_destroy(t.arena);
    t = try_with("torchrun --nnodes=2 a.py", (struct line_request){ .replicas = 3 });
    assert_int_equal(t.rc, -1);
    assert_string_equal(t.err.what, "--replicas 3 and --nnodes=2 are not the same");
    arena_destroy(t.arena);
}

static void what_is_no_launcher(void **state)
{
    static const char *const plain[] = {
        "python train.py",    "python -m pkg", "bash torchrun", "muster ls",
        "python -c torchrun", "A=1",           "nohup"
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        struct tried t = try(plain[i]);
        assert_int_equal(t.rc, 0);
        assert_int_equal(t.line.kind, LINE_PLAIN);
        assert_int_equal(t.line.said.n, 0);
        arena_destroy(t.arena);
    }
}

static void what_stands_in_front(void **state)
{
    (void)state;
    becomes("A=1 B= torchrun --nproc-per-node=2 a.py",
            "{\"muster\":1,\"name\":\"a\",\"replicas\":1,\"argv\":[\"torchrun\",\"a.py\"],"
            "\"launcher\":{\"ranks_per_node\":2},\"env\":{\"A\":\"1\",\"B\":\"\"}}",
            0);
    becomes(
        "nohup env A=1 nice -n 5 python a.py b",
        "{\"muster\":1,\"name\":\"a\",\"argv\":[\"nice\",\"-n\",\"5\",\"python\",\"a.py\",\"b\"],"
        "\"env\":{\"A\":\"1\"}}",
        1);
    becomes("env -u B A=1 python a.py",
            "{\"muster\":1,\"name\":\"a\",\"argv\":[\"env\",\"-u\",\"B\",\"A=1\",\"python\","
            "\"a.py\"]}",
            0);
    becomes("conda run -n t --no-capture-output torchrun --nnodes=2 a.py",
            "{\"muster\":1,\"name\":\"a\",\"replicas\":2,\"argv\":[\"conda\",\"run\",\"-n\",\"t\","
            "\"--no-capture-output\",\"muster-launch\",\"a.py\"],"
            "\"launcher\":{\"ranks_per_node\":1},\"place\":{\"spread\":[\"worker\"]}}",
            0);
}

static void what_other_launchers_say(void **state)
{
    (void)state;
    becomes(
        "accelerate launch --num_machines 2 --num_processes 4 --machine_rank 0 --cpu a.py --x 1",
        "{\"muster\":1,\"name\":\"a\",\"replicas\":2,\"run\":\"exec accelerate launch "
        "--num_machines=2 --num_processes=4 --machine_rank=\\\"$NODE_RANK\\\" "
        "--main_process_ip=\\\"$MASTER_ADDR\\\" --main_process_port=\\\"$MASTER_PORT\\\" --cpu "
        "a.py --x 1\",\"place\":{\"spread\":[\"worker\"]},\"ports\":{\"master\":1},"
        "\"conventions\":[\"pytorch\"]}",
        0);
    becomes("mpirun -np 8 -H a:4,b:4 -x A -mca btl ^openib ./p",
            "{\"muster\":1,\"name\":\"p\",\"replicas\":2,"
            "\"run\":\"[ \\\"$MUSTER_TASK_INDEX\\\" = 0 ] || exec sleep infinity\\nexec mpirun "
            "-np 8 -x A -mca btl '^openib' ./p\",\"done\":{\"succeeded\":1},"
            "\"retry\":{\"scope\":\"job\"},\"place\":{\"spread\":[\"worker\"]},"
            "\"framework\":\"mpi\",\"conventions\":[\"dlc\"],"
            "\"extra\":{\"dlc\":{\"JobType\":\"MPIJob\",\"LauncherWorks\":true,\"Slots\":4}}}",
            1);
}

static void what_is_wrong(void **state)
{
    static const struct {
        const char *line, *what;
    } rows[] = {
        { "torchrun --nnodez=2 a.py", "unknown flag --nnodez" },
        { "torchrun --nnodes=3:2 a.py", "--nnodes=3:2: the fewest are more than the most" },
        { "torchrun --nnodes=0 a.py", "--nnodes=0: a job has at least one node" },
        { "torchrun --nproc-per-node=0 a.py", "--nproc-per-node is \"0\"" },
        { "torchrun --nproc-per-node=gpu a.py",
          "--nproc-per-node=gpu: how many devices is not said" },
        { "torchrun --max-restarts=-1 a.py", "--max-restarts is \"-1\"" },
        { "torchrun --logs-specs=x a.py", "--logs-specs is refused" },
        { "torchrun --nnodes=2", "which script? None was given" },
        { "torchrun --help", "--help is for a terminal, not for a job" },
        { "dlrover-run --nnodes=2 --node-unit=3 a.py",
          "--node-unit=3 is more than the 2 nodes of --nnodes" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tried t = try(rows[i].line);
        assert_int_equal(t.rc, -1);
        assert_string_equal(t.err.what, rows[i].what);
        arena_destroy(t.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_line_says),
        cmocka_unit_test(what_stays_and_what_is_left_out),
        cmocka_unit_test(what_was_asked_beside_it),
        cmocka_unit_test(what_is_no_launcher),
        cmocka_unit_test(what_stands_in_front),
        cmocka_unit_test(what_other_launchers_say),
        cmocka_unit_test(what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
