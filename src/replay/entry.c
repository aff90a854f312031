/* The entries of a recording as tables of their members (doc/protocol.md has them too). What of a
 * submission may hold a secret (its text, variables, options) is sealed with the server's key; the
 * rest is in clear. Recordings of before are read: a row is only ever added where a bit or the kind
 * says that it is there. */
#include "replay/entry.h"

#include "base/mem.h"
#include "documents/board.h"
#include "job/gpu.h"
#include "job/image_progress.h"
#include "job/old_ending.h"
#include "wire/message.h"

#include <stdio.h>
#include <string.h>

/* A text that is "" where nothing was written. */
#define NAME(st, member, doc)  ROW(MAYBE, st, member, doc, .unset = "")
#define MAYBE(st, member, doc) ROW(MAYBE, st, member, doc)
#define OWNER(st)              NAME(st, owner, "who asks")

static struct wire_reader reader_of(const struct frame *frame)
{
    return (struct wire_reader){ .at = frame->body, .end = frame->body + frame->len };
}

/* ---- devices ---- */

/* What placing asks of devices: models, and how near they are. */
static void put_report(struct buf *out, const void *member, const void *before)
{
    const struct gpu_report *report = *(struct gpu_report *const *)member;
    uint32_t n = report ? report->n_slots : 0;
    (void)before;
    wire_put_u32(out, n);
    for (uint32_t i = 0; i < n; i++)
        wire_put_str(out, gpu_in_slot(report, i)->model);
    if (n == 0)
        return;
    wire_put_u8(out, report->near != NULL);
    for (size_t i = 0; report->near && i < (size_t)n * n; i++)
        wire_put_u32(out, report->near[i]);
}

static void get_near(const struct codec_source *in, struct gpu_report *report)
{
    struct wire_reader *from = in->from;
    size_t pairs = (size_t)report->n_slots * report->n_slots;
    if (!wire_get_u8(from))
        return;
    from->bad |= (size_t)(from->end - from->at) / 4 < pairs;
    report->near = from->bad ? NULL : ARENA_ARRAY(in->arena, pairs, uint32_t);
    for (size_t i = 0; report->near && i < pairs; i++)
        report->near[i] = wire_get_u32(from);
}

static void get_report(const struct codec_source *in, void *member, const void *before)
{
    struct gpu_report *report = ARENA_NEW(in->arena, struct gpu_report);
    uint32_t n = wire_get_count(in->from, 4);
    (void)before;
    *report = (struct gpu_report){ .driver = "",
                                   .error = "",
                                   .at = ARENA_ARRAY(in->arena, n, struct gpu_device),
                                   .n = n,
                                   .n_slots = n };
    for (uint32_t i = 0; i < n; i++) {
        const char *model = wire_get_str(in->from, in->arena);
        report->at[i] = (struct gpu_device){ .number = i,
                                             .slot = i,
                                             .offered = true,
                                             .model = model ? model : "",
                                             .uuid = "",
                                             .pci = "",
                                             .error = "" };
    }
    if (n > 0)
        get_near(in, report);
    *(struct gpu_report **)member = n > 0 ? report : NULL;
}

static const struct codec_hooks report_hooks = {
    .put = put_report,
    .get = get_report,
    .least = 4,
    .bytes =
        "count, text of each: its model; where there are any u8: 0, or 1 and count x count u32: "
        "how near each two are",
};
#define REPORT(st) ROW(CUSTOM, st, report, "devices by their slots", .hooks = &report_hooks)

/* ---- the header ---- */

struct recorded_node {
    struct node_spec spec;
    uint32_t mark;
};
struct recorded_header {
    struct recording_header said; /* without nodes and marks */
    struct recorded_node *nodes;
};
static const struct codec_row custom_rows[] = {
    NAME(struct amount, name, "of the resource"),
    ROW(U64, struct amount, milli, "thousandths"),
    ROW_END,
};
#define NODE_SPEC                                                                                  \
    NAME(struct node_spec, name, "of the node"),                                                   \
        NAME(struct node_spec, address, "where peers reach it"),                                   \
        NAME(struct node_spec, host, "whose ports it shares"),                                     \
        NAME(struct node_spec, gpu_type, "model of its devices"),                                  \
        ROW(U64, struct node_spec, cpu_milli, "thousandths of a processor"),                       \
        ROW(U64, struct node_spec, memory, "bytes"), ROW(U64, struct node_spec, disk, "bytes"),    \
        ROW(U32, struct node_spec, gpus, "devices"),                                               \
        ROW(U64, struct node_spec, price_milli, "what a spot job has to bid"),                     \
        ROW(FLAG, struct node_spec, declared, "may be larger than the machine"),                   \
        ROW(PAIRS, struct node_spec, labels, "by name"),                                           \
        ROW_MANY(LIST, struct node_spec, custom.at, custom.n, "resources", .table = custom_rows),  \
        REPORT(struct node_spec)
