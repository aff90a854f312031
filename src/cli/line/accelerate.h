/* accelerate launch. */
#ifndef CLI_LINE_ACCELERATE_H
#define CLI_LINE_ACCELERATE_H

#include "cli/line/reader.h"

line_reader_fn line_accelerate;

#endif
