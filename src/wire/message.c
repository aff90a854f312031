/* Bodies of frames: each message is written and read by a pair of functions in the same order of
 * fields. Decoders accept exactly what the encoders write: flags are 0 or 1, enums in range, counts
 * bounded by the bytes that are there, nothing left over at the end. Required texts may not be
 * NULL; NULL from an encoder's caller is written as "". */
#include "wire/message.h"

#include "base/mem.h"
#include "job/old_ending.h"

#include <string.h>

#define TEXT_MIN 4u /* bytes of the shortest text */

/* ---- small parts ---- */

static void put_text(struct buf *out, const char *text)
{
    wire_put_str(out, text ? text : "");
}

static const char *get_text(struct wire_reader *from, struct arena *arena)
{
    const char *text = wire_get_str(from, arena);
    if (!text)
        from->bad = true;
    return text ? text : "";
}

static bool get_flag(struct wire_reader *from)
{
    uint8_t value = wire_get_u8(from);
    if (value > 1)
        from->bad = true;
    return value == 1;
}

static int finish(const struct wire_reader *from)
{
    return from->bad || from->at != from->end ? -1 : 0;
}

static void put_task(struct buf *out, struct task_ref task)
{
    wire_put_u32(out, task.role);
    wire_put_u32(out, task.index);
}

static struct task_ref get_task(struct wire_reader *from)
{
    uint32_t role = wire_get_u32(from);
    if (role > UINT16_MAX)
        from->bad = true;
    return (struct task_ref){ .role = (uint16_t)role, .index = wire_get_u32(from) };
}

static void put_generation(struct buf *out, struct generation generation)
{
    wire_put_u64(out, generation.job);
    wire_put_u32(out, generation.number);
}

static struct generation get_generation(struct wire_reader *from)
{
    uint64_t job = wire_get_u64(from);
    return (struct generation){ .job = job, .number = wire_get_u32(from) };
}

static void put_words(struct buf *out, const struct words *words)
{
    wire_put_u32(out, (uint32_t)words->n);
    for (size_t i = 0; i < words->n; i++)
        put_text(out, words->at[i]);
}

static struct words get_words(struct wire_reader *from, struct arena *arena)
{
    uint32_t n = wire_get_count(from, TEXT_MIN);
    struct words words = { .at = ARENA_ARRAY(arena, n, const char *), .n = n };
    for (uint32_t i = 0; i < n; i++)
        words.at[i] = get_text(from, arena);
    return words;
}

static void put_numbers(struct buf *out, const uint32_t *numbers, uint32_t n)
{
    wire_put_u32(out, n);
    for (uint32_t i = 0; i < n; i++)
        wire_put_u32(out, numbers[i]);
}

static uint32_t *get_numbers(struct wire_reader *from, struct arena *arena, uint32_t *count)
{
    uint32_t n = wire_get_count(from, 4);
    uint32_t *numbers = ARENA_ARRAY(arena, n, uint32_t);
    for (uint32_t i = 0; i < n; i++)
        numbers[i] = wire_get_u32(from);
    *count = n;
    return numbers;
}

/* What a task shares with the one before it is not said again: lists of peers grow with the number
 * of tasks, and every task has them. */
static bool same_text(const char *a, const char *b)
{
    return a && b && (a == b || strcmp(a, b) == 0);
}

static void put_env(struct buf *out, const struct pairs *env, const struct pairs *before)
{
    wire_put_u32(out, (uint32_t)env->n);
    for (size_t i = 0; i < env->n; i++) {
        const struct pair *old = before && i < before->n ? &before->at[i] : NULL;
        bool same =
            old && same_text(env->at[i].name, old->name) && same_text(env->at[i].value, old->value);
        wire_put_u8(out, same);
        if (same)
            continue;
        put_text(out, env->at[i].name);
        put_text(out, env->at[i].value);
    }
}

static struct pairs get_env(struct wire_reader *from, struct arena *arena,
                            const struct pairs *before)
{
    uint32_t n = wire_get_count(from, 1);
    struct pairs env = { .at = ARENA_ARRAY(arena, n, struct pair), .n = n, .cap = n };
    for (uint32_t i = 0; i < n; i++) {
        if (!get_flag(from)) {
            env.at[i].name = get_text(from, arena);
            env.at[i].value = get_text(from, arena);
        } else if (before && i < before->n) {
            env.at[i] = before->at[i];
        } else {
            from->bad = true;
            env.at[i] = (struct pair){ .name = "", .value = "" };
        }
    }
    return env;
}

