/* The end of the records as the database has it, against the end mark that was kept of it.
 * Private to store/. */
#ifndef STORE_END_MARK_H
#define STORE_END_MARK_H

#include "base/err.h"
#include "store/mark_file.h"

struct store;
struct store_pages;
struct event_row;

/* Larger databases are not read through at the start; `muster server check` does. */
#define END_CHECK_BYTES (64ull << 20)
/* Nor are their indexes held against their tables where it is larger than this. */
#define END_INDEX_BYTES (16ull << 20)

/* Before SQLite opens the file: an empty one in the place of one that was not is refused, because
 * SQLite removes its WAL. */
int end_check_file(const struct store *, struct err *);
/* After: with the database locked and nothing written yet. Does it hold all that the mark says, and
 * is it whole? Reads what is highest in it. -1: it lacks something, err says what and what helps;
 * nothing of it may be written then. */
int end_check(struct store *, struct err *);
/* A commit is on the disk. Before it, in its transaction: end_count. */
void end_count(struct store *);
void end_note(struct store *);
/* All that was read is on the disk, and the mark says so, synced: where a WAL was torn at its head,
 * SQLite may begin the next one with the same salt, and a mark of the old one would be held against
 * it after a loss of power. What cannot be written leaves the store undecided (disk.h). */
void end_begin(struct store *);
/* Cuts the WAL behind the last commit that went well, synced. No turn may be open. */
int end_cut(struct store *);
/* Writes the WAL back, as far as it goes. */
void end_write_back(struct store *);
/* The same and says so, before the database is closed. */
void end_close(struct store *);
/* Of SQLite's own files: which is SQLITE_FCNTL_FILE_POINTER, or JOURNAL_POINTER for the WAL. */
bool end_read_file(struct store *, int which, void *to, int n, int64_t at);
/* A commit led the WAL from there to here: its frames go to the pages that are kept (pages.c). */
void pages_note(struct store_pages *, const struct wal_place *before, const struct wal_place *now);
void pages_lose(struct store_pages *); /* a commit's frames cannot be told */
/* Over what is stored of an event. */
uint64_t end_hash(const struct event_row *);

#endif
