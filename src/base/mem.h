/* Allocation that aborts when memory is gone, ownership helpers, array length. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdlib.h>
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* All abort the process on failure (a crash is harmless by design and tested). Zeroed memory. */
void *mem_new(size_t n);
void *mem_resize(void *p, size_t n);
/* What is freed stays with the process, up to so many bytes: for one that takes and frees megabytes
 * many times a second, and would get them from the kernel, zeroed, each time. */
void mem_hold(size_t);
/* All that is free goes back to the kernel, also from between what is in use: after the rare work
 * that took far more than what goes on. It costs milliseconds. */
void mem_trim(void);
char *mem_strdup(const char *s); /* NULL gives NULL */
char *mem_strndup(const char *s, size_t n);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static inline void mem_free_at(void *p)
{
    free(*(void **)p);
}
static inline void mem_close_at(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
#define AUTO_FREE  __attribute__((cleanup(mem_free_at)))
#define AUTO_CLOSE __attribute__((cleanup(mem_close_at)))
/* Out of the hands of AUTO_CLOSE: the variable is -1 afterwards. */
static inline int mem_give_fd(int *fd)
{
    int given = *fd;
    *fd = -1;
    return given;
}

/* Gives the pointer away: the variable is NULL afterwards. */
#define TAKE(p)                                                                                    \
    __extension__({                                                                                \
        __typeof__(p) take_ = (p);                                                                 \
        (p) = NULL;                                                                                \
        take_;                                                                                     \
    })

#endif