static const struct codec_row node_rows[] = {
    NODE_SPEC,
    ROW(U32, struct recorded_node, mark, "where ports are looked for next; 0: from the start"),
    ROW_END,
};
static const struct codec_row header_rows[] = {
    NAME(struct recording_header, version, "of muster"),
    ROW(FLAG, struct recording_header, started, "a server began here; else it went on"),
    ROW(U64, struct recording_header, at_ms, "wall clock"),
    ROW(U64, struct recording_header, mono_us, "the core's clock"),
    ROW(U64, struct recording_header, created_ms, "when the records were made"),
    ROW(U64, struct recording_header, first, "number of its first input"),
    ROW(U64, struct recording_header, meetings, "how many rendezvous there are"),
    NAME(struct recording_header, hash, "of the state; none: it began"),
    ROW(MAYBE, struct recording_header, admin, "the server's user", .unset = "root"),
    NAME(struct recording_header, state_dir, "of the server"),
    NAME(struct recording_header, runs_dir, "of the server"),
    ROW(U32, struct recording_header, caps, "what its engine can do"),
    ROW(PAIRS, struct recording_header, settings, "text by key"),
    ROW(PAIRS, struct recording_header, trees, "JSON by key, where a text says too little"),
    ROW_MANY(LIST, struct recorded_header, nodes, said.n_nodes, "all", .table = node_rows,
             .min = 1),
    ROW_END,
};

void entry_put_header(struct buf *out, const struct recording_header *h)
{
    struct recorded_header all = { .said = *h };
    all.nodes = mem_new((h->n_nodes ? h->n_nodes : 1) * sizeof *all.nodes);
    for (uint32_t i = 0; i < h->n_nodes; i++)
        all.nodes[i] = (struct recorded_node){ h->nodes[i], h->marks ? h->marks[i] : 0 };
    codec_put(out, header_rows, &all);
    free(all.nodes);
}

bool entry_get_header(const struct frame *frame, struct arena *a, struct recording_header *h)
{
    struct recorded_header all = { .said = { .caps = 0 } };
    if (frame->kind != FRAME_HEADER || codec_get(reader_of(frame), a, header_rows, &all) != 0)
        return false;
    *h = all.said;
    h->nodes = ARENA_ARRAY(a, h->n_nodes, struct node_spec);
    h->marks = ARENA_ARRAY(a, h->n_nodes, uint32_t);
    for (uint32_t i = 0; i < h->n_nodes; i++) {
        h->nodes[i] = all.nodes[i].spec;
        h->marks[i] = all.nodes[i].mark;
    }
    return true;
}

/* ---- submissions ---- */

struct recorded_submit {
    struct submission said;
    bool sealed;
};
enum { PYTHON = 16, ACCOUNT = 64 }; /* bits below */

/* Whose members are sealed, in arena. */
static struct submission seal_submit(struct arena *a, const struct submission *s,
                                     const struct seal *seal)
{
    struct submission sealed = *s;
    const char **sets = ARENA_ARRAY(a, s->sets.n, const char *);
    sealed.env = (struct pairs){ .n = 0 };
    if (s->text) {
        AUTO_FREE char *text = seal_text(seal, s->text, s->len);
        sealed.text = arena_strdup(a, text);
        sealed.len = strlen(text);
    }
    for (size_t i = 0; i < s->env.n; i++) {
        AUTO_FREE char *value = seal_text(seal, s->env.at[i].value, strlen(s->env.at[i].value));
        pairs_set(&sealed.env, a, s->env.at[i].name, value);
    }
    for (size_t i = 0; i < s->sets.n; i++) {
        AUTO_FREE char *set = seal_text(seal, s->sets.at[i], strlen(s->sets.at[i]));
        sets[i] = arena_strdup(a, set);
    }
    sealed.sets.at = sets;
    return sealed;
}

