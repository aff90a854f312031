/* Damaged records made whole again: from the database as it is, with or without its WAL, whichever
 * holds more; else row by row, as far as they can be read. Or records replaced by an older copy.
 * The files are kept as they were, and the next server is told (store_take_repair). */
#ifndef STORE_RECOVER_H
#define STORE_RECOVER_H

#include "base/arena.h"
#include "base/err.h"
#include "store/losses.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recover_ask {
    const char *path;        /* of the database; no server may use it (ERR_CONFLICT) */
    bool backup_copy;        /* it is a backup: that its end mark is not there is no damage */
    bool dry_run;            /* nothing is changed but a directory beside, which goes again */
    const char *from;        /* a whole copy, nobody's, to be put in their place; NULL: none */
    const uint64_t *numbers; /* of jobs that left traces, ascending */
    size_t n_numbers;
};
struct recovery_report {
    bool damaged;    /* false: nothing is; without a copy nothing was done */
    const char *why; /* what a start would say, or what is broken; NULL: nothing */
    bool row_by_row; /* no file of it is whole: what can be read was taken */
    bool indexes;    /* its tables are, and indexes do not fit them: made anew */
    uint64_t jobs;   /* that are there */
    uint64_t
        unreadable;   /* of them, that lived and have lost what they were: they have failed now */
    uint64_t orphans; /* rows of jobs that are not there, left out */
    uint64_t number, event;           /* highest that are there */
    uint64_t last_number, last_event; /* highest that are known to have been given out */
    uint64_t next_number;             /* of the next job */
    struct missing_jobs missing;      /* that were there and are not; of a recovery */
    uint64_t *unknown;                /* numbers with traces and no record */
    size_t n_unknown;
    const char *kept; /* directory with the files as they were; NULL: nothing was changed */
};
int store_check_unused(const char *path, struct err *err); /* -1: ERR_CONFLICT */
int store_recover(const struct recover_ask *, struct arena *, struct recovery_report *,
                  struct err *);
/* Reads every page and index of them, and looks for rows without their job; changes nothing. Of
 * *out damaged, why, jobs, number, event, orphans, unreadable and unknown are said. */
int store_check(const struct recover_ask *, struct arena *, struct recovery_report *, struct err *);

#endif
