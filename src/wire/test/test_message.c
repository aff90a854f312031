/* Messages: random ones survive the way through bytes; every cut and many damaged bodies are
 * refused or read, never worse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/message.h"

#include <string.h>

struct chance { /* a small generator with a printed seed: failures repeat */
    uint64_t at;
};

static uint64_t draw(struct chance *chance)
{
    chance->at ^= chance->at << 13;
    chance->at ^= chance->at >> 7;
    chance->at ^= chance->at << 17;
    return chance->at;
}

static const char *draw_text(struct chance *chance, struct arena *arena)
{
    size_t n = draw(chance) % 12;
    char *text = arena_alloc(arena, n + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)(1 + draw(chance) % 255);
    return text;
}

static const char *draw_maybe(struct chance *chance, struct arena *arena)
{
    return draw(chance) % 3 ? draw_text(chance, arena) : NULL;
}

static struct words draw_words(struct chance *chance, struct arena *arena)
{
    struct words words = { .n = draw(chance) % 4 };
    words.at = ARENA_ARRAY(arena, words.n, const char *);
    for (size_t i = 0; i < words.n; i++)
        words.at[i] = draw_text(chance, arena);
    return words;
}

static uint32_t *draw_numbers(struct chance *chance, struct arena *arena, uint32_t *n)
{
    *n = (uint32_t)(draw(chance) % 5);
    uint32_t *numbers = ARENA_ARRAY(arena, *n, uint32_t);
    for (uint32_t i = 0; i < *n; i++)
        numbers[i] = (uint32_t)draw(chance);
    return numbers;
}

/* Instances of MIG, at least one; or NULL. */
static struct gpu_part *draw_parts(struct chance *chance, struct arena *arena, uint32_t n)
{
    if (n == 0 || draw(chance) % 2)
        return NULL;
    struct gpu_part *parts = ARENA_ARRAY(arena, n, struct gpu_part);
    for (uint32_t i = 0; i < n; i++) {
        if (i && draw(chance) % 2)
            continue;
        parts[i] = (struct gpu_part){ .is = true,
                                      .gi = (uint32_t)draw(chance),
                                      .ci = (uint32_t)draw(chance),
                                      .n_caps = (uint32_t)(draw(chance) % 3) };
        for (uint32_t k = 0; k < parts[i].n_caps; k++)
            parts[i].caps[k] = (uint32_t)draw(chance);
    }
    return parts;
}

static struct task_ref draw_task(struct chance *chance)
{
    return (struct task_ref){ .role = (uint16_t)draw(chance), .index = (uint32_t)draw(chance) };
}

static struct launch_task draw_launch_task(struct chance *chance, struct arena *arena)
{
    struct launch_task task = { .ref = draw_task(chance), .attempt = (uint32_t)draw(chance) };
    task.role = draw_text(chance, arena);
    for (size_t n = draw(chance) % 5; n > 0; n--)
        pairs_set(&task.env, arena, arena_printf(arena, "N%zu", n), draw_text(chance, arena));
    task.run = draw_maybe(chance, arena);
    task.argv = draw_words(chance, arena);
    task.ports = draw_numbers(chance, arena, &task.n_ports);
    task.gpus = draw_numbers(chance, arena, &task.n_gpus);
    task.cpu_milli = draw(chance);
    task.memory = draw(chance);
    task.shm = draw(chance) % 3;
    task.image = draw(chance) % 3 ? NULL : "docker.io/library/a:1";
    task.gpu_hold =
        draw(chance) % 2 ? GPU_GRANT_NONE : (enum gpu_grant)(draw(chance) % GPU_GRANT_N);
    task.parts = task.gpu_hold ? draw_parts(chance, arena, task.n_gpus) : NULL;
    task.pids = (uint32_t)draw(chance);
    task.run_time_ms = draw(chance);
    task.hold_failed = draw(chance) % 2;
    return task;
}

/* Half of the tasks share environment or script with the one before them. */
static void share(struct chance *chance, struct launch *launch)
{
    for (size_t i = 1; i < launch->n_tasks; i++) {
        if (draw(chance) % 2)
            launch->tasks[i].env = launch->tasks[i - 1].env;
        if (draw(chance) % 2)
            launch->tasks[i].run = launch->tasks[i - 1].run;
    }
}