/* In place. false: sealed with another key, or damaged. */
static bool reveal_submit(struct arena *a, struct submission *s, const struct seal *seal)
{
    const char **sets = ARENA_ARRAY(a, s->sets.n, const char *);
    bool good = true;
    if (s->text) {
        s->text = seal_reveal(seal, a, s->text);
        s->len = s->text ? strlen(s->text) : 0;
        good = s->text != NULL;
    }
    for (size_t i = 0; i < s->env.n; i++)
        good = (s->env.at[i].value = seal_reveal(seal, a, s->env.at[i].value)) && good;
    for (size_t i = 0; i < s->sets.n; i++)
        good = (sets[i] = seal_reveal(seal, a, s->sets.at[i])) && good;
    s->sets.at = sets;
    return good;
}

static const struct codec_row account_rows[] = {
    NAME(struct account, name, "of the account"),
    NAME(struct account, home, "directory"),
    NAME(struct account, shell, "program"),
    ROW(U32, struct account, ids.uid, "user"),
    ROW(U32, struct account, ids.gid, "group"),
    ROW_MANY(LIST, struct account, ids.groups, ids.n_groups, "all others", .table = codec_u32,
             .max = ACCOUNT_GROUPS_MAX),
    ROW_END,
};
static const struct codec_row submit_bits[] = {
    ROW(FLAG, struct submission, wait_for_nodes, "wait although larger than the cluster"),
    ROW(FLAG, struct submission, apply, "a live job of that name is changed"),
    ROW(FLAG, struct submission, replace, "the job of like makes way"),
    ROW(FLAG, struct submission, unique, "the name has to be new"),
    MAYBE(struct submission, python, "there is one"),
    ROW(FLAG, struct recorded_submit, sealed, "text, values of env and sets are"),
    ROW_POINTER(struct submission, account, "there is one"),
    ROW_END,
};
static const struct codec_row submit_rows[] = {
    OWNER(struct submission),
    ROW_BYTES(BLOB, struct submission, text, len, "of the job"),
    MAYBE(struct submission, from, "format"),
    MAYBE(struct submission, name, "instead of the text's"),
    MAYBE(struct submission, queue, "instead of the text's"),
    ROW(PAIRS, struct submission, env, "variables"),
    ROW_WORDS(struct submission, sets, "options"),
    MAYBE(struct submission, file, "name for messages"),
    MAYBE(struct submission, code_dir, "directory"),
    MAYBE(struct submission, work_dir, "directory"),
    MAYBE(struct submission, key, "of which only one is taken"),
    ROW_SAME(BITS, "flags", "", .table = submit_bits),
    ROW(U64, struct submission, like, "without a text: the job to submit again"),
    ROW(MAYBE, struct submission, python, "interpreter", .bit = PYTHON),
    ROW(MAYBE, struct submission, python_from, "what led to it", .bit = PYTHON, .unset = ""),
    ROW_POINTER(struct submission, account, "of the owner", .bit = ACCOUNT, .table = account_rows),
    ROW_END,
};

/* ---- other calls ---- */

static const struct codec_row restart_rows[] = {
    OWNER(struct ctl_restart),
    ROW(U64, struct ctl_restart, job, "number"),
    MAYBE(struct ctl_restart, reason, "why"),
    ROW(U8, struct ctl_restart, how, "0 a wish, 1 counted, 2 never again", .max = RESTART_NEVER),
    ROW_WORDS(struct ctl_restart, tasks, "none: the whole job"),
    ROW_END,
};
static const struct codec_row declaration_rows[] = {
    OWNER(struct declaration),
    ROW_BYTES(BLOB, struct declaration, text, len, "YAML or JSON", .unset = ""),
    ROW_END,
};
static const struct codec_row board_rows[] = {
    OWNER(struct board_request),
    ROW(U64, struct board_request, job, "number"),
    NAME(struct board_request, key, "on the board"),
    ROW_BYTES(BLOB, struct board_request, value, len, "for the key", .unset = ""),
    ROW_END,
};

/* Which, not what they say: an empty map stands for a text. */
static void put_spec(struct buf *out, const void *member, const void *before)
{
    (void)before;
    wire_put_u8(out, *(const struct text_node *const *)member != NULL);
}

