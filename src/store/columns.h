/* Values into statements and out of their rows. Private to store/. */
#ifndef STORE_COLUMNS_H
#define STORE_COLUMNS_H

#include "base/arena.h"

#include <stdint.h>

#include <sqlite3.h>

/* NULL binds NULL; the text must live until the step, and so must the bytes. */
void bind_text(sqlite3_stmt *, int at, const char *);
void bind_u64(sqlite3_stmt *, int at, uint64_t);
void bind_blob(sqlite3_stmt *, int at, const void *, size_t);

const char *column_get_text(sqlite3_stmt *, int at, struct arena *); /* NULL for NULL */
uint64_t column_get_u64(sqlite3_stmt *, int at);
/* Reads one column as a word of at most 31 bytes (states). */
struct column_word {
    char text[32];
};
struct column_word column_get_word(sqlite3_stmt *, int at);

/* Rows of unknown number into an arena array: doubles as needed. */
void *rows_more(struct arena *, void *at, size_t n, size_t *cap, size_t size);

#endif
