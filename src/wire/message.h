/* Bodies of the frames between server and agent. Decoders are strict and bounded; texts live in
 * arena. */
#ifndef WIRE_MESSAGE_H
#define WIRE_MESSAGE_H

#include "base/arena.h"
#include "base/err.h"
#include "job/ending.h"
#include "job/launch.h"
#include "wire/codec.h"

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
 * source only while the connection takes what it sends. EXIT from the server (channel only, read by
 * wire_get_data): the client is gone. */
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

void wire_put_hello(struct buf *, const struct wire_hello *);
void wire_put_launch(struct buf *, const struct launch *);
/* Takes off what an older form does not say. false: nothing. */
bool wire_limit_launch(struct launch *, uint32_t form);
void wire_put_stop(struct buf *, const struct wire_stop *);
void wire_put_fact(struct buf *, uint64_t seq, const struct wire_fact *);
void wire_put_log(struct buf *, const struct wire_log *);
void wire_put_exec(struct buf *, const struct wire_exec *);
void wire_put_plain(struct buf *, enum wire_kind,
                    uint64_t seq); /* WELCOME ACK RELEASE PING PONG: no body */

void wire_put_data(struct buf *, enum wire_kind, uint32_t channel, const void *, size_t);
void wire_put_resize(struct buf *, const struct wire_resize *);
void wire_put_exit(struct buf *, const struct wire_exit *);
void wire_put_attach(struct buf *, const struct wire_attach *);
void wire_put_reached(struct buf *, const struct wire_reached *);
void wire_put_launcher(struct buf *, const struct wire_launcher *); /* LAUNCHER_OPEN */
void wire_put_signal(struct buf *, const struct wire_signal *);
void wire_put_signalled(struct buf *, const struct wire_signalled *);

extern const struct codec_message wire_messages[WIRE_KIND_N]; /* by enum wire_kind */
/* For tables of others. */
extern const struct codec_row wire_task_rows[], wire_generation_rows[];

/* 0; -1 when the frame's body is not exactly that message. */
int wire_get_hello(const struct wire_frame *, struct arena *, struct wire_hello *);
int wire_get_launch(const struct wire_frame *, struct arena *, struct launch *);
int wire_get_stop(const struct wire_frame *, struct wire_stop *);
int wire_get_fact(const struct wire_frame *, struct arena *, struct wire_fact *);
int wire_get_log(const struct wire_frame *, struct wire_log *);
int wire_get_exec(const struct wire_frame *, struct arena *, struct wire_exec *);
int wire_get_data(const struct wire_frame *, struct wire_data *);
int wire_get_resize(const struct wire_frame *, struct wire_resize *);
int wire_get_exit(const struct wire_frame *, struct wire_exit *);
int wire_get_attach(const struct wire_frame *, struct wire_attach *);
int wire_get_reached(const struct wire_frame *, struct wire_reached *);
int wire_get_launcher(const struct wire_frame *, struct wire_launcher *);
int wire_get_signal(const struct wire_frame *, struct wire_signal *);
int wire_get_signalled(const struct wire_frame *, struct wire_signalled *);

#endif
