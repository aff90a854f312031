/* What stands in front of a launcher on its line. */
#ifndef CLI_LINE_WRAPPERS_H
#define CLI_LINE_WRAPPERS_H

#include "cli/line/reader.h"

/* Takes variables and wrappers (env, nohup, conda run ...) off the front of the line. */
void line_wrappers(struct line_reader *);

#endif
