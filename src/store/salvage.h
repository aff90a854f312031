/* Rows of a damaged database, as far as SQLite reads them, into a new one. Private to store/. */
#ifndef STORE_SALVAGE_H
#define STORE_SALVAGE_H

#include <sqlite3.h>

/* from: damaged, of a version that is known; NULL: nothing of it can be read. to: empty; gets the
 * tables of that version. A code of SQLite: of what went wrong in `to`. */
int salvage_rows(sqlite3 *from, sqlite3 *to);

#endif
