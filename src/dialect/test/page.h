/* The page of a dialect in doc/, for tests that its tables are those of the code. */
#ifndef DIALECT_TEST_PAGE_H
#define DIALECT_TEST_PAGE_H

#include "base/buf.h"

struct page {
    const char *path;
    char *text;
};

void page_init(struct page *, const char *path);
void page_fini(struct page *);
/* Fails the test when the page has not all of what reference writes, a program of that name. */
void page_wants_tables(const struct page *, void (*reference)(struct buf *), const char *program);
/* The same for one word. */
void page_wants(const struct page *, const char *word);

#endif
