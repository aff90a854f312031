/* Runs a recording through the core again, with a clock that reads what was recorded and an engine
 * that says nothing, and compares what it decides with what was decided. */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include "answer/state_text.h"
#include "replay/entry.h"

enum replay_end {
    UNTIL_END,
    UNTIL_TIME,
    UNTIL_CLOCK, /* local time of day, the first one of the recording */
    UNTIL_INPUT
};

/* How recorded and replayed decisions differ at one place; NULL: there was none there. */
struct replay_difference {
    uint64_t input, at_ms;
    const struct ctl_decision *was, *is;
};
struct replay_watch { /* any may be NULL */
    void (*header)(void *arg, const struct recording_header *, const char *segment);
    void (*decided)(void *arg, uint64_t input, uint64_t at_ms, const struct ctl_decision *);
    void (*parted)(void *arg, const struct replay_difference *); /* the first time only */
    void *arg;
};
struct replay_config {
    const char *path;     /* of a recording, or of one of its segments */
    const char *seal_key; /* NULL: where the header says */
    /* Fills what the settings of the header say; the rest is this module's. 0 or -1. */
    int (*settings)(void *arg, struct arena *, const struct recording_header *, struct ctl_config *,
                    struct err *);
    void *settings_arg;
    enum replay_end until;
    uint64_t at; /* milliseconds (of the day), or the number of an input; that one is the last */
    struct replay_watch watch;
};
struct replay_result {
    uint64_t inputs, decisions, checks, segments;
    uint64_t last, last_ms;                                /* the last input */
    bool ended;                                            /* the recording has its end */
    bool stopped;                                          /* by until */
    char hash[STATE_HASH_TEXT], recorded[STATE_HASH_TEXT]; /* recorded: "" when none is there */
    uint64_t differs;                                      /* jobs whose decisions are others */
    uint64_t lost_at;  /* input after which a hash differs first; 0: none does */
    uint64_t meetings; /* rendezvous that a first segment does not know */
    bool damaged;      /* err says where; what was complete has been replayed */
};
struct replay;
/* Reads and runs. -1: nothing could be replayed. */
struct replay *replay_run(const struct replay_config *, struct replay_result *, struct err *);
struct ctl *replay_core(struct replay *); /* as it is at the end, to be asked */
const char *replay_admin(const struct replay *);
void replay_destroy(struct replay *); /* NULL-safe */

#endif
