/* What stands between the objects of the core in the simulation's program (the linker's --wrap):
 * what would differ from run to run, the room on the disk, which transitions are made, and the
 * planted faults. */
#ifndef CTL_TEST_FAULTS_HOOKS_H
#define CTL_TEST_FAULTS_HOOKS_H

#include "ctl/test/faults/coverage.h"
#include "ctl/test/faults/disk.h"
#include "ctl/test/faults/planted.h"

struct ctl;
struct strayed { /* a task went from a phase to one that may not follow; both the same: none did */
    enum task_phase from, to;
};
struct hooks {
    struct crash *crash;
    struct disk *disk;
    struct ctl *ctl; /* that runs; NULL: none */
    struct transitions *transitions;
    struct coverage *coverage;
    struct strayed strayed;
    enum planted planted;
    struct dice dice;     /* of the planted fault */
    unsigned checkpoints; /* the log is written back after so many pages; 0: as in production */
};
/* Those that count from now on; one set a process. */
struct hooks *hooks_set(struct hooks *);
/* libsodium's random numbers come from that seed from now on. Before sodium_init(). */
void hooks_random(uint64_t seed);

#endif
