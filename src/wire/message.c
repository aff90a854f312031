/* Bodies of the agents' frames, as tables of their members: what is written and read, and
 * doc/protocol.md, come from these. Four parts of a launch have a form of their own: environment
 * and script as differences to the task before, the stdin and the instances of MIG of a task. */
#include "wire/message.h"

#include "base/mem.h"
#include "job/old_ending.h"

#include <string.h>

#define TASK(st)    ROW(STRUCT, st, task, "", .table = wire_task_rows)
#define ATTEMPT(st) ROW(U32, st, attempt, "of the task, from 1")
#define CHANNEL(st) ROW(U32, st, channel, "of this connection")

/* ---- launch: a task and the one before it ---- */

/* What a task shares with the one before it is not said again: lists of peers grow with the number
 * of tasks, and every task has them. */
static bool same_text(const char *a, const char *b)
{
    return a && b && (a == b || strcmp(a, b) == 0);
}

static bool get_flag(struct wire_reader *from)
{
    uint8_t value = wire_get_u8(from);
    from->bad |= value > 1;
    return value == 1;
}

static const struct codec_row variable_rows[] = {
    ROW(TEXT, struct pair, name, "of the variable"),
    ROW(TEXT, struct pair, value, "of the variable"),
    ROW_END,
};

static void put_env(struct buf *out, const void *member, const void *before)
{
    const struct pairs *env = member, *last = before;
    wire_put_u32(out, (uint32_t)env->n);
    for (size_t i = 0; i < env->n; i++) {
        const struct pair *old = last && i < last->n ? &last->at[i] : NULL;
        bool same =
            old && same_text(env->at[i].name, old->name) && same_text(env->at[i].value, old->value);
        wire_put_u8(out, same);
        if (!same)
            codec_put(out, variable_rows, &env->at[i]);
    }
}

static void get_env(const struct codec_source *in, void *member, const void *before)
{
    const struct pairs *last = before;
    uint32_t n = wire_get_count(in->from, 1);
    struct pairs env = { .at = ARENA_ARRAY(in->arena, n, struct pair), .n = n, .cap = n };
    for (uint32_t i = 0; i < n && !in->from->bad; i++) {
        if (!get_flag(in->from))
            codec_get_part(in, variable_rows, &env.at[i]);
        else if (last && i < last->n)
            env.at[i] = last->at[i];
        else
            in->from->bad = true;
    }
    *(struct pairs *)member = env;
}

static void put_run(struct buf *out, const void *member, const void *before)
{
    const char *run = *(const char *const *)member;
    bool same = before && same_text(run, *(const char *const *)before);
    wire_put_u8(out, same);
    if (!same)
        wire_put_str(out, run);
}

static void get_run(const struct codec_source *in, void *member, const void *before)
{
    const char *last = before ? *(const char *const *)before : NULL;
    *(const char **)member = get_flag(in->from) ? last : wire_get_str(in->from, in->arena);
}

static const struct codec_hooks env_hooks = {
    .put = put_env,
    .get = get_env,
    .least = 4,
    .bytes = "count; of each a u8: 1 the same as at that position of the task before, or 0, name "
             "and value",
};
static const struct codec_hooks run_hooks = {
    .put = put_run,
    .get = get_run,
    .least = 1,
    .bytes = "u8: 1 the same as of the task before, or 0 and a text that may be missing",
};

/* ---- launch: at its end, only where something is said ---- */

enum { INPUT_OPEN = 1, INPUT_TTY = 2 };

static void put_input(struct buf *out, const void *member, const void *before)
{
    const struct launch_task *task = member;
    (void)before;
    wire_put_u8(out, !task->open_stdin ? 0 : task->tty ? INPUT_OPEN | INPUT_TTY : INPUT_OPEN);
}

static void get_input(const struct codec_source *in, void *member, const void *before)
{
    struct launch_task *task = member;
    uint8_t input = wire_get_u8(in->from);
    (void)before;
    task->open_stdin = input & INPUT_OPEN;
    task->tty = input & INPUT_TTY;
    in->from->bad |= input > (INPUT_OPEN | INPUT_TTY) || input == INPUT_TTY;
}

static bool has_input(const void *member)
{
    return ((const struct launch_task *)member)->open_stdin;
}

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