static struct launch draw_launch(struct chance *chance, struct arena *arena)
{
    struct launch launch = {
        .generation = { .job = draw(chance), .number = (uint32_t)draw(chance) },
        .seq = (uint32_t)draw(chance),
        .job_number = draw(chance),
        .code_limit = draw(chance),
        .grace_ms = draw(chance),
        .log_head = draw(chance),
        .log_tail = draw(chance),
    };
    launch.node = draw_text(chance, arena);
    launch.job_name = draw_text(chance, arena);
    launch.dir = draw_text(chance, arena);
    launch.work_dir = draw_maybe(chance, arena);
    launch.code_dir = draw_maybe(chance, arena);
    launch.output_dir = draw_maybe(chance, arena);
    launch.python = draw_maybe(chance, arena);
    launch.pip = draw_words(chance, arena);
    launch.n_hosts = draw(chance) % 4;
    launch.hosts = ARENA_ARRAY(arena, launch.n_hosts, struct host_name);
    for (size_t i = 0; i < launch.n_hosts; i++)
        launch.hosts[i] = (struct host_name){ .address = draw_text(chance, arena),
                                              .name = draw_text(chance, arena) };
    launch.n_mounts = draw(chance) % 4;
    launch.mounts = ARENA_ARRAY(arena, launch.n_mounts, struct bind_mount);
    for (size_t i = 0; i < launch.n_mounts; i++)
        launch.mounts[i] = (struct bind_mount){ .from = draw_text(chance, arena),
                                                .at = draw_text(chance, arena),
                                                .read_only = draw(chance) % 2 };
    launch.n_tasks = draw(chance) % 4;
    launch.tasks = ARENA_ARRAY(arena, launch.n_tasks, struct launch_task);
    for (size_t i = 0; i < launch.n_tasks; i++)
        launch.tasks[i] = draw_launch_task(chance, arena);
    share(chance, &launch);
    return launch;
}

static void assert_same(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_string_equal(a, b);
}

static void assert_same_words(const struct words *a, const struct words *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        assert_string_equal(a->at[i], b->at[i]);
}

static void assert_same_part(const struct gpu_part *a, const struct gpu_part *b)
{
    assert_true(a->is == b->is && a->gi == b->gi && a->ci == b->ci);
    assert_int_equal(a->n_caps, b->n_caps);
    for (uint32_t i = 0; i < a->n_caps; i++)
        assert_int_equal(a->caps[i], b->caps[i]);
}

static void assert_same_task(const struct launch_task *a, const struct launch_task *b)
{
    assert_int_equal(a->ref.role, b->ref.role);
    assert_int_equal(a->ref.index, b->ref.index);
    assert_string_equal(a->role, b->role);
    assert_int_equal(a->attempt, b->attempt);
    assert_int_equal(a->env.n, b->env.n);
    for (size_t i = 0; i < a->env.n; i++) {
        assert_string_equal(a->env.at[i].name, b->env.at[i].name);
        assert_string_equal(a->env.at[i].value, b->env.at[i].value);
    }
    assert_same(a->run, b->run);
    assert_same_words(&a->argv, &b->argv);
    assert_int_equal(a->n_ports, b->n_ports);
    assert_int_equal(a->n_gpus, b->n_gpus);
    for (uint32_t i = 0; i < a->n_ports; i++)
        assert_int_equal(a->ports[i], b->ports[i]);
    for (uint32_t i = 0; i < a->n_gpus; i++)
        assert_int_equal(a->gpus[i], b->gpus[i]);
    assert_true(a->cpu_milli == b->cpu_milli && a->memory == b->memory && a->pids == b->pids);
    assert_true(a->shm == b->shm);
    assert_int_equal(!a->image, !b->image);
    if (a->image)
        assert_string_equal(a->image, b->image);
    assert_int_equal(a->gpu_hold, b->gpu_hold);
    assert_int_equal(a->parts != NULL, b->parts != NULL);
    for (size_t i = 0; a->parts && i < a->n_gpus; i++)
        assert_same_part(&a->parts[i], &b->parts[i]);
    assert_true(a->run_time_ms == b->run_time_ms && a->hold_failed == b->hold_failed);
}

