/* The number of an option. */
#ifndef CLI_LINE_NUMBER_H
#define CLI_LINE_NUMBER_H

#include "base/err.h"

#include <stdint.h>

/* -1 with err, which names the option: it is none of them. */
int line_number(const char *option, const char *text, uint64_t least, uint64_t most, uint32_t *n,
                struct err *err);

#endif
