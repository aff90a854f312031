/* Every message of agents and of launchers is the bytes that it has always been, and these bytes
 * say the same message again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/message.h"
#include "wire/rendezvous.h"
#include "wire/test/golden.h"

#include <string.h>

struct fixture {
    struct arena *arena;
    struct golden golden;
    struct buf out, again;
};

static int begin(void **state)
{
    static struct fixture f;
    f = (struct fixture){ .arena = arena_create() };
    golden_init(&f.golden);
    buf_init(&f.out, 1u << 20);
    buf_init(&f.again, 1u << 20);
    *state = &f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    arena_destroy(f->arena);
    buf_fini(&f->out);
    buf_fini(&f->again);
    return 0;
}

static void add(struct fixture *f, const char *name)
{
    assert_int_equal(f->out.len, f->again.len);
    assert_memory_equal(f->out.data, f->again.data, f->out.len);
    buf_clear(&f->again);
    golden_add(&f->golden, name, &f->out);
}

static const struct wire_frame *frame_of(const struct buf *out, struct wire_frame *frame)
{
    size_t used;
    assert_int_equal(wire_next(out->data, out->len, frame, &used), 1);
    assert_int_equal(used, out->len);
    return frame;
}

static const struct rdzv_frame_data *frame_in(const struct buf *out, struct rdzv_frame_data *frame)
{
    size_t used;
    assert_int_equal(rdzv_next(out->data, out->len, frame, &used), 1);
    assert_int_equal(used, out->len);
    return frame;
}

/* A message written, read and written again. */
#define TRY(f, label, name, ...)                                                                   \
    do {                                                                                           \
        struct wire_##name sent = { __VA_ARGS__ }, got;                                            \
        struct wire_frame frame;                                                                   \
        wire_put(&(f)->out, 0, &sent);                                                             \
        assert_int_equal(wire_get(frame_of(&(f)->out, &frame), (f)->arena, &got), 0);              \
        wire_put(&(f)->again, 0, &got);                                                            \
        add(f, label);                                                                             \
    } while (0)
#define TRY_RDZV(f, label, name, ...)                                                              \
    do {                                                                                           \
        struct rdzv_##name sent = { __VA_ARGS__ }, got;                                            \
        struct rdzv_frame_data frame;                                                              \
        rdzv_put(&(f)->out, &sent);                                                                \
        assert_int_equal(rdzv_get(frame_in(&(f)->out, &frame), (f)->arena, &got), 0);              \
        rdzv_put(&(f)->again, &got);                                                               \
        add(f, label);                                                                             \
    } while (0)

/* ---- agents ---- */

static const struct task_ref a_task = { .role = 0x1234, .index = 0x56789abc };
static const char *few_words[] = { "sh", "-c", "", "echo \xc3\xa9" };

static void one_launch(struct fixture *f, const char *label, const struct launch *launch)
{
    struct launch got;
    struct wire_frame frame;
    wire_put(&f->out, 0, launch);
    assert_int_equal(wire_get(frame_of(&f->out, &frame), f->arena, &got), 0);
    wire_put(&f->again, 0, &got);
    add(f, label);
}

static struct launch a_launch(struct launch_task *tasks, size_t n)
{
    static struct host_name hosts[] = { { .address = "10.0.0.1", .name = "w-0" },
                                        { .address = "10.0.0.2", .name = "w-1" } };
    static struct bind_mount mounts[] = { { .from = "/data", .at = "/mnt/data", .read_only = true },
                                          { .from = "/out", .at = "/results" } };
    return (struct launch){ .generation = { .job = 0x0102030405060708, .number = 9 },
                            .seq = 10,
                            .node = "node-a",
                            .job_name = "train",
                            .job_number = 11,
                            .dir = "/runs/1",
                            .work_dir = "/home/ada",
                            .code_dir = "/home/ada/code",
                            .code_limit = 12,
                            .output_dir = "/out",
                            .python = "/usr/bin/python3",
                            .pip = { .at = few_words, .n = 2 },
                            .packages = "/cache",
                            .requirements = "req.txt",
                            .hosts = hosts,
                            .n_hosts = 2,
                            .mounts = mounts,
                            .n_mounts = 2,
                            .grace_ms = 13,
                            .log_head = 14,
                            .log_tail = 15,
                            .tasks = tasks,
                            .n_tasks = n };
}

