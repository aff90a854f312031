/* Values into statements and out of their rows. Texts are bound as they are, without a copy, and
 * copied when they are read, because a row is gone with the next step. */
#include "store/columns.h"

#include <stdio.h>
#include <string.h>

void bind_text(sqlite3_stmt *s, int at, const char *text)
{
    sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

void bind_u64(sqlite3_stmt *s, int at, uint64_t value)
{
    sqlite3_bind_int64(s, at, (sqlite3_int64)value);
}

void bind_blob(sqlite3_stmt *s, int at, const void *data, size_t len)
{
    sqlite3_bind_blob64(s, at, data, len, SQLITE_STATIC);
}

const char *column_get_text(sqlite3_stmt *s, int at, struct arena *a)
{
    const unsigned char *text = sqlite3_column_text(s, at);
    return text ? arena_strndup(a, (const char *)text, (size_t)sqlite3_column_bytes(s, at)) : NULL;
}

uint64_t column_get_u64(sqlite3_stmt *s, int at)
{
    return (uint64_t)sqlite3_column_int64(s, at);
}

struct column_word column_get_word(sqlite3_stmt *s, int at)
{
    struct column_word word = { "" };
    const unsigned char *text = sqlite3_column_text(s, at);
    if (text)
        snprintf(word.text, sizeof word.text, "%s", (const char *)text);
    return word;
}

void *rows_more(struct arena *a, void *at, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return at;
    *cap = *cap ? *cap * 2 : 16;
    void *wider = arena_array(a, *cap, size);
    if (n)
        memcpy(wider, at, n * size);
    return wider;
}
