/* The tables of a database whose first page, and with it the list of them, is lost: found by their
 * pages. What nothing leads to is the root of a tree, and a tree's records tell by their shape
 * which table it is. Private to store/. */
#ifndef STORE_ROOTS_H
#define STORE_ROOTS_H

#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

struct root {
    const char *table; /* static */
    uint32_t page;
    uint32_t pages; /* of its tree */
};
struct roots {
    uint32_t page_size; /* 0: these are no pages of a database */
    int version;        /* as far as rows tell: nothing is lost by what it may be more */
    VEC(struct root)
    found; /* of each table the largest first; pages that an inner page led to that
            * is lost too are roots as well */
};

/* page_size: 0 when nothing says it. */
void roots_find(const unsigned char *file, size_t size, uint32_t page_size, struct roots *out);
void roots_fini(struct roots *);

#endif
