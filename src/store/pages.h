/* The pages of the database that commits changed since a moment of the records, in memory: written
 * over a copy of that moment they make it the records of now, as a checkpoint of the write-ahead
 * log would. A page that was changed many times is there once, as it was last. */
#ifndef STORE_PAGES_H
#define STORE_PAGES_H

#include "store/backup.h"

#define STORE_PAGES_MAX (128u << 20) /* bytes; beyond, they are lost */

struct store_pages;
/* From the last commit on. One of a store; ended before it is closed. ERR_CANNOT: records in
 * memory; ERR_SYSTEM: no memory for pages. */
struct store_pages *store_pages_begin(struct store *, struct err *);
void store_pages_end(struct store_pages *); /* NULL-safe */

struct store_pages_state {
    uint64_t bytes;    /* 0: nothing was committed */
    uint64_t since_ms; /* clock_mono_ms() of the first commit in them */
    bool lost;         /* too many, or one could not be read: only a whole copy goes on from here */
};
struct store_pages_state store_pages_state(const struct store_pages *);
/* They are forgotten; what is committed from now on counts. */
void store_pages_reset(struct store_pages *);
/* Closes them and begins anew: a descriptor of a file without a name, the caller's, in the form
 * that store_pages_apply reads. -1: there are none, or they are lost. */
int store_pages_take(struct store_pages *, struct err *);

/* Writes the pages of a file over a database that nobody uses. ERR_INPUT: they are damaged, or of
 * another kind of database. Not synced. */
int store_pages_apply(const char *pages, const char *database, struct err *);

#endif
