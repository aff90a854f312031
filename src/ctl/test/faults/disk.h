/* A disk in memory, as SQLite's default VFS: the store under test opens its database here with the
 * settings of production. Each file has the bytes that were written and a record of those that were
 * not synced since, so that a loss of power can take them back: all of them, or some (sectors reach
 * a real disk in any order). The disk fails when it is told to. Test code; one thread. */
#ifndef CTL_TEST_FAULTS_DISK_H
#define CTL_TEST_FAULTS_DISK_H

#include "base/dice.h"
#include "base/vec.h"
#include "ctl/test/faults/crash.h"

#include <stddef.h>
#include <stdint.h>

#define DISK_FILES 4
#define DISK_NAME  200

struct disk_write { /* not synced yet; enough to take it back */
    size_t at, len; /* what was written */
    size_t size;    /* of the file before */
    unsigned char *old;
    size_t n_old; /* bytes that stood at `at`, at most len */
};
struct disk_file {
    char name[DISK_NAME]; /* "": none */
    unsigned char *data;
    size_t size, cap;
    VEC(struct disk_write) unsynced;
};
enum disk_failure {
    DISK_IO,    /* nothing is written, or synced */
    DISK_SHORT, /* half is written, then as DISK_IO */
    DISK_SYNC,  /* all is written, and not synced */
    DISK_FAILURES
};
struct disk {
    struct crash *crash;
    struct dice *dice;
    struct disk_file files[DISK_FILES];
    unsigned fail_in; /* the write or sync so many calls from now fails; 0: none */
    unsigned fails;   /* and so many after it */
    enum disk_failure how;
    bool full;        /* no file grows beyond `room` */
    size_t room;      /* bytes that a released ballast gave back */
    bool skips_syncs; /* planted: syncs do nothing */
    uint64_t writes, syncs;
};

/* Becomes SQLite's default VFS for the rest of the process; the disk outlives every database. */
void disk_register(struct disk *);
/* The files of the disk as they are now become those that disk_begin() makes. */
struct disk_image {
    struct disk_file files[DISK_FILES];
};
void disk_keep(const struct disk *, struct disk_image *);
void disk_begin(struct disk *, const struct disk_image *); /* NULL: empty; no fault, nothing full */
void disk_fini(struct disk *);
void disk_image_fini(struct disk_image *);
/* The power fails: what was not synced is lost, or some of it. */
void disk_lose_power(struct disk *);
/* The end mark, which the store writes beside SQLite and syncs at its start alone: the same disk
 * holds it, and its pages reach it sooner or later. Its room was taken when it was made. As
 * pread(), pwrite() and fdatasync(). */
long disk_read_mark(struct disk *, void *out, size_t n, size_t at);
long disk_write_mark(struct disk *, const void *data, size_t n, size_t at);
int disk_sync_mark(struct disk *);
void disk_heal(struct disk *); /* no fault from now on */

#endif