static void assert_same_launch(const struct launch *a, const struct launch *b)
{
    assert_true(a->generation.job == b->generation.job);
    assert_int_equal(a->generation.number, b->generation.number);
    assert_int_equal(a->seq, b->seq);
    assert_string_equal(a->node, b->node);
    assert_string_equal(a->job_name, b->job_name);
    assert_true(a->job_number == b->job_number && a->code_limit == b->code_limit);
    assert_string_equal(a->dir, b->dir);
    assert_same(a->work_dir, b->work_dir);
    assert_same(a->code_dir, b->code_dir);
    assert_same(a->output_dir, b->output_dir);
    assert_same(a->python, b->python);
    assert_same_words(&a->pip, &b->pip);
    assert_int_equal(a->n_hosts, b->n_hosts);
    for (size_t i = 0; i < a->n_hosts; i++) {
        assert_string_equal(a->hosts[i].address, b->hosts[i].address);
        assert_string_equal(a->hosts[i].name, b->hosts[i].name);
    }
    assert_int_equal(a->n_mounts, b->n_mounts);
    for (size_t i = 0; i < a->n_mounts; i++) {
        assert_string_equal(a->mounts[i].from, b->mounts[i].from);
        assert_string_equal(a->mounts[i].at, b->mounts[i].at);
        assert_int_equal(a->mounts[i].read_only, b->mounts[i].read_only);
    }
    assert_true(a->grace_ms == b->grace_ms);
    assert_true(a->log_head == b->log_head && a->log_tail == b->log_tail);
    assert_int_equal(a->n_tasks, b->n_tasks);
    for (size_t i = 0; i < a->n_tasks; i++)
        assert_same_task(&a->tasks[i], &b->tasks[i]);
}

static struct wire_frame only_frame(const struct buf *out)
{
    struct wire_frame frame;
    size_t used;
    assert_int_equal(wire_next(out->data, out->len, &frame, &used), 1);
    assert_int_equal(used, out->len);
    return frame;
}

static size_t bytes_of_parts(const struct launch_task *task)
{
    size_t bytes = 1;
    for (uint32_t i = 0; task->parts && i < task->n_gpus; i++)
        bytes += task->parts[i].is ? 9 + 4 * task->parts[i].n_caps : 1;
    return bytes;
}

/* Cut anywhere: refused. One byte damaged: refused or read, sanitizers watch. */
static void assault(const struct wire_frame *whole, struct arena *arena, struct chance *chance)
{
    struct launch launch;
    struct wire_frame cut = *whole;
    size_t step = whole->len / 60 + 1, said = 0, held = 0, parts = 0;
    bool any = false, images = false;
    assert_int_equal(wire_get(whole, arena, &launch), 0);
    for (size_t i = 0; i < launch.n_tasks; i++) {
        said |= launch.tasks[i].shm;
        held |= launch.tasks[i].gpu_hold;
        parts += bytes_of_parts(&launch.tasks[i]);
        any = any || launch.tasks[i].parts;
        images = images || launch.tasks[i].image;
    }
    /* Which is whole without these. */
    size_t behind = held ? 10 * launch.n_tasks : said ? 8 * launch.n_tasks : 0;
    size_t without_parts = whole->len - (any ? parts : 0);
    size_t older = without_parts - behind, with_shm = said ? older + 8 * launch.n_tasks : older;
    /* Images stand behind all of these, and where they are cut off the rest may be whole. */
    for (cut.len = 0; cut.len < whole->len && images; cut.len += step)
        (void)wire_get(&cut, arena, &launch);
    for (cut.len = 0; cut.len < whole->len && !images; cut.len += step)
        assert_int_equal(wire_get(&cut, arena, &launch),
                         cut.len == older || cut.len == with_shm || cut.len == without_parts ? 0
                                                                                             : -1);
    unsigned char *bytes = arena_alloc(arena, whole->len + 1);
    for (int i = 0; i < 30; i++) {
        memcpy(bytes, whole->body, whole->len);
        bytes[draw(chance) % (whole->len + 1)] = (unsigned char)draw(chance);
        struct wire_frame damaged = { .kind = WIRE_LAUNCH, .body = bytes, .len = whole->len };
        (void)wire_get(&damaged, arena, &launch);
    }
    memcpy(bytes, whole->body, whole->len);
    struct wire_frame longer = { .kind = WIRE_LAUNCH, .body = bytes, .len = whole->len + 1 };
    assert_int_equal(wire_get(&longer, arena, &launch), -1);
}

