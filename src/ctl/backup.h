/* What of the core goes into a backup, made while it works: the records, as a file, and what is to
 * be known about them. */
#ifndef CTL_BACKUP_H
#define CTL_BACKUP_H

#include "base/arena.h"
#include "base/err.h"
#include "text/tree.h"

#include <stdbool.h>

struct ctl;
struct ctl_backup;
/* Begins a copy of the records in the state directory, where one that was left behind is replaced;
 * unless the server makes it for itself, with an entry of the audit record. ERR_BUSY: another one
 * is made; ERR_FULL. */
struct ctl_backup *ctl_backup_begin(struct ctl *, bool own, struct err *);
/* A millisecond or less of it, between turns. 1: it is complete; 0: there is more; -1. */
int ctl_backup_step(struct ctl_backup *, struct err *);
/* The copy as far as it is, open; the file has no name any more. -1. */
int ctl_backup_open(struct ctl_backup *, struct err *);
/* {event, number, job_id, audit, version, live} of the complete copy, under that key. */
void ctl_backup_put(const struct ctl_backup *, struct arena *, struct text_node *map,
                    const char *key);
void ctl_backup_end(struct ctl_backup *); /* NULL-safe; before the core is destroyed */

#endif
