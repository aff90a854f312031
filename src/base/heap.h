/* A binary heap in a vector (vec.h): at[0] comes next. An element begins with two uint64_t, what it
 * is ordered by: a time and, within one time, an order. Those equal in both come in an order that
 * follows from the calls alone, not the first one first. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include "base/vec.h"

#define heap_push(v, item) (vec_push(v, item), heap_rise((v)->at, (v)->n, sizeof *(v)->at))
/* Moves the first element to *first; there must be one. */
#define heap_take(v, first)                                                                        \
    ((void)(*(first) = (v)->at[0], (v)->n = heap_sink((v)->at, (v)->n, sizeof *(v)->at)))

void heap_rise(void *at, size_t n, size_t size);   /* the last element, to where it belongs */
size_t heap_sink(void *at, size_t n, size_t size); /* without the first; what n is then */

#endif
