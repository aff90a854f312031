/* A first page for a database that has lost its own: it names one table, so that SQLite reads the
 * rows of that one. Private to store/. */
#ifndef STORE_FIRST_PAGE_H
#define STORE_FIRST_PAGE_H

#include "base/err.h"

#include <stdint.h>

/* Puts the pages of the whole commits in PATH-wal into the file, which is made where it is gone,
 * and removes that. The size of a page in *page_size, where it has such pages; else it is left as
 * it is. */
int first_page_take_wal(const char *path, uint32_t *page_size, struct err *err);
/* table: its name; sql: the statement that makes it, without types where that is shorter. It has to
 * fit the page beside the head of the file (ERR_TOO_LARGE). */
int first_page_write(const char *path, uint32_t page_size, uint32_t root, const char *table,
                     const char *sql, struct err *err);

#endif
