/* The write-ahead log as bytes (SQLite's file format, "The WAL File Format"): how far it is whole,
 * and whether committed frames lie behind a damaged one, which SQLite passes over in silence. */
#ifndef STORE_WAL_H
#define STORE_WAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAL_HEADER       32
#define WAL_FRAME_HEADER 24
#define WAL_SALT_AT      16 /* in the header */
#define WAL_SALT         8
#define WAL_SUM          8

/* A place in a WAL: after so many of its frames. The sum is SQLite's, and goes over all before it:
 * two WALs that agree in it have the same frames until there. */
struct wal_place {
    unsigned char salt[WAL_SALT]; /* of this WAL; zeros: there is none */
    uint32_t frames;
    unsigned char sum[WAL_SUM];
};

struct wal_report {
    bool there;  /* it has a whole header */
    bool broken; /* two commits or more lie behind a frame that is damaged: no torn write does that
                  */
    uint32_t page_size;
    uint32_t in_file;       /* frames, whole or not */
    struct wal_place whole; /* until the last commit that SQLite reads */
    bool holds;             /* the place that was asked for is in it */
};
/* Reads n bytes of it; false: it has not so many. */
struct wal_bytes {
    bool (*read)(void *arg, void *to, size_t n, uint64_t at);
    void *arg;
};
/* asked: may be NULL. */
void wal_look(struct wal_bytes, const struct wal_place *asked, struct wal_report *out);

/* After so many frames a WAL is to be written back into the database (disk.h). */
uint32_t wal_frames_most(void);
/* Of the header of a frame: what a place after it holds. */
void wal_place_of(const unsigned char header[WAL_FRAME_HEADER], uint32_t frames,
                  struct wal_place *out);

#endif
