/* Phases of tasks: their words, the table of what may follow what, and the sets that the core asks
 * for. Pure. */
#include "live/phase.h"

#include <stdint.h>

static const char *const words[PHASE_N] = {
#define PHASE_WORD(id, word) [PHASE_##id] = word,
    TASK_PHASES(PHASE_WORD)
#undef PHASE_WORD
};

#define TO(phase) (UINT32_C(1) << PHASE_##phase)
/* An attempt ended: for good, or another one follows, elsewhere or in its place. */
#define ENDED     (TO(OVER) | TO(UNPLACED) | TO(BACKOFF))

static const uint32_t next[PHASE_N] = {
    [PHASE_OVER] = TO(UNPLACED), /* a generation begins */
    [PHASE_UNPLACED] = TO(ASSIGNED) | TO(PLACED) | TO(OVER),
    [PHASE_ASSIGNED] = TO(PLACED) | TO(UNPLACED), /* back: the job ends before a row has it */
    [PHASE_BACKOFF] = TO(PLACED) | TO(OVER),
    [PHASE_PLACED] = TO(LAUNCHED) | TO(REFUSED) | TO(POSTPONED) | ENDED,
    [PHASE_POSTPONED] = TO(PLACED) | ENDED,
    [PHASE_REFUSED] = TO(PLACED) | ENDED, /* again: a relaunch came before the fact */
    [PHASE_LAUNCHED] = TO(RUNNING) | TO(RELAUNCH) | ENDED,
    /* To PLACED: a commit failed, and no agent was started for it after all. */
    [PHASE_RELAUNCH] = TO(LAUNCHED) | TO(RELAUNCH_LATER) | TO(RUNNING) | TO(PLACED) | ENDED,
    /* To PLACED, here and above: its agent says that it was never told. */
    [PHASE_RELAUNCH_LATER] = TO(RELAUNCH) | TO(RUNNING) | TO(PLACED) | ENDED,
    [PHASE_RUNNING] = ENDED,
};

const char *phase_word(enum task_phase phase)
{
    return words[phase];
}

bool phase_may(enum task_phase from, enum task_phase to)
{
    return next[from] >> to & 1;
}

static bool in(enum task_phase phase, uint32_t set)
{
    return set >> phase & 1;
}

bool phase_comes_again(enum task_phase phase)
{
    return in(phase, TO(UNPLACED) | TO(ASSIGNED) | TO(BACKOFF));
}

bool phase_lives(enum task_phase phase)
{
    return phase != PHASE_OVER && !phase_comes_again(phase);
}

bool phase_due(enum task_phase phase)
{
    return in(phase, TO(PLACED) | TO(RELAUNCH));
}

bool phase_postponed(enum task_phase phase)
{
    return in(phase, TO(POSTPONED) | TO(RELAUNCH_LATER));
}

bool phase_told(enum task_phase phase)
{
    return in(phase, TO(LAUNCHED) | TO(RELAUNCH) | TO(RELAUNCH_LATER) | TO(RUNNING));
}