static void get_spec(const struct codec_source *in, void *member, const void *before)
{
    (void)before;
    if (wire_get_u8(in->from))
        *(const struct text_node **)member = text_map(in->arena, NULL, NULL);
}

static const struct codec_hooks spec_hooks = {
    .put = put_spec,
    .get = get_spec,
    .least = 1,
    .bytes = "u8: 0 it is removed, 1 it is put",
};
static const struct codec_row object_rows[] = {
    NAME(struct document, kind, "with a point in it"),
    NAME(struct document, project, "of the object"),
    NAME(struct document, name, "of the object"),
    ROW(CUSTOM, struct document, spec, "not what it says", .hooks = &spec_hooks),
    ROW_END,
};
static const struct codec_row objects_bits[] = {
    ROW(FLAG, struct document_changes, create, "none of them may be there"),
    ROW(FLAG, struct document_changes, told, "each change is an event"),
    ROW_END,
};
static const struct codec_row objects_rows[] = {
    NAME(struct document_changes, by, "who asks"),
    ROW_SAME(BITS, "flags", "", .table = objects_bits),
    ROW(U8, struct document_changes, hold, "of the job: 0 nothing, 1 hold it, 2 let it go",
        .max = DOCUMENT_LET_GO),
    ROW_MANY(LIST, struct document_changes, at, n, "all or none", .table = object_rows),
    ROW_END,
};

/* ---- facts ---- */

enum { WAKEUP = 8, CAUSE = 16 }; /* bits below */

static bool has_ending(const void *base)
{
    const struct engine_fact *f = base;
    return f->kind == FACT_ENDED || f->kind == FACT_REFUSED || f->kind == FACT_DIED;
}

static bool has_launcher(const void *base)
{
    return ((const struct engine_fact *)base)->kind == FACT_LAUNCHER;
}

static bool is_of_image(const void *base)
{
    return ((const struct engine_fact *)base)->kind == FACT_IMAGE;
}

static bool always(const void *member)
{
    return member != NULL;
}

/* A recording of an older version has it in words only: good_fact finds it there. */
static void cause_not_said(void *member)
{
    *(enum end_cause *)member = END_CAUSE_N;
}

static const struct codec_hooks cause_hooks = { .says = always, .absent = cause_not_said };
static const struct codec_row ending_bits[] = {
    ROW(FLAG, struct engine_fact, ending.exited, "code is valid"),
    ROW(FLAG, struct engine_fact, ending.oom, "killed for memory"),
    ROW(FLAG, struct engine_fact, ending.lost, "nobody saw the end"),
    ROW(U64, struct engine_fact, wakeup, "it is known"),
    ROW(U8, struct engine_fact, ending.cause, "it follows", .hooks = &cause_hooks),
    ROW_END,
};
static const struct codec_row ending_rows[] = {
    ROW_SAME(BITS, "flags", "", .table = ending_bits),
    ROW(U64, struct engine_fact, wakeup, "ends of one node with the same are a tie", .bit = WAKEUP),
    ROW(U8, struct engine_fact, ending.cause, "where by does not say all", .max = END_CAUSE_N - 1,
        .bit = CAUSE, .hooks = &cause_hooks),
    ROW(U32, struct engine_fact, ending.code, "exit code"),
    ROW(U32, struct engine_fact, ending.signal, "that it died of"),
    ROW(U8, struct engine_fact, ending.by, "who ended it", .max = END_BY_N - 1),
    MAYBE(struct engine_fact, remark, "where the numbers do not say all"),
    ROW(U64, struct engine_fact, ending.memory_peak, "bytes; 0: not known"),
    MAYBE(struct engine_fact, ending.tail, "last lines of output"),
    ROW_END,
};
static const struct codec_row launcher_rows[] = {
    ROW(U32, struct engine_fact, launcher.channel, "of its node's agent"),
    ROW(U8, struct engine_fact, launcher.what, "1 open, 2 data, 3 close", .min = LAUNCHER_OPEN,
        .max = LAUNCHER_CLOSE),
    ROW_BYTES(BYTES, struct engine_fact, launcher.bytes, launcher.len, "what it said"),
    ROW_END,
};
static const struct codec_row image_rows[] = {
    ROW(U8, struct image_progress, step,
        "1 pinned, 2 fetches, 3 ready, 4 failed, 5 to 7 as 2 to 4 of one that comes early",
        .min = 1, .max = IMAGE_STEP_N - 1),
    NAME(struct image_progress, name, "as it was asked for"),
    NAME(struct image_progress, digest, "SHA-256 of its manifest"),
    ROW(U64, struct image_progress, bytes, "that were fetched"),
    ROW(U64, struct image_progress, total, "of so many; 0: not known"),
    ROW(U64, struct image_progress, took_ms, "since it was asked for"),
    NAME(struct image_progress, problem, "why it cannot be had"),
    ROW_END,
};
static const struct codec_row fact_rows[] = {
    ROW(U8, struct engine_fact, kind, "FACT_... of engine/engine.h, in that order", .min = 1,
        .max = FACT_N - 1),
    ROW(STRUCT, struct engine_fact, generation, "", .table = wire_generation_rows),
    NAME(struct engine_fact, node, "name"),
    ROW(U64, struct engine_fact, seq, "of the agent's facts; 0: none"),
    ROW(STRUCT, struct engine_fact, task, "", .table = wire_task_rows),
    ROW(U32, struct engine_fact, attempt,
        "of the task; of AGENT_JOINED the last launch it has; "
        "of AGENT_SILENT milliseconds since it was heard"),
    ROW(U64, struct engine_fact, at_ms, "when it happened"),
    ROW(U32, struct engine_fact, pid, "of its program"),
    ROW(U64, struct engine_fact, log_end, "where its log ends"),
    MAYBE(struct engine_fact, reason, "of a node or agent that is gone"),
    ROW_SAME(STRUCT, "end", "of ENDED REFUSED DIED", .table = ending_rows, .only = has_ending),
    ROW_SAME(STRUCT, "said", "of LAUNCHER", .table = launcher_rows, .only = has_launcher),
    ROW_POINTER(struct engine_fact, image, "of IMAGE", .table = image_rows, .only = is_of_image),
    ROW_END,
};

