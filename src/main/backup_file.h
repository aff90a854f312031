/* A backup as it comes from a server (api/backup.c): a tar with the records, packed code and, last,
 * a manifest with the hashes of all. */
#ifndef MAIN_BACKUP_FILE_H
#define MAIN_BACKUP_FILE_H

#include "base/arena.h"
#include "base/err.h"
#include "text/tree.h"

#define BACKUP_RECORDS  "muster.db"
#define BACKUP_ARCHIVES "archives/"

/* Reads it through, and compares every hash. dir: an empty directory that its files are written
 * below, synced; NULL: it is only looked at. The manifest in arena, with `bytes` and `archives`
 * added; NULL: it is cut off, damaged, or none (ERR_INPUT), or of a newer kind (ERR_CANNOT). */
const struct text_node *backup_file_read(struct arena *, const char *path, const char *dir,
                                         struct err *);

#endif
