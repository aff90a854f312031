/* A recording on disk: a directory of numbered segments ("000001"), each a folder with a copy of
 * the records at its beginning and a file of frames. A frame is u32 length, u32 CRC-32 of what
 * follows, u8 kind, u64 number, body; integers are little endian. */
#ifndef REPLAY_SEGMENT_H
#define REPLAY_SEGMENT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_FORMAT 4u
#define SEGMENT_CLEAR                                                                              \
    2u /* submissions are not sealed; read too. No damaged bit makes one of it.                    \
        */
#define SEGMENT_MAGIC "MUSTERec"
#define SEGMENT_HEAD  12u /* magic, u32 format */
#define FRAME_HEAD    8u  /* length, checksum */
#define FRAME_MOST    (32u << 20)

enum frame_kind {
    FRAME_HEADER = 1, /* first: what the core was made of */
    FRAME_INPUT,      /* number: of the input, from 1, over all segments */
    FRAME_NESTED,     /* an input that came while the one before it was being worked on */
    FRAME_REFUSED,    /* what the world outside answered to the input before it */
    FRAME_DECIDED,
    FRAME_CHECK, /* hash of the state after the input before it */
    FRAME_END,   /* the same, and nothing follows */
};

/* Writing: put begins a frame at the end of out and returns the mark for frame_done. */
void segment_begin(struct buf *out);
size_t frame_begin(struct buf *out, enum frame_kind, uint64_t number);
void frame_done(struct buf *out, size_t mark);

/* Reading a whole file. */
struct segment_reader {
    char *path, *data;
    size_t len, at;
    uint64_t last; /* number of the last complete input, for messages; set by who reads */
};
struct frame {
    enum frame_kind kind;
    uint64_t number;
    const unsigned char *body;
    size_t len, at; /* at: its offset in the file */
};
/* ERR_INPUT: it is no recording; ERR_CANNOT: of another format. */
int segment_open(struct segment_reader *, const char *path, struct err *err);
void segment_close(struct segment_reader *);
/* 1: *frame points into the reader; 0: the end of the file; -1: cut or damaged, err says where. */
int segment_next(struct segment_reader *, struct frame *frame, struct err *err);

/* Folders of a recording in order; malloc'ed numbers. n 0: none. */
int segments_list(const char *dir, uint64_t **numbers, size_t *n, struct err *err);
char *segment_dir(const char *dir, uint64_t number);      /* malloc'ed */
char *segment_inputs(const char *dir, uint64_t number);   /* malloc'ed */
char *segment_records(const char *dir, uint64_t number);  /* malloc'ed */
uint64_t segment_bytes(const char *dir, uint64_t number); /* on disk, of both files */
bool segment_is_one(const char *path, uint64_t *number);  /* ends in six digits */

#endif
