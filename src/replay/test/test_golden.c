/* Every entry of a recording is the bytes that it has always been, and these bytes say the same
 * again; whatever is cut off is missed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "documents/board.h"
#include "job/gpu.h"
#include "job/image_progress.h"
#include "replay/entry.h"
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

static struct frame frame_of(const struct buf *out, size_t len)
{
    return (
        struct frame){ .kind = FRAME_HEADER, .body = (const unsigned char *)out->data, .len = len };
}

static void add(struct fixture *f, const char *name)
{
    assert_int_equal(f->out.len, f->again.len);
    assert_memory_equal(f->out.data, f->again.data, f->out.len);
    buf_clear(&f->again);
    golden_add(&f->golden, name, &f->out);
}

static void one_input(struct fixture *f, const char *label, struct ctl_input in)
{
    struct ctl_input got;
    in.at_ms = 0x0102030405060708;
    in.mono_us = 9;
    in.pass = 10;
    entry_put_input(&f->out, &in, NULL);
    for (size_t len = 0; len < f->out.len; len++) {
        struct frame cut = frame_of(&f->out, len);
        assert_false(entry_get_input(&cut, f->arena, NULL, &got));
    }
    struct frame frame = frame_of(&f->out, f->out.len);
    assert_true(entry_get_input(&frame, f->arena, NULL, &got));
    entry_put_input(&f->again, &got, NULL);
    add(f, label);
}

/* ---- inputs ---- */

static void submissions(struct fixture *f)
{
    static const char *sets[] = { "queue=b", "" };
    static const uint32_t groups[] = { 3, 4 };
    static const struct account account = {
        .name = "ada",
        .home = "/home/ada",
        .shell = "/bin/sh",
        .ids = { .uid = 1, .gid = 2, .groups = groups, .n_groups = 2 }
    };
    struct submission s = { .owner = "ada", .like = 0x1112131415161718 };
    one_input(f, "submit-like", (struct ctl_input){ .kind = INPUT_SUBMIT, .submit = &s });
    s = (struct submission){ .owner = "ada",
                             .text = "{name: \0x}",
                             .len = 10,
                             .from = "native",
                             .name = "n",
                             .queue = "q",
                             .sets = { .at = sets, .n = 2 },
                             .file = "a.yaml",
                             .code_dir = "/code",
                             .work_dir = "/work",
                             .key = "k" };
    pairs_set(&s.env, f->arena, "A", "1");
    pairs_set(&s.env, f->arena, "B", "");
    one_input(f, "submit", (struct ctl_input){ .kind = INPUT_SUBMIT, .submit = &s });
    for (unsigned flag = 0; flag < 4; flag++) {
        s.wait_for_nodes = flag == 0;
        s.apply = flag == 1;
        s.replace = flag == 2;
        s.unique = flag == 3;
        one_input(f, "submit-flag", (struct ctl_input){ .kind = INPUT_SUBMIT, .submit = &s });
    }
    s.account = &account;
    one_input(f, "submit-account", (struct ctl_input){ .kind = INPUT_SUBMIT, .submit = &s });
    s.python = "/usr/bin/python3";
    s.python_from = "VIRTUAL_ENV";
    one_input(f, "submit-all", (struct ctl_input){ .kind = INPUT_SUBMIT, .submit = &s });
}

static void calls(struct fixture *f)
{
    static const char *tasks[] = { "worker/0", "worker/1" };
    struct ctl_restart restart = {
        .owner = "ada", .job = 1, .how = RESTART_NEVER, .tasks = { .at = tasks, .n = 2 }
    };
    struct declaration declaration = { .owner = "ada", .text = "a\0b", .len = 3 };
    struct board_request board = {
        .owner = "ada", .job = 1, .key = "k", .value = "v\0w", .len = 3
    };
    const struct document at[] = {
        { .kind = "job.tag", .project = "p", .name = "n", .spec = text_map(f->arena, NULL, NULL) },
        { .kind = "k.x", .project = "", .name = "m" }
    };
    struct document_changes objects = { .by = "ada", .create = true, .at = at, .n = 2 };
    for (unsigned what = CTL_STOP; what <= CTL_PRIORITY_LAST; what++)
        if (what != CTL_PRIORITY)
            one_input(f, "command",
                      (struct ctl_input){
                          .kind = INPUT_COMMAND, .owner = "ada", .job = 1, .what = what });
    one_input(f, "restart", (struct ctl_input){ .kind = INPUT_RESTART, .restart = &restart });
    restart = (struct ctl_restart){ .owner = "ada", .job = 1, .reason = "why" };
    one_input(f, "restart-all", (struct ctl_input){ .kind = INPUT_RESTART, .restart = &restart });
    one_input(f, "declare",
              (struct ctl_input){ .kind = INPUT_DECLARE, .declaration = &declaration });
    one_input(f, "undeclare",
              (struct ctl_input){
                  .kind = INPUT_UNDECLARE, .owner = "ada", .name = "n", .what = ENTRY_KIND_N - 1 });
    one_input(f, "board", (struct ctl_input){ .kind = INPUT_BOARD, .board = &board });
    one_input(f, "objects", (struct ctl_input){ .kind = INPUT_OBJECTS, .objects = &objects });
    objects = (struct document_changes){ .by = "ada", .told = true, .hold = DOCUMENT_LET_GO };
    one_input(f, "objects-none", (struct ctl_input){ .kind = INPUT_OBJECTS, .objects = &objects });
}

