/* Bugs of muster itself, as opposed to errors of the world and of users (base/err.h). */
#ifndef BASE_BUG_H
#define BASE_BUG_H

/* Prints the place and aborts. */
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void bug_at(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
