/* The small parts of the core: storage roots, notes in rows, the order of waiting, sentences about
 * ends, settings of launchers, what jobs say of themselves for searching. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ctl/live.h"
#include "ctl/row_json.h"
#include "ctl/storage.h"
#include "ctl/wording.h"
#include "dialect/gpu_share.h"
#include "dialect/task_env.h"

#include "base/file.h"
#include "base/mem.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

static void roots_serve_prefixes(void **state)
{
    static const struct uri_root roots[] = { { .prefix = "hdfs://h:9000/", .dir = "/data/h" },
                                             { .prefix = "hdfs://h:9000/deep/", .dir = "/deep" },
                                             { .prefix = "storage://nfs", .dir = "/nfs" } };
    static const struct {
        const char *uri, *dir;
    } cases[] = {
        { "hdfs://h:9000/a/b", "/data/h/a/b" },
        { "hdfs://h:9000/deep/x", "/deep/x" },
        { "hdfs://h:9000//a", "/data/h/a" },
        { "file:///tmp/x", "/tmp/x" },
        { "file:/tmp/x", "/tmp/x" },
        { "/abs", "/abs" },
        { "rel/x", "/work/rel/x" },
        { "s3://b/x", NULL },
        { "hdfs://other/x", NULL },
        { "hdfs://h:9000/../x", NULL },
        { "hdfs://h:9000/a..b", "/data/h/a..b" },
        { "storage://nfs", "/nfs/" },
        { "storage://nfs/x", "/nfs/x" },
        { "storage://nfs2", NULL },
        { "dataset:d-1", "/data/h/one" },
        { "dataset:d-1:v1", "/data/h/one" },
        { "dataset:d-1:v2", "/two" },
        { "dataset:d-1:v3", NULL },
        { "dataset:d-2", NULL },
    };
    struct catalogue *names = catalogue_create();
    const struct storage storage = {
        .roots = roots, .n_roots = ARRAY_LEN(roots), .catalogue = names, .work_dir = "/work"
    };
    struct arena *arena = arena_create();
    (void)state;
    catalogue_put(
        names, &(struct entry){ .kind = ENTRY_DATASET, .name = "d-1", .uri = "hdfs://h:9000/one" });
    catalogue_put(names,
                  &(struct entry){ .kind = ENTRY_DATASET, .name = "d-1:v2", .uri = "file:///two" });
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        const char *dir = storage_map(&storage, arena, cases[i].uri, &err);
        if (cases[i].dir) {
            assert_non_null(dir);
            assert_string_equal(dir, cases[i].dir);
        } else {
            assert_null(dir);
            assert_int_not_equal(err.code, ERR_NONE);
        }
    }
    catalogue_destroy(names);
    arena_destroy(arena);
}

static void code_directories(void **state)
{
    char dir[] = "/tmp/muster-ctl-parts-XXXXXX", file[64];
    struct err err;
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof file, "%s/f", dir);
    assert_int_equal(file_replace(file, "0123456789", 10, 0600, &err), 0);
    const struct code_place code = { "u", NULL }, old = { "u", "main" };
    assert_int_equal(storage_check_code(dir, &old, 0, &err), -1);
    assert_int_equal(storage_check_code(dir, &code, 0, &err), 0);
    assert_int_equal(storage_check_code(dir, &code, 1 << 20, &err), 0);
    assert_int_equal(storage_check_code(dir, &code, 5, &err), -1);
    assert_non_null(strstr(err.what, "holds more than"));
    assert_int_equal(storage_check_code(file, &code, 0, &err), -1);
    assert_int_equal(storage_check_code("/no/such", &code, 0, &err), -1);
    assert_int_equal(err.code, ERR_CANNOT);
    assert_int_equal(file_remove_tree(dir, &err), 0);
}

static void notes_come_back(void **state)
{
    struct arena *arena = arena_create();
    struct live_column in = { .used = { .platform = 2, .unknown = 1 },
                              .hold_until_ms = 12,
                              .end_by = BY_USER,
                              .force = true };
    struct live_column out = { 0 };
    (void)state;
    row_json_read_job(arena, arena, row_json_of_job(arena, &in), &out);
    assert_memory_equal(&in, &out, sizeof in);
    assert_null(row_json_of_job(arena, &(struct live_column){ 0 }));
    row_json_read_job(arena, arena, NULL, &out);
    assert_int_equal(out.used.platform, 0);

    uint32_t gpus[] = { 1, 3 }, numbers[] = { 20001, 20002 };
    struct placed_port port = { .label = "http", .numbers = numbers, .count = 2 };
    struct live_task task = { .seq = 4,
                              .place = { .address = "127.0.0.2",
                                         .gpus = gpus,
                                         .n_gpus = 2,
                                         .gpu_share_milli = 500,
                                         .ports = &port,
                                         .n_ports = 1 } };
    struct live_task back = { 0 };
    row_json_read_place(arena, arena, row_json_of_place(arena, &task), &back);
    assert_int_equal(back.seq, 4);
    assert_string_equal(back.place.address, "127.0.0.2");
    assert_int_equal(back.place.n_gpus, 2);
    assert_int_equal(back.place.gpus[1], 3);
    assert_int_equal(back.place.gpu_share_milli, 500);
    assert_string_equal(back.place.ports[0].label, "http");
    assert_int_equal(back.place.ports[0].numbers[1], 20002);
    struct live_task broken = { 0 };
    row_json_read_place(arena, arena, "{\"ports\":7,\"gpus\":", &broken);
    assert_int_equal(broken.place.n_ports, 0);
    arena_destroy(arena);
}

static void waiting_is_ordered(void **state)
{
    static const uint32_t priorities[] = { 5, 9, 5, 1, 9, 5 };
    static const uint64_t order[] = { 2, 5, 1, 3, 6, 4 };
    struct live *live = live_create();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(priorities); i++) {
        struct job_row row = { .id = i + 1,
                               .priority = priorities[i],
                               .owner = "",
                               .project = "",
                               .name = "",
                               .queue = "",
                               .dialect = "",
                               .reason.text = "" };
        live_wait_add(live, live_add(live, &row));
    }
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        assert_true(live_waiting_at(live, i)->row.id == order[i]);
    live_wait_remove(live, live_find(live, 1));
    live_remove(live, live_find(live, 5));
    assert_int_equal(live_waiting(live), 4);
    assert_true(live_waiting_at(live, 1)->row.id == 3);
    live_destroy(live);
}

static void ends_have_words(void **state)
{
    char out[WORDS_MAX];
    (void)state;
    assert_string_equal(words_end(out, &(struct ending){ .exited = true, .code = 3 }, NULL),
                        "exited with 3");
    assert_string_equal(
        words_end(out, &(struct ending){ .signal = 9, .by = BY_KERNEL, .oom = true }, ""),
        "killed (SIGKILL by the kernel, out of memory)");
    assert_string_equal(words_end(out, &(struct ending){ .lost = true }, "gone"), "was lost: gone");
    assert_string_equal(words_end(out, &(struct ending){ 0 }, "no such file"),
                        "did not start: no such file");
    assert_string_equal(words_end(out, &(struct ending){ .signal = 64 }, NULL),
                        "killed (signal 64)");
    const struct ending unstarted = { .cause = CAUSE_UNSTARTED };
    const struct ending gone = { .lost = true, .cause = CAUSE_AGENT_GONE };
    assert_string_equal(words_end(out, &unstarted, NULL), "did not start: ended before it started");
    assert_string_equal(words_end(out, &gone, ""), "was lost: its agent is gone");
    assert_string_equal(words_end(out, &gone, "n1 burnt"), "was lost: n1 burnt");
    assert_string_equal(words_beside(&unstarted, ""), "ended before it started");
    assert_string_equal(words_beside(&(struct ending){ .cause = CAUSE_MEMORY }, NULL), "");
    char remark[400]; /* is nobody's to cut */
    memset(remark, 'r', sizeof remark);
    remark[sizeof remark - 1] = '\0';
    assert_string_equal(words_beside(&unstarted, remark), remark);
}

