/* Bodies of the frames between srun and the nodes of its job, as tables of their members. What a
 * node starts for srun is bounded here: words, variables, tasks. */
#include "wire/step.h"

enum { WORDS_MAX = 65536, VARIABLES_MAX = 65536, TEXT_BYTES = 128 << 10 };

static const struct codec_row share_rows[] = {
    ROW(U32, struct step_share, node, "among all of the job, the components one after the other"),
    ROW(U32, struct step_share, cpus, "cores"),
    ROW(U32, struct step_share, gpus, "devices"),
    ROW_END,
};
static const struct codec_row claim_rows[] = {
    ROW_MANY(LIST, struct step_claim, shares, n, "by node", .table = share_rows, .max = 65536),
    ROW_END,
};
static const struct codec_row gpus_rows[] = {
    ROW_MANY(LIST, struct step_gpus, at, n, "places among the node's devices", .table = codec_u32,
             .max = 1024),
    ROW_END,
};
static const struct codec_row grant_rows[] = {
    ROW(U32, struct step_grant, step, "number of the step in its job"),
    ROW_MANY(LIST, struct step_grant, gpus, n, "by share of the claim", .table = gpus_rows,
             .max = 65536),
    ROW_END,
};
static const struct codec_row task_rows[] = {
    ROW(U32, struct step_task, rank, "of the step"),
    ROW_WORDS(struct step_task, argv, "its own program; none: the step's", .max = WORDS_MAX),
    ROW_WORDS(struct step_task, env, "NAME=VALUE, besides the step's", .max = VARIABLES_MAX),
    ROW_END,
};
static const struct codec_row start_rows[] = {
    ROW(U32, struct step_start, step, "number of the step in its job"),
    ROW_WORDS(struct step_start, argv, "program and arguments", .max = WORDS_MAX),
    ROW_WORDS(struct step_start, env, "NAME=VALUE", .max = VARIABLES_MAX),
    ROW(TEXT, struct step_start, dir, "working directory", .max = 4096),
    ROW(MAYBE, struct step_start, path_front,
        "goes in front of the node's own PATH; none: env "
        "has the PATH",
        .max = TEXT_BYTES),
    ROW(FLAG, struct step_start, some_gpus, "gpus says which; else all that the node has"),
    ROW(STRUCT, struct step_start, gpus, "", .table = gpus_rows),
    ROW(U32, struct step_start, gpus_per_task, "each task sees so many of them; 0: all"),
    ROW(U32, struct step_start, cpus_per_task, "each task is bound to so many; 0: not bound"),
    ROW(FLAG, struct step_start, input, "INPUT comes for them"),
    ROW_MANY(LIST, struct step_start, tasks, n_tasks, "of this node", .table = task_rows, .min = 1,
             .max = STEP_TASKS_MAX),
    ROW_END,
};
static const struct codec_row data_rows[] = {
    ROW(U32, struct step_data, rank, "of the step; 4294967295: all of the node"),
    ROW(U32, struct step_data, stream, "1 stdout, 2 stderr; 0 of INPUT", .max = 2),
    ROW_BYTES(REST, struct step_data, at, len, "bytes; none: that was all"),
    ROW_END,
};
static const struct codec_row signal_rows[] = {
    ROW(U32, struct step_signal, signal, "for its tasks", .min = 1, .max = 64),
    ROW_END,
};
static const struct codec_row ended_rows[] = {
    ROW(U32, struct step_ended_task, rank, "of the step"),
    ROW(U32, struct step_ended_task, code, "exit code, when signal is 0", .max = 255),
    ROW(U32, struct step_ended_task, signal, "that it died of; 0: it exited", .max = 64),
    ROW(TEXT, struct step_ended_task, why, "it could not be started", .max = 4096),
    ROW_END,
};
static const struct codec_row beat_rows[] = {
    ROW(U64, struct step_beat, input_end,
        "of a node: bytes of INPUT that it takes, counted from the first; none: no bound",
        .flags = CODEC_TAIL),
    ROW_END,
};

#define TO_NODE "srun to a node"
#define TO_SRUN "node to srun"
#define MESSAGE(id, type, table, from, text)                                                       \
    [STEP_FRAME_##id - STEP_FRAME_CLAIM] = { .name = #id,                                          \
                                             .kind = STEP_FRAME_##id,                              \
                                             .rows = table,                                        \
                                             .size = sizeof(type),                                 \
                                             .way = from,                                          \
                                             .doc = text }

const struct codec_message step_messages[STEP_MESSAGES] = {
    MESSAGE(CLAIM, struct step_claim, claim_rows, "srun to the script's node",
            "a number for its step, and what the step holds while this connection lasts"),
    MESSAGE(GRANT, struct step_grant, grant_rows, "the script's node to srun",
            "the step has its number, and what it claimed is free"),
    MESSAGE(START, struct step_start, start_rows, TO_NODE, "start these tasks"),
    MESSAGE(INPUT, struct step_data, data_rows, TO_NODE, "bytes for their stdin"),
    MESSAGE(SIGNAL, struct step_signal, signal_rows, TO_NODE, "send it to the tasks"),
    MESSAGE(OUTPUT, struct step_data, data_rows, TO_SRUN, "bytes of a task"),
    MESSAGE(ENDED, struct step_ended_task, ended_rows, TO_SRUN,
            "a task has ended, and all that it wrote was sent before"),
    MESSAGE(BEAT, struct step_beat, beat_rows, "both ways", "it is alive"),
};

static const struct codec_message *message_of(enum step_frame kind)
{
    return &step_messages[kind - STEP_FRAME_CLAIM];
}

/* Only the byte in the frame matters: the lists of kinds do not meet. */
void step_put_as(struct buf *out, enum step_frame kind, const void *message)
{
    size_t mark = wire_begin(out, (enum wire_kind)kind, 0);
    if (message)
        codec_put(out, message_of(kind)->rows, message);
    wire_end(out, mark);
}

int step_get_as(const struct wire_frame *frame, struct arena *arena, enum step_frame kind,
                void *message)
{
    struct wire_reader from = { .at = frame->body, .end = frame->body + frame->len };
    return codec_get_message(from, arena, message_of(kind), message);
}
