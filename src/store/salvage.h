/* Rows of a damaged database, as far as SQLite reads them, into a new one. Private to store/. */
#ifndef STORE_SALVAGE_H
#define STORE_SALVAGE_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdbool.h>

/* from: damaged, of a version that is known. to: empty; gets the
 * tables of that version. A code of SQLite: of what went wrong in `to`. */
int salvage_rows(sqlite3 *from, sqlite3 *to);
/* The same of a file whose first page is lost: path is a copy of it and its log that is nobody's
 * and is changed. *found: tables of ours were found in its pages. err says what went wrong. */
int salvage_pages(const char *path, sqlite3 *to, bool *found, struct err *err);

#endif