static void get_part(struct wire_reader *from, struct gpu_part *part)
{
    uint8_t form = wire_get_u8(from);
    part->is = form > 0;
    from->bad |= form > 1 + ARRAY_LEN(part->caps);
    if (!part->is || from->bad)
        return;
    part->gi = wire_get_u32(from);
    part->ci = wire_get_u32(from);
    for (part->n_caps = 0; part->n_caps + 1u < form; part->n_caps++)
        part->caps[part->n_caps] = wire_get_u32(from);
}

static void put_parts(struct buf *out, const void *member, const void *before)
{
    const struct launch_task *task = member;
    (void)before;
    wire_put_u8(out, task->parts != NULL);
    for (uint32_t i = 0; task->parts && i < task->n_gpus; i++)
        put_part(out, &task->parts[i]);
}

static void get_parts(const struct codec_source *in, void *member, const void *before)
{
    struct launch_task *task = member;
    (void)before;
    if (!get_flag(in->from))
        return;
    task->parts = ARENA_ARRAY(in->arena, task->n_gpus, struct gpu_part);
    for (uint32_t i = 0; i < task->n_gpus && !in->from->bad; i++)
        get_part(in->from, &task->parts[i]);
}

static bool has_parts(const void *member)
{
    const struct launch_task *task = member;
    for (uint32_t i = 0; task->parts && i < task->n_gpus; i++)
        if (task->parts[i].is)
            return true;
    return false;
}

static const struct codec_hooks input_hooks = {
    .put = put_input,
    .get = get_input,
    .says = has_input,
    .bytes = "u8: 0 none, 1 a pipe, 3 a terminal",
};
static const struct codec_hooks parts_hooks = {
    .put = put_parts,
    .get = get_parts,
    .says = has_parts,
    .bytes = "u8: 0 none, 1 and of each device a u8: 0 the whole device, or 1 + numbers of "
             "/dev/nvidia-caps that follow (at most 2); u32 GPU instance, u32 compute instance, "
             "u32 each",
};

/* ---- launch ---- */

static const struct codec_row host_rows[] = {
    ROW(TEXT, struct host_name, address, "IP address"),
    ROW(TEXT, struct host_name, name, "name in the tasks' /etc/hosts"),
    ROW_END,
};

void wire_put_host(struct buf *out, const struct host_name *host)
{
    codec_put(out, host_rows, host);
}

static void put_hosts(struct buf *out, const void *base)
{
    const struct launch *launch = base;
    for (const struct hosts_text *part = launch->hosts_text; part; part = part->next)
        buf_add(out, part->at, part->len);
    for (size_t i = 0; !launch->hosts_text && i < launch->n_hosts; i++)
        wire_put_host(out, &launch->hosts[i]);
}