static void put_run(struct buf *out, const char *run, const char *before)
{
    bool same = same_text(run, before);
    wire_put_u8(out, same);
    if (!same)
        wire_put_str(out, run);
}

static const char *get_run(struct wire_reader *from, struct arena *arena, const char *before)
{
    return get_flag(from) ? before : wire_get_str(from, arena);
}

static void put_ending(struct buf *out, const struct ending *ending)
{
    wire_put_u8(out, ending->exited);
    wire_put_u32(out, (uint32_t)ending->code);
    wire_put_u32(out, (uint32_t)ending->signal);
    wire_put_u8(out, ending->oom);
    wire_put_u8(out, ending->lost);
    wire_put_u8(out, (uint8_t)ending->by);
    put_text(out, ending->reason);
    wire_put_u64(out, ending->memory_peak);
    put_text(out, ending->tail);
}

static enum end_by get_by(struct wire_reader *from)
{
    uint8_t by = wire_get_u8(from);
    if (by >= END_BY_N)
        from->bad = true;
    return from->bad ? BY_NONE : (enum end_by)by;
}

static struct ending get_ending(struct wire_reader *from, struct arena *arena)
{
    struct ending ending = { .exited = get_flag(from) };
    ending.code = (int)wire_get_u32(from);
    ending.signal = (int)wire_get_u32(from);
    ending.oom = get_flag(from);
    ending.lost = get_flag(from);
    ending.by = get_by(from);
    ending.reason = get_text(from, arena);
    ending.memory_peak = wire_get_u64(from);
    ending.tail = get_text(from, arena);
    if (strlen(ending.tail) > ENDING_TAIL_MAX)
        from->bad = true;
    return ending;
}

/* ---- launch ---- */

static void put_launch_task(struct buf *out, const struct launch_task *task,
                            const struct launch_task *before)
{
    put_task(out, task->ref);
    put_text(out, task->role);
    wire_put_u32(out, task->attempt);
    put_env(out, &task->env, before ? &before->env : NULL);
    put_run(out, task->run, before ? before->run : NULL);
    put_words(out, &task->argv);
    put_numbers(out, task->ports, task->n_ports);
    put_numbers(out, task->gpus, task->n_gpus);
    wire_put_u64(out, task->cpu_milli);
    wire_put_u64(out, task->memory);
    wire_put_u32(out, task->pids);
    wire_put_u32(out, task->cores);
    wire_put_u64(out, task->run_time_ms);
    wire_put_u8(out, task->hold_failed);
}

static void get_launch_task(struct wire_reader *from, struct arena *arena, struct launch_task *task,
                            const struct launch_task *before)
{
    task->ref = get_task(from);
    task->role = get_text(from, arena);
    task->attempt = wire_get_u32(from);
    task->env = get_env(from, arena, before ? &before->env : NULL);
    task->run = get_run(from, arena, before ? before->run : NULL);
    task->argv = get_words(from, arena);
    task->ports = get_numbers(from, arena, &task->n_ports);
    task->gpus = get_numbers(from, arena, &task->n_gpus);
    task->cpu_milli = wire_get_u64(from);
    task->memory = wire_get_u64(from);
    task->pids = wire_get_u32(from);
    task->cores = wire_get_u32(from);
    task->run_time_ms = wire_get_u64(from);
    task->hold_failed = get_flag(from);
}

static void put_hosts_and_mounts(struct buf *out, const struct launch *launch)
{
    wire_put_u32(out, (uint32_t)launch->n_hosts);
    for (size_t i = 0; i < launch->n_hosts; i++) {
        put_text(out, launch->hosts[i].address);
        put_text(out, launch->hosts[i].name);
    }
    wire_put_u32(out, (uint32_t)launch->n_mounts);
    for (size_t i = 0; i < launch->n_mounts; i++) {
        put_text(out, launch->mounts[i].from);
        put_text(out, launch->mounts[i].at);
        wire_put_u8(out, launch->mounts[i].read_only);
    }
}

