/* Files as a server writes them, tars with packed code and, last, a manifest with the hashes of
 * all: a backup (api/backup.c, or the begin of a chain) holds the records, a segment of a chain the
 * pages of them that were changed since. */
#ifndef SHIP_BACKUP_FILE_H
#define SHIP_BACKUP_FILE_H

#include "base/arena.h"
#include "base/err.h"
#include "ship/stream.h"
#include "text/tree.h"

#define BACKUP_RECORDS  "muster.db"
#define BACKUP_PAGES    "muster.pages"
#define BACKUP_ARCHIVES "archives/"
#define BACKUP_MANIFEST "manifest.json"
#define BACKUP_KIND     1 /* of both manifests: "muster_backup", "muster_segment" */

enum backup_kind { BACKUP_WHOLE, BACKUP_SEGMENT };
const char *backup_kind_key(enum backup_kind); /* in the manifest */
const char *backup_kind_data(enum backup_kind);

/* Reads it through, and compares every hash. dir: a directory, with one for archives in it, that
 * its files are written below, synced; NULL: it is only looked at. The manifest in arena, with
 * `bytes`, `archives` and its own `sha256` added; NULL: it is cut off, damaged, or none
 * (ERR_INPUT), or of a newer kind (ERR_CANNOT). */
const struct text_node *backup_file_read(struct arena *, const char *path, const char *dir,
                                         struct err *);
/* The same of a file of either kind that comes from elsewhere; name: for messages. */
struct backup_stream {
    enum backup_kind kind;
    const char *name, *dir;
    struct byte_source from;
};
const struct text_node *backup_stream_read(struct arena *, const struct backup_stream *,
                                           struct err *);

#endif
