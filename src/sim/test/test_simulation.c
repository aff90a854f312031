/* Whole simulations, small enough to be known by hand: policies, lost nodes, gangs, promises,
 * queues, arrays. And what is printed of them. */
#include "sim/simulation.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "sim/report.h"
#include "sim/result.h"
#include "sim/test/plain.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct trial {
    struct arena *arena;
    struct node_spec nodes[4];
    struct workload workload;
    struct simulation_config config;
    struct simulation *sim;
    struct text_node *result;
};

static int setup(void **state)
{
    static const char *const names[] = { "n1", "n2", "n3", "n4" };
    struct trial *w = mem_new(sizeof *w);
    w->arena = arena_create();
    for (int i = 0; i < 4; i++)
        w->nodes[i] = (struct node_spec){ .name = names[i],
                                          .address = "127.0.0.1",
                                          .host = names[i],
                                          .cpu_milli = 8000,
                                          .memory = 64ull << 30,
                                          .gpus = 4,
                                          .gpu_type = "" };
    w->config = (struct simulation_config){
        .dialects = plain_dialects(), .nodes = w->nodes, .n_nodes = 1, .workload = &w->workload
    };
    log_set_level(LOG_ERROR);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct trial *w = *state;
    simulation_destroy(w->sim);
    arena_destroy(w->arena);
    free(w);
    return 0;
}

static void run(struct trial *w, const char *text)
{
    struct report report;
    struct err err;
    report_init(&report, w->arena);
    w->workload.says = (struct declarations){ 0 };
    if (workload_read(plain_dialects(), text, strlen(text), &w->workload, &report))
        fail_msg("%s", report.at[0].what);
    simulation_destroy(w->sim);
    if (world_make(w->arena, &w->workload.says, &w->workload.queues, &w->config.settings,
                   &w->config.world, &err))
        fail_msg("%s", err.what);
    w->sim = simulation_create(&w->config, &err);
    assert_non_null(w->sim);
    simulation_run(w->sim);
    w->result = result_make(w->arena, &w->config, w->sim);
}

static double number(const struct trial *w, const char *path)
{
    double value = -1;
    if (!result_number(w->result, path, &value))
        fail_msg("no %s", path);
    return value;
}

static const struct text_node *waits(const struct trial *w, const char *size)
{
    const struct text_node *n = text_get(w->result, "waits")->first;
    while (n && strcmp(text_get(n, "size")->str, size) != 0)
        n = n->next;
    assert_non_null(n);
    return n;
}

static int64_t wait_of(const struct trial *w, const char *size, const char *key)
{
    return text_get(waits(w, size), key)->integer;
}

/* One node of 4 GPUs, first come first served: three jobs that take all of it for 10 minutes come
 * at 0, 1 and 2 minutes. They wait 0, 9 and 18. */
static void test_fifo(void **state)
{
    struct trial *w = *state;
    run(w, "jobs: [{runs: 10m, count: 3, every: 1m, resources: {gpu: 4}}]");
    assert_int_equal(wait_of(w, "2-8", "jobs"), 3);
    assert_int_equal(wait_of(w, "2-8", "p50_ms"), 9 * 60000);
    assert_int_equal(wait_of(w, "2-8", "max_ms"), 18 * 60000);
    assert_int_equal(wait_of(w, "all", "mean_ms"), 9 * 60000);
    assert_int_equal((int)number(w, "makespan_ms"), 30 * 60000);
    assert_int_equal((int)(number(w, "utilisation.gpu") * 1000), 1000);
    assert_int_equal((int)number(w, "jobs.succeeded"), 3);
    assert_int_equal((int)number(w, "inputs.all"), 9);
    assert_int_equal((int)number(w, "lost_gpu_s"), 0);
}

