/* Whole files and directories, with bounds. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Reads at most max bytes; larger is ERR_TOO_LARGE. path "-" is stdin. *data is malloc'ed and
 * NUL-terminated (caller frees). */
int file_read(const char *path, size_t max, char **data, size_t *len, struct err *err);
/* Writes path + ".new", fsyncs, renames: readers see the old or the new file, never a half one. */
int file_replace(const char *path, const void *data, size_t len, mode_t mode, struct err *err);
/* The same without fsync, for what only living processes need: it may be empty or the old one when
 * the machine lost its power. */
int file_replace_unsynced(const char *path, const void *data, size_t len, mode_t mode,
                          struct err *err);
/* Makes durable that it is there, or was renamed: syncs its directory. */
int file_sync_parent(const char *path, struct err *err);
/* mkdir -p; existing directories are fine. */
int file_mkdirs(const char *path, mode_t mode, struct err *err);
/* rm -rf that never follows links and stays below path. Missing is fine. */
int file_remove_tree(const char *path, struct err *err);
/* Bytes below path (links not followed); stops counting above limit. */
int file_tree_size(const char *path, unsigned long long limit, unsigned long long *bytes,
                   struct err *err);
/* What the directory takes of the disk: a file of several names once, if all of them are in it. */
int file_tree_disk(const char *path, unsigned long long limit, unsigned long long *bytes,
                   struct err *err);
bool file_is_dir(const char *path);
/* Has it a part that is ".."? Then its text does not say where it lies. */
bool file_climbs(const char *path);
/* May it be read, and a directory also be entered? By opening it, so that the answer is for the
 * user of base/fs_user.h too. false and errno. */
bool file_can_read(const char *path);
/* Joins with one slash; malloc'ed. b absolute gives b. */
char *file_join(const char *a, const char *b);
/* write(2) until done or error; -1 and errno. */
int file_write_all(int fd, const void *data, size_t len);

#endif
