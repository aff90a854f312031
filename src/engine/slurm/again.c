/* The first time after so long that whoever was only cut off has come back by itself; then at
 * longer intervals, up to a bound: a machine takes minutes to boot, and while it is off each try is
 * a step of Slurm's that fails. */
#include "engine/slurm/again.h"

#define DOUBLED_MOST 2u /* times */

bool again_is_due(struct again *a, bool silent, uint64_t pace_ms, uint64_t now_ms)
{
    if (!silent) {
        *a = (struct again){ .silent = false };
        return false;
    }
    if (!a->silent)
        a->since_ms = now_ms;
    a->silent = true;
    const uint64_t since_ms = a->tries ? a->told_ms : a->since_ms;
    return now_ms - since_ms >= pace_ms << (a->tries < DOUBLED_MOST ? a->tries : DOUBLED_MOST);
}

void again_tell(struct again *a, uint64_t now_ms)
{
    a->told_ms = now_ms;
    a->tries++;
    a->named = false;
}