static const struct codec_hooks hosts_hooks = { .put_all = put_hosts };
static const struct codec_row mount_rows[] = {
    ROW(TEXT, struct bind_mount, from, "path on the node"),
    ROW(TEXT, struct bind_mount, at, "path for the tasks"),
    ROW(FLAG, struct bind_mount, read_only, "not writable"),
    ROW_END,
};
static const struct codec_row launch_task_rows[] = {
    ROW(STRUCT, struct launch_task, ref, "", .table = wire_task_rows),
    ROW(TEXT, struct launch_task, role, "name of the role"),
    ATTEMPT(struct launch_task),
    ROW(CUSTOM, struct launch_task, env, "environment", .hooks = &env_hooks),
    ROW(CUSTOM, struct launch_task, run, "script for `bash -c`", .hooks = &run_hooks),
    ROW_WORDS(struct launch_task, argv, "program without a script"),
    ROW_MANY(LIST, struct launch_task, ports, n_ports, "must be free", .table = codec_u32),
    ROW_MANY(LIST, struct launch_task, gpus, n_gpus, "/dev/nvidiaN", .table = codec_u32),
    ROW(U64, struct launch_task, cpu_milli, "thousandths of a processor; 0: no limit"),
    ROW(U64, struct launch_task, memory, "bytes; 0: no limit"),
    ROW(U32, struct launch_task, pids, "processes; 0: no limit"),
    ROW(U32, struct launch_task, cores, "of its own; 0: not bound"),
    ROW(U64, struct launch_task, run_time_ms, "0: no limit"),
    ROW(FLAG, struct launch_task, hold_failed, "keep its view after a failure"),
    ROW_END,
};
static const struct codec_row shm_rows[] = {
    ROW(U64, struct launch_task, shm, "bytes of a /dev/shm of its own; 0: the machine's"),
    ROW_END,
};
static const struct codec_row input_rows[] = {
    ROW_SAME(CUSTOM, "stdin", "what is kept open", .hooks = &input_hooks),
    ROW_END,
};
static const struct codec_row hold_rows[] = {
    ROW(U8, struct launch_task, gpu_hold, "devices: 0 declared, 1 whole, 2 shared",
        .max = GPU_GRANT_N - 1),
    ROW_END,
};
static const struct codec_row parts_rows[] = {
    ROW_SAME(CUSTOM, "parts", "devices that are instances of MIG", .hooks = &parts_hooks),
    ROW_END,
};
static const struct codec_row image_rows[] = {
    ROW(MAYBE, struct launch_task, image, "name of the image it runs in; none: on the host"),
    ROW_END,
};
static const struct codec_row secret_place_rows[] = {
    ROW(TEXT, struct secret_place, name, "of SECRETS"),
    ROW(MAYBE, struct secret_place, env, "variable that has the value; none: none has"),
    ROW(MAYBE, struct secret_place, file,
        "file that has it, absolute or below $MUSTER_SECRETS; none: none has"),
    ROW_END,
};
static const struct codec_row secrets_of_task_rows[] = {
    ROW_MANY(LIST, struct launch_task, secrets, n_secrets, "what it gets",
             .table = secret_place_rows),
    ROW_END,
};
#define TASKS(kind, ...) ROW_MANY(kind, struct launch, tasks, n_tasks, __VA_ARGS__)

static const struct codec_row launch_rows[] = {
    ROW(STRUCT, struct launch, generation, "", .table = wire_generation_rows),
    ROW(U32, struct launch, seq, "counts launches of this generation on this node"),
    ROW(TEXT, struct launch, node, "name"),
    ROW(TEXT, struct launch, job_name, "name"),
    ROW(U64, struct launch, job_number, "number of the job"),
    ROW(TEXT, struct launch, dir, "directory of the agent"),
    ROW(MAYBE, struct launch, work_dir, "tasks start here; none: a fresh directory each"),
    ROW(MAYBE, struct launch, code_dir, "copied into the working directory"),
    ROW(U64, struct launch, code_limit, "bytes; 0: none"),
    ROW(MAYBE, struct launch, output_dir, "made before the first task"),
    ROW(MAYBE, struct launch, python, "interpreter of the job's environment"),
    ROW_WORDS(struct launch, pip, "packages to install"),
    ROW(MAYBE, struct launch, packages, "where what was installed is kept"),
    ROW(MAYBE, struct launch, requirements, "file of packages"),
    ROW_MANY(LIST, struct launch, hosts, n_hosts, "names of peers", .table = host_rows,
             .hooks = &hosts_hooks),
    ROW_MANY(LIST, struct launch, mounts, n_mounts, "what is shown to tasks", .table = mount_rows),
    ROW(U64, struct launch, grace_ms, "between SIGTERM and SIGKILL"),
    ROW(U64, struct launch, log_head, "bytes kept of the front of a log"),
    ROW(U64, struct launch, log_tail, "and of its end"),
    TASKS(LIST, "to start", .table = launch_task_rows),
    TASKS(EACH, "shared memory", .table = shm_rows, .flags = CODEC_TAIL),
    TASKS(EACH, "input", .table = input_rows, .flags = CODEC_TAIL),
    TASKS(EACH, "who holds devices", .table = hold_rows, .flags = CODEC_TAIL),
    TASKS(EACH, "instances", .table = parts_rows, .flags = CODEC_TAIL),
    TASKS(EACH, "images", .table = image_rows, .flags = CODEC_TAIL),
    ROW_BYTES(BLOB, struct launch, registry_auth, registry_auth_len,
              "credentials for the images' registries", .flags = CODEC_TAIL),
    TASKS(EACH, "secrets", .table = secrets_of_task_rows, .flags = CODEC_TAIL),
    ROW(U8, struct launch, runtime, "of images: 0 bwrap, 4 podman, 5 docker", .max = RUNTIME_N - 1,
        .flags = CODEC_TAIL),
    ROW_END,
};

