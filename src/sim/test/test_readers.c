/* Every format to the same workload, and every bad row with its place, its value and what is
 * expected. */
#include "sim/workload.h"

#include "base/buf.h"
#include "base/mem.h"
#include "sim/nodes_openb.h"
#include "sim/test/plain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct reader {
    struct arena *arena;
    struct report report;
    struct workload w;
    int rc;
};

static int setup(void **state)
{
    struct reader *r = mem_new(sizeof *r);
    r->arena = arena_create();
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    struct reader *r = *state;
    arena_destroy(r->arena);
    free(r);
    return 0;
}

static void read_text(struct reader *r, const char *text)
{
    report_init(&r->report, r->arena);
    r->w.says = (struct declarations){ 0 };
    r->rc = workload_read(plain_dialects(), text, strlen(text), &r->w, &r->report);
}

static const struct role *role(const struct reader *r, size_t arrival)
{
    return &r->w.patterns[r->w.arrivals[arrival].pattern].spec->roles[0];
}

/* One problem, of that line, with that text and hint. */
static void expect_problem(const struct reader *r, uint32_t line, const char *what,
                           const char *hint)
{
    assert_int_equal(r->rc, -1);
    for (size_t i = 0; i < r->report.n; i++) {
        const struct problem *p = &r->report.at[i];
        if (p->place.line == line && strstr(p->what, what) && strstr(p->hint, hint))
            return;
    }
    fail_msg("line %u: no \"%s\" (%s) among %zu; the first: %u: %s (%s)", line, what, hint,
             r->report.n, r->report.n ? r->report.at[0].place.line : 0,
             r->report.n ? r->report.at[0].what : "", r->report.n ? r->report.at[0].hint : "");
}

/* ---- openb ---- */

#define OPENB                                                                                      \
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"            \
    "deletion_time,scheduled_time\n"

static void test_openb(void **state)
{
    struct reader *r = *state;
    read_text(r, OPENB "p1,12000,16384,1,460,,LS,Running,1100,1500,1200\n"
                       "p2,6000,1024,8,1000,V100M16|V100M32,LS,Running,1000,1060,1000\r\n"
                       "p3,1000,1024,0,0,,LS,Pending,1000,,\n"
                       "p4,12000,16384,1,460,,LS,Running,1300,1310,\n");
    assert_int_equal(r->rc, 0);
    assert_string_equal(r->w.format, "openb");
    assert_int_equal(r->w.n_arrivals, 3);
    assert_int_equal(r->w.left_out, 1);
    assert_int_equal(r->w.n_patterns, 2);
    assert_int_equal(r->w.arrivals[0].at_ms, 0); /* by time, from the first */
    assert_int_equal(r->w.arrivals[0].run_ms, 60000);
    assert_int_equal(role(r, 0)->resources.gpu_milli, 8000);
    assert_int_equal(role(r, 0)->resources.gpu_types.n, 2);
    assert_string_equal(role(r, 0)->resources.gpu_types.at[1], "V100M32");
    assert_int_equal(r->w.arrivals[1].at_ms, 100000);
    assert_int_equal(r->w.arrivals[1].run_ms, 300000);
    assert_int_equal(role(r, 1)->resources.gpu_milli, 460);
    assert_int_equal(role(r, 1)->resources.cpu_milli, 12000);
    assert_int_equal(role(r, 1)->resources.memory, 16384ull << 20);
    assert_int_equal(r->w.arrivals[2].pattern, r->w.arrivals[1].pattern);
    assert_int_equal(r->w.patterns[r->w.arrivals[1].pattern].jobs, 2);
}

static void test_openb_bad(void **state)
{
    struct reader *r = *state;
    read_text(r, OPENB "p1,12000,16384,1,460,,LS,Running,1100,1500,1200\n"
                       "p2,many,16384,1,2000,,LS,Running,1100,1500,1200\n"
                       "p3,1,1,1,2000,,LS,Running,1100,1500,1200\n"
                       "p4,1,1,1,1000,,LS,Running,1100,900,1100\n"
                       "p5,1,1\n"
                       "p6,1,1,1,1000,,LS,Running,soon,900,1100\n");
    expect_problem(r, 3, "row 2: cpu_milli is \"many\"", "a whole number");
    expect_problem(r, 4, "row 3: gpu_milli is \"2000\"", "0 to 1000");
    expect_problem(r, 5, "row 4: deletion_time is \"900\"", "creation_time <=");
    expect_problem(r, 6, "row 5 has 3 fields", "11");
    expect_problem(r, 7, "row 6: creation_time is \"soon\"", "seconds");
    assert_int_equal(r->report.errors, 5);
    assert_int_equal(r->report.at[0].place.col, 4);
    assert_int_equal(r->report.at[0].place.len, 4);
}

