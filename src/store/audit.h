/* The audit record: rows that are only added, each with a hash over its text and the hash before it
 * (job/audit.h). They are part of the turn like all other rows: what is done and the row that says
 * so are on the disk together, or neither. The database refuses to change or remove them. */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

#include "job/audit.h"
#include "store/store.h"

/* Sets seq and hash. Nothing is kept of a store in memory. */
int store_add_audit(struct store *, struct audit_row *, struct err *);
/* The last row; seq 0 and zeroes: there is none. */
struct audit_mark store_audit_head(const struct store *);
/* The last row that was removed; seq 0 and zeroes: none was. */
int store_audit_floor(struct store *, struct audit_mark *, struct err *);
struct audit_range {
    uint64_t after, before; /* after < seq < before; before 0: to the end */
    size_t limit;
    bool newest; /* descending from before, else ascending from after */
};
/* In the caller's arena. */
int store_audits(struct store *, struct arena *, const struct audit_range *, struct audit_row **,
                 size_t *n, struct err *);
/* Removes what is older than that, in the open turn, at most STORE_EXPIRE_MAX rows and never the
 * newest, and adds the row that says so (from cut, which has all but seq, hash and object). */
int store_cut_audit(struct store *, uint64_t before_ms, struct audit_row *cut, struct err *);

#endif
