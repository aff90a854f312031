/* python -m torch.distributed.launch. */
#ifndef CLI_LINE_TORCH_LAUNCH_H
#define CLI_LINE_TORCH_LAUNCH_H

#include "cli/line/reader.h"

line_reader_fn line_torch_launch;

#endif