/* Two devices; near says how near they are. */
static struct gpu_report *a_report(struct arena *arena, uint32_t *near)
{
    struct gpu_report *report = ARENA_NEW(arena, struct gpu_report);
    struct gpu_device *at = ARENA_ARRAY(arena, 2, struct gpu_device);
    at[0] = (struct gpu_device){ .offered = true, .slot = 1, .model = "H100" };
    at[1] = (struct gpu_device){ .offered = true, .model = "A100" };
    *report = (struct gpu_report){ .at = at, .n = 2, .n_slots = 2, .near = near };
    return report;
}

static void nodes(struct fixture *f)
{
    static uint32_t near[] = { 0, 1, 2, 3 };
    one_input(f, "node", (struct ctl_input){ .kind = INPUT_NODE, .name = "n", .what = 1 });
    one_input(f, "event", (struct ctl_input){ .kind = INPUT_EVENT, .name = "keys" });
    one_input(
        f, "device",
        (struct ctl_input){ .kind = INPUT_DEVICE, .name = "n", .what = 1u << 30, .why = "broken" });
    one_input(f, "devices",
              (struct ctl_input){
                  .kind = INPUT_DEVICES, .name = "n", .report = a_report(f->arena, NULL) });
    one_input(f, "devices-near",
              (struct ctl_input){
                  .kind = INPUT_DEVICES, .name = "n", .report = a_report(f->arena, near) });
    one_input(f, "seen", (struct ctl_input){ .kind = INPUT_SEEN, .name = "n", .what = 2 });
    static const enum ctl_input_kind bare[] = { INPUT_RECOVER, INPUT_TURN, INPUT_TICK, INPUT_PLAN };
    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++)
        one_input(f, "bare", (struct ctl_input){ .kind = bare[i] });
}

static void facts(struct fixture *f)
{
    struct engine_fact fact = {
        .generation = { .job = 1, .number = 2 },
        .node = "n",
        .seq = 3,
        .task = { .role = 0x1234, .index = 4 },
        .attempt = 5,
        .at_ms = 6,
        .pid = 7,
        .log_end = 8,
        .reason = "why",
        .remark = "r",
        .ending = { .exited = true,
                    .code = -9,
                    .signal = 10,
                    .by = BY_CONFLICT,
                    .cause = CAUSE_MEMORY,
                    .memory_peak = 11,
                    .tail = "t" },
        .launcher = { .channel = 12, .what = LAUNCHER_DATA, .bytes = "a\0b", .len = 3 }
    };
    const struct image_progress news = { .step = IMAGE_FETCHES,
                                         .name = "host/x:1",
                                         .digest = "d",
                                         .bytes = 13,
                                         .total = 14,
                                         .took_ms = 15,
                                         .problem = "" };
    struct ctl_input in = { .kind = INPUT_FACT, .fact = &fact };
    fact.image = &news;
    for (fact.kind = FACT_NONE + 1; fact.kind < FACT_N; fact.kind++)
        if (fact.kind != FACT_LOG)
            one_input(f, "fact", in);
    struct node_spec spec = { .name = "m1",
                              .address = "10.0.0.2",
                              .host = "m1",
                              .gpu_type = "A100",
                              .cpu_milli = 1,
                              .memory = 2,
                              .disk = 3,
                              .gpus = 4,
                              .price_milli = 5,
                              .report = a_report(f->arena, NULL) };
    pairs_set(&spec.labels, f->arena, "zone", "a");
    const struct engine_fact up = { .kind = FACT_NODE_UP, .node = "m1", .at_ms = 7, .spec = &spec };
    one_input(f, "machine", (struct ctl_input){ .kind = INPUT_MACHINE, .fact = &up });
    spec.engine = "slurm";
    spec.lasts_ms = 6;
    one_input(f, "machine-of-an-allocation",
              (struct ctl_input){ .kind = INPUT_MACHINE, .fact = &up });
    fact.kind = FACT_ENDED;
    fact.wakeup = 13;
    fact.reason = fact.remark = fact.ending.tail = NULL;
    fact.ending.oom = true;
    fact.ending.exited = false;
    one_input(f, "fact-oom", in);
    fact.ending.lost = true;
    fact.ending.oom = false;
    fact.wakeup = 0;
    one_input(f, "fact-lost", in);
    fact.kind = FACT_LAUNCHER;
    fact.launcher = (struct launcher_input){ .channel = 1, .what = LAUNCHER_CLOSE };
    one_input(f, "fact-close", in);
}