static void get_hosts_and_mounts(struct wire_reader *from, struct arena *arena,
                                 struct launch *launch)
{
    launch->n_hosts = wire_get_count(from, 2 * TEXT_MIN);
    launch->hosts = ARENA_ARRAY(arena, launch->n_hosts, struct host_name);
    for (size_t i = 0; i < launch->n_hosts; i++) {
        launch->hosts[i].address = get_text(from, arena);
        launch->hosts[i].name = get_text(from, arena);
    }
    launch->n_mounts = wire_get_count(from, 2 * TEXT_MIN + 1);
    launch->mounts = ARENA_ARRAY(arena, launch->n_mounts, struct bind_mount);
    for (size_t i = 0; i < launch->n_mounts; i++) {
        launch->mounts[i].from = get_text(from, arena);
        launch->mounts[i].at = get_text(from, arena);
        launch->mounts[i].read_only = get_flag(from);
    }
}

/* At the end, and only where something is said, because an agent of an older version reads what has
 * none: shared memory, behind it who has a stdin, behind that who holds devices, and last which of
 * them are instances of MIG. */
enum { INPUT_OPEN = 1, INPUT_TTY = 2 };

static void put_part(struct buf *out, const struct gpu_part *part)
{
    wire_put_u8(out, (uint8_t)(part->is + part->n_caps));
    if (!part->is)
        return;
    wire_put_u32(out, part->gi);
    wire_put_u32(out, part->ci);
    for (uint32_t i = 0; i < part->n_caps; i++)
        wire_put_u32(out, part->caps[i]);
}

static void put_parts(struct buf *out, const struct launch_task *task)
{
    wire_put_u8(out, task->parts != NULL);
    for (uint32_t i = 0; task->parts && i < task->n_gpus; i++)
        put_part(out, &task->parts[i]);
}

static struct gpu_part get_part(struct wire_reader *from)
{
    uint8_t form = wire_get_u8(from);
    struct gpu_part part = { .is = form > 0 };
    if (form > 1 + ARRAY_LEN(part.caps))
        from->bad = true;
    if (!part.is || from->bad)
        return part;
    part.gi = wire_get_u32(from);
    part.ci = wire_get_u32(from);
    for (part.n_caps = 0; part.n_caps + 1u < form; part.n_caps++)
        part.caps[part.n_caps] = wire_get_u32(from);
    return part;
}

static void get_parts(struct wire_reader *from, struct arena *arena, struct launch *launch)
{
    bool any = false;
    for (size_t i = 0; i < launch->n_tasks && !from->bad; i++) {
        struct launch_task *task = &launch->tasks[i];
        if (!get_flag(from))
            continue;
        task->parts = ARENA_ARRAY(arena, task->n_gpus, struct gpu_part);
        for (uint32_t k = 0; k < task->n_gpus && !from->bad; k++) {
            task->parts[k] = get_part(from);
            any = any || task->parts[k].is;
        }
    }
    from->bad |= !any;
}

static void put_more(struct buf *out, const struct launch *launch)
{
    uint64_t shm = 0;
    bool input = false, hold = false, parts = false;
    for (size_t i = 0; i < launch->n_tasks; i++) {
        shm |= launch->tasks[i].shm;
        parts = parts || launch->tasks[i].parts;
        hold = hold || launch->tasks[i].gpu_hold != GPU_HOLD_NONE;
        input = input || hold || launch->tasks[i].open_stdin;
    }
    for (size_t i = 0; (shm || input) && i < launch->n_tasks; i++)
        wire_put_u64(out, launch->tasks[i].shm);
    for (size_t i = 0; input && i < launch->n_tasks; i++) {
        const struct launch_task *task = &launch->tasks[i];
        wire_put_u8(out, !task->open_stdin ? 0 : task->tty ? INPUT_OPEN | INPUT_TTY : INPUT_OPEN);
    }
    for (size_t i = 0; hold && i < launch->n_tasks; i++)
        wire_put_u8(out, (uint8_t)launch->tasks[i].gpu_hold);
    for (size_t i = 0; hold && parts && i < launch->n_tasks; i++)
        put_parts(out, &launch->tasks[i]);
}

