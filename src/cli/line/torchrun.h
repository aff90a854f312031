/* torchrun, and python -m torch.distributed.run. */
#ifndef CLI_LINE_TORCHRUN_H
#define CLI_LINE_TORCHRUN_H

#include "cli/line/reader.h"

line_reader_fn line_torchrun;

#endif
