/* What of a server goes into a backup, made while it works: the records, as a file beside them, and
 * what is to be known about them. */
#ifndef BACKUP_RECORDS_COPY_H
#define BACKUP_RECORDS_COPY_H

#include "base/arena.h"
#include "base/err.h"
#include "text/tree.h"

#include <stdbool.h>

struct accounts;
struct live;
struct store;
struct turn_meter;

struct records_copy_config { /* all of it outlives the copy */
    struct store *store;
    struct accounts *accounts; /* the audit record */
    const struct live *live;   /* jobs, which are counted */
    const char *state_dir;     /* where the file is made */
    struct turn_meter *meter;  /* of the loop's turns; NULL: nobody looks */
};
struct records_copy;
/* Begins a copy, where one that was left behind is replaced; unless the server makes it for itself
 * (own), with an entry of the audit record. ERR_BUSY: another one is made; ERR_FULL. */
struct records_copy *records_copy_begin(const struct records_copy_config *, bool own, struct err *);
/* A millisecond or less of it, between turns. 1: it is complete; 0: there is more; -1. */
int records_copy_step(struct records_copy *, struct err *);
/* The copy as far as it is, open; the file has no name any more. -1. */
int records_copy_open(struct records_copy *, struct err *);
/* {event, number, job_id, audit, version, live} of the complete copy, under that key. */
void records_copy_put(const struct records_copy *, struct arena *, struct text_node *map,
                      const char *key);
void records_copy_end(struct records_copy *); /* NULL-safe; before the records are closed */

#endif
