/* The entries of a tar stream (ustar, pax, GNU's long names), one after the other, as they stand
 * there: what may be made of them is the caller's to decide. */
#ifndef BASE_TAR_READER_H
#define BASE_TAR_READER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define TAR_PATH 1024u /* bytes of a name; a longer one is refused */

struct tar_entry {
    char type;         /* '0' file, '1' hard link, '2' symbolic link, '3' and '4' devices, '5'
                        * directory, '6' pipe; any other byte */
    unsigned mode;     /* 07777 at most */
    uint32_t uid, gid; /* 0 where it has none that fits */
    uint64_t size;     /* bytes that follow it; 0 for what is no file */
    int64_t mtime_s;
    char path[TAR_PATH + 1], link[TAR_PATH + 1]; /* whatever stands there */
};

struct tar_source {
    int fd;
    uint64_t most;                                       /* bytes of the stream */
    void (*saw)(void *arg, const void *bytes, size_t n); /* all of them, in order; NULL: nobody */
    void *arg;
};
struct tar_reader;
struct tar_reader *tar_reader_create(const struct tar_source *);
void tar_reader_destroy(struct tar_reader *); /* NULL-safe; the descriptor stays open */

/* 1: *entry is the next one; 0: there is none, and the stream was read to its end; -1: ERR_INPUT,
 * ERR_TOO_LARGE for its bound, ERR_SYSTEM. What was not taken of the entry before is passed over.
 */
int tar_reader_next(struct tar_reader *, struct tar_entry *entry, struct err *);
/* The content of the entry goes to fd; -1: nowhere. Once. */
int tar_reader_take(struct tar_reader *, int fd, struct err *);
uint64_t tar_reader_bytes(const struct tar_reader *); /* that were read */
bool tar_reader_ended(const struct tar_reader *);     /* the stream gave all that it has */

/* A name as a message has it: what is no plain character shows as "?". */
#define TAR_SHOWN 80
const char *tar_shown(const char *name, char out[TAR_SHOWN + 1]);

#endif