/* An agent that knows no images is not to run the task on the host in place of it, one that knows
 * no other runtime not by bwrap, and one that knows no secrets not without them. */
static bool say_too_old(struct launch_task *task, bool runtime, uint32_t form)
{
    bool image = (runtime || form < 2) && task->image, secrets = form < 3 && task->n_secrets > 0;
    if (!image && !secrets)
        return false;
    task->image = NULL;
    task->n_secrets = 0;
    task->run = image
                    ? "echo 'the muster-node of this machine is too old to run images' >&2; exit 1"
                    : "echo 'the muster-node of this machine is too old for secrets' >&2; exit 1";
    task->argv = (struct words){ .n = 0 };
    return true;
}

bool wire_limit_launch(struct launch *launch, uint32_t form)
{
    bool taken = false;
    for (size_t i = 0; form < 1 && i < launch->n_tasks; i++) {
        struct launch_task *task = &launch->tasks[i];
        taken = taken || task->gpu_hold != GPU_GRANT_NONE;
        task->gpu_hold = GPU_GRANT_NONE;
        task->parts = NULL;
    }
    bool runtime = (form < 4 && launch->runtime != RUNTIME_SERVER) ||
                   (form < 5 && launch->runtime == RUNTIME_DOCKER);
    taken = taken || runtime;
    for (size_t i = 0; (runtime || form < 3) && i < launch->n_tasks; i++)
        taken = say_too_old(&launch->tasks[i], runtime, form) || taken;
    if (runtime)
        launch->runtime = RUNTIME_SERVER;
    if (form < 2)
        launch->registry_auth = NULL;
    return taken;
}

/* ---- the others ---- */

static const struct codec_row file_rows[] = {
    ROW(TEXT, struct launch_file, name, "below the agent's directory", .max = 255),
    ROW_BYTES(BLOB, struct launch_file, at, len, "what it holds; none: it is a directory"),
    ROW(FLAG, struct launch_file, program, "it can be started"),
    ROW_END,
};

static const struct codec_row secret_rows[] = {
    ROW(TEXT, struct launch_secret, name, "of the secret", .max = 512),
    ROW_BYTES(BYTES, struct launch_secret, at, len, "its value"),
    ROW_END,
};
static const struct codec_row secrets_rows[] = {
    ROW_MANY(LIST, struct wire_secrets, at, n, "values", .table = secret_rows),
    ROW_END,
};

static const struct codec_row hello_rows[] = {
    ROW(U32, struct wire_hello, version, "of the protocol: 1"),
    ROW(STRUCT, struct wire_hello, generation, "", .table = wire_generation_rows),
    ROW(TEXT, struct wire_hello, node, "name"),
    ROW(U32, struct wire_hello, agent_pid, "process of the agent"),
    ROW(U32, struct wire_hello, launch_seq, "last launch it has; 0: none"),
    ROW(U64, struct wire_hello, first_seq, "oldest fact it still has"),
    ROW(U32, struct wire_hello, launch_form, "newest form of LAUNCH that it reads",
        .flags = CODEC_TAIL),
    ROW_END,
};
static const struct codec_row stop_rows[] = {
    ROW(FLAG, struct wire_stop, all, "all tasks; else one"),
    TASK(struct wire_stop),
    ROW(FLAG, struct wire_stop, now, "SIGKILL at once"),
    ROW(U8, struct wire_stop, why, "who ended it", .max = END_BY_N - 1),
    ROW_END,
};
#define OF_ENDING(kind, key, member, ...)                                                          \
    {                                                                                              \
        .name = (key), .type = CODEC_##kind, .offset = offsetof(struct wire_fact, member),         \
        .size = sizeof(((struct wire_fact *)0)->member), .doc = __VA_ARGS__                        \
    }
