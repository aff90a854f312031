/* srun: what it starts may be the line of another launcher. */
#ifndef CLI_LINE_SRUN_H
#define CLI_LINE_SRUN_H

#include "cli/line/reader.h"

line_reader_fn line_srun;

#endif
