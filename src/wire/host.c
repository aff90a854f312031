/* Bodies of the frames between the server and the hosts of machines, as tables of their members;
 * which kinds they are stands with the others in message.c. */
#include "wire/host.h"

#include "wire/ids.h"

#include <string.h>

#define TEXT_MAX 256u

static const struct codec_row device_rows[] = {
    ROW(U32, struct wire_host_device, minor, "of /dev/nvidiaN"),
    ROW(TEXT, struct wire_host_device, model, "name of the model", .max = TEXT_MAX),
    ROW(TEXT, struct wire_host_device, uuid, "of the device", .max = TEXT_MAX),
    ROW(TEXT, struct wire_host_device, pci, "address on the bus", .max = TEXT_MAX),
    ROW(U64, struct wire_host_device, memory, "bytes"),
    ROW(TEXT, struct wire_host_device, error, "why it cannot be used; empty: it can",
        .max = TEXT_MAX),
    ROW_END,
};
const struct codec_row wire_host_hello_rows[] = {
    ROW(U32, struct wire_host_hello, version, "of the protocol: 1"),
    ROW(TEXT, struct wire_host_hello, node, "name of the node", .max = TEXT_MAX),
    ROW(TEXT, struct wire_host_hello, machine, "id of the machine", .max = TEXT_MAX),
    ROW(TEXT, struct wire_host_hello, boot, "id of its boot: nothing of another one lives",
        .max = TEXT_MAX),
    ROW(U32, struct wire_host_hello, pid, "process of the host"),
    ROW(U64, struct wire_host_hello, cpu_milli, "thousandths of processors that it may use"),
    ROW(U64, struct wire_host_hello, memory, "bytes"),
    ROW(U64, struct wire_host_hello, disk, "bytes that are free where runs lie"),
    ROW_MANY(LIST, struct wire_host_hello, devices, n_devices, "accelerators", .table = device_rows,
             .max = 256),
    ROW(TEXT, struct wire_host_hello, device_error,
        "why they are not, or not all, known; empty: they are", .max = TEXT_MAX),
    ROW(PAIRS, struct wire_host_hello, labels, "that the machine's owner gave it", .max = 256),
    ROW(U32, struct wire_host_hello, does, "1: it fetches images of jobs that wait (HOST_IMAGE)",
        .flags = CODEC_TAIL),
    ROW_END,
};

#define GENERATION(st) ROW(STRUCT, st, generation, "", .table = wire_generation_rows)

static const struct codec_row run_rows[] = {
    GENERATION(struct wire_host_run),
    ROW(U8, struct wire_host_run, state, "1 it lives, 2 nothing of it lives", .min = 1,
        .max = HOST_RUN_N - 1),
    ROW_END,
};
const struct codec_row wire_host_runs_rows[] = {
    ROW_MANY(LIST, struct wire_host_runs, runs, n_runs, "that have a directory", .table = run_rows),
    ROW_MANY(LIST, struct wire_host_runs, marks, n_marks,
             "of each, in the same order, as its HOST_START said; 0: it had none",
             .table = codec_u32, .flags = CODEC_TAIL),
    ROW_END,
};
const struct codec_row wire_host_start_rows[] = {
    GENERATION(struct wire_host_start),
    ROW_BYTES(BYTES, struct wire_host_start, token, token_len, "32, of the agent"),
    ROW(FLAG, struct wire_host_start, sandbox, "tasks have the rights of a container"),
    ROW(U64, struct wire_host_start, leave_ms,
        "how long its agent waits for the last acknowledgements; 0: as they take",
        .flags = CODEC_TAIL),
    ROW(MAYBE, struct wire_host_start, code, "SHA-256 of what its agent is to ask for (WANT)",
        .max = HOST_CODE, .flags = CODEC_TAIL),
    ROW(MAYBE, struct wire_host_start, marker,
        "text and path of a file: where it is there, so is the directory of the code",
        .max = HOST_MARKER, .flags = CODEC_TAIL),
    ROW(U32, struct wire_host_start, mark,
        "tells it from another run of that generation on the machine; the host keeps it",
        .flags = CODEC_TAIL),
    ROW_END,
};
const struct codec_row wire_host_end_rows[] = { GENERATION(struct wire_host_end), ROW_END };
const struct codec_row wire_host_ended_rows[] = {
    GENERATION(struct wire_host_ended_report),
    ROW(TEXT, struct wire_host_ended_report, reason, "for people", .max = TEXT_MAX),
    ROW_END,
};
const struct codec_row wire_host_clean_rows[] = { GENERATION(struct wire_host_clean), ROW_END };
const struct codec_row wire_host_join_rows[] = {
    ROW(U32, struct wire_host_join, version, "of the protocol: 1"),
    ROW(TEXT, struct wire_host_join, node,
        "as the engine of its allocation calls it; empty: which node is to be started again?",
        .max = TEXT_MAX),
    ROW(TEXT, struct wire_host_join, allocation, "the same of the allocation", .max = TEXT_MAX),
    ROW_BYTES(BYTES, struct wire_host_join, own, own_len, "32: the token it made"),
    ROW_END,
};
const struct codec_row wire_host_joined_rows[] = {
    ROW(TEXT, struct wire_host_joined_answer, node,
        "its name from here on, or the one that is to be started again; empty: it may not "
        "join, or there is none",
        .max = TEXT_MAX),
    ROW(TEXT, struct wire_host_joined_answer, reason,
        "why not, for people; of one that is to be started again the SHA-256 of its host's token",
        .max = TEXT_MAX),
    ROW_END,
};