static void launches_survive(void **state)
{
    (void)state;
    struct chance chance = { .at = 0x9e3779b97f4a7c15u };
    for (int i = 0; i < 200; i++) {
        struct arena *arena = arena_create();
        AUTO_BUF struct buf out = BUF_INIT(1u << 20);
        struct launch sent = draw_launch(&chance, arena);
        wire_put(&out, 0, &sent);
        struct wire_frame frame = only_frame(&out);
        assert_int_equal(frame.kind, WIRE_LAUNCH);
        struct launch got;
        assert_int_equal(wire_get(&frame, arena, &got), 0);
        assert_same_launch(&sent, &got);
        assault(&frame, arena, &chance);
        arena_destroy(arena);
    }
}

enum { CAUSE_BYTES = 1, WAKEUP_BYTES = 8 }; /* at the end of a fact, by version */

static bool is_older_fact(size_t cut)
{
    return cut == CAUSE_BYTES || cut == CAUSE_BYTES + WAKEUP_BYTES;
}

static void facts_survive(void **state)
{
    (void)state;
    struct chance chance = { .at = 42 };
    for (int i = 0; i < 200; i++) {
        struct arena *arena = arena_create();
        AUTO_BUF struct buf out = BUF_INIT(1u << 16);
        struct wire_fact sent = {
            .kind = (enum wire_fact_kind)(1 + draw(&chance) % (WIRE_FACT_N - 1)),
            .task = draw_task(&chance),
            .attempt = (uint32_t)draw(&chance),
            .at_ms = draw(&chance),
            .pid = (uint32_t)draw(&chance),
            .log_end = draw(&chance),
            .ending = { .exited = draw(&chance) % 2,
                        .code = (int)draw(&chance),
                        .signal = (int)draw(&chance),
                        .oom = draw(&chance) % 2,
                        .lost = draw(&chance) % 2,
                        .by = (enum end_origin)(draw(&chance) % END_BY_N),
                        .cause = (enum end_cause)(draw(&chance) % END_CAUSE_N),
                        .memory_peak = draw(&chance),
                        .tail = draw_text(&chance, arena) },
            .remark = draw_text(&chance, arena),
            .image = { .step = IMAGE_READY,
                       .name = draw_text(&chance, arena),
                       .digest = draw_text(&chance, arena),
                       .bytes = draw(&chance),
                       .total = draw(&chance),
                       .took_ms = draw(&chance),
                       .problem = draw_text(&chance, arena) },
        };
        wire_put(&out, 77, &sent);
        struct wire_frame frame = only_frame(&out);
        assert_int_equal(frame.seq, 77);
        struct wire_fact got;
        assert_int_equal(wire_get(&frame, arena, &got), 0);
        assert_int_equal(got.kind, sent.kind);
        assert_int_equal(got.task.role, sent.task.role);
        assert_int_equal(got.task.index, sent.task.index);
        assert_true(got.at_ms == sent.at_ms && got.log_end == sent.log_end);
        assert_true(got.pid == sent.pid && got.attempt == sent.attempt);
        assert_int_equal(got.ending.exited, sent.ending.exited);
        assert_int_equal(got.ending.code, sent.ending.code);
        assert_int_equal(got.ending.signal, sent.ending.signal);
        assert_int_equal(got.ending.oom, sent.ending.oom);
        assert_int_equal(got.ending.lost, sent.ending.lost);
        assert_int_equal(got.ending.by, sent.ending.by);
        assert_int_equal(got.ending.cause, sent.ending.cause);
        assert_true(got.ending.memory_peak == sent.ending.memory_peak);
        if (sent.kind == WIRE_FACT_IMAGE) {
            assert_string_equal(got.image.name, sent.image.name);
            assert_true(got.image.bytes == sent.image.bytes);
        }
        assert_string_equal(got.remark, sent.remark);
        assert_string_equal(got.ending.tail, sent.ending.tail);
        for (struct wire_frame cut = frame; cut.len-- > 0;)
            assert_int_equal(wire_get(&cut, arena, &got),
                             is_older_fact(frame.len - cut.len) ? 0 : -1);
        arena_destroy(arena);
    }
}

