/* What verbs say about the records of a server. */
#ifndef CLI_RECORDS_H
#define CLI_RECORDS_H

#include "cli/cmd.h"

/* muster server recover. Exit status, or -1. */
int records_recover(struct cli *, bool dry_run, struct err *);
/* muster restore, as the flags say. Exit status, or -1. */
int records_restore(struct cli *, const struct cli_records *flags, struct err *);
/* Where a continuous backup is, in words; backup: of the server's answer. In the cli's arena. */
const char *records_shipped(struct cli *, const struct text_node *backup);
/* muster server check: of the running server by a backup that it makes, else of its files. EXIT_OK,
 * EXIT_FOUND, or -1. */
int records_check(struct cli *, struct err *);
/* A backup of the running server in path, whole; what is in it, or NULL, and nothing is there then.
 */
const struct text_node *backup_to_file(struct cli *, const char *path, struct err *);
/* One of the runs that are in no record, to be read on: "7 on n1 runs (pid 12)". */
const char *records_stranger(struct arena *, const struct text_node *one);
/* Lines about what runs and is not in the records; list: may be NULL. */
void records_strangers(const struct text_node *list);

#endif
