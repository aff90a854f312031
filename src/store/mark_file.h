/* The end mark: a small file beside the database that says how far the records reached. It is
 * written after each commit, when that is on the disk, and not synced but at the start: so it may
 * lag behind the records and never leads them. It outlives the process; after a loss of power it
 * may be older, as old as the last start. What it says and the records do not hold was there, and
 * is lost.
 *
 * Two slots are written in turn, each with a sum of its own, a page apart: one that was torn leaves
 * the other. */
#ifndef STORE_MARK_FILE_H
#define STORE_MARK_FILE_H

#include "base/err.h"
#include "job/audit.h"
#include "store/wal.h"

#include <stdbool.h>
#include <stdint.h>

#define MARK_SUFFIX ".mark"
#define MARK_BOOT   36 /* characters of the kernel's boot id */

struct end_mark {
    uint64_t event, number, job_id; /* the last event; highest that were given out */
    uint64_t event_hash;            /* over that event's row */
    uint64_t silent;                /* commits that added neither an event nor an audit entry */
    struct audit_mark audit;        /* the last entry, with the hash over all before it */
    struct wal_place wal;     /* the end of the last commit; frames 0: all is in the database */
    uint32_t file_change;     /* SQLite's counter in the header of the database file */
    char boot[MARK_BOOT + 1]; /* of the machine when it was written */
};

struct mark_file;
/* Opens or makes it. NULL with err: there is no room, or no right; records go on without. */
struct mark_file *mark_open(const char *database, struct err *);
void mark_close(struct mark_file *); /* NULL-safe */
/* false: there was none, or nothing in it can be read. */
bool mark_was(const struct mark_file *, struct end_mark *);
/* A failure leaves the older one, which is true as well. */
void mark_write(struct mark_file *, const struct end_mark *);
void mark_sync(struct mark_file *);

void mark_boot(char out[MARK_BOOT + 1]); /* of this machine now; "" when it is not known */

/* Without a handle: of a database that is looked at only. false: there is none. */
bool mark_read(const char *database, struct end_mark *);

#endif
