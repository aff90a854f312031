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
struct rdzv_frame_in {
    enum rdzv_frame kind;
    const unsigned char *body;
    size_t len;
};
int rdzv_next(const void *data, size_t len, struct rdzv_frame_in *, size_t *used);

void rdzv_put_join(struct buf *, const struct rdzv_join *);
void rdzv_put_report(struct buf *, const struct rdzv_report *);
void rdzv_put_checked(struct buf *, const struct rdzv_checked *);
void rdzv_put_leave(struct buf *, const struct rdzv_leave *);
void rdzv_put_plain(struct buf *, enum rdzv_frame);
void rdzv_put_event(struct buf *, const char *type, const char *text);
void rdzv_put_welcome(struct buf *, const struct rdzv_welcome *);
void rdzv_put_round(struct buf *, const struct rdzv_round *);
void rdzv_put_check(struct buf *, const struct rdzv_check *);
void rdzv_put_stop(struct buf *, const struct rdzv_stop *);
void rdzv_put_end(struct buf *, const struct rdzv_end *);
void rdzv_put_refused(struct buf *, const struct rdzv_refused *);
void rdzv_put_note(struct buf *, const struct rdzv_note *);
void rdzv_put_moved(struct buf *, enum rdzv_frame, const struct rdzv_moved *);

#define RDZV_MESSAGES (RDZV_FRAME_N - RDZV_FRAME_JOIN)
extern const struct codec_message rdzv_messages[RDZV_MESSAGES]; /* by kind, from JOIN */

/* 0; -1 when the body is not exactly that message. Texts and lists live in arena. */
int rdzv_get_join(const struct rdzv_frame_in *, struct arena *, struct rdzv_join *);
int rdzv_get_report(const struct rdzv_frame_in *, struct arena *, struct rdzv_report *);
int rdzv_get_checked(const struct rdzv_frame_in *, struct arena *, struct rdzv_checked *);
int rdzv_get_leave(const struct rdzv_frame_in *, struct arena *, struct rdzv_leave *);
int rdzv_get_event(const struct rdzv_frame_in *, struct arena *, const char **type,
                   const char **text);
int rdzv_get_welcome(const struct rdzv_frame_in *, struct arena *, struct rdzv_welcome *);
int rdzv_get_round(const struct rdzv_frame_in *, struct arena *, struct rdzv_round *);
int rdzv_get_check(const struct rdzv_frame_in *, struct arena *, struct rdzv_check *);
int rdzv_get_stop(const struct rdzv_frame_in *, struct arena *, struct rdzv_stop *);
int rdzv_get_end(const struct rdzv_frame_in *, struct arena *, struct rdzv_end *);
int rdzv_get_refused(const struct rdzv_frame_in *, struct arena *, struct rdzv_refused *);
int rdzv_get_note(const struct rdzv_frame_in *, struct arena *, struct rdzv_note *);
int rdzv_get_moved(const struct rdzv_frame_in *, struct arena *, struct rdzv_moved *);

#endif