static const struct codec_row ending_rows[] = {
    OF_ENDING(FLAG, "exited", ending.exited, "code is valid; else signal, or neither"),
    OF_ENDING(U32, "code", ending.code, "exit code"),
    OF_ENDING(U32, "signal", ending.signal, "that it died of"),
    OF_ENDING(FLAG, "oom", ending.oom, "killed for memory"),
    OF_ENDING(FLAG, "lost", ending.lost, "nobody saw the end"),
    OF_ENDING(U8, "by", ending.by, "who ended it", .max = END_BY_N - 1),
    OF_ENDING(TEXT, "reason", remark, "where the numbers do not say all"),
    OF_ENDING(U64, "memory_peak", ending.memory_peak, "bytes; 0: not known"),
    OF_ENDING(TEXT, "tail", ending.tail, "last lines of output", .max = ENDING_TAIL_MAX),
    ROW_END,
};
/* What an agent of an older version has in words only. */
static void cause_of_words(void *member)
{
    struct wire_fact *fact = member;
    fact->ending.cause = old_end_cause(fact->ending.by, fact->remark);
}

static const struct codec_hooks cause_hooks = { .absent = cause_of_words };
static const struct codec_row cause_rows[] = {
    ROW(U8, struct wire_fact, ending.cause, "where by does not say all", .max = END_CAUSE_N - 1),
    ROW_END,
};
static bool is_of_image(const void *base)
{
    return ((const struct wire_fact *)base)->kind == WIRE_FACT_IMAGE;
}

