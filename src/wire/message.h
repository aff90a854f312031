/* Bodies of the frames between server and agent. Decoders are strict and bounded; texts live in
 * arena. */
#ifndef WIRE_MESSAGE_H
#define WIRE_MESSAGE_H

#include "base/arena.h"
#include "base/err.h"
#include "job/ending.h"
#include "job/image_progress.h"
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
/* 1 says how tasks hold their devices (gpu_hold, parts), 2 in which images they run, 3 which
 * secrets they get (who reads that one reads SECRETS too), 4 what runs images, 5 that it may be
 * docker; 6 is as 5, and who reads it reads the window and the port of EXEC. */
#define WIRE_LAUNCH_FORM 6u
#define WIRE_EXEC_FORM   6u
struct wire_stop {
    bool all; /* else one attempt */
    struct task_ref task;
    bool now;            /* SIGKILL at once */
    enum end_origin why; /* recorded as who ended it */
};
enum wire_fact_kind {
    WIRE_FACT_NONE,
    WIRE_FACT_STARTED,
    WIRE_FACT_ENDED,
    WIRE_FACT_REFUSED,
    WIRE_FACT_RELEASED,
    WIRE_FACT_DIED,  /* its program is gone; ENDED follows when what it left is gone too */
    WIRE_FACT_IMAGE, /* of an image that tasks of the launch run in */
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
    const char *remark; /* of the node on the end, for people; "" when the numbers say all */
    uint64_t wakeup; /* ENDED DIED: of the agent, in which it saw the program's end; 0: an agent of
                      * an older version, which does not say */
    struct image_progress image; /* IMAGE */
};
struct wire_log {
    struct task_ref task;
    uint32_t attempt;
    uint64_t end;
};

/* Replication of a log to a server that does not share the agent's disk (agent.conf: logs=send).
 * LOG_BYTES are whole records of one segment, as they lie in the file. Offsets are logical ones of
 * wire/record.h. Without bytes it asks how far the server's copy reaches, and says in `offset`
 * where the log ends now; LOG_KEPT with `again` answers. An agent sends at most LOG_WINDOW bytes of
 * an attempt that LOG_KEPT has not named. A piece that does not follow what the server has is
 * dropped there; it says `again` then, at once or when it can write again. */
#define LOG_WINDOW    (2u << 20)
#define LOG_PIECE_MAX (128u << 10) /* bytes of one LOG_BYTES; a record always fits */
struct wire_log_bytes {            /* agent -> server */
    struct task_ref task;
    uint32_t attempt;
    const char *role;    /* name of the task's role: part of the directory's name */
    uint64_t head, tail; /* the log's cap, as in LAUNCH */
    uint64_t segment;    /* offset that names the segment */
    uint64_t from;       /* less than offset: what lies between was dropped over the cap */
    uint64_t offset;     /* of the first record */
    const void *at;      /* inside the frame */
    size_t len;
};
struct wire_log_kept_ack { /* server -> agent */
    struct task_ref task;
    uint32_t attempt;
    uint64_t offset; /* the copy is complete up to here */
    bool again;      /* what was sent beyond it is dropped: go on from here */
};
/* With a window both ends hold back: the server sends at most so many bytes of input that REACHED
 * of the agent has not named, the agent at most so many of output (and what is in the pipe of a
 * command that has ended) that REACHED of the server has not. */
#define EXEC_WINDOW (4u << 20)
struct wire_exec {
    uint32_t channel;
    struct task_ref task;
    uint32_t attempt;
    struct words argv;
    bool tty;
    uint16_t rows, cols;
    uint32_t window; /* bytes; 0: none, as of a server of before */
    uint32_t port;   /* the channel is a connection to it, and there is no command; 0: none */
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
struct wire_reached_report { /* agent -> client; of a command: between agent and server */
    uint32_t channel;
    uint64_t input;  /* bytes of the session's input that the task's stdin has taken */
    uint64_t output; /* place in the log that is shown once the next STDOUT or STDERR is; of a
                      * command: bytes of output that its client has taken, said by the server */
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
struct wire_signalled_report { /* agent -> server */
    uint32_t number;
    uint32_t heard; /* processes it was sent to */
};

struct wire_code_request { /* agent -> server: of the code of its job */
    const char *hash;      /* SHA-256 of the whole archive, 64 digits */
    uint64_t offset;
    uint32_t len;
};
struct wire_piece {        /* the answer */
    uint64_t offset, size; /* size of the whole; 0: it is not to be had */
    const void *at;        /* inside the frame */
    size_t len;
};

/* server -> agent: values of secrets, before the LAUNCH that names them, and again whenever one is
 * another: files are written anew then, and its variable is in later attempts. */
struct wire_secrets {
    struct launch_secret *at; /* values inside the frame */
    size_t n;
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
    X(struct wire_reached_report, REACHED)                                                         \
    X(struct wire_launcher, LAUNCHER_OPEN)                                                         \
    X(struct wire_signal, SIGNAL)                                                                  \
    X(struct wire_signalled_report, SIGNALLED)                                                     \
    X(struct wire_log_bytes, LOG_BYTES)                                                            \
    X(struct wire_log_kept_ack, LOG_KEPT)                                                          \
    WIRE_HOST_TYPES(X)                                                                             \
    X(struct wire_code_request, WANT)                                                              \
    X(struct wire_piece, PIECE)                                                                    \
    X(struct launch_file, FILE)                                                                    \
    X(struct wire_secrets, SECRETS)
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
