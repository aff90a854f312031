/* Recordings run again, for people. */
#ifndef MAIN_REPLAY_MAIN_H
#define MAIN_REPLAY_MAIN_H

#include "cli/host.h"

/* Prints decisions and the verdict. 0: as recorded, or parted by other settings; 1: it came to
 * another state; -1 with err: cut, damaged, or nothing to replay (what is complete was replayed).
 */
int replay_main(const char *version, const struct cli_replay *, struct err *err);

#endif