static const struct codec_row image_news_rows[] = {
    ROW(U8, struct image_progress, step, "1 pinned, 2 fetches, 3 ready, 4 failed", .min = 1,
        .max = IMAGE_FAILED),
    ROW(TEXT, struct image_progress, name, "as the launch has it"),
    ROW(TEXT, struct image_progress, digest, "SHA-256 of its manifest; empty: not known"),
    ROW(U64, struct image_progress, bytes, "that were fetched"),
    ROW(U64, struct image_progress, total, "of so many; 0: not known"),
    ROW(U64, struct image_progress, took_ms, "since it was asked for"),
    ROW(TEXT, struct image_progress, problem, "why it cannot be had"),
    ROW_END,
};
static const struct codec_row fact_rows[] = {
    ROW(U8, struct wire_fact, kind, "1 started, 2 ended, 3 refused, 4 released, 5 died, 6 image",
        .min = 1, .max = WIRE_FACT_N - 1),
    TASK(struct wire_fact),
    ATTEMPT(struct wire_fact),
    ROW(U64, struct wire_fact, at_ms, "when; milliseconds since 1970"),
    ROW(U32, struct wire_fact, pid, "of its program"),
    ROW(U64, struct wire_fact, log_end, "where its log ends"),
    ROW_SAME(STRUCT, "ending", "how it ended", .table = ending_rows),
    ROW(STRUCT, struct wire_fact, image, "of an image", .table = image_news_rows,
        .only = is_of_image),
    ROW(U64, struct wire_fact, wakeup,
        "in which it saw the end: ends of one are a tie; 0: not known", .flags = CODEC_LATER),
    ROW_SAME(STRUCT, "cause", "", .table = cause_rows, .hooks = &cause_hooks, .flags = CODEC_LATER),
    ROW_END,
};
static const struct codec_row log_rows[] = {
    TASK(struct wire_log),
    ATTEMPT(struct wire_log),
    ROW(U64, struct wire_log, end, "where its log ends"),
    ROW_END,
};
static const struct codec_row log_bytes_rows[] = {
    TASK(struct wire_log_bytes),
    ATTEMPT(struct wire_log_bytes),
    ROW(TEXT, struct wire_log_bytes, role, "name of the task's role"),
    ROW(U64, struct wire_log_bytes, head, "bytes kept of the front of the log"),
    ROW(U64, struct wire_log_bytes, tail, "and of its end; both 0: all"),
    ROW(U64, struct wire_log_bytes, segment, "offset that names the segment"),
    ROW(U64, struct wire_log_bytes, from,
        "what it follows; less than offset: the bytes between were dropped over the cap"),
    ROW(U64, struct wire_log_bytes, offset,
        "of the first record; without one, where the log ends now"),
    ROW_BYTES(REST, struct wire_log_bytes, at, len,
              "whole records; none: how far does the copy reach?"),
    ROW_END,
};
static const struct codec_row log_kept_rows[] = {
    TASK(struct wire_log_kept_ack),
    ATTEMPT(struct wire_log_kept_ack),
    ROW(U64, struct wire_log_kept_ack, offset, "the copy is complete up to here"),
    ROW(FLAG, struct wire_log_kept_ack, again, "what was sent beyond is dropped: go on from here"),
    ROW_END,
};
static const struct codec_row exec_rows[] = {
    CHANNEL(struct wire_exec),
    TASK(struct wire_exec),
    ATTEMPT(struct wire_exec),
    ROW_WORDS(struct wire_exec, argv, "command; none: a login shell"),
    ROW(FLAG, struct wire_exec, tty, "on a terminal"),
    ROW(U32, struct wire_exec, rows, "of the terminal"),
    ROW(U32, struct wire_exec, cols, "of the terminal"),
    ROW(U32, struct wire_exec, window, "bytes each way that REACHED has not named, at most",
        .flags = CODEC_TAIL),
    ROW(U32, struct wire_exec, port,
        "of the task: a connection to it, in place of a command; 0: none", .max = 65535,
        .flags = CODEC_TAIL),
    ROW_END,
};
static const struct codec_row data_rows[] = {
    CHANNEL(struct wire_data),
    ROW_BYTES(REST, struct wire_data, at, len, "none: that stream ends"),
    ROW_END,
};
static const struct codec_row resize_rows[] = {
    CHANNEL(struct wire_resize),
    ROW(U32, struct wire_resize, rows, "of the terminal"),
    ROW(U32, struct wire_resize, cols, "of the terminal"),
    ROW_END,
};
static const struct codec_row exit_rows[] = {
    CHANNEL(struct wire_exit),
    ROW(U32, struct wire_exit, code, "exit code, 128 + signal, or 127"),
    ROW_END,
};
static const struct codec_row attach_rows[] = {
    CHANNEL(struct wire_attach),
    TASK(struct wire_attach),
    ATTEMPT(struct wire_attach),
    ROW(U64, struct wire_attach, session, "the client's own number, the same when it comes again"),
    ROW(U64, struct wire_attach, offset, "of the log, from which on it is sent"),
    ROW(U32, struct wire_attach, rows, "of the client's terminal; 0: none"),
    ROW(U32, struct wire_attach, cols, "of the client's terminal; 0: none"),
    ROW_END,
};
static const struct codec_row reached_rows[] = {
    CHANNEL(struct wire_reached_report),
    ROW(U64, struct wire_reached_report, input, "bytes of the session that the stdin has taken"),
    ROW(U64, struct wire_reached_report, output,
        "place in the log after the next output; of a command: bytes that its client has taken"),
    ROW_END,
};
static const struct codec_row launcher_rows[] = {
    CHANNEL(struct wire_launcher),
    TASK(struct wire_launcher),
    ATTEMPT(struct wire_launcher),
    ROW_END,
};
static const struct codec_row signal_rows[] = {
    ROW(U32, struct wire_signal, number, "of the answer"),
    TASK(struct wire_signal),
    ATTEMPT(struct wire_signal),
    ROW(U32, struct wire_signal, signal, "for its processes", .min = 1, .max = 64),
    ROW_END,
};
static const struct codec_row signalled_rows[] = {
    ROW(U32, struct wire_signalled_report, number, "of the question"),
    ROW(U32, struct wire_signalled_report, heard, "processes it was sent to"),
    ROW_END,
};
static const struct codec_row want_rows[] = {
    ROW(TEXT, struct wire_code_request, hash,
        "SHA-256 of the whole archive, 64 hexadecimal digits"),
    ROW(U64, struct wire_code_request, offset, "of the piece"),
    ROW(U32, struct wire_code_request, len, "of the piece, at most 262144 bytes"),
    ROW_END,
};
static const struct codec_row piece_rows[] = {
    ROW(U64, struct wire_piece, offset, "of the piece"),
    ROW(U64, struct wire_piece, size, "of the whole archive; 0: there is none for this job"),
    ROW_BYTES(REST, struct wire_piece, at, len, "the piece"),
    ROW_END,
};

/* ---- frames ---- */

