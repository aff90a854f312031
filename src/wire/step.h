/* Frames between srun and the nodes of its job (step/). A connection opens with three lines of
 * text, by which each end shows that it knows the job's secret without saying it (step/proof.h).
 * Decoders are strict and bounded. */
#ifndef WIRE_STEP_H
#define WIRE_STEP_H

#include "base/arena.h"
#include "base/buf.h"
#include "job/words.h"
#include "wire/codec.h"

#define STEP_TASKS_MAX 4096u       /* of a step on one node */
#define STEP_PIECE     (32u << 10) /* bytes of one OUTPUT or INPUT */
#define STEP_ALL_RANKS UINT32_MAX

/* Kinds of frames; they lie above those of agents and launchers. */
enum step_frame {
    STEP_FRAME_CLAIM = 96,
    STEP_FRAME_GRANT,
    STEP_FRAME_START,
    STEP_FRAME_INPUT,
    STEP_FRAME_SIGNAL,
    STEP_FRAME_OUTPUT,
    STEP_FRAME_ENDED,
    STEP_FRAME_BEAT,
    STEP_FRAME_N
};
#define STEP_KINDS                                                                                 \
    {                                                                                              \
        STEP_FRAME_CLAIM, STEP_FRAME_N                                                             \
    }

/* srun to the node of the script: a number for its step, and what the step holds while the
 * connection lasts. It is granted when that is free. */
struct step_share { /* of one node */
    uint32_t node;  /* among all of the job, the components one after the other */
    uint32_t cpus, gpus;
};
struct step_claim {
    struct step_share *shares;
    size_t n;
};
struct step_gpus { /* which of a node's devices, counted from 0 */
    uint32_t *at;
    size_t n;
};
struct step_grant { /* the answer */
    uint32_t step;
    struct step_gpus *gpus; /* as many as shares were claimed */
    size_t n;
};

/* srun to a node: its tasks of the step. */
struct step_task {
    uint32_t rank;     /* of the step */
    struct words argv; /* empty: the step's */
    struct words env;  /* besides the step's, NAME=VALUE */
};
struct step_start {
    uint32_t step;
    struct words argv, env;
    const char *dir;        /* working directory */
    const char *path_front; /* put in front of the node's own PATH; NULL: env has the PATH */
    bool some_gpus;         /* gpus says which; else all that the node has */
    struct step_gpus gpus;
    uint32_t gpus_per_task; /* each task sees so many of them; 0: all */
    uint32_t cpus_per_task; /* each task is bound to so many; 0: not bound */
    bool input;             /* its tasks read what srun reads */
    struct step_task *tasks;
    size_t n_tasks;
};
struct step_data { /* INPUT: to a rank or to all, none is the end of it; OUTPUT: of a rank */
    uint32_t rank;
    uint32_t stream; /* 1 or 2, of OUTPUT */
    const void *at;  /* inside the frame */
    size_t len;
};
struct step_signal {
    uint32_t signal;
};
struct step_ended_task { /* node to srun: a task, once all that it wrote has been sent */
    uint32_t rank;
    uint32_t code;   /* when signal is 0 */
    uint32_t signal; /* that it died of */
    const char *why; /* it could not be started; else "" */
};

/* It is alive. srun's says nothing else; a node's answer says how far input may go, at a BEAT of
 * srun and when it has moved (step/input_window.h). */
struct step_beat {
    uint64_t input_end; /* bytes; 0: without a bound, as of nodes that say none */
};

/* A message is of the kind that its type says: step_put(out, &claim). */
#define STEP_TYPES(X)                                                                              \
    X(struct step_claim, CLAIM)                                                                    \
    X(struct step_grant, GRANT)                                                                    \
    X(struct step_start, START)                                                                    \
    X(struct step_signal, SIGNAL)                                                                  \
    X(struct step_ended_task, ENDED)                                                               \
    X(struct step_beat, BEAT)
#define STEP_OF(type, kind)             , type : STEP_FRAME_##kind
#define STEP_KIND_OF(...)               _Generic(*(__VA_ARGS__), char : STEP_FRAME_N STEP_TYPES(STEP_OF))
#define step_put(out, ...)              step_put_as(out, STEP_KIND_OF(__VA_ARGS__), __VA_ARGS__)
/* 0; -1 when the body is not exactly that message. Texts and lists live in arena. */
#define step_get(frame, arena, message) step_get_as(frame, arena, STEP_KIND_OF(message), message)

void step_put_as(struct buf *, enum step_frame, const void *message); /* NULL: it has no body */
int step_get_as(const struct wire_frame *, struct arena *, enum step_frame, void *message);

#define STEP_MESSAGES (STEP_FRAME_N - STEP_FRAME_CLAIM)
extern const struct codec_message step_messages[STEP_MESSAGES]; /* by kind, from CLAIM */

#endif