/* ---- what launchers find in a task's environment ---- */

static const struct convention promises = { .name = "torchrun", .launchers = LAUNCHER_TORCHRUN };
static const struct convention *const promised[] = { &promises };
static const struct dialects words_known = { .conventions = promised, .n_conventions = 1 };

static struct pairs env_with(struct arena *arena, const struct role *role, enum torchrun choice,
                             bool convention, bool declared)
{
    const char *named[] = { "torchrun" };
    struct job_spec job = { .name = "j", .roles = (struct role *)(uintptr_t)role, .n_roles = 1 };
    if (convention)
        job.conventions = (struct words){ .at = named, .n = 1 };
    uint32_t gpus[] = { 0, 1, 2, 3 };
    struct task_place tasks[2] = { { .address = "127.0.0.2" },
                                   { .index = 1,
                                     .node = "n2",
                                     .address = "127.0.0.3",
                                     .gpus = gpus,
                                     .n_gpus = ARRAY_LEN(gpus),
                                     .gpus_declared = declared } };
    struct job_place place = { .number = 12, .tasks = tasks, .n = 2 };
    struct dialect_task task = { .job = &job, .place = &place, .flat = 1 };
    struct task_host host = { .dialects = &words_known, .torchrun = choice };
    struct pairs env = { .at = NULL };
    task_env(&host, arena, &task, &env);
    return env;
}

