/* Secrets of users by name, read back (store_put_secret() keeps them, sealed). */
#ifndef STORE_SECRET_H
#define STORE_SECRET_H

#include "store/store.h"

/* 1 found: *value, a text in arena; 0 there is none, or it is sealed with another key; -1. */
int store_get_secret(struct store *, struct arena *, const char *owner, const char *name,
                     const char **value, struct err *err);

int store_delete_secret(struct store *, const char *owner, const char *name, struct err *);
/* All of that owner whose names begin so. */
int store_drop_secrets(struct store *, const char *owner, const char *front, struct err *);

#endif
