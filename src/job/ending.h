/* How an attempt ended: the facts an agent reports. Dialects class it and put it into words. It has
 * no sentence about the end: what an agent or an engine remarks of it stands beside it where it is
 * reported, and is handed on to people as it is (live/wording.h). */
#ifndef JOB_ENDING_H
#define JOB_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#define END_BYS(X)                                                                                 \
    X(ITSELF, "itself")     /* exited or died by its own doing */                                  \
    X(KERNEL, "kernel")     /* out of memory kill */                                               \
    X(STRANGER, "stranger") /* a signal from outside muster */                                     \
    X(POLICY, "policy")     /* the job's completion policy ended it */                             \
    X(USER, "user")         /* stop, suspend */                                                    \
    X(LIMIT, "limit")       /* run time, memory watch, disk */                                     \
    X(PLATFORM, "platform") /* agent or node gone, could not be started */                         \
    X(CONFLICT, "conflict") /* port taken from outside */
#define END_BY_ENUM(id, word) BY_##id,
enum end_origin { BY_NONE, END_BYS(END_BY_ENUM) END_BY_N };
#undef END_BY_ENUM
const char *end_origin_word(enum end_origin);
enum end_origin end_origin_parse(const char *word);

/* What it was, where who ended it does not say all that is decided by: stored words. */
#define END_CAUSES(X)                                                                              \
    X(MEMORY, "memory")         /* LIMIT: a watch saw more memory than the limit */                \
    X(NODE_FULL, "node_full")   /* PLATFORM: the node had no disk space to start it */             \
    X(UNSTARTED, "unstarted")   /* it was ended before it was started */                           \
    X(AGENT_GONE, "agent_gone") /* PLATFORM: lost with its agent */
#define END_CAUSE_ENUM(id, word) CAUSE_##id,
enum end_cause { CAUSE_NONE, END_CAUSES(END_CAUSE_ENUM) END_CAUSE_N };
#undef END_CAUSE_ENUM
const char *end_cause_word(enum end_cause); /* "": none */
enum end_cause end_cause_parse(const char *word);

#define ENDING_TAIL_MAX 2048
struct ending {
    bool exited; /* code is valid; else signal is, or neither (never started, lost) */
    int code, signal;
    bool oom;
    bool lost; /* nobody saw the end */
    enum end_origin by;
    enum end_cause cause;
    uint64_t memory_peak; /* bytes, 0: unknown */
    const char *tail;     /* last lines of output, at most ENDING_TAIL_MAX; "" when none */
};
/* Of what could not be done: what will be the same at the next try is the job's own. The remark on
 * it is err's. */
struct err;
struct ending ending_of_fault(const struct err *err);

#endif