/* An agent of an older version has the cause in words, one before it does not say when it saw. */
static void older_facts_are_read(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(1u << 16);
    struct wire_fact sent = {
        .kind = WIRE_FACT_ENDED, .wakeup = 7, .ending.by = BY_LIMIT, .remark = "uses 2Gi of memory"
    };
    wire_put(&out, 1, &sent);
    struct wire_frame frame = only_frame(&out);
    struct wire_fact got;
    assert_int_equal(wire_get(&frame, arena, &got), 0);
    assert_int_equal(got.ending.cause, CAUSE_NONE); /* it says that there is none */
    frame.len -= CAUSE_BYTES;
    assert_int_equal(wire_get(&frame, arena, &got), 0);
    assert_int_equal(got.ending.cause, CAUSE_MEMORY);
    assert_int_equal(got.wakeup, 7);
    frame.len -= WAKEUP_BYTES;
    assert_int_equal(wire_get(&frame, arena, &got), 0);
    assert_int_equal(got.ending.cause, CAUSE_MEMORY);
    assert_int_equal(got.wakeup, 0);
    arena_destroy(arena);
}

static void a_tail_has_a_maximum(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(1u << 16);
    char tail[ENDING_TAIL_MAX + 2];
    memset(tail, 'x', sizeof tail);
    tail[sizeof tail - 1] = '\0';
    struct wire_fact sent = { .kind = WIRE_FACT_ENDED, .ending = { .tail = tail } };
    wire_put(&out, 1, &sent);
    struct wire_frame frame = only_frame(&out);
    struct wire_fact got;
    assert_int_equal(wire_get(&frame, arena, &got), 0);
    assert_int_equal(strlen(got.ending.tail), ENDING_TAIL_MAX); /* what is longer is cut */
    unsigned char *longer = arena_alloc(arena, frame.len + 1);
    memcpy(longer, frame.body, frame.len);
    longer[frame.len] = 'x';
    longer[frame.len - ENDING_TAIL_MAX - 4]++;
    frame.body = longer;
    frame.len++;
    assert_int_equal(wire_get(&frame, arena, &got), -1);
    arena_destroy(arena);
}

static void hello_stop_log_exec(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(1000);
    struct wire_hello hello = { .version = WIRE_VERSION,
                                .generation = { .job = 9, .number = 2 },
                                .node = "n1",
                                .agent_pid = 11,
                                .launch_seq = 3,
                                .first_seq = 4 };
    wire_put(&out, 0, &hello);
    struct wire_frame frame = only_frame(&out);
    struct wire_hello hello_got;
    assert_int_equal(wire_get(&frame, arena, &hello_got), 0);
    assert_int_equal(hello_got.launch_form, 0); /* as of version 0.1 */
    size_t before = out.len;
    buf_clear(&out);
    hello.launch_form = WIRE_LAUNCH_FORM;
    wire_put(&out, 0, &hello);
    assert_int_equal(out.len, before + 4);
    frame = only_frame(&out);
    assert_int_equal(wire_get(&frame, arena, &hello_got), 0);
    assert_int_equal(hello_got.launch_form, WIRE_LAUNCH_FORM);
    assert_true(hello_got.generation.job == 9 && hello_got.generation.number == 2);
    assert_string_equal(hello_got.node, "n1");
    assert_true(hello_got.agent_pid == 11 && hello_got.launch_seq == 3);
    assert_true(hello_got.first_seq == 4 && hello_got.version == WIRE_VERSION);

    buf_clear(&out);
    struct wire_stop stop = { .task = { .role = 1, .index = 5 }, .now = true, .why = BY_POLICY };
    wire_put(&out, 0, &stop);
    frame = only_frame(&out);
    struct wire_stop stop_got;
    assert_int_equal(wire_get(&frame, NULL, &stop_got), 0);
    assert_true(!stop_got.all && stop_got.now && stop_got.why == BY_POLICY);
    assert_true(stop_got.task.role == 1 && stop_got.task.index == 5);

    buf_clear(&out);
    wire_put(&out, 0, &(struct wire_log){ .task = { .index = 7 }, .attempt = 2, .end = 1u << 30 });
    frame = only_frame(&out);
    struct wire_log log_got;
    assert_int_equal(wire_get(&frame, NULL, &log_got), 0);
    assert_true(log_got.task.index == 7 && log_got.attempt == 2 && log_got.end == 1u << 30);

    buf_clear(&out);
    const char *argv[] = { "sh", "-c", "echo" };
    struct wire_exec exec = {
        .channel = 3, .argv = { .at = argv, .n = 3 }, .tty = true, .rows = 24, .cols = 80
    };
    wire_put(&out, 0, &exec);
    frame = only_frame(&out);
    struct wire_exec exec_got;
    assert_int_equal(wire_get(&frame, arena, &exec_got), 0);
    assert_same_words(&exec.argv, &exec_got.argv);
    assert_true(exec_got.tty && exec_got.rows == 24 && exec_got.cols == 80);
    assert_true(exec_got.channel == 3);
    arena_destroy(arena);
}