static void test_half_used(void **state)
{
    struct trial *w = *state;
    run(w, "jobs:\n  - {runs: 10m, resources: {gpu: 2, cpu: 4}}\n"
           "  - {at: 10m, runs: 10m, exit: 1, resources: {gpu: 1}}\n");
    /* (2 * 10 + 1 * 10) of 4 * 20 */
    assert_int_equal((int)(number(w, "utilisation.gpu") * 10000), 3750);
    assert_int_equal((int)(number(w, "utilisation.cpu") * 10000), 2500);
    assert_int_equal((int)(number(w, "utilisation_while_jobs_come.gpu") * 10000), 5000);
    assert_int_equal((int)number(w, "jobs.succeeded"), 1);
    assert_int_equal((int)number(w, "jobs.failed"), 1);
}

static void test_start_takes_time(void **state)
{
    struct trial *w = *state;
    struct err err;
    assert_int_equal(sim_settings_add(w->arena, &w->config.settings, "start=30s", &err), 0);
    run(w, "jobs: [{runs: 10m, count: 2, resources: {gpu: 4}}]");
    assert_int_equal((int)number(w, "makespan_ms"), 21 * 60000);
}

static void test_policies(void **state)
{
    struct trial *w = *state;
    struct sim_settings settings = { 0 };
    struct err err;
    assert_int_equal(
        sim_settings_add(w->arena, &settings, "stop=1m,vision.user={gpu: 8, cpu: 2}", &err), 0);
    assert_int_equal(settings.policy[POLICY_STOP], 60000);
    assert_int_equal(settings.n_changes, 1);
    assert_string_equal(settings.changes[0].queue, "vision");
    assert_string_equal(settings.changes[0].value, "{gpu: 8, cpu: 2}");
    assert_int_equal(sim_settings_add(w->arena, &settings, "half_life=never", &err), 0);
    assert_int_equal(sim_settings_add(w->arena, &settings, "stop=soon", &err), -1);
    assert_non_null(strstr(err.hint, "stop=10s"));
    assert_int_equal(sim_settings_add(w->arena, &settings, "strat=1", &err), -1);
    assert_non_null(strstr(err.hint, "start"));
    assert_int_equal(sim_settings_add(w->arena, &settings, "a.b.weigth=1", &err), -1);
    assert_non_null(strstr(err.hint, "a.b.weight"));
    assert_int_equal(sim_settings_add(w->arena, &settings, "default_run=0", &err), -1);
    assert_int_equal(sim_settings_add(w->arena, &settings, "strategy", &err), -1);
}

/* n1 is lost with a job of 10 minutes after 3: the job's task moves to n2 and begins anew there. */
static void test_lost_node(void **state)
{
    struct trial *w = *state;
    w->config.n_nodes = 2;
    run(w, "jobs: [{runs: 10m, resources: {gpu: 4}}]\nfailures: [{node: n1, at: 3m, back: 5m}]");
    assert_int_equal((int)number(w, "jobs.succeeded"), 1);
    assert_int_equal((int)number(w, "makespan_ms"), 13 * 60000);
    assert_int_equal((int)number(w, "attempts_lost"), 1);
    assert_int_equal((int)number(w, "lost_gpu_s"), 3 * 60 * 4);
    assert_int_equal((int)number(w, "inputs.node_changes"), 2);
    assert_int_equal((int)number(w, "inputs.starts"), 2);
    /* 13 minutes of 4 GPUs; there were 8 for 11 minutes and 4 for 2. */
    assert_int_equal((int)(number(w, "utilisation.gpu") * 10000 + 0.5), 5417);
}

/* The only node comes back after the job has waited for it. */
static void test_waits_for_a_node(void **state)
{
    struct trial *w = *state;
    run(w, "jobs: [{at: 2m, runs: 1m, resources: {gpu: 4}}]\n"
           "failures: [{node: n1, at: 1m, back: 1h}]");
    assert_int_equal(wait_of(w, "2-8", "max_ms"), 58 * 60000);
    assert_int_equal((int)number(w, "jobs.succeeded"), 1);
}

