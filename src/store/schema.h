/* The tables, one SQL script per version; store_open runs what an older database lacks. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>

/* Script that leads from version i to i + 1. */
const char *schema_step(int version);
/* What the steps call: made for the connection before the first. A code of SQLite. */
int schema_functions(sqlite3 *);

#endif
