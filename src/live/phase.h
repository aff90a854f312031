/* Where a task of a live job stands: between two attempts, on the way to the engine, or running. A
 * task has one phase, only this process knows it, and its rows tell it again after a restart (with
 * RELAUNCH for whatever the engine may have been told of). What else is said of a task and holds in
 * several phases (its place is taken, its attempt is to be replaced) is no phase. */
#ifndef LIVE_PHASE_H
#define LIVE_PHASE_H

#include <stdbool.h>

#define TASK_PHASES(X)                                                                             \
    X(OVER, "over")         /* no attempt lives and none follows; also before the first */         \
    X(UNPLACED, "unplaced") /* an attempt follows, and a plan has to find its place */             \
    X(ASSIGNED, "assigned") /* a plan has found the place; no row has it yet */                    \
    X(BACKOFF, "backoff")   /* an attempt follows in the place it has kept, when its time comes */ \
    X(PLACED, "placed")     /* the engine is to be told of the attempt, and never was */           \
    X(POSTPONED, "postponed") /* so with the next relaunch: an earlier one of its agent waits */   \
    X(REFUSED, "refused")     /* the engine took it not; the fact about it is to be applied */     \
    X(LAUNCHED, "launched")   /* the engine was told; the attempt has not begun */                 \
    X(RELAUNCH, "relaunch")   /* the engine may have been told, and is told again */               \
    X(RELAUNCH_LATER, "relaunch_later") /* so with the next relaunch */                            \
    X(RUNNING, "running")               /* the attempt has begun */

#define PHASE_ENUM(id, word) PHASE_##id,
enum task_phase { TASK_PHASES(PHASE_ENUM) PHASE_N };
#undef PHASE_ENUM

const char *phase_word(enum task_phase);
/* May a task go from one to the other? Not from one to itself. */
bool phase_may(enum task_phase from, enum task_phase to);

bool phase_comes_again(enum task_phase); /* another attempt follows */
bool phase_lives(enum task_phase);       /* an attempt has not ended */
bool phase_due(enum task_phase);         /* the engine is to be told with the next launches */
bool phase_postponed(enum task_phase);   /* ... with the next relaunch, and so is what is later */
bool phase_told(enum task_phase);        /* the engine may know the attempt */

#endif