static void test_never_starts(void **state)
{
    struct trial *w = *state;
    run(w, "jobs: [{at: 2m, runs: 1m, resources: {gpu: 4}}, {at: 2m, runs: 1m, "
           "resources: {gpu: 5}}]\nfailures: [{node: n1, at: 1m}]");
    assert_int_equal((int)number(w, "jobs.submitted"), 2);
    assert_int_equal((int)number(w, "jobs.refused"), 1);
    assert_int_equal((int)number(w, "jobs.unfinished"), 1);
    assert_int_equal((int)number(w, "makespan_ms"), 2 * 60000);
    assert_non_null(strstr(simulation_refusal(w->sim)->what, "5 gpu"));
}

static void test_run_time_limit(void **state)
{
    struct trial *w = *state;
    run(w, "jobs:\n  - {runs: 1h, limits: {run_time: 10m}, resources: {gpu: 4}}\n"
           "  - {runs: 5m, resources: {gpu: 4}}\n");
    assert_int_equal((int)number(w, "jobs.failed"), 1);
    assert_int_equal((int)number(w, "jobs.succeeded"), 1);
    assert_int_equal((int)number(w, "makespan_ms"), 15 * 60000);
    assert_int_equal((int)number(w, "lost_gpu_s"), 600 * 4);
}

static void test_gang_and_after(void **state)
{
    struct trial *w = *state;
    w->config.n_nodes = 4;
    run(w, "jobs:\n  - {runs: 10m, replicas: 16, resources: {gpu: 1}}\n"
           "  - {at: 1m, runs: 10m, replicas: 70, resources: {cpu: 0.1}, after: [{job: 1}]}\n");
    assert_int_equal(wait_of(w, "9-64", "jobs"), 1);
    assert_int_equal(wait_of(w, ">64", "max_ms"), 9 * 60000);
    assert_int_equal((int)number(w, "inputs.starts"), 86);
}

static int64_t first_taking(const struct trial *w, const char *key)
{
    const struct text_node *list = text_get(w->result, "preempted");
    assert_int_equal(list->count, 1);
    return text_get(list->first, key)->integer;
}

/* A job of priority 7 takes the node from one of priority 3 after 5 minutes. The other one waits
 * longer than its own limit says it may run, and then runs whole. */
static void test_preempted(void **state)
{
    struct trial *w = *state;
    run(w, "jobs:\n"
           "  - {runs: 10m, priority: 3, preemptible: true, limits: {run_time: 15m}, replicas: 2,"
           " resources: {gpu: 2}}\n"
           "  - {at: 5m, runs: 1h, priority: 7, limits: {run_time: 2h}, resources: {gpu: 4}}\n");
    assert_int_equal((int)number(w, "preemptions"), 1);
    assert_int_equal(first_taking(w, "jobs"), 1);
    assert_int_equal(first_taking(w, "lost_gpu_s"), 300 * 4);
    assert_string_equal(text_get(text_get(w->result, "preempted")->first, "for")->str, "default");
    assert_int_equal((int)number(w, "jobs.succeeded"), 2);
    assert_int_equal((int)number(w, "makespan_ms"), 75 * 60000);
    assert_int_equal((int)number(w, "bound_violations"), 0);
}

/* The second is promised minute 20, by the limit of the first, and starts at 10; the small third
 * fits in beside the promise, the fourth does not and is promised the end of the second. */
static void test_promise(void **state)
{
    struct trial *w = *state;
    run(w, "jobs:\n"
           "  - {runs: 10m, limits: {run_time: 20m}, resources: {gpu: 3}}\n"
           "  - {at: 1m, runs: 10m, limits: {run_time: 20m}, resources: {gpu: 4}}\n"
           "  - {at: 2m, runs: 5m, limits: {run_time: 5m}, resources: {gpu: 1}}\n"
           "  - {at: 3m, runs: 5m, limits: {run_time: 1h}, resources: {gpu: 1}}\n");
    assert_int_equal((int)number(w, "promises.made"), 2);
    assert_int_equal((int)number(w, "promises.kept"), 2);
    assert_int_equal((int)number(w, "promises.late"), 0);
    assert_int_equal((int)number(w, "makespan_ms"), 25 * 60000);
}

