/* Tables of the members that name a task or a generation, for the tables of all messages that have
 * one. */
#include "wire/ids.h"

const struct codec_row wire_task_rows[] = {
    ROW(U32, struct task_ref, role, "position of its role in the job"),
    ROW(U32, struct task_ref, index, "within the role, from 0"),
    ROW_END,
};
const struct codec_row wire_generation_rows[] = {
    ROW(U64, struct generation, job, "id of the job"),
    ROW(U32, struct generation, number, "start of the whole job, from 1"),
    ROW_END,
};
