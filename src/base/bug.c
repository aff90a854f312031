/* What cannot go on: one line on standard error with the place in the source, then the process
 * aborts. A server that starts again finds its records as the last commit left them. */
#include "base/bug.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void bug_at(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    fprintf(stderr, "muster: bug at %s:%d: ", file, line);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}