#define TO_SERVER "agent to server"
#define TO_AGENT  "server to agent"
#define FROM_HOST "host to server"
#define TO_HOST   "server to host"
#define BOTH      "both ways"
#define MESSAGE(id, type, table, from, text)                                                       \
    [WIRE_##id] = { .name = #id,                                                                   \
                    .kind = WIRE_##id,                                                             \
                    .rows = table,                                                                 \
                    .size = sizeof(type),                                                          \
                    .way = from,                                                                   \
                    .doc = text }
#define PLAIN(id, from, text)                                                                      \
    [WIRE_##id] = { .name = #id, .kind = WIRE_##id, .way = from, .doc = text }

const struct codec_message wire_messages[WIRE_KIND_N] = {
    MESSAGE(HELLO, struct wire_hello, hello_rows, TO_SERVER,
            "the first: who it is and what it has"),
    PLAIN(WELCOME, TO_AGENT, "sequence: facts up to it are committed"),
    MESSAGE(LAUNCH, struct launch, launch_rows, TO_AGENT,
            "what to start: one node's share of a generation"),
    MESSAGE(STOP, struct wire_stop, stop_rows, TO_AGENT, "what to end"),
    MESSAGE(FACT, struct wire_fact, fact_rows, TO_SERVER,
            "what happened; with a sequence, sent again until ACK"),
    PLAIN(ACK, TO_AGENT, "sequence: facts up to it are committed"),
    MESSAGE(LOG, struct wire_log, log_rows, TO_SERVER,
            "where an attempt's log ends now; may be left out"),
    PLAIN(RELEASE, TO_AGENT, "all facts are committed: leave"),
    PLAIN(PING, BOTH, "answered by PONG with the same sequence"),
    PLAIN(PONG, BOTH, "the answer"),
    MESSAGE(EXEC, struct wire_exec, exec_rows, TO_AGENT,
            "a command in the view of a task, on a channel"),
    MESSAGE(STDIN, struct wire_data, data_rows, "client to agent",
            "input of a command or of a task"),
    MESSAGE(STDOUT, struct wire_data, data_rows, "agent to client", "output"),
    MESSAGE(STDERR, struct wire_data, data_rows, "agent to client", "output"),
    MESSAGE(RESIZE, struct wire_resize, resize_rows, "client to agent",
            "its terminal has another size"),
    MESSAGE(EXIT, struct wire_exit, exit_rows, "agent to client",
            "the command is over. From the server only the channel: the client is gone"),
    MESSAGE(LAUNCHER_OPEN, struct wire_launcher, launcher_rows, TO_SERVER,
            "a launcher inside a task has connected, on a channel that ends with the connection"),
    MESSAGE(LAUNCHER_DATA, struct wire_data, data_rows, BOTH,
            "a piece of the stream of launchers' frames, below"),
    MESSAGE(LAUNCHER_CLOSE, struct wire_data, data_rows, BOTH, "no bytes: the channel is closed"),
    MESSAGE(SIGNAL, struct wire_signal, signal_rows, TO_AGENT,
            "a signal to the processes of an attempt"),
    MESSAGE(SIGNALLED, struct wire_signalled_report, signalled_rows, TO_SERVER, "the answer"),
    MESSAGE(
        ATTACH, struct wire_attach, attach_rows, TO_AGENT,
        "joins a client to a task: STDIN goes to its stdin, its log comes as STDOUT and STDERR"),
    MESSAGE(REACHED, struct wire_reached_report, reached_rows, "agent to client",
            "how far input and output are. Of a command with a window the agent tells the server "
            "of its input, and the server the agent of its output"),
    MESSAGE(HOST_HELLO, struct wire_host_hello, wire_host_hello_rows, FROM_HOST,
            "of the process that starts agents on a machine: the first, and again when something "
            "of it changed"),
    [WIRE_HOST_RUNS] = { .name = "HOST_RUNS",
                         .kind = WIRE_HOST_RUNS,
                         .rows = wire_host_runs_rows,
                         .size = sizeof(struct wire_host_runs),
                         .good = wire_host_runs_good,
                         .way = FROM_HOST,
                         .doc = "once after the first HOST_HELLO of a connection: all that it has; "
                                "nothing is sent to it before" },
    [WIRE_HOST_START] = { .name = "HOST_START",
                          .kind = WIRE_HOST_START,
                          .rows = wire_host_start_rows,
                          .size = sizeof(struct wire_host_start),
                          .good = wire_host_start_good,
                          .way = TO_HOST,
                          .doc = "an agent is to run. Where it runs: nothing. Where it is "
                                 "over: HOST_ENDED again, until HOST_CLEAN" },
    MESSAGE(HOST_END, struct wire_host_end, wire_host_end_rows, TO_HOST,
            "whatever lives of it is killed; HOST_ENDED follows"),
    MESSAGE(HOST_ENDED, struct wire_host_ended_report, wire_host_ended_rows, FROM_HOST,
            "nothing of it lives, or it could not be started"),
    MESSAGE(HOST_CLEAN, struct wire_host_clean, wire_host_clean_rows, TO_HOST,
            "its directory may go, once nothing of it lives"),
    MESSAGE(LOG_BYTES, struct wire_log_bytes, log_bytes_rows, TO_SERVER,
            "a piece of an attempt's log, for the server's copy, where the agent sends its logs"),
    MESSAGE(LOG_KEPT, struct wire_log_kept_ack, log_kept_rows, TO_AGENT,
            "how far the server's copy reaches"),
    MESSAGE(WANT, struct wire_code_request, want_rows, TO_SERVER,
            "a piece of the archive that the code of its job is in"),
    MESSAGE(PIECE, struct wire_piece, piece_rows, TO_AGENT, "the answer"),
    MESSAGE(FILE, struct launch_file, file_rows, TO_AGENT,
            "is to lie in the agent's directory for the LAUNCH that follows"),
    [WIRE_HOST_JOIN] = { .name = "HOST_JOIN",
                         .kind = WIRE_HOST_JOIN,
                         .rows = wire_host_join_rows,
                         .size = sizeof(struct wire_host_join),
                         .good = wire_host_join_good,
                         .way = FROM_HOST,
                         .doc = "a node of an allocation wants to be one of the server's. Its "
                                "connection was let in by a token that all nodes of the allocation "
                                "have; the next one is by its own. It may say it again" },
    MESSAGE(HOST_JOINED, struct wire_host_joined_answer, wire_host_joined_rows, TO_HOST,
            "the answer, once it is committed"),
    MESSAGE(SECRETS, struct wire_secrets, secrets_rows, TO_AGENT,
            "values of secrets that tasks get; before the LAUNCH that names them, and when one is "
            "another"),
    MESSAGE(HOST_IMAGE, struct wire_host_image, wire_host_image_rows, TO_HOST,
            "an image for a job that waits is to come, where HOST_HELLO said that it does that; "
            "one after the other"),
    MESSAGE(HOST_IMAGE_DROP, struct wire_host_image_drop, wire_host_image_drop_rows, TO_HOST,
            "it is not wanted any more: what has come of it goes"),
    MESSAGE(HOST_IMAGE_NEWS, struct wire_host_image_report, wire_host_image_news_rows, FROM_HOST,
            "how far it is, about once a second; the last says that it is there, or why not"),
    MESSAGE(HOST_STORE, struct wire_host_store_report, wire_host_store_rows, FROM_HOST,
            "what images take on the machine: after HOST_RUNS where there are any, and when that "
            "has become another"),
};

void wire_put_as(struct buf *out, enum wire_kind kind, uint64_t seq, const void *message)
{
    size_t mark = wire_begin(out, kind, seq);
    codec_put(out, wire_messages[kind].rows, message);
    wire_end(out, mark);
}

int wire_get_as(const struct wire_frame *frame, struct arena *arena, enum wire_kind kind,
                void *message)
{
    return codec_get_message(wire_read(frame), arena, &wire_messages[kind], message);
}

void wire_put_data(struct buf *out, enum wire_kind kind, uint32_t channel, const void *data,
                   size_t len)
{
    size_t mark = wire_begin(out, kind, 0);
    codec_put(out, data_rows, &(struct wire_data){ .channel = channel, .at = data, .len = len });
    wire_end(out, mark);
}

void wire_put_plain(struct buf *out, enum wire_kind kind, uint64_t seq)
{
    wire_end(out, wire_begin(out, kind, seq));
}