/* It is asked to end at its limit and takes 5 seconds more: late, and no fault of anybody's. */
static void test_overrun_is_no_violation(void **state)
{
    struct trial *w = *state;
    struct err err;
    assert_int_equal(sim_settings_add(w->arena, &w->config.settings, "stop=5s", &err), 0);
    run(w, "jobs:\n"
           "  - {runs: 1h, limits: {run_time: 10m}, resources: {gpu: 4}}\n"
           "  - {at: 1m, runs: 10m, limits: {run_time: 20m}, resources: {gpu: 4}}\n");
    assert_int_equal((int)number(w, "promises.made"), 1);
    assert_int_equal((int)number(w, "promises.late_because.overrun"), 1);
    assert_int_equal((int)number(w, "bound_violations"), 0);
    assert_int_equal((int)number(w, "makespan_ms"), 20 * 60000 + 5000);
}

/* One queue has borrowed what the other is sure of, which takes it back; with reclaim switched off
 * it waits. */
static void test_queues(void **state)
{
    struct trial *w = *state;
    struct err err;
    static const char text[] =
        "queues: [{name: sure, guaranteed: {gpu: 4}}, {name: rest}]\n"
        "jobs:\n"
        "  - {runs: 30m, queue: rest, count: 2, limits: {run_time: 1h}, resources: {gpu: 4}}\n"
        "  - {at: 5m, runs: 10m, queue: sure, limits: {run_time: 1h}, resources: {gpu: 4}}\n";
    w->config.n_nodes = 2;
    run(w, text);
    assert_int_equal((int)number(w, "preemptions"), 1);
    assert_string_equal(text_get(text_get(w->result, "preempted")->first, "from")->str, "rest");
    assert_int_equal((int)number(w, "makespan_ms"), 45 * 60000);
    assert_int_equal(sim_settings_add(w->arena, &w->config.settings, "sure.reclaim=false", &err),
                     0);
    run(w, text);
    assert_int_equal((int)number(w, "preemptions"), 0);
    assert_int_equal((int)number(w, "makespan_ms"), 40 * 60000);
    w->config.settings.n_changes = 0;
    assert_int_equal(sim_settings_add(w->arena, &w->config.settings, "rest.maximum={gpu: 4}", &err),
                     0);
    run(w, text);
    assert_int_equal(wait_of(w, "2-8", "max_ms"), 30 * 60000);
}

static void refused(struct trial *w, const char *policy, const char *said)
{
    const struct declarations none = { 0 };
    const char *names[] = { "vision", "nlp" };
    struct sim_settings settings = { 0 };
    struct world world;
    struct err err;
    assert_int_equal(sim_settings_add(w->arena, &settings, policy, &err), 0);
    if (world_make(w->arena, &none, &(struct words){ .at = names, .n = 2 }, &settings, &world,
                   &err) == 0)
        fail_msg("%s was taken", policy);
    if (!strstr(err.what, said) && !strstr(err.hint, said))
        fail_msg("%s; %s", err.what, err.hint);
}

static void test_settings_of_queues(void **state)
{
    struct trial *w = *state;
    refused(w, "strategy=lifo", "fifo");
    refused(w, "visoin.weight=2", "\"vision.weight\"?");
    refused(w, "nlp.weight=0", "weight");
    refused(w, "nlp.maximum={gpu: lots}", "gpu");
}

