/* Bodies of the frames between server and agent. Decoders are strict and bounded; texts live in
 * arena. */
#ifndef WIRE_MESSAGE_H
#define WIRE_MESSAGE_H

#include "base/arena.h"
#include "base/err.h"
#include "job/ending.h"
#include "job/launch.h"
#include "wire/codec.h"
#include "wire/host.h"
#include "wire/ids.h"

struct wire_hello { /* agent -> server */
    uint32_t version;
    struct generation generation;
    const char *node;
    uint32_t agent_pid;
    uint32_t launch_seq;  /* last launch applied; 0: none yet */
    uint64_t first_seq;   /* oldest fact it still has; facts before are acknowledged */
    uint32_t launch_form; /* newest form of LAUNCH that it reads; 0: an agent of version 0.1, which
                           * does not say */
};
#define WIRE_LAUNCH_FORM 1u /* says how tasks hold their devices (gpu_hold, parts) */
struct wire_stop {
    bool all; /* else one attempt */
    struct task_ref task;
    bool now;        /* SIGKILL at once */
    enum end_by why; /* recorded as who ended it */
};
enum wire_fact_kind {
    WIRE_FACT_NONE,
    WIRE_FACT_STARTED,
    WIRE_FACT_ENDED,
    WIRE_FACT_REFUSED,
    WIRE_FACT_RELEASED,
    WIRE_FACT_DIED, /* its program is gone; ENDED follows when what it left is gone too */
    WIRE_FACT_N
};
struct wire_fact {
    enum wire_fact_kind kind;
    struct task_ref task;
    uint32_t attempt;
    uint64_t at_ms;
    uint32_t pid;
    uint64_t log_end;
    struct ending ending;
    uint64_t wakeup; /* ENDED DIED: of the agent, in which it saw the program's end; 0: an agent of
                      * an older version, which does not say */
};
struct wire_log {
    struct task_ref task;
    uint32_t attempt;
    uint64_t end;
};
struct wire_exec {
    uint32_t channel;
    struct task_ref task;
    uint32_t attempt;
    struct words argv;
    bool tty;
    uint16_t rows, cols;
};

/* Frames of a channel. STDIN STDOUT STDERR: the channel and the bytes, none for the end of that
 * stream. LAUNCHER_DATA: the channel and the bytes; LAUNCHER_CLOSE: the channel. A sender reads its
 * source only while the connection takes what it sends. EXIT from the server (channel only, read as
 * wire_data): the client is gone. */
struct wire_data {
    uint32_t channel;
    const void *at; /* inside the frame */
    size_t len;
};
struct wire_resize {
    uint32_t channel;
    uint16_t rows, cols;
};
struct wire_exit { /* agent -> server: the command is over */
    uint32_t channel;
    uint32_t
        code; /* exit code, 128 + signal, or 127 after STDERR said why it could not be started */
};

/* Only for a task that was launched with an open stdin: agents of versions before these frames have
 * none. A client has at most ATTACH_WINDOW bytes of input under way that REACHED has not named; one
 * that sends more is sent away, so that an agent holds no more than that of each. session is the
 * client's own number: when its connection broke and it attaches anew, the first REACHED says where
 * both go on, and nothing is lost and nothing comes twice. */
#define ATTACH_WINDOW (256u << 10)
struct wire_attach { /* server -> agent */
    uint32_t channel;
    struct task_ref task;
    uint32_t attempt;
    uint64_t session;
    uint64_t offset;     /* of the attempt's log, from which on it is sent */
    uint16_t rows, cols; /* of the client's terminal; 0: it has none */
};
struct wire_reached { /* agent -> client */
    uint32_t channel;
    uint64_t input;  /* bytes of the session's input that the task's stdin has taken */
    uint64_t output; /* place in the log that is shown once the next STDOUT or STDERR is */
};

struct wire_launcher { /* agent -> server: a launcher of that attempt has connected */
    uint32_t channel;
    struct task_ref task;
    uint32_t attempt;
};

struct wire_signal { /* server -> agent: to the processes of that attempt */
    uint32_t number; /* says which one the answer belongs to */
    struct task_ref task;
    uint32_t attempt;
    uint32_t signal; /* 1 to 64 */
};
struct wire_signalled { /* agent -> server */
    uint32_t number;
    uint32_t heard; /* processes it was sent to */
};

/* A message is of the kind that its type says: wire_put(out, 0, &stop). seq is 0 but for facts. */
#define WIRE_TYPES(X)                                                                              \
    X(struct wire_hello, HELLO)                                                                    \
    X(struct launch, LAUNCH)                                                                       \
    X(struct wire_stop, STOP)                                                                      \
    X(struct wire_fact, FACT)                                                                      \
    X(struct wire_log, LOG)                                                                        \
    X(struct wire_exec, EXEC)                                                                      \
    X(struct wire_data, STDIN)                                                                     \
    X(struct wire_resize, RESIZE)                                                                  \
    X(struct wire_exit, EXIT)                                                                      \
    X(struct wire_attach, ATTACH)                                                                  \
    X(struct wire_reached, REACHED)                                                                \
    X(struct wire_launcher, LAUNCHER_OPEN)                                                         \
    X(struct wire_signal, SIGNAL)                                                                  \
    X(struct wire_signalled, SIGNALLED)                                                            \
    WIRE_HOST_TYPES(X)
#define WIRE_OF(type, kind)             , type : WIRE_##kind
#define WIRE_KIND_OF(...)               _Generic(*(__VA_ARGS__), char : WIRE_NONE WIRE_TYPES(WIRE_OF))
#define wire_put(out, seq, ...)         wire_put_as(out, WIRE_KIND_OF(__VA_ARGS__), seq, __VA_ARGS__)
/* 0; -1 when the frame's body is not exactly that message, which is left alone. arena: NULL for
 * messages without texts. */
#define wire_get(frame, arena, message) wire_get_as(frame, arena, WIRE_KIND_OF(message), message)

void wire_put_as(struct buf *, enum wire_kind, uint64_t seq, const void *message);
int wire_get_as(const struct wire_frame *, struct arena *, enum wire_kind, void *message);
void wire_put_data(struct buf *, enum wire_kind, uint32_t channel, const void *, size_t);
void wire_put_plain(struct buf *, enum wire_kind, uint64_t seq); /* no body */
/* For struct hosts_text: one of its hosts. */
void wire_put_host(struct buf *, const struct host_name *);
/* Takes off what an older form does not say. false: nothing. */
bool wire_limit_launch(struct launch *, uint32_t form);

extern const struct codec_message wire_messages[WIRE_KIND_N]; /* by enum wire_kind */

#endif