static void test_openb_without_times(void **state)
{
    struct reader *r = *state;
    read_text(r, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,1000\n");
    expect_problem(r, 1, "no column creation_time", "when tasks come and go");
    expect_problem(r, 1, "no column deletion_time", "when tasks come and go");
}

static void test_openb_nodes(void **state)
{
    struct reader *r = *state;
    static const char good[] = "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,2,P100\n"
                               "n2,96000,1024,0,\n";
    static const char bad[] = "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,2,P100\n"
                              "n1,1,1,x,P100\n,1,1,1,T4\nn1,1,1,1,T4\n";
    struct node_spec *nodes;
    size_t n;
    report_init(&r->report, r->arena);
    r->w.says = (struct declarations){ 0 };
    assert_true(nodes_openb_detect(good, sizeof good - 1));
    assert_false(nodes_openb_detect("nodes: []\n", 10));
    assert_int_equal(nodes_openb_read(good, sizeof good - 1, &nodes, &n, &r->report), 0);
    assert_int_equal(n, 2);
    assert_string_equal(nodes[0].name, "n1");
    assert_string_equal(nodes[0].gpu_type, "P100");
    assert_int_equal(nodes[0].memory, 256ull << 30);
    assert_int_equal(nodes[1].gpus, 0);
    report_init(&r->report, r->arena);
    r->w.says = (struct declarations){ 0 };
    r->rc = nodes_openb_read(bad, sizeof bad - 1, &nodes, &n, &r->report);
    expect_problem(r, 3, "row 2: gpu is \"x\"", "a whole number");
    expect_problem(r, 4, "row 3: sn is \"\"", "a name of its own");
    expect_problem(r, 5, "row 4: sn is \"n1\"", "a name of its own");
}

/* ---- sacct ---- */

static void test_sacct(void **state)
{
    struct reader *r = *state;
    read_text(r, "JobID|Submit|Start|End|Elapsed|ReqTRES|NNodes|Timelimit|Partition|User|Priority|"
                 "State\n"
                 "1|2026-01-02T03:04:05|2026-01-02T03:05:05|2026-01-02T04:05:05|01:00:00|"
                 "billing=16,cpu=16,gres/gpu=8,gres/gpu:a100=8,mem=64G,node=2|2|1-00:00:00|gpu|ada|"
                 "4294901234|COMPLETED\n"
                 "1.batch|2026-01-02T03:05:05|||01:00:00|||||||COMPLETED\n"
                 "2|2026-01-02T03:04:15|Unknown|Unknown|00:00:00|cpu=1,mem=1G|1|UNLIMITED|cpu|bob||"
                 "CANCELLED by 0\n"
                 "3|2026-01-02T03:04:25|x|y|02:03|cpu=4,mem=500M|1|01:00:00|cpu|bob|7|FAILED\n");
    assert_int_equal(r->rc, 0);
    assert_string_equal(r->w.format, "sacct");
    assert_int_equal(r->w.n_arrivals, 2);
    assert_int_equal(r->w.left_out, 1);
    const struct role *first = role(r, 0);
    assert_int_equal(first->replicas, 2);
    assert_int_equal(first->resources.gpu_milli, 4000);
    assert_int_equal(first->resources.cpu_milli, 8000);
    assert_int_equal(first->resources.memory, 32ull << 30);
    assert_string_equal(first->resources.gpu_types.at[0], "a100");
    const struct job_spec *spec = r->w.patterns[r->w.arrivals[0].pattern].spec;
    assert_string_equal(spec->queue, "gpu");
    assert_int_equal(spec->priority, 5); /* Slurm's scale is another one */
    assert_int_equal(spec->limits.run_time_ms.value, 86400000);
    assert_string_equal(r->w.arrivals[0].owner, "ada");
    assert_int_equal(r->w.arrivals[0].run_ms, 3600000);
    assert_int_equal(r->w.arrivals[1].at_ms, 20000);
    assert_int_equal(r->w.arrivals[1].run_ms, 123000);
    assert_int_equal(r->w.arrivals[1].code, 1);
    assert_int_equal(r->w.patterns[r->w.arrivals[1].pattern].spec->priority, 7);
    assert_int_equal(r->w.queues.n, 2);
}

static void test_sacct_poor(void **state)
{
    struct reader *r = *state;
    read_text(r, "JobID|Submit|Start|End|ReqCPUS|ReqMem\n"
                 "1|100|200|260|8|2Gc\n2|100|200|260|8|16Gn\n3|100|200|Unknown|8|1\n");
    assert_int_equal(r->rc, 0);
    assert_int_equal(r->w.n_arrivals, 2);
    assert_int_equal(r->report.warnings, 3); /* no GPUs, no limits, one left out */
    assert_int_equal(role(r, 0)->resources.memory, 16ull << 30);
    assert_int_equal(r->w.arrivals[0].pattern, r->w.arrivals[1].pattern);
    assert_int_equal(r->w.arrivals[0].run_ms, 60000);
}

static void test_sacct_bad(void **state)
{
    struct reader *r = *state;
    read_text(r, "JobID|Submit|Elapsed|ReqTRES\n"
                 "1|yesterday|01:00:00|cpu=1\n2|100|an hour|cpu=1\n3|100|01:00|cpu=one\n"
                 "4|100|01:00|16 cores\n");
    expect_problem(r, 2, "row 1: Submit is \"yesterday\"", "2026-01-02T03:04:05");
    expect_problem(r, 3, "row 2: Elapsed is \"an hour\"", "hours:minutes:seconds");
    expect_problem(r, 4, "row 3: ReqTRES is \"cpu=one\"", "cpu=16");
    expect_problem(r, 5, "row 4: ReqTRES is \"16 cores\"", "cpu=16");
    read_text(r, "JobID|State\n1|COMPLETED\n");
    expect_problem(r, 1, "no column Submit", "when each job came");
    expect_problem(r, 1, "no column Elapsed", "Start and End");
    expect_problem(r, 1, "no column ReqTRES", "ReqCPUS");
}

/* ---- swf ---- */

static void test_swf(void **state)
{
    struct reader *r = *state;
    read_text(r, "; Version: 2\n;\n"
                 "  1   50 10 100  4 -1 -1  8  600 1024 1  3  1 -1 2 -1 -1 -1\n"
                 "  2   60 -1  -1  4 -1 -1  8  600 1024 5  3  1 -1 2 -1 -1 -1\n"
                 "  3   70  0  9.5 2 -1 -1 -1   -1   -1 0 -1 -1 -1 -1 -1 -1 -1\n");
    assert_int_equal(r->rc, 0);
    assert_string_equal(r->w.format, "swf");
    assert_int_equal(r->w.n_arrivals, 2);
    assert_int_equal(role(r, 0)->replicas, 8);
    assert_int_equal(role(r, 0)->resources.cpu_milli, 1000);
    assert_int_equal(role(r, 0)->resources.memory, 1 << 20);
    assert_string_equal(r->w.arrivals[0].owner, "u3");
    assert_string_equal(r->w.queues.at[0], "q2");
    assert_int_equal(r->w.arrivals[1].at_ms, 20000);
    assert_int_equal(r->w.arrivals[1].run_ms, 9000);
    assert_int_equal(r->w.arrivals[1].code, 1);
    assert_int_equal(role(r, 1)->replicas, 2);
}

static void test_swf_bad(void **state)
{
    struct reader *r = *state;
    read_text(r, "; x\n1 0 0 10 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n"
                 "2 0 0 ten 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n3 0 0\n"
                 "4 0 0 10 1 -1 -1 70000 -1 -1 1 1 1 1 1 1 -1 -1\n");
    expect_problem(r, 3, "row 2: run time is \"ten\"", "-1 when it is not known");
    expect_problem(r, 4, "row 3 has 3 fields", "18");
    expect_problem(r, 5, "row 4: requested processors is \"70000\"", "65536");
}

/* ---- our own ---- */

static void test_jobs(void **state)
{
    struct reader *r = *state;
    read_text(r, "jobs:\n"
                 "  - {at: 1m, runs: 10m, count: 3, every: 30s, user: ada, priority: 7,\n"
                 "     replicas: 2, resources: {gpu: 4}}\n"
                 "  - {runs: 5, exit: 2, job: {name: x, roles: {w: {run: sh, replicas: 3}}}}\n"
                 "failures:\n"
                 "  - {node: n1, at: 3h, back: 4h}\n"
                 "  - {node: n2, at: 5m}\n"
                 "  - {tasks: 0.25}\n");
    assert_int_equal(r->rc, 0);
    assert_string_equal(r->w.format, "jobs");
    assert_int_equal(r->w.n_arrivals, 4);
    assert_int_equal(r->w.arrivals[0].at_ms, 0);
    assert_int_equal(r->w.arrivals[0].code, 2);
    assert_int_equal(role(r, 0)->replicas, 3);
    assert_int_equal(r->w.arrivals[1].at_ms, 60000);
    assert_int_equal(r->w.arrivals[3].at_ms, 120000);
    assert_string_equal(r->w.arrivals[3].owner, "ada");
    assert_int_equal(r->w.patterns[r->w.arrivals[3].pattern].spec->priority, 7);
    assert_int_equal(r->w.n_outages, 2);
    assert_int_equal(r->w.outages[0].back_ms, 4 * 3600000);
    assert_int_equal(r->w.outages[1].back_ms, 0);
    assert_int_equal(r->w.fail_ppm, 250000);
}

static void test_lines(void **state)
{
    struct reader *r = *state;
    read_text(r, "{\"at\": 10, \"runs\": 60, \"resources\": {\"gpu\": 1}}\n\n"
                 "{\"at\": 5, \"runs\": \"1m\", \"resources\": {\"gpu\": 1}, \"user\": \"bob\"}\n"
                 "{\"node\": \"n1\", \"at\": \"1h\"}\n");
    assert_int_equal(r->rc, 0);
    assert_int_equal(r->w.n_arrivals, 2);
    assert_int_equal(r->w.n_patterns, 1);
    assert_string_equal(r->w.arrivals[0].owner, "bob");
    assert_int_equal(r->w.arrivals[1].at_ms, 10000);
    assert_int_equal(r->w.n_outages, 1);
    read_text(r, "{\"at\": 10, \"runs\": 60}\n{\"at\": 5,\n{\"at\": \"x\", \"runs\": 1}\n[1]\n");
    assert_int_equal(r->rc, -1);
    expect_problem(r, 3, "row 2.at is \"x\"", "a time");
    assert_int_equal(r->report.errors, 3);
    assert_int_equal(r->report.at[0].place.line, 2);
}

static void test_jobs_bad(void **state)
{
    struct reader *r = *state;
    read_text(r, "jobs:\n"
                 "  - {at: 1m}\n"
                 "  - {at: later, runs: 5m}\n"
                 "  - {runs: 5m, replicas: -1}\n"
                 "  - {runs: 5m, exit: 300}\n"
                 "  - {runs: 5m, resorces: {gpu: 1}}\n"
                 "  - 5\n"
                 "failures:\n"
                 "  - {node: n1, at: 2h, back: 1h}\n"
                 "  - {at: 2h}\n"
                 "  - {tasks: 2}\n"
                 "extra: 1\n");
    expect_problem(r, 2, "jobs[0] does not say how long it runs", "runs: 10m");
    expect_problem(r, 3, "jobs[1].at is \"later\"", "a time");
    expect_problem(r, 4, "jobs[2]: ", "");
    expect_problem(r, 5, "jobs[3].exit is \"300\"", "0 to 255");
    expect_problem(r, 6, "resorces", "resources");
    expect_problem(r, 9, "failures[0].back is \"1h\"", "after at");
    expect_problem(r, 10, "failures[1] names no node", "{node: n1");
    expect_problem(r, 11, "failures[2].tasks is \"2\"", "0 to 1");
    expect_problem(r, 12, "unknown field \"extra\"", "jobs failures");
}

static void test_nothing(void **state)
{
    static const char *const texts[] = { "",   "\n \n",   "hello", "jobs: []",
                                         "{}", "jobs: 3", "[",     "; only words\n" };
    struct reader *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        read_text(r, texts[i]);
        assert_int_equal(r->rc, -1);
        assert_true(r->report.n > 0);
    }
}