static const struct codec_row spec_rows[] = {
    NODE_SPEC,
    ROW(U64, struct node_spec, lasts_ms, "how long jobs there may last; 0: without end"),
    MAYBE(struct node_spec, engine, "that gave it"),
    ROW(U64, struct node_spec, for_job, "id of the only job that may use it; 0: any",
        .flags = CODEC_TAIL),
    ROW(FLAG, struct node_spec, early_images, "images of jobs that wait can come to it",
        .flags = CODEC_TAIL),
    ROW(U32, struct node_spec, of_nodes, "that the allocation of its job has; 0: not known",
        .flags = CODEC_TAIL),
    ROW_END,
};
static const struct codec_row machine_fact_rows[] = {
    ROW(U64, struct engine_fact, at_ms, "when it happened"),
    ROW_POINTER(struct engine_fact, spec, "the node", .table = spec_rows),
    ROW_END,
};

/* ---- inputs ---- */

#define HEAD                                                                                       \
    ROW(U8, struct ctl_input, kind, "which input", .min = 1, .max = INPUT_N - 1),                  \
        ROW(U64, struct ctl_input, at_ms, "wall clock"),                                           \
        ROW(U64, struct ctl_input, mono_us, "the core's clock"),                                   \
        ROW(U32, struct ctl_input, pass, "plans of the outer input until then")
#define INPUT(member, rows)                                                                        \
    (const struct codec_row[])                                                                     \
    {                                                                                              \
        HEAD, ROW_POINTER(struct ctl_input, member, "", .table = rows), ROW_END                    \
    }

