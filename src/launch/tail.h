/* The end of what a rank wrote, for people: kept raw and small while it runs, cleaned when asked
 * for. */
#ifndef LAUNCH_TAIL_H
#define LAUNCH_TAIL_H

#include <stdbool.h>
#include <stddef.h>

#define TAIL_KEPT     8192u /* raw bytes */
#define TAIL_LINE_MAX 400u  /* bytes shown of a line */

struct tail {
    char *bytes; /* NULL until something came */
    size_t len;
    bool cut; /* there was more in front */
};
void tail_add(struct tail *, const char *bytes, size_t len);
void tail_fini(struct tail *);

/* The last lines of raw as clean text in out (size bytes with the NUL): UTF-8 without control
 * characters and escape sequences, what a carriage return overwrote left out, long lines cut, no
 * empty lines at the end. cut: raw begins anywhere in a line. Returns out. */
const char *tail_clean(const char *raw, size_t len, bool cut, char *out, size_t size);

#endif