static void channels(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT(1000);
    wire_put_data(&out, WIRE_STDOUT, 6, "a\0b", 3);
    struct wire_frame frame = only_frame(&out);
    struct wire_data data;
    assert_int_equal(wire_get(&frame, NULL, &data), 0);
    assert_int_equal(frame.kind, WIRE_STDOUT);
    assert_int_equal(data.channel, 6);
    assert_int_equal(data.len, 3);
    assert_memory_equal(data.at, "a\0b", 3);

    buf_clear(&out);
    wire_put_data(&out, WIRE_STDIN, 6, NULL, 0);
    frame = only_frame(&out);
    assert_int_equal(wire_get(&frame, NULL, &data), 0);
    assert_int_equal(data.len, 0);

    buf_clear(&out);
    wire_put(&out, 0, &(struct wire_resize){ .channel = 1, .rows = 50, .cols = 132 });
    frame = only_frame(&out);
    struct wire_resize resize;
    assert_int_equal(wire_get(&frame, NULL, &resize), 0);
    assert_true(resize.channel == 1 && resize.rows == 50 && resize.cols == 132);

    buf_clear(&out);
    wire_put(&out, 0, &(struct wire_signal){ 7, { .role = 1, .index = 70000 }, 3, 12 });
    frame = only_frame(&out);
    struct wire_signal ask;
    assert_int_equal(wire_get(&frame, NULL, &ask), 0);
    assert_true(ask.number == 7 && ask.task.role == 1 && ask.task.index == 70000 &&
                ask.attempt == 3 && ask.signal == 12);
    for (uint32_t bad = 0; bad <= 65; bad += 65) {
        buf_clear(&out);
        wire_put(&out, 0, &(struct wire_signal){ .signal = bad });
        frame = only_frame(&out);
        assert_int_equal(wire_get(&frame, NULL, &ask), -1);
    }

    buf_clear(&out);
    wire_put(&out, 0, &(struct wire_signalled_report){ .number = 7, .heard = 2 });
    frame = only_frame(&out);
    struct wire_signalled_report said;
    assert_int_equal(wire_get(&frame, NULL, &said), 0);
    assert_true(said.number == 7 && said.heard == 2);
    frame.len--;
    assert_int_equal(wire_get(&frame, NULL, &said), -1);

    buf_clear(&out);
    wire_put(&out, 0, &(struct wire_exit){ .channel = 1, .code = 137 });
    frame = only_frame(&out);
    struct wire_exit end;
    assert_int_equal(wire_get(&frame, NULL, &end), 0);
    assert_true(end.channel == 1 && end.code == 137);

    buf_clear(&out);
    wire_put(&out, 0,
             &(struct wire_launcher){
                 .channel = 5, .task = { .role = 2, .index = 70000 }, .attempt = 3 });
    frame = only_frame(&out);
    struct wire_launcher launcher;
    assert_int_equal(frame.kind, WIRE_LAUNCHER_OPEN);
    assert_int_equal(wire_get(&frame, NULL, &launcher), 0);
    assert_true(launcher.channel == 5 && launcher.attempt == 3);
    assert_true(launcher.task.role == 2 && launcher.task.index == 70000);
    frame.len--;
    assert_int_equal(wire_get(&frame, NULL, &launcher), -1);
}

static void attached_clients(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT(1000);
    struct wire_attach sent = { .channel = 4,
                                .task = { .role = 1, .index = 70000 },
                                .attempt = 2,
                                .session = UINT64_MAX,
                                .offset = 1ull << 40,
                                .rows = 24,
                                .cols = 80 };
    wire_put(&out, 0, &sent);
    struct wire_frame frame = only_frame(&out);
    struct wire_attach got;
    assert_int_equal(frame.kind, WIRE_ATTACH);
    assert_int_equal(wire_get(&frame, NULL, &got), 0);
    assert_true(got.channel == 4 && got.attempt == 2 && got.session == UINT64_MAX);
    assert_true(got.task.role == 1 && got.task.index == 70000 && got.offset == 1ull << 40);
    assert_true(got.rows == 24 && got.cols == 80);
    frame.len--;
    assert_int_equal(wire_get(&frame, NULL, &got), -1);

    buf_clear(&out);
    wire_put(&out, 0,
             &(struct wire_reached_report){ .channel = 4, .input = 1u << 30, .output = 9 });
    frame = only_frame(&out);
    struct wire_reached_report reached;
    assert_int_equal(wire_get(&frame, NULL, &reached), 0);
    assert_true(reached.channel == 4 && reached.input == 1u << 30 && reached.output == 9);
    frame.len--;
    assert_int_equal(wire_get(&frame, NULL, &reached), -1);
}