static void get_holds(struct wire_reader *from, struct arena *arena, struct launch *launch)
{
    bool any = false;
    for (size_t i = 0; i < launch->n_tasks && !from->bad; i++) {
        uint8_t hold = wire_get_u8(from);
        from->bad |= hold >= GPU_HOLD_N;
        launch->tasks[i].gpu_hold = from->bad ? GPU_HOLD_NONE : (enum gpu_hold)hold;
        any = any || hold;
    }
    from->bad |= !any;
    if (!from->bad && from->at != from->end)
        get_parts(from, arena, launch);
}

static void get_inputs(struct wire_reader *from, struct arena *arena, struct launch *launch)
{
    bool any = false;
    for (size_t i = 0; i < launch->n_tasks && !from->bad; i++) {
        uint8_t input = wire_get_u8(from);
        launch->tasks[i].open_stdin = input & INPUT_OPEN;
        launch->tasks[i].tty = input & INPUT_TTY;
        any = any || input;
        from->bad |= input > (INPUT_OPEN | INPUT_TTY) || input == INPUT_TTY;
    }
    if (from->bad || from->at != from->end)
        get_holds(from, arena, launch);
    else
        from->bad |= !any; /* one launch has one form */
}

static void get_more(struct wire_reader *from, struct arena *arena, struct launch *launch)
{
    uint64_t any = 0;
    if (from->at == from->end)
        return;
    for (size_t i = 0; i < launch->n_tasks && !from->bad; i++)
        any |= launch->tasks[i].shm = wire_get_u64(from);
    if (from->bad || from->at != from->end)
        get_inputs(from, arena, launch);
    else
        from->bad |= any == 0;
}

void wire_put_launch(struct buf *out, const struct launch *launch)
{
    size_t mark = wire_begin(out, WIRE_LAUNCH, 0);
    put_generation(out, launch->generation);
    wire_put_u32(out, launch->seq);
    put_text(out, launch->node);
    put_text(out, launch->job_name);
    wire_put_u64(out, launch->job_number);
    put_text(out, launch->dir);
    wire_put_str(out, launch->work_dir);
    wire_put_str(out, launch->code_dir);
    wire_put_u64(out, launch->code_limit);
    wire_put_str(out, launch->output_dir);
    wire_put_str(out, launch->python);
    put_words(out, &launch->pip);
    wire_put_str(out, launch->packages);
    wire_put_str(out, launch->requirements);
    put_hosts_and_mounts(out, launch);
    wire_put_u64(out, launch->grace_ms);
    wire_put_u64(out, launch->log_head);
    wire_put_u64(out, launch->log_tail);
    wire_put_u32(out, (uint32_t)launch->n_tasks);
    for (size_t i = 0; i < launch->n_tasks; i++)
        put_launch_task(out, &launch->tasks[i], i ? &launch->tasks[i - 1] : NULL);
    put_more(out, launch);
    wire_end(out, mark);
}

bool wire_limit_launch(struct launch *launch, uint32_t form)
{
    bool taken = false;
    for (size_t i = 0; form < 1 && i < launch->n_tasks; i++) {
        struct launch_task *task = &launch->tasks[i];
        taken = taken || task->gpu_hold != GPU_HOLD_NONE;
        task->gpu_hold = GPU_HOLD_NONE;
        task->parts = NULL;
    }
    return taken;
}

/* Bytes of the shortest task: fixed fields and empty lists. */
#define LAUNCH_TASK_MIN (8u + TEXT_MIN + 4 + 4 + 1 + 4 + 4 + 4 + 8 + 8 + 4 + 4 + 8 + 1)

int wire_get_launch(const struct wire_frame *frame, struct arena *arena, struct launch *out)
{
    struct wire_reader from = wire_read(frame);
    struct launch launch = { .generation = get_generation(&from) };
    launch.seq = wire_get_u32(&from);
    launch.node = get_text(&from, arena);
    launch.job_name = get_text(&from, arena);
    launch.job_number = wire_get_u64(&from);
    launch.dir = get_text(&from, arena);
    launch.work_dir = wire_get_str(&from, arena);
    launch.code_dir = wire_get_str(&from, arena);
    launch.code_limit = wire_get_u64(&from);
    launch.output_dir = wire_get_str(&from, arena);
    launch.python = wire_get_str(&from, arena);
    launch.pip = get_words(&from, arena);
    launch.packages = wire_get_str(&from, arena);
    launch.requirements = wire_get_str(&from, arena);
    get_hosts_and_mounts(&from, arena, &launch);
    launch.grace_ms = wire_get_u64(&from);
    launch.log_head = wire_get_u64(&from);
    launch.log_tail = wire_get_u64(&from);
    launch.n_tasks = wire_get_count(&from, LAUNCH_TASK_MIN);
    launch.tasks = ARENA_ARRAY(arena, launch.n_tasks, struct launch_task);
    for (size_t i = 0; i < launch.n_tasks && !from.bad; i++)
        get_launch_task(&from, arena, &launch.tasks[i], i ? &launch.tasks[i - 1] : NULL);
    get_more(&from, arena, &launch);
    if (finish(&from) != 0)
        return -1;
    *out = launch;
    return 0;
}

