/* The handle of the store, and its statements. Private to store/. */
#ifndef STORE_DB_H
#define STORE_DB_H

#include "job/audit.h"
#include "store/mark_file.h"
#include "store/memory.h"
#include "store/rests.h"
#include "store/seal.h"
#include "store/statements.h"
#include "store/store.h"

#include <sqlite3.h>

struct store {
    sqlite3 *db;
    struct seal *seal;     /* NULL: nothing is sealed */
    struct memory *memory; /* of jobs, when the database is in memory; else NULL */
    struct store_tap tap;
    char *path, *ballast;           /* ballast: NULL in memory */
    char *kept_copy;                /* of an older version; NULL: none was made by this process */
    sqlite3_stmt *stmts[STMT_N];    /* prepared at first use */
    bool in_turn;                   /* a transaction is open */
    bool dirty, behind, counted;    /* the log is long (disk.h); jobs is known (counts.h) */
    bool undecided;                 /* disk.h */
    struct err failed;              /* first failed write of the turn; code ERR_NONE when none */
    uint64_t number, job_id, event; /* highest given out, also when its row is gone */
    uint64_t committed_number, committed_job_id, committed_event;
    struct job_counts jobs, committed_jobs;   /* counts.h */
    struct audit_mark audit, committed_audit; /* its last row */
    /* The end of the records (end_mark.h). */
    struct mark_file *mark; /* NULL: in memory, or it could not be made: then mark_err */
    struct err mark_err;
    bool whole;                                /* it may be written */
    bool backup_copy;                          /* has no mark of its own yet (store.h) */
    bool marked;                               /* the records say that there is a mark */
    uint64_t silent, committed_silent;         /* commits that added neither event nor audit row */
    uint64_t event_hash, committed_event_hash; /* of the last event; 0: its row is gone */
    struct wal_place wal;                      /* after the last commit */
    struct store_backup *backup;               /* under way (backup.h), or NULL */
    struct store_pages *pages;                 /* that commits change (pages.h), or NULL */
    uint32_t file_change;
    uint64_t page_size;
};

int db_exec(struct store *, const char *text, struct err *);
/* SQLite's handle of a file, by SQLITE_FCNTL_...; NULL: it is not open. */
sqlite3_file *db_file(struct store *, int which);
/* An entry of meta; false: there is none, and *value stays. */
bool db_meta(struct store *, const char *name, uint64_t *value);
/* Reads what is highest in it. */
void db_read_last(struct store *);
void db_read_audit(struct store *); /* audit.c */
/* The prepared statement, reset and unbound; NULL with err when it cannot be prepared. */
sqlite3_stmt *db_stmt(struct store *, enum stmt_id, struct err *);
/* A writing statement: begins the turn when none is open. NULL when the turn already failed. */
sqlite3_stmt *db_write(struct store *, enum stmt_id, struct err *);
/* In memory: notes that something was written, and is done. false: there is a database to write. */
bool db_forget(struct store *);
/* Steps to the end; a failure is remembered for the commit. */
int db_run(struct store *, sqlite3_stmt *, struct err *);
/* 1: a row; 0: none (statement reset); -1: error. */
int db_step(struct store *, sqlite3_stmt *, struct err *);
int db_fail(struct store *, struct err *, const char *doing);
/* What helps where records are damaged; returns -1. */
int db_damaged(struct err *, const char *path, const char *why);

#endif
