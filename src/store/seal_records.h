/* Secret texts in the rows of the records. Private to store/. */
#ifndef STORE_SEAL_RECORDS_H
#define STORE_SEAL_RECORDS_H

#include "base/arena.h"

#include <stdbool.h>

#include <sqlite3.h>

struct store;
/* What stands for a secret text in its row: sealed where there is a seal; malloc'ed. */
char *seal_record(const struct store *, const char *text, size_t len);
char *seal_record_text(const struct store *, const char *text); /* NULL for NULL */
/* A sealed column, in arena; NULL for NULL, and where the key is another one. */
const char *seal_column(const struct store *, sqlite3_stmt *, int at, struct arena *);
bool seal_is_for_kind(const char *kind); /* of an object */

#endif