/* ---- the others ---- */

void wire_put_hello(struct buf *out, const struct wire_hello *hello)
{
    size_t mark = wire_begin(out, WIRE_HELLO, 0);
    wire_put_u32(out, hello->version);
    put_generation(out, hello->generation);
    put_text(out, hello->node);
    wire_put_u32(out, hello->agent_pid);
    wire_put_u32(out, hello->launch_seq);
    wire_put_u64(out, hello->first_seq);
    if (hello->launch_form)
        wire_put_u32(out, hello->launch_form);
    wire_end(out, mark);
}

int wire_get_hello(const struct wire_frame *frame, struct arena *arena, struct wire_hello *out)
{
    struct wire_reader from = wire_read(frame);
    struct wire_hello hello = { .version = wire_get_u32(&from) };
    hello.generation = get_generation(&from);
    hello.node = get_text(&from, arena);
    hello.agent_pid = wire_get_u32(&from);
    hello.launch_seq = wire_get_u32(&from);
    hello.first_seq = wire_get_u64(&from);
    if (from.at != from.end) {
        hello.launch_form = wire_get_u32(&from);
        from.bad |= hello.launch_form == 0;
    }
    if (finish(&from) != 0)
        return -1;
    *out = hello;
    return 0;
}

void wire_put_stop(struct buf *out, const struct wire_stop *stop)
{
    size_t mark = wire_begin(out, WIRE_STOP, 0);
    wire_put_u8(out, stop->all);
    put_task(out, stop->task);
    wire_put_u8(out, stop->now);
    wire_put_u8(out, (uint8_t)stop->why);
    wire_end(out, mark);
}

int wire_get_stop(const struct wire_frame *frame, struct wire_stop *out)
{
    struct wire_reader from = wire_read(frame);
    struct wire_stop stop = { .all = get_flag(&from) };
    stop.task = get_task(&from);
    stop.now = get_flag(&from);
    stop.why = get_by(&from);
    if (finish(&from) != 0)
        return -1;
    *out = stop;
    return 0;
}

void wire_put_fact(struct buf *out, uint64_t seq, const struct wire_fact *fact)
{
    size_t mark = wire_begin(out, WIRE_FACT, seq);
    wire_put_u8(out, (uint8_t)fact->kind);
    put_task(out, fact->task);
    wire_put_u32(out, fact->attempt);
    wire_put_u64(out, fact->at_ms);
    wire_put_u32(out, fact->pid);
    wire_put_u64(out, fact->log_end);
    put_ending(out, &fact->ending);
    wire_put_u64(out, fact->wakeup);
    wire_put_u8(out, (uint8_t)fact->ending.cause);
    wire_end(out, mark);
}

/* The last byte of a fact: what an agent of an older version has in words only. */
static enum end_cause get_cause(struct wire_reader *from, const struct ending *ending)
{
    if (from->at == from->end)
        return old_end_cause(ending->by, ending->reason);
    uint8_t cause = wire_get_u8(from);
    if (cause >= END_CAUSE_N)
        from->bad = true;
    return from->bad ? CAUSE_NONE : (enum end_cause)cause;
}

