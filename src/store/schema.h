/* The tables, one SQL script per version; store_open runs what an older database lacks. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

/* Script that leads from version i to i + 1. */
const char *schema_step(int version);

#endif