static struct pairs env_of(struct arena *arena, const struct role *role, enum torchrun choice,
                           bool convention)
{
    return env_with(arena, role, choice, convention, false);
}

static void declared_devices_are_not_for_cuda(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct role role = { .name = "w", .replicas = 1 };
    struct pairs env = env_with(arena, &role, TORCHRUN_JOB, false, false);
    assert_string_equal(pairs_get(&env, "CUDA_VISIBLE_DEVICES"), "0,1,2,3");
    assert_string_equal(pairs_get(&env, "NVIDIA_VISIBLE_DEVICES"), "0,1,2,3");
    assert_string_equal(pairs_get(&env, "CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
    env = env_with(arena, &role, TORCHRUN_JOB, false, true);
    assert_string_equal(pairs_get(&env, "CUDA_VISIBLE_DEVICES"), "");
    assert_string_equal(pairs_get(&env, "NVIDIA_VISIBLE_DEVICES"), "0,1,2,3");
    assert_null(pairs_get(&env, "CUDA_DEVICE_ORDER"));
    arena_destroy(arena);
}

static void launchers_find_their_settings(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct role role = { .name = "w", .replicas = 4, .min = 3 };
    struct pairs env = env_of(arena, &role, TORCHRUN_JOB, false);
    assert_string_equal(pairs_get(&env, "MUSTER_JOB_NUMBER"), "12");
    assert_string_equal(pairs_get(&env, "MUSTER_TASK_INDEX"), "1");
    assert_string_equal(pairs_get(&env, "MUSTER_TASK_ADDRESS"), "127.0.0.3");
    assert_string_equal(pairs_get(&env, "MUSTER_TASK_NODE"), "n2");
    assert_null(pairs_get(&env, "MUSTER_LAUNCHERS"));
    assert_null(pairs_get(&env, "PET_NNODES"));
    env = env_of(arena, &role, TORCHRUN_JOB, true);
    assert_string_equal(pairs_get(&env, "MUSTER_LAUNCHERS"), "torchrun");
    assert_string_equal(pairs_get(&env, "PET_NNODES"), "3:4");
    assert_null(pairs_get(&env, "PET_NPROC_PER_NODE")); /* nothing is said of the launcher */
    env = env_of(arena, &role, TORCHRUN_NEVER, true);
    assert_null(pairs_get(&env, "MUSTER_LAUNCHERS"));
    env = env_of(arena, &role, TORCHRUN_ALWAYS, false);
    assert_string_equal(pairs_get(&env, "MUSTER_LAUNCHERS"), "torchrun");
    assert_null(pairs_get(&env, "PET_NNODES")); /* the job did not say that its tasks are one */
    role.launcher = (struct launcher){ .max_restarts = 5, .has_max_restarts = true };
    env = env_of(arena, &role, TORCHRUN_JOB, false);
    assert_string_equal(pairs_get(&env, "MUSTER_LAUNCHERS"), "dlrover torchrun");
    assert_string_equal(pairs_get(&env, "PET_MAX_RESTARTS"), "5");
    assert_string_equal(pairs_get(&env, "PET_NPROC_PER_NODE"), "4"); /* one per device */
    role.launcher = (struct launcher){ .ranks_per_node = 2,
                                       .has_ranks_per_node = true,
                                       .node_unit = 2,
                                       .has_node_unit = true,
                                       .node_check = true };
    pairs_set(&role.env, arena, "PET_NODE_UNIT", "1");
    env = env_of(arena, &role, TORCHRUN_JOB, false);
    assert_string_equal(pairs_get(&env, "PET_NPROC_PER_NODE"), "2");
    assert_string_equal(pairs_get(&env, "PET_NETWORK_CHECK"), "1");
    assert_null(pairs_get(&env, "PET_NODE_UNIT")); /* the role's own, which is added elsewhere */
    arena_destroy(arena);
}

static void shares_are_told(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    const struct pairs none = { .at = NULL };
    struct gpu_share share = { .milli = 255, .memory = 81559ull << 20 };
    struct pairs env = { .at = NULL };
    gpu_share_env(&share, arena, &none, &env);
    assert_int_equal(env.n, 2);
    assert_string_equal(pairs_get(&env, "MUSTER_GPU_SHARE"), "0.255");
    assert_string_equal(pairs_get(&env, "MUSTER_GPU_MEMORY_MIB"), "20797");
    share.mps = gpu_share_mps(arena, "/run/mps/" MPS_UID "/pipe", 1000);
    struct pairs own = { .at = NULL };
    pairs_set(&own, arena, "CUDA_MPS_PIPE_DIRECTORY", "/their/own");
    gpu_share_env(&share, arena, &own, &env);
    assert_null(
        pairs_get(&env, "CUDA_MPS_PIPE_DIRECTORY")); /* the role's, which is added elsewhere */
    gpu_share_env(&share, arena, &none, &env);
    assert_string_equal(pairs_get(&env, "CUDA_MPS_PIPE_DIRECTORY"), "/run/mps/1000/pipe");
    assert_string_equal(pairs_get(&env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "26");
    assert_string_equal(pairs_get(&env, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "0=20797M");
    share = (struct gpu_share){ .milli = 5, .mps = "/m" }; /* a declared device */
    struct pairs small = { .at = NULL };
    gpu_share_env(&share, arena, &none, &small);
    assert_string_equal(pairs_get(&small, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "1");
    assert_null(pairs_get(&small, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"));
    assert_string_equal(gpu_share_mps(arena, "/m", 7), "/m");
    arena_destroy(arena);
}

static const char *facet(const struct pairs *facets, const char *name, size_t k)
{
    for (size_t i = 0; i < facets->n; i++)
        if (strcmp(facets->at[i].name, name) == 0 && k-- == 0)
            return facets->at[i].value;
    return NULL;
}

/* Many come, some go, wherever they are; then the next generation begins without any. */
static void agents_are_found_by_node(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    char node[16];
    struct live *live = live_create();
    const struct job_row row = { .id = 1, .state = JOB_RUNNING, .name = "many", .owner = "me" };
    struct live_job *job = live_add(live, &row);
    job->places = arena_create();
    for (uint32_t round = 0; round < 2; round++) {
        assert_null(live_agent(job, "n0"));
        for (uint32_t i = 0; i < MANY; i++) {
            snprintf(node, sizeof node, "n%u", i);
            live_add_agent(job, node)->launch_seq = i + 1;
        }
        for (uint32_t i = 0; i < MANY; i += i % 3 + 1) {
            snprintf(node, sizeof node, "n%u", i);
            live_remove_agent(job, live_agent(job, node));
            assert_null(live_agent(job, node));
        }
        size_t there = 0;
        for (uint32_t i = 0; i < MANY; i++) {
            snprintf(node, sizeof node, "n%u", i);
            const struct live_agent *agent = live_agent(job, node);
            assert_true(!agent || agent->launch_seq == i + 1);
            there += agent != NULL;
        }
        assert_int_equal(there, job->agents.n);
        assert_in_range(there, 1, MANY - 1);
        live_clear_agents(job);
    }
    live_destroy(live);
}

static void jobs_have_facets(void **state)
{
    static const char text[] =
        "{\"framework\":\"tensorflow\",\"labels\":{\"team\":\"a b\",\"x\":\"\"},\"spot_bid\":\"1\","
        "\"roles\":{\"ps\":{\"run\":\"one\"},\"w\":{\"run\":\"two\",\"image\":\"i:1\"},\"v\":{\"run\":[1]}},"
        "\"extra\":{\"dlc\":{\"JobType\":\"TFJob\",\"Accessibility\":\"PUBLIC\"}}}";
    struct arena *arena = arena_create();
    struct report report;
    (void)state;
    report_init(&report, arena);
    struct pairs of = row_json_facets(arena, json_parse(arena, text, strlen(text), 0, &report));
    assert_int_equal(of.n, 8);
    assert_string_equal(facet(&of, "type", 0), "TFJob");
    assert_string_equal(facet(&of, "access", 0), "PUBLIC");
    assert_string_equal(facet(&of, "spot", 0), "");
    assert_string_equal(facet(&of, "label.team", 0), "a b");
    assert_string_equal(facet(&of, "run", 0), "one");
    assert_string_equal(facet(&of, "run", 1), "two");
    assert_string_equal(facet(&of, "image", 0), "i:1");

    char *more = arena_alloc(arena, 8000);
    struct text_node *job = text_map(arena, NULL, NULL);
    memset(more, 'a', 8000);
    memcpy(more + 1999, "\xe4\xb8\xad", 3); /* a character over the edge */
    more[7999] = '\0';
    text_str(arena, job, "description", more);
    of = row_json_facets(arena, job);
    assert_int_equal(of.n, 2);
    assert_string_equal(facet(&of, "type", 0), "");
    assert_int_equal(strlen(facet(&of, "description", 0)), 1999);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots_serve_prefixes),
        cmocka_unit_test(code_directories),
        cmocka_unit_test(notes_come_back),
        cmocka_unit_test(waiting_is_ordered),
        cmocka_unit_test(agents_are_found_by_node),
        cmocka_unit_test(jobs_have_facets),
        cmocka_unit_test(ends_have_words),
        cmocka_unit_test(declared_devices_are_not_for_cuda),
        cmocka_unit_test(launchers_find_their_settings),
        cmocka_unit_test(shares_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
