/* mpirun and mpiexec, and horovodrun, which starts ranks in the same way. */
#ifndef CLI_LINE_MPIRUN_H
#define CLI_LINE_MPIRUN_H

#include "cli/line/reader.h"

line_reader_fn line_horovodrun, line_mpirun;

#endif