int wire_get_fact(const struct wire_frame *frame, struct arena *arena, struct wire_fact *out)
{
    struct wire_reader from = wire_read(frame);
    uint8_t kind = wire_get_u8(&from);
    if (kind == WIRE_FACT_NONE || kind >= WIRE_FACT_N)
        return -1;
    struct wire_fact fact = { .kind = (enum wire_fact_kind)kind, .task = get_task(&from) };
    fact.attempt = wire_get_u32(&from);
    fact.at_ms = wire_get_u64(&from);
    fact.pid = wire_get_u32(&from);
    fact.log_end = wire_get_u64(&from);
    fact.ending = get_ending(&from, arena);
    if (from.at != from.end)
        fact.wakeup = wire_get_u64(&from);
    fact.ending.cause = get_cause(&from, &fact.ending);
    if (finish(&from) != 0)
        return -1;
    *out = fact;
    return 0;
}

void wire_put_log(struct buf *out, const struct wire_log *log)
{
    size_t mark = wire_begin(out, WIRE_LOG, 0);
    put_task(out, log->task);
    wire_put_u32(out, log->attempt);
    wire_put_u64(out, log->end);
    wire_end(out, mark);
}

int wire_get_log(const struct wire_frame *frame, struct wire_log *out)
{
    struct wire_reader from = wire_read(frame);
    struct wire_log log = { .task = get_task(&from) };
    log.attempt = wire_get_u32(&from);
    log.end = wire_get_u64(&from);
    if (finish(&from) != 0)
        return -1;
    *out = log;
    return 0;
}

void wire_put_exec(struct buf *out, const struct wire_exec *exec)
{
    size_t mark = wire_begin(out, WIRE_EXEC, 0);
    wire_put_u32(out, exec->channel);
    put_task(out, exec->task);
    wire_put_u32(out, exec->attempt);
    put_words(out, &exec->argv);
    wire_put_u8(out, exec->tty);
    wire_put_u32(out, exec->rows);
    wire_put_u32(out, exec->cols);
    wire_end(out, mark);
}

static uint16_t get_cells(struct wire_reader *from)
{
    uint32_t cells = wire_get_u32(from);
    if (cells > UINT16_MAX)
        from->bad = true;
    return (uint16_t)cells;
}

int wire_get_exec(const struct wire_frame *frame, struct arena *arena, struct wire_exec *out)
{
    struct wire_reader from = wire_read(frame);
    struct wire_exec exec = { .channel = wire_get_u32(&from) };
    exec.task = get_task(&from);
    exec.attempt = wire_get_u32(&from);
    exec.argv = get_words(&from, arena);
    exec.tty = get_flag(&from);
    exec.rows = get_cells(&from);
    exec.cols = get_cells(&from);
    if (finish(&from) != 0)
        return -1;
    *out = exec;
    return 0;
}

void wire_put_plain(struct buf *out, enum wire_kind kind, uint64_t seq)
{
    wire_end(out, wire_begin(out, kind, seq));
}

/* ---- channels ---- */

void wire_put_data(struct buf *out, enum wire_kind kind, uint32_t channel, const void *data,
                   size_t len)
{
    size_t mark = wire_begin(out, kind, 0);
    wire_put_u32(out, channel);
    if (len > 0)
        buf_add(out, data, len);
    wire_end(out, mark);
}

int wire_get_data(const struct wire_frame *frame, struct wire_data *out)
{
    struct wire_reader from = wire_read(frame);
    struct wire_data data = { .channel = wire_get_u32(&from) };
    data.at = from.at;
    data.len = (size_t)(from.end - from.at);
    if (from.bad)
        return -1;
    *out = data;
    return 0;
}

void wire_put_resize(struct buf *out, const struct wire_resize *resize)
{
    size_t mark = wire_begin(out, WIRE_RESIZE, 0);
    wire_put_u32(out, resize->channel);
    wire_put_u32(out, resize->rows);
    wire_put_u32(out, resize->cols);
    wire_end(out, mark);
}

int wire_get_resize(const struct wire_frame *frame, struct wire_resize *out)
{
    struct wire_reader from = wire_read(frame);
    struct wire_resize resize = { .channel = wire_get_u32(&from) };
    resize.rows = get_cells(&from);
    resize.cols = get_cells(&from);
    if (finish(&from) != 0)
        return -1;
    *out = resize;
    return 0;
}

void wire_put_exit(struct buf *out, const struct wire_exit *end)
{
    size_t mark = wire_begin(out, WIRE_EXIT, 0);
    wire_put_u32(out, end->channel);
    wire_put_u32(out, end->code);
    wire_end(out, mark);
}

