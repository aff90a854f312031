/* Which version of the schema the records have. Private to store/. */
#ifndef STORE_VERSIONS_H
#define STORE_VERSIONS_H

#include "base/err.h"

struct store;
/* Brings the database to STORE_VERSION. A file is copied first, beside it. */
int versions_migrate(struct store *, struct err *);
int versions_read(struct store *, int *version, struct err *);

#endif