/* Many equal times keep the order of the text. */
static void test_order(void **state)
{
    struct reader *r = *state;
    AUTO_BUF struct buf text = BUF_INIT(1 << 20);
    for (int i = 0; i < 1000; i++)
        buf_addf(&text, "{\"at\": %d, \"runs\": %d}\n", (i * 7919) % 10, i + 1);
    read_text(r, buf_str(&text));
    assert_int_equal(r->rc, 0);
    for (size_t i = 1; i < r->w.n_arrivals; i++) {
        const struct arrival *a = &r->w.arrivals[i - 1], *b = &r->w.arrivals[i];
        assert_true(a->at_ms < b->at_ms || (a->at_ms == b->at_ms && a->run_ms < b->run_ms));
    }
}

static void test_errors_are_bounded(void **state)
{
    struct reader *r = *state;
    AUTO_BUF struct buf text = BUF_INIT(1 << 20);
    buf_puts(&text, OPENB);
    for (int i = 0; i < 1000; i++)
        buf_puts(&text, "p,x,1,1,1000,,LS,Running,1,2,1\n");
    read_text(r, buf_str(&text));
    assert_int_equal(r->report.errors, 1000);
    assert_true(r->report.n <= REPORT_MAX);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_openb),
        T(test_openb_bad),
        T(test_openb_without_times),
        T(test_sacct),
        T(test_sacct_poor),
        T(test_sacct_bad),
        T(test_swf),
        T(test_swf_bad),
        T(test_openb_nodes),
        T(test_jobs),
        T(test_jobs_bad),
        T(test_lines),
        T(test_nothing),
        T(test_errors_are_bounded),
        T(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