static const struct codec_row bare_rows[] = { HEAD, ROW_END };
static const struct codec_row submitted_rows[] = {
    HEAD,
    { .name = "submit",
      .type = CODEC_POINTER,
      .offset = offsetof(struct ctl_input, submit),
      .element = sizeof(struct recorded_submit),
      .table = submit_rows,
      .doc = "" },
    ROW_END,
};
static const struct codec_row command_rows[] = {
    HEAD,
    OWNER(struct ctl_input),
    ROW(U64, struct ctl_input, job, "number"),
    ROW(U8, struct ctl_input, what, "verb, or 6 + a priority", .max = CTL_PRIORITY_LAST),
    ROW_END,
};
static const struct codec_row undeclare_rows[] = {
    HEAD,
    OWNER(struct ctl_input),
    NAME(struct ctl_input, name, "of the entry"),
    ROW(U8, struct ctl_input, what, "kind of entry", .max = ENTRY_KIND_N - 1),
    ROW_END,
};
static const struct codec_row drain_rows[] = {
    HEAD,
    NAME(struct ctl_input, name, "of the node"),
    ROW(U8, struct ctl_input, what, "1 drain it, 0 no more"),
    ROW_END,
};
static const struct codec_row event_rows[] = {
    HEAD,
    NAME(struct ctl_input, name, "type of the event"),
    ROW_END,
};
static const struct codec_row device_rows[] = {
    HEAD,
    NAME(struct ctl_input, name, "of the node"),
    ROW(U32, struct ctl_input, what, "which device"),
    NAME(struct ctl_input, why, "it is closed; none: it is open"),
    ROW_END,
};
static const struct codec_row seen_rows[] = {
    HEAD,
    NAME(struct ctl_input, name, "of the node"),
    ROW(U32, struct ctl_input, what, "which device"),
    ROW_END,
};
static const struct codec_row devices_rows[] = {
    HEAD,
    NAME(struct ctl_input, name, "of the node"),
    REPORT(struct ctl_input),
    ROW_END,
};

#define MESSAGE(id, table, text)                                                                   \
    [INPUT_##id] = {                                                                               \
        .name = #id, .kind = INPUT_##id, .rows = table, .way = "to the core", .doc = text          \
    }

const struct codec_message entry_inputs[INPUT_N] = {
    MESSAGE(RECOVER, bare_rows, "it starts with what the records say"),
    MESSAGE(SUBMIT, submitted_rows, "a job"),
    MESSAGE(COMMAND, command_rows, "stop, suspend and the like"),
    MESSAGE(RESTART, INPUT(restart, restart_rows), "start a running job, or tasks of it, anew"),
    MESSAGE(DECLARE, INPUT(declaration, declaration_rows), "entries of the catalogue"),
    MESSAGE(UNDECLARE, undeclare_rows, "an entry less"),
    MESSAGE(BOARD, INPUT(board, board_rows), "a value on the board of a job"),
    MESSAGE(NODE, drain_rows, "drain a node"),
    MESSAGE(FACT, INPUT(fact, fact_rows), "of the engine"),
    MESSAGE(TURN, bare_rows, "the loop has read what was ready"),
    MESSAGE(TICK, bare_rows, "time has passed"),
    MESSAGE(PLAN, bare_rows, "plan, although nothing calls for it"),
    MESSAGE(OBJECTS, INPUT(objects, objects_rows), "documents of a facade, not what they say"),
    MESSAGE(EVENT, event_rows, "whose cause is not recorded: users, keys, tokens"),
    MESSAGE(DEVICE, device_rows, "a device is closed or open"),
    MESSAGE(DEVICES, devices_rows, "devices that are found later"),
    MESSAGE(SEEN, seen_rows, "a device was looked at before it is given on"),
    MESSAGE(MACHINE, INPUT(fact, machine_fact_rows), "a node came or changed"),
};

/* With a seal what may be secret goes out sealed. */
static void put_submit(struct buf *out, const struct ctl_input *in, const struct seal *seal)
{
    struct arena *arena = arena_create();
    struct ctl_input sealed = *in;
    struct recorded_submit submit = { .said = *in->submit, .sealed = seal != NULL };
    if (seal)
        submit.said = seal_submit(arena, in->submit, seal);
    sealed.submit = &submit.said;
    codec_put(out, submitted_rows, &sealed);
    arena_destroy(arena);
}

void entry_put_input(struct buf *out, const struct ctl_input *in, const struct seal *seal)
{
    if (in->kind == INPUT_SUBMIT)
        put_submit(out, in, seal);
    else
        codec_put(out, entry_inputs[in->kind].rows, in);
}

/* What was read into submitted_rows. */
static bool good_submit(struct ctl_input *in, struct arena *a, const struct seal *seal)
{
    struct recorded_submit *submit = (struct recorded_submit *)(uintptr_t)in->submit;
    return (submit->said.text || submit->said.like) &&
           (!submit->sealed || reveal_submit(a, &submit->said, seal));
}

static bool good_fact(struct ctl_input *in)
{
    struct engine_fact *fact = (struct engine_fact *)(uintptr_t)in->fact;
    if (fact->ending.cause == END_CAUSE_N)
        fact->ending.cause = old_end_cause(fact->ending.by, fact->remark);
    return fact->kind != FACT_LOG;
}

