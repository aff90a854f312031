/* deepspeed. */
#ifndef CLI_LINE_DEEPSPEED_H
#define CLI_LINE_DEEPSPEED_H

#include "cli/line/reader.h"

line_reader_fn line_deepspeed;

#endif