/* The first has all, the second shares a part of it, the third says little. */
static void three_tasks(struct arena *arena, struct launch_task tasks[3])
{
    static uint32_t ports[] = { 20000, 20001 }, gpus[] = { 0, 7 };
    tasks[0] = (struct launch_task){ .ref = a_task,
                                     .role = "worker",
                                     .attempt = 2,
                                     .run = "python train.py",
                                     .argv = { .at = few_words, .n = 4 },
                                     .ports = ports,
                                     .n_ports = 2,
                                     .gpus = gpus,
                                     .n_gpus = 2,
                                     .cpu_milli = 3,
                                     .memory = 4,
                                     .pids = 5,
                                     .cores = 6,
                                     .run_time_ms = 7,
                                     .hold_failed = true };
    pairs_set(&tasks[0].env, arena, "RANK", "0");
    pairs_set(&tasks[0].env, arena, "PEERS", "w-0,w-1");
    tasks[1] = tasks[0];
    tasks[1].ref.index++;
    tasks[1].env = (struct pairs){ .n = 0 };
    pairs_set(&tasks[1].env, arena, "RANK", "1");
    pairs_set(&tasks[1].env, arena, "PEERS", "w-0,w-1");
    pairs_set(&tasks[1].env, arena, "MORE", "");
    tasks[2] = (struct launch_task){ .role = "ps", .gpus = gpus, .n_gpus = 1 };
}

/* Hosts that were written before are the same bytes. */
static void hosts_written_before(const struct launch *launch)
{
    AUTO_BUF struct buf text = BUF_INIT(4096), whole = BUF_INIT(4096), parts = BUF_INIT(4096);
    struct launch with = *launch;
    wire_put(&whole, 0, launch);
    wire_put_host(&text, &launch->hosts[0]);
    size_t first = text.len;
    wire_put_host(&text, &launch->hosts[1]);
    const struct hosts_text rest = { .at = text.data + first, .len = text.len - first };
    const struct hosts_text all = { .next = &rest, .at = text.data, .len = first };
    with.hosts = NULL;
    with.hosts_text = &all;
    wire_put(&parts, 0, &with);
    assert_int_equal(parts.len, whole.len);
    assert_memory_equal(parts.data, whole.data, whole.len);
}

static void launches(struct fixture *f)
{
    static struct gpu_part parts[] = {
        { .is = false }, { .is = true, .gi = 1, .ci = 2, .caps = { 3, 4 }, .n_caps = 2 }
    };
    struct launch_task tasks[3];
    struct launch launch = a_launch(tasks, 3);
    three_tasks(f->arena, tasks);
    one_launch(f, "launch", &launch);
    hosts_written_before(&launch);
    tasks[1].shm = 1u << 30;
    one_launch(f, "launch-shm", &launch);
    tasks[1].open_stdin = true;
    tasks[2].open_stdin = tasks[2].tty = true;
    one_launch(f, "launch-stdin", &launch);
    tasks[0].gpu_hold = GPU_GRANT_WHOLE;
    tasks[2].gpu_hold = GPU_GRANT_SHARE;
    one_launch(f, "launch-devices", &launch);
    tasks[0].parts = parts;
    one_launch(f, "launch-parts", &launch);
    tasks[1].shm = 0;
    tasks[1].open_stdin = tasks[2].open_stdin = false;
    one_launch(f, "launch-parts-only", &launch);
    tasks[2].image = "docker.io/library/debian:12";
    one_launch(f, "launch-images", &launch);
    launch.registry_auth = "{\"auths\":{}}";
    launch.registry_auth_len = strlen(launch.registry_auth);
    one_launch(f, "launch-registry-auth", &launch);
    static struct secret_place places[] = { { .name = "a", .env = "A" },
                                            { .name = "db/b", .file = "/run/b" },
                                            { .name = "w=C" } };
    tasks[1].secrets = places;
    tasks[1].n_secrets = 3;
    one_launch(f, "launch-secrets", &launch);
    static struct launch_secret values[] = { { .name = "a", .at = "x\0y", .len = 3 },
                                             { .name = "db/b", .at = "", .len = 0 } };
    const struct wire_secrets secrets = { .at = values, .n = 2 };
    struct wire_secrets those;
    struct wire_frame of_secrets;
    wire_put(&f->out, 0, &secrets);
    assert_int_equal(wire_get(frame_of(&f->out, &of_secrets), f->arena, &those), 0);
    wire_put(&f->again, 0, &those);
    add(f, "secrets");
    const struct launch_file file = { .name = "config.json", .at = "{}", .len = 2 };
    struct launch_file got;
    struct wire_frame frame;
    wire_put(&f->out, 0, &file);
    assert_int_equal(wire_get(frame_of(&f->out, &frame), f->arena, &got), 0);
    wire_put(&f->again, 0, &got);
    add(f, "file");
    launch = (struct launch){ .node = "n", .job_name = "j", .dir = "/d" };
    one_launch(f, "launch-empty", &launch);
    launch.node = launch.job_name = launch.dir = NULL;
    one_launch(f, "launch-no-texts", &launch);
}

