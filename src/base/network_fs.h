/* Is a path on a file system of another machine? What SQLite rests on does not hold there: shared
 * memory and locks between processes. */
#ifndef BASE_NETWORK_FS_H
#define BASE_NETWORK_FS_H

/* Of statfs' f_type; NULL: it is none that is known. */
const char *network_fs_name(unsigned long type);
/* Of the path, or of the nearest above it that is there. */
const char *network_fs_of(const char *path);

#endif