static void inputs(void **state)
{
    struct fixture *f = *state;
    submissions(f);
    calls(f);
    nodes(f);
    facts(f);
    golden_check(&f->golden, "input.txt");
}

/* Recordings of before have the cause of an ending in words. */
static void read_older(void *arg, const struct buf *bytes)
{
    struct fixture *f = arg;
    struct ctl_input in;
    struct frame frame = frame_of(bytes, bytes->len);
    assert_true(entry_get_input(&frame, f->arena, NULL, &in));
    assert_true(in.kind == INPUT_FACT && in.pass == 10);
    bool words = in.fact->ending.by == BY_LIMIT;
    assert_int_equal(in.fact->ending.cause, words ? CAUSE_MEMORY : CAUSE_NONE);
}

static void older_inputs(void **state)
{
    golden_each("older-input.txt", read_older, *state);
}

/* ---- the others ---- */

static void a_header(struct fixture *f, const char *label, const struct recording_header *h)
{
    struct recording_header got;
    entry_put_header(&f->out, h);
    for (size_t len = 0; len < f->out.len; len++) {
        struct frame cut = frame_of(&f->out, len);
        assert_false(entry_get_header(&cut, f->arena, &got));
    }
    struct frame frame = frame_of(&f->out, f->out.len);
    assert_true(entry_get_header(&frame, f->arena, &got));
    entry_put_header(&f->again, &got);
    add(f, label);
}

static void headers(struct fixture *f)
{
    static uint32_t near[] = { 0, 1, 2, 3 }, marks[] = { 9, 10 };
    struct amount custom[] = { { .name = "licence", .milli = 8 } };
    struct node_spec specs[] = { { .name = "n0",
                                   .address = "10.0.0.1",
                                   .host = "h",
                                   .cpu_milli = 1,
                                   .memory = 2,
                                   .disk = 3,
                                   .gpus = 4,
                                   .gpu_type = "H100",
                                   .report = a_report(f->arena, near),
                                   .custom = { .at = custom, .n = 1 },
                                   .price_milli = 5,
                                   .declared = true },
                                 { .name = "n1", .address = "", .host = "", .gpu_type = "" } };
    struct recording_header h = { .version = "0.1.0",
                                  .started = true,
                                  .at_ms = 1,
                                  .mono_us = 2,
                                  .created_ms = 3,
                                  .first = 4,
                                  .meetings = 5,
                                  .hash = "abc",
                                  .admin = "root",
                                  .state_dir = "/state",
                                  .runs_dir = "/runs",
                                  .caps = 6,
                                  .nodes = specs,
                                  .n_nodes = 2,
                                  .marks = marks };
    pairs_set(&specs[0].labels, f->arena, "zone", "a");
    a_header(f, "header", &h);
    pairs_set(&h.settings, f->arena, "listen", "x");
    pairs_set(&h.trees, f->arena, "queues", "[]");
    a_header(f, "header-settings", &h);
}

static void what_follows(void **state)
{
    struct fixture *f = *state;
    struct recorded_refusal got, refusal = { .what = OUTSIDE_LAUNCHED, .ordinal = 1 };
    struct ctl_decision said, decision = { .job = 1,
                                           .number = 2,
                                           .name = "j",
                                           .what = "waits",
                                           .text = "t",
                                           .nodes = "n1 n2",
                                           .at_ms = 3 };
    headers(f);
    err_set(&refusal.err, ERR_N - 1, "what it was");
    err_hint(&refusal.err, "what to do");
    entry_put_refusal(&f->out, &refusal);
    struct frame frame = frame_of(&f->out, f->out.len);
    assert_true(entry_get_refusal(&frame, f->arena, &got));
    entry_put_refusal(&f->again, &got);
    add(f, "refusal");
    entry_put_decision(&f->out, &decision);
    frame = frame_of(&f->out, f->out.len);
    assert_true(entry_get_decision(&frame, f->arena, &said));
    entry_put_decision(&f->again, &said);
    add(f, "decision");
    golden_check(&f->golden, "recording.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(inputs, begin, end),
        cmocka_unit_test_setup_teardown(older_inputs, begin, end),
        cmocka_unit_test_setup_teardown(what_follows, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
