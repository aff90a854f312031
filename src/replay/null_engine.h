/* An engine that takes every call and says nothing: the facts are in the recording. */
#ifndef REPLAY_NULL_ENGINE_H
#define REPLAY_NULL_ENGINE_H

#include "engine/engine.h"

/* caps: what the recorded one could do. heard is called in the middle of recover: what was found
 * dead then was told from inside that call. */
struct engine *null_engine_create(unsigned caps, void (*heard)(void *arg), void *arg);

#endif
