/* What comes into the core, told in order: enough to run it again through the same code. A tape
 * that records writes inputs down; one that replays gives the core what was written instead of
 * letting it look outside. */
#ifndef CTL_TAPE_H
#define CTL_TAPE_H

#include "ctl/objects.h"

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
    const struct ctl_submit *submit;
    const struct ctl_restart *restart;
    const struct ctl_declaration *declaration;
    const struct ctl_board *board;
    const struct engine_fact *fact;
    struct gpu_report *report; /* DEVICES; its slots with their models, and how near they are */
    const struct ctl_objects *objects; /* their texts are not looked at */
    uint32_t pass; /* given while an answer was told: plans of the outer input until then */
};

/* What the core asks of the world outside and what may be refused there. */
enum ctl_outside {
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
    int (*outside)(void *arg, enum ctl_outside, int rc, struct err *err);
    /* Replaying: gives the inputs that came of answers until that pass; false: there is none. */
    bool (*answered)(void *arg, uint32_t pass);
    void *arg;
};

/* What is not in the records and has to be the same in a replay. */
struct ctl_about {
    const char *admin;
    uint64_t created_ms;
    unsigned caps;
};
struct ctl_about ctl_about(const struct ctl *);
/* A pass although nothing calls for one: brings up to date what a start from the records would find
 * out anew. */
void ctl_plan(struct ctl *);
/* Nothing is under way that the records do not say: a copy of them starts the same core. meetings:
 * how many rendezvous there are, which no record knows. */
bool ctl_at_rest(const struct ctl *, size_t *meetings);
/* An event of no job whose cause is not on the tape: in a replay only its type is known. */
void ctl_server_event(struct ctl *, const char *type, const char *text, ctl_done *, void *arg);
/* The time of the last input. */
uint64_t ctl_last_ms(const struct ctl *);
uint64_t ctl_last_us(const struct ctl *);
/* All nodes there are or were, by position; until the next turn. */
size_t ctl_tape_nodes(const struct ctl *, struct arena *, struct node_spec **);
/* Of each node's host where ports are looked for next (0: from the start); n: all nodes. */
void ctl_port_marks(const struct ctl *, uint32_t *marks);
void ctl_set_port_marks(struct ctl *, const uint32_t *marks, size_t n);
/* The live state as text in stable order: jobs, tasks, attempts, agents, nodes, shares. */
struct buf;
void ctl_state_text(struct ctl *, struct buf *out);
#define CTL_HASH_TEXT 33
/* Of that text. Hex. */
const char *ctl_state_hash(struct ctl *, char out[CTL_HASH_TEXT]);

#endif
