/* A copy of all records as a database of its own, made a little at a time while they are written:
 * SQLite's backup over the connection that writes, which brings what changes meanwhile into the
 * copy too. Only a turn that fails makes it begin anew. The copy is the records as they were after
 * its last step. */
#ifndef STORE_BACKUP_H
#define STORE_BACKUP_H

#include "job/audit.h"
#include "store/store.h"

struct store_backup;
/* path: must not exist; is made with mode 0600, and is the caller's to remove. ERR_BUSY: one is
 * made already; ERR_FULL: there is not room for all of it; ERR_CANNOT: records in memory. Ended
 * before the store is closed. */
struct store_backup *store_backup_begin(struct store *, const char *path, struct err *);
bool store_backing_up(const struct store *);
/* Copies STORE_BACKUP_PAGES. 1: the copy is complete and closed; 0: there is more, also while a
 * turn is open (nothing was done then); -1. */
#define STORE_BACKUP_PAGES 64
int store_backup_step(struct store_backup *, struct err *);
void store_backup_end(struct store_backup *); /* NULL-safe */

/* How far records reach. */
struct store_reach {
    uint64_t event, number, job_id; /* highest that were given out */
    uint64_t silent;                /* commits that added neither an event nor an audit entry */
    struct audit_mark audit;
    int version; /* of the schema */
};
struct store_reach store_reach_now(const struct store *);           /* after the last commit */
struct store_reach store_backup_reach(const struct store_backup *); /* of a complete copy */

/* A copy that lies in a file nobody uses: is it whole, and how far does it reach? ERR_INPUT: it is
 * damaged; ERR_CANNOT: newer than this program. The file is not changed. */
int store_look_at_copy(const char *path, struct store_reach *, struct err *);

#endif