const struct codec_row wire_host_image_rows[] = {
    ROW(U32, struct wire_host_image, number, "by which it is spoken of"),
    ROW(TEXT, struct wire_host_image, name, "of the image, with its digest", .max = 1024),
    ROW(U64, struct wire_host_image, limit, "bytes of all images there", .min = 1),
    ROW_WORDS(struct wire_host_image, keep, "digests of images that are not to go for it",
              .max = 64),
    ROW_BYTES(BLOB, struct wire_host_image, auth, auth_len,
              "credentials for its registry, as docker login writes them", .max = 1u << 20),
    ROW_END,
};
const struct codec_row wire_host_image_drop_rows[] = {
    ROW(U32, struct wire_host_image_drop, number, "of the image"),
    ROW_END,
};
const struct codec_row wire_host_image_news_rows[] = {
    ROW(U32, struct wire_host_image_report, number, "of the image"),
    ROW(U8, struct wire_host_image_report, step, "5 it comes, 6 it is there, 7 it did not come",
        .min = IMAGE_EARLY_FETCHES, .max = IMAGE_EARLY_FAILED),
    ROW(U64, struct wire_host_image_report, bytes,
        "that have come; there without any: it was there"),
    ROW(U64, struct wire_host_image_report, total, "0: not known"),
    ROW(U64, struct wire_host_image_report, took_ms, "since it began"),
    ROW(TEXT, struct wire_host_image_report, problem, "why it did not come", .max = 500),
    ROW_END,
};

const struct codec_row wire_host_store_rows[] = {
    ROW(TEXT, struct wire_host_store_report, dir, "where it lies on the machine", .max = 4096),
    ROW(U64, struct wire_host_store_report, images, "how many", .max = INT64_MAX),
    ROW(U64, struct wire_host_store_report, bytes, "of them all, as they count for the limit",
        .max = INT64_MAX),
    ROW(U64, struct wire_host_store_report, free, "bytes on its disk", .max = INT64_MAX),
    ROW_END,
};

bool wire_host_join_good(const void *message)
{
    return ((const struct wire_host_join *)message)->own_len == HOST_TOKEN;
}

bool wire_host_start_good(const void *message)
{
    const struct wire_host_start *start = message;
    return start->token_len == HOST_TOKEN &&
           (!start->code || (strlen(start->code) == HOST_CODE &&
                             strspn(start->code, "0123456789abcdef") == HOST_CODE));
}

bool wire_host_runs_good(const void *message)
{
    const struct wire_host_runs *all = message;
    return all->n_marks == 0 || all->n_marks == all->n_runs;
}
