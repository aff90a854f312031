/* Reasons come from libraries and from other nodes, of any length. They are cut between characters,
 * never in one. */
#include "launch/check_why.h"

#include "base/scan.h"

#include <stdio.h>
#include <string.h>

#define MARK " [...]"

void check_why_v(char why[CHECK_WHY_MAX], const char *fmt, va_list ap)
{
    int len = vsnprintf(why, CHECK_WHY_MAX, fmt, ap);
    if (len < CHECK_WHY_MAX)
        return;
    size_t whole = scan_utf8_prefix(why, CHECK_WHY_MAX - sizeof MARK);
    memcpy(why + whole, MARK, sizeof MARK);
}

void check_why(char why[CHECK_WHY_MAX], const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    check_why_v(why, fmt, ap);
    va_end(ap);
}
