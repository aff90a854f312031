/* Whom most messages are about. */
#ifndef WIRE_IDS_H
#define WIRE_IDS_H

#include "job/ids.h"
#include "wire/codec.h"

extern const struct codec_row wire_task_rows[];       /* struct task_ref */
extern const struct codec_row wire_generation_rows[]; /* struct generation */

#endif
