/* Frames between launchers and the leader of their rendezvous. Over TCP a connection opens with a
 * preface (a line of text, so that strangers and c10d clients on the same port are told apart);
 * inside a job the same frames travel through the agent. Decoders are strict and bounded. */
#ifndef WIRE_RENDEZVOUS_H
#define WIRE_RENDEZVOUS_H

#include "base/arena.h"
#include "base/buf.h"
#include "job/rendezvous.h"
#include "wire/codec.h"

/* "MUSTER-RDZV/1 TOKEN\n"; TOKEN is "-" without one, else hex of a keyed hash of the run id. */
#define RDZV_PREFACE     "MUSTER-RDZV/1 "
#define RDZV_PREFACE_MAX 160

/* Kinds of frames; wire_next takes any kind below 256, these lie above those of agents. */
enum rdzv_frame {
    RDZV_FRAME_JOIN = 64,
    RDZV_FRAME_REPORT,
    RDZV_FRAME_CHECKED,
    RDZV_FRAME_LEAVE,
    RDZV_FRAME_BEAT,  /* no body; member to leader */
    RDZV_FRAME_EVENT, /* text for the job's events; inside a job only */
    RDZV_FRAME_WELCOME,
    RDZV_FRAME_ROUND,
    RDZV_FRAME_CHECK,
    RDZV_FRAME_STOP,
    RDZV_FRAME_END,
    RDZV_FRAME_REFUSED,
    RDZV_FRAME_MOVED,
    RDZV_FRAME_LEAD, /* leader to the launcher at the original endpoint: u64 term, addr, port: I
                      * lead this run; step down and send everyone to me. Same body as MOVED */
    RDZV_FRAME_NOTE,
    RDZV_FRAME_N
};
/* One frame from the front of data, as wire_next (frame.h), for the kinds above. */
struct rdzv_frame_data {
    enum rdzv_frame kind;
    const unsigned char *body;
    size_t len;
};
int rdzv_next(const void *data, size_t len, struct rdzv_frame_data *, size_t *used);
#define RDZV_KINDS                                                                                 \
    {                                                                                              \
        RDZV_FRAME_JOIN, RDZV_FRAME_N                                                              \
    }
struct rdzv_frame_data rdzv_frame_of(const struct wire_frame *); /* of these kinds */

struct rdzv_event { /* for the job's events */
    const char *type, *text;
};

/* A message is of the kind that its type says: rdzv_put(out, &stop). */
#define RDZV_TYPES(X)                                                                              \
    X(struct rdzv_join, JOIN)                                                                      \
    X(struct rdzv_report, REPORT)                                                                  \
    X(struct rdzv_check_report, CHECKED)                                                           \
    X(struct rdzv_leave, LEAVE)                                                                    \
    X(struct rdzv_event, EVENT)                                                                    \
    X(struct rdzv_welcome, WELCOME)                                                                \
    X(struct rdzv_round, ROUND)                                                                    \
    X(struct rdzv_check, CHECK)                                                                    \
    X(struct rdzv_stop, STOP)                                                                      \
    X(struct rdzv_end, END)                                                                        \
    X(struct rdzv_refused, REFUSED)                                                                \
    X(struct rdzv_leader_address, MOVED)                                                           \
    X(struct rdzv_finding, NOTE)
#define RDZV_OF(type, kind)             , type : RDZV_FRAME_##kind
#define RDZV_KIND_OF(...)               _Generic(*(__VA_ARGS__), char : RDZV_FRAME_N RDZV_TYPES(RDZV_OF))
#define rdzv_put(out, ...)              rdzv_put_as(out, RDZV_KIND_OF(__VA_ARGS__), __VA_ARGS__)
/* 0; -1 when the body is not exactly that message, which is left alone. Texts and lists live in
 * arena. */
#define rdzv_get(frame, arena, message) rdzv_get_as(frame, arena, RDZV_KIND_OF(message), message)

void rdzv_put_as(struct buf *, enum rdzv_frame, const void *message); /* NULL: it has no body */
int rdzv_get_as(const struct rdzv_frame_data *, struct arena *, enum rdzv_frame, void *message);

#define RDZV_MESSAGES (RDZV_FRAME_N - RDZV_FRAME_JOIN)
extern const struct codec_message rdzv_messages[RDZV_MESSAGES]; /* by kind, from JOIN */

#endif
