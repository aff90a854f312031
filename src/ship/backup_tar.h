/* Writes files of the form that backup_file.h reads, from files of this machine. */
#ifndef SHIP_BACKUP_TAR_H
#define SHIP_BACKUP_TAR_H

#include "base/arena.h"
#include "base/err.h"
#include "ship/stream.h"
#include "text/tree.h"

#define SHA256_TEXT 65 /* in hexadecimal, with its 0 */

struct backup_tar {
    struct byte_sink to;
    struct arena *arena; /* of root */
    struct text_node *root, *members;
    uint64_t bytes; /* that were written */
};
/* root: what the manifest is to say; the members are added to it. */
void backup_tar_begin(struct backup_tar *, struct byte_sink, struct arena *,
                      struct text_node *root);
/* The whole file, read from its beginning whatever its offset is. */
int backup_tar_add(struct backup_tar *, const char *name, int from, struct err *);
/* The manifest, whose hash is told, and the end. */
int backup_tar_end(struct backup_tar *, char sha256[SHA256_TEXT], struct err *);

#endif
