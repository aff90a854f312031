/* Typed growable arrays: struct { T *at; size_t n, cap; }. Elements move when it grows. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>

#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *at;                                                                                     \
        size_t n, cap;                                                                             \
    }

/* Pointer to a new zeroed last element. */
#define vec_add(v)                                                                                 \
    ((v)->at = vec_grow((v)->at, &(v)->n, &(v)->cap, sizeof *(v)->at), &(v)->at[(v)->n - 1])
#define vec_push(v, value) ((void)(*vec_add(v) = (value)))
#define vec_clear(v)       ((void)((v)->n = 0))
#define vec_fini(v)        (free((v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)
/* Removes element i; order is kept. */
#define vec_remove(v, i)   ((v)->n = vec_close_gap((v)->at, (v)->n, (i), sizeof *(v)->at))

void *vec_grow(void *at, size_t *n, size_t *cap, size_t size);
size_t vec_close_gap(void *at, size_t n, size_t i, size_t size);

#endif