int wire_get_exit(const struct wire_frame *frame, struct wire_exit *out)
{
    struct wire_reader from = wire_read(frame);
    struct wire_exit end = { .channel = wire_get_u32(&from) };
    end.code = wire_get_u32(&from);
    if (finish(&from) != 0)
        return -1;
    *out = end;
    return 0;
}

void wire_put_attach(struct buf *out, const struct wire_attach *attach)
{
    size_t mark = wire_begin(out, WIRE_ATTACH, 0);
    wire_put_u32(out, attach->channel);
    put_task(out, attach->task);
    wire_put_u32(out, attach->attempt);
    wire_put_u64(out, attach->session);
    wire_put_u64(out, attach->offset);
    wire_put_u32(out, attach->rows);
    wire_put_u32(out, attach->cols);
    wire_end(out, mark);
}

int wire_get_attach(const struct wire_frame *frame, struct wire_attach *out)
{
    struct wire_reader from = wire_read(frame);
    struct wire_attach attach = { .channel = wire_get_u32(&from), .task = get_task(&from) };
    attach.attempt = wire_get_u32(&from);
    attach.session = wire_get_u64(&from);
    attach.offset = wire_get_u64(&from);
    attach.rows = get_cells(&from);
    attach.cols = get_cells(&from);
    if (finish(&from) != 0)
        return -1;
    *out = attach;
    return 0;
}

void wire_put_reached(struct buf *out, const struct wire_reached *reached)
{
    size_t mark = wire_begin(out, WIRE_REACHED, 0);
    wire_put_u32(out, reached->channel);
    wire_put_u64(out, reached->input);
    wire_put_u64(out, reached->output);
    wire_end(out, mark);
}

int wire_get_reached(const struct wire_frame *frame, struct wire_reached *out)
{
    struct wire_reader from = wire_read(frame);
    struct wire_reached reached = { .channel = wire_get_u32(&from) };
    reached.input = wire_get_u64(&from);
    reached.output = wire_get_u64(&from);
    if (finish(&from) != 0)
        return -1;
    *out = reached;
    return 0;
}

/* ---- launchers ---- */

void wire_put_launcher(struct buf *out, const struct wire_launcher *launcher)
{
    size_t mark = wire_begin(out, WIRE_LAUNCHER_OPEN, 0);
    wire_put_u32(out, launcher->channel);
    put_task(out, launcher->task);
    wire_put_u32(out, launcher->attempt);
    wire_end(out, mark);
}

int wire_get_launcher(const struct wire_frame *frame, struct wire_launcher *out)
{
    struct wire_reader from = wire_read(frame);
    struct wire_launcher launcher = { .channel = wire_get_u32(&from), .task = get_task(&from) };
    launcher.attempt = wire_get_u32(&from);
    if (finish(&from) != 0)
        return -1;
    *out = launcher;
    return 0;
}

/* ---- signals ---- */

void wire_put_signal(struct buf *out, const struct wire_signal *ask)
{
    size_t mark = wire_begin(out, WIRE_SIGNAL, 0);
    wire_put_u32(out, ask->number);
    put_task(out, ask->task);
    wire_put_u32(out, ask->attempt);
    wire_put_u32(out, ask->signal);
    wire_end(out, mark);
}

int wire_get_signal(const struct wire_frame *frame, struct wire_signal *out)
{
    struct wire_reader from = wire_read(frame);
    struct wire_signal ask = { .number = wire_get_u32(&from) };
    ask.task = get_task(&from);
    ask.attempt = wire_get_u32(&from);
    ask.signal = wire_get_u32(&from);
    if (finish(&from) != 0 || ask.signal < 1 || ask.signal > 64)
        return -1;
    *out = ask;
    return 0;
}

void wire_put_signalled(struct buf *out, const struct wire_signalled *said)
{
    size_t mark = wire_begin(out, WIRE_SIGNALLED, 0);
    wire_put_u32(out, said->number);
    wire_put_u32(out, said->heard);
    wire_end(out, mark);
}

int wire_get_signalled(const struct wire_frame *frame, struct wire_signalled *out)
{
    struct wire_reader from = wire_read(frame);
    struct wire_signalled said = { .number = wire_get_u32(&from) };
    said.heard = wire_get_u32(&from);
    if (finish(&from) != 0)
        return -1;
    *out = said;
    return 0;
}