static void one_fact(struct fixture *f, const char *label, const struct wire_fact *sent)
{
    struct wire_fact got;
    struct wire_frame frame;
    wire_put(&f->out, 0xfedcba9876543210, sent);
    assert_int_equal(wire_get(frame_of(&f->out, &frame), f->arena, &got), 0);
    wire_put(&f->again, frame.seq, &got);
    add(f, label);
}

static void facts(struct fixture *f)
{
    struct wire_fact fact = {
        .kind = WIRE_FACT_STARTED, .task = a_task, .attempt = 3, .at_ms = 4, .pid = 5, .log_end = 6
    };
    one_fact(f, "fact-started", &fact);
    fact.ending = (struct ending){ .exited = true,
                                   .code = -7,
                                   .signal = 8,
                                   .oom = true,
                                   .lost = false,
                                   .by = BY_CONFLICT,
                                   .cause = CAUSE_NODE_FULL,
                                   .memory_peak = 9,
                                   .tail = "last\nlines" };
    fact.remark = "port taken";
    fact.image = (struct image_progress){ .step = IMAGE_FETCHES,
                                          .name = "host/x:1",
                                          .digest = "d",
                                          .bytes = 10,
                                          .total = 11,
                                          .took_ms = 12,
                                          .problem = "why" };
    for (fact.kind = WIRE_FACT_ENDED; fact.kind < WIRE_FACT_N; fact.kind++)
        one_fact(f, "fact", &fact);
    fact.kind = WIRE_FACT_ENDED;
    fact.ending.lost = true;
    fact.ending.exited = fact.ending.oom = false;
    fact.wakeup = 10;
    one_fact(f, "fact-wakeup", &fact);
}

static void bytes_of_channels(struct fixture *f)
{
    struct wire_frame frame;
    struct wire_data data;
    for (enum wire_kind kind = WIRE_STDIN; kind <= WIRE_LAUNCHER_CLOSE; kind++) {
        wire_put_data(&f->out, kind, 0xfffefdfcu, "a\0b", kind % 2 ? 3 : 0);
        assert_int_equal(wire_get(frame_of(&f->out, &frame), NULL, &data), 0);
        wire_put_data(&f->again, frame.kind, data.channel, data.at, data.len);
        add(f, "data");
    }
    for (enum wire_kind kind = WIRE_WELCOME; kind < WIRE_KIND_N; kind++) {
        wire_put_plain(&f->out, kind, kind);
        frame_of(&f->out, &frame);
        wire_put_plain(&f->again, frame.kind, frame.seq);
        add(f, "plain");
    }
}