/* Ten members, two at a time on the node; and an array that no node can hold. */
static void test_array(void **state)
{
    struct trial *w = *state;
    run(w, "jobs:\n  - {runs: 10m, array: {count: 10}, resources: {gpu: 2}}\n"
           "  - {runs: 10m, array: {count: 3}, resources: {gpu: 8}}\n");
    assert_int_equal((int)number(w, "jobs.submitted"), 13);
    assert_int_equal((int)number(w, "jobs.succeeded"), 10);
    assert_int_equal((int)number(w, "jobs.refused"), 3);
    assert_int_equal((int)number(w, "jobs.unfinished"), 0);
    assert_int_equal((int)number(w, "makespan_ms"), 50 * 60000);
    assert_int_equal(wait_of(w, "all", "max_ms"), 40 * 60000);
}

static void test_drawn_failures(void **state)
{
    struct trial *w = *state;
    static const char text[] = "jobs: [{runs: 10m, count: 200, every: 1m, resources: {gpu: 1},"
                               " retry: {unknown: never}}]\nfailures: [{tasks: 0.1}]";
    AUTO_BUF struct buf first = BUF_INIT(1 << 20);
    AUTO_BUF struct buf again = BUF_INIT(1 << 20);
    run(w, text);
    double failed = number(w, "jobs.failed");
    assert_true(failed > 8 && failed < 40);
    json_print(w->result, 0, &first);
    run(w, text);
    json_print(w->result, 0, &again);
    assert_string_equal(buf_str(&first), buf_str(&again));
    w->config.settings.seed = 8;
    run(w, text);
    buf_clear(&again);
    json_print(w->result, 0, &again);
    assert_string_not_equal(buf_str(&first), buf_str(&again));
}

static void count_calls(void *arg, uint64_t inputs, size_t came)
{
    unsigned *calls = arg;
    assert_true(inputs > 0 && came > 0);
    (*calls)++;
}

static void test_progress(void **state)
{
    struct trial *w = *state;
    unsigned calls = 0;
    w->config.progress = count_calls;
    w->config.progress_arg = &calls;
    run(w, "jobs: [{runs: 1m, count: 600, every: 1s, resources: {cpu: 0.1}}]");
    assert_in_range(calls, 1, 2);
}

/* ---- what is printed ---- */

static void test_reports(void **state)
{
    struct trial *w = *state;
    AUTO_BUF struct buf text = BUF_INIT(1 << 20);
    AUTO_BUF struct buf json = BUF_INIT(1 << 20);
    struct err err;
    run(w, "jobs: [{runs: 10m, count: 3, every: 1m, resources: {gpu: 4}}]");
    json_print(w->result, 0, &json);
    struct text_node *first = result_read(w->arena, "a", buf_str(&json), json.len, &err);
    assert_non_null(first);
    report_text(first, &text);
    assert_non_null(strstr(buf_str(&text), "3 submitted, 3 succeeded"));
    assert_non_null(strstr(buf_str(&text), "gpu 100.0 %"));
    buf_clear(&text);
    run(w, "jobs: [{runs: 5m, count: 3, every: 1m, resources: {gpu: 4}}]");
    report_compare(first, w->result, &text);
    assert_non_null(strstr(buf_str(&text), "-50.0 %")); /* the time */
    assert_null(strstr(buf_str(&text), "not the same"));
    buf_clear(&text);
    report_page(first, "a <b> & \"c\"", &text);
    assert_non_null(strstr(buf_str(&text), "<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"));
    assert_non_null(strstr(buf_str(&text), "<path class=\"one\" d=\"M"));
    assert_null(strstr(buf_str(&text), "http"));
    assert_null(result_read(w->arena, "x", "{}", 2, &err));
    assert_null(result_read(w->arena, "x", "{", 1, &err));
    assert_non_null(strstr(err.what, "x is no result"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_fifo),
        T(test_half_used),
        T(test_start_takes_time),
        T(test_policies),
        T(test_lost_node),
        T(test_never_starts),
        T(test_waits_for_a_node),
        T(test_progress),
        T(test_run_time_limit),
        T(test_gang_and_after),
        T(test_drawn_failures),
        T(test_reports),
        T(test_preempted),
        T(test_promise),
        T(test_queues),
        T(test_overrun_is_no_violation),
        T(test_settings_of_queues),
        T(test_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
