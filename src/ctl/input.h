/* A tape and what it is told: the inputs of the core, what the world outside answered, and what was
 * decided. */
#ifndef CTL_INPUT_H
#define CTL_INPUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct submission;
struct ctl_restart;
struct declaration;
struct board_request;
struct document_changes;
struct engine_fact;
/* The functions of ctl.h that change anything, and the engine's facts (LOG apart: how far a log
 * reaches decides nothing). */
enum ctl_input_kind {
    INPUT_NONE,
    INPUT_RECOVER,
    INPUT_SUBMIT,
    INPUT_COMMAND,
    INPUT_RESTART,
    INPUT_DECLARE,
    INPUT_UNDECLARE,
    INPUT_BOARD,
    INPUT_NODE,
    INPUT_FACT,
    INPUT_TURN,
    INPUT_TICK,
    INPUT_PLAN,
    INPUT_OBJECTS,
    INPUT_EVENT, /* whose cause is not on the tape: users, keys, tokens, another boot */
    INPUT_DEVICE,
    INPUT_DEVICES,
    INPUT_SEEN,    /* a device, by a look */
    INPUT_MACHINE, /* a node that came or changed: the fact with its spec */
    INPUT_N,
};

struct gpu_report;
struct ctl_input {
    enum ctl_input_kind kind;
    uint64_t at_ms, mono_us; /* the only time the core sees while it lasts */
    const char *owner;       /* COMMAND UNDECLARE */
    const char *why;         /* DEVICE: it is closed; "": open */
    uint64_t job;            /* COMMAND */
    unsigned what;    /* COMMAND: verb, UNDECLARE: kind of entry, NODE: drain, DEVICE SEEN: which */
    const char *name; /* UNDECLARE NODE DEVICE DEVICES SEEN; EVENT: its type */
    const struct submission *submit;
    const struct ctl_restart *restart;
    const struct declaration *declaration;
    const struct board_request *board;
    const struct engine_fact *fact;
    struct gpu_report *report; /* DEVICES; its slots with their models, and how near they are */
    const struct document_changes *objects; /* their texts are not looked at */
    uint32_t pass; /* given while an answer was told: plans of the outer input until then */
};

/* What the core asks of the world outside and what may be refused there. */
enum ctl_outside_call {
    OUTSIDE_STORAGE = 1, /* directories and files that a submission names */
    OUTSIDE_COMMIT,      /* of the records */
    OUTSIDE_BALLAST,     /* is there room on the disk again */
    OUTSIDE_LAUNCH,      /* the engine's start, and the files it needs */
    OUTSIDE_RIGHTS,      /* who may: users, keys and tokens are not in a recording */
    OUTSIDE_DOCUMENTS,   /* of façades, which are not in a recording: what is there, whose it is */
    OUTSIDE_LAUNCHED,    /* -1: after a restart, no trace that the launch was ever made */
};

struct ctl_decision {
    uint64_t job, number;
    const char *name;
    const char *what;  /* type of the event, "waits", "promised" */
    const char *text;  /* the reason */
    const char *nodes; /* "n1 n2"; "" where none are given */
    uint64_t at_ms;    /* promised: the time */
};

struct ctl_tape {
    bool replays;
    void (*begin)(void *arg, const struct ctl_input *);
    /* matters false: nothing came of it (a turn in which nothing was to do). */
    void (*end)(void *arg, bool matters);
    void (*decided)(void *arg, const struct ctl_decision *);
    /* rc: 0, or -1 with err. Recording: notes a refusal, returns rc. Replaying: what was noted. */
    int (*outside)(void *arg, enum ctl_outside_call, int rc, struct err *err);
    /* Replaying: gives the inputs that came of answers until that pass; false: there is none. */
    bool (*answered)(void *arg, uint32_t pass);
    void *arg;
};

#endif