static bool good_machine(struct ctl_input *in)
{
    struct engine_fact *fact = (struct engine_fact *)(uintptr_t)in->fact;
    fact->kind = FACT_NODE_UP;
    fact->node = fact->spec->name;
    fact->reason = "";
    return *fact->node != '\0';
}

static bool good_kinds(const struct document_changes *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (!strchr(o->at[i].kind, '.'))
            return false;
    return true;
}

bool entry_get_input(const struct frame *frame, struct arena *a, const struct seal *seal,
                     struct ctl_input *in)
{
    uint8_t kind = frame->len > 0 ? frame->body[0] : 0;
    *in = (struct ctl_input){ .kind = INPUT_NONE };
    if (kind >= INPUT_N || !entry_inputs[kind].rows ||
        codec_get(reader_of(frame), a, entry_inputs[kind].rows, in) != 0)
        return false;
    switch (in->kind) {
    case INPUT_SUBMIT: return good_submit(in, a, seal);
    case INPUT_COMMAND: return in->what != CTL_PRIORITY;
    case INPUT_DEVICES: return in->report != NULL;
    case INPUT_FACT: return good_fact(in);
    case INPUT_MACHINE: return good_machine(in);
    case INPUT_OBJECTS: return good_kinds(in->objects);
    default: return true;
    }
}

/* ---- what follows an input ---- */

struct refusal_texts {
    enum ctl_outside_call asked;
    uint32_t ordinal;
    unsigned code;
    const char *what, *hint;
};
static const struct codec_row refusal_rows[] = {
    ROW(U8, struct refusal_texts, asked, "what of the world outside"),
    ROW(U32, struct refusal_texts, ordinal, "of all questions that the input asked, from 1"),
    ROW(U8, struct refusal_texts, code, "of the error"),
    NAME(struct refusal_texts, what, "of the error"),
    NAME(struct refusal_texts, hint, "of the error"),
    ROW_END,
};
static const struct codec_row decision_rows[] = {
    ROW(U64, struct ctl_decision, job, "id"),
    ROW(U64, struct ctl_decision, number, "of the job"),
    NAME(struct ctl_decision, name, "of the job"),
    NAME(struct ctl_decision, what, "type of the event, \"waits\" or \"promised\""),
    NAME(struct ctl_decision, text, "reason"),
    NAME(struct ctl_decision, nodes, "given"),
    ROW(U64, struct ctl_decision, at_ms, "promised: the time"),
    ROW_END,
};

#define OTHER(id, table, text)                                                                     \
    {                                                                                              \
        .name = #id, .kind = FRAME_##id, .rows = table, .way = "recorder", .doc = text             \
    }

const struct codec_message entry_others[3] = {
    OTHER(HEADER, header_rows, "the first: what the core was made of"),
    OTHER(REFUSED, refusal_rows, "what the world outside answered to the input before it"),
    OTHER(DECIDED, decision_rows, "what the core decided after the input before it"),
};

void entry_put_refusal(struct buf *out, const struct recorded_refusal *r)
{
    const struct refusal_texts texts = { .asked = r->what,
                                         .ordinal = r->ordinal,
                                         .code = r->err.code,
                                         .what = r->err.what,
                                         .hint = r->err.hint };
    codec_put(out, refusal_rows, &texts);
}

bool entry_get_refusal(const struct frame *frame, struct arena *a, struct recorded_refusal *r)
{
    struct refusal_texts texts = { .ordinal = 0 };
    if (codec_get(reader_of(frame), a, refusal_rows, &texts) != 0)
        return false;
    *r = (struct recorded_refusal){ .what = texts.asked, .ordinal = texts.ordinal };
    r->err.code = texts.code < ERR_N ? (enum err_code)texts.code : ERR_SYSTEM;
    snprintf(r->err.what, sizeof r->err.what, "%s", texts.what);
    snprintf(r->err.hint, sizeof r->err.hint, "%s", texts.hint);
    return true;
}

void entry_put_decision(struct buf *out, const struct ctl_decision *d)
{
    codec_put(out, decision_rows, d);
}

bool entry_get_decision(const struct frame *frame, struct arena *a, struct ctl_decision *d)
{
    *d = (struct ctl_decision){ .job = 0 };
    return codec_get(reader_of(frame), a, decision_rows, d) == 0;
}