static void hosts(struct fixture *f)
{
    static struct wire_host_device devices[] = {
        { .minor = 3, .model = "H100", .uuid = "GPU-1", .pci = "0:1", .memory = 4, .error = "" },
        { .minor = 1, .model = "", .uuid = "", .pci = "", .error = "fell off the bus" },
    };
    static struct wire_host_run runs[] = {
        { .generation = { .job = 1, .number = 2 }, .state = HOST_RUN_LIVES },
        { .generation = { .job = 3, .number = 4 }, .state = HOST_RUN_ENDED },
    };
    static const char token[HOST_TOKEN] = "0123456789abcdef0123456789abcde";
    const struct generation g = { .job = 0x0102030405060708, .number = 9 };
    struct pairs labels = { .n = 0 };
    pairs_set(&labels, f->arena, "zone", "a");
    TRY(f, "host-hello", host_hello, .version = 1, .node = "gpu2", .machine = "m", .boot = "b",
        .pid = 5, .cpu_milli = 6, .memory = 7, .disk = 8, .devices = devices, .n_devices = 2,
        .device_error = "one is gone", .labels = labels);
    TRY(f, "host-runs", host_runs, .runs = runs, .n_runs = 2);
    TRY(f, "host-runs-marks", host_runs, .runs = runs, .n_runs = 2, .marks = (uint32_t[]){ 0, 7 },
        .n_marks = 2);
    TRY(f, "host-start-leave", host_start, .generation = g, .token = token, .token_len = HOST_TOKEN,
        .leave_ms = 86400000);
    TRY(f, "host-start-marker", host_start, .generation = g, .token = token,
        .token_len = HOST_TOKEN, .marker = "0123 /home/ada/.muster-shared-1");
    TRY(f, "host-start-code", host_start, .generation = g, .token = token, .token_len = HOST_TOKEN,
        .code = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    TRY(f, "host-start", host_start, .generation = g, .token = token, .token_len = HOST_TOKEN,
        .sandbox = true);
    TRY(f, "host-start-mark", host_start, .generation = g, .token = token, .token_len = HOST_TOKEN,
        .mark = 0x01020304);
    TRY(f, "host-end", host_end, .generation = g);
    TRY(f, "host-ended", host_ended_report, .generation = g, .reason = "killed");
    TRY(f, "host-clean", host_clean, .generation = g);
    TRY(f, "host-join", host_join, .version = 1, .node = "n7", .allocation = "4711", .own = token,
        .own_len = HOST_TOKEN);
    TRY(f, "host-joined", host_joined_answer, .node = "n7.2", .reason = "");
    TRY(f, "host-hello-images", host_hello, .version = 1, .node = "gpu2", .machine = "m",
        .boot = "b", .device_error = "", .does = HOST_IMAGES);
    const char *keep[] = { "0123", "4567" };
    TRY(f, "host-image", host_image, .number = 3, .name = "host/x:1@sha256:01", .limit = 9,
        .keep = { keep, 2 }, .auth = "{}", .auth_len = 2);
    TRY(f, "host-image-plain", host_image, .number = 3, .name = "host/x:1@sha256:01", .limit = 9);
    TRY(f, "host-image-drop", host_image_drop, .number = 3);
    TRY(f, "host-image-news", host_image_report, .number = 3, .step = IMAGE_EARLY_FETCHES,
        .bytes = 5, .total = 6, .took_ms = 7, .problem = "");
    TRY(f, "host-image-failed", host_image_report, .number = 3, .step = IMAGE_EARLY_FAILED,
        .problem = "no such image");
    TRY(f, "host-store", host_store_report, .dir = "/home/ada/.muster/gpu2/images", .images = 3,
        .bytes = 1ull << 40, .free = 7);
}

static void messages_of_agents(void **state)
{
    struct fixture *f = *state;
    TRY(f, "hello", hello, .version = 1, .generation = { .job = 2, .number = 3 }, .node = "n\xff",
        .agent_pid = 4, .launch_seq = 5, .first_seq = 6);
    TRY(f, "hello-form", hello, .version = 1, .node = "n", .launch_form = 7);
    launches(f);
    TRY(f, "stop", stop, .task = a_task, .now = true, .why = BY_POLICY);
    TRY(f, "stop-all", stop, .all = true, .why = BY_NONE);
    facts(f);
    TRY(f, "log", log, .task = a_task, .attempt = 1, .end = 1ull << 40);
    TRY(f, "exec", exec, .channel = 1, .task = a_task, .attempt = 2,
        .argv = { .at = few_words, .n = 4 }, .tty = true, .rows = 65535, .cols = 3);
    TRY(f, "exec-shell", exec, .channel = 1);
    TRY(f, "exec-window", exec, .channel = 1, .window = 4u << 20);
    TRY(f, "exec-port", exec, .channel = 1, .window = 4u << 20, .port = 8080);
    bytes_of_channels(f);
    TRY(f, "resize", resize, .channel = 1, .rows = 2, .cols = 65535);
    TRY(f, "exit", exit, .channel = 1, .code = 137);
    TRY(f, "attach", attach, .channel = 1, .task = a_task, .attempt = 2, .session = 3, .offset = 4,
        .rows = 5, .cols = 6);
    TRY(f, "reached", reached_report, .channel = 1, .input = 2, .output = 3);
    TRY(f, "launcher", launcher, .channel = 1, .task = a_task, .attempt = 2);
    TRY(f, "signal", signal, .number = 1, .task = a_task, .attempt = 2, .signal = 64);
    TRY(f, "signalled", signalled_report, .number = 1, .heard = 2);
    hosts(f);
    TRY(f, "log-bytes", log_bytes, .task = a_task, .attempt = 2, .role = "worker", .head = 3,
        .tail = 4, .segment = 1ull << 40, .from = 5, .offset = 6, .at = "a\0b", .len = 3);
    TRY(f, "log-ask", log_bytes, .task = a_task, .attempt = 2, .role = "w", .offset = 7);
    TRY(f, "log-kept", log_kept_ack, .task = a_task, .attempt = 2, .offset = 1ull << 40);
    TRY(f, "log-again", log_kept_ack, .task = a_task, .attempt = 2, .offset = 3, .again = true);
    TRY(f, "want", code_request, .hash = "00ff", .offset = 1ull << 40, .len = 262144);
    TRY(f, "piece", piece, .offset = 1ull << 40, .size = 1ull << 41, .at = "abc", .len = 3);
    golden_check(&f->golden, "agent.txt");
}

/* Agents of version 0.1 say no form, and what an ending's cause is in words. */
static void read_older(void *arg, const struct buf *bytes)
{
    struct fixture *f = arg;
    struct wire_frame frame;
    struct wire_hello hello;
    struct wire_fact fact;
    if (frame_of(bytes, &frame)->kind == WIRE_HELLO) {
        assert_int_equal(wire_get(&frame, f->arena, &hello), 0);
        assert_true(hello.first_seq == 6 && hello.launch_form == 0);
        return;
    }
    assert_int_equal(wire_get(&frame, f->arena, &fact), 0);
    assert_true(fact.log_end == 6 && fact.ending.cause == CAUSE_NONE);
    assert_true(fact.wakeup == 0 || fact.wakeup == 10);
}

static void messages_of_older_agents(void **state)
{
    golden_each("older-agent.txt", read_older, *state);
}

/* ---- launchers ---- */

static struct rdzv_death a_death(uint32_t n)
{
    return (struct rdzv_death){ .rank = n,
                                .local_rank = 2,
                                .pid = 3,
                                .code = -4,
                                .signal = 5,
                                .oom = n == 1,
                                .victim = n == 2,
                                .stopped = n == 1,
                                .at_exit = n == 3,
                                .spared = n == 1,
                                .of_peer = n == 2,
                                .wakeup = 6,
                                .age_us = 7,
                                .at_s = 8,
                                .message = "boom",
                                .error_file = "/tmp/e",
                                .tail = "last line" };
}

static void joins(struct fixture *f)
{
    static struct rdzv_death deaths[RDZV_MAX_DEATHS + 3];
    for (uint32_t i = 0; i < RDZV_MAX_DEATHS + 3; i++)
        deaths[i] = a_death(i + 1);
    const struct rdzv_settings settings = { .min = 1,
                                            .max = 2,
                                            .node_unit = 3,
                                            .max_restarts = 4,
                                            .last_call_ms = 5,
                                            .join_ms = 6,
                                            .exit_barrier_ms = 7,
                                            .check = true,
                                            .exclude_straggler = true };
    const struct rdzv_claim claim = { .term = 1,
                                      .round = 2,
                                      .group_rank = 3,
                                      .restarts = 4,
                                      .running = true,
                                      .world_id = 5,
                                      .nodes = 6 };
    struct rdzv_join join = { .member = 1,
                              .run_id = "run",
                              .node = "n1",
                              .addr = "::1",
                              .node_rank = RDZV_ANY_RANK,
                              .ranks = RDZV_MAX_RANKS,
                              .store_port = 0x1234,
                              .lead_port = 65535,
                              .check_port = 1,
                              .spent = 2,
                              .settings = settings,
                              .claim = claim };
    TRY_RDZV(f, "join", join, .member = 1);
    TRY_RDZV(f, "join-role", join, .member = 1, .role = "reader");
    join.deaths = (struct rdzv_deaths){ .at = deaths, .n = 2, .more = 3 };
    rdzv_put(&f->out, &join);
    rdzv_put(&f->again, &join);
    add(f, "join-deaths");
    join.role = "reader";
    join.deaths.n = RDZV_MAX_DEATHS + 3;
    rdzv_put(&f->out, &join);
    rdzv_put(&f->again, &join);
    add(f, "join-many-deaths");
    TRY_RDZV(f, "report", report, .term = 1, .round = 2, .outcome = RDZV_FAILED, .final = true,
             .deaths = { .at = deaths, .n = 3, .more = UINT32_MAX });
    TRY_RDZV(f, "report-done", report, .term = 1, .round = 2, .outcome = RDZV_DONE);
}

static void rounds_and_ends(struct fixture *f)
{
    static struct rdzv_place places[RDZV_HEIRS + 2];
    static struct rdzv_victim victims[2];
    for (uint32_t i = 0; i < RDZV_HEIRS + 2; i++)
        places[i] = (struct rdzv_place){ .member = i,
                                         .node_rank = 1,
                                         .ranks = 2,
                                         .first_rank = 3,
                                         .node = "n0",
                                         .addr = "10.0.0.1",
                                         .lead_port = 29500 };
    for (uint32_t i = 0; i < 2; i++)
        victims[i] = (struct rdzv_victim){ .death = a_death(i), .node = "n1", .group_rank = 9 + i };
    TRY_RDZV(f, "round", round, .term = 1, .world_id = 2, .round = 3, .group_rank = 4,
             .restarts = 5, .world = 6, .nodes = 7, .role_first = 8, .role_world = 9,
             .own = places[1], .places = places, .n_places = 2, .store_addr = "10.0.0.1",
             .store_port = 4242, .cause = "first");
    TRY_RDZV(f, "round-one-role", round, .world = 6, .nodes = 1, .role_first = 3, .role_world = 6,
             .own = places[1], .places = places, .n_places = RDZV_HEIRS + 2);
    TRY_RDZV(f, "end", end, .term = 1, .kind = RDZV_END_STOPPED, .text = "x", .deaths = victims,
             .n_deaths = 2, .undecided = true);
}

static void messages_of_launchers(void **state)
{
    struct fixture *f = *state;
    static const struct rdzv_peer peers[] = { { .addr = "10.0.0.1", .port = 1 },
                                              { .addr = "::1", .port = 0xfffe } };
    joins(f);
    TRY_RDZV(f, "checked", check_report, .term = 1, .check = 2, .result = RDZV_CHECK_PAIR_BAD,
             .took_us = 3, .figures = "matmul 11 ms", .why = "slow");
    TRY_RDZV(f, "leave", leave, .why = RDZV_LEAVES_FAILED, .text = "t");
    TRY_RDZV(f, "welcome", welcome, .term = 1, .beat_ms = 2, .waiting = "1 of 2");
    rounds_and_ends(f);
    TRY_RDZV(f, "check", check, .term = 1, .check = 2, .round = 3, .index = 1, .peers = peers,
             .n = 2, .bandwidth = true);
    TRY_RDZV(f, "stop", stop, .term = 1, .round = 2, .cause = "c");
    TRY_RDZV(f, "refused", refused, .why = RDZV_REFUSED_OVER, .text = "t");
    TRY_RDZV(f, "note", finding, .term = 1, .about = 2, .text = "t");
    for (enum rdzv_frame kind = RDZV_FRAME_MOVED; kind <= RDZV_FRAME_LEAD; kind++) {
        rdzv_put_as(&f->out, kind,
                    &(struct rdzv_leader_address){ .term = 1, .addr = "a", .port = 2 });
        rdzv_put_as(&f->again, kind,
                    &(struct rdzv_leader_address){ .term = 1, .addr = "a", .port = 2 });
        add(f, "moved");
    }
    rdzv_put(&f->out, &(struct rdzv_event){ .type = "launch", .text = NULL });
    rdzv_put(&f->again, &(struct rdzv_event){ .type = "launch", .text = "" });
    add(f, "event");
    for (enum rdzv_frame kind = RDZV_FRAME_JOIN; kind < RDZV_FRAME_N; kind++) {
        rdzv_put_as(&f->out, kind, NULL);
        rdzv_put_as(&f->again, kind, NULL);
        add(f, "plain");
    }
    golden_check(&f->golden, "launcher.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_of_agents, begin, end),
        cmocka_unit_test_setup_teardown(messages_of_older_agents, begin, end),
        cmocka_unit_test_setup_teardown(messages_of_launchers, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
