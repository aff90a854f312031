/* Writes what comes into a core to a directory: bounded, in segments that can each be replayed
 * alone. A server is never stopped by its recording: what cannot be written is warned of once, and
 * a new segment is begun when it can be. */
#ifndef REPLAY_RECORDER_H
#define REPLAY_RECORDER_H

#include "ctl/tape.h"

#define RECORDER_LEAST ((uint64_t)1 << 20) /* of max */

struct recorder;
struct recorder_config {
    const char *dir;
    uint64_t max;     /* bytes of all segments */
    uint64_t segment; /* of one; 0: an eighth of them, at most 64 MiB */
    const char *version;
    struct pairs settings, trees; /* as in the header */
};
/* Makes the directory (0700) and its first segment's copy of the records, which must not have been
 * changed since they were opened. ERR_CONFLICT: another server records there. The store and all of
 * config outlive it. */
struct recorder *recorder_create(const struct recorder_config *, struct store *, struct err *);
const struct ctl_tape *recorder_tape(const struct recorder *);
/* Between ctl_create and ctl_recover; config: what the core was made of. */
void recorder_attach(struct recorder *, struct ctl *, const struct ctl_config *);
/* Writes the end; before the core goes. NULL-safe. */
void recorder_destroy(struct recorder *);

#endif