/* Agents of older versions read a launch in which no task has an open stdin; one of an older server
 * says nothing of it. */
static void an_open_stdin_is_said_at_the_end(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    AUTO_BUF struct buf without = BUF_INIT(1u << 16), with = BUF_INIT(1u << 16);
    struct launch_task tasks[3] = { { .role = "a" }, { .role = "b" }, { .role = "c" } };
    struct launch launch = {
        .node = "n", .job_name = "j", .dir = "/d", .tasks = tasks, .n_tasks = 3
    };
    wire_put(&without, 0, &launch);
    tasks[1].open_stdin = true;
    tasks[2].open_stdin = tasks[2].tty = true;
    wire_put(&with, 0, &launch);
    assert_int_equal(with.len, without.len + (size_t)3 * 9); /* behind the shared memory */
    struct wire_frame frame = only_frame(&with);
    struct launch got;
    assert_int_equal(wire_get(&frame, arena, &got), 0);
    assert_true(!got.tasks[0].open_stdin && got.tasks[1].open_stdin && !got.tasks[1].tty);
    assert_true(got.tasks[2].open_stdin && got.tasks[2].tty);
    struct wire_frame cut = frame;
    for (int bytes = 1; bytes < 27; bytes++) {
        cut.len--;
        assert_int_equal(wire_get(&cut, arena, &got), -1);
    }
    cut.len--;
    assert_int_equal(wire_get(&cut, arena, &got), 0);
    assert_false(got.tasks[1].open_stdin);
    unsigned char *last = (unsigned char *)with.data + with.len - 1;
    static const unsigned char wrong[] = { 2, 4, 255 }; /* a terminal without a stdin; no flags */
    for (size_t i = 0; i < sizeof wrong; i++) {
        *last = wrong[i];
        frame = only_frame(&with);
        assert_int_equal(wire_get(&frame, arena, &got), -1);
    }
    arena_destroy(arena);
}

/* A list of peers that every task is told grows the frame once, not with the number of tasks. */
static void shared_values_are_said_once(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    enum { TASKS = 4000, LONG = 100000 };
    char *peers = arena_alloc(arena, LONG + 1);
    memset(peers, 'p', LONG);
    peers[LONG] = '\0';
    struct launch launch = { .node = "n", .job_name = "j", .dir = "/d", .n_tasks = TASKS };
    launch.tasks = ARENA_ARRAY(arena, TASKS, struct launch_task);
    for (size_t i = 0; i < TASKS; i++) {
        launch.tasks[i] = (struct launch_task){ .role = "worker", .run = peers };
        pairs_set(&launch.tasks[i].env, arena, "RANK", arena_printf(arena, "%zu", i));
        pairs_set(&launch.tasks[i].env, arena, "PEERS", peers);
    }
    struct buf frame;
    buf_init(&frame, WIRE_MAX_FRAME);
    wire_put(&frame, 0, &launch);
    assert_false(frame.overflow);
    assert_true(frame.len < 2 * LONG + TASKS * 128);
    struct wire_frame whole;
    struct launch read;
    size_t used;
    assert_int_equal(wire_next(frame.data, frame.len, &whole, &used), 1);
    assert_int_equal(wire_get(&whole, arena, &read), 0);
    assert_int_equal(read.n_tasks, TASKS);
    assert_string_equal(pairs_get(&read.tasks[TASKS - 1].env, "PEERS"), peers);
    assert_string_equal(pairs_get(&read.tasks[TASKS - 1].env, "RANK"), "3999");
    assert_string_equal(read.tasks[TASKS - 1].run, peers);
    buf_fini(&frame);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_survive),
        cmocka_unit_test(facts_survive),
        cmocka_unit_test(older_facts_are_read),
        cmocka_unit_test(a_tail_has_a_maximum),
        cmocka_unit_test(hello_stop_log_exec),
        cmocka_unit_test(channels),
        cmocka_unit_test(attached_clients),
        cmocka_unit_test(an_open_stdin_is_said_at_the_end),
        cmocka_unit_test(shared_values_are_said_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
