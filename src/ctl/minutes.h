/* What launchers and their rendezvous tell for a job's events: bounded per job, kept until a commit
 * has stored it. */
#ifndef CTL_MINUTES_H
#define CTL_MINUTES_H

#include "job/ids.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctl;

/* How many events a job may still write: a burst, then so many a second. */
struct pace {
    uint64_t at_ms, micro; /* millionths of an event in hand at that time; at_ms 0: never used */
    uint32_t dropped;      /* since the last one that was kept */
};
enum minute_kind {
    MINUTE_ROUND,
    MINUTE_FAILED,
    MINUTE_LOST,
    MINUTE_CHECK,
    MINUTE_JOINED,
    MINUTE_OVER,
    MINUTE_AGAIN,
    MINUTE_NOTE,
    MINUTE_N
};

/* The two paces of a job: what decides, and what may be left out first. */
struct paces {
    struct pace decides, details;
};

struct minute {
    uint64_t job;
    enum minute_kind kind;
    bool has_task;
    struct task_ref task;
    uint32_t attempt;
    const char *text; /* copied; control characters become blanks, cut at MINUTE_TEXT_MAX */
};
#define MINUTE_TEXT_MAX 2048u

struct minutes;
struct minutes *minutes_create(void);
void minutes_destroy(struct minutes *); /* NULL-safe */
void minutes_add(struct minutes *, struct paces *, uint64_t now_ms, const struct minute *);

/* Puts what is kept into the open transaction; then it is committed, or comes again. */
void minutes_record(struct minutes *, struct ctl *);
void minutes_committed(struct minutes *);
void minutes_undone(struct minutes *);
bool minutes_waiting(const struct minutes *);

#endif
