/* What launchers and their rendezvous tell for a job's events: bounded per job, kept until a commit
 * has stored it. */
#ifndef RDZV_JOBS_LAUNCHER_EVENTS_H
#define RDZV_JOBS_LAUNCHER_EVENTS_H

#include "job/ids.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many events a job may still write: a burst, then so many a second. */
struct event_rate {
    uint64_t at_ms, micro; /* millionths of an event in hand at that time; at_ms 0: never used */
    uint32_t dropped;      /* since the last one that was kept */
};
enum launcher_event_kind {
    LAUNCHER_EVENT_ROUND,
    LAUNCHER_EVENT_FAILED,
    LAUNCHER_EVENT_LOST,
    LAUNCHER_EVENT_CHECK,
    LAUNCHER_EVENT_JOINED,
    LAUNCHER_EVENT_OVER,
    LAUNCHER_EVENT_AGAIN,
    LAUNCHER_EVENT_NOTE,
    LAUNCHER_EVENT_N
};

/* The two limits of a job: what decides, and what may be left out first. */
struct event_rates {
    struct event_rate decides, details;
};

struct launcher_event {
    uint64_t job;
    enum launcher_event_kind kind;
    bool has_task;
    struct task_ref task;
    uint32_t attempt;
    const char *text; /* copied; control characters become blanks, cut at LAUNCHER_EVENT_TEXT_MAX */
};
#define LAUNCHER_EVENT_TEXT_MAX 2048u

struct launcher_events;
struct launcher_events *launcher_events_create(void);
void launcher_events_destroy(struct launcher_events *); /* NULL-safe */
void launcher_events_add(struct launcher_events *, struct event_rates *, uint64_t now_ms,
                         const struct launcher_event *);

/* Who writes an event of that type into the open transaction, when its job still lives. */
typedef void launcher_events_write(void *arg, const struct launcher_event *, const char *type);
/* Writes what is kept; then it is committed, or comes again. */
void launcher_events_record(struct launcher_events *, launcher_events_write *, void *arg);
void launcher_events_committed(struct launcher_events *);
void launcher_events_undone(struct launcher_events *);
bool launcher_events_waiting(const struct launcher_events *);

#endif
