/* The reason of a failed node check: text with a bound. */
#ifndef LAUNCH_CHECK_WHY_H
#define LAUNCH_CHECK_WHY_H

#include <stdarg.h>

#define CHECK_WHY_MAX 1024

/* What has no room is cut off, between characters, and " [...]" says so. */
void check_why(char why[CHECK_WHY_MAX], const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void check_why_v(char why[CHECK_WHY_MAX], const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

#endif
